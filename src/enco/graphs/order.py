"""The best acyclic order of a predicted graph: acyclicity is enforced only where there is a cycle.

Within each strongly connected component of the predicted graph, find the order that maximises

    sum over a < b of log sigmoid(theta[order_a, order_b]).

Since theta is antisymmetric, log sigmoid(t) - log sigmoid(-t) = t: swapping one pair changes the sum by
its theta, and the problem is the linear ordering problem on theta. Edges that go backwards in that order
are removed; none is ever added.

How a component is solved depends on its size:

- up to 22 variables: exactly, by dynamic programming over subsets;
- larger: insertion search from the order of the row sums of theta, restarted from small disturbances. A
  packing of 3-cycles bounds what any order can reach; when the bound is met, the answer is proven;
- if it is not met, up to 100 variables: an integer program with a time limit proves the answer or
  improves on it.

The answer does not depend on the order of the columns. Each problem is first brought into a canonical
order computed from the values of theta alone; only variables that theta cannot tell apart are ordered by
name, and by position without names.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.errors import GraphError
from enco.graphs._order_kernels import (
    cycle_packing_bound,
    exact_order,
    greedy_extension,
    insertion_search,
    iterated_search,
)
from enco.graphs._order_milp import solve_order
from enco.graphs.dag import check_adjacency, strongly_connected_components

__all__ = ["AcyclicResult", "Method", "OrderResult", "acyclic", "best_order"]

Method = Literal["exact", "milp", "local search"]

EXACT_LIMIT = 22
MILP_LIMIT = 100
# Work is counted in positions looked at: at most about a second, less for small problems, which settle
# sooner.
SEARCH_WORK = 500_000_000
SEARCH_WORK_PER_PAIR = 100_000


@dataclass(frozen=True, eq=False)
class OrderResult:
    """An order of some variables and how good it is.

    Attributes
    ----------
    order : array of int
        Positions of the variables, first cause first.
    score : float
        Sum of log sigmoid(theta[order_a, order_b]) over a < b.
    gap : float
        No order scores more than `score + gap`; 0 means that the order is proven to be the best.
    method : {"exact", "milp", "local search"}
        What found the order.

    Examples
    --------
    >>> OrderResult(order=np.array([1, 0]), score=-0.1, gap=0.0, method="exact").gap
    0.0
    """

    order: NDArray[np.intp]
    score: float
    gap: float
    method: Method


@dataclass(frozen=True, eq=False)
class AcyclicResult:
    """An acyclic subgraph of a predicted graph and the order behind it.

    Attributes
    ----------
    adjacency : bool array [N, N]
        The predicted graph without the edges that go backwards in `order`; row = cause.
    order : int array [N]
        A total order of all variables, first cause first.
    components : tuple of OrderResult
        One entry for each strongly connected component with more than one variable, in the sequence of
        `order`; the positions are those of the whole graph.
    removed : tuple of (cause, effect)
        The edges that were removed.

    Examples
    --------
    >>> theta = np.array([[0.0, 3.0, -1.0], [-3.0, 0.0, 2.0], [1.0, -2.0, 0.0]])
    >>> result = acyclic(theta > 0, theta)
    >>> result.removed, result.gap, [component.method for component in result.components]
    (((2, 0),), 0.0, ['exact'])
    """

    adjacency: NDArray[np.bool_]
    order: NDArray[np.intp]
    components: tuple[OrderResult, ...]
    removed: tuple[tuple[int, int], ...]

    @property
    def gap(self) -> float:
        """Sum of the gaps of the components; 0 means that every component is solved to proven optimality."""
        return float(sum(component.gap for component in self.components))


def best_order(theta: ArrayLike, *, names: Sequence[str] | None = None, time_limit: float = 10.0) -> OrderResult:
    """Order that maximises the sum of log sigmoid(theta[order_a, order_b]) over a < b.

    Parameters
    ----------
    theta : array [N, N]
        Orientation parameters, antisymmetric: theta[i, j] > 0 prefers i before j.
    names : sequence of str, optional
        Names of the variables; they decide between variables that theta cannot tell apart.
    time_limit : float
        Seconds the integer program may take; 0 leaves it out. All other methods do a fixed amount of work.

    Returns
    -------
    OrderResult

    Examples
    --------
    >>> best_order([[0, -2, -1], [2, 0, -1], [1, 1, 0]]).order.tolist()
    [2, 1, 0]
    """
    weights = _antisymmetric(theta)
    _check_names(names, len(weights))
    return _solve(weights, names=names, time_limit=_checked_limit(time_limit))


def acyclic(
    adjacency: ArrayLike, theta: ArrayLike, *, names: Sequence[str] | None = None, time_limit: float = 10.0
) -> AcyclicResult:
    """Remove edges inside the strongly connected components until none is left to remove.

    Parameters
    ----------
    adjacency : array [N, N]
        Predicted graph, booleans or 0 and 1; entry [i, j] = 1 means i -> j. It may have cycles.
    theta : array [N, N]
        Orientation parameters, antisymmetric: theta[i, j] > 0 prefers i before j.
    names : sequence of str, optional
        Names of the variables; they decide between variables that neither theta nor the graph tells apart.
    time_limit : float
        Seconds that the integer programs may take together; 0 leaves them out. All other methods do a
        fixed amount of work.

    Returns
    -------
    AcyclicResult
        Its order contains the best order of every component; between components it respects the edges and
        otherwise follows theta, then the names.

    Examples
    --------
    >>> theta = np.array([[0.0, 3.0, -1.0], [-3.0, 0.0, 2.0], [1.0, -2.0, 0.0]])
    >>> result = acyclic([[0, 1, 0], [0, 0, 1], [1, 0, 0]], theta)
    >>> result.adjacency.astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> result.order.tolist()
    [0, 1, 2]
    """
    weights = _antisymmetric(theta)
    edges = _edges(adjacency, len(weights))
    _check_names(names, len(weights))
    deadline = time.monotonic() + _checked_limit(time_limit)

    components = []
    before = edges.copy()
    for component in strongly_connected_components(edges):
        if len(component) == 1:
            continue
        members = np.array(component, dtype=np.intp)
        within = np.ix_(members, members)
        member_names = None if names is None else [names[member] for member in members]
        remaining = max(0.0, deadline - time.monotonic())
        solved = _solve(weights[within], names=member_names, time_limit=remaining)
        chain = members[solved.order]
        components.append(OrderResult(chain, solved.score, solved.gap, solved.method))
        before[within] = False
        before[chain[:-1], chain[1:]] = True

    order = _linear_extension(weights, before, edges=edges, names=names)
    position = np.empty(len(order), dtype=np.intp)
    position[order] = np.arange(len(order))
    backward = edges & (position[:, None] > position[None, :])
    components.sort(key=lambda solved: int(position[solved.order[0]]))
    causes, effects = np.nonzero(backward)
    return AcyclicResult(
        adjacency=edges & ~backward,
        order=order,
        components=tuple(components),
        removed=tuple(zip(causes.tolist(), effects.tolist(), strict=True)),
    )


def _solve(weights: NDArray[np.float64], *, names: Sequence[str] | None, time_limit: float) -> OrderResult:
    """Solve the linear ordering problem for all the variables of an antisymmetric matrix."""
    canonical = _canonical_order(weights, edges=None, names=names)
    w = np.ascontiguousarray(weights[np.ix_(canonical, canonical)])
    n = len(w)
    method: Method = "exact"
    gap = 0.0
    if n <= EXACT_LIMIT:
        order = exact_order(w)
    else:
        method = "local search"
        order = np.arange(n)  # the canonical order: most weight ahead first
        insertion_search(w, order, np.zeros((0, 0), dtype=np.bool_), SEARCH_WORK)
        gap = _certified_gap(w, order)
        if gap > 0:
            order = iterated_search(w, order, min(SEARCH_WORK, SEARCH_WORK_PER_PAIR * n * n))
            gap = _certified_gap(w, order)
        if gap > 0 and n <= MILP_LIMIT and time_limit > 0:
            solution = solve_order(np.ascontiguousarray(w[np.ix_(order, order)]), time_limit=time_limit)
            if solution.order is None:
                # Kept weight less what is lost: a change of one pair moves the sum over the order by
                # twice its weight.
                gap = min(gap, max(0.0, (solution.bound - _kept_weight(w, order)) / 2.0))
            else:
                method, order, gap = "milp", order[solution.order], 0.0
    return OrderResult(canonical[order], _score(w, order), gap, method)


def _certified_gap(w: NDArray[np.float64], order: NDArray[np.intp]) -> float:
    """Weight violated by the order beyond what every order must violate; 0 proves the order optimal."""
    in_order = w[np.ix_(order, order)]
    violated = float(np.maximum(0.0, -np.triu(in_order)).sum())
    gap = violated - float(cycle_packing_bound(w, order))
    return gap if gap > 1e-9 * max(violated, np.abs(w).max()) else 0.0


def _kept_weight(w: NDArray[np.float64], order: NDArray[np.intp]) -> float:
    return float(np.triu(w[np.ix_(order, order)]).sum())


def _score(w: NDArray[np.float64], order: NDArray[np.intp]) -> float:
    in_order = w[np.ix_(order, order)][np.triu_indices(len(order), k=1)]
    return float(-np.logaddexp(0.0, -in_order).sum()) + 0.0


def _linear_extension(
    weights: NDArray[np.float64],
    before: NDArray[np.bool_],
    *,
    edges: NDArray[np.bool_],
    names: Sequence[str] | None,
) -> NDArray[np.intp]:
    """Find a total order that respects `before` (acyclic) and follows theta where it is free to."""
    canonical = _canonical_order(weights, edges=edges, names=names)
    w = np.ascontiguousarray(weights[np.ix_(canonical, canonical)])
    demands = np.ascontiguousarray(before[np.ix_(canonical, canonical)])
    order = greedy_extension(w, demands)
    if len(order):
        insertion_search(w, order, demands, SEARCH_WORK)
    extension: NDArray[np.intp] = canonical[order]
    return extension


def _canonical_order(
    weights: NDArray[np.float64], *, edges: NDArray[np.bool_] | None, names: Sequence[str] | None
) -> NDArray[np.intp]:
    """Variables with most weight ahead first: the same sequence for any permutation of the columns.

    Sums are taken over sorted rows, so that not even rounding depends on the columns. Equal sums are told
    apart by the values in the row (any fixed function of them serves), the degrees in the graph, the
    names, and at last by the position.
    """
    n = len(weights)
    sorted_rows = np.sort(weights, axis=1) + 0.0  # + 0.0 turns -0.0 into 0.0
    sums = sorted_rows.sum(axis=1)
    n_out, n_in = (np.zeros(n, int),) * 2 if edges is None else (edges.sum(axis=1), edges.sum(axis=0))

    def key(variable: int) -> tuple[float, bytes, int, int, str, int]:
        values = hashlib.blake2b(sorted_rows[variable].tobytes(), digest_size=16).digest()
        name = "" if names is None else names[variable]
        return -float(sums[variable]), values, -int(n_out[variable]), int(n_in[variable]), name, variable

    return np.array(sorted(range(n), key=key), dtype=np.intp)


def _antisymmetric(theta: ArrayLike) -> NDArray[np.float64]:
    try:
        values = np.asarray(theta, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError("theta must be a matrix of numbers") from error
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise GraphError(f"theta must be a square matrix, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise GraphError("theta contains NaN or infinite values: use a large finite number for a certain orientation")
    if not np.allclose(values, -values.T, rtol=1e-5, atol=1e-6):
        raise GraphError("theta must be antisymmetric: theta[i, j] = -theta[j, i]")
    return (values - values.T) / 2.0


def _edges(adjacency: ArrayLike, n: int) -> NDArray[np.bool_]:
    edges = check_adjacency(adjacency)
    if len(edges) != n:
        raise GraphError(f"the graph has {len(edges)} variables and theta {n}: give both for the same variables")
    return edges


def _check_names(names: Sequence[str] | None, n: int) -> None:
    if names is not None and (len(names) != n or len(set(names)) != n):
        raise GraphError(f"names must be {n} different names, one for each variable, got {len(names)}")


def _checked_limit(time_limit: float) -> float:
    if not time_limit >= 0:
        raise GraphError(f"time_limit must be 0 or more seconds, got {time_limit}")
    return float(time_limit)
