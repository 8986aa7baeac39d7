"""Which categorical variables are functions of their parents in a graph, as far as the data can tell."""

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData

__all__ = ["determined"]

Mask = NDArray[np.bool_]

_LEAST_REPEATS = 30  # rows whose parents were seen before; fewer tell nothing
_SHARE = 0.99  # of them must have the usual value
_MOST_ROWS = 50_000  # of each regime


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
    categorical = data.n_levels[column] > 0
    for effect in np.flatnonzero(categorical & graph.any(axis=0)):
        parents = np.flatnonzero(graph[:, effect])
        if categorical[parents].all():
            found[effect] = _is_function(data, column[parents], int(column[effect]))
    return found


def _is_function(data: InterventionalData, parents: NDArray[np.int64], effect: int) -> bool:
    codes = [regime.codes[:_MOST_ROWS] for regime in data.regimes if effect not in regime.targets]
    rows = np.concatenate([block[:, data.slots[[*parents, effect]]] for block in codes]).astype(np.int64)
    configuration = np.zeros(len(rows), np.int64)
    for place, parent in enumerate(parents):
        configuration = np.unique(configuration * data.n_levels[parent] + rows[:, place], return_inverse=True)[1]
    values, count = np.unique(configuration * data.n_levels[effect] + rows[:, -1], return_counts=True)
    size = np.bincount(configuration)
    usual = np.zeros_like(size)
    np.maximum.at(usual, values // data.n_levels[effect], count)
    repeats = int((size - 1).sum())
    return repeats >= _LEAST_REPEATS and int((usual - 1).sum()) >= _SHARE * repeats
