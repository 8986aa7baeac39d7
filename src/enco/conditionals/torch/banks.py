"""Which variables are evaluated together."""

import numpy as np
import torch
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.torch.bank import Bank
from enco.conditionals.torch.custom import CustomNetwork
from enco.conditionals.torch.heads import CategoricalHead, Head, continuous_head
from enco.conditionals.torch.network import AdditiveNetwork, Network
from enco.conditionals.torch.parents import Parents
from enco.conditionals.torch.rows import Columns
from enco.conditionals.torch.settings import TorchSettings

__all__ = ["build_banks"]


def build_banks(
    candidates: Candidates, columns: Columns, settings: TorchSettings, most: int, rng: np.random.Generator
) -> list[Bank]:
    """Group the variables: same kind, at most `most` of them; each on its own if the user gave a module.

    Variables with about as many levels, then about as many parents, share a bank, because a bank is padded to its
    largest member.
    """
    n_parents = np.diff(candidates.start)
    banks = []
    for categorical in (True, False):
        members = np.flatnonzero((columns.n_levels > 0) == categorical)
        members = members[np.lexsort((members, n_parents[members], columns.n_levels[members]))]
        step = most if settings.network is None else 1
        for begin in range(0, len(members), step):
            variables = members[begin : begin + step]
            levels = torch.from_numpy(columns.n_levels[variables]).to(columns.device)
            head = CategoricalHead(levels) if categorical else continuous_head(settings.density)
            network = _network(candidates, variables, columns, head, settings, rng)
            banks.append(Bank.build(variables, network, rng=rng, device=columns.device))
    return banks


def _network(
    candidates: Candidates, variables: NDArray[np.int64], columns: Columns, head: Head, settings: TorchSettings,
    rng: np.random.Generator,
) -> Network:  # fmt: skip
    parents = Parents.build(candidates, variables.tolist(), columns)
    categorical = bool(columns.n_levels[variables[0]] > 0)
    if settings.network is None:
        return AdditiveNetwork(
            parents=parents,
            head=head,
            target_column=torch.from_numpy(columns.slot[variables]).to(columns.device),
            categorical=categorical,
            n_hidden=settings.hidden,
            n_layers=settings.layers,
        )
    return CustomNetwork(
        settings.network,
        parents,
        levels=columns.n_levels[candidates.cause[candidates.pairs_into(int(variables[0]))]],
        head=head,
        target_column=int(columns.slot[variables[0]]),
        categorical=categorical,
        columns=columns,
        seed=int(rng.integers(2**63)),
    )
