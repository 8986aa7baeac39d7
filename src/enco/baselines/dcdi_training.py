"""The training loop of DCDI: networks and edge logits together, through Gumbel-sigmoid masks. Needs PyTorch."""

from math import log
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enco.baselines.dcdi import DCDISettings
from enco.baselines.lagrangian import Lagrangian
from enco.candidates import Candidates
from enco.conditionals.held_out import split_rows
from enco.conditionals.torch import DensityName, TorchSettings
from enco.conditionals.torch.bank import Bank
from enco.conditionals.torch.banks import build_banks
from enco.conditionals.torch.parents import Present
from enco.conditionals.torch.rows import Columns, Rows
from enco.conditionals.torch.threads import one_thread_each
from enco.data import InterventionalData

__all__ = ["Masks", "acyclicity", "train"]

Look = tuple[int, int, float, float, float]  # step, edges, held-out loss, h, mu

LARGEST_START = 0.6  # probability of an edge in the beginning


def train(
    data: InterventionalData, settings: DCDISettings, *, density: DensityName, seed: int
) -> tuple[NDArray[np.float64], list[Look]]:
    """Train until the constraint holds.

    Returns
    -------
    probability : float64 [N, N]
        Of every edge.
    history : list of (step, edges, loss, h, mu)
        One entry per look.
    """
    with one_thread_each():
        return _Training(data, settings, density=density, seed=seed).run()


class Masks:
    """The logits of all edges, and graphs drawn from them.

    Parameters
    ----------
    candidates : Candidates
    probability : float
        Of every edge in the beginning.
    generator : torch.Generator

    Attributes
    ----------
    logits : float32 [P]

    Examples
    --------
    >>> masks = Masks(Candidates.all_pairs(2), 0.5, torch.Generator().manual_seed(0))
    >>> masks.draw(2).shape, masks.probability()[0, 1].item()
    (torch.Size([3, 2]), 0.5)
    """

    def __init__(self, candidates: Candidates, probability: float, generator: torch.Generator) -> None:
        self.logits = torch.full((candidates.n_pairs,), log(probability / (1 - probability)), requires_grad=True)
        self._cause, self._effect = torch.from_numpy(candidates.cause), torch.from_numpy(candidates.effect)
        self._n_variables = candidates.n_variables
        self._generator = generator

    def draw(self, n_rows: int) -> Tensor:
        """One graph per row, 0 or 1, [P + 1, R]; the last pair is padding and never there.

        Forward, a mask is whether logit + noise > 0 with logistic noise, so it is 1 with the edge's probability;
        backward, it is sigmoid(logit + noise).
        """
        uniform = torch.rand((len(self.logits), n_rows), generator=self._generator).clamp(1e-6, 1 - 1e-6)
        soft = torch.sigmoid(self.logits.unsqueeze(1) + torch.logit(uniform))
        hard = (soft > 0.5).float() + (soft - soft.detach())
        return torch.cat([hard, torch.zeros((1, n_rows))])

    def probability(self) -> Tensor:
        """Probability of every edge, [N, N]; row = cause."""
        dense = torch.zeros((self._n_variables, self._n_variables))
        return dense.index_put((self._cause, self._effect), torch.sigmoid(self.logits))


def acyclicity(probability: Tensor) -> tuple[float, Tensor]:
    """H = trace(exp(A)) - N and its gradient exp(A)^T.

    Examples
    --------
    >>> h, _ = acyclicity(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    >>> h
    0.0
    >>> h, _ = acyclicity(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    >>> round(h, 3)  # e + 1/e - 2
    1.086
    """
    exponential = torch.matrix_exp(probability.detach().double())
    return max(float(exponential.trace()) - len(probability), 0.0), exponential.T


class _Training:
    def __init__(self, data: InterventionalData, settings: DCDISettings, *, density: DensityName, seed: int) -> None:
        self.settings = settings
        candidates = Candidates.all_pairs(data.n_variables)
        columns = Columns(data, np.arange(data.n_variables), torch.device("cpu"))
        hidden = settings.hidden if data.n_levels.any() else settings.continuous_hidden
        networks = TorchSettings(hidden=hidden, layers=settings.layers, density=density)
        rng = np.random.default_rng([seed, 4])
        self.banks = build_banks(candidates, columns, networks, data.n_variables, rng)
        regimes = [(regime, np.arange(regime.n_rows)) for regime in data.regimes]
        rows = columns.join(columns.read(regimes[0][0], regimes[0][1]), regimes[1:])
        train, held = split_rows(len(rows), settings.held_out, rng)
        self.rows, self.held = rows.take(torch.from_numpy(train)), rows.take(torch.from_numpy(held))
        self.generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        probability = min(LARGEST_START, settings.parents / (data.n_variables - 1))
        self.masks = Masks(candidates, probability, self.generator)
        self.lagrangian = Lagrangian(mu=settings.mu, tolerance=settings.tolerance)

    def run(self) -> tuple[NDArray[np.float64], list[Look]]:
        history: list[Look] = []
        optimiser = self._optimiser()
        for step in range(1, self.settings.max_steps + 1):
            self._step(optimiser)
            if step % self.settings.window:
                continue
            with torch.no_grad():
                probability = self.masks.probability()
                h = acyclicity(probability)[0]
                loss = float(self._loss(self.held) + self._sparsity(probability))
            history.append((step, int((probability > 0.5).sum()), loss, h, self.lagrangian.mu))
            if h < self.settings.constraint:
                break
            if self.lagrangian.look(loss, h):
                optimiser = self._optimiser()
        return self.masks.probability().detach().double().numpy(), history

    def _optimiser(self) -> torch.optim.Optimizer:
        for bank in self.banks:
            bank.weights.requires_grad_(True)
        networks: dict[str, Any] = {
            "params": [bank.weights for bank in self.banks],
            "lr": self.settings.learning_rate,
            "weight_decay": self.settings.weight_decay / self._n_variables,  # as the loss is a mean over variables
        }
        edges: dict[str, Any] = {"params": [self.masks.logits], "lr": self.settings.logit_rate}
        return torch.optim.Adam([networks, edges], fused=True)

    def _step(self, optimiser: torch.optim.Optimizer) -> None:
        batch = min(self.settings.batch, len(self.rows))
        rows = self.rows.take(torch.randint(len(self.rows), (batch,), generator=self.generator))
        probability = self.masks.probability()
        h, gradient = acyclicity(probability)
        constraint = ((self.lagrangian.slope(h) * gradient).float() * probability).sum()
        optimiser.zero_grad()
        (self._loss(rows) + self._sparsity(probability) + constraint).backward()
        optimiser.step()

    def _loss(self, rows: Rows) -> Tensor:
        """Mean over variables of the loss of the rows that leave them free, one graph per row."""
        masks = self.masks.draw(len(rows))
        return torch.stack([self._bank_loss(bank, rows, masks) for bank in self.banks]).sum() / self._n_variables

    @property
    def _n_variables(self) -> int:
        return sum(len(bank.variables) for bank in self.banks)

    def _sparsity(self, probability: Tensor) -> Tensor:
        return self.settings.sparsity / self._n_variables**2 * probability.sum()

    def _bank_loss(self, bank: Bank, rows: Rows, masks: Tensor) -> Tensor:
        network = bank.network
        present = Present(masks[network.parents.code_pair], masks[network.parents.real_pair])
        outputs = network.outputs(bank.weights, network.hidden(bank.weights, rows, present))
        loss = network.head.loss(outputs, network.target(rows))
        free = rows.weights(torch.from_numpy(bank.variables))
        return (loss * free).sum() / len(rows)
