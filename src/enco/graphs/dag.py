"""Questions about directed graphs: is it acyclic, who is an ancestor of whom, where are the cycles.

Everywhere ``adjacency[i, j]`` is true when there is an edge i -> j: the row is the cause, the column the
effect. Nothing here allocates more than a few [N, N] arrays, so graphs of thousands of variables are fine.
"""

import heapq
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from enco.errors import GraphError

__all__ = [
    "MOST_VARIABLES",
    "Relation",
    "ancestors",
    "check_adjacency",
    "check_truth",
    "has_path",
    "is_acyclic",
    "relations",
    "strongly_connected_components",
    "topological_order",
]

MOST_VARIABLES = 1 << 15
"""Of a graph: a matrix of truth values takes 1 GiB then."""


class Relation(IntEnum):
    """How variable i (row) stands to variable j (column); see `relations`."""

    NONE = 0
    ANCESTOR = 1
    DESCENDANT = -1
    COMMON_CAUSE = 2


def check_adjacency(adjacency: ArrayLike) -> NDArray[np.bool_]:
    """Return `adjacency` as a boolean array, or say what is wrong with it.

    Parameters
    ----------
    adjacency : array_like [N, N]
        Entries 0 or 1 (any numeric type) or booleans; ``adjacency[i, j]`` means i -> j.

    Returns
    -------
    ndarray of bool [N, N]
        The same array if it was boolean already, else a converted copy.

    Examples
    --------
    >>> check_adjacency([[0, 1], [0, 0]])
    array([[False,  True],
           [False, False]])
    """
    try:
        matrix = np.asarray(adjacency)
    except ValueError as error:
        raise GraphError(f"the adjacency matrix is ragged: every row needs the same length ({error})") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"the adjacency matrix must be square [N, N], but its shape is {list(matrix.shape)}")
    if matrix.dtype != np.bool_:
        if not np.issubdtype(matrix.dtype, np.number):
            raise GraphError(f"the adjacency matrix must hold 0 and 1, but its type is {matrix.dtype}")
        wrong = np.argwhere((matrix != 0) & (matrix != 1))
        if len(wrong):
            cause, effect = (int(position) for position in wrong[0])
            raise GraphError(
                f"the adjacency matrix must hold 0 and 1, but entry [{cause}, {effect}] is "
                f"{matrix[cause, effect]}; threshold edge probabilities first"
            )
        matrix = matrix.astype(np.bool_)
    loops = np.flatnonzero(np.diagonal(matrix))
    if len(loops):
        raise GraphError(f"variable {int(loops[0])} has an edge to itself; the diagonal must be zero")
    return matrix


def check_truth(truth: ArrayLike, n_variables: int) -> NDArray[np.bool_]:
    """Return the true graph beside a result with so many variables, or say what is wrong with it.

    Examples
    --------
    >>> check_truth([[0, 1], [0, 0]], n_variables=3)
    Traceback (most recent call last):
        ...
    enco.errors.GraphError: the true graph has 2 variables and the result 3: give both for the same variables
    """
    matrix = check_adjacency(truth)
    if len(matrix) != n_variables:
        raise GraphError(
            f"the true graph has {len(matrix)} variables and the result {n_variables}: give both for the same variables"
        )
    return matrix


