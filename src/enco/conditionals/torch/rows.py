"""Rows of a regime as tensors: level indices and standardised reals, on the device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enco.conditionals.continuous import Standardisation
from enco.data import InterventionalData, Regime

__all__ = ["Columns", "Rows"]


@dataclass(frozen=True)
class Rows:
    """A block of rows.

    Attributes
    ----------
    codes : uint8 or int32 [R, number of categorical columns]
    reals : float32 [R, number of continuous columns]
        Standardised and clipped.
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
    n_levels : int64 [N]
        0 for a continuous variable.
    slot : int64 [N]
        Position of each variable within the block of its kind.
    log_scale : float64 [N]
        Log of a unit of the standardised variable, in original units; 0 for a categorical or constant one.
    """

    def __init__(self, data: InterventionalData, column: NDArray[np.int64], device: torch.device) -> None:
        categorical = data.n_levels > 0
        self.n_levels = data.n_levels[column]
        self.slot = data.slots[column]
        self.standardisation = Standardisation.of(data)
        self.device = device
        scale = np.ones(len(categorical))
        scale[~categorical] = np.where(self.standardisation.scale > 0, self.standardisation.scale, 1.0)
        self.log_scale = np.log(scale)[column]

    def read(self, regime: Regime, rows: NDArray[np.int64]) -> Rows:
        """Rows of a regime, by position."""
        codes: NDArray[np.integer[Any]] = regime.codes[rows]
        if codes.dtype == np.uint16:  # PyTorch can do hardly anything with these
            codes = codes.astype(np.int32)
        reals = self.standardisation.apply(regime.reals[rows])
        return Rows(torch.from_numpy(codes).to(self.device), torch.from_numpy(reals).to(self.device))

    def join(self, rows: Rows, more: Sequence[tuple[Regime, NDArray[np.int64]]]) -> Rows:
        """Join rows with rows of regimes, which leave all variables but their targets free."""
        blocks = [rows, *(self.read(regime, those) for regime, those in more)]
        free = torch.ones((sum(map(len, blocks)), len(self.n_levels)), dtype=torch.bool, device=self.device)
        begin = len(rows)
        if rows.free is not None:
            free[:begin] = rows.free
        for (regime, _), block in zip(more, blocks[1:], strict=True):
            free[begin : begin + len(block), list(regime.targets)] = False
            begin += len(block)
        return Rows(torch.cat([block.codes for block in blocks]), torch.cat([block.reals for block in blocks]), free)
