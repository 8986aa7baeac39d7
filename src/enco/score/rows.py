"""The one split of the rows: every predictor that must not be judged on rows it has learned from uses these folds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime

__all__ = ["Fold", "Sample", "folds_of"]

I64 = NDArray[np.int64]

N_FOLDS = 3  # 2 leave a half to learn from; more than 3 take longer and change no benchmark
MOST_ROWS = 30_000  # of the observational regime, and of all others together: more change no decision


@dataclass(frozen=True)
class Fold:
    """Rows of all regimes, one regime after the other.

    Attributes
    ----------
    learned : list of (Regime, int64 [rows])
        The other folds, to learn from.
    judged : Regime
        This fold's rows, in one table without targets.
    origin : int64 [rows]
        The regime of each judged row.
    """

    learned: list[tuple[Regime, I64]]
    judged: Regime
    origin: I64


@dataclass(frozen=True)
class Sample:
    """The rows of all folds in one table, one regime after the other.

    Attributes
    ----------
    codes, reals : [rows, columns]
    origin : int64 [rows]
        The regime of each row.
    weight : float64 [regimes]
        Rows of the regime that one of these stands for.
    free : bool [N, regimes]
        Whether the regime leaves the variable free.
    """

    codes: NDArray[np.integer]
    reals: NDArray[np.floating]
    origin: I64
    weight: NDArray[np.float64]
    free: NDArray[np.bool_]

    @classmethod
    def of(cls, regimes: Sequence[Regime], n_variables: int) -> "Sample":
        """Take all rows, or those that the budget allows."""
        rng = np.random.default_rng(0)
        rows = [np.sort(_share(regime, regimes, rng)) for regime in regimes]
        table = _joined(regimes, rows)
        counts = np.array([len(some) for some in rows])
        return cls(
            np.asfortranarray(table.codes),
            np.asfortranarray(table.reals),
            np.repeat(np.arange(len(regimes)), counts),
            np.array([regime.n_rows for regime in regimes]) / np.maximum(1, counts),
            ~np.array([np.isin(np.arange(n_variables), regime.targets) for regime in regimes]).T,
        )

    def free_rows(self, variable: int) -> I64:
        """Rows that leave a variable free."""
        return np.flatnonzero(self.free[variable][self.origin])

    def by_regime(self, loss: NDArray[np.float64], rows: I64) -> NDArray[np.float64]:
        """Sum over the rows of each regime; those that are here stand for all, [regimes]."""
        summed: NDArray[np.float64] = np.bincount(self.origin[rows], loss, minlength=len(self.weight)) * self.weight
        return summed


def folds_of(regimes: Sequence[Regime]) -> list[Fold]:
    """Split the rows of every regime, or a fair share of what the budget allows, into folds.

    Which fold a row is in depends on its place alone and is no part of a fit's randomness.

    Examples
    --------
    >>> x = np.zeros((9, 1), np.uint8)
    >>> first, *others = folds_of([Regime((), x, np.zeros((9, 0), np.float32))])
    >>> len(others), len(first.origin), len(first.learned[0][1])
    (2, 3, 6)
    """
    rng = np.random.default_rng(0)
    parts = [np.array_split(_share(regime, regimes, rng), N_FOLDS) for regime in regimes]
    return [
        Fold(
            [
                (regime, np.sort(np.concatenate([part for k, part in enumerate(own) if k != fold])))
                for regime, own in zip(regimes, parts, strict=True)
            ],
            _joined(regimes, [np.sort(own[fold]) for own in parts]),
            np.repeat(np.arange(len(regimes)), [len(own[fold]) for own in parts]),
        )
        for fold in range(N_FOLDS)
    ]


def _share(regime: Regime, regimes: Sequence[Regime], rng: np.random.Generator) -> I64:
    alike = sum(other.n_rows for other in regimes if bool(other.targets) == bool(regime.targets))
    count = int(np.ceil(regime.n_rows * min(1.0, MOST_ROWS / max(1, alike))))
    return rng.permutation(regime.n_rows)[:count]


def _joined(regimes: Sequence[Regime], rows: Sequence[I64]) -> Regime:
    return Regime(
        (),
        np.concatenate([regime.codes[some] for regime, some in zip(regimes, rows, strict=True)]),
        np.concatenate([regime.reals[some] for regime, some in zip(regimes, rows, strict=True)]),
    )
