"""Variables that an intervention seems to have hit although no label says so.

Where a regime leaves j free, X_j follows its parents as everywhere else. If it follows a distribution of its own there,
as a target does, the intervention has hit j as well. With the objective of the graph that was found, the gain of
believing that is

    gain(k, j) = cost of j as it is - (own loss of j in regime k + cost of j without the rows of k),

in nats, where j may then also lose a parent that is a target of k: an edge from the target of a regime to whatever else
it hit is what a search puts in the place of a hit that nobody names. The own loss is that of one distribution, each row
predicted from the others. A gain is evidence beyond chance if it exceeds the log of the number of possible hits by
`CLEAR_HARM`, the evidence that an edge is asked for in rows that intervene on its cause.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime
from enco.score.objective import CLEAR_HARM, Objective, families_of
from enco.score.strength import Strength, beyond_misfit

__all__ = ["Suspect", "chance", "hit_gains", "suspects", "with_hits"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Suspect:
    """A variable that a regime seems to have hit.

    Attributes
    ----------
    regime : int
        Place among the regimes of the search, the observational one being 0.
    variable : int
    gain : float
        Nats, beyond what chance may explain.
    """

    regime: int
    variable: int
    gain: float


def hit_gains(objective: Objective, graph: Mask) -> Floats:
    """Return what it gains to believe that a regime has hit a variable besides its targets, nats [regimes, N].

    It is -inf for the targets themselves, and where nothing was intervened on.

    Parameters
    ----------
    objective : Objective
    graph : bool [N, N]
    """
    assert objective.own is not None, "nothing says how variables are distributed by themselves"
    regimes = objective.regimes
    gains = np.full((len(regimes), len(graph)), -np.inf)
    for effect, parents in families_of(graph):
        predictor, price = objective.predictors[effect], objective.edge_price(effect)
        now = predictor.by_regime(parents)
        for k, regime in enumerate(regimes):
            if regime.is_observational or not regime.free(effect):
                continue
            gains[k, effect] = gain = float(now[k]) - objective.own(k, effect)
            if gain < -CLEAR_HARM:  # its parents explain it there: nothing has cut it off from them
                continue
            if gain > CLEAR_HARM:  # perhaps only because the mechanism does not fit, there as elsewhere
                ratios = objective.own.ratios(k, effect, predictor.row_losses(parents))
                gains[k, effect] = gain = min(gain, beyond_misfit(*ratios))
            for cause in sorted(parents & set(regime.targets)):
                # The edge may stand for the hit: what it brings in all other regimes is then less than it costs.
                without = predictor.by_regime(parents - {cause})
                elsewhere = float((without - now).sum() - (without - now)[k])
                gains[k, effect] = max(gains[k, effect], gain + price - elsewhere)
    return gains


def chance(gains: Floats) -> float:
    """Nats that the largest of so many gains may have by chance: the log of their number."""
    return float(np.log(max(1, np.isfinite(gains).sum())))


def suspects(gains: Floats, least: float) -> list[Suspect]:
    """List the variables that regimes seem to have hit besides their targets, those with the largest gain first.

    Of each variable only the regime with the largest gain: rows that follow another mechanism mislead what is learned
    of the variable, so that other regimes seem unusual too. They are looked at again once the first is known.

    Parameters
    ----------
    gains : float64 [regimes, N]
        See `hit_gains`.
    least : float
        Nats that a gain must exceed, besides what chance may explain.

    Examples
    --------
    >>> suspects(np.array([[-np.inf, -np.inf], [-np.inf, 20.0], [-np.inf, 30.0]]), least=6.0)
    [Suspect(regime=2, variable=1, gain=23.306...)]
    """
    beyond = gains - (least + chance(gains))
    first = beyond.argmax(axis=0)
    found = [Suspect(int(k), j, float(beyond[k, j])) for j, k in enumerate(first) if beyond[k, j] > 0]
    return sorted(found, key=lambda suspect: (-suspect.gain, suspect.regime, suspect.variable))


def with_hits(
    regimes: Sequence[Regime], found: Sequence[Suspect], strengths: Sequence[Strength], unknown: Collection[int]
) -> list[Regime]:
    """Revise what regimes act on: variables that they seem to have hit join their targets.

    Targets of unknown regimes, which were guessed, leave where the graph explains them without an intervention.
    """
    targets = [set(regime.targets) for regime in regimes]
    for it in strengths:
        if it.regime in unknown and it.effect <= CLEAR_HARM:
            targets[it.regime].discard(it.variable)
    for suspect in found:
        targets[suspect.regime].add(suspect.variable)
    return [
        regime.under(regime.condition._replace(targets=tuple(sorted(hit))))
        for regime, hit in zip(regimes, targets, strict=True)
    ]
