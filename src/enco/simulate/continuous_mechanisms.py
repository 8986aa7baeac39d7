"""Mechanisms of continuous variables, following the synthetic data of Brouillard et al. (2020).

The paper uses those data sets in its Appendix D.5. What was chosen here, as they describe it:

========== ==================================================================================================
linear      X = sum of w_p X_p + 0.4 N, each w_p uniform in [-1, -0.25] or [0.25, 1]
additive    X = f(parents) + 0.4 N, f a network with one hidden layer of 10 units, LeakyReLU with slope 0.25
nonadditive X = f(parents, 0.4 N), f a network with one hidden layer of 20 units, tanh
========== ==================================================================================================

N is Gaussian with mean zero and a variance drawn from U[1, 2] for each variable. Weights of the networks are
N(0, 1) and biases uniform within 1 / sqrt(inputs of the layer). A variable without parents is N itself, not
scaled by 0.4. Values are not standardised. A categorical parent enters as indicators of its levels, that is
with one weight per level.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.errors import SettingsError
from enco.simulate.mechanisms import ContinuousMechanism

__all__ = ["ACTIVATIONS", "Activation", "AdditiveNetwork", "LinearGaussian", "NonadditiveNetwork"]

Activation = Literal["leaky_relu", "tanh"]


def _leaky_relu(values: NDArray[Any]) -> NDArray[Any]:
    result: NDArray[Any] = np.maximum(values, values.dtype.type(0.25) * values)
    return result


def _tanh(values: NDArray[Any]) -> NDArray[Any]:
    result: NDArray[Any] = np.tanh(values)
    return result


ACTIVATIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {"leaky_relu": _leaky_relu, "tanh": _tanh}
"""Nonlinearities by name; LeakyReLU has slope 0.25 below zero."""


class LinearGaussian(ContinuousMechanism):
    """A weighted sum of the parents plus Gaussian noise.

    Parameters
    ----------
    parent_levels : sequence of int
        Number of levels of each parent, 0 for a continuous one.
    real_weights : array_like [continuous parents]
        Weight of each continuous parent.
    tables : sequence of array_like [levels]
        What each level of each categorical parent adds.
    sd : float
        Standard deviation of the noise.

    Examples
    --------
    >>> mechanism = LinearGaussian([0, 2], real_weights=[0.5], tables=[[0.0, 1.0]], sd=1.0)
    >>> mechanism.mean(codes=[[0], [1]], reals=[[2.0], [2.0]])
    array([1., 2.])
    """

    def __init__(
        self, parent_levels: Sequence[int], *, real_weights: ArrayLike, tables: Sequence[ArrayLike], sd: float
    ) -> None:
        super().__init__(parent_levels)
        self.real_weights = np.asarray(real_weights, dtype=np.float32).reshape(-1)
        self.tables = [np.asarray(table, dtype=np.float32).reshape(-1) for table in tables]
        self.sd = float(sd)
        _check_shapes(self.parent_levels, len(self.real_weights), [len(table) for table in self.tables])

    @classmethod
    def random(
        cls, parent_levels: Sequence[int], rng: np.random.Generator, *, noise_scale: float = 0.4
    ) -> "LinearGaussian":
        """Draw weights uniformly in [-1, -0.25] or [0.25, 1] and the noise as the module describes.

        Parameters
        ----------
        parent_levels : sequence of int
            Number of levels of each parent, 0 for a continuous one.
        rng : numpy.random.Generator
            Source of randomness.
        noise_scale : float
            Factor of the noise; a variable without parents does not use it.
        """
        weights = [_away_from_zero(1 if n == 0 else n, rng) for n in parent_levels]
        return cls(
            parent_levels,
            real_weights=[w[0] for w, n in zip(weights, parent_levels, strict=True) if n == 0],
            tables=[w for w, n in zip(weights, parent_levels, strict=True) if n > 0],
            sd=_noise_sd(parent_levels, noise_scale, rng),
        )

    def redrawn(self, rng: np.random.Generator) -> "LinearGaussian":
        """Draw the weights anew; see `Mechanism.redrawn`."""
        drawn = LinearGaussian.random(self.parent_levels, rng)
        drawn.sd = self.sd
        return drawn

    def mean(self, codes: ArrayLike | None = None, reals: ArrayLike | None = None) -> NDArray[np.float64]:
        """Conditional mean [rows]; arguments as for `CategoricalMechanism.probabilities`."""
        parent_codes, parent_reals = self._parent_blocks(codes, reals)
        return self._mean(parent_codes, parent_reals)

    def _mean(self, codes: NDArray[Any], reals: NDArray[Any]) -> NDArray[Any]:
        total = np.zeros(len(codes), dtype=reals.dtype)
        for weight, value in zip(self.real_weights, reals.T, strict=True):
            total += weight * value
        for table, code in zip(self.tables, codes.T, strict=True):
            total += table[code]
        return total

    def sample(self, codes: NDArray[Any], reals: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a value for every row; see `Mechanism.sample`."""
        noise = np.float32(self.sd) * rng.standard_normal(len(codes), dtype=np.float32)
        values: NDArray[Any] = self._mean(codes, reals) + noise
        return values


