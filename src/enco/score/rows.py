"""The one split of the rows: every predictor that must not be judged on rows it has learned from uses these folds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime
from enco.score.base import Parents
from enco.score.own import OwnMechanism

__all__ = ["Sample"]

I64 = NDArray[np.int64]
Floats = NDArray[np.float64]

N_FOLDS = 3  # 2 leave too little to learn from where rows are few; more than 3 take longer and change no benchmark
MOST_ROWS = 30_000  # of the observational regime, and of all others together: more change no decision


class SoftRows(NamedTuple):
    """Rows of a regime that intervenes on a variable, and may have left it some of its usual mechanism.

    Attributes
    ----------
    rows : int64 [k]
    share : float
        Of them, that follow one distribution whatever the parents.
    mechanism : OwnMechanism
    keeps_parents : bool
        Whether they may follow a mechanism of the parents that is their own.
    """

    rows: I64
    share: float
    mechanism: OwnMechanism
    keeps_parents: bool

    def losses(self, parents: Parents, usual: Floats, told: NDArray[np.floating] | None = None) -> Floats:
        """Losses by the best explanation, [k].

        Parameters
        ----------
        parents : frozenset
        usual : float64 [k]
            Losses by the usual mechanism, given them.
        told : float [k, levels] or [k, 1], optional
            What it says: log-probabilities of a categorical variable, the mean of a continuous one.
        """
        own, share = self.mechanism.marginal, self.share
        with np.errstate(divide="ignore"):  # a share of 0 leaves the loss as it is
            mixture = -np.logaddexp(np.log(share) - own, np.log1p(-share) - usual)
        explanations = [mixture]
        if self.keeps_parents:
            explanations += [own] if share < 1 else []
            explanations += self.mechanism.of_parents(parents, told)
        return min(explanations, key=lambda losses: float(losses.sum()))


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
        For each variable that regimes have left some of its usual mechanism: the rows of those regimes. See
        `with_soft`.

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
            taken.append(part := regime.taking(rows))
            _, source = (None, slice(None)) if part.source is None else np.unique(part.source, return_inverse=True)
            folds.append((rng.permutation(count) % N_FOLDS)[source])  # copies of one row in one fold
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

    @cached_property
    def copies(self) -> NDArray[np.float32]:
        """How often the row that each is was drawn, [rows]; 1 where rows are not drawn from others."""
        counts = [
            np.ones(regime.n_rows, np.int64) if regime.source is None else np.bincount(regime.source)[regime.source]
            for regime in self.regimes
        ]
        return np.concatenate(counts).astype(np.float32)

    def learned(self, fold: int) -> list[tuple[Regime, I64]]:
        """Rows of each regime that are not in a fold."""
        return [(regime, np.flatnonzero(self.fold[self.origin == k] != fold)) for k, regime in enumerate(self.regimes)]

    def free_rows(self, variable: int) -> I64:
        """Rows that leave a variable free."""
        return np.flatnonzero(self.free[variable][self.origin])

    def with_soft(self, mechanism: OwnMechanism, share: float, *, keeps_parents: bool) -> "Sample":
        """Let rows that intervene on a variable count for it as well: as a mixture, or by a mechanism of their own.

        A share of them follows a distribution of their own, the others their parents: their loss is

            -log(share exp(-own) + (1 - share) exp(-loss given the parents)),

        or, if they may keep their parents, that of `OwnMechanism` where it is less. They are judged, and never learned
        from.
        """
        part = SoftRows(mechanism.rows, share, mechanism, keeps_parents)
        variable = mechanism.target
        return replace(self, soft={**self.soft, variable: [*self.soft.get(variable, []), part]})

    def judged_rows(self, variable: int) -> I64:
        """Rows that count for a variable: those that leave it free, and those that intervene on it softly."""
        return np.concatenate([self.free_rows(variable), *(part.rows for part in self.soft.get(variable, []))])

    def softened(
        self,
        variable: int,
        parents: Parents,
        loss: NDArray[np.floating],
        rows: I64,
        told: Sequence[NDArray[np.floating] | None] = (),
    ) -> None:
        """Put the best explanation in the place of the usual one, where rows intervene on a variable softly.

        Parameters
        ----------
        variable : int
        parents : frozenset
        loss : float [k]
            Of each row given these parents, by the usual mechanism; is changed.
        rows : int64 [k]
            With all rows of each such regime.
        told : sequence of float [rows, levels], [rows, 1] or None, optional
            What the usual mechanism says in the rows of each such regime, see `SoftRows.losses`.
        """
        for part, said in zip_longest(self.soft.get(variable, []), told):
            where = np.flatnonzero(np.isin(rows, part.rows))
            where = where[np.argsort(rows[where])]  # in the order of the part
            loss[where] = part.losses(parents, loss[where].astype(np.float64), said)

    def by_regime(self, loss: NDArray[np.floating], rows: I64) -> Floats:
        """Sum over the rows of each regime; those that are here stand for all, [regimes]."""
        summed: Floats = np.bincount(self.origin[rows], loss, minlength=len(self.weight)) * self.weight
        return summed
