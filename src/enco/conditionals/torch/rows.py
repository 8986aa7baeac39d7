"""Rows of a regime as tensors: level indices and numbers as `Reading` says, on the device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enco.conditionals.reading import Reading
from enco.data import InterventionalData, Regime

__all__ = ["Columns", "Rows"]


@dataclass(frozen=True)
class Rows:
    """A block of rows.

    Attributes
    ----------
    codes : uint8 or int32 [R, number of categorical columns]
    reals : float32 [R, number of continuous columns]
        As `Reading` says.
    free : bool [R, N], optional
        Variables that each row may train: those that were not intervened on; all by default.
    """

    codes: Tensor
    reals: Tensor
    free: Tensor | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, which: Tensor | slice) -> "Rows":
        """Return some of the rows, by position."""
        return Rows(self.codes[which], self.reals[which], None if self.free is None else self.free[which])

    def weights(self, variables: Tensor) -> Tensor:
        """Return 1 for rows that may train a variable and 0 for others, float32 [V, R] or, if all may, [1, 1]."""
        if self.free is None:
            return torch.ones((1, 1), device=self.codes.device)
        return self.free[:, variables].T.to(torch.float32)

    def repeat(self, times: int) -> "Rows":
        """All rows, then all rows again, ..."""
        return Rows(self.codes.repeat(times, 1), self.reals.repeat(times, 1))


class Columns:
    """Where each variable is found in the blocks of a regime.

    Parameters
    ----------
    data : InterventionalData
    column : int64 [N]
        Column of `data` that holds each variable.
    device : torch.device

    Attributes
    ----------
    heads : VariableHeads
    slot : int64 [N]
        Position of each variable within the block of its kind.
    log_scale : float64 [N]
        Log of a unit of the standardised variable, in original units; 0 for a categorical or constant one.
    """

    def __init__(self, data: InterventionalData, column: NDArray[np.int64], device: torch.device) -> None:
        self._reading = Reading.of(data, column)
        self.heads, self.slot, self.log_scale = self._reading.heads, self._reading.slot, self._reading.log_scale
        self.device = device

    def read(self, regime: Regime, rows: NDArray[np.int64]) -> Rows:
        """Rows of a regime, by position."""
        codes: NDArray[np.integer[Any]] = regime.codes[rows]
        if codes.dtype == np.uint16:  # PyTorch can do hardly anything with these
            codes = codes.astype(np.int32)
        reals = self._reading.numbers(regime, rows)
        return Rows(torch.from_numpy(codes).to(self.device), torch.from_numpy(reals).to(self.device))

    def join(self, blocks: Sequence[Rows], more: Sequence[tuple[Regime, NDArray[np.int64]]]) -> Rows:
        """Join blocks of rows with rows of regimes, which leave all variables but their targets free."""
        free = [_all_free(block, len(self.heads)) if block.free is None else block.free for block in blocks]
        read = [self.read(regime, those) for regime, those in more]
        for (regime, _), block in zip(more, read, strict=True):
            free.append(_all_free(block, len(self.heads)))
            free[-1][:, list(regime.targets)] = False
        whole = [*blocks, *read]
        return Rows(
            torch.cat([block.codes for block in whole]), torch.cat([block.reals for block in whole]), torch.cat(free)
        )


def _all_free(rows: Rows, n_variables: int) -> Tensor:
    return torch.ones((len(rows), n_variables), dtype=torch.bool, device=rows.codes.device)
