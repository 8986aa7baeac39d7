"""Latent confounders: existence split by where its evidence comes from (Section 3.5, Appendix B.3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from enco.candidates import Candidates
from enco.parameters import Adam, EdgeParameters

__all__ = ["SplitEdgeParameters", "confounder_scores", "scorable"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Pairs = NDArray[np.int64]


class SplitEdgeParameters(EdgeParameters):
    """Edge parameters with gamma split into gamma_I + gamma_O.

    gamma_I[i, j] follows the regimes that intervene on the cause i, gamma_O[i, j] all others, each with Adam moments of
    its own. In the paper `gamma` is their sum. Where a search follows that tests every pair for confounding, they only
    watch: `gamma` moves as it would without them, so that looking for confounders changes no graph that has none.

    Parameters
    ----------
    candidates : Candidates
    coasts : bool
        Whether each half moves on while it gets no gradient, see `enco.parameters.Adam`.
    decides : bool
        Whether `gamma` is the sum of the halves.

    Attributes
    ----------
    gamma_cause, gamma_other : float64 [P]
        gamma_I and gamma_O.

    Examples
    --------
    >>> parameters = SplitEdgeParameters(Candidates.all_pairs(2))
    >>> both = np.arange(2)  # X2 -> X1 and X1 -> X2
    >>> parameters.move_gamma(both, np.array([1.0, -1.0]), 0.1, targets=(0,))
    >>> parameters.gamma_cause.round(3), parameters.gamma_other.round(3)
    (array([0. , 0.1]), array([-0.1,  0. ]))
    >>> parameters.gamma.round(3)
    array([-0.1,  0.1])
    """

    def __init__(self, candidates: Candidates, *, coasts: bool = False, decides: bool = True) -> None:
        super().__init__(candidates, coasts=coasts)
        self.decides = decides
        self.gamma_cause = np.zeros(candidates.n_pairs)
        self.gamma_other = np.zeros(candidates.n_pairs)
        self.cause_adam, self.other_adam = (
            Adam(candidates.n_pairs, self.gamma_adam.beta1, self.gamma_adam.beta2, coasts) for _ in range(2)
        )

    def move_gamma(self, pairs: Pairs, gradient: Floats, rate: float, targets: Sequence[int] = ()) -> None:
        """One Adam step of gamma and of its halves."""
        self.move_halves(pairs, gradient, rate, targets)
        if not self.decides:
            super().move_gamma(pairs, gradient, rate)

    def move_halves(self, pairs: Pairs, gradient: Floats, rate: float, targets: Sequence[int]) -> None:
        """One Adam step of gamma_I at the pairs whose cause is a target, of gamma_O at the others."""
        on_cause = np.isin(self.candidates.cause[pairs], targets)
        cause, other = pairs[on_cause], pairs[~on_cause]
        self.cause_adam.move(self.gamma_cause, cause, gradient[on_cause], rate)
        self.other_adam.move(self.gamma_other, other, gradient[~on_cause], rate)
        if self.decides:
            self.gamma[:] = self.gamma_cause + self.gamma_other

    def reconsider(self, pairs: Pairs, gamma: float) -> None:
        """Set gamma of some pairs by their gamma_O; what interventions on the cause have said stays.

        gamma_O hears from nearly all regimes and finds its way back soon; gamma_I would not.
        """
        super().reconsider(pairs, gamma)
        self.other_adam.forget(pairs)
        self.gamma_other[pairs] = gamma - self.gamma_cause[pairs]

    def _arrays(self) -> dict[str, NDArray[Any]]:
        halves = {"gamma_cause": self.gamma_cause, "gamma_other": self.gamma_other}
        return (
            super()._arrays() | halves | self.cause_adam.arrays("gamma_cause") | self.other_adam.arrays("gamma_other")
        )


def confounder_scores(parameters: SplitEdgeParameters) -> Floats:
    """Score lc of every pair, [P]; the same for (i, j) and (j, i), NaN where the reverse is no candidate.

    lc(i, j) = s(gamma_O[i, j]) s(gamma_O[j, i]) (1 - s(gamma_I[i, j])) (1 - s(gamma_I[j, i])), s = sigmoid (Section
    3.5): close to one where the two explain each other as long as neither is intervened on, and not when one is.

    Examples
    --------
    >>> parameters = SplitEdgeParameters(Candidates.all_pairs(2))
    >>> parameters.gamma_other[:], parameters.gamma_cause[:] = 4.0, -4.0
    >>> confounder_scores(parameters).round(2)
    array([0.93, 0.93])
    >>> parameters.gamma_cause[0] = 4.0  # an edge
    >>> confounder_scores(parameters).round(2)
    array([0.02, 0.02])
    """
    one_way = expit(parameters.gamma_other) * expit(-parameters.gamma_cause)
    reverse = parameters.candidates.reverse
    return np.where(reverse >= 0, one_way * one_way[reverse], np.nan)


def scorable(candidates: Candidates, regimes: Sequence[Sequence[int]], fixed: Mask) -> Mask:
    """Pairs of which lc can say something, bool [P].

    Both directions must be open, and there must be a regime that intervenes on the one and not on the other, one the
    other way round, and one that intervenes on neither.

    Parameters
    ----------
    candidates : Candidates
    regimes : sequence of sequences of int
        Targets of every intervention regime.
    fixed : bool [P]
        Pairs whose gamma background knowledge has fixed.

    Examples
    --------
    >>> scorable(Candidates.all_pairs(3), [(0,), (1,)], np.zeros(6, bool))  # no regime that leaves X1 and X2 alone
    array([False, False, False, False, False, False])
    >>> scorable(Candidates.all_pairs(3), [(0,), (1,), (2,)], np.zeros(6, bool)).all()
    np.True_
    """
    cause, effect, reverse = candidates.cause, candidates.effect, candidates.reverse
    on_cause, on_neither = np.zeros((2, candidates.n_pairs), bool)
    for targets in regimes:
        hit, spared = np.isin(cause, targets), ~np.isin(effect, targets)
        on_cause |= hit & spared
        on_neither |= ~hit & spared
    two_way = (reverse >= 0) & ~fixed & ~fixed[reverse]
    return two_way & on_cause & on_cause[reverse] & on_neither
