"""Many independence tests at once, on columns cut into levels."""

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from enco.data import InterventionalData, Regime

__all__ = ["Levels", "needed_strength", "significant"]

TEST_BINS = 6
"""Quantile bins of a continuous column: enough to see a shift of mean or spread, few enough for small regimes."""

TESTED_ROWS = 20_000
"""Rows of a regime that are used; more would only take longer."""


class Levels:
    """The columns of a data set as level indices, continuous ones cut at their quantiles.

    Parameters
    ----------
    data : InterventionalData
        Any kinds of columns.

    Attributes
    ----------
    sizes, starts : ndarray of int [N]
        Number of levels of each column, and where they start if all levels are put one after another.
    """

    def __init__(self, data: InterventionalData) -> None:
        self._data = data
        self._edges = {}
        for position in np.flatnonzero(data.is_continuous):
            slot = data.slots[position]
            regimes = [data.observational] if data.observational.n_rows else list(data.regimes)
            values = np.concatenate([_thin(regime.reals[:, slot]) for regime in regimes])
            self._edges[int(position)] = np.unique(np.quantile(values, np.linspace(0, 1, TEST_BINS + 1)[1:-1]))
        self.sizes = np.array(
            [
                len(self._edges[column]) + 1 if column in self._edges else size
                for column, size in enumerate(data.n_levels)
            ],
            dtype=np.int64,
        )
        self.starts = np.cumsum(self.sizes) - self.sizes

    def of(self, regime: Regime) -> NDArray[np.int64]:
        """Return level indices [rows, N] of a regime, counted over all columns."""
        rows = min(regime.n_rows, TESTED_ROWS)
        found = np.empty((rows, self._data.n_variables), dtype=np.int64)
        for column in range(self._data.n_variables):
            slot = self._data.slots[column]
            if column in self._edges:
                found[:, column] = np.searchsorted(self._edges[column], _thin(regime.reals[:, slot]), side="right")
            else:
                found[:, column] = _thin(regime.codes[:, slot])
        return found + self.starts

    def association(
        self, groups: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Pearson's chi-square between a grouping of the rows and every column.

        Parameters
        ----------
        groups : ndarray of int [rows]
            Group of each row.
        rows : ndarray of int [rows, N]
            What `of` returns.

        Returns
        -------
        statistic : ndarray of float [N]
        freedom : ndarray of int [N]
            Degrees of freedom; 0 where there is nothing to test.
        """
        total = int(self.sizes.sum())
        n_groups = int(groups.max()) + 1
        index = groups[:, None] * total + rows
        table = np.bincount(index.ravel(), minlength=n_groups * total).reshape(n_groups, total)
        in_group = np.bincount(groups, minlength=n_groups)[:, None]
        in_level = table.sum(axis=0)
        expected = in_group * in_level / len(rows)
        occurs = expected > 0
        terms = np.where(occurs, (table - expected) ** 2 / np.where(occurs, expected, 1.0), 0.0).sum(axis=0)
        statistic = np.add.reduceat(terms, self.starts)
        levels = np.add.reduceat((in_level > 0).astype(np.int64), self.starts)
        return statistic, (levels - 1) * (int((in_group > 0).sum()) - 1)


def _thin(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Take at most `TESTED_ROWS` rows, evenly spread, since neighbouring rows are often alike."""
    if len(values) <= TESTED_ROWS:
        return values
    return values[np.linspace(0, len(values) - 1, TESTED_ROWS).astype(np.int64)]


def p_values(statistic: NDArray[np.float64], freedom: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the p-values of chi-square statistics; 1 where there was nothing to test."""
    found: NDArray[np.float64] = np.where(freedom > 0, stats.chi2.sf(statistic, np.maximum(freedom, 1)), 1.0)
    return found


def significant(p: NDArray[np.float64], level: float) -> NDArray[np.bool_]:
    """Benjamini and Hochberg: the tests to believe so that a share of about `level` of them is wrong.

    Parameters
    ----------
    p : ndarray of float
        P-values.
    level : float
        Expected share of false ones among those found.

    Examples
    --------
    >>> significant(np.array([0.001, 0.8, 0.02, 0.4]), 0.05).tolist()
    [True, False, True, False]
    """
    ordered = np.sort(p, axis=None)
    below = np.flatnonzero(ordered <= level * np.arange(1, p.size + 1) / max(1, p.size))
    found: NDArray[np.bool_] = p <= (ordered[below[-1]] if len(below) else -1.0)
    return found


def needed_strength(freedom: int, level: float, power: float = 0.8) -> float:
    """Noncentrality at which a chi-square test of this level finds an effect with the given probability.

    Parameters
    ----------
    freedom : int
        Degrees of freedom.
    level : float
        Level of the test.
    power : float
        Probability of finding the effect.

    Examples
    --------
    >>> round(needed_strength(1, 0.05), 2)
    7.85
    """
    threshold = float(stats.chi2.isf(level, freedom))
    return float(
        optimize.brentq(lambda strength: special.chndtr(threshold, freedom, strength) - (1 - power), 1e-6, 1e6)
    )
