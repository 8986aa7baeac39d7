"""Exact marginals of a discrete model, under all interventions at once, by variable elimination.

The regime (no intervention, or a perfect intervention on one variable) is an axis of its own that is never summed
out: an intervened mechanism is a factor whose content depends on the regime. One elimination then gives the table
of a few variables in every regime, and no table is ever larger than those few variables and their separators need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["Factor", "TableTooLargeError", "marginal"]


class TableTooLargeError(Exception):
    """An intermediate table would exceed the allowed number of cells."""

    def __init__(self, cells: int) -> None:
        super().__init__(f"a table of {cells:,} cells is needed")
        self.cells = cells


@dataclass(frozen=True)
class Factor:
    """A non-negative function of the regime and of some variables.

    Attributes
    ----------
    variables : tuple of int
        Positions, ascending.
    values : ndarray [regimes or 1, levels of each variable]
        A first axis of length one means: the same in every regime.
    """

    variables: tuple[int, ...]
    values: NDArray[np.float64]


def marginal(
    factors: Sequence[Factor], keep: Sequence[int], n_levels: Sequence[int] | Mapping[int, int], *, max_cells: int
) -> NDArray[np.float64]:
    """Multiply factors and sum out every variable that is not kept.

    Parameters
    ----------
    factors : sequence of Factor
        Their product is the joint distribution of the variables in them.
    keep : sequence of int
        Variables of the result, in the order of its axes.
    n_levels : sequence or mapping
        Number of levels of each variable.
    max_cells : int
        Largest table allowed on the way, the regime axis included.

    Returns
    -------
    ndarray [regimes, levels of each kept variable]

    Examples
    --------
    >>> rain = Factor((0,), np.array([[0.8, 0.2]]))
    >>> wet = Factor((0, 1), np.array([[[0.9, 0.1], [0.0, 1.0]]]))
    >>> marginal([rain, wet], [1], [2, 2], max_cells=100).round(2)
    array([[0.72, 0.28]])
    """
    n_regimes = max((len(factor.values) for factor in factors), default=1)
    remaining = {variable for factor in factors for variable in factor.variables} - set(keep)
    pool = list(factors)
    while remaining:
        # Greedy order: next the variable whose elimination creates the smallest table.
        scopes = {
            variable: set().union(*(factor.variables for factor in pool if variable in factor.variables))
            for variable in remaining
        }
        sizes = {variable: prod(n_levels[member] for member in scopes[variable]) for variable in remaining}
        chosen = min(remaining, key=lambda variable: (sizes[variable], variable))
        involved = [factor for factor in pool if chosen in factor.variables]
        product = _multiply(involved, n_levels, max_cells)
        axis = 1 + product.variables.index(chosen)
        left = tuple(variable for variable in product.variables if variable != chosen)
        pool = [factor for factor in pool if chosen not in factor.variables]
        pool.append(Factor(left, product.values.sum(axis=axis)))
        remaining.remove(chosen)
    result = _multiply(pool, n_levels, max_cells)
    order = [1 + result.variables.index(variable) for variable in keep]
    values = result.values.transpose([0, *order])
    return np.ascontiguousarray(np.broadcast_to(values, (n_regimes, *values.shape[1:])))


def _multiply(factors: Sequence[Factor], n_levels: Sequence[int] | Mapping[int, int], max_cells: int) -> Factor:
    variables = tuple(sorted({variable for factor in factors for variable in factor.variables}))
    n_regimes = max((len(factor.values) for factor in factors), default=1)
    cells = n_regimes * prod(n_levels[variable] for variable in variables)
    if cells > max_cells:
        raise TableTooLargeError(cells)
    product = np.ones((1,) * (1 + len(variables)))
    # Small factors first keep the partial products small for as long as possible.
    for factor in sorted(factors, key=lambda factor: factor.values.size):
        shape = [n_levels[variable] if variable in factor.variables else 1 for variable in variables]
        product = product * factor.values.reshape([len(factor.values), *shape])
    return Factor(variables, product)
