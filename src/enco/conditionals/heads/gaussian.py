"""Normal density with the mean and the log-variance that the network puts out; see `enco.conditionals.continuous`."""

from math import log, log1p, pi
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.continuous import LOG_VARIANCE_RANGE, TAIL_SCALE, TAIL_SHARE
from enco.conditionals.heads.base import Head
from enco.conditionals.vector_math import FAST, fast_exp, fast_log
from enco.data import Kind
from enco.system.compilation import njit

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["GaussianHead", "gaussian_losses"]

f32 = np.float32
_LOWEST, _HIGHEST = f32(LOG_VARIANCE_RANGE[0]), f32(LOG_VARIANCE_RANGE[1])
_NETWORK_TERM = f32(log1p(-TAIL_SHARE) - 0.5 * log(2 * pi))
_TAIL_TERM = f32(log(TAIL_SHARE / TAIL_SCALE) - 0.5 * log(2 * pi))
_TAIL_PRECISION = f32(0.5 / TAIL_SCALE**2)


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def gaussian_losses(
    logits: NDArray[np.float32], y: NDArray[np.float32], loss: NDArray[np.float32], rows: int, differentiate: bool
) -> None:
    """-log((1 - TAIL_SHARE) Normal(y; m, exp(s)) + TAIL_SHARE Normal(y; 0, TAIL_SCALE^2)) per row, logits = (m, s).

    With q the share of the first term in the sum and z^2 = (y - m)^2 exp(-s), the gradient is -q (y - m) exp(-s) by m
    and q (1 - z^2) / 2 by s; zero by s outside `LOG_VARIANCE_RANGE`.
    """
    for r in range(rows):
        m = logits[0, r]
        s = min(max(logits[1, r], _LOWEST), _HIGHEST)
        precision = fast_exp(-s)
        z2 = (y[r] - m) * (y[r] - m) * precision
        network = _NETWORK_TERM - f32(0.5) * (s + z2)
        tail = _TAIL_TERM - _TAIL_PRECISION * y[r] * y[r]
        larger = max(network, tail)
        total = fast_exp(network - larger) + fast_exp(tail - larger)
        loss[r] = -larger - fast_log(total)
        if differentiate:
            q = fast_exp(network - larger) / total
            inside = f32(s == logits[1, r])
            logits[0, r] = -q * (y[r] - m) * precision
            logits[1, r] = f32(0.5) * q * (f32(1.0) - z2) * inside


class GaussianHead(Head):
    """p(y) = Normal(y; mean, exp(log_variance)), with the tail mixed in."""

    name = "gaussian"
    kind = Kind.CONTINUOUS
    numeric = True
    standardised = True
    centred = False
    losses = staticmethod(gaussian_losses)

    def n_outputs(self, n_levels: int) -> int:
        """Mean and log-variance."""
        return 2

    def n_residuals(self, n_levels: int) -> int:
        """By the mean."""
        return 1

    def torch_loss(self, parameters: "Tensor", y: "Tensor", n_levels: "Tensor") -> "Tensor":
        """Negative log-likelihood of standardised values."""
        from enco.conditionals.torch.heads.tail import log_normal, loss_with_tail

        mean, log_variance = parameters.unbind(-1)
        half = 0.5 * log_variance.clamp(*LOG_VARIANCE_RANGE)
        return loss_with_tail(log_normal((y - mean) * (-half).exp()) - half, y)
