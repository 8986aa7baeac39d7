"""Pearson's X^2 of one variable against many, from the rows of one regime."""

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData, Regime
from enco.system.compilation import njit

__all__ = ["BINS", "association", "levels_of"]

BINS = 5  # levels that a continuous variable is cut into, at its quantiles within the regime

LevelIndices = NDArray[np.uint16]
Floats = NDArray[np.float64]


def levels_of(data: InterventionalData, regime: Regime, most_rows: int) -> LevelIndices:
    """Every variable of a regime in levels, uint16 [rows, N]; rows evenly spread where there are more than wanted.

    Examples
    --------
    >>> x = np.array([[0, 0.5], [1, 0.1], [0, 0.2], [1, 0.3], [1, 0.4]])
    >>> data = InterventionalData.from_environments([x], [None])
    >>> levels_of(data, data.observational, 1000)[:, 1].tolist()
    [4, 0, 1, 2, 3]
    """
    every = max(1, -(-regime.n_rows // most_rows))
    levels = np.empty((len(range(0, regime.n_rows, every)), data.n_variables), np.uint16)
    categorical = data.is_categorical
    levels[:, categorical] = regime.codes[::every, data.slots[categorical]]
    if not categorical.all():
        values = np.asarray(regime.reals[::every])[:, data.slots[~categorical]]
        edges = np.quantile(values, np.arange(1, BINS) / BINS, axis=0, method="lower")
        # A value that fills whole bins (zeros of a count) closes them up: fewer levels, none of them mixed.
        levels[:, ~categorical] = (values > edges[:, None]).sum(axis=0)
    return levels


@njit(cache=True, nogil=True, error_model="numpy")
def association(
    levels: LevelIndices, width: NDArray[np.int64], i: int, first: int, statistic: Floats, freedom: Floats
) -> None:
    """Add X^2 and its degrees of freedom for variable i against each variable j >= first, in place.

    X^2 = sum over cells of (count - expected)^2 / expected. Its mean under independence is right even where cells are
    nearly empty, unlike that of the likelihood-ratio statistic, which would call every sparse table dependent.

    levels : uint16 [R, N]
    width : int64 [N], number of levels
    statistic, freedom : float64 [N]
    """
    rows, n_variables = levels.shape
    start = np.zeros(n_variables + 1, np.int64)
    for j in range(first, n_variables):
        start[j + 1] = start[j] + width[i] * width[j]
    count = np.zeros(start[n_variables], np.int32)
    for r in range(rows):
        row_of_table = np.int64(levels[r, i])
        for j in range(first, n_variables):
            count[start[j] + row_of_table * width[j] + levels[r, j]] += 1
    for j in range(first, n_variables):
        if j == i:
            continue
        table = count[start[j] : start[j + 1]].reshape(width[i], width[j])
        of_i = table.sum(axis=1)
        of_j = table.sum(axis=0)
        degrees = (np.count_nonzero(of_i) - 1) * (np.count_nonzero(of_j) - 1)
        if degrees <= 0:
            continue
        total = 0.0
        for a in range(width[i]):
            for b in range(width[j]):
                if table[a, b] > 0:
                    total += table[a, b] * (table[a, b] / (of_i[a] * of_j[b]))
        statistic[j] += rows * (total - 1.0)
        freedom[j] += degrees
