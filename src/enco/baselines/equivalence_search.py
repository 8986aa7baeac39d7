"""Greedy equivalence search: Chickering (2002), "Optimal structure identification with greedy search".

From the graph without edges it goes from one class of equivalent graphs to the next: by the insertion that improves the
score most, until none does (`forward`), then by deletions likewise (`backward`). With NA(y, x), the neighbours of y
that are adjacent to x, the operators are

Insert(x, y, T)
    Add x -> y, and direct t - y into y for all t in T, which are neighbours of y that are not adjacent to x. Valid if
    NA(y, x) and T together are a clique that every semi-directed path from y to x meets (Theorem 15).
Delete(x, y, H)
    Delete the edge, and direct y - h and x - h into h for all h in H, a part of NA(y, x). Valid if the rest of NA(y, x)
    is a clique (Theorem 17).
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.baselines.bic import Score
from enco.baselines.partial_dag import PartialDag, members

__all__ = ["backward", "forward", "greedy_equivalence_search"]

SMALLEST_GAIN = 1e-6  # nats; less is rounding

LocalScore = Callable[[int, int], float]  # of an effect and the set of its parents


class EquivalenceMove(NamedTuple):
    """An operator and what it brings; sorted, the best comes first."""

    loss: float  # its gain, negative
    cause: int  # x
    effect: int  # y
    clique: int  # NA(y, x) with T, or without H


def greedy_equivalence_search(score: Score) -> NDArray[np.bool_]:
    """Search for the class of directed acyclic graphs with the largest score.

    Parameters
    ----------
    score : Score

    Returns
    -------
    bool [N, N]
        Row = cause, and both directions where members of the class differ.

    Examples
    --------
    >>> from enco.baselines.bic import GaussianScore
    >>> a, b, noise = np.random.default_rng(0).standard_normal((3, 500))
    >>> greedy_equivalence_search(GaussianScore(np.column_stack([a, b, a + b + noise]), penalty=1.0)).astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    # Only the last graph of a phase is kept: of many variables, all those on the way would fill the memory.
    [densest] = deque(forward(PartialDag(score.p), score), maxlen=1)
    [best] = deque(backward(densest, score), maxlen=1)
    return best.to_matrix()


def forward(graph: PartialDag, score: Score) -> Iterator[PartialDag]:
    """Go from a completed graph by the best insertion each time; yield it and all completed graphs on the way."""
    return _climb(graph, score, _insertions, _is_blocked, _insert)


def backward(graph: PartialDag, score: Score) -> Iterator[PartialDag]:
    """Go from a completed graph by the best deletion each time; yield it and all completed graphs on the way."""
    return _climb(graph, score, _deletions, lambda graph, move: True, _delete)


def _climb(
    graph: PartialDag,
    score: Score,
    moves_into: Callable[[PartialDag, int, LocalScore], list[EquivalenceMove]],
    is_valid: Callable[[PartialDag, EquivalenceMove], bool],
    apply: Callable[[PartialDag, EquivalenceMove], PartialDag],
) -> Iterator[PartialDag]:
    local_score = cache(lambda effect, parents: score.local_score(effect, list(members(parents))))
    everywhere = range(len(graph))
    moves: list[list[EquivalenceMove]] = [[] for _ in everywhere]
    stale = list(everywhere)
    while True:
        yield graph
        for effect in stale:
            moves[effect] = sorted(moves_into(graph, effect, local_score))
        # Whether a move is valid may depend on paths through the whole graph: ask each time, but only of the best.
        best = next((move for move in sorted(chain.from_iterable(moves)) if is_valid(graph, move)), None)
        if best is None:
            return
        before, graph = graph, apply(graph, best).completed()
        # Moves into a variable depend on its own edges and on who is adjacent to its neighbours. Of all pairs, only the
        # two ends of the move have become adjacent, or are no longer.
        ends = 1 << best.cause | 1 << best.effect
        stale = [
            variable
            for variable in everywhere
            if graph.neighbours(variable) & ends
            or graph.incoming[variable] != before.incoming[variable]
            or graph.outgoing[variable] != before.outgoing[variable]
        ]


def _insertions(graph: PartialDag, effect: int, local_score: LocalScore) -> list[EquivalenceMove]:
    moves = []
    parents, neighbours = graph.parents(effect), graph.neighbours(effect)
    others = (1 << len(graph)) - 1 & ~graph.adjacent(effect) & ~(1 << effect)
    for cause in members(others):
        near = graph.adjacent(cause)
        for clique in graph.cliques(neighbours & near, neighbours & ~near):
            without = parents | clique
            loss = local_score(effect, without) - local_score(effect, without | 1 << cause)
            if loss < -SMALLEST_GAIN:
                moves.append(EquivalenceMove(loss, cause, effect, clique))
    return moves


def _is_blocked(graph: PartialDag, move: EquivalenceMove) -> bool:
    return not graph.has_path(move.effect, move.cause, avoiding=move.clique)


def _insert(graph: PartialDag, move: EquivalenceMove) -> PartialDag:
    changed = graph.copy()
    changed.add(move.cause, move.effect)
    for tail in members(move.clique & ~graph.adjacent(move.cause)):
        changed.remove(move.effect, tail)
    return changed


def _deletions(graph: PartialDag, effect: int, local_score: LocalScore) -> list[EquivalenceMove]:
    moves = []
    parents, neighbours = graph.parents(effect), graph.neighbours(effect)
    # An undirected edge is deleted by the same moves from both ends: its larger end stands for the cause.
    for cause in members(parents | neighbours >> effect << effect):
        for clique in graph.cliques(0, neighbours & graph.adjacent(cause)):
            without = (parents | clique) & ~(1 << cause)
            loss = local_score(effect, without | 1 << cause) - local_score(effect, without)
            if loss < -SMALLEST_GAIN:
                moves.append(EquivalenceMove(loss, cause, effect, clique))
    return moves


def _delete(graph: PartialDag, move: EquivalenceMove) -> PartialDag:
    changed = graph.copy()
    changed.remove(move.cause, move.effect)
    changed.remove(move.effect, move.cause)
    heads = graph.neighbours(move.effect) & graph.adjacent(move.cause) & ~move.clique
    for head in members(heads):
        changed.remove(head, move.effect)
    for head in members(heads & graph.neighbours(move.cause)):
        changed.remove(head, move.cause)
    return changed
