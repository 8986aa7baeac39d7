"""Did an intervention do anything? Rows of its regime against observational rows, without any graph.

If an intervention on i did nothing, X_i and everything else are distributed as without it. The marginal of X_i alone is
not enough: a target that is set at random may keep its marginal. So tables of X_i by itself, and of X_i with each of
its nearest variables, are compared between the two samples; the smallest p-value counts, and permutations of the labels
say how small it would be by chance. The p-value of a permutation test is right for any number of rows.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from enco.data import InterventionalData, Regime

__all__ = ["effect_p_values"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]
Block = NDArray[np.float32]

PERMUTATIONS = 199  # at a time ...
TIMES = 10  # ... as long as hardly any of them is as extreme as the true labels
CERTAIN = 1e-9  # a chi-squared p-value of the target by itself that needs no permutation ...
LEAST_P = 1e-30  # smaller ones say nothing more
ENOUGH = 5.0  # ... because at least so many rows are expected at every level
NEAREST = 8  # variables whose tables with the target are compared, the most dependent ones
LEVELS = 4  # to which values are merged in such a table; a target by itself keeps up to ...
OWN_LEVELS = 12
MOST_OBSERVED = 4_000  # rows of either sample
OBSERVED_PER_ROW = 10  # observational rows for each row of the regime, and ...
LEAST_OBSERVED = 200  # ... at least so many


class _Columns:
    """Values of all variables, merged to a few levels.

    Levels of categorical variables are merged by their frequency, values of others by quantiles: by observational rows
    alone, so that labels decide nothing.
    """

    def __init__(self, data: InterventionalData) -> None:
        self._data = data
        self._observed = data.observational

    def own(self, variable: int, regime: Regime, rows: I64) -> I64:
        """Values of a target by itself, [rows]."""
        return self._merged(variable, regime, rows, OWN_LEVELS)

    def few(self, variable: int, regime: Regime, rows: I64) -> I64:
        """Values of a variable beside another one, [rows]."""
        return self._merged(variable, regime, rows, LEVELS)

    def nearest(self, target: int) -> list[int]:
        """Return the variables that depend most on a target in observational rows."""
        table, n = self._indicators, self._data.n_variables
        mine = table[:, target * LEVELS : (target + 1) * LEVELS]
        joint = (mine.T @ table).reshape(LEVELS, n, LEVELS).transpose(1, 0, 2) / len(table)
        product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            information = np.where(joint > 0, joint * np.log(joint / product), 0.0).sum(axis=(1, 2))
        information[self._data.is_context] = -1.0  # whose rows need not be spread alike over the regimes
        information[target] = -1.0
        others = int((~self._data.is_context).sum()) - 1
        return [int(j) for j in np.argsort(-information, kind="stable")[: min(NEAREST, others)]]

    @cached_property
    def _indicators(self) -> Block:
        """Which merged level each variable has in some observational rows, [rows, N * LEVELS]."""
        rows, n = np.arange(min(self._observed.n_rows, MOST_OBSERVED)), self._data.n_variables
        table = np.zeros((len(rows), n * LEVELS), np.float32)
        for j in range(n):
            table[rows, j * LEVELS + self.few(j, self._observed, rows)] = 1.0
        return table

    def _merged(self, variable: int, regime: Regime, rows: I64, levels: int) -> I64:
        slot, n_levels = self._data.slots[variable], int(self._data.n_levels[variable])
        if not n_levels:
            values = self._observed.reals[:, slot].astype(np.float64)
            cuts = np.quantile(values, np.arange(1, levels) / levels)
            numbers: I64 = np.searchsorted(cuts, regime.reals[rows, slot], side="right").astype(np.int64)
            return numbers
        merged = np.arange(n_levels)
        if n_levels > levels:  # the most frequent level first, always to the rarest merged one
            count = np.bincount(self._observed.codes[:, slot], minlength=n_levels)
            size = np.zeros(levels)
            for level in np.argsort(-count, kind="stable"):
                merged[level] = size.argmin()
                size[merged[level]] += count[level] + 1e-3
        codes: I64 = merged[regime.codes[rows, slot]].astype(np.int64)
        return codes


def effect_p_values(data: InterventionalData) -> list[dict[int, float]]:
    """Test for each intervention regime whether it did anything to each of its targets.

    Returns
    -------
    list of dict
        For each intervention regime, the p-value of each target: small if something was done.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> blocks = [rng.integers(2, size=(500, 2)), rng.integers(2, size=(100, 2)), np.zeros((100, 2), int)]
    >>> data = InterventionalData.from_environments(blocks, [None, "X1", "X2"])
    >>> failed, worked = effect_p_values(data)
    >>> failed[0] > 0.05, worked[1] < 0.01
    (True, True)
    """
    columns, labels = _Columns(data), _Labels()
    return [
        {target: _p_value(columns, labels, data.observational, regime, target) for target in regime.targets}
        for regime in data.interventional
    ]


class _Labels:
    """Permutations of the labels of two samples; those of the same sizes are drawn once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Block] = {}

    def of(self, n_observed: int, n: int, turn: int) -> Block:
        """Which rows of both samples together are called rows of the regime, at first the true ones, [labels, rows]."""
        if turn or (n_observed, n) not in self._known:
            first = (np.arange(n_observed + n) >= n_observed).astype(np.float32)
            rng = np.random.default_rng([n_observed, n, turn])
            labels = np.array([first, *(rng.permutation(first) for _ in range(PERMUTATIONS))])
            if turn:  # hardly ever needed
                return labels
            self._known = {(n_observed, n): labels}
        return self._known[n_observed, n]


