"""Parents of continuous variables, challenged by regressions on exactly these (`enco.conditionals.regression`).

A regression learns from the observational rows and one half of every regime's, and is judged on the other half; a
second one the other way round. Even precise training ends in one of many minima, which differ by more than a weak edge
is worth. So the regressions with and without a parent teach each other: each goes on from where the other ended, and
the last word is with the one without. What a useless parent seems to earn is then within the other's reach, while a
cause earns what nothing else can explain.
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
HELD_OUT = 0.1
CLEAR = 0.05  # nats per row: beyond this a parent is confirmed without further ado
TURNS = 2


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

    def delete(
        self,
        graph: Mask,
        pairs: Candidates,
        doubtful: Mask,
        *,
        price: Floats,
        gain: Floats,
        on_progress: Callable[[float], None] = lambda fraction: None,
    ) -> list[Move]:
        """Take edges out of the graph, in place, that are not worth their price.

        Parameters
        ----------
        graph : bool [N, N]
        pairs : Candidates
        doubtful : bool [P]
            Edges of the graph to challenge, all into continuous variables.
        price : float64 [N]
            What an edge into each variable must earn, nats.
        gain : float64 [P]
            What each seems to earn; those that seem to earn least go first.
        on_progress : callable, optional
        """
        effects = np.unique(pairs.effect[doubtful])
        stop = Event()

        def challenge(effect: int) -> list[Move]:
            into = np.flatnonzero(doubtful & (pairs.effect == effect))
            weakest_first = {int(pairs.cause[pair]): int(pair) for pair in into[np.lexsort((into, gain[into]))]}
            parents = np.flatnonzero(graph[:, effect]).tolist()
            dropped = self._family(parents, effect, stop).eliminate(parents, list(weakest_first), price[effect])
            return [Move(change, "delete", weakest_first[cause]) for cause, change in dropped]

        moves = list[Move]()
        # The matrices are small: threads go to variables, not to products.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(self._n_jobs) as pool:
            try:
                for done, dropped in enumerate(pool.map(challenge, effects.tolist()), 1):
                    moves += dropped
                    on_progress(done / len(effects))
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)
        for move in moves:
            graph[pairs.cause[move.pair], pairs.effect[move.pair]] = False
        return moves

    def _family(self, parents: Sequence[int], effect: int, stop: Event) -> "_Family":
        rng = np.random.default_rng([effect, 0])
        free = [regime for regime in self._regimes if effect not in regime.targets]
        near = np.array([not set(regime.targets).isdisjoint(parents) for regime in free], bool)
        rows = np.array([regime.n_rows for regime in free], float)
        # Where parents are pushed, most can be learned.
        share = np.ones(len(free))
        share[near] = min(1.0, 2 * MOST_PUSHED / max(1.0, rows[near].sum()))
        left = max(0.0, 2 * MOST_PUSHED - share[near] @ rows[near])
        share[~near] = min(1.0, left / max(1.0, rows[~near].sum()))

        observed = self._data.observational
        seen = _some(rng, observed, MOST_OBSERVED / observed.n_rows)
        parts = [(observed, seen)]
        parts += [(regime, _some(rng, regime, part)) for regime, part in zip(free, share, strict=True)]
        table = np.concatenate([self._inputs(regime, those, parents) for regime, those in parts])
        target = np.concatenate([self._values(regime, those, effect)[:, 0] for regime, those in parts])
        weight = np.concatenate([np.full(len(those), regime.n_rows / len(those)) for regime, those in parts])
        half = np.concatenate([np.full(len(seen), -1)] + [rng.permutation(len(those)) % 2 for _, those in parts[1:]])
        widths = [max(1, self._data.n_levels[self._column[parent]] - 1) for parent in parents]
        ends = np.cumsum(widths)
        places = {p: np.arange(end - width, end) for p, end, width in zip(parents, ends, widths, strict=True)}

        def go_on() -> None:
            if stop.is_set():
                raise InterruptedError("the fit was interrupted")

        return _Family(_split(table, target, weight, half, rng), places, effect, go_on)

    def _inputs(self, regime: Regime, rows: I64, parents: Sequence[int]) -> NDArray[np.float32]:
        columns = [self._values(regime, rows, parent) for parent in parents]
        return np.concatenate([*columns, np.ones((len(rows), 1), np.float32)], axis=1)

    def _values(self, regime: Regime, rows: I64, variable: int) -> NDArray[np.float32]:
        """Return a variable as inputs: its standardised value, or an indicator of every level but the first."""
        column = int(self._column[variable])
        slot, levels = int(self._data.slots[column]), int(self._data.n_levels[column])
        if levels:
            indicators = regime.codes[rows, slot][:, None] == np.arange(1, max(2, levels))
            return np.asarray(indicators, np.float32)
        return self._unit.of_column(slot).apply(regime.reals[rows, slot][:, None])


@dataclass(frozen=True)
class _Half:
    train: Rows
    held_out: Rows
    judged: Rows
    weight: Floats  # of each judged row


@dataclass(frozen=True)
class _Fit:
    """Regressions of both halves for some parents, and their losses on the rows that they are judged on, nats."""

    parents: tuple[int, ...]
    regressions: tuple[Regression, ...]
    losses: tuple[float, ...]

    @property
    def loss(self) -> float:
        return sum(self.losses)

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
    """One variable and parents that it may have; `places` says which inputs stand for each."""

    def __init__(self, halves: Sequence[_Half], places: dict[int, I64], effect: int, go_on: Callable[[], None]) -> None:
        self._halves = halves
        self._places = places
        self._effect = effect
        self._go_on = go_on

    def eliminate(
        self, parents: Sequence[int], weakest_first: Sequence[int], price: float
    ) -> Iterator[tuple[int, float]]:
        """Leave out one parent at a time; yield those better left out, and the change of the objective."""
        fit = self._from_scratch(tuple(parents), 0)
        confirmed = set[int]()
        while left := [parent for parent in weakest_first if parent in fit.parents and parent not in confirmed]:
            fit, without = self._contest(fit, left[0], price)
            worth = without.loss - fit.loss - price
            if worth > 0:
                confirmed.add(left[0])
                continue
            yield left[0], worth
            fit = without
            confirmed.clear()  # what seemed needed beside that parent may not be needed without it

    def _contest(self, fit: _Fit, parent: int, price: float) -> tuple[_Fit, _Fit]:
        """Regressions with and without a parent, each as good as the other can teach it to be."""
        others = tuple(other for other in fit.parents if other != parent)
        clear = CLEAR * sum(float(half.weight.sum()) for half in self._halves)
        without = self._go_on_from(fit, others, competing=True)
        if without.loss - fit.loss > clear:
            return fit, without
        for turn in range(1, TURNS + 1):
            if without.loss - fit.loss > price:
                without = without.or_better(self._from_scratch(others, turn))
                continue
            fit = fit.or_better(self._go_on_from(without, fit.parents))
            if without.loss - fit.loss < price:
                break
            without = without.or_better(self._go_on_from(fit, others))
        return fit, without

    def _from_scratch(self, parents: tuple[int, ...], attempt: int) -> _Fit:
        rows = self._rows(parents)
        rng = [np.random.default_rng([self._effect, 1 + k, attempt]) for k in range(len(rows))]
        return self._fit(
            parents, [Regression.random(half.train, stream) for half, stream in zip(rows, rng, strict=True)], rows
        )

    def _go_on_from(self, fit: _Fit, parents: tuple[int, ...], *, competing: bool = False) -> _Fit:
        old, first = dict[int, I64](), 0
        for parent in fit.parents:
            width = len(self._places[parent])
            old[parent] = np.arange(first, first + width)
            first += width
        source = [old.get(parent, np.full(len(self._places[parent]), -1)) for parent in parents]
        place = np.concatenate(source) if source else np.zeros(0, np.int64)
        begin = [regression.with_inputs(place) for regression in fit.regressions]
        goals = [regression.learned for regression in fit.regressions] if competing else None
        return self._fit(parents, begin, self._rows(parents), goals)

    def _fit(
        self,
        parents: tuple[int, ...],
        begin: Sequence[Regression],
        rows: Sequence[_Half],
        goals: Sequence[float] | None = None,
    ) -> _Fit:
        fitted, losses = [], []
        for k, (regression, half) in enumerate(zip(begin, rows, strict=True)):
            goal = (goals[k], CLEAR * len(half.train.target)) if goals else None
            fitted.append(regression.fit(half.train, half.held_out, goal=goal, go_on=self._go_on))
            losses.append(float(fitted[-1].losses(half.judged) @ half.weight))
        return _Fit(parents, tuple(fitted), tuple(losses))

    def _rows(self, parents: tuple[int, ...]) -> list[_Half]:
        places = [self._places[parent] for parent in parents]
        columns = np.concatenate(places) if places else np.zeros(0, np.int64)
        return [
            _Half(half.train.of(columns), half.held_out.of(columns), half.judged.of(columns), half.weight)
            for half in self._halves
        ]


def _split(
    table: NDArray[np.float32], target: NDArray[np.float32], weight: Floats, half: I64, rng: np.random.Generator
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
        halves.append(_Half(train, held_out, judged, weight[others]))
    return halves


def _some(rng: np.random.Generator, regime: Regime, share: float) -> I64:
    """At most a share of a regime's rows, but at least two if there are."""
    count = min(regime.n_rows, max(2, int(regime.n_rows * share)))
    if count == regime.n_rows:
        return np.arange(count)
    return np.sort(rng.choice(regime.n_rows, count, replace=False))
