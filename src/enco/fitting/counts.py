"""Rows of categorical variables as counts, and how well smoothed tables of counts predict each row from all others.

Where the parents of a variable have few configurations, its distribution can be learned by counting, more precisely
than by any network and in no time. With n(x | c) rows of value x among the n(c) rows whose parents have configuration
c, the probability of x is

    p(x | c) = (n(x | c) + s p'(x | c')) / (n(c) + s),

p' being the table with one parent less, and so on down to the uniform distribution. The strength s is the one that
predicts best. Each row is predicted from the others, without it in any of the counts: its loss is that of a row never
seen, and a parent that adds nothing to what the others know earns next to nothing, however many rows there are.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from enco._compile import njit
from enco._threads import run_threads
from enco.data import InterventionalData

__all__ = ["MOST_COUNTED", "Counts", "Family", "distinct"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

KINDS = 3
MOST_COUNTED = 100_000  # rows of the observational regime, and of all others together
MOST_SET = 10_000  # rows of a regime, where only those are asked for that set a variable
STRENGTHS = 4.0 ** np.arange(-5, 7)  # the weakest for functions, whose tables need no smoothing
LARGEST = 1 << 62  # number of a configuration
FIRST_ROWS = 25_000  # that say whether tables can know anything at all ...
ALL_DIFFERENT = 0.9  # ... unless more than this share of them have parents of their own
SPARSE = 4  # possible configurations for each row, beyond which sorting the rows is faster


@dataclass(frozen=True)
class Counts:
    """Rows to count, of all regimes.

    Attributes
    ----------
    n_levels : int64 [N]
        Categories of each variable; 0 for a continuous one.
    codes : integers [rows, categorical variables]
    slot : int64 [N]
        Column of the codes that holds each variable.
    regime : int64 [rows]
        0 for observational rows.
    targeted : bool [regimes, N]
    further : sequence of integers [rows, categorical variables]
        More rows of each regime.
    """

    n_levels: I64
    codes: NDArray[np.integer]
    slot: I64
    regime: I64
    targeted: Mask
    further: Sequence[NDArray[np.integer]] = ()

    @classmethod
    def of(cls, data: InterventionalData, column: I64, most_rows: int = MOST_COUNTED) -> "Counts":
        """Take the first rows of every regime.

        Parameters
        ----------
        data : InterventionalData
        column : int64 [N]
            Column of the data that holds each variable.
        most_rows : int
            Of the observational regime, and of all others together.
        """
        most = [most_rows] + [max(1, most_rows // max(1, len(data.interventional)))] * len(data.interventional)
        parts = [np.asarray(regime.codes[:rows]) for regime, rows in zip(data.regimes, most, strict=True)]
        return cls(
            n_levels=data.n_levels[column],
            codes=np.asfortranarray(np.concatenate(parts)),
            slot=data.slots[column],
            regime=np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
            targeted=np.array([np.isin(column, regime.targets) for regime in data.regimes]),
            further=[regime.codes[rows:MOST_SET] for regime, rows in zip(data.regimes, most, strict=True)],
        )

    def thinned(self, every: int) -> "Counts":
        """Take every so many rows."""
        if every == 1:
            return self
        return replace(self, codes=np.asfortranarray(self.codes[::every]), regime=self.regime[::every])

    def countable(self, graph: Mask) -> Mask:
        """Variables that are categorical and have categorical parents only, [N]."""
        continuous = self.n_levels == 0
        mask: Mask = ~continuous & ~graph[continuous].any(axis=0)
        return mask

    def rows(self, parents: Sequence[int], effect: int, further_of: Sequence[int] = ()) -> tuple[I64, I64]:
        """Values of the parents and, last, of the effect, in rows that leave it free; the regime of each row.

        Of some regimes, further rows come last.
        """
        # Rows of a regime lie together: what is left free are a few blocks, which is quicker than row by row.
        ends = np.searchsorted(self.regime, np.arange(len(self.targeted) + 1))
        blocked = np.flatnonzero(self.targeted[:, effect])
        begins, stops = np.append(0, ends[blocked + 1]), np.append(ends[blocked], len(self.regime))
        blocks = [slice(*block) for block in zip(begins, stops, strict=True)]
        more = {place: self.further[place] for place in further_of}
        columns = [
            np.concatenate([*(self.codes[block, slot] for block in blocks), *(rows[:, slot] for rows in more.values())])
            for slot in self.slot[[*parents, effect]]
        ]
        regimes = [self.regime[block] for block in blocks] + [np.full(len(rows), place) for place, rows in more.items()]
        return np.array(columns, np.int64).T, np.concatenate(regimes)

    def family(self, parents: Sequence[int], effect: int, *, every_set_row: bool = False) -> "Family":
        """Count every configuration of the parents and the effect.

        Rows are of three kinds: 0 observational, 1 interventional, 2 interventional with the last parent as a target.
        Of the last kind, there may be more rows than those of all variables that are held together.
        """
        is_set = self.targeted[:, parents[-1]] if len(parents) else np.zeros(len(self.targeted), bool)
        further_of = (
            np.flatnonzero(is_set & ~self.targeted[:, effect]).tolist() if every_set_row and self.further else []
        )
        values, regime = self.rows(parents, effect, further_of)
        kind = np.minimum(np.arange(len(self.targeted)), 1)
        kind += is_set
        return Family(values, self.n_levels[[*parents, effect]], kind[regime])

    def losses(self, graph: Mask, variables: Mask, n_jobs: int = 1) -> Floats:
        """Mean loss of some variables [N] in interventional rows that leave them free, by their parents, nats, [N].

        Infinite for the others, and where nearly every row has parents that no other has: tables know nothing there.
        """
        mean, chosen = np.full(len(graph), np.inf), np.flatnonzero(variables).tolist()
        some = self.thinned(max(1, len(self.regime) // FIRST_ROWS))

        def loss(place: int) -> float:
            effect = chosen[place]
            parents = np.flatnonzero(graph[:, effect]).tolist()
            values, _ = some.rows(parents, effect)
            if len(distinct(values[:, :-1], self.n_levels[parents])[0]) > ALL_DIFFERENT * len(values):
                return np.inf
            family = self.family(parents, effect)
            return float(family.loss(range(len(parents)))[1:].sum() / max(1, family.rows[1:].sum()))

        mean[chosen] = run_threads(loss, len(chosen), n_jobs, lambda done: None)
        return mean


class Family:
    """Counts of a variable and some others that may be its parents.

    Parameters
    ----------
    values : int64 [rows, parents + 1]
        The last column is the variable.
    n_levels : int64 [parents + 1]
    kind : int64 [rows]
        Kind of each row, from 0; losses are summed for each kind.

    Attributes
    ----------
    rows : int64 [3]
        How many are of each kind.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(3, size=(2, 3000))
    >>> family = Family(np.column_stack([a, b, (a + rng.integers(2, size=3000)) % 3]), np.array([3, 3, 3]), 0 * a)
    >>> [int(family.loss(parents).sum().round(-1)) for parents in ([], [0], [1], [0, 1])]  # 3000 log 3 and 3000 log 2
    [3290, 2080, 3290, 2080]
    """

    def __init__(self, values: I64, n_levels: I64, kind: I64) -> None:
        first, cell = distinct(values, n_levels)
        # What follows works on cells, of which there are fewer than rows.
        self._cells = values[first]
        self._n_levels = n_levels
        self._counts = np.bincount(kind * len(first) + cell, minlength=KINDS * len(first)).reshape(KINDS, len(first))
        self._total = self._counts.sum(axis=0)
        self._logs: dict[tuple[int, ...], Floats] = {(): self._joined([], np.full(len(first), 1.0 / n_levels[-1]))}
        self.rows = self._counts.sum(axis=1)

    def loss(self, parents: Iterable[int]) -> Floats:
        """Sum the losses of the rows of each kind given some of the parents, in nats, [3].

        Parents join the table one by one, those first that tell most by themselves.
        """
        return self._summed(self._chain(self._ordered(parents)))

    def gain(self, parents: Iterable[int], last: int) -> Floats:
        """Fall of the loss by one parent more, in nats, [3].

        It joins last, even if it tells more than others do. Where rows are too few for the table of all parents, a
        variable that sums some of them up would help to smooth it; joining last, it earns only what it knows alone.
        """
        before = self._ordered(parents)
        return self._summed(self._chain(before)) - self._summed(self._chain((*before, last)))

    def expected_gain(self, parents: Iterable[int], last: int) -> float:
        """Fall of the loss in rows of kind 2, had they the values that all rows with the same parents have on average.

        Where rows of that kind are few, chance has less of a say in this than in what they gain themselves.
        """
        before = self._ordered(parents)
        gain = self._chain((*before, last)) - self._chain(before)
        joined = sorted((*before, last))
        configuration = distinct(self._cells[:, joined], self._n_levels[joined])[1]
        mean = np.bincount(configuration, self._total * gain) / np.bincount(configuration, self._total)
        return float(self._counts[2] @ mean[configuration])

    def _ordered(self, parents: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(parents, key=lambda parent: (self._summed(self._chain((parent,))).sum(), parent)))

    def _chain(self, parents: tuple[int, ...]) -> Floats:
        """Log-probability of the cells after these parents have joined in this order, [cells]."""
        if parents not in self._logs:
            self._logs[parents] = self._joined(sorted(parents), np.exp(self._chain(parents[:-1])))
        return self._logs[parents]

    def _joined(self, parents: list[int], base: Floats) -> Floats:
        """Log-probability of each cell's value for one of its rows, given all others and the table before, [cells]."""
        configuration = distinct(self._cells[:, parents], self._n_levels[parents])[1]
        cell = configuration * self._n_levels[-1] + self._cells[:, -1]
        among = np.bincount(configuration, self._total)[configuration] - 1.0
        same = np.bincount(cell, self._total)[cell] - 1.0

        def smoothed(strength: float) -> tuple[float, Floats]:
            logs = np.log((same + strength * base) / (among + strength))
            return float((self._total * logs).sum()), logs

        return _climb(smoothed)

    def _summed(self, logs: Floats) -> Floats:
        summed: Floats = -(self._counts * logs).sum(axis=1)
        return summed


