"""How long a fit will take and how much memory: what each stage does, times what that costs on this machine.

How often things are done follows from the problem: steps, rows, pairs, families. What one of them costs is measured,
since it differs between processors and between problems by more than any table of constants can know: a few
networks of the problem's own train for a few steps, and are asked for a few losses. That takes some tenths of a second.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.data import InterventionalData, Regime
from enco.fitting.loop import Discovery
from enco.fitting.memory import needed_memory
from enco.score.regression import Regressions
from enco.score.rows import MOST_ROWS, N_FOLDS, Sample

__all__ = ["Cost", "plan"]

PROBED = 4  # variables
PROBE_ROWS = 1_000
PROBE_STEPS = 20
REPEATS = 3

# How often a stage does what it does, where that depends on the data: about the medians of simulated problems.
DECIDED = 0.75  # of what a look at edge effects costs at first, on the way to a graph of few edges
NETWORK_STEPS = {True: 320, False: 620}  # until networks of the search stop, with continuous variables and without
ROUNDS = 2  # of training, where the search begins with another graph than it ends with
LOOKS = 3.0  # at every candidate of a variable, in all searches together
OPEN_LOOKS = 5.0  # the same for each variable of the problem, where directions are open, but no more than ...
MOST_LOOKS = 150.0  # ... these: the search limits what it tries in one look
AROUND = 2.0  # times the networks' part of a look: what is counted, compared and remembered
REGRESSIONS = 2.5  # of a continuous variable on all its rows, with what further parents promise
OPEN_REGRESSIONS = 16.0  # the same where directions are open
EXPERTS = {False: 2.0, True: 30.0}  # families of a categorical variable with continuous parents, directions open or not
DISTINCT_FAMILIES = 0.5  # share of the sampled graphs that differ in the parents of a variable, over all epochs


@dataclass(frozen=True)
class Cost:
    """What a fit will take.

    Attributes
    ----------
    seconds : dict
        Of each stage; together they are those of the fit.
    n_bytes : int
        Memory.
    """

    seconds: dict[str, float]
    n_bytes: int

    @property
    def total(self) -> float:
        """Seconds of the whole fit."""
        return sum(self.seconds.values())


def plan(discovery: Discovery, data: InterventionalData) -> Cost:
    """Estimate what a fit will take that runs to its last epoch.

    Parameters
    ----------
    discovery : Discovery
        Before its first epoch, or later; it does not change.
    data : InterventionalData

    Examples
    --------
    >>> from enco.settings import Settings
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> 0 < plan(Discovery(data, settings=Settings()), data).total < 60
    True
    """
    settings, pairs, n_jobs = discovery.settings, discovery.candidates, discovery.n_jobs
    speed = _Speed.measured(discovery)
    known = discovery.given  # with a column for the regime, if every regime has an intercept of its own
    n, rows = known.n_variables, np.array([regime.n_rows for regime in data.interventional])
    parents = float(np.diff(pairs.start).mean())

    steps = settings.first_fit_steps + (settings.max_epochs - 1) * settings.fit_steps
    epochs = settings.max_epochs
    passes = settings.first_orientation_passes * settings.orientation_epochs + settings.orientation_passes * epochs
    graph_rows = float(np.minimum(rows, settings.graph_batch).mean()) * settings.graph_steps * epochs
    if settings.estimator != "paired":
        graph_rows *= DISTINCT_FAMILIES * settings.graph_samples / max(1.0, parents)
    orientation_rows = float(np.minimum(rows, settings.orientation_batch).sum()) * passes
    seconds = {
        "distributions": n * steps * speed.step,
        "orientations": DECIDED * parents * orientation_rows * speed.orientation,
        "graph": DECIDED * pairs.n_pairs * graph_rows * speed.toggle,
    }
    if settings.refine_rounds:
        judged = min(data.observational.n_rows, MOST_ROWS) + min(int(rows.sum()), MOST_ROWS)
        continuous = int(np.count_nonzero(known.is_continuous))
        mixed, open_ = continuous > 0, data.partial or discovery.data.partial  # labels that are not believed, too
        rounds = min(ROUNDS if mixed or open_ else 1, settings.refine_rounds)
        networks = rounds * N_FOLDS * n * min(NETWORK_STEPS[mixed], settings.refine_steps) * speed.step
        looks = LOOKS + (min(OPEN_LOOKS * n, MOST_LOOKS) if open_ else 0.0)
        families = AROUND * looks * judged * pairs.n_pairs * speed.family
        regressions = (OPEN_REGRESSIONS if open_ else REGRESSIONS) * continuous * judged * speed.regression
        experts = EXPERTS[open_] * (n - continuous) * mixed * N_FOLDS * NETWORK_STEPS[mixed] * speed.step
        seconds["search"] = networks + families + regressions + experts
    threads = min(n_jobs, n)
    shared = {stage: spent / threads for stage, spent in seconds.items()}
    return Cost(shared, needed_memory(known, pairs, settings, n_jobs))


@dataclass(frozen=True)
class _Speed:
    """Seconds of processor time of what a fit does most.

    Attributes
    ----------
    step : float
        A training step of one variable.
    toggle, orientation : float
        Edge effects of a candidate pair on a row; the same if a variable has one pair only.
    family : float
        Loss of a row with a candidate parent in or out.
    regression : float
        A regression on two parents, for each row.
    """

    step: float
    toggle: float
    orientation: float
    family: float
    regression: float

    @classmethod
    def measured(cls, discovery: Discovery) -> "_Speed":
        """Train and ask networks like those of the fit, for a few of its variables."""
        few, variables = _few(discovery.candidates)
        regime = max(discovery.graph_fitting.regimes, key=lambda it: it.n_rows)
        observed = discovery.data.observational
        everything = [(observed, np.arange(min(observed.n_rows, PROBE_ROWS)))]
        networks = discovery.model.anew(few, everything, 0)
        half = np.full(few.n_pairs, 0.5)
        rows, first = np.arange(min(regime.n_rows, PROBE_ROWS)), np.zeros(few.n_pairs, bool)
        starts = few.start[variables]
        first[starts[np.diff(few.start)[variables] > 0]] = True
        free = variables[regime.free(variables)]
        counted = sum(int(np.diff(few.start)[j]) for j in free)

        def ask(wanted: NDArray[np.bool_]) -> Callable[[], object]:
            return lambda: networks.edge_effects(regime, rows, half, wanted)

        def look() -> None:
            for j in variables.tolist():
                k = int(np.diff(few.start)[j])
                networks.row_losses(observed, everything[0][1], j, np.zeros(k, bool), np.arange(k))

        def train(steps: int) -> Callable[[], object]:
            return lambda: networks.fit(half / 2, steps, variables)

        step = (_timed(train(3 * PROBE_STEPS)) - _timed(train(PROBE_STEPS))) / (2 * PROBE_STEPS * len(variables))
        return cls(
            max(step, 1e-7),
            _timed(ask(~np.zeros(few.n_pairs, bool))) / max(1, len(rows) * counted),
            _timed(ask(first)) / max(1, len(rows) * len(free)),
            _timed(look) / max(1, len(everything[0][1]) * few.n_pairs),
            _regression_speed(discovery),
        )


def _few(candidates: Candidates) -> tuple[Candidates, NDArray[np.int64]]:
    """Candidates of a few variables, with few, middling and many of them, and those variables."""
    by_size = np.argsort(np.diff(candidates.start), kind="stable")
    places = (np.arange(PROBED) + 0.5) / PROBED * len(by_size)
    variables = np.unique(by_size[places.astype(int)])
    chosen = np.isin(candidates.effect, variables)
    count = np.bincount(candidates.effect[chosen], minlength=candidates.n_variables)
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    return Candidates(start, candidates.cause[chosen]), variables


def _regression_speed(discovery: Discovery) -> float:
    """Seconds of a regression of a continuous variable on two others, for each row."""
    data, column = discovery.data, discovery.column
    continuous = np.flatnonzero(data.is_continuous[column])
    if not len(continuous) or not discovery.gaussian or not discovery.settings.refine_rounds:
        return 0.0
    observed = data.observational
    rows = np.arange(min(observed.n_rows, 2 * PROBE_ROWS))
    sample = Sample.of([Regime((), observed.codes[rows], observed.reals[rows])], data.n_variables)
    unit, levels, slot = Standardisation.of(data), data.n_levels[column], data.slots[column]
    effect = int(continuous[0])
    parents = frozenset(int(k) for k in continuous[1:3])

    def regress() -> None:
        with threadpool_limits(1, "blas"):  # as in the search
            Regressions(sample, unit, levels, slot).of(effect, 1.0).loss(parents)

    return _timed(regress) / (N_FOLDS * len(rows))


def _timed(task: Callable[[], object]) -> float:
    """Processor time of a task, the least of several, after a first time that compiles what it needs."""
    task()
    spent = []
    for _ in range(REPEATS):
        began = time.process_time()
        task()
        spent.append(time.process_time() - began)
    return min(spent)
