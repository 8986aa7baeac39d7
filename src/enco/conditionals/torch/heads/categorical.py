"""Softmax over the levels of a categorical variable."""

import torch
from torch import Tensor

from enco.conditionals.fused.vector_math import LARGEST_LOGIT

__all__ = ["CategoricalHead"]

_LIMIT = float(LARGEST_LOGIT)  # the fused engine clamps its logits, and both have to agree


class CategoricalHead:
    """p(y = k) = exp(logit_k) / sum over levels of exp(logit).

    Parameters
    ----------
    n_levels : int64 [V]
        Levels of each variable; the outputs beyond them are ignored.

    Examples
    --------
    >>> head = CategoricalHead(torch.tensor([2, 4]))
    >>> head.loss(torch.zeros(2, 1, 4), torch.tensor([[0], [0]])).exp()
    tensor([[2.],
            [4.]])
    """

    def __init__(self, n_levels: Tensor, n_outputs: int | None = None) -> None:
        self.n_levels = n_levels
        self._n_outputs = int(n_levels.max()) if n_outputs is None else n_outputs

    @property
    def n_outputs(self) -> int:
        """The largest number of levels."""
        return self._n_outputs

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood of levels y (int64)."""
        exists = torch.arange(self.n_outputs, device=parameters.device) < self.n_levels[:, None]
        exists = exists.reshape(len(exists), *[1] * (parameters.ndim - 2), self.n_outputs)
        logits = parameters.clamp(-_LIMIT, _LIMIT).masked_fill(~exists, -torch.inf)
        chosen = logits.gather(-1, y.expand(parameters.shape[:-1]).unsqueeze(-1)).squeeze(-1)
        return torch.logsumexp(logits, -1) - chosen

    def select(self, index: Tensor) -> "CategoricalHead":
        """Return the head of some of the variables."""
        return CategoricalHead(self.n_levels[index], self.n_outputs)
