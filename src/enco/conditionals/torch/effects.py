"""Edge effects, losses of graphs and residuals of a bank.

`paired_effects` is what graph fitting lives on: for each row one sampled graph, and for every wanted parent the loss
with and without that parent, the rest of the graph unchanged (the bracket of Eq. 3 and Eq. 4). Because the first layer
is a sum, a toggle is one addition and one pass through the rest of the network. Toggles and rows are evaluated in
chunks, so that memory stays bounded.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enco.conditionals.torch.bank import Bank, row_chunk
from enco.conditionals.torch.network import Network
from enco.conditionals.torch.parents import SOURCES, Present, Source
from enco.conditionals.torch.rows import Rows

__all__ = ["graph_losses", "paired_effects", "residuals", "row_losses"]

_LEAST_ROWS = 64  # evaluated at once as long as the budget allows any choice: products of fewer rows are slow


@torch.no_grad()
def paired_effects(
    bank: Bank, rows: Rows, probability: Tensor, wanted: Tensor, free: Tensor, effect: NDArray[np.float64]
) -> None:
    """Mean paired edge effect of every wanted pair into a free variable of the bank, over all rows.

    Parameters
    ----------
    bank : Bank
        Its random stream advances.
    rows : Rows
    probability : float32 [P + 1]
        Of each edge; the last entry is 0 and belongs to the padding.
    wanted : bool [P + 1]
        Pairs to evaluate; the last entry is False.
    free : bool [V]
        Variables that are not targets of the intervention.
    effect : float64 [P]
        Written in place, only where wanted.
    """
    pairs = {source: bank.network.parents.pairs(source) for source in SOURCES}
    asked = torch.stack([wanted[pair].any(1) for pair in pairs.values()]).any(0)
    index = (free & asked).nonzero().squeeze(1)
    if not len(index):
        return
    network, weights = bank.network.select(index), bank.weights[index]
    chosen = {source: _wanted_slots(wanted[pairs[source][index]]) for source in SOURCES}
    total = {source: torch.zeros(slots.shape, dtype=torch.float64) for source, slots in chosen.items()}
    chunk = max(_LEAST_ROWS, row_chunk(network, len(index), toggles=max(slots.shape[1] for slots in chosen.values())))
    chunk = min(chunk, row_chunk(network, len(index)))
    for begin in range(0, len(rows), chunk):
        block = rows.take(slice(begin, begin + chunk))
        present = network.parents.sample(probability, len(block), bank.generator)
        hidden = network.hidden(weights, block, present)
        base = network.head.loss(network.outputs(weights, hidden), network.target(block))
        at_once = max(1, row_chunk(network, len(index)) // len(block))
        for source, slots in chosen.items():
            for first in range(0, slots.shape[1], at_once):
                part = slice(first, first + at_once)
                difference = _toggled(network, weights, block, present, hidden, base, source, slots[:, part])
                total[source][:, part] += difference.cpu()
    for source, slots in chosen.items():
        pair = network.parents.pairs(source).gather(1, slots)
        # Variables with fewer wanted parents than others have unwanted slots at the end of their row.
        kept = wanted[pair].cpu()
        effect[pair.cpu()[kept].numpy()] = (total[source][kept] / len(rows)).numpy()


@torch.no_grad()
def graph_losses(bank: Bank, rows: Rows, graphs: Tensor, mean_loss: NDArray[np.float64]) -> None:
    """Mean loss over all rows under each of G graphs shared by all rows (the paper's estimator, Algorithm 1).

    Parameters
    ----------
    bank : Bank
    rows : Rows
    graphs : bool [G, P + 1]
        The last column is False.
    mean_loss : float64 [G, N]
        The columns of the bank's variables are written in place.
    """
    network, weights = bank.network, bank.weights
    chunk = row_chunk(network, len(weights))
    at_once = max(1, chunk // max(len(rows), 1))
    for first in range(0, len(graphs), at_once):
        some = graphs[first : first + at_once]
        total = torch.zeros((len(weights), len(some)), dtype=torch.float64, device=weights.device)
        for begin in range(0, len(rows), chunk):
            block = rows.take(slice(begin, begin + chunk))
            y = network.target(block).unsqueeze(1)
            present = network.parents.given(some, len(block))
            outputs = network.outputs(weights, network.hidden(weights, block.repeat(len(some)), present))
            loss = network.head.loss(outputs.unflatten(1, (len(some), len(block))), y)
            total += loss.sum(-1, dtype=torch.float64)
        mean_loss[first : first + len(some), bank.variables] = (total / len(rows)).T.cpu().numpy()


@torch.no_grad()
def row_losses(bank: Bank, place: int, rows: Rows, graphs: Tensor) -> NDArray[np.float32]:
    """Loss of each row of one variable under each of G graphs, float32 [G, R].

    Parameters
    ----------
    bank : Bank
    place : int
        Of the variable in the bank.
    rows : Rows
    graphs : bool [G, P + 1]
        The last column is False.
    """
    index = torch.tensor([place], device=bank.weights.device)
    network, weights = bank.network.select(index), bank.weights[index]
    loss = np.empty((len(graphs), len(rows)), np.float32)
    for begin in range(0, len(rows), chunk := row_chunk(network, 1)):
        block = rows.take(slice(begin, begin + chunk))
        at_once = max(1, chunk // len(block))
        for first in range(0, len(graphs), at_once):
            some = graphs[first : first + at_once]
            present = network.parents.given(some, len(block))
            outputs = network.outputs(weights, network.hidden(weights, block.repeat(len(some)), present))
            found = network.head.loss(outputs.unflatten(1, (len(some), len(block))), network.target(block).unsqueeze(1))
            loss[first : first + len(some), begin : begin + len(block)] = found[0].cpu().numpy()
    return loss


@torch.no_grad()
def residuals(bank: Bank, rows: Rows, graph: Tensor) -> Tensor:
    """Return what is left unexplained of each row by its parents, [V, R, *]; see `TorchHead.residuals`.

    Parameters
    ----------
    bank : Bank
    rows : Rows
    graph : bool [P + 1]
        Parents of each variable; the last entry is False.
    """
    network, weights = bank.network, bank.weights
    parts = []
    for begin in range(0, len(rows), chunk := row_chunk(network, len(weights))):
        block = rows.take(slice(begin, begin + chunk))
        present = network.parents.given(graph[None], len(block))
        parameters = network.outputs(weights, network.hidden(weights, block, present))
        parts.append(network.head.residuals(parameters, network.target(block)))
    return torch.cat(parts, 1)


def _toggled(
    network: Network, weights: Tensor, rows: Rows, present: Present, hidden: Tensor, base: Tensor, source: Source,
    slots: Tensor,
) -> Tensor:  # fmt: skip
    """Sum over rows of (loss with the parent - loss without it), for the parents in slots [V, W]; float64 [V, W]."""
    there = present.of(source).gather(1, slots.unsqueeze(-1).expand(-1, -1, len(rows)))
    sign = 1.0 - 2.0 * there  # a present parent is taken away, an absent one is added
    toggled = torch.addcmul(hidden.unsqueeze(1), sign.unsqueeze(-1), network.contribution(weights, rows, source, slots))
    outputs = network.outputs(weights, toggled.flatten(1, 2)).unflatten(1, toggled.shape[1:3])
    loss = network.head.loss(outputs, network.target(rows).unsqueeze(1))
    return (sign * (loss - base.unsqueeze(1))).sum(-1, dtype=torch.float64)


def _wanted_slots(wanted: Tensor) -> Tensor:
    """Put the wanted slots of each variable first, int64 [V, most wanted slots of a variable]."""
    most = int(wanted.sum(1).max()) if wanted.shape[1] else 0
    return wanted.int().argsort(dim=1, descending=True, stable=True)[:, :most]
