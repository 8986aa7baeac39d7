"""A user's own `nn.Module` as a `Network` of one variable.

The module sees the masked encoding of the candidate parents, parents in candidate order: the one-hot level of a
categorical parent, (value, 1) for a continuous one, zeros for an absent one. So the encoding is again a sum with one
term per present parent, and a toggle adds or removes a term before the module runs again.
"""

from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from enco.conditionals.torch.heads import TorchHead
from enco.conditionals.torch.parents import Parents, Present, Source
from enco.conditionals.torch.rows import Columns, Rows
from enco.conditionals.torch.settings import NetworkFactory
from enco.errors import SettingsError

__all__ = ["CustomNetwork"]


class CustomNetwork:
    """One variable's module; its parameters are kept outside, as one row of numbers.

    Parameters
    ----------
    factory : callable (n_inputs, n_outputs) -> nn.Module
    parents : Parents
        Of one variable.
    causes : int64 [k]
        Its candidate parents in candidate order.
    head : TorchHead
    target_column : int
    columns : Columns
    seed : int
        Of the module's initial parameters.
    """

    def __init__(
        self, factory: NetworkFactory, parents: Parents, *, causes: NDArray[np.int64], head: TorchHead,
        target_column: int, columns: Columns, seed: int,
    ) -> None:  # fmt: skip
        self.parents, self.head = parents, head
        self.target_column = target_column
        widths, numeric = columns.heads.n_rows[causes], columns.heads.numeric.view(bool)[causes]
        starts, self.n_inputs = np.cumsum(widths) - widths, int(widths.sum())
        device = columns.device
        self._code_start = torch.from_numpy(starts[~numeric]).to(device)
        self._real_start = torch.from_numpy(starts[numeric]).to(device)
        with torch.random.fork_rng(devices=[]):  # a factory draws from the global stream: leave that as it was
            torch.default_generator.manual_seed(seed)
            self.module = _checked(factory(self.n_inputs, head.n_outputs), self.n_inputs, head.n_outputs).to(device)
        self._shapes = {name: tuple(value.shape) for name, value in self.module.named_parameters()}

    @property
    def width(self) -> int:
        """Inputs, outputs, and what a module may keep in between."""
        return 4 * self.n_inputs + 12 * self.head.n_outputs + 256

    def initial_weights(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return what the factory made, [1, size]."""
        values = [value.detach().cpu().numpy().ravel() for value in self.module.parameters()]
        return np.concatenate(values)[None].astype(np.float32)

    def select(self, index: Tensor) -> "CustomNetwork":
        """Return itself: there is only one variable."""
        return self

    def target(self, rows: Rows) -> Tensor:
        """Values of the variable itself, [1, R]."""
        return rows.reals.T[[self.target_column]] if self.head.numeric else rows.codes.T[[self.target_column]].long()

    def hidden(self, weights: Tensor, rows: Rows, present: Present) -> Tensor:
        """Encode the parents that are present, [1, R, n_inputs]."""
        total = torch.zeros((1, len(rows), self.n_inputs), device=weights.device)
        if len(self._code_start):
            total.scatter_add_(2, self._levels(rows).T[None], present.codes.transpose(1, 2))
        total[0][:, self._real_start] = (self.parents.values(rows) * present.reals)[0].T
        total[0][:, self._real_start + 1] = present.reals[0].T
        return total

    def contribution(self, weights: Tensor, rows: Rows, source: Source, slots: Tensor) -> Tensor:
        """Encode single parents, [1, W, R, n_inputs]."""
        terms = torch.zeros((1, slots.shape[1], len(rows), self.n_inputs), device=weights.device)
        if source == "codes":
            return terms.scatter_(3, self._levels(rows)[slots].unsqueeze(-1), 1.0)
        each = torch.arange(slots.shape[1], device=slots.device)
        terms[0, each, :, self._real_start[slots[0]]] = self.parents.values(rows)[0, slots[0]]
        terms[0, each, :, self._real_start[slots[0]] + 1] = 1.0
        return terms

    def outputs(self, weights: Tensor, hidden: Tensor) -> Tensor:
        """Run the module on rows [1, M, n_inputs]."""
        parts = weights[0].split([prod(shape) for shape in self._shapes.values()])
        values = {name: part.view(shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)}
        result: Tensor = functional_call(self.module, values, (hidden[0],))
        return result.unsqueeze(0)

    def center(self, weights: Tensor, rows: Rows, counted: Tensor, probability: Tensor) -> None:
        """Do nothing: what a module does with its inputs is its own affair."""

    def _levels(self, rows: Rows) -> Tensor:
        """Input that is one for each categorical parent and row, int64 [slots, R]."""
        return rows.codes.T[self.parents.code_column[0]].long() + self._code_start.unsqueeze(-1)


def _checked(module: object, n_inputs: int, n_outputs: int) -> nn.Module:
    """Refuse at the door what would fail, or silently be wrong, in the middle of a fit."""
    call = f"network({n_inputs}, {n_outputs})"
    if not isinstance(module, nn.Module):
        raise SettingsError(f"setting network: {call} returned a {type(module).__name__}, not an nn.Module")
    for part in module.modules():
        if isinstance(part, _BatchNorm | _DropoutNd):
            raise SettingsError(
                f"setting network: {call} contains {type(part).__name__}, whose output depends on more than the row "
                "and the weights: leave it out, or use LayerNorm"
            )
    if not any(value.numel() for value in module.parameters()):
        raise SettingsError(f"setting network: {call} has no parameters, so that there is nothing to train")
    if any(value.dtype != torch.float32 for value in module.parameters()):
        raise SettingsError(f"setting network: {call} has parameters that are not float32: convert it with .float()")
    try:
        with torch.no_grad():
            shape = tuple(module(torch.zeros(3, n_inputs)).shape)
    except Exception as error:
        raise SettingsError(f"setting network: {call} fails on an input of shape (3, {n_inputs}): {error}") from error
    if shape != (3, n_outputs):
        raise SettingsError(
            f"setting network: {call} maps (3, {n_inputs}) to {shape}; it must return shape (3, {n_outputs})"
        )
    return module
