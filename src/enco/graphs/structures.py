"""The graph structures of the paper's experiments (Appendix C.1), latent confounders and shuffling.

Every structure is a boolean matrix in causal order (``adjacency[i, j]`` means i -> j and implies i < j).
Shuffle it with `shuffle_columns` before use, so that the position of a variable says nothing about its place.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.errors import SettingsError
from enco.graphs.dag import MOST_VARIABLES, check_adjacency
from enco.system.process_memory import shortage
from enco.system.units import in_short

__all__ = [
    "STRUCTURES",
    "add_latent_confounders",
    "bidiag",
    "chain",
    "collider",
    "full",
    "jungle",
    "make_structure",
    "random",
    "regular",
    "shuffle_columns",
]


_ENTRY_BYTES = 16  # random numbers, and copies of the matrix


def _check_size(n: int) -> int:
    if n < 1 or n != int(n):
        raise SettingsError(f"a graph needs a whole number of variables, at least 1, but n is {n!r}")
    if n > MOST_VARIABLES:
        raise SettingsError(f"a graph can have {MOST_VARIABLES:,} variables, but n is {in_short(n)}")
    lacking = shortage(_ENTRY_BYTES * int(n) ** 2)
    if lacking is not None:
        raise SettingsError(f"a graph of {n:,} variables {lacking}: use fewer variables")
    return int(n)


def chain(n: int) -> NDArray[np.bool_]:
    """Make X1 -> X2 -> ... -> XN: every variable is the only parent of the next one.

    Parameters
    ----------
    n : int
        Number of variables.

    Returns
    -------
    ndarray of bool [n, n]

    Examples
    --------
    >>> chain(3).astype(int)
    array([[0, 1, 0],
           [0, 0, 1],
           [0, 0, 0]])
    """
    return np.eye(_check_size(n), k=1, dtype=np.bool_)


def bidiag(n: int) -> NDArray[np.bool_]:
    """Make a chain with 2-hop connections: the parents of a variable are the two variables before it.

    Parameters
    ----------
    n : int
        Number of variables.

    Returns
    -------
    ndarray of bool [n, n]

    Examples
    --------
    >>> bidiag(4).astype(int)
    array([[0, 1, 1, 0],
           [0, 0, 1, 1],
           [0, 0, 0, 1],
           [0, 0, 0, 0]])
    """
    return chain(n) | np.eye(n, k=2, dtype=np.bool_)


def collider(n: int) -> NDArray[np.bool_]:
    """Make all other variables parents of the last one; there is no other edge.

    Parameters
    ----------
    n : int
        Number of variables.

    Returns
    -------
    ndarray of bool [n, n]

    Examples
    --------
    >>> collider(3).astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    adjacency = np.zeros((_check_size(n), n), dtype=np.bool_)
    adjacency[:-1, -1] = True
    return adjacency


