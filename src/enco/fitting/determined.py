"""Which categorical variables are functions of their parents in a graph, as far as the data can tell."""

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData

__all__ = ["determined"]

Mask = NDArray[np.bool_]

_LEAST_REPEATS = 30  # rows whose parents were seen before; fewer tell nothing
_SHARE = 0.99  # of them must have the usual value
_MOST_ROWS = 30_000  # of the observational and of all interventional regimes


def determined(data: InterventionalData, graph: Mask, column: NDArray[np.int64]) -> Mask:
    """Say of each variable whether rows with the same values of its parents have the same value of it, [N].

    Parameters
    ----------
    data : InterventionalData
    graph : bool [N, N]
    column : int64 [N]
        Column of the data that holds each variable of the graph.

    Examples
    --------
    >>> x = np.arange(200) % 4
    >>> noise = np.random.default_rng(0).integers(2, size=200)
    >>> data = InterventionalData.from_environments([np.column_stack([x, x // 2, (x + noise) % 4])], [None])
    >>> determined(data, np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool), np.arange(3))
    array([False,  True, False])
    """
    found = np.zeros(len(graph), bool)
    most = [_MOST_ROWS] + [max(1, _MOST_ROWS // max(1, len(data.interventional)))] * len(data.interventional)
    codes = np.asfortranarray(np.concatenate([r.codes[:m] for r, m in zip(data.regimes, most, strict=True)]))
    regime = np.repeat(np.arange(len(most)), [min(r.n_rows, m) for r, m in zip(data.regimes, most, strict=True)])
    categorical = data.n_levels[column] > 0
    for effect in np.flatnonzero(categorical & graph.any(axis=0)):
        parents = np.flatnonzero(graph[:, effect])
        if categorical[parents].all():
            targeted = np.array([column[effect] in r.targets for r in data.regimes])
            rows = codes[:, data.slots[column[[*parents, effect]]]][~targeted[regime]].astype(np.int64)
            found[effect] = _is_function(rows, data.n_levels[column[[*parents, effect]]])
    return found


def _is_function(rows: NDArray[np.int64], n_levels: NDArray[np.int64]) -> bool:
    """Whether the last column is a function of the others."""
    configuration = np.zeros(len(rows), np.int64)
    for levels, values in zip(n_levels[:-1], rows.T, strict=False):
        configuration = np.unique(configuration * levels + values, return_inverse=True)[1]
    cells, count = np.unique(configuration * n_levels[-1] + rows[:, -1], return_counts=True)
    size = np.bincount(configuration)
    usual = np.zeros_like(size)
    np.maximum.at(usual, cells // n_levels[-1], count)
    repeats = int((size - 1).sum())
    return repeats >= _LEAST_REPEATS and int((usual - 1).sum()) >= _SHARE * repeats
