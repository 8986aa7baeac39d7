"""Directions that no intervention tells: a search over causal orders of all variables (not in the paper).

Where both or neither of two variables were intervened on, theta has only the faint, indirect evidence of Appendix C.4.
Much more is known about the graph as a whole. Given an order of the variables, each takes the best parents among its
neighbours that come earlier, and the sum of the prices (`enco.fitting.families`), over the rows of all regimes, says
how good the order is. Colliders make wrong orders dear, as a direction that is wrong asks for additional edges; and an
intervention far away orients what hangs on it.

Two moves improve an order. *Placing* takes one variable out and puts it where the order is best. It cannot turn round
a whole chain, because turning one edge of it alone costs a lot, and turning most of it gains nothing. *Rooting* can: it
puts a variable before one of its ancestors and lets the others follow by maximum cardinality search, always the
variable next that has most neighbours before it. In a graph without colliders that gives every order which is as good
as any other and begins there.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.fused import FusedConditionals
from enco.data import Regime
from enco.fitting.counts import Counts
from enco.fitting.families import Families
from enco.fitting.moves import Move
from enco.fitting.scoring import part_of
from enco.graphs.dag import ancestors, topological_order
from enco.settings import Settings

__all__ = ["OrderSearch", "moves_between", "reorder"]

Mask = NDArray[np.bool_]
Order = list[int]
Question = tuple[int, frozenset[int]]  # a variable, and what comes before it
Answer = tuple[float, frozenset[int]]  # the price of its best parents, and who they are

LEAST_GAIN = 30.0  # nats; between orders that explain the data as well, prices differ by chance
MOST_RANDOM_STARTS = 2  # besides the order found so far ...
RANDOMLY_ORDERED = 60  # ... and of so many variables in all: large graphs have one start
MOST_ROOTS = 1_000  # tried in one round ...
MOST_FOLLOWERS = 30_000  # ... with so many variables behind them in all


def reorder(
    model: FusedConditionals,
    graph: Mask,
    *,
    regimes: Sequence[Regime],
    counts: Counts | None,
    likely: Mask,
    movable: Mask,
    evidence: float,
    settings: Settings,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> Mask:
    """Revise the directions of an acyclic graph, and with them its edges.

    Parameters
    ----------
    model : FusedConditionals
        Networks like these are trained.
    graph : bool [N, N]
        Acyclic; row = cause.
    regimes : sequence of Regime
        The observational one and all others.
    counts : Counts, optional
        The same rows to count.
    likely : bool [P]
        Pairs to think of besides those of the graph, in both directions.
    movable : bool [P]
        Candidate pairs that background knowledge leaves open.
    evidence : float
        Nats that an edge must earn, besides `sparsity` per row.
    settings : Settings
    on_progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    bool [N, N]
        Acyclic.
    """
    pairs = model.candidates
    joined = graph.copy()
    joined[pairs.cause[likely], pairs.effect[likely]] = True
    allowed = np.zeros_like(graph)
    allowed[pairs.cause[movable], pairs.effect[movable]] = True
    required = graph & ~allowed
    allowed &= joined | joined.T
    families = Families(
        model,
        regimes,
        counts,
        neighbours=allowed | required,
        evidence=evidence,
        settings=settings,
        on_progress=part_of(on_progress, 0, 2),
    )
    search = OrderSearch(families, allowed=allowed, required=required, n_jobs=model.n_jobs)
    return search.run(graph, part_of(on_progress, 1, 2))


class OrderSearch:
    """Search for the order of variables in which the best parents cost least.

    Parameters
    ----------
    families : Families
    allowed : bool [N, N]
        Edges that may be there; row = cause.
    required : bool [N, N]
        Edges that must be; acyclic.
    n_jobs : int
        Threads; the result does not depend on it.
    """

    def __init__(self, families: Families, *, allowed: Mask, required: Mask, n_jobs: int = 1) -> None:
        self._families = families
        self._pool = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None
        self._allowed = [frozenset(np.flatnonzero(column).tolist()) for column in (allowed | required).T]
        self._required = [frozenset(np.flatnonzero(column).tolist()) for column in required.T]
        self._must_follow = [frozenset(np.flatnonzero(row).tolist()) for row in required]
        either = allowed | allowed.T | required | required.T
        self._near = [frozenset(np.flatnonzero(row).tolist()) for row in either]
        self._best: dict[Question, Answer] = {}

    def run(self, graph: Mask, on_progress: Callable[[float], None] = lambda fraction: None) -> Mask:
        """Return the graph of the best order found; the one given, if no other is clearly better.

        A variable keeps its parents if the same neighbours come before it as did: nothing new is known about it.
        """
        rng = np.random.default_rng(0)
        starts = 1 + min(MOST_RANDOM_STARTS, RANDOMLY_ORDERED // len(graph))
        first = topological_order(graph).tolist()
        best = self._descend(first, rng, part_of(on_progress, 0, starts))
        price = self.price(best)
        for start in range(1, starts):
            order = self._follow([], rng.permutation(len(graph)).tolist())
            order = self._descend(order, rng, part_of(on_progress, start, starts))
            if self.price(order) < price - LEAST_GAIN:
                best, price = order, self.price(order)
        known, found = dict(self._questions(first)), self.graph(best)
        for variable, before in self._questions(best):
            if before == known[variable]:
                found[:, variable] = graph[:, variable]
        return found

    def price(self, order: Order) -> float:
        """Sum the prices of all families."""
        return sum(cost for cost, _ in self.answers(self._questions(order)))

    def graph(self, order: Order) -> Mask:
        """Give every variable its best parents among those before it, [N, N]."""
        graph = np.zeros((len(order), len(order)), bool)
        for variable, (_, parents) in zip(order, self.answers(self._questions(order)), strict=True):
            graph[list(parents), variable] = True
        return graph

    def answers(self, questions: Iterable[Question]) -> list[Answer]:
        """Find the best parents of variables among some, and their prices; threads share what is not known yet."""
        asked = [(effect, before & self._allowed[effect]) for effect, before in questions]
        new = [question for question in dict.fromkeys(asked) if question not in self._best]
        found = map(self._find, new) if self._pool is None else self._pool.map(self._find, new)
        self._best.update(zip(new, found, strict=True))
        return [self._best[question] for question in asked]

    def _find(self, question: Question) -> Answer:
        """All that are not worth their price leave, one by one, the least worthy first; then those come back that are.

        The answer depends on the question alone, not on what was asked before.
        """
        effect, chosen = question
        for leave in (True, False):
            while True:
                changes = sorted(chosen - self._required[effect] if leave else question[1] - chosen)
                cost, *prices = self._families.prices(effect, chosen, changes)
                if not changes or min(prices) >= cost:
                    break
                chosen ^= {changes[prices.index(min(prices))]}
        return cost, chosen

    def _questions(self, order: Order, begin: int = 0) -> Iterator[Question]:
        """Ask for the parents of every variable of an order from a place on."""
        before = set(order[:begin])
        for variable in order[begin:]:
            yield variable, self._allowed[variable] & before
            before.add(variable)

    def _descend(self, order: Order, rng: np.random.Generator, on_progress: Callable[[float], None]) -> Order:
        """Improve an order until no move gains enough."""
        tried = 0
        while True:
            placed = True
            while placed:
                placed = False
                for variable in rng.permutation(len(order)).tolist():
                    if (better := self._place(variable, order)) is not None:
                        order, placed = better, True
                    tried += 1
                    on_progress(tried / (tried + 2 * len(order)))  # nobody knows how many it will take
            if (better := self._root(order, rng)) is None:
                return order
            order = better

    def _place(self, variable: int, order: Order) -> Order | None:
        """Put one variable where the order is best; None if that gains too little.

        Only its neighbours matter: between two of them, all places are alike.
        """
        rest = [other for other in order if other != variable]
        place = {other: k for k, other in enumerate(rest)}
        near = sorted(self._near[variable], key=place.__getitem__)
        before = [
            frozenset(it for it in self._allowed[other] - {variable} if place[it] < place[other]) for other in near
        ]
        questions = [(variable, frozenset(near[:k])) for k in range(len(near) + 1)]
        questions += zip(near, before, strict=True)
        questions += [(other, those | {variable}) for other, those in zip(near, before, strict=True)]
        cost = np.array([cost for cost, _ in self.answers(questions)])
        own, without, behind = np.split(cost, [len(near) + 1, 2 * len(near) + 1])
        # With k neighbours before it: they do without the variable, the others have it among their candidates.
        price = own + np.append(0.0, np.cumsum(without)) + np.append(np.cumsum(behind[::-1])[::-1], 0.0)
        first = max((k + 1 for k, other in enumerate(near) if other in self._required[variable]), default=0)
        last = min((k for k, other in enumerate(near) if other in self._must_follow[variable]), default=len(near))
        here = order.index(variable)
        now = sum(place[other] < here for other in near)
        best = first + int(np.argmin(price[first : last + 1]))
        if price[best] > price[now] - LEAST_GAIN:
            return None
        position = place[near[best]] if best < len(near) else len(rest)
        return [*rest[:position], variable, *rest[position:]]

    def _root(self, order: Order, rng: np.random.Generator) -> Order | None:
        """Put a variable before one of its ancestors, wherever that is best; None if it gains too little."""
        graph = self.graph(order)
        above = ancestors(graph)
        joined = [np.flatnonzero(row).tolist() for row in graph | graph.T]
        choices = [
            (begin, root)
            for begin, earlier in enumerate(order)
            for root in np.flatnonzero(above[earlier]).tolist()
            if self._required[root] <= set(order[:begin])
        ]
        most = min(MOST_ROOTS, MOST_FOLLOWERS // len(order))
        if len(choices) > most:
            choices = [choices[k] for k in np.sort(rng.choice(len(choices), most, replace=False))]
        changed = [self._follow([*order[:begin], root], order, joined) for begin, root in choices]
        questions = [list(self._questions(new, begin)) for new, (begin, _) in zip(changed, choices, strict=True)]
        answers = iter(self.answers(question for each in questions for question in each))
        costs = [sum(cost for cost, _ in islice(answers, len(each))) for each in questions]
        rest = np.cumsum([cost for cost, _ in self.answers(self._questions(order))][::-1])[::-1]
        gains = [float(rest[begin]) - cost for (begin, _), cost in zip(choices, costs, strict=True)]
        best = int(np.argmax(gains)) if gains else -1
        return changed[best] if gains and gains[best] > LEAST_GAIN else None

    def _follow(self, beginning: Order, order: Order, joined: Sequence[Sequence[int]] | None = None) -> Order:
        """Complete an order by maximum cardinality search; of variables alike, the first in `order` comes first.

        Without `joined`, in that order, as far as required edges allow.
        """
        rank = {variable: k for k, variable in enumerate(order)}
        weight = dict.fromkeys(order, 0)
        waiting = {variable: len(self._required[variable]) for variable in order}
        done, result = set[int](), list[int]()
        ready = [(0, rank[variable], variable) for variable in order if not waiting[variable]]
        heapq.heapify(ready)

        def append(variable: int) -> None:
            done.add(variable)
            result.append(variable)
            for child in self._must_follow[variable]:
                waiting[child] -= 1
                if not waiting[child]:
                    heapq.heappush(ready, (-weight[child], rank[child], child))
            for other in joined[variable] if joined else ():
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


def moves_between(before: Mask, after: Mask, pairs: Candidates) -> Iterator[Move]:
    """Name what turns one graph into another; what a single move gains is not known."""
    for pair in np.flatnonzero((before != after)[pairs.cause, pairs.effect]).tolist():
        cause, effect = pairs.cause[pair], pairs.effect[pair]
        if before[cause, effect]:
            yield Move(0.0, "reverse" if after[effect, cause] else "delete", pair)
        elif not before[effect, cause]:
            yield Move(0.0, "add", pair)
