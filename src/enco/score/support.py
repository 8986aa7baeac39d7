"""What speaks for each edge of a graph, row by row.

The gain of an edge i -> j is what the rows lose if i is no longer a parent of j. Rows of one regime have much in
common: its reagent, its day, what its targets do to all others. So the gain has a standard error with regimes as
clusters besides that of independent rows, and the larger one counts: an effect that one regime alone claims is less
sure than one that many do.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.score.base import Predictor
from enco.score.objective import families_of
from enco.score.rows import Sample

__all__ = ["Support", "gain_and_error", "gains_of_edges"]

Floats = NDArray[np.float64]


class Support(NamedTuple):
    """What speaks for the edges of a graph, [N, N] each, row = cause.

    Attributes
    ----------
    probability : float64
        By an average over graphs near it, see `enco.search.nearby`.
    gain, error : float64
        See `gains_of_edges`.
    """

    probability: Floats
    gain: Floats
    error: Floats


def gains_of_edges(
    predictor: Callable[[int], Predictor], graph: NDArray[np.bool_], sample: Sample
) -> tuple[Floats, Floats]:
    """Return the gain of every edge, in nats, and its standard error, [N, N] each; NaN where there is no edge."""
    gain, error = np.full((2, *graph.shape), np.nan)
    for effect, parents in families_of(graph):
        if not parents:
            continue
        answers = predictor(effect)
        rows = sample.judged_rows(effect)
        having = answers.row_losses(parents)[rows]
        for cause in sorted(parents):
            gained = answers.row_losses(parents - {cause})[rows] - having
            gain[cause, effect], error[cause, effect] = gain_and_error(gained, sample.origin[rows], sample.weight)
    return gain, error


def gain_and_error(gained: Floats, regime: NDArray[np.int64], weight: Floats) -> tuple[float, float]:
    """Sum what rows have gained, and estimate the standard error of the sum.

    With g_r the gain of row r, m its mean over all n rows, and G_k and n_k the sum and the number of the rows of regime
    k of K, the error is the larger root of sum (g_r - m)^2 and K / (K - 1) sum (G_k - m n_k)^2.

    Parameters
    ----------
    gained : float64 [rows]
    regime : int64 [rows]
    weight : float64 [regimes]
        Rows that each row of a regime stands for.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> regime = np.repeat(np.arange(5), 100)
    >>> everywhere = rng.normal(0.2, 1.0, size=500)
    >>> in_one = np.where(regime == 3, 1.0, 0.0) + rng.normal(size=500)
    >>> both = [gain_and_error(gained, regime, np.ones(5)) for gained in (everywhere, in_one)]
    >>> [round(gain / error, 1) for gain, error in both]
    [3.8, 0.6]
    """
    each = weight[regime]
    summed = np.bincount(regime, gained * each, minlength=len(weight))
    count = np.bincount(regime, each, minlength=len(weight))
    total, n, k = float(summed.sum()), float(count.sum()), int(np.count_nonzero(count))
    mean = total / n
    rows = float(np.sum((each * (gained - mean)) ** 2))
    regimes = float(np.sum((summed - mean * count) ** 2)) * k / max(1, k - 1)
    return total, float(np.sqrt(max(rows, regimes)))
