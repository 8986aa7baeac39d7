"""How far to trust the refinement's networks in each variable: where they are imprecise, its parents are challenged."""

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.fitting.tables import Tables

__all__ = ["doubt"]

DOUBTED = 0.1  # nats per row: what networks gave to false parents in networks of real applications, twice over
IMPRECISE = 0.5  # nats per row: what networks gave to false parents of continuous variables, nearly all of them
DOUBTED_COSTS = 10.0  # or this many times `sparsity`, if that is more


def doubt(
    data: InterventionalData, graph: NDArray[np.bool_], column: NDArray[np.int64], sparsity: float
) -> NDArray[np.float64]:
    """Nats per row that an edge into each variable may earn and still be in doubt, [N].

    Any number for functions of their parents and children of such functions, much for continuous variables; a few times
    the cost of an edge where the parents have few configurations or continuous ones are among them; nothing elsewhere.
    See `enco.fitting.refine`.

    Parameters
    ----------
    data : InterventionalData
    graph : bool [N, N]
    column : int64 [N]
        Column of the data that holds each variable of the graph.
    sparsity : float
        Cost of an edge, nats per row.

    Examples
    --------
    >>> x = np.arange(200) % 4
    >>> noise = np.random.default_rng(0).integers(2, size=200)
    >>> data = InterventionalData.from_environments([np.column_stack([x, x // 2, (x + noise) % 4])], [None])
    >>> doubt(data, np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool), np.arange(3), sparsity=0.02)
    array([0. ,  inf, 0.2])
    """
    tables = Tables.of(data, graph, column)
    # Children of a function of other variables may seem to be children of those.
    near_functions = tables.determined | graph[tables.determined].any(axis=0)
    continuous = data.n_levels[column] == 0
    of_reals = ~continuous & graph[continuous].any(axis=0)
    least = np.where(continuous, IMPRECISE, DOUBTED * (tables.learnable | of_reals))
    costs = DOUBTED_COSTS * sparsity * (continuous | tables.learnable | of_reals)
    return np.where(near_functions, np.inf, np.maximum(least, costs))
