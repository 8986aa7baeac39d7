"""Edge parameters: existence gamma, orientation theta, and the Adam states that move them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from enco.candidates import Candidates

__all__ = ["Adam", "EdgeParameters"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass
class Adam:
    """Adam for parameters of which a step informs only some.

    By default every parameter has its own clock: one that receives no gradient does not move, nor do its moments. With
    `coasts`, it has the gradient 0 there, as in a plain Adam: its moments fade, and while they do it moves on.

    Attributes
    ----------
    beta1, beta2 : float
    coasts : bool
    first, second : float64 [P]
    count : int64 [P]
        Steps each parameter has taken.
    """

    size: int
    beta1: float
    beta2: float
    coasts: bool = False
    first: Floats = field(init=False)
    second: Floats = field(init=False)
    count: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.first = np.zeros(self.size)
        self.second = np.zeros(self.size)
        self.count = np.zeros(self.size, np.int64)

    def move(self, parameter: Floats, where: NDArray[np.int64], gradient: Floats, rate: float | Floats) -> None:
        """One step of the parameters [P], given the gradients at positions `where`.

        Examples
        --------
        >>> parameter = np.zeros(2)
        >>> Adam(2, 0.9, 0.999).move(parameter, np.array([1]), np.array([3.0]), 0.1)
        >>> parameter.round(6)
        array([ 0. , -0.1])
        """
        if self.coasts:
            known, where = where, np.arange(self.size)
            given, gradient = gradient, np.zeros(self.size)
            gradient[known] = given
        count = self.count[where] + 1
        first = self.beta1 * self.first[where] + (1 - self.beta1) * gradient
        second = self.beta2 * self.second[where] + (1 - self.beta2) * gradient**2
        self.count[where], self.first[where], self.second[where] = count, first, second
        scale = np.sqrt(second / (1 - self.beta2**count)) + 1e-8
        parameter[where] += -rate * first / (1 - self.beta1**count) / scale

    def forget(self, where: NDArray[np.int64]) -> None:
        """Start some parameters anew."""
        for moment in (self.first, self.second, self.count):
            moment[where] = 0

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Everything that changes, under names that begin with one."""
        return {f"{name}.first": self.first, f"{name}.second": self.second, f"{name}.count": self.count}


class EdgeParameters:
    """gamma and theta over the candidate pairs, theta[i, j] = -theta[j, i].

    Parameters
    ----------
    candidates : Candidates
    coasts : bool
        Whether gamma moves on while it gets no gradient, see `Adam`.

    Attributes
    ----------
    gamma, theta : float64 [P]

    Examples
    --------
    >>> parameters = EdgeParameters(Candidates.all_pairs(2))
    >>> parameters.edge_probability()
    array([0.25, 0.25])
    """

    def __init__(self, candidates: Candidates, *, coasts: bool = False) -> None:
        self.candidates = candidates
        self.gamma = np.zeros(candidates.n_pairs)
        self.theta = np.zeros(candidates.n_pairs)
        self.gamma_adam = Adam(
            candidates.n_pairs, 0.9, 0.9, coasts
        )  # Appendix C.1: adapts fast when gradients change scale
        self.theta_adam = Adam(candidates.n_pairs, 0.9, 0.999)

    def existence(self) -> Floats:
        """sigmoid(gamma), [P]."""
        return expit(self.gamma)  # type: ignore[no-any-return]

    def orientation(self) -> Floats:
        """sigmoid(theta), [P]."""
        return expit(self.theta)  # type: ignore[no-any-return]

    def edge_probability(self) -> Floats:
        """sigmoid(gamma) * sigmoid(theta), [P]."""
        return self.existence() * self.orientation()

    def reconsider(self, pairs: NDArray[np.int64], gamma: float) -> None:
        """Set gamma of some pairs and forget the moments that brought them where they were."""
        self.gamma[pairs] = gamma
        self.gamma_adam.forget(pairs)

    def move_gamma(self, pairs: NDArray[np.int64], gradient: Floats, rate: float, targets: Sequence[int] = ()) -> None:
        """One Adam step of gamma at some pairs; the targets of the regime matter only where gamma is split by them."""
        self.gamma_adam.move(self.gamma, pairs, gradient, rate)

    def move_theta(self, pairs: NDArray[np.int64], gradient: Floats, rate: float | Floats) -> None:
        """One Adam step of theta at some pairs, at most one of each (i, j) and (j, i); the reverse pair follows."""
        self.theta_adam.move(self.theta, pairs, gradient, rate)
        reverse = self.candidates.reverse[pairs]
        mirrored = reverse >= 0
        source, mirror = pairs[mirrored], reverse[mirrored]
        self.theta[mirror] = -self.theta[source]
        self.theta_adam.first[mirror] = -self.theta_adam.first[source]
        self.theta_adam.second[mirror] = self.theta_adam.second[source]
        self.theta_adam.count[mirror] = self.theta_adam.count[source]

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything that changes."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take over what `state` returned."""
        for name, array in self._arrays().items():
            array[...] = state[name]

    def _arrays(self) -> dict[str, NDArray[Any]]:
        moving = {"gamma": self.gamma, "theta": self.theta}
        return moving | self.gamma_adam.arrays("gamma") | self.theta_adam.arrays("theta")
