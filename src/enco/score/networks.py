"""Losses by cross-fitted networks: one set of networks for each fold, judged on the rows it has not seen.

A network must answer for many sets of parents. It is trained with parents present at random: nearly always where a
graph has the edge, now and then where it has not, and half of the time where two variables are joined and the data
leave open in which direction. So it knows the sets near the graph best, and both directions of an open edge equally
well: a network that knew one of them better would confirm it.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.fused import FusedConditionals
from enco.data import Regime
from enco.score.rows import Fold, folds_of
from enco.settings import Settings

__all__ = ["NetworkPredictor", "presence_near"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

USUAL = 0.9  # presence of an edge of the graph
OPEN = 0.5  # of a joined pair, in both directions, where no intervention tells which
UNUSUAL = 0.15  # least presence of all others ...
FEW_OTHERS = 1.0  # ... and about so many of them at a time in a small graph
ANNEALING = (1.0, 0.2, 0.04)  # learning rates, one after the other, relative to `refine_rate`


def presence_near(joined: Mask, graph: Mask, told: Mask) -> Floats:
    """Presence of every parent in the training of networks that know the sets of parents near a graph, [N, N].

    Parameters
    ----------
    joined : bool [N, N]
        Pairs that may be edges, in either direction.
    graph : bool [N, N]
        Row = cause.
    told : bool [N, N]
        Pairs whose direction some intervention tells.

    Examples
    --------
    >>> graph = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    >>> told = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1]], bool)
    >>> presence_near(graph, graph, told)
    array([[0.5, 0.9, 0.5],
           [0.5, 0.5, 0.5],
           [0.5, 0.5, 0.5]])
    """
    rare = max(UNUSUAL, FEW_OTHERS / max(2, len(graph) - 1))
    told_presence = np.where(graph, USUAL, rare)
    open_presence = np.where(joined | joined.T | graph | graph.T, OPEN, rare)
    return np.where(told, told_presence, open_presence)


class NetworkPredictor:
    """Networks over the candidates of a model, trained anew for each fold.

    Parameters
    ----------
    model : FusedConditionals
        Networks like these are trained.
    regimes : sequence of Regime
        The observational one and all others.
    presence : float64 [N, N]
        Of each parent in training.
    settings : Settings
    variables : int64 [k], optional
        Those that will be asked for; all by default.
    on_progress : callable, optional
    """

    def __init__(
        self,
        model: FusedConditionals,
        regimes: Sequence[Regime],
        presence: Floats,
        settings: Settings,
        variables: NDArray[np.int64] | None = None,
        on_progress: Callable[[float], None] = lambda fraction: None,
    ) -> None:
        self._pairs = pairs = model.candidates
        self._folds = folds_of(regimes)
        self._free = ~np.array([np.isin(np.arange(pairs.n_variables), regime.targets) for regime in regimes]).T
        judged = sum(np.bincount(fold.origin, minlength=len(regimes)) for fold in self._folds)
        self._weight = np.array([regime.n_rows for regime in regimes]) / np.maximum(1, judged)
        probability = presence[pairs.cause, pairs.effect]
        self._models, steps = [], len(self._folds) * len(ANNEALING)
        for number, fold in enumerate(self._folds):
            networks = model.anew(pairs, fold.learned, seed=number)
            for stage, share in enumerate(ANNEALING):
                done = number * len(ANNEALING) + stage
                networks = networks.extended([], share * settings.refine_rate, settings.patience)
                networks.fit(
                    probability,
                    settings.refine_steps,
                    variables,
                    on_progress=lambda fraction, done=done: on_progress((done + fraction) / steps),  # type: ignore[misc]
                )
            self._models.append(networks)

    def losses(self, effect: int, parents: frozenset[int], changes: Sequence[int]) -> Floats:
        """Sum the losses of each regime; see `enco.score.base.Predictor`."""
        causes = self._pairs.cause[self._pairs.pairs_into(effect)]
        family = np.isin(causes, list(parents))
        place = np.searchsorted(causes, changes)
        total = np.zeros((1 + len(place), self._free.shape[1]))
        for model, fold in zip(self._models, self._folds, strict=True):
            rows = self._rows(fold, effect)
            each = model.row_losses(fold.judged, rows, effect, family, place)
            for line, loss in zip(total, each, strict=True):
                line += np.bincount(fold.origin[rows], loss, minlength=len(line))
        return total * self._weight

    def _rows(self, fold: Fold, effect: int) -> NDArray[np.int64]:
        return np.flatnonzero(self._free[effect][fold.origin])
