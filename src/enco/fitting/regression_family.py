"""One continuous variable and the parents that it may have: regressions from two starts, grown, then pruned.

What is done and why is told in `enco.fitting.regressions`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.regression import Regression, Rows

__all__ = ["Change", "Family", "Half", "ranges", "split"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]

HELD_OUT = 0.1
CLEAR = 0.05  # nats per row: one that is so far behind need not go on
APART = 0.4  # share of the distance between two starts that is added to the price of a parent
CLOSE = 0.5  # share of the price that a parent must be worth to be tried once more

Change = tuple[str, int, float]  # kind of move, parent, cost


@dataclass(frozen=True)
class Half:
    """Rows of one half: to learn from, to decide when to stop, and, of the other half, to be judged on."""

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


class Family:
    """One variable and parents that it may have.

    `places` says which inputs stand for each, `pushed` which regimes intervene on each candidate, and `price` what a
    parent must earn, nats.
    """

    def __init__(
        self,
        halves: Sequence[Half],
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
        self._least_price = price
        self._price = price  # and what two starts leave open
        self._go_on = go_on

    def revise(
        self, parents: Sequence[int], candidates: Sequence[int], weakest_first: Sequence[int]
    ) -> Iterator[Change]:
        """Add candidates, then leave out parents that are not worth their price, the doubtful and the new ones."""
        fit = self._better_start(self._from_scratch(tuple(parents), 1))
        fit, added = self._grown(fit, candidates)
        if added:  # restarts may differ by thousands of nats while a parent is missing, and by few with it
            fit = self._better_start(fit)
        for parent, cost in self._eliminate(fit, [*weakest_first, *added]):
            if added.pop(parent, None) is None:
                yield "delete", parent, cost
        yield from (("add", parent, cost) for parent, cost in added.items())

    def _better_start(self, fit: _Fit) -> _Fit:
        """Train once more from scratch and keep the better of each half; their distance is added to the penalty."""
        again = self._from_scratch(fit.parents, 0)
        apart = [abs(a.learned - b.learned) for a, b in zip(again.regressions, fit.regressions, strict=True)]
        self._price = self._least_price + APART * min(apart)
        return again.or_better(fit)

    def _grown(self, fit: _Fit, candidates: Sequence[int]) -> tuple[_Fit, dict[int, float]]:
        """Add the candidate that promises most until it is not worth its price; return the cost of each as well."""
        left, added = list(candidates), dict[int, float]()
        while left:
            promise = self._promise(fit, left)
            parent = left.pop(best := int(np.argmax(promise)))
            # A first step towards it: less than what it will gain, and free of what restarts differ by.
            if promise[best] < self._least_price:
                break
            more = self._go_on_from(fit, (*fit.parents, parent))
            cost = -more.worth_beside(fit, self._price)
            if cost >= 0:
                break
            if self._gain_where_pushed(fit, more, parent) > 0:
                fit = more
                added[parent] = cost
        return fit, added

    def _promise(self, fit: _Fit, candidates: Sequence[int]) -> Floats:
        groups = ranges([len(self._places[candidate]) for candidate in candidates])
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
        if self._far_behind(without, fit):
            # Weights learned beside that parent can be a bad start without it: they were given up on, not beaten.
            without = without.or_better(self._from_scratch(others, 0, fit))
        if (CLOSE - 1.0) * self._price < fit.worth_beside(without, self._price) <= 0:
            fit = fit.or_better(self._go_on_from(without, fit.parents))
        return fit, without

    def _far_behind(self, fit: _Fit, rival: _Fit) -> bool:
        """Whether the training of either half was far from its rival when it ended."""
        behind = (mine.learned - its.learned for mine, its in zip(fit.regressions, rival.regressions, strict=True))
        return any(lost > _far(half) for lost, half in zip(behind, self._halves, strict=True))

    def _from_scratch(self, parents: tuple[int, ...], start: int, rival: _Fit | None = None) -> _Fit:
        rows = self._rows(parents)
        rng = [np.random.default_rng([self._effect, 1 + k, start]) for k in range(len(rows))]
        begin = [Regression.random(half.train, stream) for half, stream in zip(rows, rng, strict=True)]
        return self._fit(parents, begin, rows, rival)

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
        rows: Sequence[Half],
        rival: _Fit | None = None,
    ) -> _Fit:
        fitted, losses = [], []
        for k, (regression, half) in enumerate(zip(begin, rows, strict=True)):
            goal = (rival.regressions[k].learned, _far(half)) if rival else None
            rng = np.random.default_rng([self._effect, 1 + k])
            fitted.append(regression.fit(half.train, half.held_out, rng=rng, goal=goal, go_on=self._go_on))
            losses.append(float(fitted[-1].losses(half.judged) @ half.weight))
        return _Fit(parents, tuple(fitted), tuple(losses))

    def _columns(self, parents: Sequence[int]) -> I64:
        """Return the inputs that stand for some parents, in their order."""
        return np.concatenate([np.zeros(0, np.int64), *(self._places[parent] for parent in parents)])

    def _rows(self, parents: tuple[int, ...]) -> list[Half]:
        columns = self._columns(parents)
        return [
            Half(half.train.of(columns), half.held_out.of(columns), half.judged.of(columns), half.weight, half.regime)
            for half in self._halves
        ]


def _far(half: Half) -> float:
    """Return the distance from a rival, nats, at which slow training is given up."""
    return CLEAR * len(half.train.target)


def split(
    table: NDArray[np.float32],
    target: NDArray[np.float32],
    weight: Floats,
    regime: I64,
    half: I64,
    rng: np.random.Generator,
) -> list[Half]:
    """Rows of each half (observational ones are in both) to learn from, to decide when to stop, and to be judged on."""
    halves = []
    for mine in (0, 1):
        learned = rng.permutation(np.flatnonzero(half != 1 - mine))
        held, trained = np.split(learned, [int(np.ceil(HELD_OUT * len(learned)))])
        others = np.flatnonzero(half == 1 - mine)
        train, held_out, judged = (
            Rows(table[rows], target[rows]) for rows in (np.sort(trained), np.sort(held), others)
        )
        halves.append(Half(train, held_out, judged, weight[others], regime[others]))
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


def ranges(widths: Sequence[int] | I64) -> list[I64]:
    """Return the columns of things that stand side by side.

    Examples
    --------
    >>> [columns.tolist() for columns in ranges([1, 3])]
    [[0], [1, 2, 3]]
    """
    ends = np.cumsum(widths)
    return [np.arange(end - width, end) for end, width in zip(ends, widths, strict=True)]
