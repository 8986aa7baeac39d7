"""What tests of the search share: made-up objectives, all small graphs, and small data of every kind."""

from itertools import product

import numpy as np

from enco.bench.problem import Problem as BenchProblem
from enco.data import InterventionalData, Regime, Variable
from enco.fitting.loop import Discovery
from enco.score.objective import Objective
from enco.search.stage import Problem, improve
from enco.search.state import Rules
from enco.settings import Settings


class Made:
    """Losses drawn at random for every family of one variable: a search must cope with any objective."""

    quick = True

    def __init__(self, seed, effect, n_regimes, scale):
        self._key, self._regimes, self._scale, self._known = [seed, effect], n_regimes, scale, {}

    def by_regime(self, parents):
        if parents not in self._known:
            rng = np.random.default_rng([*self._key, *sorted(parents)])
            self._known[parents] = rng.uniform(0, self._scale, self._regimes)
        return self._known[parents]

    def loss(self, parents):
        return float(self.by_regime(parents).sum())

    def changes(self, parents, causes):
        return np.array([self.loss(parents ^ {cause}) for cause in causes])


def made_up(seed, n=4, scale=30.0):
    """An objective of random numbers, with interventions on the first two variables."""
    reals = np.zeros((5, 0), np.float32)
    regimes = [Regime(targets, np.zeros((5, n), np.uint8), reals) for targets in ((), (0,), (1,))]
    every = [frozenset(range(n)) - {effect} for effect in range(n)]
    return Objective([Made(seed, k, 3, scale) for k in range(n)], every, regimes, sparsity=0.01, evidence=1.0)


def free_rules(n, *, told=False, allowed=None, required=None):
    """Any edge may be there, and directions are open or told by interventions."""
    everything, nothing = ~np.eye(n, dtype=bool), np.zeros((n, n), bool)
    return Rules.of(
        everything if allowed is None else allowed,
        nothing if required is None else required,
        everything,
        np.full((n, n), told),
    )


def all_dags(n):
    pairs = tuple(np.argwhere(~np.eye(n, dtype=bool)).T)
    for bits in product((False, True), repeat=n * (n - 1)):
        graph = np.zeros((n, n), bool)
        graph[pairs] = bits
        if not np.linalg.matrix_power(graph.astype(int), n).any():
            yield graph


def small_data(kind, seed=0, rows=300, interventional=60, targets=(0, 1, 2, 3)):
    """a -> b, a and b -> c, d by itself: categorical, continuous, or every second of each."""
    rng = np.random.default_rng(seed)
    kinds = {"categorical": "gggg", "continuous": "rrrr", "mixed": "grgr"}[kind]

    def column(signal, letter, n):
        if letter == "r":
            return signal + 0.3 * rng.normal(size=n)
        return (np.digitize(signal, [-0.5, 0.5]) + (rng.random(n) < 0.2)) % 3

    def draw(target, n):
        x = np.zeros((n, 4))
        for k, letter in enumerate(kinds):
            signal = rng.normal(size=n)
            if k != target and k in (1, 2):
                scaled = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)
                signal = scaled[:, 0] if k == 1 else scaled[:, 0] - 1.5 * np.abs(scaled[:, 1])
            x[:, k] = column(signal, letter, n)
        return x

    names = ["a", "b", "c", "d"]
    blocks = [draw(None, rows), *(draw(target, interventional) for target in targets)]
    return InterventionalData.from_environments(
        blocks,
        [None, *(names[target] for target in targets)],
        names=names,
        kinds={
            name: "continuous" if letter == "r" else "categorical" for name, letter in zip(names, kinds, strict=True)
        },
    )


TRUTH = np.zeros((4, 4), bool)
TRUTH[[0, 0, 1], [1, 2, 2]] = True


def problem_of(data, *, settings=None, n_jobs=1, allowed=None, required=None, likely=None):
    """A search for data whose columns are in the order of their names, with networks that have learned nothing yet."""
    discovery = Discovery(data, settings=settings or Settings(interventions="perfect"), n_jobs=n_jobs)
    assert (discovery.column == np.arange(data.n_variables)).all()
    everything, nothing = ~np.eye(data.n_variables, dtype=bool), np.zeros((data.n_variables,) * 2, bool)
    required = nothing if required is None else required
    allowed = (everything if allowed is None else allowed) & ~required & ~required.T
    return Problem(
        data=data,
        column=discovery.column,
        regimes=[data.observational, *discovery.graph_fitting.regimes],
        model=discovery.model,
        settings=discovery.settings,
        allowed=allowed,
        required=required,
        likely=(nothing if likely is None else likely) & (allowed | allowed.T),
        regressions=True,
        n_jobs=n_jobs,
    )


def edges(graph):
    """Edges as pairs of positions."""
    return {(int(cause), int(effect)) for cause, effect in np.argwhere(graph)}


