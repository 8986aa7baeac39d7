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

from enco.score.base import Parents
from enco.score.rows import Sample
from enco.system.compilation import njit

__all__ = ["TablePredictor", "Tables"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]

STRENGTHS = 4.0 ** np.arange(-5, 7)  # the weakest for functions, whose tables need no smoothing


class Tables:
    """Rows of the categorical variables, to be counted.

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
    >>> tables = Tables(sample, np.array([3, 3, 3]), np.arange(3)).of(2)
    >>> tables.changes(frozenset({0}), [0, 1]).round(-1).tolist(), round(tables.loss(frozenset({0})), -1)
    ([3290.0, 2080.0], 2080.0)
    """

    def __init__(self, sample: Sample, n_levels: I64, slot: I64) -> None:
        self.sample, self.n_levels = sample, n_levels
        codes = np.asfortranarray(sample.table.codes)
        self.codes = [codes[:, slot[j]] if levels else None for j, levels in enumerate(n_levels.tolist())]

    def of(self, effect: int) -> "TablePredictor":
        """Return the predictor of one variable."""
        return TablePredictor(self, effect)


class TablePredictor:
    """What counts of one variable say; see `enco.score.base.Predictor`."""

    quick = True

    def __init__(self, tables: Tables, effect: int) -> None:
        self._tables = tables
        self._effect = effect
        self._rows = tables.sample.free_rows(effect)
        self._alone: dict[int, float] = {}
        self._known: dict[Parents, float] = {}

    def loss(self, parents: Parents) -> float:
        """Sum the losses of all rows; infinite if a parent is continuous."""
        if parents not in self._known:
            self._known[parents] = float(self.by_regime(parents).sum())
        return self._known[parents]

    def changes(self, parents: Parents, causes: Sequence[int]) -> Floats:
        """Sum the losses of all rows after toggling each cause."""
        return np.array([self.loss(parents ^ {cause}) for cause in causes])

    def by_regime(self, parents: Parents) -> Floats:
        """Sum the losses of the rows of each regime."""
        sample = self._tables.sample
        if not all(self._tables.n_levels[list(parents)]):
            return np.full(len(sample.weight), np.inf)
        ordered = sorted(parents, key=lambda cause: (self._own_loss(cause), cause))
        return sample.by_regime(self._chain(ordered), self._rows)

    def _own_loss(self, cause: int) -> float:
        """Loss given this cause alone, which says where it comes in the chain of tables."""
        if cause not in self._alone:
            self._alone[cause] = float(self._chain([cause]).sum())
        return self._alone[cause]

    def _chain(self, parents: Sequence[int]) -> Floats:
        x = np.empty((len(parents), len(self._rows)), np.int64)
        for line, cause in zip(x, parents, strict=True):
            line[:] = self._column(cause)[self._rows]
        y = self._column(self._effect)[self._rows].astype(np.int64)
        levels = self._tables.n_levels
        return chain_losses(x, levels[list(parents)], y, int(levels[self._effect]), STRENGTHS)  # type: ignore[no-any-return]

    def _column(self, variable: int) -> NDArray[np.generic]:
        column = self._tables.codes[variable]
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
