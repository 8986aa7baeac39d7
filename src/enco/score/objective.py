"""The objective of a graph, and the only one: whatever decides about a graph after Algorithm 1 asks it.

    total(G) = sum over j of price(j, parents of j in G)
    price(j, S) = sum over all rows that leave j free of loss_j(S)  +  |S| (sparsity * n_j + c)

Where the parents are right, the mechanism is the same in every regime, so that all rows count alike; a wrong direction
loses where an intervention breaks it. The second term is what an edge must earn: `sparsity` in each of the n_j rows of
intervention regimes that leave j free, which are the rows that Algorithm 1 charges it in, and c nats over all of them,
which matters where rows are few: `evidence`, and what the predictor of j may be wrong by. Observational rows add
evidence and no penalty: otherwise the more of them there are, the less a cause counts that is rare among them. Where
regimes differ besides what the graph explains, evidence is worth less by that factor (`enco.score.dispersion`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime
from enco.score.base import Family, Parents, Predictor
from enco.score.own import OwnLosses

__all__ = ["CLEAR_HARM", "Objective", "families_of"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

CLEAR_HARM = 6.0  # nats that an edge may lose in rows that intervene on its cause; less may be noise


@dataclass(frozen=True)
class Objective:
    """Prices of families and totals of graphs, in nats.

    Attributes
    ----------
    predictors : sequence of Predictor
        The one that answers for each variable.
    candidates : sequence of frozenset
        Possible parents of each variable.
    regimes : sequence of Regime
        The observational one and all others, as the predictors have them.
    sparsity : float
        Nats that an edge must earn in each row of an intervention regime.
    evidence : float
        Nats that it must earn besides.
    errors : sequence of float, optional
        By how much the predictor of each variable may be wrong, in nats, which an edge must earn as well.
    own : OwnLosses, optional
        Loss of a variable in a regime, by its place, if it follows a distribution of its own there.
    dispersion : sequence of float, optional
        Of each variable; see `enco.score.dispersion`.
    """

    predictors: Sequence[Predictor]
    candidates: Sequence[Parents]
    regimes: Sequence[Regime]
    sparsity: float
    evidence: float
    errors: Sequence[float] | None = None
    own: OwnLosses | None = None
    dispersion: Sequence[float] | None = None
    _charged: dict[int, int] = field(default_factory=dict, repr=False)

    def price(self, effect: int, parents: Parents) -> float:
        """Price a family."""
        return self.predictors[effect].loss(parents) + len(parents) * self.edge_price(effect)

    def changes(self, effect: int, parents: Parents, causes: Iterable[int] | None = None) -> dict[int, float]:
        """Return by how much toggling each candidate parent, or each of some, changes the price; perhaps a guess."""
        chosen = sorted(self.candidates[effect] | parents if causes is None else causes)
        if not chosen:
            return {}
        loss, edge = self.predictors[effect].loss(parents), self.edge_price(effect)
        after = self.predictors[effect].changes(parents, chosen)
        return {
            cause: float(new - loss) + (-edge if cause in parents else edge)
            for cause, new in zip(chosen, after, strict=True)
        }

    def total(self, graph: Mask) -> float:
        """Sum the prices of all families of a graph [N, N], row = cause."""
        return sum(self.price(effect, parents) for effect, parents in families_of(graph))

    def under_intervention_on(self, cause: int, effect: int, parents: Parents) -> float:
        """Nats that an effect loses by having a cause among its parents, in rows that intervene on that cause.

        A cause helps there, an effect taken for a cause does harm, however much it knows elsewhere. A regime that has
        hit the effect as well, so that a distribution of its own explains it better than any parents do, says nothing.
        """
        by_regime = self.predictors[effect].by_regime
        with_cause, without = by_regime(parents | {cause}), by_regime(parents - {cause})
        where = [
            not regime.free(cause)
            and regime.free(effect)
            and not (self.own and self.own(k, effect) < min(with_cause[k], without[k]) - CLEAR_HARM)
            for k, regime in enumerate(self.regimes)
        ]
        return float((with_cause - without)[where].sum())

    def edge_price(self, effect: int) -> float:
        """Return what every parent of a variable costs."""
        if effect not in self._charged:
            charged = [regime for regime in self.regimes if regime.targets and regime.free(effect)]
            self._charged[effect] = sum(regime.n_rows for regime in charged)
        error = self.errors[effect] if self.errors is not None else 0.0
        return self.sparsity * self._charged[effect] + self.evidence * self.dispersion_of(effect) + error

    def dispersion_of(self, effect: int) -> float:
        """Return how much less evidence about a variable counts, since regimes differ for no reason in the graph."""
        return 1.0 if self.dispersion is None else self.dispersion[effect]


def families_of(graph: Mask) -> list[Family]:
    """List every variable with its parents.

    Examples
    --------
    >>> families_of(np.array([[0, 1], [0, 0]], bool))
    [(0, frozenset()), (1, frozenset({0}))]
    """
    return [(effect, frozenset(np.flatnonzero(column).tolist())) for effect, column in enumerate(graph.T)]
