"""The sign and the size of direct effects: by how much an effect changes with one of its causes, all others held.

Least squares in the rows that leave the effect free, with all of its parents: continuous variables in standard
deviations, as they are in observational rows, a variable of two categories as 0 and 1, and one of more as an indicator
of each. So the slope of a continuous effect of a continuous cause has no unit, and that of a binary effect is a
difference of probabilities. An effect that first rises and then falls may have the slope 0.
"""

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.continuous import Standardisation
from enco.data import InterventionalData

__all__ = ["slopes"]

Floats = NDArray[np.float64]

RIDGE = 1e-9  # parents that are functions of each other share their slope


def slopes(data: InterventionalData, graph: NDArray[np.bool_]) -> Floats:
    """Return the slope of every edge between variables that are continuous or binary, [N, N]; NaN elsewhere.

    Parameters
    ----------
    data : InterventionalData
    graph : bool [N, N]
        In the order of the columns, row = cause.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(5000, 2)) @ np.array([[1.0, -0.5], [0.0, 1.0]])
    >>> data = InterventionalData.from_environments([x], [None], names=["A", "B"])
    >>> bool(abs(slopes(data, np.array([[False, True], [False, False]]))[0, 1] + 0.5 / 1.25**0.5) < 0.03)
    True
    """
    found = np.full(graph.shape, np.nan)
    unit = Standardisation.of(data)
    ordered = data.is_continuous | (data.n_levels == 2)
    for effect in np.flatnonzero(graph.any(axis=0) & ordered):
        parents = np.flatnonzero(graph[:, effect])
        regimes = [regime for regime in data.regimes if regime.free(int(effect)) and regime.n_rows]
        if not regimes:
            continue
        codes = np.concatenate([regime.codes for regime in regimes])
        reals = unit.apply(np.concatenate([regime.reals for regime in regimes]))

        def columns(variable: int) -> Floats:
            slot, levels = int(data.slots[variable]), int(data.n_levels[variable])
            if data.is_continuous[variable]:
                return np.asarray(reals[:, [slot]], np.float64)  # noqa: B023
            return np.asarray(codes[:, [slot]] == np.arange(1, levels), np.float64)  # noqa: B023

        blocks = [columns(int(parent)) for parent in parents]
        design = np.concatenate(blocks, axis=1)
        design -= design.mean(axis=0)
        target = columns(int(effect))[:, 0]
        square = design.T @ design
        np.fill_diagonal(square, np.diag(square) + RIDGE * len(design))
        coefficient = np.linalg.solve(square, design.T @ (target - target.mean()))
        first = np.cumsum([0, *(block.shape[1] for block in blocks)])
        for place, parent in zip(first, parents, strict=False):
            if ordered[parent]:
                found[parent, effect] = coefficient[place]
    return found
