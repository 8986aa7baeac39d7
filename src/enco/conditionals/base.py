"""What the algorithm needs from a conditional model, and nothing more.

A conditional model knows, for each variable j, p(X_j given any subset of its candidate parents). Distribution fitting
calls `fit`; graph fitting calls `edge_effects` (or `graph_losses`, for the estimators that score whole graphs);
refinement takes an `extended` copy, and the search for confounders its `residuals`. Arrays over pairs follow the order
of `Candidates`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.data import Regime

__all__ = ["ConditionalModel", "FitReport"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FitReport:
    """Outcome of one distribution-fitting stage.

    Attributes
    ----------
    held_out_loss : float64 [N]
        Mean negative log-likelihood of each variable on rows not trained on, parents sampled from the current graph
        distribution.
    steps : int64 [N]
        Steps each variable trained before its held-out loss stopped improving.
    """

    held_out_loss: Floats
    steps: NDArray[np.int64]


class ConditionalModel(Protocol):
    """The interface between statistics and engine."""

    candidates: Candidates

    def fit(self, edge_probability: Floats, steps: int, variables: NDArray[np.int64] | None = None) -> FitReport:
        """Train every variable, or some, on rows with parents drawn from `edge_probability` [P] (Eq. 1)."""

    def extended(self, rows: Sequence[tuple[Regime, NDArray[np.int64]]], learning_rate: float, patience: int) -> Self:
        """Copy the model, with its weights; the copy trains on these rows too, where they leave a variable free."""

    def edge_effects(
        self, regime: Regime, rows: NDArray[np.int64], edge_probability: Floats, wanted: NDArray[np.bool_]
    ) -> Floats:
        """Paired edge effects delta [P] on rows of a regime; pairs not wanted, or into a target, are NaN."""

    def graph_losses(self, regime: Regime, rows: NDArray[np.int64], graphs: NDArray[np.bool_]) -> Floats:
        """Mean loss [G, N] of each variable under G graphs [G, P] shared by all rows."""

    def residuals(self, regime: Regime, rows: NDArray[np.int64], graph: NDArray[np.bool_]) -> list[Floats]:
        """Return what a graph [P] leaves unexplained of each variable: a few numbers per row, [rows, K_j].

        The gradient of the row's loss by the network's logits, or by the value of a continuous variable: its mean is
        zero, given the parents, if the network is right.
        """

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Everything that changes, as named arrays: enough to continue to the same bits."""

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Take over what `state` returned."""