class _HiddenLayer:
    """out_weights . activation(bias + sum of table rows + weighted reals) + out_bias."""

    def __init__(
        self,
        real_weights: NDArray[np.float32],
        tables: Sequence[NDArray[np.float32]],
        bias: NDArray[np.float32],
        out_weights: NDArray[np.float32],
        out_bias: float,
        activation: str,
    ) -> None:
        self.real_weights, self.tables, self.bias = real_weights, tables, bias
        self.out_weights, self.out_bias = out_weights, np.float32(out_bias)
        self.activation = activation

    @classmethod
    def random(
        cls, n_reals: int, levels: Sequence[int], units: int, activation: str, rng: np.random.Generator
    ) -> "_HiddenLayer":
        if activation not in ACTIVATIONS:
            raise SettingsError(f"unknown activation {activation!r}; choose one of {', '.join(ACTIVATIONS)}")
        inputs = n_reals + len(levels)
        return cls(
            rng.standard_normal((n_reals, units)).astype(np.float32),
            [rng.standard_normal((n, units)).astype(np.float32) for n in levels],
            (rng.uniform(-1, 1, size=units) / math.sqrt(max(inputs, 1))).astype(np.float32),
            rng.standard_normal(units).astype(np.float32),
            float(rng.uniform(-1, 1) / math.sqrt(units)),
            activation,
        )

    def redrawn(self, rng: np.random.Generator) -> "_HiddenLayer":
        levels = [len(table) for table in self.tables]
        return _HiddenLayer.random(len(self.real_weights), levels, len(self.out_weights), self.activation, rng)

    def __call__(self, codes: NDArray[Any], reals: Sequence[NDArray[Any]]) -> NDArray[Any]:
        # Unit by unit: no matrix product, whose rounding could depend on its own threads.
        result = np.full(len(codes), self.out_bias, dtype=np.float32)
        activate = ACTIVATIONS[self.activation]
        for unit, out_weight in enumerate(self.out_weights):
            hidden = np.full(len(codes), self.bias[unit], dtype=np.float32)
            for weight, value in zip(self.real_weights[:, unit], reals, strict=True):
                hidden += weight * value
            for table, code in zip(self.tables, codes.T, strict=True):
                hidden += table[code, unit]
            result += out_weight * activate(hidden)
        return result