def _children(matrix: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    return [np.flatnonzero(row) for row in matrix]


def _peel(matrix: NDArray[np.bool_]) -> list[int]:
    """Variables in causal order as far as there is no cycle (Kahn's algorithm), smallest position first."""
    waiting_for = matrix.sum(axis=0)
    children = _children(matrix)
    ready = [int(position) for position in np.flatnonzero(waiting_for == 0)]
    heapq.heapify(ready)
    order = []
    while ready:
        variable = heapq.heappop(ready)
        order.append(variable)
        for child in children[variable]:
            waiting_for[child] -= 1
            if waiting_for[child] == 0:
                heapq.heappush(ready, int(child))
    return order


def is_acyclic(adjacency: ArrayLike) -> bool:
    """Tell whether the directed graph has no directed cycle.

    Parameters
    ----------
    adjacency : array_like [N, N]
        ``adjacency[i, j]`` means i -> j.

    Examples
    --------
    >>> is_acyclic([[0, 1], [0, 0]]), is_acyclic([[0, 1], [1, 0]])
    (True, False)
    """
    matrix = check_adjacency(adjacency)
    return len(_peel(matrix)) == len(matrix)


def topological_order(adjacency: ArrayLike) -> NDArray[np.int64]:
    """Order the variables so that every cause comes before its effects.

    Among the variables that could come next, the smallest position is taken, so the answer is unique.

    Parameters
    ----------
    adjacency : array_like [N, N]
        ``adjacency[i, j]`` means i -> j.

    Returns
    -------
    ndarray of int64 [N]

    Raises
    ------
    GraphError
        If there is a cycle; the message names the variables of one.

    Examples
    --------
    >>> topological_order([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    array([2, 1, 0])
    """
    matrix = check_adjacency(adjacency)
    order = _peel(matrix)
    if len(order) < len(matrix):
        cycle = min((c for c in strongly_connected_components(matrix) if len(c) > 1), key=lambda c: (len(c), c))
        shown = ", ".join(map(str, cycle[:8])) + (", ..." if len(cycle) > 8 else "")
        raise GraphError(f"the graph has a cycle among the variables at positions {shown}; a DAG is needed here")
    return np.array(order, dtype=np.int64)


def strongly_connected_components(adjacency: ArrayLike) -> list[list[int]]:
    """Group the variables that can reach each other along directed paths.

    A graph is acyclic exactly when every component is a single variable.

    Parameters
    ----------
    adjacency : array_like [N, N]
        ``adjacency[i, j]`` means i -> j.

    Returns
    -------
    list of list of int
        Each component sorted; components sorted by their smallest member.

    Examples
    --------
    >>> strongly_connected_components([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    [[0, 1, 2], [3]]
    """
    matrix = check_adjacency(adjacency)
    if not len(matrix):
        return []
    _, labels = connected_components(csr_array(matrix), directed=True, connection="strong")
    members: dict[int, list[int]] = {}
    for variable, label in enumerate(labels):
        members.setdefault(int(label), []).append(variable)
    return list(members.values())  # insertion order: by smallest member


def ancestors(adjacency: ArrayLike) -> NDArray[np.bool_]:
    """Reachability: entry [i, j] says that a directed path of at least one edge leads from i to j.

    Works for cyclic graphs too: there a variable on a cycle is its own ancestor. The ancestor sets are packed
    bits and passed down in causal order, so the work is one bitwise "or" of N bits per edge.

    Parameters
    ----------
    adjacency : array_like [N, N]
        ``adjacency[i, j]`` means i -> j.

    Returns
    -------
    ndarray of bool [N, N]

    Examples
    --------
    >>> ancestors([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    matrix = check_adjacency(adjacency)
    size = len(matrix)
    components = strongly_connected_components(matrix)
    component_of = np.empty(size, dtype=np.int64)
    for label, members in enumerate(components):
        component_of[members] = label
    condensed = np.zeros((len(components), len(components)), dtype=np.bool_)
    causes, effects = np.nonzero(matrix)
    condensed[component_of[causes], component_of[effects]] = True
    np.fill_diagonal(condensed, False)

    # known[j]: the packed set of ancestors of j; itself[j]: the packed set {j}
    itself = np.packbits(np.eye(size, dtype=np.bool_), axis=1)
    known = np.zeros_like(itself)
    for label in _peel(condensed):
        members = components[label]
        parents = np.flatnonzero(matrix[:, members].any(axis=1))
        if len(parents):  # of a cycle, the members are parents too, which puts all of them into the set
            reached = np.bitwise_or.reduce(known[parents] | itself[parents], axis=0)
            known[members] = reached
    return np.unpackbits(known, axis=1, count=size).astype(np.bool_).T.copy()


def has_path(adjacency: NDArray[np.bool_], start: int, end: int) -> bool:
    """Tell whether a directed path of at least one edge leads from start to end.

    Parameters
    ----------
    adjacency : bool [N, N]
        ``adjacency[i, j]`` means i -> j.
    start, end : int

    Examples
    --------
    >>> chain = np.eye(3, k=1, dtype=bool)
    >>> has_path(chain, 0, 2), has_path(chain, 2, 0)
    (True, False)
    """
    reached = adjacency[start].copy()
    frontier = reached
    while frontier.any() and not reached[end]:
        frontier = adjacency[frontier].any(axis=0) & ~reached
        reached |= frontier
    return bool(reached[end])


def relations(adjacency: ArrayLike) -> NDArray[np.int8]:
    """Classify every ordered pair of a DAG by what makes the two variables dependent.

    Parameters
    ----------
    adjacency : array_like [N, N]
        ``adjacency[i, j]`` means i -> j; acyclic.

    Returns
    -------
    ndarray of int8 [N, N]
        A `Relation` for each pair: ``ANCESTOR`` (1) if i is an ancestor of j, ``DESCENDANT`` (-1) if j is an
        ancestor of i, ``COMMON_CAUSE`` (2) if neither but they share an ancestor, ``NONE`` (0) if they are
        independent. The diagonal is ``NONE``.

    Examples
    --------
    >>> relations([[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    array([[ 0,  1,  1,  0],
           [-1,  0,  2,  0],
           [-1,  2,  0,  0],
           [ 0,  0,  0,  0]], dtype=int8)
    """
    matrix = check_adjacency(adjacency)
    topological_order(matrix)  # raises for a cyclic graph
    above = ancestors(matrix)
    counts = above.astype(np.float32)  # entries of the product are at most N: exact in float32
    result = np.where(counts.T @ counts > 0, np.int8(Relation.COMMON_CAUSE), np.int8(Relation.NONE))
    np.fill_diagonal(result, Relation.NONE)
    result[above] = Relation.ANCESTOR
    result[above.T] = Relation.DESCENDANT
    return result
