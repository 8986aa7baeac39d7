"""Neural spline flow (Durkan et al. 2019): an affine step, then a monotonic rational-quadratic spline from zuko."""

from torch import Tensor
from zuko.transforms import MonotonicRQSTransform

from enco.conditionals.continuous import LARGEST_VALUE, LOG_VARIANCE_RANGE
from enco.conditionals.torch.heads.base import Flow
from enco.conditionals.torch.heads.tail import log_normal, loss_with_tail

__all__ = ["SplineHead"]

SMALLEST_SLOPE = 1e-2  # and 1 / SMALLEST_SLOPE is about the largest: no spike on a single training row


class SplineHead(Flow):
    """p(y) = Normal(g(z); 0, 1) g'(z) / scale with z = (y - loc) / scale and g the spline, with the tail mixed in.

    Parameters
    ----------
    bins : int
        Pieces of the spline.
    bound : float
        The spline bends within +-bound and is the identity outside.

    Examples
    --------
    >>> SplineHead(bins=8).n_outputs  # loc and scale, 8 widths, 8 heights, 7 inner slopes
    25
    """

    def __init__(self, bins: int = 8, bound: float = LARGEST_VALUE / 2) -> None:
        self.bins = bins
        self.bound = bound

    @property
    def n_outputs(self) -> int:
        """Numbers for the affine step and the spline."""
        return 2 + 3 * self.bins - 1

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood of standardised values y."""
        affine, widths, heights, slopes = parameters.split([2, self.bins, self.bins, self.bins - 1], -1)
        loc, log_variance = affine.unbind(-1)
        log_scale = 0.5 * log_variance.clamp(*LOG_VARIANCE_RANGE)
        spline = MonotonicRQSTransform(widths, heights, slopes, bound=self.bound, slope=SMALLEST_SLOPE)
        z, log_derivative = spline.call_and_ladj((y - loc) * (-log_scale).exp())
        return loss_with_tail(log_normal(z) + log_derivative - log_scale, y)

    def select(self, index: Tensor) -> "SplineHead":
        """Return itself: nothing depends on the variable."""
        return self
