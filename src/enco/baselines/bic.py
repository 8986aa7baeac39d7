"""Scores of a variable given its parents: log-likelihood minus a multiple of BIC's penalty.

A column that does not vary is worth nothing to others and is explained by nothing.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

__all__ = ["GaussianScore", "Score", "TableScore"]

SMALLEST_SHARE = 1e-10  # of a variance that others leave unexplained: a copy of a column has a finite likelihood
CELLS_PER_ROW = 8  # of a table that is counted as it is; what is larger is mostly empty and renumbered first


class Score(ABC):
    """Score of rows under one condition.

    Parameters
    ----------
    n_rows : int
    n_variables : int
    penalty : float
        In units of BIC's.
    """

    def __init__(self, n_rows: int, n_variables: int, penalty: float) -> None:
        self.p = n_variables
        self.n_rows = n_rows
        self._per_parameter = penalty * 0.5 * np.log(max(n_rows, 2))
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    @abstractmethod
    def log_likelihood(self, effect: int, parents: tuple[int, ...]) -> float:
        """Largest log-likelihood of the effect given its parents, up to a constant."""

    @abstractmethod
    def n_parameters(self, effect: int, parents: tuple[int, ...]) -> int:
        """Parameters of that model."""

    def local_score(self, x: int, pa: Collection[int]) -> float:
        """Score of variable x with the parents pa."""
        key = int(x), tuple(sorted(int(parent) for parent in pa))
        if key not in self._known:
            self._known[key] = self.log_likelihood(*key) - self._per_parameter * self.n_parameters(*key)
        return self._known[key]

    def gain(self, cause: int, effect: int) -> float:
        """Nats that the cause alone brings to the effect."""
        return self.log_likelihood(effect, (cause,)) - self.log_likelihood(effect, ())


class GaussianScore(Score):
    """Linear regression with Gaussian noise.

    Parameters
    ----------
    values : float64 [rows, N]
    penalty : float

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((100, 2))
    >>> score = GaussianScore(np.column_stack([x[:, 0], x[:, 0] + x[:, 1]]), penalty=1.0)
    >>> bool(score.local_score(1, {0}) > score.local_score(1, set()))
    True
    """

    def __init__(self, values: NDArray[np.float64], *, penalty: float) -> None:
        super().__init__(values.shape[0], values.shape[1], penalty)
        centred = values - values.mean(axis=0)
        deviation = centred.std(axis=0)
        # In units of its own deviation: 0 stays for a column that does not vary.
        scaled = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)
        self._correlation = scaled.T @ scaled / len(values)

    def log_likelihood(self, effect: int, parents: tuple[int, ...]) -> float:
        """-n/2 log of the share of the variance that the parents leave."""
        among = self._correlation[np.ix_(parents, parents)]
        across = self._correlation[list(parents), effect]
        coefficients = np.linalg.lstsq(among, across, rcond=None)[0] if parents else across
        share = self._correlation[effect, effect] - across @ coefficients
        if self._correlation[effect, effect] == 0:
            return 0.0
        return -0.5 * self.n_rows * float(np.log(max(share, SMALLEST_SHARE)))

    def n_parameters(self, effect: int, parents: tuple[int, ...]) -> int:
        """One coefficient for every parent, and the variance."""
        return len(parents) + 1


class TableScore(Score):
    """A table of frequencies for every combination of the parents' levels.

    Parameters
    ----------
    codes : int [rows, N]
    n_levels : int64 [N]
    penalty : float

    Examples
    --------
    >>> x = np.arange(100) % 3
    >>> score = TableScore(np.column_stack([x, x]), np.array([3, 3]), penalty=1.0)
    >>> score.log_likelihood(1, (0,)), score.n_parameters(1, (0,))
    (0.0, 6)
    """

    def __init__(self, codes: NDArray[np.integer], n_levels: NDArray[np.int64], *, penalty: float) -> None:
        super().__init__(codes.shape[0], codes.shape[1], penalty)
        self._columns = np.ascontiguousarray(codes.T, np.int64)
        self._n_levels: list[int] = n_levels.tolist()

    def log_likelihood(self, effect: int, parents: tuple[int, ...]) -> float:
        """Sum of count log(count / count of the parents' levels)."""
        combination, n_combinations = np.zeros(self.n_rows, np.int64), 1
        for variable in (*parents, effect):
            if n_combinations * self._n_levels[variable] > CELLS_PER_ROW * self.n_rows:
                there, combination = np.unique(combination, return_inverse=True)
                n_combinations = len(there)
            margin, combination = combination, combination * self._n_levels[variable] + self._columns[variable]
            n_combinations *= self._n_levels[variable]
        return _sum_of_logs(np.bincount(combination)) - _sum_of_logs(np.bincount(margin))

    def n_parameters(self, effect: int, parents: tuple[int, ...]) -> int:
        """One frequency less than levels, for every combination."""
        return (self._n_levels[effect] - 1) * math.prod(self._n_levels[parent] for parent in parents)


def _sum_of_logs(counts: NDArray[np.int64]) -> float:
    there = counts[counts > 0]
    return float(there @ np.log(there))
