"""Refinement: a local search over acyclic graphs, on the objective that gamma and theta descend (not in the paper).

gamma and theta decide every edge by itself, averaged over sampled graphs. Once there is one acyclic graph C, the same
objective (Eq. 2) can be asked directly whether adding, deleting or reversing one edge improves it:

    sum over j and interventional rows that leave j free of   loss_j(parents of j in C) + sparsity * parents
    plus, per edge,                                           edge_evidence + log((1 - q) / q),  at least 0

It falls apart into one term per variable, so that one look at all pairs prices every move. The second line matters
only where rows are few. It asks of an edge what a Bayesian would: evidence beyond its prior odds, q being the share of
joined pairs in the graph to begin with (with one pair added to either side), by a factor of exp(edge_evidence).

The losses come from cross-fitted networks (`enco.fitting.scoring`). They know many parent sets at once, which costs
some precision; where a *continuous* variable is pushed out of the range that most rows cover, this can be enough for a
useless parent to seem useful. The same happens where a variable is a *function* of its parents: a network that has not
learned the function quite is glad of every hint at the parents, and its children's networks are glad of its parents. To
a lesser degree it happens wherever parents are continuous, or have few configurations and an intervention makes rare
ones common. So in the end the parents of such variables are challenged. Where all are categorical, tables of counts
decide (`enco.fitting.recount`), which also add a parent that networks have overlooked. They decide about all parents,
whatever networks say, where they predict the variable better than networks do. About a continuous variable, precise
regressions on exactly these parents decide, with and without the one (`enco.fitting.regressions`); elsewhere, and under
flows, networks trained for exactly these parents. Other variables of many parents with many levels are left alone.
Their tables cannot be learned cell by cell, and networks that know many parent sets, which hardly overfit, are the
better judges.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.base import ConditionalModel
from enco.data import Regime
from enco.fitting.counts import Counts
from enco.fitting.moves import Move
from enco.fitting.recount import Recount
from enco.fitting.regressions import Regressions
from enco.fitting.reorder import moves_between
from enco.fitting.scoring import CrossFit, part_of
from enco.graphs.dag import has_path
from enco.settings import Settings

__all__ = ["refine"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

CLEAR_HARM = 3.0  # times the evidence asked of any edge; less may be noise


def refine(
    model: ConditionalModel,
    adjacency: Mask,
    *,
    regimes: Sequence[Regime],
    movable: Mask,
    doubt: Callable[[Mask], Floats],
    counts: Callable[[], Counts] | None = None,
    regressions: Callable[[], Regressions] | None = None,
    forward: Mask | None = None,
    reorder: Callable[[float, Callable[[float], None]], Mask] | None = None,
    settings: Settings,
    n_jobs: int = 1,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> tuple[Mask, list[Move]]:
    """Improve an acyclic graph by single moves until none helps.

    Parameters
    ----------
    model : ConditionalModel
    adjacency : bool [N, N]
        An acyclic graph; row = cause.
    regimes : sequence of Regime
    movable : bool [P]
        Candidate pairs that background knowledge leaves open.
    doubt : callable
        Says, given the graph that the search ends with, how much an edge into each variable may earn [N], in nats per
        row, and still be challenged.
    counts : callable, optional
        Returns the rows of categorical variables to count. Without it, networks decide about these.
    regressions : callable, optional
        Returns regressions of the continuous variables. Without it, networks decide about these.
    forward : bool [P], optional
        Pairs whose orientation is the one that theta found; regressions add what agrees with most of them.
    reorder : callable, optional
        Revises the directions of the graph as a whole first (`enco.fitting.reorder`), given the nats that an edge must
        earn and whom to tell of its progress.
    settings : Settings
    n_jobs : int
        Threads that count.
    on_progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    adjacency : bool [N, N]
        Acyclic.
    moves : list of Move
        What was done, in order.
    """
    graph, done = adjacency.copy(), list[Move]()
    if not settings.refine_rounds:
        return graph, done
    evidence = _least_evidence(model.candidates, adjacency, settings)
    if reorder is not None:
        graph = reorder(evidence, part_of(on_progress, 0, 2))
        done += moves_between(adjacency, graph, model.candidates)
        on_progress = part_of(on_progress, 1, 2)
    scores = CrossFit(model, regimes, settings)
    price = settings.sparsity * scores.free_rows + evidence
    for k in range(settings.refine_rounds):  # the networks follow the graph
        scores.train(graph, part_of(on_progress, k, settings.refine_rounds + 1))
        moves = list(_search(graph, scores, price, movable, evidence))
        done += moves
        if not moves:
            break
    last = part_of(on_progress, settings.refine_rounds, settings.refine_rounds + 1)
    doubts = doubt(graph)
    gain = -scores.toggles(graph, doubts > 0)
    doubtful = movable & _doubtful(graph, scores, gain, doubts)
    if counts is not None:
        counted = counts()
        by_counting = counted.countable(graph)
        asked = by_counting & graph.any(axis=0)
        if asked.any():
            known_better = counted.losses(graph, asked, n_jobs) < scores.losses(graph)
            doubtful |= movable & (graph & known_better)[scores.pairs.cause, scores.pairs.effect]
        recount = Recount(graph, scores.pairs, counted, sparsity=settings.sparsity, evidence=evidence, n_jobs=n_jobs)
        done += recount.revise(movable, by_counting, doubtful, part_of(last, 0, 2))
        doubtful &= ~by_counting[scores.pairs.effect]
    if regressions is not None:
        regressed = regressions()
        by_regression = doubtful & regressed.answers_for(graph)[scores.pairs.effect]
        if regressed.continuous.any():
            done += regressed.revise(
                graph,
                scores.pairs,
                doubtful=by_regression,
                addable=movable,
                forward=movable if forward is None else movable & forward,
                price=price,
                gain=gain,
                on_progress=part_of(last, 1, 2),
            )
        doubtful &= ~by_regression
    done += _challenge(graph, scores, price, doubtful)
    return graph, done


def _search(graph: Mask, scores: CrossFit, price: Floats, movable: Mask, evidence: float) -> Iterator[Move]:
    """Make moves, changing the graph in place, until none improves the objective.

    No edge is put where it clearly does harm in rows that set its cause, measured by the evidence [nats] asked of any
    edge: an effect knows much of its causes everywhere else, and those are most of the rows.
    """
    cost = np.zeros(scores.pairs.n_pairs)  # of having each edge
    stale = np.ones(len(graph), bool)
    # An edge toggled off rounds differently from one toggled on: of two graphs as good as equal, each can seem better
    # than the other, for ever. A graph that was there before ends the search.
    seen = set[bytes]()
    while stale.any() and (now := np.packbits(graph).tobytes()) not in seen:
        seen.add(now)
        wanted = stale[scores.pairs.effect]
        toggles = scores.toggles(graph, stale) + price[scores.pairs.effect]
        cost[wanted] = toggles[wanted]
        moves = _harmless(sorted(_improving(graph, scores.pairs, cost, movable)), graph, scores, CLEAR_HARM * evidence)
        before = graph.copy()
        yield from _apply(graph, moves, scores.pairs)
        stale = (graph != before).any(axis=0)


def _improving(graph: Mask, pairs: Candidates, cost: Floats, movable: Mask) -> Iterator[Move]:
    """Every single move that lowers the objective, acyclic or not."""
    present = graph[pairs.cause, pairs.effect]
    for pair in np.flatnonzero(movable & ~present & ~graph[pairs.effect, pairs.cause] & (cost < 0)):
        yield Move(float(cost[pair]), "add", int(pair))
    for pair in np.flatnonzero(movable & present & (cost > 0)):
        yield Move(float(-cost[pair]), "delete", int(pair))
    reversible = movable & present & (pairs.reverse >= 0) & movable[pairs.reverse]
    change = cost[pairs.reverse] - cost
    for pair in np.flatnonzero(reversible & (change < 0)):
        yield Move(float(change[pair]), "reverse", int(pair))


def _harmless(moves: list[Move], graph: Mask, scores: CrossFit, most: float) -> list[Move]:
    """Keep the moves whose new edge, if any, does no more than so much harm where its cause was set, in nats."""
    reverse = scores.pairs.reverse
    new = {move: int(reverse[move.pair]) if move.kind == "reverse" else move.pair for move in moves}
    asked = np.zeros(scores.pairs.n_pairs, bool)
    asked[[new[move] for move in moves if move.kind != "delete"]] = True
    refuted = asked & (scores.harm(graph, asked) > most)
    return [move for move in moves if move.kind == "delete" or not refuted[new[move]]]


def _apply(graph: Mask, moves: list[Move], pairs: Candidates) -> Iterator[Move]:
    """Make the best moves that share no variable (their costs are then all true) and close no cycle."""
    touched: set[int] = set()
    for move in moves:
        cause, effect = int(pairs.cause[move.pair]), int(pairs.effect[move.pair])
        if cause in touched or effect in touched:
            continue
        if move.kind == "add" and has_path(graph, effect, cause):
            continue
        graph[cause, effect] = move.kind == "add"
        if move.kind == "reverse":
            graph[effect, cause] = not has_path(graph, cause, effect)
            if not graph[effect, cause]:  # another path leads from cause to effect: put the edge back
                graph[cause, effect] = True
                continue
        touched |= {cause, effect}
        yield move


def _doubtful(graph: Mask, scores: CrossFit, gain: Floats, doubt: Floats) -> Mask:
    """Edges whose gain [P] in nats is, for each row, less than the doubt in their effect [N]; [P]."""
    pairs = scores.pairs
    for_each_row = gain / np.maximum(1.0, scores.free_rows[pairs.effect])
    doubtful: Mask = graph[pairs.cause, pairs.effect] & (for_each_row < doubt[pairs.effect])
    return doubtful


def _challenge(graph: Mask, scores: CrossFit, price: Floats, open_pairs: Mask) -> Iterator[Move]:
    """Leave out one parent at a time, the least convincing one of every variable first, and keep what is better.

    All variables are tried at once: each has its own term in the objective, and leaving out an edge closes no cycle.
    """
    pairs = scores.pairs
    confirmed = ~open_pairs
    loss: Floats | None = None
    while True:
        doubtful = np.flatnonzero(graph[pairs.cause, pairs.effect] & ~confirmed)
        if not len(doubtful):
            return
        cost = scores.toggles(graph, np.isin(np.arange(len(graph)), pairs.effect[doubtful]))[doubtful]
        worst_first = doubtful[np.lexsort((doubtful, -cost))]
        tried = worst_first[np.unique(pairs.effect[worst_first], return_index=True)[1]]
        effects = pairs.effect[tried]
        if loss is None:
            loss = scores.dedicated(graph, effects)
        without = graph.copy()
        without[pairs.cause[tried], effects] = False
        gain = loss[effects] + price[effects] - (left_out := scores.dedicated(without, effects))[effects]
        for pair, effect, better in zip(tried, effects, gain, strict=True):
            if better > 0:
                graph[pairs.cause[pair], effect] = False
                loss[effect] = left_out[effect]
                # What seemed needed beside that parent may not be needed without it.
                confirmed[pairs.pairs_into(effect)] = ~open_pairs[pairs.pairs_into(effect)]
                yield Move(-float(better), "delete", int(pair))
            else:
                confirmed[pair] = True


def _least_evidence(pairs: Candidates, adjacency: Mask, settings: Settings) -> float:
    """Nats that one edge must gain over all rows, besides the sparsity cost per row."""
    joinable = pairs.n_pairs - np.count_nonzero(pairs.reverse >= 0) / 2
    joined = np.count_nonzero(adjacency)
    return max(0.0, settings.edge_evidence + float(np.log((joinable - joined + 1) / (joined + 1))))
