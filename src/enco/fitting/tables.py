"""What the data say about categorical variables and their parents in a graph, by counting instead of by networks."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData

__all__ = ["Tables"]

Mask = NDArray[np.bool_]
I64 = NDArray[np.int64]

_LEAST_REPEATS = 30  # rows whose parents were seen before; fewer tell nothing
_SHARE = 0.99  # of them must have the usual value
_MOST_ROWS = 30_000  # of the observational and of all interventional regimes
_ROWS_PER_CELL = 10  # that make a table learnable
_LARGEST = 1 << 62  # number of a configuration


@dataclass(frozen=True)
class Tables:
    """Properties of each variable's distribution given its parents; none of a variable that has a continuous one.

    Attributes
    ----------
    determined : bool [N]
        Rows with the same values of the parents have the same value of the variable: it is a function of them.
    learnable : bool [N]
        There are rows enough for every configuration of the parents. The table could then be learned cell by cell: a
        network that does not explain the variable as well as a further parent would has not learned the table well.
    """

    determined: Mask
    learnable: Mask

    @classmethod
    def of(cls, data: InterventionalData, graph: Mask, column: I64) -> "Tables":
        """Count the rows of the data.

        Parameters
        ----------
        data : InterventionalData
        graph : bool [N, N]
        column : int64 [N]
            Column of the data that holds each variable of the graph.

        Examples
        --------
        >>> x = np.arange(200) % 10
        >>> data = InterventionalData.from_environments([np.column_stack([x, x // 5, np.arange(200) // 20])], [None])
        >>> tables = Tables.of(data, np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool), np.arange(3))
        >>> tables.determined, tables.learnable  # tables of 10 and of 90 cells
        (array([False,  True, False]), array([False,  True, False]))
        """
        tables = cls(np.zeros(len(graph), bool), np.zeros(len(graph), bool))
        for effect, configuration, value in _families(data, graph, column):
            cells = (configuration.max(initial=-1) + 1) * (data.n_levels[column[effect]] - 1)
            tables.determined[effect] = _is_function(configuration, value)
            tables.learnable[effect] = _ROWS_PER_CELL * cells <= len(value)
        return tables


def _families(data: InterventionalData, graph: Mask, column: I64) -> Iterator[tuple[int, I64, I64]]:
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
            yield int(effect), _configurations(rows[:, :-1], data.n_levels[column[parents]]), rows[:, -1]


def _configurations(rows: I64, n_levels: I64) -> I64:
    """Give different rows different numbers, from zero."""
    number, span = np.zeros(len(rows), np.int64), 1
    for levels, values in zip(n_levels.tolist(), rows.T, strict=True):
        if span * levels >= _LARGEST:
            number, span = _renumbered(number), len(rows)
        number, span = number * levels + values, span * levels
    return _renumbered(number)


def _renumbered(number: I64) -> I64:
    return np.unique(number, return_inverse=True)[1].astype(np.int64)


def _is_function(configuration: I64, value: I64) -> bool:
    """Whether rows of the same configuration have the same value."""
    levels = int(value.max(initial=0)) + 1
    cells, count = np.unique(configuration * levels + value, return_counts=True)
    size = np.bincount(configuration)
    usual = np.zeros_like(size)
    np.maximum.at(usual, cells // levels, count)
    repeats = int((size - 1).sum())
    return repeats >= _LEAST_REPEATS and int((usual - 1).sum()) >= _SHARE * repeats
