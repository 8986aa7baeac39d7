"""Normal density with the mean and the log-variance that the network puts out."""

from torch import Tensor

from enco.conditionals.continuous import LOG_VARIANCE_RANGE
from enco.conditionals.torch.heads.tail import log_normal, loss_with_tail

__all__ = ["GaussianHead"]


class GaussianHead:
    """p(y) = Normal(y; mean, exp(log_variance)), with the tail mixed in.

    Examples
    --------
    >>> import torch
    >>> GaussianHead().loss(torch.zeros(1, 2), torch.zeros(1))
    tensor([0.9270])
    """

    n_outputs = 2

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood of standardised values y."""
        mean, log_variance = parameters.unbind(-1)
        half = 0.5 * log_variance.clamp(*LOG_VARIANCE_RANGE)
        return loss_with_tail(log_normal((y - mean) * (-half).exp()) - half, y)

    def select(self, index: Tensor) -> "GaussianHead":
        """Return itself: nothing depends on the variable."""
        return self
