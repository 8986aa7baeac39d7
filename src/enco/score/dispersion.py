"""How much regimes differ besides what the graph explains: the dispersion of each variable.

Given the right parents, X_j follows one mechanism in every regime that leaves it free. In real experiments it follows
nearly one: batches, days and reagents move it a little. Edges then seem to earn a lot by telling regimes apart, and the
more rows there are, the more. With m_k the nats that a small correction with d free numbers, for regime k alone, gains
over the mechanism that all regimes share,

    2 m_k / d   is about 1 if the graph and the labels are right, and as much larger as regimes differ by more.

The mean over the regimes is the dispersion phi_j, and as in a quasi-likelihood, evidence counts phi_j times less.
Within what chance allows, phi_j is 1.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from enco.score.base import Parents, Predictor
from enco.score.networks import NetworkPredictor
from enco.score.own import tilted_losses
from enco.score.regression import RegressionPredictor
from enco.score.rows import Sample

__all__ = ["dispersion", "dispersion_of", "shift_of_means"]

Floats = NDArray[np.float64]

MOST_ROWS = 1_000  # of each regime are asked
SURE = 3.0  # standard errors by which the mean must exceed 1


def dispersion(misfit: Sequence[float], freedom: int) -> float:
    """Return the dispersion, at least 1, from 2 m_k of each regime.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> dispersion(rng.chisquare(4, size=20), 4), round(dispersion(5 * rng.chisquare(4, size=20), 4), 1)
    (1.0, 6.1)
    """
    if len(misfit) < 2 or freedom < 1:
        return 1.0
    mean = float(np.mean(misfit)) / freedom
    return mean if mean > 1.0 + SURE * np.sqrt(2.0 / freedom / len(misfit)) else 1.0


def dispersion_of(
    predictor: Predictor, effect: int, parents: Parents, sample: Sample, n_levels: int, slot: int
) -> float:
    """Return the dispersion of a variable given its parents.

    Regimes are corrected by a mean of their own (continuous), or by a factor for each level (categorical).

    Parameters
    ----------
    predictor : Predictor
    effect : int
    parents : frozenset
    sample : Sample
    n_levels, slot : int
        Categories of the variable, and its column of the codes.
    """
    if isinstance(predictor, RegressionPredictor):
        left = predictor.residuals(parents)
        groups = (left[sample.origin == k] for k in np.flatnonzero(sample.free[effect]))
        return dispersion([shift_of_means(group) for group in groups if len(group) > 1], 1)
    if not isinstance(predictor, NetworkPredictor) or not n_levels:
        return 1.0
    rows = np.concatenate([np.flatnonzero(sample.origin == k)[:MOST_ROWS] for k in np.flatnonzero(sample.free[effect])])
    told, values = predictor.log_probabilities(parents, rows, n_levels, slot), sample.table.codes[rows, slot]
    misfit = []
    for k in np.flatnonzero(sample.free[effect]):
        here = sample.origin[rows] == k
        y, log_p = values[here].astype(np.int64), told[here]
        free = np.count_nonzero(np.bincount(y)) - 1
        if free > 0:
            gain = -float(np.take_along_axis(log_p, y[:, None], 1).sum()) - float(tilted_losses(log_p, y).sum()) + free
            misfit.append(2.0 * gain * (n_levels - 1) / free)
    return dispersion(misfit, n_levels - 1)


def shift_of_means(residual: Floats) -> float:
    """Return 2 m_k of residuals [rows] that have mean 0 under the shared mechanism, corrected by their mean.

    Examples
    --------
    >>> round(shift_of_means(np.array([1.0, -1.0, 1.0, -1.0])), 3), shift_of_means(np.arange(9.0)) > 10
    (0.0, True)
    """
    n = len(residual)
    variance = float(residual.var(ddof=1))
    return n * float(residual.mean()) ** 2 / max(variance, 1e-12)
