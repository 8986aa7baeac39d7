"""Distribution fitting of a bank (Eq. 1): Adam on observational rows, parents dropped at random.

Rows held out from training decide, for each variable on its own, when to stop and which weights to keep: flows overfit.
Variables that have stopped leave the batch, so that the last ones train alone and fast.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enco.conditionals.torch.bank import Bank, row_chunk
from enco.conditionals.torch.rows import Rows
from enco.conditionals.torch.settings import TorchSettings

__all__ = ["adam", "fit_bank", "held_out_losses"]


def fit_bank(
    bank: Bank,
    train: Rows,
    held: Rows,
    probability: Tensor,
    steps: int,
    settings: TorchSettings,
    chosen: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Train the variables of a bank for at most `steps` steps.

    Parameters
    ----------
    bank : Bank
        Changed in place.
    train, held : Rows
    probability : float32 [P + 1]
        Of each parent; the last entry is 0 and belongs to the padding.
    steps : int
    settings : TorchSettings
    chosen : int64
        Positions in the bank of the variables to train.

    Returns
    -------
    held_out_loss : float64 [V]
        Of the weights kept.
    taken : int64 [V]
        Steps of each variable.
    """
    # The same graphs at every check of this stage: differences between checks are then differences of weights.
    held_seed = int(torch.randint(2**62, (), generator=bank.generator, device=bank.weights.device))
    best_loss = held_out_losses(bank, bank.weights, held, probability, held_seed)
    best = bank.weights.clone()
    fruitless = torch.zeros_like(bank.counters)
    taken = torch.zeros_like(bank.counters)
    work = _Work(bank, torch.from_numpy(chosen).to(bank.weights.device))
    step = 0
    while step < steps and len(work.index):
        work.step(train, probability, settings)
        step += 1
        work.average.lerp_(work.weights.detach(), 1.0 / min(step, settings.averaged))
        stops_early = settings.held_out > 0
        if step < steps and (step % settings.check_every or not stops_early):
            continue
        now, index = held_out_losses(bank, work.average, held, probability, held_seed, work.index), work.index
        better = (now < best_loss[index]) | (not stops_early)
        best[index[better]] = work.average[better]
        best_loss[index[better]] = now[better]
        fruitless[index] = torch.where(better, 0, fruitless[index] + 1)
        taken[index] = step
        remaining = fruitless[index] < settings.patience
        if step == steps or not remaining.all():
            work.write_back()
            average = work.average[remaining]
            work = _Work(bank, index[remaining])
            work.average = average
    bank.weights.copy_(best)
    index = torch.from_numpy(chosen).to(bank.weights.device)
    trained = bank.weights[index]
    variables = torch.from_numpy(bank.variables).to(index.device)[index]
    if settings.centred:
        bank.network.select(index).center(trained, train, train.weights(variables), probability)
    bank.weights[index] = trained
    return best_loss.cpu().numpy(), taken.cpu().numpy()


def held_out_losses(
    bank: Bank, weights: Tensor, rows: Rows, probability: Tensor, seed: int, index: Tensor | None = None
) -> Tensor:
    """Mean loss float64 over all rows, one sampled graph per row; the seed fixes the graphs of every variable.

    Parameters
    ----------
    bank : Bank
    weights : float32 [len(index), size]
    rows : Rows
    probability : float32 [P + 1]
    seed : int
    index : int64, optional
        Which of the variables are evaluated; all by default.
    """
    index = torch.arange(len(weights), device=weights.device) if index is None else index
    generator = torch.Generator(weights.device).manual_seed(seed)
    network, variables = bank.network, torch.from_numpy(bank.variables).to(weights.device)[index]
    some = network.select(index)
    counted = torch.zeros(len(index), dtype=torch.float64, device=weights.device)
    total = torch.zeros(len(index), dtype=torch.float64, device=weights.device)
    chunk = row_chunk(network, len(network.parents.code_pair))
    with torch.no_grad():
        for begin in range(0, len(rows), chunk):
            block = rows.take(slice(begin, begin + chunk))
            # Graphs of all variables, although only some are wanted: those left must see what they saw before.
            present = network.parents.sample(probability, len(block), generator).select(index)
            outputs = some.outputs(weights, some.hidden(weights, block, present))
            loss = some.head.loss(outputs, some.target(block))
            weight = block.weights(variables).expand_as(loss)
            total += (loss * weight).sum(-1, dtype=torch.float64)
            counted += weight.sum(-1, dtype=torch.float64)
    return total / counted.clamp(min=1.0)


def adam(
    weights: Tensor, gradient: Tensor, first: Tensor, second: Tensor, counters: Tensor, settings: TorchSettings
) -> None:
    """One Adam step (betas 0.9, 0.999; the decay is part of the gradient) in place; each variable counts its own steps.

    Parameters
    ----------
    weights, gradient, first, second : float32 [V, size]
    counters : int64 [V]
        Step numbers, from 1.
    settings : TorchSettings
    """
    number = counters.double().unsqueeze(1)
    correction1, correction2 = 1.0 - 0.9**number, (1.0 - 0.999**number).sqrt()
    rate = (settings.learning_rate * correction2 / correction1).float()
    g = torch.add(gradient, weights, alpha=settings.weight_decay)
    first.lerp_(g, 0.1)
    second.mul_(0.999).addcmul_(g, g, value=0.001)
    weights.sub_(first.div(second.sqrt().add_((1e-8 * correction2).float())).mul_(rate))


class _Work:
    """Copies of what the variables still in training need, next to each other in memory."""

    def __init__(self, bank: Bank, index: Tensor) -> None:
        self.bank, self.index = bank, index
        self.network = bank.network.select(index)
        self.variables = torch.from_numpy(bank.variables).to(index.device)[index]
        self.weights = bank.weights[index].requires_grad_()
        self.average = bank.weights[index].clone()  # over the last steps
        self.first, self.second, self.counters = bank.first[index], bank.second[index], bank.counters[index]

    def step(self, train: Rows, probability: Tensor, settings: TorchSettings) -> None:
        """One step on a batch of rows, drawn with replacement, with one sampled graph per row and variable."""
        batch = min(settings.batch, len(train))
        generator, device = self.bank.generator, self.weights.device
        rows = train.take(torch.randint(len(train), (batch,), generator=generator, device=device))
        present = self.network.parents.sample(probability, batch, generator)
        outputs = self.network.outputs(self.weights, self.network.hidden(self.weights, rows, present))
        # A sum over variables: their weights are separate, so each gets the gradient of its own mean loss.
        each = self.network.head.loss(outputs, self.network.target(rows))
        weight = rows.weights(self.variables).expand_as(each)
        loss = ((each * weight).sum(-1) / weight.sum(-1).clamp(min=1.0)).sum()
        (gradient,) = torch.autograd.grad(loss, self.weights)
        with torch.no_grad():
            self.counters += 1
            adam(self.weights, gradient, self.first, self.second, self.counters, settings)

    def write_back(self) -> None:
        """Put weights, moments and counters where the bank keeps them."""
        with torch.no_grad():
            for name in ("weights", "first", "second", "counters"):
                getattr(self.bank, name)[self.index] = getattr(self, name).detach()