def full(n: int) -> NDArray[np.bool_]:
    """Make the densest DAG: the parents of a variable are all variables before it.

    Parameters
    ----------
    n : int
        Number of variables.

    Returns
    -------
    ndarray of bool [n, n]

    Examples
    --------
    >>> full(3).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    return np.triu(np.ones((_check_size(n), n), dtype=np.bool_), k=1)


def jungle(n: int) -> NDArray[np.bool_]:
    """Make a binary tree in which a node is also connected to its parent's parent.

    The tree is filled level by level: the children of the variable at position k are at 2k + 1 and 2k + 2.

    Parameters
    ----------
    n : int
        Number of variables.

    Returns
    -------
    ndarray of bool [n, n]

    Examples
    --------
    >>> [tuple(map(int, edge)) for edge in np.argwhere(jungle(5))]
    [(0, 1), (0, 2), (0, 3), (0, 4), (1, 3), (1, 4)]
    """
    adjacency = np.zeros((_check_size(n), n), dtype=np.bool_)
    child = np.arange(1, n)
    parent = (child - 1) // 2
    adjacency[parent, child] = True
    child, parent = child[parent > 0], parent[parent > 0]
    adjacency[(parent - 1) // 2, child] = True
    return adjacency


def random(
    n: int, rng: np.random.Generator, *, edge_probability: float = 0.3, max_parents: int | None = None
) -> NDArray[np.bool_]:
    """Draw an edge between each pair of variables independently, from the earlier to the later one.

    The paper uses probability 0.3 for 25 variables, and for the large graphs 8 / n with at most 10 parents.

    Parameters
    ----------
    n : int
        Number of variables.
    rng : numpy.random.Generator
        Source of randomness.
    edge_probability : float
        Probability of each edge.
    max_parents : int, optional
        Where more parents are drawn than this, a random subset of them is kept.

    Returns
    -------
    ndarray of bool [n, n]

    Examples
    --------
    >>> graph = random(100, np.random.default_rng(0), edge_probability=0.5, max_parents=3)
    >>> int(graph.sum(axis=0).max()), bool(np.tril(graph).any())
    (3, False)
    """
    _check_size(n)
    if not 0.0 <= edge_probability <= 1.0:
        raise SettingsError(f"edge_probability must be between 0 and 1, but it is {edge_probability}")
    if max_parents is not None and max_parents < 0:
        raise SettingsError(f"max_parents must be 0 or more, but it is {max_parents}")
    adjacency = np.triu(rng.random((n, n)) < edge_probability, k=1)
    if max_parents is not None:
        for child in np.flatnonzero(adjacency.sum(axis=0) > max_parents):
            drawn = np.flatnonzero(adjacency[:, child])
            kept = rng.choice(drawn, size=max_parents, replace=False)
            adjacency[:, child] = False
            adjacency[kept, child] = True
    return adjacency


def regular(n: int, rng: np.random.Generator, *, parents: int = 2) -> NDArray[np.bool_]:
    """Give every variable the same number of parents, as far as there are earlier variables to choose from.

    Parameters
    ----------
    n : int
        Number of variables.
    rng : numpy.random.Generator
        Source of randomness.
    parents : int
        Number of parents, chosen uniformly among the earlier variables.

    Returns
    -------
    ndarray of bool [n, n]

    Examples
    --------
    >>> regular(6, np.random.default_rng(0), parents=2).sum(axis=0)
    array([0, 1, 2, 2, 2, 2])
    """
    _check_size(n)
    if parents < 0:
        raise SettingsError(f"parents must be 0 or more, but it is {parents}")
    adjacency = np.zeros((n, n), dtype=np.bool_)
    for child in range(1, n):
        adjacency[rng.choice(child, size=min(parents, child), replace=False), child] = True
    return adjacency


STRUCTURES: dict[str, Callable[..., NDArray[np.bool_]]] = {
    "bidiag": bidiag,
    "chain": chain,
    "collider": collider,
    "full": full,
    "jungle": jungle,
    "random": random,
    "regular": regular,
}
"""The structures by name, for `make_structure`."""


def make_structure(name: str, n: int, rng: np.random.Generator, **options: Any) -> NDArray[np.bool_]:
    """Make one of the `STRUCTURES` by name.

    Parameters
    ----------
    name : str
        A key of `STRUCTURES`.
    n : int
        Number of variables.
    rng : numpy.random.Generator
        Source of randomness; unused by the structures that have none.
    **options
        What that structure accepts: ``edge_probability`` and ``max_parents`` for "random", ``parents`` for
        "regular".

    Returns
    -------
    ndarray of bool [n, n]
        In causal order.

    Examples
    --------
    >>> int(make_structure("chain", 5, np.random.default_rng(0)).sum())
    4
    """
    if name not in STRUCTURES:
        raise SettingsError(f"unknown structure {name!r}; choose one of {', '.join(STRUCTURES)}")
    function = STRUCTURES[name]
    accepted = [option for option in inspect.signature(function).parameters if option not in ("n", "rng")]
    for option in options:
        if option not in accepted:
            takes = f"it takes {' and '.join(accepted)}" if accepted else "it takes no options"
            raise SettingsError(f"the structure {name!r} has no option {option!r}; {takes}")
    if accepted:
        return function(n, rng, **options)
    return function(n)


def add_latent_confounders(
    adjacency: ArrayLike, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Add variables that each cause two others which have no direct edge (the paper's Appendix C.3).

    The two may still be ancestor and descendant, and may share other parents. No pair is used twice.

    Parameters
    ----------
    adjacency : array_like [N, N]
        ``adjacency[i, j]`` means i -> j.
    count : int
        How many confounders to add.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    adjacency : ndarray of bool [N + count, N + count]
        The given graph with the new variables at the end.
    latent : ndarray of int64 [count]
        Their positions.

    Examples
    --------
    >>> bigger, latent = add_latent_confounders(chain(4), 2, np.random.default_rng(0))
    >>> bigger.shape, latent.tolist(), bigger[latent].sum(axis=1).tolist()
    ((6, 6), [4, 5], [2, 2])
    """
    graph = check_adjacency(adjacency)
    size = len(graph)
    free = np.argwhere(np.triu(~(graph | graph.T), k=1))
    if count < 0 or count > len(free):
        raise SettingsError(
            f"{count} latent confounders do not fit: the graph has {len(free)} pairs of variables without an "
            f"edge; choose between 0 and {len(free)}"
        )
    bigger = np.zeros((size + count, size + count), dtype=np.bool_)
    bigger[:size, :size] = graph
    latent = np.arange(size, size + count, dtype=np.int64)
    pairs = free[rng.choice(len(free), size=count, replace=False)] if count else free[:0]
    bigger[latent, pairs[:, 0]] = True
    bigger[latent, pairs[:, 1]] = True
    return bigger, latent


def shuffle_columns(adjacency: ArrayLike, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Put the variables into a uniformly random order.

    Parameters
    ----------
    adjacency : array_like [N, N]
        ``adjacency[i, j]`` means i -> j.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    adjacency : ndarray of bool [N, N]
        The same graph with its variables in the new order.
    permutation : ndarray of int64 [N]
        ``permutation[k]`` is the old position of the variable that is now at k.

    Examples
    --------
    >>> old = chain(3)
    >>> new, permutation = shuffle_columns(old, np.random.default_rng(0))
    >>> bool((new == old[np.ix_(permutation, permutation)]).all())
    True
    """
    graph = check_adjacency(adjacency)
    permutation = rng.permutation(len(graph)).astype(np.int64)
    return graph[np.ix_(permutation, permutation)], permutation