class AdditiveNetwork(ContinuousMechanism):
    """A random network of the parents plus Gaussian noise.

    Draw one with `random`.

    Examples
    --------
    >>> mechanism = AdditiveNetwork.random([0, 0], np.random.default_rng(0))
    >>> mechanism.mean(reals=[[0.0, 1.0], [1.0, 0.0]]).shape
    (2,)
    """

    def __init__(self, parent_levels: Sequence[int], network: _HiddenLayer, sd: float) -> None:
        super().__init__(parent_levels)
        self.network, self.sd = network, float(sd)

    @classmethod
    def random(
        cls,
        parent_levels: Sequence[int],
        rng: np.random.Generator,
        *,
        noise_scale: float = 0.4,
        units: int = 10,
        activation: str = "leaky_relu",
    ) -> ContinuousMechanism:
        """Draw the network and the noise as the module describes; without parents, plain Gaussian noise.

        Parameters
        ----------
        parent_levels : sequence of int
            Number of levels of each parent, 0 for a continuous one.
        rng : numpy.random.Generator
            Source of randomness.
        noise_scale : float
            Factor of the noise; a variable without parents does not use it.
        units : int
            Number of hidden units.
        activation : {"leaky_relu", "tanh"}
            With "tanh" the values stay bounded along long paths.
        """
        if not len(parent_levels):
            return LinearGaussian.random(parent_levels, rng)
        n_reals = sum(n == 0 for n in parent_levels)
        levels = [n for n in parent_levels if n > 0]
        network = _HiddenLayer.random(n_reals, levels, units, activation, rng)
        return cls(parent_levels, network, _noise_sd(parent_levels, noise_scale, rng))

    def redrawn(self, rng: np.random.Generator) -> "AdditiveNetwork":
        """Draw the network anew; see `Mechanism.redrawn`."""
        return AdditiveNetwork(self.parent_levels, self.network.redrawn(rng), self.sd)

    def mean(self, codes: ArrayLike | None = None, reals: ArrayLike | None = None) -> NDArray[np.float64]:
        """Conditional mean [rows]; arguments as for `CategoricalMechanism.probabilities`."""
        parent_codes, parent_reals = self._parent_blocks(codes, reals)
        return self.network(parent_codes, list(parent_reals.T.astype(np.float32))).astype(np.float64)

    def sample(self, codes: NDArray[Any], reals: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a value for every row; see `Mechanism.sample`."""
        noise = np.float32(self.sd) * rng.standard_normal(len(codes), dtype=np.float32)
        values: NDArray[Any] = self.network(codes, list(reals.T)) + noise
        return values


class NonadditiveNetwork(ContinuousMechanism):
    """A random network that takes the noise as one more input.

    Draw one with `random`.

    Examples
    --------
    >>> mechanism = NonadditiveNetwork.random([0], np.random.default_rng(0))
    >>> parents = np.zeros((5, 1), dtype=np.float32)
    >>> mechanism.sample(np.zeros((5, 0), dtype=np.uint8), parents, np.random.default_rng(0)).shape
    (5,)
    """

    def __init__(self, parent_levels: Sequence[int], network: _HiddenLayer, sd: float) -> None:
        super().__init__(parent_levels)
        self.network, self.sd = network, float(sd)

    @classmethod
    def random(
        cls,
        parent_levels: Sequence[int],
        rng: np.random.Generator,
        *,
        noise_scale: float = 0.4,
        units: int = 20,
        activation: str = "tanh",
    ) -> ContinuousMechanism:
        """Draw the network and the noise as the module describes; parameters as `AdditiveNetwork.random`."""
        if not len(parent_levels):
            return LinearGaussian.random(parent_levels, rng)
        n_reals = sum(n == 0 for n in parent_levels)
        levels = [n for n in parent_levels if n > 0]
        network = _HiddenLayer.random(n_reals + 1, levels, units, activation, rng)
        return cls(parent_levels, network, _noise_sd(parent_levels, noise_scale, rng))

    def redrawn(self, rng: np.random.Generator) -> "NonadditiveNetwork":
        """Draw the network anew; see `Mechanism.redrawn`."""
        return NonadditiveNetwork(self.parent_levels, self.network.redrawn(rng), self.sd)

    def sample(self, codes: NDArray[Any], reals: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a value for every row; see `Mechanism.sample`."""
        noise = np.float32(self.sd) * rng.standard_normal(len(codes), dtype=np.float32)
        return self.network(codes, [*reals.T, noise])


def _away_from_zero(size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Uniform in [-1, -0.25] or [0.25, 1]."""
    signs = rng.choice([-1.0, 1.0], size=size)
    values: NDArray[np.float64] = signs * rng.uniform(0.25, 1.0, size=size)
    return values


def _noise_sd(parent_levels: Sequence[int], noise_scale: float, rng: np.random.Generator) -> float:
    """Draw the standard deviation of the noise: variance U[1, 2], scaled only where there are parents."""
    sd = math.sqrt(rng.uniform(1.0, 2.0))
    return noise_scale * sd if len(parent_levels) else sd


def _check_shapes(parent_levels: Sequence[int], n_reals: int, table_levels: Sequence[int]) -> None:
    expected = [n for n in parent_levels if n > 0]
    if n_reals != sum(n == 0 for n in parent_levels) or list(table_levels) != expected:
        raise SettingsError(
            f"parents with {list(parent_levels)} levels need {list(parent_levels).count(0)} real weights and "
            f"tables of {expected} entries, but there are {n_reals} weights and tables of "
            f"{list(table_levels)}"
        )
