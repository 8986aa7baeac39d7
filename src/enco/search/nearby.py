"""How sure the objective is of every pair: an average over the acyclic graphs near the best one.

Graphs whose totals differ by a few nats are about as good as each other. So the graph that was found changes at random,
pair by pair (Gibbs sampling). Given all other edges, a pair {i, j} is joined one way, the other, or not at all, with

    P(state)  proportional to  exp(-cost(state)),

where the cost is what the total rises by, with each variable's share of it divided by its dispersion, and a state that
closes a cycle has none. These probabilities are averaged, not the states: a pair that never moves still says by how
much the data prefer it as it is. Directions that depend on each other turn one after the other.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from enco.graphs.dag import ancestors
from enco.score.base import Parents
from enco.score.objective import CLEAR_HARM, Objective
from enco.search.state import Rules, State

__all__ = ["nearby"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SWEEPS = 40  # over all pairs that may change
NEGLIGIBLE = 1e-3  # probability below which a pair is not asked to change
FAMILIES = 2  # sets of parents besides those of the graph that are looked at, for each variable on average


def nearby(objective: Objective, graph: Mask, rules: Rules) -> tuple[Floats, Floats]:
    """Return the probability of every edge, and what toggling it in the graph itself costs, [N, N] each.

    Parameters
    ----------
    objective : Objective
    graph : bool [N, N]
        Acyclic, row = cause.
    rules : Rules

    Returns
    -------
    probability : float64 [N, N]
    cost : float64 [N, N]
        Nats; NaN where an edge may not be.
    """
    walk = _Walk(objective, graph, rules)
    cost = walk.cost.copy()
    seen = list(walk.sweeps())
    return np.mean(seen, axis=0), cost


class _Walk:
    """A graph that changes at random."""

    def __init__(self, objective: Objective, graph: Mask, rules: Rules) -> None:
        self.objective, self.rules = objective, rules
        self.state, self.graph = State.of(graph), graph.copy()
        self._known: dict[tuple[int, Parents], Floats] = {}
        self.cost = np.stack([self._costs(effect) for effect in range(len(graph))], axis=1)
        self._most = (1 + FAMILIES) * len(graph)
        self._rng = np.random.default_rng(0)

    def sweeps(self) -> Iterator[Floats]:
        """Yield the probability of every edge given all others, [N, N], before each sweep."""
        for _ in range(SWEEPS):
            edge = self._probabilities()
            yield edge
            none = 1 - edge - edge.T
            stays = np.where(self.graph, edge, np.where(self.graph.T, edge.T, none))
            moving = np.argwhere(np.triu(stays < 1 - NEGLIGIBLE, 1))
            if not len(moving):
                return
            for place in self._rng.permutation(len(moving)):
                if len(self._known) >= self._most:
                    return
                self._move(*map(int, moving[place]))

    def _probabilities(self) -> Floats:
        """Probability of i -> j given all other edges, [N, N]."""
        graph = self.graph
        reach = (ancestors(graph) | np.eye(len(graph), dtype=bool)).astype(np.float32)
        # i leads to j by more than the edge between them: j -> i would close a cycle.
        closes = ((graph.astype(np.float32) @ reach - graph) > 0.5).T
        leave = np.where(graph, self.cost, 0.0)
        leave = leave + leave.T
        join = np.where(graph, 0.0, leave + self.cost)
        weight = np.where(closes & ~graph, 0.0, _weight(join))
        return weight / (weight + weight.T + _weight(leave))

    def _move(self, one: int, other: int) -> None:
        """Join a pair as its probabilities given all other edges say."""
        parents = self.state.parents
        loose = {one: parents[one] - {other}, other: parents[other] - {one}}
        without = self.state.changed(loose)
        leave = sum(
            self.cost[cause, effect] for cause, effect in ((one, other), (other, one)) if self.graph[cause, effect]
        )
        states, cost = [loose], [leave]
        for cause, effect in ((one, other), (other, one)):
            if not without.leads(effect, cause):
                states.append({**loose, effect: loose[effect] | {cause}})
                cost.append(0.0 if self.graph[cause, effect] else leave + self.cost[cause, effect])
        weight = _weight(np.array(cost))
        if not weight.any():
            return
        chosen = states[int(self._rng.choice(len(states), p=weight / weight.sum()))]
        self.state = self.state.changed(chosen)
        for variable in (one, other):
            if self.state.parents[variable] != parents[variable]:
                self.graph[:, variable] = False
                self.graph[list(self.state.parents[variable]), variable] = True
                self.cost[:, variable] = self._costs(variable)

    def _costs(self, effect: int) -> Floats:
        """Return what toggling each parent of a variable costs, in nats, [N]; NaN where it may not be."""
        parents = self.state.parents[effect]
        if (effect, parents) not in self._known:
            costs = np.full(len(self.state.parents), np.nan)
            for cause, change in self.objective.changes(effect, parents).items():
                if cause in parents:
                    costs[cause] = np.inf if self.rules.must_be(cause, effect) else self._leaving(effect, cause, change)
                elif self.rules.may_be(cause, effect):
                    costs[cause] = self._joining(effect, cause, change)
            self._known[effect, parents] = costs / self.objective.dispersion_of(effect)
        return self._known[effect, parents]

    def _leaving(self, effect: int, cause: int, change: float) -> float:
        parents, price = self.state.parents[effect], self.objective.price
        return change if np.isfinite(change) else price(effect, parents - {cause}) - price(effect, parents)

    def _joining(self, effect: int, cause: int, change: float) -> float:
        """Charge an effect that is taken for a cause what it loses in rows that intervene on it, as in the search."""
        if _weight(np.array(change)) < NEGLIGIBLE:
            return change
        harm = self.objective.under_intervention_on(cause, effect, self.state.parents[effect])
        return max(change, harm) if harm > CLEAR_HARM else change


def _weight(cost: Floats) -> Floats:
    weight: Floats = np.exp(-np.clip(np.where(np.isnan(cost), np.inf, cost), -600.0, None))
    return weight
