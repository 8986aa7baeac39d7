"""The networks of DCDI-DSF: those of the PyTorch engine, whose heads are flows. Needs PyTorch."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enco.candidates import Candidates
from enco.conditionals.held_out import split_rows
from enco.conditionals.torch import TorchSettings
from enco.conditionals.torch.bank import Bank
from enco.conditionals.torch.banks import build_banks
from enco.conditionals.torch.parents import Present
from enco.conditionals.torch.rows import Columns, Rows
from enco.conditionals.torch.threads import one_thread_each
from enco.data import InterventionalData

if TYPE_CHECKING:
    from enco.baselines.dcdi import DCDISettings

__all__ = ["FlowNetworks"]

Floats = NDArray[np.float64]


class FlowNetworks:
    """Networks of continuous variables with deep sigmoidal flows.

    Parameters
    ----------
    data : InterventionalData
    candidates : Candidates
    settings : DCDISettings
    seed : int
    """

    def __init__(
        self, data: InterventionalData, candidates: Candidates, settings: "DCDISettings", *, seed: int
    ) -> None:
        self._settings = settings
        columns = Columns(data, np.arange(data.n_variables), torch.device("cpu"))
        networks = TorchSettings(hidden=settings.continuous_hidden, layers=1, density="dsf")
        rng = np.random.default_rng([seed, 4])
        self._banks = build_banks(candidates, columns, networks, data.n_variables, rng)
        self._n_variables = data.n_variables
        for bank in self._banks:
            bank.weights.requires_grad_(True)
        regimes = [(regime, np.arange(regime.n_rows)) for regime in data.regimes]
        rows = columns.join([], regimes)
        train, held = split_rows(len(rows), settings.held_out, rng)
        self._train, self._held = rows.take(torch.from_numpy(train)), rows.take(torch.from_numpy(held))
        self._generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        self.restart()

    def restart(self) -> None:
        """Forget Adam's moments."""
        networks: dict[str, Any] = {
            "params": [bank.weights for bank in self._banks],
            "lr": self._settings.learning_rate,
            "weight_decay": self._settings.weight_decay / self._n_variables,  # as the loss is a mean over variables
        }
        self._optimiser = torch.optim.Adam([networks], fused=True)

    def step(self, logits: Floats) -> Floats:
        """Take a step on a batch of rows; the gradient of its loss by the logits of the edges, [P]."""
        batch = min(self._settings.batch, len(self._train))
        rows = self._train.take(torch.randint(len(self._train), (batch,), generator=self._generator))
        edges = torch.tensor(logits, dtype=torch.float32, requires_grad=True)
        self._optimiser.zero_grad()
        with one_thread_each():
            self._loss(rows, edges).backward()
            self._optimiser.step()
        assert edges.grad is not None
        gradient: Floats = edges.grad.double().numpy()
        return gradient

    def held_out_loss(self, logits: Floats) -> float:
        """Loss of rows that networks do not learn from."""
        with torch.no_grad(), one_thread_each():
            return float(self._loss(self._held, torch.tensor(logits, dtype=torch.float32)))

    def _loss(self, rows: Rows, logits: Tensor) -> Tensor:
        """Mean over variables of the loss of the rows that leave them free, one graph per row."""
        masks = draw_masks(logits, len(rows), self._generator)
        return torch.stack([_bank_loss(bank, rows, masks) for bank in self._banks]).sum() / self._n_variables


def draw_masks(logits: Tensor, n_rows: int, generator: torch.Generator) -> Tensor:
    """One graph per row, 0 or 1, [P + 1, R]; the last pair is padding and never there.

    Forward, a mask is whether logit + noise > 0 with logistic noise, so it is 1 with the edge's probability; backward,
    it is sigmoid(logit + noise).

    Examples
    --------
    >>> draw_masks(torch.zeros(2), 5, torch.Generator().manual_seed(0)).shape
    torch.Size([3, 5])
    """
    uniform = torch.rand((len(logits), n_rows), generator=generator).clamp(1e-6, 1 - 1e-6)
    soft = torch.sigmoid(logits.unsqueeze(1) + torch.logit(uniform))
    hard = (soft > 0.5).float() + (soft - soft.detach())
    return torch.cat([hard, torch.zeros((1, n_rows))])


def _bank_loss(bank: Bank, rows: Rows, masks: Tensor) -> Tensor:
    network = bank.network
    present = Present(masks[network.parents.code_pair], masks[network.parents.real_pair])
    outputs = network.outputs(bank.weights, network.hidden(bank.weights, rows, present))
    loss = network.head.loss(outputs, network.target(rows))
    free = rows.weights(torch.from_numpy(bank.variables))
    return (loss * free).sum() / len(rows)
