"""The candidate parents of some variables as index tensors, and graphs sampled over them.

Each variable has a row of *slots*, one per candidate parent; parents with levels and parents that are numbers have
slots of their own. Rows are padded to the longest one: the pair of a padding slot is P, one past the last pair, and its
probability is 0, so that it is never present.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enco.candidates import Candidates
from enco.conditionals.torch.rows import Columns, Rows

__all__ = ["SOURCES", "Parents", "Present", "Source"]

Source = Literal["codes", "reals"]  # block of `Rows` in which the values of a parent are found
SOURCES: tuple[Source, Source] = ("codes", "reals")


@dataclass(frozen=True)
class Present:
    """Which parents are there: 1.0 or 0.0 for each variable, slot and row.

    Attributes
    ----------
    codes, reals : float32 [V, slots of parents found there, R]
    """

    codes: Tensor
    reals: Tensor

    def of(self, source: Source) -> Tensor:
        """Presence of the parents found in one block."""
        return self.codes if source == "codes" else self.reals

    def select(self, index: Tensor) -> "Present":
        """Presence of the parents of some of the variables."""
        return Present(self.codes[index], self.reals[index])


@dataclass(frozen=True)
class Parents:
    """Slots of V variables.

    Attributes
    ----------
    code_pair, real_pair : int64 [V, slots]
        Candidate pair of each slot; P for padding.
    code_column, real_column : int64 [V, slots]
        Where the parent is found in `Rows.codes` or `Rows.reals`.
    code_row : int64 [V, slots]
        First row of the parent's table; a table has a row per level.
    n_rows : int
        Table rows of the variable that has the most.
    """

    code_pair: Tensor
    code_column: Tensor
    code_row: Tensor
    n_rows: int
    real_pair: Tensor
    real_column: Tensor

    @classmethod
    def build(cls, candidates: Candidates, variables: Sequence[int], columns: Columns) -> "Parents":
        """Collect the slots of some variables."""
        codes, reals, rows, total = [], [], [], 0
        numeric, n_rows = columns.heads.numeric.view(bool), columns.heads.n_rows
        for variable in variables:
            pairs = np.arange(candidates.n_pairs)[candidates.pairs_into(variable)]
            causes = candidates.cause[pairs]
            levels = n_rows[causes[~numeric[causes]]]
            codes.append(pairs[~numeric[causes]])
            reals.append(pairs[numeric[causes]])
            rows.append(np.cumsum(levels) - levels)
            total = max(total, int(levels.sum()))
        # Padding reads the first variable of its block. Its values count for nothing, but they decide in which order
        # gradients are added up, so it must be the same variable whatever the order of the columns.
        slot = columns.slot
        code_place, real_place = (np.append(slot[candidates.cause], slot[same][:1]) for same in (~numeric, numeric))
        code_pair, real_pair = (_pad(slots, candidates.n_pairs) for slots in (codes, reals))
        return cls(
            code_pair=torch.from_numpy(code_pair).to(columns.device),
            code_column=torch.from_numpy(code_place[code_pair]).to(columns.device),
            code_row=torch.from_numpy(_pad(rows, 0)).to(columns.device),
            n_rows=total,
            real_pair=torch.from_numpy(real_pair).to(columns.device),
            real_column=torch.from_numpy(real_place[real_pair]).to(columns.device),
        )

    def select(self, index: Tensor) -> "Parents":
        """Return the slots of some of the variables."""
        return Parents(
            code_pair=self.code_pair[index],
            code_column=self.code_column[index],
            code_row=self.code_row[index],
            n_rows=self.n_rows,
            real_pair=self.real_pair[index],
            real_column=self.real_column[index],
        )

    def pairs(self, source: Source) -> Tensor:
        """Candidate pair of each slot of the parents found in one block."""
        return self.code_pair if source == "codes" else self.real_pair

    def table_rows(self, rows: Rows) -> Tensor:
        """Row of the tables that each categorical parent asks for, int64 [V, slots, R]."""
        return rows.codes.T[self.code_column].long() + self.code_row.unsqueeze(-1)

    def values(self, rows: Rows) -> Tensor:
        """Values of the continuous parents, [V, slots, R]."""
        return rows.reals.T[self.real_column]

    def sample(self, probability: Tensor, n_rows: int, generator: torch.Generator) -> Present:
        """One graph per variable and row: a parent is there with the probability [P + 1] of its pair."""
        drawn = [
            torch.rand((*pair.shape, n_rows), generator=generator, device=pair.device) < probability[pair].unsqueeze(-1)
            for pair in (self.code_pair, self.real_pair)
        ]
        return Present(drawn[0].float(), drawn[1].float())

    def given(self, graphs: Tensor, n_rows: int) -> Present:
        """Graphs [G, P + 1], each over `n_rows` rows: the rows of the first graph, then those of the second, ..."""
        codes, reals = (
            graphs[:, pair].permute(1, 2, 0).float().repeat_interleave(n_rows, -1)
            for pair in (self.code_pair, self.real_pair)
        )
        return Present(codes, reals)


def _pad(lists: Sequence[NDArray[np.int64]], fill: int) -> NDArray[np.int64]:
    padded = np.full((len(lists), max(map(len, lists), default=0)), fill, np.int64)
    for row, entries in zip(padded, lists, strict=True):
        row[: len(entries)] = entries
    return padded
