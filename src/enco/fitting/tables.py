"""What the data say about categorical variables and their parents in a graph, by counting instead of by networks."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData

__all__ = ["determined", "learnable"]

Mask = NDArray[np.bool_]

_LEAST_REPEATS = 30  # rows whose parents were seen before; fewer tell nothing
_SHARE = 0.99  # of them must have the usual value
_MOST_ROWS = 30_000  # of the observational and of all interventional regimes
_ROWS_PER_CELL = 10  # that make a table learnable


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
    for effect, configuration, value in _families(data, graph, column):
        found[effect] = _is_function(configuration, value)
    return found


def learnable(data: InterventionalData, graph: Mask, column: NDArray[np.int64]) -> Mask:
    """Say of each variable whether there are rows enough for every configuration of its parents, [N].

    The table of its distribution given its parents could then be learned cell by cell: a network that does not explain
    the variable as well as a further parent would has not learned its table well.

    Parameters
    ----------
    data : InterventionalData
    graph : bool [N, N]
    column : int64 [N]
        Column of the data that holds each variable of the graph.

    Examples
    --------
    >>> x = np.arange(100) % 10
    >>> data = InterventionalData.from_environments([np.column_stack([x, x // 5, np.arange(100) // 10])], [None])
    >>> learnable(data, np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool), np.arange(3))  # tables of 10 and 90 cells
    array([False,  True, False])
    """
    found = np.zeros(len(graph), bool)
    for effect, configuration, value in _families(data, graph, column):
        cells = (configuration.max() + 1) * (data.n_levels[column[effect]] - 1)
        found[effect] = _ROWS_PER_CELL * cells <= len(value)
    return found


def _families(
    data: InterventionalData, graph: Mask, column: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield each categorical variable with categorical parents only; per row, the number of their configuration; value.

    Rows that intervene on the variable are left out. Configurations that occur are numbered from zero.
    """
    most = [_MOST_ROWS] + [max(1, _MOST_ROWS // max(1, len(data.interventional)))] * len(data.interventional)
    codes = np.asfortranarray(np.concatenate([r.codes[:m] for r, m in zip(data.regimes, most, strict=True)]))
    regime = np.repeat(np.arange(len(most)), [min(r.n_rows, m) for r, m in zip(data.regimes, most, strict=True)])
    categorical = data.n_levels[column] > 0
    for effect in np.flatnonzero(categorical & graph.any(axis=0)):
        parents = np.flatnonzero(graph[:, effect])
        if categorical[parents].all():
            targeted = np.array([column[effect] in r.targets for r in data.regimes])
            rows = codes[:, data.slots[column[[*parents, effect]]]][~targeted[regime]].astype(np.int64)
            configuration = np.zeros(len(rows), np.int64)
            for levels, values in zip(data.n_levels[column[parents]], rows.T, strict=False):
                configuration = np.unique(configuration * levels + values, return_inverse=True)[1]
            yield int(effect), configuration, rows[:, -1]


def _is_function(configuration: NDArray[np.int64], value: NDArray[np.int64]) -> bool:
    """Whether rows of the same configuration have the same value."""
    levels = int(value.max(initial=0)) + 1
    cells, count = np.unique(configuration * levels + value, return_counts=True)
    size = np.bincount(configuration)
    usual = np.zeros_like(size)
    np.maximum.at(usual, cells // levels, count)
    repeats = int((size - 1).sum())
    return repeats >= _LEAST_REPEATS and int((usual - 1).sum()) >= _SHARE * repeats
