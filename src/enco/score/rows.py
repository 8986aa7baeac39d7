"""The one split of the rows: every predictor that must not be judged on rows it has learned from uses these folds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime

__all__ = ["Sample"]

I64 = NDArray[np.int64]
Floats = NDArray[np.float64]

N_FOLDS = 3  # 2 leave too little to learn from where rows are few; more than 3 take longer and change no benchmark
MOST_ROWS = 30_000  # of the observational regime, and of all others together: more change no decision


class SoftRows(NamedTuple):
    """Rows of a regime that has hit a variable in some of them."""

    rows: I64
    share: float
    own: Floats


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
    soft : dict
        For each variable that regimes have hit in some of their rows only: the rows of those regimes, the share, and
        the loss of each row by a distribution of the regime's own. See `with_soft`.

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
    soft: dict[int, list[SoftRows]] = field(default_factory=dict)

    @classmethod
    def of(cls, regimes: Sequence[Regime], n_variables: int) -> "Sample":
        """Take all rows, or a fair share of what the budget allows of every regime."""
        rng = np.random.default_rng(0)
        taken, folds = [], []
        for regime in regimes:
            alike = sum(other.n_rows for other in regimes if bool(other.targets) == bool(regime.targets))
            count = int(np.ceil(regime.n_rows * min(1.0, MOST_ROWS / max(1, alike))))
            rows = np.sort(rng.permutation(regime.n_rows)[:count])
            taken.append(regime.taking(rows))
            folds.append(rng.permutation(count) % N_FOLDS)
        counts = np.array([regime.n_rows for regime in taken])
        return cls(
            taken,
            np.repeat(np.arange(len(regimes)), counts),
            np.concatenate(folds).astype(np.int64),
            np.array([regime.n_rows for regime in regimes]) / np.maximum(1, counts),
            np.array([regime.free(np.arange(n_variables)) for regime in regimes]).T,
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

    def with_soft(self, variable: int, regime: int, share: float, own: Floats) -> "Sample":
        """Let rows that intervene on a variable count for it as well, as a mixture.

        A share of them follows a distribution of their own, the others their parents: their loss is

            -log(share exp(-own) + (1 - share) exp(-loss given the parents)).

        They are judged, and never learned from.
        """
        rows = np.flatnonzero(self.origin == regime)
        more = {**self.soft, variable: [*self.soft.get(variable, []), SoftRows(rows, share, own)]}
        return replace(self, soft=more)

    def judged_rows(self, variable: int) -> I64:
        """Rows that count for a variable: those that leave it free, and those that hit it in part."""
        return np.concatenate([self.free_rows(variable), *(part.rows for part in self.soft.get(variable, []))])

    def mixed(self, variable: int, loss: NDArray[np.floating], rows: I64) -> NDArray[np.floating]:
        """Put the loss of the mixture in the place of that given the parents, where there is one, [..., rows]."""
        for part in self.soft.get(variable, []):
            where = np.flatnonzero(np.isin(rows, part.rows))
            own = part.own[np.searchsorted(part.rows, rows[where])]
            with np.errstate(divide="ignore"):  # a share of 0 leaves the loss as it is
                loss[..., where] = -np.logaddexp(np.log(part.share) - own, np.log1p(-part.share) - loss[..., where])
        return loss

    def by_regime(self, loss: NDArray[np.floating], rows: I64) -> Floats:
        """Sum over the rows of each regime; those that are here stand for all, [regimes]."""
        summed: Floats = np.bincount(self.origin[rows], loss, minlength=len(self.weight)) * self.weight
        return summed
