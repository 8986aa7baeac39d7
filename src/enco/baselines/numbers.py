"""Data as the plain matrices of real numbers that other packages read."""

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData, Regime

__all__ = ["spread", "varying_columns", "widen"]

Floats = NDArray[np.float64]


def spread(data: InterventionalData, regime: Regime) -> Floats:
    """Rows of a regime in the order of the columns of the data; a categorical variable is the index of its level.

    Examples
    --------
    >>> data = InterventionalData.from_environments([np.array([[3, 9], [7, 9], [7, 5]])], [None])
    >>> spread(data, data.observational)
    array([[0., 1.],
           [1., 1.],
           [1., 0.]])
    """
    matrix = np.empty((regime.n_rows, data.n_variables))
    matrix[:, data.is_categorical] = regime.codes
    matrix[:, ~data.is_categorical] = regime.reals
    return matrix


def varying_columns(data: InterventionalData) -> NDArray[np.int64]:
    """Positions of the variables that vary somewhere within the rows of a regime that leaves them free.

    The others cannot be explained, and have no variance to divide by.

    Examples
    --------
    >>> data = InterventionalData.from_environments([np.array([[3, 9], [7, 9], [7, 9]])], [None])
    >>> varying_columns(data)
    array([0])
    """
    varies = np.zeros(data.n_variables, bool)
    for regime in data.regimes:
        free = np.flatnonzero(regime.free(np.arange(data.n_variables)))
        varies[free] |= np.ptp(spread(data, regime)[:, free], axis=0) > 0
    return np.flatnonzero(varies)


def widen(adjacency: Floats, columns: NDArray[np.int64], n_variables: int) -> NDArray[np.bool_]:
    """Put a graph over some columns back among all variables.

    Examples
    --------
    >>> widen(np.array([[0, 1], [0, 0]]), np.array([0, 2]), 3).astype(int)
    array([[0, 0, 1],
           [0, 0, 0],
           [0, 0, 0]])
    """
    wide = np.zeros((n_variables, n_variables), bool)
    wide[np.ix_(columns, columns)] = adjacency != 0
    return wide
