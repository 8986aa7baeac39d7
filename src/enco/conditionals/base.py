"""What the algorithm needs from a conditional model, and nothing more.

A conditional model knows, for each variable j, p(X_j given any subset of its candidate parents). Distribution fitting
calls `fit`; graph fitting calls `edge_effects` (or `graph_losses`, for the estimators that score whole graphs). The
search trains networks `anew` on some rows and asks for the `row_losses` of others, the search for confounders for their
`residuals`; the likelihood of a graph takes an `extended` copy. Arrays over pairs follow the order of `Candidates`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.data import Regime

__all__ = ["ConditionalModel", "FitReport", "Training"]

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


class Training(NamedTuple):
    """How networks train, where it differs from the other networks of a model."""

    learning_rate: float
    patience: int  # looks at the rows held out without improvement before a network stops
    averaged: int  # steps over which the weights that are kept are averaged, about


class ConditionalModel(Protocol):
    """The interface between statistics and engine."""

    candidates: Candidates

    def fit(
        self,
        edge_probability: Floats,
        steps: int,
        variables: NDArray[np.int64] | None = None,
        on_progress: Callable[[float], None] = ...,
    ) -> FitReport:
        """Train every variable, or some, on rows with parents drawn from `edge_probability` [P] (Eq. 1)."""

    def extended(self, rows: Sequence[tuple[Regime, NDArray[np.int64]]], learning_rate: float, patience: int) -> Self:
        """Copy the model, with its weights; the copy trains on these rows too, where they leave a variable free."""

    def anew(
        self,
        candidates: Candidates,
        rows: Sequence[tuple[Regime, NDArray[np.int64]]],
        seed: int,
        training: Training | None = None,
    ) -> Self:
        """Return new networks over other candidates, trained on these rows only, where they leave a variable free."""

    def edge_effects(
        self, regime: Regime, rows: NDArray[np.int64], edge_probability: Floats, wanted: NDArray[np.bool_]
    ) -> Floats:
        """Paired edge effects delta [P] on rows of a regime; pairs not wanted, or into a target, are NaN."""

    def graph_losses(self, regime: Regime, rows: NDArray[np.int64], graphs: NDArray[np.bool_]) -> Floats:
        """Mean loss [G, N] of each variable under G graphs [G, P] shared by all rows."""

    def row_losses(
        self,
        regime: Regime,
        rows: NDArray[np.int64],
        effect: int,
        family: NDArray[np.bool_],
        changes: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Loss [1 + C, rows] of each row of one variable given exactly some of its candidate parents.

        `family` [k] are those parents, among the candidates of the effect in their order; each of the C changes is a
        place among them, a parent that is taken out if it is in and put in if it is not, the others as in `family`.
        """

    def expert_losses(
        self, effect: int, family: NDArray[np.bool_], regime: Regime, rows: NDArray[np.int64], steps: int
    ) -> NDArray[np.float32]:
        """Loss of each row by a network that is trained further for exactly these parents [k], [rows]."""

    def residuals(self, regime: Regime, rows: NDArray[np.int64], graph: NDArray[np.bool_]) -> list[Floats]:
        """Return what a graph [P] leaves unexplained of each variable: a few numbers per row, [rows, K_j].

        The gradient of the row's loss by the first outputs of the network (`Head.n_residuals`: logits, or the mean of a
        density): its mean is zero, given the parents, if the network is right.
        """

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Everything that changes, as named arrays: enough to continue to the same bits."""

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Take over what `state` returned."""
