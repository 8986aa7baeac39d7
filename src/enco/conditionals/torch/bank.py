"""A bank: networks with the same head, their weights, their optimiser and their random stream."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enco.conditionals.torch.network import Network

__all__ = ["Bank", "row_chunk"]

# Temporary arrays of one thread. What is drawn and how sums round depends on it, so it does not depend on the threads.
BUDGET = 1 << 25  # bytes


@dataclass
class Bank:
    """Everything that V variables need in both stages.

    Attributes
    ----------
    variables : int64 [V]
        Which variables these are.
    network : Network
    weights, first, second : float32 [V, size]
        Weights and Adam moments.
    counters : int64 [V]
        Adam's step numbers.
    generator : torch.Generator
        Source of batches and sampled graphs.
    """

    variables: NDArray[np.int64]
    network: Network
    weights: Tensor
    first: Tensor
    second: Tensor
    counters: Tensor
    generator: torch.Generator

    @classmethod
    def build(
        cls, variables: NDArray[np.int64], network: Network, *, rng: np.random.Generator, device: torch.device
    ) -> "Bank":
        """Return a bank with weights and a random stream from `rng`."""
        weights = torch.from_numpy(network.initial_weights(rng)).to(device)
        generator = torch.Generator(device).manual_seed(int(rng.integers(2**63)))
        counters = torch.zeros(len(variables), dtype=torch.int64, device=device)
        return cls(
            variables, network, weights, torch.zeros_like(weights), torch.zeros_like(weights), counters, generator
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that changes (copies)."""
        arrays = {name: getattr(self, name).cpu().numpy().copy() for name in _STATE}
        return {**arrays, "generator": self.generator.get_state().numpy().copy()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from `state`."""
        for name in _STATE:
            getattr(self, name).copy_(torch.from_numpy(np.array(state[name])))
        self.generator.set_state(torch.from_numpy(np.array(state["generator"])))


_STATE = ("weights", "first", "second", "counters")


def row_chunk(network: Network, n_variables: int, toggles: int = 1) -> int:
    """Rows that many variables can evaluate at once within the memory budget, at least one."""
    return max(1, BUDGET // (4 * network.width * max(n_variables, 1) * toggles))
