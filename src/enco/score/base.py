"""What the objective asks of whoever estimates losses."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Family", "Predictor"]

Floats = NDArray[np.float64]
Family = tuple[int, frozenset[int]]
"""A variable and a set of parents."""


class Predictor(Protocol):
    """Estimates losses of variables given their parents, each row by what other rows have taught.

    The answer is a function of the question alone: the same family costs the same whenever it is asked for.
    """

    def losses(self, effect: int, parents: frozenset[int], changes: Sequence[int]) -> Floats:
        """Sum the losses of a variable over the rows of each regime that leave it free, in nats.

        Parameters
        ----------
        effect : int
        parents : frozenset of int
        changes : sequence of int
            Causes to be toggled, one at a time: put in if they are not among the parents, else taken out.

        Returns
        -------
        float64 [1 + changes, regimes]
            Given the parents, then after each change. Where not all rows of a regime are judged, those that are stand
            for all.
        """
