"""Moves that give a variable another place in the causal order, for directions that single edges cannot turn.

Turning one edge may ask for others: a parent that was reached through it, the parents of the new effect. So a variable
is taken out of the order and put elsewhere, and every variable for which that changes who comes before it takes its
best parents among those (*placing*). A whole chain cannot be turned that way, because turning most of it gains nothing.
*Rooting* can: a variable goes before one of its ancestors, and the others follow by maximum cardinality search, always
the variable next that has most neighbours before it. In a graph without colliders that gives every order which is as
good as any other and begins there.
"""

import heapq
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from enco.graphs.dag import ancestors
from enco.score.objective import Objective
from enco.search.state import Move, Rules, State

__all__ = ["BestParents", "places", "placings", "rootings", "roots"]

MOST_FOLLOWERS = 30_000  # variables behind the roots tried in one look: more take minutes in graphs of hundreds


class BestParents:
    """The best parents of a variable among some, and what they cost; remembered.

    All that are not worth their price leave, one by one, the least worthy first; then those come back that are. The
    answer depends on the question alone.
    """

    def __init__(self, objective: Objective, rules: Rules) -> None:
        self.objective = objective
        self.rules = rules
        self._known: dict[tuple[int, frozenset[int]], frozenset[int]] = {}

    def among(self, effect: int, before: frozenset[int]) -> frozenset[int]:
        """Choose parents among variables that come before."""
        question = effect, before & self.rules.allowed[effect]
        if question not in self._known:
            self._known[question] = self._choose(*question)
        return self._known[question]

    def graph_of(self, order: Sequence[int]) -> NDArray[np.bool_]:
        """Give every variable of an order its best parents among those before it, as far as required edges allow."""
        order = _follow([], order, [()] * len(order), self.rules)
        graph, seen = np.zeros((len(order), len(order)), bool), set[int]()
        for variable in order:
            graph[list(self.among(variable, frozenset(seen))), variable] = True
            seen.add(variable)
        return graph

    def _choose(self, effect: int, available: frozenset[int]) -> frozenset[int]:
        required, chosen = self.rules.required[effect], available
        for leave in (True, False):
            while True:
                changes = self.objective.changes(effect, chosen, chosen - required if leave else available - chosen)
                best = min(changes, key=lambda cause: changes[cause], default=None)
                if best is None or changes[best] >= 0:
                    break
                chosen ^= {best}
        return chosen


def places(best: BestParents, state: State) -> Iterator[Move]:
    """Put each variable elsewhere in a causal order of the graph."""
    if best.rules.loose:
        yield from placings(best, state, state.order())


def roots(best: BestParents, state: State) -> Iterator[Move]:
    """Put variables before their ancestors in a causal order of the graph."""
    if best.rules.loose:
        yield from rootings(best, state, state.order())


def placings(best: BestParents, state: State, order: Sequence[int]) -> Iterator[Move]:
    """Put each variable where the order is best; between two of its neighbours all places are alike."""
    rules, price = best.rules, best.objective.price
    for variable in sorted(rules.loose):
        place = {other: k for k, other in enumerate(order)}
        near = sorted(rules.near[variable], key=place.__getitem__)
        now = sum(place[other] < place[variable] for other in near)
        before = [frozenset(it for it in rules.near[u] - {variable} if place[it] < place[u]) for u in near]
        own = [
            state.parents[variable] if k == now else best.among(variable, frozenset(near[:k]))
            for k in range(len(near) + 1)
        ]
        # Neighbours that would come to stand on the other side of the variable, and the parents they would take.
        turned = [
            best.among(u, before[k] | {variable}) if k < now else _without(best, state, u, variable, before[k])
            for k, u in enumerate(near)
        ]
        gain = np.array([price(u, state.parents[u]) - price(u, new) for u, new in zip(near, turned, strict=True)])
        first = max((k + 1 for k, u in enumerate(near) if rules.must_be(u, variable)), default=0)
        last = min((k for k, u in enumerate(near) if rules.must_be(variable, u)), default=len(near))
        here = price(variable, state.parents[variable])
        gains = {
            k: here - price(variable, own[k]) + float(gain[k:now].sum() if k < now else gain[now:k].sum())
            for k in range(first, last + 1)
            if k != now
        }
        if gains:
            k = max(gains, key=lambda place: gains[place])
            moved = dict(zip(near, turned, strict=True))
            families = {u: moved[u] for u in near[min(k, now) : max(k, now)]} | {variable: own[k]}
            yield Move("place", families, gains[k])


def rootings(best: BestParents, state: State, order: Sequence[int]) -> Iterator[Move]:
    """Put a variable before one of its ancestors, and let the others follow."""
    rules, price = best.rules, best.objective.price
    graph = state.graph
    above = ancestors(graph)
    joined = [np.flatnonzero(row).tolist() for row in graph | graph.T]
    choices = [
        (begin, root)
        for begin, earlier in enumerate(order)
        for root in np.flatnonzero(above[earlier]).tolist()
        if root in rules.loose and earlier in rules.loose and rules.required[root] <= set(order[:begin])
    ]
    most = MOST_FOLLOWERS // max(1, len(order))
    if len(choices) > most:
        chosen = np.random.default_rng(0).choice(len(choices), most, replace=False)
        choices = [choices[k] for k in np.sort(chosen)]
    earlier_now = _earlier(order, rules, 0)
    for begin, root in choices:
        new = _follow([*order[:begin], root], order, joined, rules)
        families = {
            variable: best.among(variable, before)
            for variable, before in _earlier(new, rules, begin).items()
            if before != earlier_now[variable]
        }
        gain = sum(price(u, state.parents[u]) - price(u, parents) for u, parents in families.items())
        yield Move("root", families, gain)


def _without(best: BestParents, state: State, effect: int, gone: int, before: frozenset[int]) -> frozenset[int]:
    """Parents of a variable once another one no longer comes before it."""
    parents = state.parents[effect]
    return best.among(effect, before) if gone in parents else parents


def _earlier(order: Sequence[int], rules: Rules, begin: int) -> dict[int, frozenset[int]]:
    """Neighbours that come before each variable, from a place of the order on."""
    seen, result = set(order[:begin]), {}
    for variable in order[begin:]:
        result[variable] = frozenset(rules.near[variable] & seen)
        seen.add(variable)
    return result


def _follow(beginning: Sequence[int], order: Sequence[int], joined: Sequence[Sequence[int]], rules: Rules) -> list[int]:
    """Complete an order by maximum cardinality search; of variables alike, the first in `order` comes first."""
    rank = {variable: k for k, variable in enumerate(order)}
    weight = dict.fromkeys(order, 0)
    waiting = {variable: len(rules.required[variable]) for variable in order}
    must_follow: dict[int, list[int]] = {variable: [] for variable in order}
    for effect in order:
        for cause in rules.required[effect]:
            must_follow[cause].append(effect)
    done, result = set[int](), list[int]()
    ready = [(0, rank[variable], variable) for variable in order if not waiting[variable]]
    heapq.heapify(ready)

    def append(variable: int) -> None:
        done.add(variable)
        result.append(variable)
        for child in must_follow[variable]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(ready, (-weight[child], rank[child], child))
        for other in joined[variable]:
            weight[other] += 1
            if other not in done and not waiting[other]:
                heapq.heappush(ready, (-weight[other], rank[other], other))

    for variable in beginning:
        append(variable)
    while ready:
        negative, _, variable = heapq.heappop(ready)
        if variable not in done and -negative == weight[variable]:
            append(variable)
    return result
