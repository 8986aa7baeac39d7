"""Which variables are evaluated together."""

import numpy as np
import torch
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.heads import HEADS
from enco.conditionals.torch.bank import Bank
from enco.conditionals.torch.custom import CustomNetwork
from enco.conditionals.torch.heads import TorchHead, torch_head
from enco.conditionals.torch.network import AdditiveNetwork, Network
from enco.conditionals.torch.parents import Parents
from enco.conditionals.torch.rows import Columns
from enco.conditionals.torch.settings import TorchSettings

__all__ = ["build_banks"]


def build_banks(
    candidates: Candidates, columns: Columns, settings: TorchSettings, most: int, rng: np.random.Generator
) -> list[Bank]:
    """Group the variables: same head, at most `most` of them; each on its own if the user gave a module.

    Variables with about as many levels, then about as many parents, share a bank, because a bank is padded to its
    largest member.
    """
    n_parents, heads = np.diff(candidates.start), columns.heads
    banks = []
    for code, head in enumerate(HEADS):
        members = np.flatnonzero(heads.code == code)
        members = members[np.lexsort((members, n_parents[members], heads.n_levels[members]))]
        step = most if settings.network is None else 1
        for begin in range(0, len(members), step):
            variables = members[begin : begin + step]
            levels = torch.from_numpy(heads.n_levels[variables]).to(columns.device)
            network = _network(
                candidates, variables, columns, torch_head(head, levels, settings.density), settings, rng
            )
            banks.append(Bank.build(variables, network, rng=rng, device=columns.device))
    return banks


def _network(
    candidates: Candidates, variables: NDArray[np.int64], columns: Columns, head: TorchHead, settings: TorchSettings,
    rng: np.random.Generator,
) -> Network:  # fmt: skip
    parents = Parents.build(candidates, variables.tolist(), columns)
    if settings.network is None:
        return AdditiveNetwork(
            parents=parents,
            head=head,
            target_column=torch.from_numpy(columns.slot[variables]).to(columns.device),
            n_hidden=settings.hidden,
            n_layers=settings.layers,
        )
    return CustomNetwork(
        settings.network,
        parents,
        causes=candidates.cause[candidates.pairs_into(int(variables[0]))],
        head=head,
        target_column=int(columns.slot[variables[0]]),
        columns=columns,
        seed=int(rng.integers(2**63)),
    )
