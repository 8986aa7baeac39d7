"""Softmax over the levels of a categorical variable."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.heads.base import Head
from enco.conditionals.vector_math import FAST, LARGEST_LOGIT, fast_exp, fast_log
from enco.data import Kind
from enco.system.compilation import njit

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["CategoricalHead", "categorical_losses"]

f32 = np.float32


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def categorical_losses(
    logits: NDArray[np.float32], y: NDArray[np.float32], loss: NDArray[np.float32], rows: int, differentiate: bool
) -> None:
    """Log sum_k exp(logit_k) - logit_y per row; its gradient is softmax(logits) minus one at y."""
    n_out = logits.shape[0]
    for r in range(rows):
        loss[r] = -min(max(logits[np.int64(y[r]), r], -LARGEST_LOGIT), LARGEST_LOGIT)
    if differentiate:
        for k in range(n_out):
            for r in range(rows):
                logits[k, r] = fast_exp(logits[k, r])
        for r in range(rows):
            s = f32(0.0)
            for k in range(n_out):
                s += logits[k, r]
            loss[r] += fast_log(s)
            s = f32(1.0) / s
            for k in range(n_out):
                logits[k, r] *= s
            logits[np.int64(y[r]), r] -= f32(1.0)
    else:
        total = logits[n_out - 1]  # the last row doubles as the running sum of exponentials
        for r in range(rows):
            total[r] = fast_exp(total[r])
        for k in range(n_out - 1):
            for r in range(rows):
                total[r] += fast_exp(logits[k, r])
        for r in range(rows):
            loss[r] += fast_log(total[r])


class CategoricalHead(Head):
    """p(y = k) = exp(logit_k) / sum over levels of exp(logit)."""

    name = "categorical"
    kind = Kind.CATEGORICAL
    numeric = False
    centred = True
    losses = staticmethod(categorical_losses)

    def n_outputs(self, n_levels: int) -> int:
        """One logit per level."""
        return n_levels

    def n_residuals(self, n_levels: int) -> int:
        """Probability minus one or zero, for every level."""
        return n_levels

    def torch_loss(self, parameters: "Tensor", y: "Tensor", n_levels: "Tensor") -> "Tensor":
        """Log sum exp(logit) - logit_y over the levels that there are."""
        import torch

        n_outputs, largest = parameters.shape[-1], float(LARGEST_LOGIT)
        exists = torch.arange(n_outputs, device=parameters.device) < n_levels[:, None]
        exists = exists.reshape(len(exists), *[1] * (parameters.ndim - 2), n_outputs)
        logits = parameters.clamp(-largest, largest).masked_fill(~exists, -torch.inf)
        chosen = logits.gather(-1, y.expand(parameters.shape[:-1]).unsqueeze(-1)).squeeze(-1)
        return torch.logsumexp(logits, -1) - chosen
