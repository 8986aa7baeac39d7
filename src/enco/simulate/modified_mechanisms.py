"""Mechanisms that differ a little from others: shifted, or with other weights of the levels.

A soft intervention and a batch do that to a mechanism, which keeps its parents.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.data.variables import code_dtype
from enco.errors import SettingsError
from enco.simulate.mechanisms import CategoricalMechanism, ContinuousMechanism

__all__ = ["Shifted", "Tilted"]


class Shifted(ContinuousMechanism):
    """Another continuous mechanism plus a constant.

    Parameters
    ----------
    mechanism : ContinuousMechanism
    offset : float

    Examples
    --------
    >>> from enco.simulate import LinearGaussian
    >>> usual = LinearGaussian([], real_weights=[], tables=[], sd=1.0)
    >>> nothing = np.zeros((3, 0), np.float32)
    >>> draw = lambda mechanism: mechanism.sample(nothing, nothing, np.random.default_rng(0))
    >>> draw(Shifted(usual, 5.0)) - draw(usual)
    array([5., 5., 5.], dtype=float32)
    """

    def __init__(self, mechanism: ContinuousMechanism, offset: float) -> None:
        super().__init__(mechanism.parent_levels)
        self.mechanism, self.offset = mechanism, float(offset)

    def sample(self, codes: NDArray[Any], reals: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a value for every row; see `Mechanism.sample`."""
        values: NDArray[Any] = self.mechanism.sample(codes, reals, rng) + np.float32(self.offset)
        return values

    def redrawn(self, rng: np.random.Generator) -> "Shifted":
        """Draw the function anew and keep the constant; see `Mechanism.redrawn`."""
        redrawn = self.mechanism.redrawn(rng)
        assert isinstance(redrawn, ContinuousMechanism)
        return Shifted(redrawn, self.offset)

    def with_noise(self, factor: float) -> "Shifted":
        """Multiply the noise; see `ContinuousMechanism.with_noise`."""
        return Shifted(self.mechanism.with_noise(factor), self.offset)


class Tilted(CategoricalMechanism):
    """Another categorical mechanism whose probabilities are multiplied by a weight of each level, and normalised.

    Parameters
    ----------
    mechanism : CategoricalMechanism
    weights : array_like [levels]
        Above zero.

    Examples
    --------
    >>> from enco.simulate import TableCategorical
    >>> usual = TableCategorical([[0.5, 0.5], [0.0, 1.0]], [2])
    >>> Tilted(usual, [3, 1]).probabilities([[0], [1]])
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    def __init__(self, mechanism: CategoricalMechanism, weights: ArrayLike) -> None:
        super().__init__(mechanism.parent_levels, mechanism.n_levels)
        self.mechanism, self.weights = mechanism, np.asarray(weights, dtype=np.float64)
        if self.weights.shape != (self.n_levels,) or not ((self.weights > 0) & np.isfinite(self.weights)).all():
            raise SettingsError(f"the weights of {self.n_levels} levels must be as many finite numbers above 0")

    def probabilities(self, codes: ArrayLike | None = None, reals: ArrayLike | None = None) -> NDArray[np.float64]:
        """Exact probabilities [rows, levels]; see `CategoricalMechanism.probabilities`."""
        weighted = self.mechanism.probabilities(codes, reals) * self.weights
        normalised: NDArray[np.float64] = weighted / weighted.sum(axis=1, keepdims=True)
        return normalised

    def sample(self, codes: NDArray[Any], reals: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a level index for every row; see `Mechanism.sample`."""
        uniforms = rng.random(len(codes))
        if not self.parent_levels:
            cumulative = np.cumsum(self.probabilities(), axis=1)
        else:
            cumulative = np.cumsum(self.probabilities(codes, reals), axis=1)
        # Divided by itself, the sum is exactly 1 from the last possible level on, whatever the rounding.
        cumulative /= cumulative[:, -1:]
        drawn: NDArray[Any] = (cumulative <= uniforms[:, None]).sum(axis=1).astype(code_dtype(self.n_levels))
        return drawn

    def redrawn(self, rng: np.random.Generator) -> "Tilted":
        """Draw the probabilities anew and keep the weights; see `Mechanism.redrawn`."""
        redrawn = self.mechanism.redrawn(rng)
        assert isinstance(redrawn, CategoricalMechanism)
        return Tilted(redrawn, self.weights)
