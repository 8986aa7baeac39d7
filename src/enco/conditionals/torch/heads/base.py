"""What a head is to PyTorch, and which one the variables of a kind have."""

from typing import Protocol

import torch
from torch import Tensor

from enco.conditionals.heads import Head
from enco.conditionals.torch.settings import DensityName
from enco.data import Kind

__all__ = ["Flow", "RegisteredHead", "TorchHead", "torch_head"]


class TorchHead(Protocol):
    """Turns the output numbers of the networks of V variables into losses."""

    @property
    def n_outputs(self) -> int:
        """Numbers a network puts out for one row."""

    @property
    def numeric(self) -> bool:
        """Whether the variables are numbers, as `Head.numeric` says."""

    @property
    def centred(self) -> bool:
        """Whether the tables of their parents are centred, as `Head.centred` says."""

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood [V, ...] of y [V, ...] under parameters [V, ..., n_outputs]; y may broadcast."""

    def residuals(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Return what a network left unexplained of y [V, R]: a few numbers per row, [V, R, *]."""

    def select(self, index: Tensor) -> "TorchHead":
        """Return the head of some of the V variables."""


class RegisteredHead:
    """A head of `enco.conditionals.heads`, the same as in the fused engine.

    Parameters
    ----------
    head : Head
    n_levels : int64 [V]
        Levels of each variable; the outputs beyond those that it needs are ignored.

    Examples
    --------
    >>> from enco.conditionals.heads import HEADS
    >>> categorical = RegisteredHead(HEADS[0], torch.tensor([2, 4]))
    >>> categorical.loss(torch.zeros(2, 1, 4), torch.tensor([[0], [0]])).exp()
    tensor([[2.],
            [4.]])
    """

    def __init__(self, head: Head, n_levels: Tensor, n_outputs: int | None = None) -> None:
        self.head, self.n_levels = head, n_levels
        self.numeric, self.centred = head.numeric, head.centred
        self.n_outputs = max(map(head.n_outputs, n_levels.tolist())) if n_outputs is None else n_outputs

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood of levels (int64) or of standardised values."""
        return self.head.torch_loss(parameters, y, self.n_levels)

    def residuals(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Gradient of the loss by the first outputs."""
        with torch.enable_grad():
            wanted = parameters.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(self.loss(wanted, y).sum(), wanted)
        return gradient[..., : max(map(self.head.n_residuals, self.n_levels.tolist()))]

    def select(self, index: Tensor) -> "RegisteredHead":
        """Return the head of some of the variables."""
        return RegisteredHead(self.head, self.n_levels[index], self.n_outputs)


class Flow:
    """What the flows have in common: densities of continuous variables in which nothing depends on the variable."""

    numeric = True
    centred = False

    def loss(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood of standardised values y."""
        raise NotImplementedError

    def residuals(self, parameters: Tensor, y: Tensor) -> Tensor:
        """Return the gradient by the value, with the opposite sign, as that by the mean of a Gaussian would have."""
        with torch.enable_grad():
            wanted = y.detach().clone().requires_grad_()
            (gradient,) = torch.autograd.grad(self.loss(parameters, wanted).sum(), wanted)
        return -gradient.unsqueeze(-1)


def torch_head(head: Head, n_levels: Tensor, density: DensityName) -> TorchHead:
    """Return the head of variables with so many levels [V]; another `density` than Gaussian if they are continuous.

    Examples
    --------
    >>> from enco.conditionals.heads import HEADS
    >>> [torch_head(head, torch.tensor([0]), "dsf").n_outputs for head in HEADS if head.kind == "continuous"]
    [48]
    """
    # Imported here, so that zuko is needed by those who ask for splines only.
    if head.kind == Kind.CONTINUOUS and density == "spline":
        from enco.conditionals.torch.heads.spline import SplineHead

        return SplineHead()
    if head.kind == Kind.CONTINUOUS and density == "dsf":
        from enco.conditionals.torch.heads.dsf import SigmoidalFlowHead

        return SigmoidalFlowHead()
    return RegisteredHead(head, n_levels)
