"""Parents of continuous variables, challenged by regressions on exactly these (`enco.conditionals.regression`).

A regression learns from the observational rows and one half of every regime's, and is judged on the other half; a
second one the other way round. Even precise training ends in one of many minima, which differ by more than a weak edge
is worth. So every variable is fitted from two starts, and some of what lies between them is added to the price of a
parent: differences between two random restarts are treated as noise. The regression without a parent goes on from where
the one with it ended, so that what a useless parent seems to earn is within its reach, while a cause earns what nothing
else can explain. If that ends far behind, it begins again from scratch: weights learned beside one parent can be a bad
start without it, and whether they are would depend on rounding. A parent must be worth its price by both halves: they
share neither the rows to be judged on nor the minimum that they end in, so that a lucky one is found out by the other.

A second-order step costs the square of the number of weights, and every level of a categorical parent has weights of
its own. Variables whose parents need more than `MOST_INPUTS` inputs are left to others, and such parents are not added.

Before that, parents are added that the networks have overlooked, since whatever knows something of a missing parent
seems useful and in a way is. The one that promises most is tried first. It must earn its price, and must not have lost
where it was itself the target of the intervention, as an effect taken for a cause would. Only variables that come
earlier in one order of all are tried, so that no two additions close a cycle. The order agrees with the graph and with
as many orientations as possible: a single one may be wrong, and its edge be missing for just that reason.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.data import InterventionalData, Regime
from enco.fitting.moves import Move
from enco.fitting.regression_family import Family, ranges, split

__all__ = ["Regressions"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_OBSERVED = 5_000  # observational rows that one regression learns from
MOST_PUSHED = 10_000  # interventional rows that one regression learns from, or is judged on
ALL_ROWS_UP_TO = 30  # variables; in larger graphs each has fewer rows, so that all together take minutes ...
LEAST_SHARE = 0.15  # ... down to this share
MOST_INPUTS = 64  # of all parents together: a step then takes a fraction of a second


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
        levels = data.n_levels[column]
        self.continuous: Mask = levels == 0
        self._width: I64 = np.maximum(1, levels - 1)  # inputs that stand for each variable

    def answers_for(self, graph: Mask) -> Mask:
        """Return which variables regressions can decide about, given their parents in a graph, [N]."""
        few: Mask = graph.T @ self._width <= MOST_INPUTS
        return self.continuous & few

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
            Edges of the graph to challenge, all into variables that regressions answer for.
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
        room = np.where(self.continuous, MOST_INPUTS - graph.T @ self._width, 0)
        addable = addable & ~joined & np.isin(pairs.cause, targets) & (self._width[pairs.cause] <= room[pairs.effect])
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
    ) -> Family:
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
        places = dict(zip(parents, ranges(self._width[parents]), strict=True))

        def go_on() -> None:
            if stop.is_set():
                raise InterruptedError("the fit was interrupted")

        return Family(split(table, target, weight, regime_of, half, rng), places, pushed, effect, price, go_on)

    def _inputs(self, regime: Regime, rows: I64, parents: Sequence[int]) -> NDArray[np.float32]:
        """Return parents as inputs, [rows, inputs]: standardised values, or an indicator of every level but the first.

        The last input is constant. There may be many regimes of few rows, so values are read all at once.
        """
        columns = self._column[np.array(parents, np.int64)]
        slots, places = self._data.slots[columns], ranges(self._width[parents])
        inputs = np.ones((len(rows), sum(map(len, places)) + 1), np.float32)
        real = self._data.n_levels[columns] == 0
        if real.any():
            at = np.concatenate([place for place, is_real in zip(places, real, strict=True) if is_real])
            inputs[:, at] = self._unit.of_columns(slots[real]).apply(regime.reals[rows[:, None], slots[real]])
        for k in np.flatnonzero(~real):
            inputs[:, places[k]] = regime.codes[rows, slots[k]][:, None] == np.arange(1, len(places[k]) + 1)
        return inputs

    def _values(self, regime: Regime, rows: I64, variable: int) -> NDArray[np.float32]:
        """Return the standardised values of a continuous variable, [rows]."""
        return self._inputs(regime, rows, [variable])[:, 0]


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
