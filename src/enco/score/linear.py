"""Losses of continuous variables by linear regressions, in closed form: another place for the search to begin.

    y | x ~ Normal(b' x, v)

Where mechanisms are linear and noise is normal, networks claim to know directions that nobody can know, and a search
that believes them ends far from the best graph. Linear regressions answer thousands of questions in a second, so that
a search by them alone looks at every order. Where mechanisms are not linear, the graph that they lead to is one more
start and no more: regressions that can learn any function have the last word.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from enco.score.base import Parents
from enco.score.regression import Regressions
from enco.score.rows import N_FOLDS

__all__ = ["LinearPredictor"]

Floats = NDArray[np.float64]

RIDGE = 1e-6  # of the mean square of the inputs: collinear ones have a solution as well
LEAST_VARIANCE = 1e-6  # of a standardised variable


class LinearPredictor:
    """What linear regressions of one variable say; see `enco.score.base.Predictor`.

    Rows that intervene on the variable do not count, however softly.

    Parameters
    ----------
    shared : Regressions
    effect : int
        A continuous variable.
    candidates : sequence of int
        Its possible parents.
    """

    quick = True

    def __init__(self, shared: Regressions, effect: int, candidates: Sequence[int]) -> None:
        self._sample, self._n_rows = shared.sample, len(shared.sample.origin)
        self._rows = shared.sample.free_rows(effect)
        columns = [(cause, column) for cause in candidates for column in shared.inputs([cause], self._rows)]
        inputs = [column for _, column in columns]
        (target,) = shared.inputs([effect], self._rows)
        # Constant first, target last.
        self._x = np.column_stack([np.ones(len(self._rows)), *inputs, target]).astype(np.float64)
        self._places = {c: [1 + k for k, (cause, _) in enumerate(columns) if cause == c] for c in candidates}
        self._fold = shared.sample.fold[self._rows]
        weight = shared.sample.weight[shared.sample.origin[self._rows]]
        folds = [self._fold == fold for fold in range(N_FOLDS)]
        self._learned = [(self._x[~fold].T @ self._x[~fold], int((~fold).sum())) for fold in folds]
        judged = [self._x[fold] * weight[fold, None] for fold in folds]
        self._judged = [(part.T @ self._x[fold], weight[fold].sum()) for part, fold in zip(judged, folds, strict=True)]
        self._known: dict[Parents, float] = {}

    def loss(self, parents: Parents) -> float:
        """Sum the losses of all rows."""
        if parents not in self._known:
            self._known[parents] = sum(self._loss_of_fold(parents, fold) for fold in range(N_FOLDS))
        return self._known[parents]

    def changes(self, parents: Parents, causes: Sequence[int]) -> Floats:
        """Sum the losses of all rows after toggling each cause."""
        return np.array([self.loss(parents ^ {cause}) for cause in causes])

    def by_regime(self, parents: Parents) -> Floats:
        """Sum the losses of the rows of each regime."""
        return self._sample.by_regime(self._row_losses(parents), self._rows)

    def row_losses(self, parents: Parents) -> Floats:
        """Losses of all rows, [rows], NaN where the variable was set."""
        losses = np.full(self._n_rows, np.nan)
        losses[self._rows] = self._row_losses(parents)
        return losses

    def _row_losses(self, parents: Parents) -> Floats:
        losses = np.empty(len(self._rows))
        for fold in range(N_FOLDS):
            weights, variance = self._fit(parents, fold)
            left = self._x[self._fold == fold] @ weights
            losses[self._fold == fold] = 0.5 * (np.log(2 * np.pi * variance) + left**2 / variance)
        return losses

    def _loss_of_fold(self, parents: Parents, fold: int) -> float:
        weights, variance = self._fit(parents, fold)
        square, count = self._judged[fold]
        return float(0.5 * (count * np.log(2 * np.pi * variance) + weights @ square @ weights / variance))

    def _fit(self, parents: Parents, fold: int) -> tuple[Floats, float]:
        """Return (-b, 1) over all columns, whose product with a row is what is left of the target, and v."""
        square, count = self._learned[fold]
        chosen = [0, *(place for parent in sorted(parents) for place in self._places[parent])]
        inner = square[np.ix_(chosen, chosen)]
        inner = inner + RIDGE * np.trace(inner) / len(inner) * np.eye(len(inner))
        weights = np.zeros(len(square))
        weights[chosen] = -np.linalg.solve(inner, square[chosen, -1])
        weights[-1] = 1.0
        return weights, max(LEAST_VARIANCE, float(weights @ square @ weights) / max(1, count))
