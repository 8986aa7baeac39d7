"""The candidate pairs (cause, effect) a fit considers, grouped by effect.

Every per-edge quantity of a fit (gamma, theta, edge effects, tables) is an array over these pairs, so that cost and
memory follow the number of plausible edges instead of N squared.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.errors import GraphError

__all__ = ["Candidates"]


@dataclass(frozen=True)
class Candidates:
    """Candidate edges in compressed form: pairs of effect j are `start[j] : start[j + 1]`.

    Attributes
    ----------
    start : int64 [N + 1]
    cause : int64 [P]
        Cause of each pair, ascending within an effect.

    Examples
    --------
    >>> candidates = Candidates.from_mask([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> list(zip(candidates.cause.tolist(), candidates.effect.tolist()))
    [(0, 1), (0, 2), (1, 2)]
    """

    start: NDArray[np.int64]
    cause: NDArray[np.int64]

    @classmethod
    def from_mask(cls, mask: ArrayLike) -> "Candidates":
        """Candidates from an N x N mask, row = cause, column = effect; the diagonal is ignored."""
        allowed = np.array(mask, dtype=bool)
        if allowed.ndim != 2 or allowed.shape[0] != allowed.shape[1]:
            raise GraphError(f"a candidate mask must be square, row = cause, column = effect; got {allowed.shape}")
        np.fill_diagonal(allowed, False)
        effect, cause = np.nonzero(allowed.T)
        start = np.concatenate([[0], np.cumsum(np.bincount(effect, minlength=len(allowed)))])
        return cls(start.astype(np.int64), cause.astype(np.int64))

    @classmethod
    def all_pairs(cls, n_variables: int) -> "Candidates":
        """Every ordered pair of different variables."""
        return cls.from_mask(np.ones((n_variables, n_variables), bool))

    @property
    def n_variables(self) -> int:
        """N."""
        return len(self.start) - 1

    @property
    def n_pairs(self) -> int:
        """P."""
        return len(self.cause)

    @cached_property
    def effect(self) -> NDArray[np.int64]:
        """Effect of each pair, int64 [P]."""
        return np.repeat(np.arange(self.n_variables), np.diff(self.start))

    @cached_property
    def reverse(self) -> NDArray[np.int64]:
        """Index of the pair (effect, cause) for each pair (cause, effect); -1 if it is no candidate. int64 [P]."""
        n = self.n_variables
        key = self.effect * n + self.cause  # ascending by construction
        wanted = self.cause * n + self.effect
        place = np.minimum(np.searchsorted(key, wanted), max(self.n_pairs - 1, 0))
        found = key[place] == wanted if self.n_pairs else np.zeros(0, bool)
        return np.where(found, place, -1)

    def pairs_into(self, effect: int) -> slice:
        """Pairs whose effect is the given variable."""
        return slice(int(self.start[effect]), int(self.start[effect + 1]))

    def dense(self, values: ArrayLike, fill: float = 0.0) -> NDArray[np.float64]:
        """Spread per-pair values into an N x N matrix, row = cause.

        Examples
        --------
        >>> Candidates.all_pairs(2).dense([0.5, 0.25])
        array([[0.  , 0.25],
               [0.5 , 0.  ]])
        """
        matrix = np.full((self.n_variables, self.n_variables), fill)
        matrix[self.cause, self.effect] = values
        return matrix

    def gather(self, matrix: ArrayLike) -> NDArray[np.float64]:
        """Values of an N x N matrix at the candidate pairs: the inverse of `dense`."""
        return np.asarray(matrix)[self.cause, self.effect]