def graph_of(n, *places):
    graph = np.zeros((n, n), bool)
    for place in places:
        graph[place] = True
    return graph


def chain(rows=400, *, scale=1.0, levels=0, draw=0):
    """X1 -> X2 -> X3, and X1 and X2 -> X4; noise is small, and X1 knows much of X3. X1 may be categorical."""
    rng = np.random.default_rng(draw)

    def draw_rows(target, n):
        x = np.zeros((n, 4))
        for j in range(4):
            noise = 0.02 * rng.normal(size=n)
            if j == target or j == 0:
                x[:, j] = rng.integers(levels, size=n) if levels and j == 0 else 2 * rng.normal(size=n)
            else:
                x[:, j] = [0, np.abs(x[:, 0]), np.tanh(x[:, 1] - 1), x[:, 0] - np.abs(x[:, 1])][j] + noise
        x[:, 2] *= scale
        return x

    environments = [draw_rows(None, 2 * rows)] + [draw_rows(j, rows) for j in range(4)]
    return InterventionalData.from_environments(
        environments, [None, 0, 1, 2, 3], kinds={"X1": "categorical"} if levels else None
    )


def counted(observational=2000, interventional=300, targets=range(4), seed=0):
    rng = np.random.default_rng(seed)

    def draw(rows, target=None):
        a, b, c, d = rng.integers(3, size=(rows, 4)).T.copy()
        if target != 1:
            b = np.where(rng.random(rows) < 0.5, a, b)
        if target != 2:
            c = np.where(rng.random(rows) < 0.5, b, c)
        return np.column_stack([a, b, c, d])

    drawn = [((), draw(observational))] + [((k,), draw(interventional, k)) for k in targets]
    return categorical(drawn, [3] * 4)


def categorical(drawn, levels):
    """Data of regimes (targets, codes)."""
    variables = [Variable(name, "categorical", tuple(range(n))) for name, n in zip("abcd", levels, strict=False)]
    regimes = [
        Regime(targets, codes.astype(np.uint8), np.zeros((len(codes), 0), np.float32)) for targets, codes in drawn
    ]
    return InterventionalData(variables, regimes)


def two_proxies():
    """b has two bits, of which a and d know one each; c is a noisy copy of b."""
    rng = np.random.default_rng(0)
    drawn = []
    for target, rows in ((None, 4000), (0, 400), (1, 400), (2, 400), (3, 400)):
        b = rng.integers(4, size=rows)
        a, d = (np.where(rng.random(rows) < 0.8, bit, 1 - bit) for bit in (b // 2, b % 2))
        c = np.where(rng.random(rows) < 0.9, b, rng.integers(4, size=rows))
        codes = np.column_stack([a, b, c, d])
        if target not in (None, 1):  # b itself is as random as if it were set
            codes[:, target] = rng.integers(4, size=rows)
        drawn.append((() if target is None else (target,), codes))
    return categorical(drawn, [4] * 4)


def rare_cause(strength):
    """a is 1 in one row of a hundred, unless it is set, and then makes b more likely to be 1; c is by itself."""
    rng = np.random.default_rng(0)
    drawn = []
    for targets, rows in (((), 20_000), ((0,), 300), ((1,), 300), ((2,), 20_000)):
        a = rng.random(rows) < (0.5 if targets == (0,) else 0.01)
        b = rng.random(rows) < (0.5 if targets == (1,) else np.where(a, 0.05 + strength, 0.05))
        drawn.append((targets, np.column_stack([a, b, rng.random(rows) < 0.5])))
    return categorical(drawn, [2] * 3)


def weak_cause(rows_of_effect):
    """a makes b more likely, but not in the few rows in which a was set, by chance; c is by itself."""
    rng = np.random.default_rng(0)
    drawn = []
    for targets, rows in (((), 20_000), ((0,), 40), ((1,), rows_of_effect), ((2,), 500)):
        a = rng.random(rows) < (0.5 if targets == (0,) else 0.3)
        b = rng.random(rows) < (0.5 if targets == (1,) else np.where(a, 0.3, 0.15))
        if targets == (0,):
            a, b = np.arange(rows) % 2, np.arange(rows) // 2 % 5 == 0
        drawn.append((targets, np.column_stack([a, b, rng.random(rows) < 0.5])))
    return categorical(drawn, [2] * 3)


def bidiag(seed, interventions):
    return BenchProblem(
        structure="bidiag",
        seed=seed,
        variables=8,
        categories=5,
        rows=2000,
        interventional_rows=200,
        interventions=interventions,
    ).draw()


FORWARD = [(0, 1), (0, 3), (1, 2), (1, 3)]


def found_from(data, start, **options):
    return edges(improve(problem_of(data, **options), start)[-1].graph)
