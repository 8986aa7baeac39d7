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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime
from enco.score.objective import Objective, families_of

__all__ = ["Suspect", "suspects", "with_targets"]

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


def suspects(objective: Objective, graph: Mask, least: float) -> list[Suspect]:
    """List the variables that regimes seem to have hit besides their targets, those with the largest gain first.

    Of each variable only the regime with the largest gain: rows that follow another mechanism mislead what is learned
    of the variable, so that other regimes seem unusual too. They are looked at again once the first is known.

    Parameters
    ----------
    objective : Objective
    graph : bool [N, N]
    least : float
        Nats that a gain must exceed, besides the log of the number of possible hits.
    """
    assert objective.own is not None, "nothing says how variables are distributed by themselves"
    regimes, n = objective.regimes, len(graph)
    possible = sum(n - len(regime.targets) for regime in regimes if regime.targets)
    threshold = least + float(np.log(max(1, possible)))
    found = []
    for effect, parents in families_of(graph):
        predictor, price = objective.predictors[effect], objective.edge_price(effect)
        now = predictor.by_regime(parents)
        for k, regime in enumerate(regimes):
            if not regime.targets or effect in regime.targets:
                continue
            gain = float(now[k]) - objective.own(k, effect)
            if gain > threshold:
                found.append(Suspect(k, effect, gain - threshold))
                continue
            if gain < -threshold:  # its parents explain it there: nothing has cut it off from them
                continue
            for cause in parents & set(regime.targets):
                # The edge may stand for the hit: what it brings in all other regimes is then less than it costs.
                without = predictor.by_regime(parents - {cause})
                elsewhere = float((without - now).sum() - (without - now)[k])
                better = gain + price - elsewhere
                if better > threshold:
                    found.append(Suspect(k, effect, better - threshold))
                    break
    found.sort(key=lambda suspect: (-suspect.gain, suspect.regime, suspect.variable))
    first: dict[int, Suspect] = {}
    for suspect in found:
        first.setdefault(suspect.variable, suspect)
    return list(first.values())


def with_targets(regimes: Sequence[Regime], found: Sequence[Suspect]) -> list[Regime]:
    """Name variables that regimes seem to have hit among their targets."""
    more: dict[int, set[int]] = {}
    for suspect in found:
        more.setdefault(suspect.regime, set()).add(suspect.variable)
    return [
        Regime(tuple({*regime.targets, *more.get(k, set())}), regime.codes, regime.reals)
        for k, regime in enumerate(regimes)
    ]
