"""Losses by smoothed tables of counts, each row predicted from all others.

Where the parents of a categorical variable have few configurations, its distribution can be learned by counting, more
precisely than by any network and in no time. With n(x | c) rows of value x among the n(c) rows whose parents have
configuration c, the probability of x is

    p(x | c) = (n(x | c) + s p'(x | c')) / (n(c) + s),

p' being the table with one parent less, and so on down to the uniform distribution. The parent that tells most by
itself comes first. The strength s is the one that predicts best. Each row is predicted from the others, without it in
any of the counts: its loss is that of a row never seen.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from enco._compile import njit
from enco.score.rows import Sample

__all__ = ["TablePredictor"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]

STRENGTHS = 4.0 ** np.arange(-5, 7)  # the weakest for functions, whose tables need no smoothing


class TablePredictor:
    """Tables of counts of the categorical variables among some columns.

    Parameters
    ----------
    sample : Sample
        Rows to count and to judge.
    n_levels : int64 [N]
        Categories of each variable; 0 for a continuous one, which is no parent here.
    slot : int64 [N]
        Column of the codes that holds each variable.

    Examples
    --------
    >>> from enco.data import Regime
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(3, size=(2, 3000))
    >>> codes = np.column_stack([a, b, (a + rng.integers(2, size=3000)) % 3])
    >>> sample = Sample.of([Regime((), codes.astype(np.uint8), np.zeros((3000, 0), np.float32))], 3)
    >>> tables = TablePredictor(sample, np.array([3, 3, 3]), np.arange(3))
    >>> tables.losses(2, frozenset({0}), [0, 1]).ravel().round(-1).tolist()  # 3000 log 2, 3000 log 3, 3000 log 2
    [2080.0, 3290.0, 2080.0]
    """

    def __init__(self, sample: Sample, n_levels: I64, slot: I64) -> None:
        self._sample = sample
        self._n_levels = n_levels
        self._codes = [sample.codes[:, slot[j]] if levels else None for j, levels in enumerate(n_levels.tolist())]
        self._alone: dict[tuple[int, int], float] = {}

    def losses(self, effect: int, parents: frozenset[int], changes: Sequence[int]) -> Floats:
        """Sum the losses of each regime; see `enco.score.base.Predictor`."""
        rows = self._sample.free_rows(effect)
        sets = [parents, *(parents ^ {cause} for cause in changes)]
        return np.array([self._sample.by_regime(self._row_losses(effect, one, rows), rows) for one in sets])

    def _row_losses(self, effect: int, parents: frozenset[int], rows: I64) -> Floats:
        ordered = sorted(parents, key=lambda cause: (self._own_loss(effect, cause, rows), cause))
        return self._chain(effect, ordered, rows)

    def _own_loss(self, effect: int, cause: int, rows: I64) -> float:
        """Loss of the effect given this cause alone, which says where it comes in the chain of tables."""
        if (effect, cause) not in self._alone:
            self._alone[effect, cause] = float(self._chain(effect, [cause], rows).sum())
        return self._alone[effect, cause]

    def _chain(self, effect: int, parents: Sequence[int], rows: I64) -> Floats:
        x = np.empty((len(parents), len(rows)), np.int64)
        for line, cause in zip(x, parents, strict=True):
            line[:] = self._column(cause)[rows]
        y = self._column(effect)[rows].astype(np.int64)
        return chain_losses(x, self._n_levels[list(parents)], y, int(self._n_levels[effect]), STRENGTHS)  # type: ignore[no-any-return]

    def _column(self, variable: int) -> NDArray[np.integer]:
        column = self._codes[variable]
        assert column is not None, "tables know categorical variables only"
        return column


@njit(cache=True, nogil=True)
def chain_losses(x: I64, n_levels: I64, y: I64, n_values: int, strengths: Floats) -> Floats:
    """Loss of each row by a chain of tables, parents [k, rows] joining one after the other, [rows]."""
    n = len(y)
    configuration = np.zeros(n, np.int64)
    count, base = np.zeros(n_values), np.full(n_values, 1.0 / n_values)  # of each cell: a configuration and a value
    cell = y.copy()
    for row in range(n):
        count[cell[row]] += 1.0
    n_configurations = 1
    for level in range(len(x) + 1):
        if level > 0:
            before_cell = cell
            number = configuration * n_levels[level - 1] + x[level - 1]
            configuration, n_configurations = renumbered(number, n_configurations * n_levels[level - 1])
            cell, n_cells = renumbered(configuration * n_values + y, n_configurations * n_values)
            count, before = np.zeros(n_cells), base
            base = np.zeros(n_cells)
            for row in range(n):
                count[cell[row]] += 1.0
                base[cell[row]] = before[before_cell[row]]
        among = np.zeros(n_configurations)
        for row in range(n):
            among[configuration[row]] += 1.0
        others = np.zeros(len(count))  # of the same configuration, besides the row itself
        for row in range(n):
            others[cell[row]] = among[configuration[row]] - 1.0
        base = best_smoothing(count, others, base, strengths)
        if n_configurations == n:
            break  # every row has parents of its own: no further table knows anything
    loss = np.empty(n)
    for row in range(n):
        loss[row] = -np.log(base[cell[row]])
    return loss


@njit(cache=True, nogil=True)
def best_smoothing(count: Floats, others: Floats, base: Floats, strengths: Floats) -> Floats:
    """Probability of each cell for one of its rows given all others, smoothed by the strength that predicts best.

    From one in the middle, stronger or weaker as long as that helps.
    """
    place = len(strengths) // 2
    best = np.log((count - 1.0 + strengths[place] * base) / (others + strengths[place]))
    score = (count * best).sum()
    for step in (1, -1):
        while 0 <= place + step < len(strengths):
            strength = strengths[place + step]
            other = np.log((count - 1.0 + strength * base) / (others + strength))
            other_score = (count * other).sum()
            if other_score <= score:
                break
            place, best, score = place + step, other, other_score
    probability: Floats = np.exp(best)
    return probability


@njit(cache=True, nogil=True)
def renumbered(number: I64, span: int) -> tuple[I64, int]:
    """Give distinct values numbers from 0, in the order in which they occur; all are below `span`."""
    n = len(number)
    which, count = np.empty(n, np.int64), 0
    if span <= 16 * n + 1024:
        place = np.full(span, -1, np.int64)
        for row in range(n):
            if place[number[row]] < 0:
                place[number[row]] = count
                count += 1
            which[row] = place[number[row]]
        return which, count
    order = np.argsort(number)
    for k in range(n):
        if k > 0 and number[order[k]] != number[order[k - 1]]:
            count += 1
        which[order[k]] = count
    return which, count + 1
