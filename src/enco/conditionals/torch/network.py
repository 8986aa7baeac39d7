"""The built-in networks of many variables at once.

The network of variable j computes, for a row x and the parents present in a sampled graph,

    h = b + sum over present parents i of e_ij(x_i),    e_ij(x) = a table row, or x w_ij + u_ij for a continuous parent,

then LeakyReLU and further hidden layers, then the outputs that the head reads. All V networks are evaluated by one
batched product per layer. Because the first layer is a sum, adding or removing a parent is h +- e_ij.

`Network` is the interface that training and edge effects use; `custom` implements it for a user's module.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag, leaky_relu

from enco.conditionals.fused.network import LEAK
from enco.conditionals.torch.centring import center_tables
from enco.conditionals.torch.heads import TorchHead
from enco.conditionals.torch.parents import Parents, Present, Source
from enco.conditionals.torch.rows import Rows

__all__ = ["AdditiveNetwork", "Network"]


class Network(Protocol):
    """Networks of V variables with the same head; weights [V, size] are kept outside."""

    @property
    def parents(self) -> Parents:
        """The slots of each variable."""

    @property
    def head(self) -> TorchHead:
        """What the outputs mean."""

    @property
    def width(self) -> int:
        """About how many numbers one row of one variable needs in memory while it is evaluated."""

    def initial_weights(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw weights [V, size]."""

    def select(self, index: Tensor) -> Self:
        """Return the networks of some of the variables."""

    def target(self, rows: Rows) -> Tensor:
        """Values of the variables themselves, [V, R]."""

    def hidden(self, weights: Tensor, rows: Rows, present: Present) -> Tensor:
        """Sum of the contributions of the present parents, [V, R, H]."""

    def contribution(self, weights: Tensor, rows: Rows, source: Source, slots: Tensor) -> Tensor:
        """Return what the parents in some slots [V, W] add to the sum if they are present, [V, W, R, H]."""

    def outputs(self, weights: Tensor, hidden: Tensor) -> Tensor:
        """From sums [V, M, H] to the parameters of the head [V, M, K]."""

    def center(self, weights: Tensor, rows: Rows, counted: Tensor, probability: Tensor) -> None:
        """Make absent parents average ones where that helps, in place; `counted` marks the rows trained on, [V, R]."""


@dataclass(frozen=True)
class AdditiveNetwork:
    """The built-in `Network`.

    Attributes
    ----------
    parents : Parents
    head : TorchHead
    target_column : int64 [V]
        Column of the variable itself, in `Rows.reals` if it is a number, else in `Rows.codes`.
    n_hidden, n_layers : int
        Units of a hidden layer; number of hidden layers.
    """

    parents: Parents
    head: TorchHead
    target_column: Tensor
    n_hidden: int
    n_layers: int

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The parts of one variable's weights, in order."""
        hidden, further = self.n_hidden, self.n_layers - 1
        return {
            "bias": (1, hidden),
            "linear": (
                2 * self.parents.real_pair.shape[1],
                hidden,
            ),  # w of every continuous parent, then u of every one
            "tables": (self.parents.n_rows, hidden),
            "deep": (further, hidden, hidden),
            "deep_bias": (further, 1, hidden),
            "output": (hidden, self.head.n_outputs),
            "output_bias": (1, self.head.n_outputs),
        }

    @property
    def width(self) -> int:
        """Hidden units and outputs, and the copies that activations and flows make of them."""
        return 4 * self.n_hidden + 12 * self.head.n_outputs

    def split(self, weights: Tensor) -> dict[str, Tensor]:
        """Return the parts of weights [V, size] as views [V, *shape]."""
        sizes = [int(np.prod(shape)) for shape in self.shapes.values()]
        parts = weights.split(sizes, 1)
        return {name: part.unflatten(1, shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def initial_weights(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Uniform in +-1/sqrt(H), output biases zero: outputs start near zero."""
        size = sum(int(np.prod(shape)) for shape in self.shapes.values())
        weights = rng.uniform(-1.0, 1.0, (len(self.target_column), size)).astype(np.float32)
        weights *= np.float32(1.0 / np.sqrt(self.n_hidden))
        weights[:, size - self.head.n_outputs :] = 0.0
        return weights

    def select(self, index: Tensor) -> "AdditiveNetwork":
        """Return the networks of some of the variables."""
        return replace(
            self,
            parents=self.parents.select(index),
            head=self.head.select(index),
            target_column=self.target_column[index],
        )

    def target(self, rows: Rows) -> Tensor:
        """Values of the variables themselves, [V, R]."""
        return rows.reals.T[self.target_column] if self.head.numeric else rows.codes.T[self.target_column].long()

    def hidden(self, weights: Tensor, rows: Rows, present: Present) -> Tensor:
        """Sum of bias and contributions of the present parents, [V, R, H]."""
        part = self.split(weights)
        total = part["bias"].expand(-1, len(rows), -1)
        if self.parents.real_pair.shape[1]:
            inputs = torch.cat([self.parents.values(rows) * present.reals, present.reals], 1)
            total = torch.baddbmm(total, inputs.transpose(1, 2), part["linear"])
        if self.parents.code_pair.shape[1]:
            total = total + self._table_sums(part["tables"], self.parents.table_rows(rows), present.codes)
        return total

    def contribution(self, weights: Tensor, rows: Rows, source: Source, slots: Tensor) -> Tensor:
        """e_ij(x_i) of the parents in some slots [V, W]: [V, W, R, H]."""
        part = self.split(weights)
        which = torch.arange(len(slots), device=slots.device).unsqueeze(1)
        if source == "codes":
            return part["tables"][which.unsqueeze(-1), self.parents.table_rows(rows)[which, slots]]
        w, u = part["linear"].chunk(2, 1)
        x = self.parents.values(rows)[which, slots].unsqueeze(-1)
        return torch.addcmul(u[which, slots].unsqueeze(2), x, w[which, slots].unsqueeze(2))

    def outputs(self, weights: Tensor, hidden: Tensor) -> Tensor:
        """LeakyReLU, further hidden layers, output layer."""
        part = self.split(weights)
        activation = leaky_relu(hidden, float(LEAK))
        for layer in range(self.n_layers - 1):
            activation = leaky_relu(
                torch.baddbmm(part["deep_bias"][:, layer], activation, part["deep"][:, layer]), float(LEAK)
            )
        return torch.baddbmm(part["output_bias"], activation, part["output"])

    def center(self, weights: Tensor, rows: Rows, counted: Tensor, probability: Tensor) -> None:
        """Give tables a zero mean over the rows, if the head wants it; see `centring`."""
        if self.head.centred:
            part = self.split(weights)
            center_tables(part["bias"], part["tables"], self.parents, rows, counted, probability)

    def _table_sums(self, tables: Tensor, index: Tensor, present: Tensor) -> Tensor:
        """Sum over slots of present[v, s, r] tables[v, index[v, s, r]], [V, R, H]."""
        count, n_slots, n_rows = index.shape
        first = torch.arange(count, device=index.device).mul_(tables.shape[1])[:, None, None]
        bags = (index + first).transpose(1, 2).reshape(-1, n_slots)
        sums = embedding_bag(
            bags,
            tables.reshape(-1, self.n_hidden),
            mode="sum",
            per_sample_weights=present.transpose(1, 2).reshape(-1, n_slots),
        )
        return sums.unflatten(0, (count, n_rows))
