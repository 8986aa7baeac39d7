"""Heads: what the outputs of a network say about its variable. One file per kind of variable; both engines use them.

To add a head, write a file with its class (`base.Head` is the contract) and put an instance of it into `HEADS`. Its
position there is the code by which kernels know it. Of several heads for one kind of variable, the last one counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.heads.base import Head, chained
from enco.conditionals.heads.categorical import CategoricalHead
from enco.conditionals.heads.gaussian import GaussianHead
from enco.data import AnyKind

__all__ = ["HEADS", "Head", "VariableHeads", "losses"]

HEADS: tuple[Head, ...] = (
    CategoricalHead(),
    GaussianHead(),
)

losses = chained(HEADS)
"""Kernel (head, logits, y, loss, rows, differentiate): `Head.losses` of the head with that code."""

_CODES: dict[AnyKind, int] = {head.kind: code for code, head in enumerate(HEADS)}


@dataclass(frozen=True)
class VariableHeads:
    """The heads of N variables.

    Attributes
    ----------
    n_levels : int64 [N]
        0 for a number.
    code : int64 [N]
        Position in `HEADS`.

    Examples
    --------
    >>> heads = VariableHeads.of(["categorical", "continuous"], np.array([3, 0]))
    >>> heads[1].name, heads.n_outputs.tolist(), heads.numeric.tolist()
    ('gaussian', [3, 2], [0, 1])
    """

    n_levels: NDArray[np.int64]
    code: NDArray[np.int64]

    @classmethod
    def of(cls, kinds: Sequence[AnyKind], n_levels: NDArray[np.int64]) -> "VariableHeads":
        """Return the heads of variables of these kinds."""
        return cls(np.asarray(n_levels, np.int64), np.array([_CODES[kind] for kind in kinds], np.int64))

    def __getitem__(self, variable: int) -> Head:
        return HEADS[int(self.code[variable])]

    def __len__(self) -> int:
        return len(self.code)

    @property
    def numeric(self) -> NDArray[np.uint8]:
        """Whether each variable is a number, uint8 [N]."""
        return np.array([head.numeric for head in HEADS], np.uint8)[self.code]

    @property
    def standardised(self) -> NDArray[np.bool_]:
        """Whether each variable is centred and scaled, [N]."""
        return np.array([head.standardised for head in HEADS], np.bool_)[self.code]

    @property
    def logarithmic(self) -> NDArray[np.uint8]:
        """Whether the logarithm of each variable is read, uint8 [N]."""
        return np.array([head.logarithmic for head in HEADS], np.uint8)[self.code]

    @property
    def n_outputs(self) -> NDArray[np.int64]:
        """Outputs of the network of each variable, [N]."""
        return self._numbers("n_outputs")

    @property
    def n_residuals(self) -> NDArray[np.int64]:
        """How many of the outputs have a residual, [N]."""
        return self._numbers("n_residuals")

    @property
    def n_rows(self) -> NDArray[np.int64]:
        """Rows of weights that each variable has as a parent, [N]."""
        return self._numbers("n_rows")

    def _numbers(self, what: str) -> NDArray[np.int64]:
        pairs = zip(self.code.tolist(), self.n_levels.tolist(), strict=True)
        return np.array([getattr(HEADS[code], what)(levels) for code, levels in pairs], np.int64)