def _climb(smoothed: Callable[[float], tuple[float, Floats]]) -> Floats:
    """Find the strength that predicts best: from one in the middle, stronger or weaker as long as that helps."""
    place = len(STRENGTHS) // 2
    best, logs = smoothed(STRENGTHS[place])
    for step in (1, -1):
        while 0 <= place + step < len(STRENGTHS):
            other, other_logs = smoothed(STRENGTHS[place + step])
            if other <= best:
                break
            place, best, logs = place + step, other, other_logs
    return logs


def distinct(values: I64, n_levels: I64) -> tuple[I64, I64]:
    """Find the distinct rows: where each of them occurs, and which of them each row is.

    Examples
    --------
    >>> distinct(np.array([[0, 2], [1, 0], [0, 2]]), np.array([2, 3]))
    (array([0, 1]), array([0, 1, 0]))
    """
    number, span = np.zeros(len(values), np.int64), 1
    for levels, column in zip(n_levels.tolist(), values.T, strict=True):
        if span * levels >= LARGEST:
            number, span = np.unique(number, return_inverse=True)[1].astype(np.int64), len(values)
        number, span = number * levels + column, span * levels
    if span > SPARSE * len(values):
        return np.unique(number, return_index=True, return_inverse=True)[1:]
    first, which = _renumbered(number, span)
    return first, which


@njit(cache=True, nogil=True)
def _renumbered(number: I64, span: int) -> tuple[I64, I64]:
    """Do what `numpy.unique` does, without sorting: numbers from 0 to span - 1, in the order in which they occur."""
    place = np.full(span, -1, np.int64)
    first, which = np.empty(len(number), np.int64), np.empty(len(number), np.int64)
    count = 0
    for row in range(len(number)):
        if place[number[row]] < 0:
            place[number[row]] = count
            first[count] = row
            count += 1
        which[row] = place[number[row]]
    return first[:count].copy(), which
