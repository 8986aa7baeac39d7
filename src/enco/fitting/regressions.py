"""Parents of continuous variables, challenged by regressions on exactly these (`enco.conditionals.regression`).

A regression learns from the observational rows and one half of every regime's, and is judged on the other half; a
second one the other way round. Even precise training ends in one of many minima, which differ by more than a weak edge
is worth. So every variable is fitted from two starts, and some of what lies between them is added to the price of a
parent: what training leaves unexplained by chance is no evidence. The regression without a parent goes on from where
the one with it ended, so that what a useless parent seems to earn is within its reach, while a cause earns what nothing
else can explain. A parent must be worth its price by both halves: they share neither the rows to be judged on nor the
minimum that they end in, so that a lucky one is found out by the other.

Before that, parents are added that the networks have overlooked, since whatever knows something of a missing parent
seems useful and in a way is. The one that promises most is tried first. It must earn its price, and must not have lost
where it was itself the target of the intervention, as an effect taken for a cause would. Only variables that come
earlier in one order of all are tried, so that no two additions close a cycle. The order agrees with the graph and with
as many orientations as possible: a single one may be wrong, and its edge be missing for just that reason.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.conditionals.regression import Regression, Rows
from enco.data import InterventionalData, Regime
from enco.fitting.moves import Move

__all__ = ["Regressions"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_OBSERVED = 5_000  # observational rows that one regression learns from
MOST_PUSHED = 10_000  # interventional rows that one regression learns from, or is judged on
ALL_ROWS_UP_TO = 30  # variables; in larger graphs each has fewer rows, so that all together take minutes ...
LEAST_SHARE = 0.15  # ... down to this share
HELD_OUT = 0.1
CLEAR = 0.05  # nats per row: one that is so far behind need not go on
APART = 0.4  # share of the distance between two starts that is added to the price of a parent
CLOSE = 0.5  # share of the price that a parent must be worth to be tried once more
MOST_FAILURES = 3  # candidates tried in vain beside the same parents

Change = tuple[str, int, float]  # kind of move, parent, cost


class Regressions:
    """Regressions of the continuous variables of a data set.

    Parameters
    ----------
    data : InterventionalData
    regimes : sequence of Regime
        The interventional ones; targets are positions among the variables.
    column : int64 [N]
        Column of the data that holds each variable.
    n_jobs : int
        Threads. Any number gives the same bits.
    """

    def __init__(self, data: InterventionalData, regimes: Sequence[Regime], column: I64, n_jobs: int) -> None:
        self._data = data
        self._regimes = regimes
        self._column = column
        self._unit = Standardisation.of(data)
        self._n_jobs = n_jobs
        self.continuous: Mask = data.n_levels[column] == 0

    def revise(
        self,
        graph: Mask,
        pairs: Candidates,
        *,
        doubtful: Mask,
        addable: Mask,
        forward: Mask,
        price: Floats,
        gain: Floats,
        on_progress: Callable[[float], None] = lambda fraction: None,
    ) -> list[Move]:
        """Add edges that are worth their price, and take out those that are not; changes the graph in place.

        Parameters
        ----------
        graph : bool [N, N]
        pairs : Candidates
        doubtful : bool [P]
            Edges of the graph to challenge, all into continuous variables.
        addable : bool [P]
            Edges that may be added ...
        forward : bool [P]
            ... if they agree with an order of the variables that agrees with as many of these as possible.
        price : float64 [N]
            What an edge into each variable must earn, nats.
        gain : float64 [P]
            What each seems to earn; those that seem to earn least go first.
        on_progress : callable, optional
        """
        place = _places(graph, pairs, forward)
        targets = np.array(sorted({target for regime in self._regimes for target in regime.targets}), np.int64)
        joined = (graph | graph.T)[pairs.cause, pairs.effect]
        addable = addable & ~joined & self.continuous[pairs.effect] & np.isin(pairs.cause, targets)
        addable &= place[pairs.cause] < place[pairs.effect]
        effects = np.unique(pairs.effect[doubtful | addable])
        stop = Event()

        def challenge(effect: int) -> list[Move]:
            into = np.arange(pairs.n_pairs)[pairs.pairs_into(effect)]
            pair_of = dict(zip(pairs.cause[into].tolist(), into.tolist(), strict=True))
            weakest_first = into[doubtful[into]]
            weakest_first = pairs.cause[weakest_first[np.argsort(gain[weakest_first], kind="stable")]].tolist()
            candidates = pairs.cause[into[addable[into]]].tolist()
            parents = np.flatnonzero(graph[:, effect]).tolist()
            family = self._family(parents, candidates, effect, float(price[effect]), stop)
            changes = family.revise(parents, candidates, weakest_first)
            return [Move(cost, kind, pair_of[cause]) for kind, cause, cost in changes]

        moves = list[Move]()
        # The matrices are small: threads go to variables, not to products.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(self._n_jobs) as pool:
            try:
                for done, changes in enumerate(pool.map(challenge, effects.tolist()), 1):
                    moves += changes
                    on_progress(done / len(effects))
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)
        for move in moves:
            graph[pairs.cause[move.pair], pairs.effect[move.pair]] = move.kind == "add"
        return moves

    def _family(
        self, parents: Sequence[int], candidates: Sequence[int], effect: int, price: float, stop: Event
    ) -> "_Family":
        parents = [*parents, *candidates]
        rng = np.random.default_rng([effect, 0])
        free = [regime for regime in self._regimes if effect not in regime.targets]
        near = np.array([not set(regime.targets).isdisjoint(parents) for regime in free], bool)
        rows = np.array([regime.n_rows for regime in free], float)
        # Where parents are pushed, most can be learned.
        part = min(1.0, max(LEAST_SHARE, ALL_ROWS_UP_TO / len(self._column)))
        share = np.ones(len(free))
        share[near] = min(1.0, 2 * part * MOST_PUSHED / max(1.0, rows[near].sum()))
        left = max(0.0, 2 * part * MOST_PUSHED - share[near] @ rows[near])
        share[~near] = min(1.0, left / max(1.0, rows[~near].sum()))

        observed = self._data.observational
        seen = _some(rng, observed, part * MOST_OBSERVED / observed.n_rows)
        parts = [(observed, seen)]
        parts += [(regime, _some(rng, regime, its)) for regime, its in zip(free, share, strict=True)]
        table = np.concatenate([self._inputs(regime, those, parents) for regime, those in parts])
        target = np.concatenate([self._values(regime, those, effect) for regime, those in parts])
        weight = np.concatenate([np.full(len(those), regime.n_rows / len(those)) for regime, those in parts])
        half = np.concatenate([np.full(len(seen), -1)] + [rng.permutation(len(those)) % 2 for _, those in parts[1:]])
        regime_of = np.repeat(np.arange(-1, len(free)), [len(those) for _, those in parts])
        pushed = {p: np.flatnonzero([p in regime.targets for regime in free]) for p in candidates}
        places = dict(zip(parents, _ranges(self._widths(parents)), strict=True))

        def go_on() -> None:
            if stop.is_set():
                raise InterruptedError("the fit was interrupted")

        return _Family(_split(table, target, weight, regime_of, half, rng), places, pushed, effect, price, go_on)

    def _inputs(self, regime: Regime, rows: I64, parents: Sequence[int]) -> NDArray[np.float32]:
        """Return parents as inputs, [rows, inputs]: standardised values, or an indicator of every level but the first.

        The last input is constant. There may be many regimes of few rows, so values are read all at once.
        """
        columns = self._column[np.array(parents, np.int64)]
        slots, places = self._data.slots[columns], _ranges(self._widths(parents))
        inputs = np.ones((len(rows), sum(map(len, places)) + 1), np.float32)
        real = self._data.n_levels[columns] == 0
        if real.any():
            at = np.concatenate([place for place, is_real in zip(places, real, strict=True) if is_real])
            inputs[:, at] = self._unit.of_columns(slots[real]).apply(regime.reals[rows[:, None], slots[real]])
        for k in np.flatnonzero(~real):
            inputs[:, places[k]] = regime.codes[rows, slots[k]][:, None] == np.arange(1, len(places[k]) + 1)
        return inputs

    def _widths(self, variables: Sequence[int]) -> list[int]:
        """How many inputs stand for each variable."""
        return [max(1, int(self._data.n_levels[self._column[variable]]) - 1) for variable in variables]

    def _values(self, regime: Regime, rows: I64, variable: int) -> NDArray[np.float32]:
        """Return the standardised values of a continuous variable, [rows]."""
        return self._inputs(regime, rows, [variable])[:, 0]


@dataclass(frozen=True)
class _Half:
    train: Rows
    held_out: Rows
    judged: Rows
    weight: Floats  # of each judged row
    regime: I64  # of each judged row


@dataclass(frozen=True)
class _Fit:
    """Regressions of both halves for some parents, and their losses on the rows that they are judged on, nats."""

    parents: tuple[int, ...]
    regressions: tuple[Regression, ...]
    losses: tuple[float, ...]

    def worth_beside(self, other: "_Fit", price: float) -> float:
        """Return what parents that the other has not are worth beyond their price, by the more sceptical half, nats."""
        gains = self.gains_over(other)
        return len(gains) * min(gains) - price

    def gains_over(self, other: "_Fit") -> list[float]:
        """Return how much better than the other it is by each half, nats."""
        return [its - mine for mine, its in zip(self.losses, other.losses, strict=True)]

    def or_better(self, other: "_Fit") -> "_Fit":
        """Of each half, the one that has learned better."""
        best = [mine.learned <= its.learned for mine, its in zip(self.regressions, other.regressions, strict=True)]
        source = [self if mine else other for mine in best]
        return _Fit(
            self.parents,
            tuple(fit.regressions[k] for k, fit in enumerate(source)),
            tuple(fit.losses[k] for k, fit in enumerate(source)),
        )


class _Family:
    """One variable and parents that it may have.

    `places` says which inputs stand for each, `pushed` which regimes intervene on each candidate, and `price` what a
    parent must earn, nats.
    """

    def __init__(
        self,
        halves: Sequence[_Half],
        places: dict[int, I64],
        pushed: dict[int, I64],
        effect: int,
        price: float,
        go_on: Callable[[], None],
    ) -> None:
        self._halves = halves
        self._places = places
        self._pushed = pushed
        self._effect = effect
        self._price = price
        self._go_on = go_on

    def revise(
        self, parents: Sequence[int], candidates: Sequence[int], weakest_first: Sequence[int]
    ) -> Iterator[Change]:
        """Add candidates, then leave out parents that are not worth their price, the doubtful and the new ones."""
        fit = self._from_two_starts(tuple(parents))
        fit, added = self._grown(fit, candidates)
        for parent, cost in self._eliminate(fit, [*weakest_first, *added]):
            if added.pop(parent, None) is None:
                yield "delete", parent, cost
        yield from (("add", parent, cost) for parent, cost in added.items())

    def _from_two_starts(self, parents: tuple[int, ...]) -> _Fit:
        """Return the better regression of each half; what lies between the two makes every parent dearer."""
        one, other = (self._from_scratch(parents, start) for start in range(2))
        apart = [abs(a.learned - b.learned) for a, b in zip(one.regressions, other.regressions, strict=True)]
        self._price += APART * min(apart)
        return one.or_better(other)

    def _grown(self, fit: _Fit, candidates: Sequence[int]) -> tuple[_Fit, dict[int, float]]:
        """Add the candidate that promises most until none is worth its price; return the cost of each as well."""
        left, vain, added = list(candidates), list[int](), dict[int, float]()
        while left and len(vain) < MOST_FAILURES:
            promise = self._promise(fit, left)
            best = int(np.argmax(promise))
            if promise[best] < self._price:
                break
            parent = left.pop(best)
            more = self._go_on_from(fit, (*fit.parents, parent))
            cost = -more.worth_beside(fit, self._price)
            if cost < 0 and self._gain_where_pushed(fit, more, parent) > 0:
                fit = more
                added[parent] = cost
                left, vain = left + vain, []  # beside this one, they may be worth more
            else:
                vain.append(parent)
        return fit, added

    def _promise(self, fit: _Fit, candidates: Sequence[int]) -> Floats:
        groups = _ranges([len(self._places[candidate]) for candidate in candidates])
        known, further = self._columns(fit.parents), self._columns(candidates)
        total = np.zeros(len(candidates))
        for regression, half in zip(fit.regressions, self._halves, strict=True):
            total += regression.expected_gains(half.train.of(known), half.train.inputs[:, further], groups)
        return total

    def _gain_where_pushed(self, fit: _Fit, more: _Fit, parent: int) -> float:
        """Sum what the second fit gains in rows that intervene on a parent, nats."""
        gain = 0.0
        for k, half in enumerate(self._halves):
            there = np.isin(half.regime, self._pushed[parent])
            rows = half.judged.some(there)
            few, many = (rows.of(self._columns(each.parents)) for each in (fit, more))
            lost = more.regressions[k].losses(many) - fit.regressions[k].losses(few)
            gain -= float(lost @ half.weight[there])
        return gain

    def _eliminate(self, fit: _Fit, weakest_first: Sequence[int]) -> Iterator[tuple[int, float]]:
        """Leave out one parent at a time; yield those better left out, and the change of the objective."""
        confirmed = set[int]()
        while left := [parent for parent in weakest_first if parent in fit.parents and parent not in confirmed]:
            fit, without = self._contest(fit, left[0])
            if (worth := fit.worth_beside(without, self._price)) > 0:
                confirmed.add(left[0])
                continue
            yield left[0], worth
            fit = without
            confirmed.clear()  # what seemed needed beside that parent may not be needed without it

    def _contest(self, fit: _Fit, parent: int) -> tuple[_Fit, _Fit]:
        """Regressions with and without a parent; if it is a near thing, the first learns from the second."""
        others = tuple(other for other in fit.parents if other != parent)
        without = self._go_on_from(fit, others, competing=True)
        if (CLOSE - 1.0) * self._price < fit.worth_beside(without, self._price) <= 0:
            fit = fit.or_better(self._go_on_from(without, fit.parents))
        return fit, without

    def _from_scratch(self, parents: tuple[int, ...], start: int) -> _Fit:
        rows = self._rows(parents)
        rng = [np.random.default_rng([self._effect, 1 + k, start]) for k in range(len(rows))]
        return self._fit(
            parents, [Regression.random(half.train, stream) for half, stream in zip(rows, rng, strict=True)], rows
        )

    def _go_on_from(self, fit: _Fit, parents: tuple[int, ...], *, competing: bool = False) -> _Fit:
        """Train on for other parents; what the others can say about one that left goes into their weights."""
        rows, old, new = self._rows(parents), self._columns(fit.parents), self._columns(parents)
        gone = ~np.isin(old, new)
        begin = []
        for regression, half, its in zip(fit.regressions, self._halves, rows, strict=True):
            stand_in = np.zeros((len(old) + 1, len(new) + 1))
            stand_in[:-1, :-1] = old[:, None] == new
            stand_in[-1, -1] = 1.0  # the constant
            if gone.any():
                stand_in[:-1][gone] = _in_terms_of(its.train.inputs, half.train.inputs[:, old[gone]])
            begin.append(regression.with_inputs(stand_in))
        return self._fit(parents, begin, rows, fit if competing else None)

    def _fit(
        self,
        parents: tuple[int, ...],
        begin: Sequence[Regression],
        rows: Sequence[_Half],
        rival: _Fit | None = None,
    ) -> _Fit:
        fitted, losses = [], []
        for k, (regression, half) in enumerate(zip(begin, rows, strict=True)):
            goal = (rival.regressions[k].learned, CLEAR * len(half.train.target)) if rival else None
            rng = np.random.default_rng([self._effect, 1 + k])
            fitted.append(regression.fit(half.train, half.held_out, rng=rng, goal=goal, go_on=self._go_on))
            losses.append(float(fitted[-1].losses(half.judged) @ half.weight))
        return _Fit(parents, tuple(fitted), tuple(losses))

    def _columns(self, parents: Sequence[int]) -> I64:
        """Return the inputs that stand for some parents, in their order."""
        return np.concatenate([np.zeros(0, np.int64), *(self._places[parent] for parent in parents)])

    def _rows(self, parents: tuple[int, ...]) -> list[_Half]:
        columns = self._columns(parents)
        return [
            _Half(half.train.of(columns), half.held_out.of(columns), half.judged.of(columns), half.weight, half.regime)
            for half in self._halves
        ]


def _split(
    table: NDArray[np.float32],
    target: NDArray[np.float32],
    weight: Floats,
    regime: I64,
    half: I64,
    rng: np.random.Generator,
) -> list[_Half]:
    """Rows of each half (observational ones are in both) to learn from, to decide when to stop, and to be judged on."""
    halves = []
    for mine in (0, 1):
        learned = rng.permutation(np.flatnonzero(half != 1 - mine))
        held, trained = np.split(learned, [int(np.ceil(HELD_OUT * len(learned)))])
        others = np.flatnonzero(half == 1 - mine)
        train, held_out, judged = (
            Rows(table[rows], target[rows]) for rows in (np.sort(trained), np.sort(held), others)
        )
        halves.append(_Half(train, held_out, judged, weight[others], regime[others]))
    return halves


def _in_terms_of(inputs: NDArray[np.float32], others: NDArray[np.float32]) -> Floats:
    """Find the linear functions of the inputs that come closest to others, [others, inputs].

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(size=(2, 100, 1)).astype(np.float32)
    >>> _in_terms_of(np.hstack([y, x]), x + 2 * y).round(3)
    array([[2., 1.]])
    """
    square = (inputs.T @ inputs).astype(np.float64)
    square += 1e-6 * np.trace(square) / len(square) * np.eye(len(square))
    return np.asarray(np.linalg.solve(square, inputs.T @ others).T, np.float64)


def _ranges(widths: Sequence[int]) -> list[I64]:
    """Return the columns of things that stand side by side.

    Examples
    --------
    >>> [columns.tolist() for columns in _ranges([1, 3])]
    [[0], [1, 2, 3]]
    """
    ends = np.cumsum(widths)
    return [np.arange(end - width, end) for end, width in zip(ends, widths, strict=True)]


def _places(graph: Mask, pairs: Candidates, forward: Mask) -> I64:
    """Place of each variable in an order that the graph allows, and that as many as possible of some pairs agree with.

    Examples
    --------
    >>> pairs = Candidates.all_pairs(3)
    >>> _places(np.zeros((3, 3), bool), pairs, (pairs.cause == 2) | (pairs.effect == 1))
    array([1, 2, 0])
    """
    place = np.full(len(graph), -1)
    missing = graph.sum(axis=0)
    ahead = np.bincount(pairs.cause[forward], minlength=len(graph))
    for turn in range(len(graph)):
        behind = np.bincount(pairs.effect[forward & (place[pairs.cause] < 0)], minlength=len(graph))
        free = np.flatnonzero((place < 0) & (missing == 0))
        first = free[np.argmax((ahead - behind)[free])]
        place[first] = turn
        missing -= graph[first]
    return place


def _some(rng: np.random.Generator, regime: Regime, share: float) -> I64:
    """At most a share of a regime's rows, but at least two if there are."""
    count = min(regime.n_rows, max(2, int(regime.n_rows * share)))
    if count == regime.n_rows:
        return np.arange(count)
    return np.sort(rng.choice(regime.n_rows, count, replace=False))
