"""How strong an intervention was: in which share of its rows its target has left its usual mechanism.

In a regime that intervenes on i, a share s of the rows may follow a distribution q of their own, and the others what
X_i follows everywhere else, given its parents in the graph that was found:

    p(x) = s q(x) + (1 - s) p(x | parents).

s = 1 is a perfect intervention, s = 0 one without effect, and anything between one that took hold in some of the rows,
as guides do. What a soft intervention leaves of the usual mechanism counts as rows in which it did not take hold.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime
from enco.score.base import Parents, Predictor
from enco.score.own import own_losses

__all__ = ["Strength", "mixture", "strengths"]

Floats = NDArray[np.float64]


class Strength(NamedTuple):
    """How strong an intervention on a variable was.

    Attributes
    ----------
    regime, variable : int
    share : float
        Of the rows, that are better explained by a distribution of their own.
    evidence : float
        Nats by which the mixture of that share explains the rows better than a perfect intervention does.
    effect : float
        Nats by which it explains them better than the usual mechanism does.
    """

    regime: int
    variable: int
    share: float
    evidence: float
    effect: float


def strengths(
    predictors: Sequence[Predictor],
    families: Sequence[Parents],
    regimes: Sequence[Regime],
    columns: Sequence[NDArray[Any]],
) -> list[Strength]:
    """Estimate the strength of every intervention, given parents of all variables.

    Parameters
    ----------
    predictors : sequence of Predictor
        Those without ``target_losses`` are left out.
    families : sequence of frozenset
        Parents of each variable.
    regimes : sequence of Regime
        Of the rows that the predictors have, one after the other.
    columns : sequence of arrays [rows]
        Values of each variable as its predictor sees them: codes, or standardised numbers.
    """
    found, first = [], 0
    for k, regime in enumerate(regimes):
        rows = np.arange(first, first + regime.n_rows)
        first += regime.n_rows
        for target in regime.targets:
            ask = getattr(predictors[target], "target_losses", None)
            if ask is not None and len(rows):
                usual, own = ask(families[target], rows), own_losses(columns[target][rows])
                found.append(Strength(k, target, *mixture(usual, own)))
    return found


def mixture(usual: Floats, own: Floats) -> tuple[float, float, float]:
    """Return the share s that explains rows best, and by how many nats better than s = 1, and than s = 0.

    Parameters
    ----------
    usual, own : float64 [rows]
        Losses by the usual mechanism and by a distribution of the regime's own.

    Examples
    --------
    >>> usual, own = np.array([0.1] * 60 + [9.0] * 40), np.full(100, 1.5)  # four rows of ten look unusual
    >>> share, evidence, effect = mixture(usual, own)
    >>> 0.4 < share < 0.6, evidence > 20, effect > 200
    (True, True, True)
    """
    shares = np.arange(41) / 40
    with np.errstate(divide="ignore"):  # log 0
        both = np.logaddexp(np.log(shares)[:, None] - own, np.log1p(-shares)[:, None] - usual)
    total = both.sum(axis=1)
    best = int(np.argmax(total))
    return float(shares[best]), float(total[best] - total[-1]), float(total[best] - total[0])
