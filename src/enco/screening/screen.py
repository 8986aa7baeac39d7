"""Candidate screening: keep the pairs (i, j) for which some regime speaks.

If X_i causes X_j, then X_j depends on X_i where X_i itself was set: nothing else can make them dependent there, so
that this one test also leaves out common causes and reversed edges. Three rules, in this order:

1. X_i was intervened on: keep (i, j) if they are dependent in those rows, at a false-discovery rate of `RATE`. The rate
   is generous: a kept pair costs a little time, a lost one cannot come back.
2. X_i was intervened on, but in few rows (fewer than `DECISIVE` per degree of freedom, `DECISIVE_REALS` if it is
   continuous: an intervention may set it to a small part of its range): a weak effect may go unseen, so the `STRONGEST`
   observational associations of every X_j are kept as well. Between continuous variables these are of two kinds, of the
   pair by itself and given all other continuous ones (partial correlation of ranks), where a cause that is one of many
   shows.
3. X_i was never intervened on: keep (i, j) if they are dependent in the observational rows, at the same rate.

What is assumed: a cause shows in its effect by itself. A parent that matters only together with another one (as in an
exclusive or of fair coins) passes no test of pairs, and is lost. Without screening no pair is ever left out.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, rankdata

from enco.data import InterventionalData, Regime
from enco.screening.association import BINS, Floats, association, levels_of
from enco.settings import CandidateRule

__all__ = ["SCREEN_ABOVE", "Screening", "rule_for", "screen"]

Mask = NDArray[np.bool_]

SCREEN_ABOVE = 75  # variables, if the user leaves the choice to us: beyond, all pairs take minutes

RATE = 0.2  # share of the kept pairs that may be there by chance
DECISIVE = 20  # rows per degree of freedom above which the regime of a cause has the last word
DECISIVE_REALS = 200
STRONGEST = 20  # observational associations kept for every effect otherwise ...
RIDGE = 1e-6
LEAST_SIGNIFICANCE = 1e-3  # ... if they are significant at all
SCREENED_ROWS = 10_000  # of one regime


@dataclass(frozen=True)
class Screening:
    """What a screening has kept, and how it was decided.

    Attributes
    ----------
    keep : bool [N, N]
        Pairs worth a parameter, row = cause.
    decisive, weak, observational : int
        Causes judged by rule 1 alone, by rules 1 and 2, and by rule 3.
    """

    keep: Mask
    decisive: int
    weak: int
    observational: int

    @property
    def n_pairs(self) -> int:
        """Pairs kept."""
        return int(np.count_nonzero(self.keep))


def rule_for(rule: CandidateRule, n_variables: int, *, latent: bool = False) -> CandidateRule:
    """Say what "auto" means for so many variables.

    Never to screen where latent confounders are looked for: screening removes just the pairs that have one.

    Examples
    --------
    >>> rule_for("auto", 25), rule_for("auto", 1000), rule_for("all", 1000), rule_for("auto", 1000, latent=True)
    ('all', 'screen', 'all', 'all')
    """
    if rule != "auto":
        return rule
    return "screen" if n_variables > SCREEN_ABOVE and not latent else "all"


def screen(data: InterventionalData, *, n_jobs: int = 1) -> Screening:
    """Test every pair of variables for dependence and keep those that may be edges.

    Parameters
    ----------
    data : InterventionalData
    n_jobs : int
        Threads; the answer does not depend on it.

    Examples
    --------
    >>> from enco import simulate
    >>> rng = np.random.default_rng(0)
    >>> model = simulate.categorical("chain", 20, rng, categories=3)
    >>> screening = screen(model.dataset(2000, 500, rng=rng))
    >>> bool((screening.keep | ~model.adjacency.astype(bool)).all()), screening.n_pairs < 190
    (True, True)
    """
    n = data.n_variables
    width = np.where(data.is_categorical, data.n_levels, BINS).astype(np.int64)
    statistic, freedom, rows = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)

    def test_targets(regime: Regime) -> None:
        levels = levels_of(data, regime, SCREENED_ROWS)
        for target in regime.targets:
            association(levels, width, target, 0, statistic[target], freedom[target])
            rows[target] += len(levels)

    with ThreadPoolExecutor(n_jobs) as pool:
        # Regimes that share a target add to the same row: one thread each.
        for apart in _without_common_targets(data.interventional):
            list(pool.map(test_targets, apart))
        intervened = rows > 0
        keep = np.zeros((n, n), bool)
        keep[intervened] = _discoveries(_p_values(statistic[intervened], freedom[intervened]))
        least_rows = np.where(data.is_categorical, DECISIVE, DECISIVE_REALS) * freedom.max(axis=1, initial=0.0)
        decisive = intervened & (rows >= least_rows)
        if not decisive.all():
            strength, seen = _observational(data, width, pool)
            keep[~intervened] = _discoveries(seen[~intervened])
            strongest = _strongest(strength, seen) | _strongest(*_partial_correlations(data))
            keep[intervened & ~decisive] |= strongest[intervened & ~decisive]
    np.fill_diagonal(keep, False)
    return Screening(keep, int(decisive.sum()), int((intervened & ~decisive).sum()), int((~intervened).sum()))


def _observational(
    data: InterventionalData, width: NDArray[np.int64], pool: ThreadPoolExecutor
) -> tuple[Floats, Floats]:
    """Excess of X^2 per row over what chance gives, and p-values, of every pair in the observational rows, [N, N]."""
    n = data.n_variables
    statistic, freedom = np.zeros((n, n)), np.zeros((n, n))
    levels = levels_of(data, data.observational, SCREENED_ROWS)

    def test_later(i: int) -> None:
        association(levels, width, i, i + 1, statistic[i], freedom[i])

    list(pool.map(test_later, range(n)))
    statistic, freedom = statistic + statistic.T, freedom + freedom.T
    return (statistic - freedom) / max(1, len(levels)), _p_values(statistic, freedom)


def _partial_correlations(data: InterventionalData) -> tuple[Floats, Floats]:
    """Size and p-value of the partial correlation of every two continuous variables given all others, by ranks, [N, N].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.cumsum(rng.normal(size=(500, 3)), axis=1)  # a chain
    >>> size, p = _partial_correlations(InterventionalData.from_environments([x], [None]))
    >>> (p < 1e-3).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    n = data.n_variables
    size, p = np.zeros((n, n)), np.ones((n, n))
    every = max(1, -(-data.observational.n_rows // SCREENED_ROWS))
    values = np.asarray(data.observational.reals[::every])
    varies = np.ptp(values, axis=0) > 0 if len(values) else np.zeros(values.shape[1], bool)
    ranks = rankdata(values[:, varies], axis=0)
    if ranks.shape[1] < 2 or len(ranks) < 4:
        return size, p
    correlation = np.corrcoef(ranks, rowvar=False)
    # Fewer rows than variables, or two copies, must not make it singular.
    precision = np.linalg.inv(correlation + RIDGE * np.eye(len(correlation)))
    scale = np.sqrt(np.diag(precision))
    partial = -precision / np.outer(scale, scale)
    np.fill_diagonal(partial, 0.0)
    freedom = max(1, len(ranks) - len(partial) - 1)
    columns = np.flatnonzero(data.is_continuous)[varies]
    place = np.ix_(columns, columns)
    size[place] = np.abs(partial)
    p[place] = chi2.sf(freedom * np.arctanh(np.clip(partial, -0.999999, 0.999999)) ** 2, 1)
    np.fill_diagonal(p, 1.0)
    return size, p


def _p_values(statistic: Floats, freedom: Floats) -> Floats:
    return np.where(freedom > 0, chi2.sf(statistic, np.maximum(freedom, 1)), 1.0)


def _discoveries(p: Floats) -> Mask:
    """Benjamini and Hochberg: the largest set of tests whose expected share of false alarms is at most `RATE`."""
    ascending = np.sort(p, axis=None)
    below = np.flatnonzero(ascending <= RATE * np.arange(1, p.size + 1) / max(1, p.size))
    return p <= (ascending[below[-1]] if len(below) else -1.0)


def _strongest(strength: Floats, p: Floats) -> Mask:
    """For every effect (column) the causes with the strongest significant associations."""
    order = np.argsort(-np.where(p < LEAST_SIGNIFICANCE, strength, -np.inf), axis=0, kind="stable")
    chosen = np.zeros(p.shape, bool)
    np.put_along_axis(chosen, order[:STRONGEST], True, axis=0)
    return chosen & (p < LEAST_SIGNIFICANCE)


def _without_common_targets(regimes: tuple[Regime, ...]) -> list[list[Regime]]:
    """Split regimes into groups in which no variable is a target twice."""
    groups: list[tuple[list[Regime], set[int]]] = []
    for regime in regimes:
        for group, taken in groups:
            if taken.isdisjoint(regime.targets):
                group.append(regime)
                taken.update(regime.targets)
                break
        else:
            groups.append(([regime], set(regime.targets)))
    return [group for group, _ in groups]
