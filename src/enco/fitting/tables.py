"""What the data say about categorical variables and their parents in a graph, by counting instead of by networks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.fitting.counts import Counts, distinct

__all__ = ["ROWS_PER_CELL", "Tables"]

Mask = NDArray[np.bool_]
I64 = NDArray[np.int64]

_LEAST_REPEATS = 30  # rows whose parents were seen before; fewer tell nothing
_SHARE = 0.99  # of them must have the usual value
_MOST_ROWS = 30_000  # of the observational and of all interventional regimes
ROWS_PER_CELL = 10  # that make a table learnable


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
        counts = Counts.of(data, column, _MOST_ROWS)
        for effect in np.flatnonzero(counts.countable(graph) & graph.any(axis=0)).tolist():
            parents = np.flatnonzero(graph[:, effect]).tolist()
            values, _ = counts.rows(parents, effect)
            first, configuration = distinct(values[:, :-1], counts.n_levels[parents])
            tables.determined[effect] = _is_function(configuration, values[:, -1])
            tables.learnable[effect] = ROWS_PER_CELL * len(first) * (counts.n_levels[effect] - 1) <= len(values)
        return tables


def _is_function(configuration: I64, value: I64) -> bool:
    """Whether rows of the same configuration have the same value."""
    levels = int(value.max(initial=0)) + 1
    cells, count = np.unique(configuration * levels + value, return_counts=True)
    size = np.bincount(configuration)
    usual = np.zeros_like(size)
    np.maximum.at(usual, cells // levels, count)
    repeats = int((size - 1).sum())
    return repeats >= _LEAST_REPEATS and int((usual - 1).sum()) >= _SHARE * repeats
