"""The objective of a graph, and the only one: whatever decides about a graph after Algorithm 1 asks it.

    total(G) = sum over j of price(j, parents of j in G)
    price(j, S) = sum over all rows that leave j free of loss_j(S)  +  |S| (sparsity * n_j + c)

n_j are the rows that leave j free. Where the parents are right, the mechanism is the same in every regime, so that all
rows count alike; a wrong direction loses where an intervention breaks it. The second term is what an edge must earn:
`sparsity` in every row, as in Algorithm 1, and c = `evidence` nats over all of them, which matters where rows are few.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime
from enco.score.base import Family, Predictor

__all__ = ["Map", "Objective", "Question", "families_of"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Question = tuple[int, frozenset[int], tuple[int, ...]]
"""A variable, its parents, and causes to be toggled one at a time."""
Map = Callable[[Callable[[Question], Floats], Iterable[Question]], Iterable[Floats]]


@dataclass(frozen=True)
class Objective:
    """Prices of families and totals of graphs, in nats. Every family is priced once.

    Attributes
    ----------
    predictors : sequence of Predictor
        The one that answers for each variable.
    candidates : sequence of frozenset
        Possible parents of each variable.
    regimes : sequence of Regime
        The observational one and all others, as the predictors have them.
    sparsity : float
        Nats that an edge must earn in each row.
    evidence : float
        Nats that it must earn besides.
    """

    predictors: Sequence[Predictor]
    candidates: Sequence[frozenset[int]]
    regimes: Sequence[Regime]
    sparsity: float
    evidence: float
    _prices: dict[Family, float] = field(default_factory=dict, repr=False)
    _harm: dict[tuple[int, Family], float] = field(default_factory=dict, repr=False)

    def price(self, effect: int, parents: frozenset[int]) -> float:
        """Price a family."""
        self.ask([(effect, parents, ())])
        return self._prices[effect, parents]

    def changes(self, effect: int, parents: frozenset[int], causes: Iterable[int] | None = None) -> dict[int, float]:
        """Return by how much toggling each candidate parent, or each of some, changes the price."""
        chosen = tuple(sorted(self.candidates[effect] | parents if causes is None else causes))
        self.ask([(effect, parents, chosen)])
        now = self._prices[effect, parents]
        return {cause: self._prices[effect, parents ^ {cause}] - now for cause in chosen}

    def total(self, graph: Mask) -> float:
        """Sum the prices of all families of a graph [N, N], row = cause."""
        return sum(self.price(effect, parents) for effect, parents in families_of(graph))

    def under_intervention_on(self, cause: int, effect: int, parents: frozenset[int]) -> float:
        """Nats that an effect loses by having a cause besides its other parents, in rows that intervene on that cause.

        A cause helps there, an effect taken for a cause does harm, however much it knows elsewhere.
        """
        asked = cause, (effect, parents | {cause})
        if asked not in self._harm:
            where = [cause in regime.targets and effect not in regime.targets for regime in self.regimes]
            with_it, without = self.predictors[effect].losses(effect, parents | {cause}, [cause])[:, where].sum(axis=1)
            self._harm[asked] = float(with_it - without)
        return self._harm[asked]

    def edge_price(self, effect: int) -> float:
        """Return what every parent of a variable costs."""
        free = sum(regime.n_rows for regime in self.regimes if effect not in regime.targets)
        return self.sparsity * free + self.evidence

    def ask(self, questions: Iterable[Question], run: Map = map) -> None:
        """Price some families and those one change away; what is known already is not asked for again."""
        new = [question for question in map(self._unknown, questions) if question is not None]
        for (effect, parents, causes), losses in zip(new, run(self._look, new), strict=True):
            price = self.edge_price(effect)
            for family, loss in zip([parents, *(parents ^ {cause} for cause in causes)], losses, strict=True):
                self._prices.setdefault((effect, family), float(loss) + len(family) * price)

    def _unknown(self, question: Question) -> Question | None:
        effect, parents, causes = question
        missing = tuple(cause for cause in causes if (effect, parents ^ {cause}) not in self._prices)
        known: Collection[Family] = self._prices
        return None if not missing and (effect, parents) in known else (effect, parents, missing)

    def _look(self, question: Question) -> Floats:
        effect, parents, causes = question
        summed: Floats = self.predictors[effect].losses(effect, parents, causes).sum(axis=1)
        return summed


def families_of(graph: Mask) -> list[Family]:
    """List every variable with its parents.

    Examples
    --------
    >>> families_of(np.array([[0, 1], [0, 0]], bool))
    [(0, frozenset()), (1, frozenset({0}))]
    """
    return [(effect, frozenset(np.flatnonzero(column).tolist())) for effect, column in enumerate(graph.T)]
