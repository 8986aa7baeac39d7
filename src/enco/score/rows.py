"""The one split of the rows: every predictor that must not be judged on rows it has learned from uses these folds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime

__all__ = ["Sample"]

I64 = NDArray[np.int64]
Floats = NDArray[np.float64]

N_FOLDS = 3  # 2 leave too little to learn from where rows are few; more than 3 take longer and change no benchmark
MOST_ROWS = 30_000  # of the observational regime, and of all others together: more change no decision


@dataclass(frozen=True)
class Sample:
    """Rows of all regimes in one table, one regime after the other, as many as the budget allows.

    Which rows, and which fold each is in, depends on their places alone and is no part of a fit's randomness.

    Attributes
    ----------
    regimes : list of Regime
        Their rows that are here, with the targets.
    origin, fold : int64 [rows]
        Regime and fold of each row.
    weight : float64 [regimes]
        Rows of the regime that one of these stands for.
    free : bool [N, regimes]
        Whether the regime leaves the variable free.

    Examples
    --------
    >>> x = np.zeros((9, 1), np.uint8)
    >>> sample = Sample.of([Regime((), x, np.zeros((9, 0), np.float32))], 1)
    >>> np.bincount(sample.fold).tolist()
    [3, 3, 3]
    """

    regimes: list[Regime]
    origin: I64
    fold: I64
    weight: Floats
    free: NDArray[np.bool_]

    @classmethod
    def of(cls, regimes: Sequence[Regime], n_variables: int) -> "Sample":
        """Take all rows, or a fair share of what the budget allows of every regime."""
        rng = np.random.default_rng(0)
        taken, folds = [], []
        for regime in regimes:
            alike = sum(other.n_rows for other in regimes if bool(other.targets) == bool(regime.targets))
            count = int(np.ceil(regime.n_rows * min(1.0, MOST_ROWS / max(1, alike))))
            rows = np.sort(rng.permutation(regime.n_rows)[:count])
            taken.append(Regime(regime.targets, regime.codes[rows], regime.reals[rows]))
            folds.append(rng.permutation(count) % N_FOLDS)
        counts = np.array([regime.n_rows for regime in taken])
        return cls(
            taken,
            np.repeat(np.arange(len(regimes)), counts),
            np.concatenate(folds).astype(np.int64),
            np.array([regime.n_rows for regime in regimes]) / np.maximum(1, counts),
            ~np.array([np.isin(np.arange(n_variables), regime.targets) for regime in regimes]).T,
        )

    @cached_property
    def table(self) -> Regime:
        """All rows, without targets."""
        return Regime(
            (),
            np.concatenate([regime.codes for regime in self.regimes]),
            np.concatenate([regime.reals for regime in self.regimes]),
        )

    def learned(self, fold: int) -> list[tuple[Regime, I64]]:
        """Rows of each regime that are not in a fold."""
        return [(regime, np.flatnonzero(self.fold[self.origin == k] != fold)) for k, regime in enumerate(self.regimes)]

    def free_rows(self, variable: int) -> I64:
        """Rows that leave a variable free."""
        return np.flatnonzero(self.free[variable][self.origin])

    def by_regime(self, loss: NDArray[np.floating], rows: I64) -> Floats:
        """Sum over the rows of each regime; those that are here stand for all, [regimes]."""
        summed: Floats = np.bincount(self.origin[rows], loss, minlength=len(self.weight)) * self.weight
        return summed
