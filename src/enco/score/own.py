"""Losses by a mechanism of their own: how a variable is explained in a regime that intervenes on it.

A perfect intervention cuts a target off from its parents: it follows one distribution. A soft one leaves the parents
and changes the mechanism. What it follows is estimated from the rows of the regime alone, each predicted from the
others:

- one distribution, whatever the parents (`own_losses`);
- categorical, with categorical parents: counts for each configuration, smoothed by that distribution;
- categorical: the usual mechanism, tilted, p(x | parents) exp(t_x) up to a factor, which costs a nat for each free t_x;
- continuous: a linear function of the parents, or of the usual mechanism's mean, with normal noise.

A mechanism that does not depend on the parents *is* a perfect intervention, so that the best of them may answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from scipy.stats import t as student

from enco.data import Regime
from enco.score.base import Parents
from enco.score.counts import STRENGTHS, corrected, renumbered

__all__ = ["OwnLosses", "OwnMechanism", "at_every_level", "losses_of_others", "own_losses", "tilted_losses"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]

STEPS = 25  # of Newton's method; a tilt needs less than ten
RIDGE = 1e-6  # keeps the normal equations solvable where parents are functions of each other


class OwnLosses:
    """The loss of every variable in every regime by one distribution of its own, computed when it is asked for.

    Parameters
    ----------
    origin : int64 [rows]
        Regime of each row, one after the other.
    weight : float64 [regimes]
        Rows that each one stands for.
    columns : sequence of arrays [rows]
        Values of each variable as its predictor sees them: codes, or standardised numbers.
    """

    def __init__(self, origin: I64, weight: Floats, columns: Sequence[NDArray[Any]]) -> None:
        ends = np.searchsorted(origin, np.arange(len(weight) + 1))
        self._rows = [slice(int(first), int(last)) for first, last in pairwise(ends)]
        self._weight, self._columns = weight, columns
        self._known: dict[tuple[int, int], float] = {}

    def __call__(self, regime: int, variable: int) -> float:
        """Sum over the rows of a regime, nats."""
        if (regime, variable) not in self._known:
            losses = own_losses(self._columns[variable][self._rows[regime]])
            self._known[regime, variable] = float(losses.sum() * self._weight[regime])
        return self._known[regime, variable]

    def ratios(self, regime: int, variable: int, losses: Floats) -> tuple[Floats, Floats]:
        """Log-likelihood ratios of the own distribution and a mechanism, [rows of the regime] and [observational rows].

        Parameters
        ----------
        regime, variable : int
        losses : float64 [rows]
            By the mechanism, of all rows.
        """
        here, elsewhere = self._rows[regime], self._rows[0]
        values = self._columns[variable]
        own = own_losses(values[here]), losses_of_others(values[elsewhere], values[here])
        return losses[here] - own[0], losses[elsewhere] - own[1]


@dataclass(frozen=True)
class OwnMechanism:
    """What a target follows in a regime that intervenes on it, if it may keep its parents.

    Attributes
    ----------
    target : int
    rows : int64 [rows]
        Those of the regime, among all.
    columns : sequence of arrays [rows]
        Values of all variables in them: codes, or standardised numbers.
    levels : int64 [N]
        Categories of each variable, 0 for a continuous one.
    table : Regime
        The same rows as networks read them.
    slot : int
        Column of the target among the codes or reals.
    """

    target: int
    rows: I64
    columns: Sequence[NDArray[Any]]
    levels: I64
    table: Regime
    slot: int
    _known: dict[Parents, Floats | None] = field(default_factory=dict, repr=False)

    @cached_property
    def marginal(self) -> Floats:
        """Losses by one distribution, [rows]."""
        return own_losses(self.columns[self.target])

    def marginal_of(self, values: NDArray[Any]) -> Floats:
        """Losses of other values of the target by that distribution, [values]."""
        return losses_of_others(values, self.columns[self.target])

    @cached_property
    def every_level(self) -> Regime:
        """The rows with the target at each of its levels in turn, [rows * levels]."""
        return at_every_level(self.table, self.slot, int(self.levels[self.target]))

    def given(self, parents: Parents) -> Floats | None:
        """Losses by a mechanism of the parents that the rows of the regime alone have taught, [rows], or None."""
        if parents not in self._known:
            self._known[parents] = self._given(sorted(parents))
        return self._known[parents]

    def of_parents(self, parents: Parents, usual: NDArray[np.floating[Any]] | None) -> list[Floats]:
        """Losses by each mechanism of the parents that a soft intervention may have left, [rows] each.

        Parameters
        ----------
        parents : frozenset
        usual : float [rows, levels] or [rows, 1], optional
            What the usual mechanism says of the target: log-probabilities of its levels, or its mean, which a soft
            intervention tilts or moves.
        """
        given = self.given(parents)
        found = [] if given is None else [given]
        if usual is not None and parents:
            y, categorical = self.columns[self.target], self.levels[self.target] > 0
            found.append(tilted_losses(usual, y) if categorical else own_losses(y, usual.astype(np.float64)))
        return found

    def _given(self, parents: Sequence[int]) -> Floats | None:
        y, n = self.columns[self.target], int(self.levels[self.target])
        if not parents or len(y) < 4:
            return None
        if not n:
            features = [self._features(parent) for parent in parents]
            return own_losses(y, np.concatenate(features, axis=1))
        if not all(self.levels[parents]):
            return None
        configuration, count = np.zeros(len(y), np.int64), 1
        for parent in parents:
            width = int(self.levels[parent])
            configuration, count = renumbered(configuration * width + self.columns[parent], count * width)
        loss = self.marginal.astype(np.float32)
        corrected(loss, configuration, count, y.astype(np.int64), n, STRENGTHS, np.ones(len(y), np.float32))
        return loss.astype(np.float64)

    def _features(self, parent: int) -> Floats:
        column, n_levels = self.columns[parent], int(self.levels[parent])
        if not n_levels:
            return column.astype(np.float64)[:, None]
        indicators: Floats = (column[:, None] == np.arange(1, n_levels)).astype(np.float64)
        return indicators


def at_every_level(regime: Regime, slot: int, n_levels: int) -> Regime:
    """Return the rows with a categorical variable at each of its levels in turn, [rows * levels]."""
    codes = np.array(np.repeat(regime.codes, n_levels, axis=0))
    codes[:, slot] = np.tile(np.arange(n_levels), regime.n_rows)
    return Regime((), codes, np.repeat(regime.reals, n_levels, axis=0))


def tilted_losses(log_usual: NDArray[np.floating[Any]], values: NDArray[np.integer[Any]]) -> Floats:
    """Losses of codes by a mechanism whose probabilities are multiplied by a factor for each level, [rows].

    Parameters
    ----------
    log_usual : float64 [rows, levels]
        Log-probabilities by the usual mechanism.
    values : int [rows]

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> usual = np.log(rng.dirichlet(np.ones(3), size=2000))
    >>> tilt = np.exp(usual + [1.0, 0.0, -1.0])
    >>> exact = np.log(tilt / tilt.sum(axis=1, keepdims=True))
    >>> values = (rng.random(2000)[:, None] > np.exp(exact).cumsum(axis=1)).sum(axis=1)
    >>> abs(tilted_losses(usual, values).sum() + exact[np.arange(2000), values].sum()) < 3.0
    np.True_
    """
    log_usual = np.asarray(log_usual, np.float64)
    rows, n = log_usual.shape
    present = np.bincount(values, minlength=n)
    tilt, wanted = np.zeros(n), present + 0.5  # half a row at every level: none is impossible
    for _ in range(STEPS):
        log_p = log_usual + tilt
        p = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
        gap = wanted - p.sum(axis=0) * (1 + 0.5 * n / rows)
        curvature = np.diag(p.sum(axis=0) + 0.5) - p.T @ p
        step = np.linalg.solve(curvature + RIDGE * np.eye(n), gap)
        tilt += np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-6:
            break
    log_p = log_usual + tilt
    losses: Floats = logsumexp(log_p, axis=1) - log_p[np.arange(rows), values]
    losses += (np.count_nonzero(present) - 1) / rows
    return losses


def losses_of_others(values: NDArray[Any], learned: NDArray[Any]) -> Floats:
    """Losses of values by the distribution that other values have taught, nats; see `own_losses`."""
    if learned.dtype.kind == "f":
        x = learned.astype(np.float64)
        spread = float(x.std(ddof=1)) + RIDGE
        scaled = (values.astype(np.float64) - float(x.mean())) / spread
        return np.asarray(np.log(spread) - student.logpdf(scaled, len(x) - 2))
    count = np.bincount(learned, minlength=int(values.max()) + 1) + 0.5
    return np.asarray(np.log(count.sum()) - np.log(count[values]))


def own_losses(values: NDArray[np.generic], features: Floats | None = None) -> Floats:
    """Losses of values by a distribution of their own, each predicted from all others, nats.

    Codes by their frequencies, real numbers by Student's distribution, which a normal one of unknown mean and variance
    predicts; the mean may be a linear function of features [rows, k], with n - k - 2 degrees of freedom,

        x_i | others ~ t(prediction from the others, variance left by them / (1 - leverage_i)).

    Examples
    --------
    >>> own_losses(np.zeros(100, np.uint8)).sum().round(1), own_losses(np.arange(100.0) / 29.0).mean().round(1)
    (np.float64(0.0), np.float64(1.4))
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> bool(own_losses(2 * x[:, 0], x).mean() < own_losses(2 * x[:, 0]).mean() - 3)
    True
    """
    n = len(values)
    k = 0 if features is None else features.shape[1]
    if n < 4 + k:
        return np.full(n, np.inf)
    if values.dtype.kind != "f":
        count = np.bincount(values)
        smoothed = (count - 0.5) / (n - 1 + 0.5 * np.count_nonzero(count))
        counted: Floats = -np.log(smoothed[values])
        return counted
    x = values.astype(np.float64)
    if features is None:
        leverage = np.full(n, 1 / n)
        residual = x - x.mean()
    else:
        design = np.column_stack([np.ones(n), features - features.mean(axis=0)])
        inverse = np.linalg.inv(design.T @ design + RIDGE * n * np.eye(k + 1))
        leverage = np.minimum(np.einsum("ij,jk,ik->i", design, inverse, design), 1 - 1e-6)
        residual = x - design @ (inverse @ (design.T @ x))
    freedom = n - k - 2
    left = residual / (1 - leverage)  # of each row, predicted from the others
    variance = np.maximum((residual @ residual - residual * left) / freedom, 1e-12)
    spread = variance / (1 - leverage)
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * np.log(freedom * np.pi)
    density = -0.5 * np.log(spread) - (freedom + 1) / 2 * np.log1p(left**2 / (spread * freedom))
    losses: Floats = -constant - density
    return losses
