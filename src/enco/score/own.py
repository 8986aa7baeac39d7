"""Losses by a distribution of their own: how a variable is explained in a regime that cuts it off from its parents."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from enco.score.rows import Sample

__all__ = ["OwnLosses", "own_losses"]

Floats = NDArray[np.float64]


class OwnLosses:
    """The loss of every variable in every regime by a distribution of its own, computed when it is asked for.

    Parameters
    ----------
    sample : Sample
    columns : sequence of arrays [rows]
        Values of each variable as its predictor sees them: codes, or standardised numbers.
    """

    def __init__(self, sample: Sample, columns: Sequence[NDArray[Any]]) -> None:
        ends = np.searchsorted(sample.origin, np.arange(len(sample.regimes) + 1))
        self._rows = [slice(int(first), int(last)) for first, last in pairwise(ends)]
        self._weight, self._columns = sample.weight, columns
        self._known: dict[tuple[int, int], float] = {}

    def __call__(self, regime: int, variable: int) -> float:
        """Sum over the rows of a regime, nats."""
        if (regime, variable) not in self._known:
            losses = own_losses(self._columns[variable][self._rows[regime]])
            self._known[regime, variable] = float(losses.sum() * self._weight[regime])
        return self._known[regime, variable]


def own_losses(values: NDArray[np.generic]) -> Floats:
    """Losses of values by a distribution of their own, each predicted from all others, nats.

    Codes by their frequencies, real numbers by Student's distribution, which a normal one of unknown mean and variance
    predicts.

    Examples
    --------
    >>> own_losses(np.zeros(100, np.uint8)).sum().round(1), own_losses(np.arange(100.0) / 29.0).mean().round(1)
    (np.float64(0.0), np.float64(1.4))
    """
    n = len(values)
    if n < 4:
        return np.full(n, np.inf)
    if values.dtype.kind != "f":
        count = np.bincount(values)
        smoothed = (count - 0.5) / (n - 1 + 0.5 * np.count_nonzero(count))
        counted: Floats = -np.log(smoothed[values])
        return counted
    x = values.astype(np.float64)
    mean = (x.sum() - x) / (n - 1)
    square = np.maximum(((x**2).sum() - x**2) / (n - 1) - mean**2, 1e-12) * (n - 1) / (n - 2)
    spread, freedom = square * n / (n - 1), n - 2
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * np.log(freedom * np.pi)
    density = -0.5 * np.log(spread) - (freedom + 1) / 2 * np.log1p((x - mean) ** 2 / (spread * freedom))
    losses: Floats = -constant - density
    return losses