def _p_value(columns: _Columns, labels: _Labels, observed: Regime, regime: Regime, target: int) -> float:
    mine = np.arange(min(regime.n_rows, MOST_OBSERVED))
    some = np.arange(min(observed.n_rows, MOST_OBSERVED, max(LEAST_OBSERVED, OBSERVED_PER_ROW * len(mine))))

    def both(read: Callable[[int, Regime, I64], I64], variable: int) -> I64:
        return np.concatenate([read(variable, observed, some), read(variable, regime, mine)])

    own = both(columns.own, target)
    total = np.bincount(own)
    p = _chi_square_p(np.bincount(own[len(some) :], minlength=len(total))[None], total, len(mine))[0]
    if p < CERTAIN and total.min() * len(mine) / len(own) >= ENOUGH:
        return float(max(LEAST_P, p))
    coarse = both(columns.few, target)
    tables = [own, *(coarse * LEVELS + both(columns.few, j) for j in columns.nearest(target))]
    extreme = count = 0
    for turn in range(TIMES):
        label, smallest = labels.of(len(some), len(mine), turn), np.full(1 + PERMUTATIONS, np.inf)
        for table in tables:
            indicator = (table[:, None] == np.unique(table)).astype(np.float32)
            smallest = np.minimum(smallest, _chi_square_p(label @ indicator, indicator.sum(axis=0), len(mine)))
        extreme += int(np.count_nonzero(smallest[1:] <= smallest[0]))
        count += PERMUTATIONS
        if extreme > 1:
            break
        if smallest[0] < CERTAIN:  # and no permutation was near: the formula says how far they are from it
            return float(max(LEAST_P, len(tables) * smallest[0]))
    return (1 + extreme) / (1 + count)


def _chi_square_p(count: NDArray[Any], total: NDArray[Any], n: int) -> Floats:
    """P-values of counts of one sample among all rows, [labels, cells] -> [labels]."""
    share = total / total.sum()
    expected = n * share * (1 - n / total.sum())
    present = total > 0
    difference = (count - n * share)[:, present]
    p: Floats = chdtrc(max(1, int(present.sum()) - 1), (difference**2 / expected[present]).sum(axis=1))
    return p
