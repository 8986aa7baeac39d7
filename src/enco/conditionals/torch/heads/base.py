"""What a head is, and the head of each density."""

from typing import Protocol

from torch import Tensor

from enco.conditionals.torch.settings import DensityName

__all__ = ["Head", "continuous_head"]


class Head(Protocol):
    """Turns the output numbers of networks into losses."""

    @property
    def n_outputs(self) -> int:
        """Numbers a network puts out for one row."""

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood [V, ...] of y [V, ...] under parameters [V, ..., n_outputs]; y may broadcast."""

    def select(self, index: Tensor) -> "Head":
        """Return the head of some of the V variables."""


def continuous_head(density: DensityName) -> Head:
    """Return the head of a density of continuous variables.

    Examples
    --------
    >>> continuous_head("gaussian").n_outputs
    2
    """
    # Imported here, so that zuko is needed by those who ask for splines only.
    if density == "spline":
        from enco.conditionals.torch.heads.spline import SplineHead

        return SplineHead()
    if density == "dsf":
        from enco.conditionals.torch.heads.dsf import SigmoidalFlowHead

        return SigmoidalFlowHead()
    from enco.conditionals.torch.heads.gaussian import GaussianHead

    return GaussianHead()
