"""The rows that networks train on, laid out so that reading some columns of many rows is quick."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.fused.effects import Table
from enco.conditionals.held_out import split_rows
from enco.data import Regime

__all__ = ["TrainingRows"]

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class TrainingRows:
    """Rows of some regimes, one column after the other in memory.

    A network reads its candidate parents only, a few columns of many; the data have one row after the other, often on
    disk.

    Attributes
    ----------
    codes, reals : [R, columns]
    regime : int64 [R]
        Which regime each row is from.
    targeted : bool [regimes, N]
    train, held : int64
        Rows to train on, and rows that decide when to stop.
    """

    codes: NDArray[np.generic]
    reals: NDArray[np.float32]
    regime: Rows
    targeted: NDArray[np.bool_]
    train: Rows
    held: Rows

    @classmethod
    def of(
        cls, rows: Sequence[tuple[Regime, Rows]], n_variables: int, held_out: float, rng: np.random.Generator
    ) -> "TrainingRows":
        """Take rows out of regimes and set some of each aside."""
        train, held, first = [], [], 0
        for _, those in rows:
            learned, kept = split_rows(len(those), held_out, rng)
            train.append(first + learned)
            held.append(first + kept)
            first += len(those)
        return cls(
            codes=np.asfortranarray(np.concatenate([regime.codes[those] for regime, those in rows])),
            reals=np.asfortranarray(np.concatenate([regime.reals[those] for regime, those in rows])),
            regime=np.repeat(np.arange(len(rows)), [len(those) for _, those in rows]),
            targeted=~np.array([regime.free(np.arange(n_variables)) for regime, _ in rows]),
            train=np.concatenate(train),
            held=np.concatenate(held),
        )

    def repeated(self, times: int) -> "TrainingRows":
        """Count every row several times."""
        return replace(self, train=np.repeat(self.train, times), held=np.repeat(self.held, times))

    def table(self, columns: Table) -> Table:
        """Show the rows as the kernels read them; `columns` says how to read each variable."""
        return columns._replace(codes=self.codes, reals=self.reals)

    def free(self, j: int) -> tuple[Rows, Rows]:
        """Rows to train on and rows held out, without those that intervene on variable j."""
        if not self.targeted[:, j].any():
            return self.train, self.held
        free = ~self.targeted[self.regime, j]
        return self.train[free[self.train]], self.held[free[self.held]]
