"""The broad normal that is mixed into every continuous density (see `enco.conditionals.continuous`)."""

from math import log, pi

import torch
from torch import Tensor

from enco.conditionals.continuous import TAIL_SCALE, TAIL_SHARE

__all__ = ["log_normal", "loss_with_tail"]

_HALF_LOG_TWO_PI = 0.5 * log(2.0 * pi)


def log_normal(z: Tensor) -> Tensor:
    """Log-density of the standard normal.

    Examples
    --------
    >>> round(float(log_normal(torch.tensor(0.0))), 4)
    -0.9189
    """
    return -0.5 * z.square() - _HALF_LOG_TWO_PI


def loss_with_tail(log_density: Tensor, y: Tensor) -> Tensor:
    """-log((1 - TAIL_SHARE) p(y) + TAIL_SHARE Normal(y; 0, TAIL_SCALE^2)), given log p(y).

    Examples
    --------
    >>> impossible = loss_with_tail(torch.tensor(-1e6), torch.tensor(0.0))
    >>> bool(impossible < 8)
    True
    """
    tail = log_normal(y / TAIL_SCALE) + log(TAIL_SHARE / TAIL_SCALE)
    return -torch.logaddexp(log_density + log(1.0 - TAIL_SHARE), tail)
