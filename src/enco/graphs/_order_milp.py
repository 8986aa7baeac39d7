"""The linear ordering problem as an integer program, with triangle inequalities added when violated.

With the variables in a reference order, x[a, b] for a < b is 1 if a stays before b. An order is a 0/1
point with 0 <= x[a, b] + x[b, c] - x[a, c] <= 1 for all a < b < c. Of the n^3 / 3 inequalities very few
matter when the weights are nearly consistent, so the program starts without any.
"""

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from enco.system.compilation import njit

__all__ = ["MilpResult", "solve_order"]

# HiGHS works to about 1e-7; weights are scaled to a largest one of 1 before they are compared.
MILP_TOLERANCE = 1e-6
MAX_CUTS_PER_ROUND = 4000
SOLVED = 0


class MilpResult(NamedTuple):
    """A proven optimum as positions in the reference order, or None, and a bound on the sum of weights."""

    order: NDArray[np.intp] | None
    bound: float


def solve_order(w: NDArray[np.float64], *, time_limit: float) -> MilpResult:
    """Improve on the reference order 0, 1, ..., n - 1 of antisymmetric weights, or prove it optimal.

    The optimum is returned only when it is proven: what an interrupted solver happens to hold would
    depend on the clock.
    """
    deadline = time.monotonic() + time_limit
    n = len(w)
    rows, columns = np.triu_indices(n, k=1)
    pair = np.zeros((n, n), dtype=np.int64)
    pair[rows, columns] = np.arange(len(rows))
    scale = float(np.abs(w).max())
    weights = w[rows, columns] / scale
    reference = float(weights.sum())
    bound = float(np.abs(weights).sum())
    triples = np.empty((0, 3), dtype=np.int64)
    x = (weights > 0).astype(np.float64)
    integral = False
    while True:
        violated = _violated_triangles(_matrix(x, n, rows, columns), MILP_TOLERANCE, MAX_CUTS_PER_ROUND)
        if len(violated) == 0:
            if np.abs(x - np.round(x)).max() < MILP_TOLERANCE:
                return MilpResult(_order_of(np.round(x), n, rows, columns), bound * scale)
            integral = True  # every triangle holds and the point is still fractional: branch from here on
        triples = np.concatenate([triples, violated])
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return MilpResult(None, bound * scale)
        solution = milp(
            -2.0 * weights,
            integrality=np.full(len(weights), int(integral)),
            bounds=Bounds(0.0, 1.0),
            constraints=_triangle_constraints(triples, pair, len(weights)),
            options={"time_limit": remaining, "mip_rel_gap": 0.0},
        )
        # An order is worth weights . (2 x - 1), that is 2 weights . x less the value of the reference order.
        if solution.status != SOLVED:
            if integral and solution.mip_dual_bound is not None:
                bound = min(bound, -float(solution.mip_dual_bound) - reference)
            return MilpResult(None, bound * scale)
        bound = min(bound, -float(solution.fun) - reference)
        if bound <= reference + MILP_TOLERANCE:
            return MilpResult(np.arange(n), bound * scale)
        x = solution.x


def _matrix(x: NDArray[np.float64], n: int, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float64]:
    matrix = np.zeros((n, n))
    matrix[rows, columns] = x
    return matrix


def _order_of(x: NDArray[np.float64], n: int, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Sort the variables by how many others come before them."""
    kept = _matrix(x, n, rows, columns)
    flipped = _matrix(1.0 - x, n, rows, columns)
    predecessors = kept.sum(axis=0) + flipped.sum(axis=1)
    return np.argsort(predecessors, kind="stable")


def _triangle_constraints(triples: NDArray[np.int64], pair: NDArray[np.int64], n_pairs: int) -> LinearConstraint:
    a, b, c = triples.T
    columns = np.stack([pair[a, b], pair[b, c], pair[a, c]], axis=1).ravel()
    values = np.tile([1.0, 1.0, -1.0], len(triples))
    starts = np.arange(0, 3 * len(triples) + 1, 3)
    return LinearConstraint(csr_array((values, columns, starts), shape=(len(triples), n_pairs)), 0.0, 1.0)


@njit(cache=True)
def _violated_triangles(x: NDArray[np.float64], tolerance: float, limit: int) -> NDArray[np.int64]:
    """At most `limit` of the violated triples, spread over all of them when there are more."""
    n = len(x)
    count = 0
    for a in range(n):
        for b in range(a + 1, n):
            for c in range(b + 1, n):
                value = x[a, b] + x[b, c] - x[a, c]
                if value < -tolerance or value > 1.0 + tolerance:
                    count += 1
    stride = max(1, (count + limit - 1) // limit)
    triples = np.empty(((count + stride - 1) // stride, 3), dtype=np.int64)
    seen = 0
    for a in range(n):
        for b in range(a + 1, n):
            for c in range(b + 1, n):
                value = x[a, b] + x[b, c] - x[a, c]
                if value < -tolerance or value > 1.0 + tolerance:
                    if seen % stride == 0:
                        triples[seen // stride, 0] = a
                        triples[seen // stride, 1] = b
                        triples[seen // stride, 2] = c
                    seen += 1
    return triples
