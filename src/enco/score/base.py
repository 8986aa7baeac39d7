"""What the objective asks of whoever estimates losses."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Family", "Parents", "Predictor"]

Floats = NDArray[np.float64]
Parents = frozenset[int]
Family = tuple[int, Parents]
"""A variable and a set of parents."""


class Predictor(Protocol):
    """Estimates losses of one variable given parents, each row by what other rows have taught, in nats.

    Rows that intervene on the variable do not count. Where only some rows of a regime are judged, those stand for all.

    A predictor may also have a method ``target_losses(parents, mechanism)``: losses of rows that do intervene on the
    variable, as if they had not, and what the usual mechanism says there (`enco.score.own.OwnMechanism.of_parents`). It
    says how strong interventions were (`enco.score.strength`).

    Attributes
    ----------
    quick : bool
        Whether answers about hundreds of sets of parents are to be had at once.
    """

    quick: bool

    def loss(self, parents: Parents) -> float:
        """Sum the losses of all rows."""

    def changes(self, parents: Parents, causes: Sequence[int]) -> Floats:
        """Sum the losses of all rows after toggling each cause by itself: in if it is no parent, else out, [causes].

        They may be guesses where an exact answer takes long. `loss` is exact, and is asked before anything is done.
        """

    def by_regime(self, parents: Parents) -> Floats:
        """Sum the losses of the rows of each regime, [regimes]."""

    def row_losses(self, parents: Parents) -> Floats:
        """Losses of all rows, [rows]; those of rows that set the variable do not matter."""
