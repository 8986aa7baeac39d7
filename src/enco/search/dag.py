"""The search: the best moves first, until none lowers the total.

Cheap moves come first: single edges, then exchanges of parents, then other places in the causal order. After a move,
the cheap ones are looked at again. Every move is priced by the families it changes, before and after; it is made if the
total falls by more than `LEAST_GAIN`. So the search ends by itself, and the gain of every move is a difference of two
totals.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.score.objective import Map, Objective
from enco.search.moves import edges, exchanges
from enco.search.orders import BestParents, placings, rootings
from enco.search.state import Move, Rules, State

__all__ = ["Path", "search"]

Mask = NDArray[np.bool_]

LEAST_GAIN = 1.0  # nats; what rounding changes is far less
CLEAR_HARM = 6.0  # nats that a new edge may lose in rows that intervene on its cause


@dataclass(frozen=True)
class Path:
    """Where a search ended, and how it got there.

    Attributes
    ----------
    graph : bool [N, N]
        Acyclic.
    moves : list of Move
        In order; the total falls by the gain of each.
    before, after : float
        Totals.
    """

    graph: Mask
    moves: list[Move]
    before: float
    after: float


def search(
    objective: Objective,
    start: Mask,
    *,
    allowed: Mask,
    required: Mask,
    joined: Mask,
    told: Mask,
    run: Map = map,
    on_move: Callable[[Move], None] = lambda move: None,
) -> Path:
    """Lower the total of an acyclic graph until no move does.

    Parameters
    ----------
    objective : Objective
    start : bool [N, N]
        Row = cause.
    allowed, required : bool [N, N]
        Edges that may be there, and those that must.
    joined : bool [N, N]
        Pairs to think of, in both directions, when a variable takes another place in the order.
    told : bool [N, N]
        Pairs whose direction some intervention tells.
    run : callable
        Like `map`; prices of several families at once.
    on_move : callable, optional
        Called after every move.
    """
    rules = Rules.of(allowed, required, joined | start, told)
    state = State.of(start)
    best = BestParents(objective, rules)
    done: list[Move] = []

    def looks() -> Iterator[Iterable[Move]]:
        objective.ask(((j, parents, _all(objective, j, parents)) for j, parents in enumerate(state.parents)), run)
        yield edges(objective, state, rules)
        yield exchanges(objective, state, rules)
        order = state.order()
        yield placings(best, state, order)
        yield rootings(best, state, order)

    before = objective.total(start)
    moved = True
    while moved:
        moved = False
        for moves in looks():
            made = _make(objective, state, sorted(moves, key=_rank))
            if made:
                for move in made:
                    state = state.changed(move.families)
                    done.append(move)
                    on_move(move)
                moved = True
                break
    return Path(state.graph, done, before, objective.total(state.graph))


def _all(objective: Objective, effect: int, parents: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(objective.candidates[effect] | parents))


def _rank(move: Move) -> tuple[float, str, list[tuple[int, list[int]]]]:
    """Put the move that gains most first; of equal ones, always the same."""
    return -move.gain, move.kind, sorted((effect, sorted(parents)) for effect, parents in move.families.items())


def _make(objective: Objective, state: State, moves: Sequence[Move]) -> list[Move]:
    """Choose the best moves that change different families, so that their gains add up, and close no cycle."""
    made, touched = list[Move](), set[int]()
    for move in moves:
        if move.gain <= LEAST_GAIN or touched & move.families.keys():
            continue
        after = state.changed(move.families)
        if not _is_acyclic(state, after, move) or not _is_harmless(objective, state, move):
            continue
        gain = sum(
            objective.price(effect, state.parents[effect]) - objective.price(effect, parents)
            for effect, parents in move.families.items()
        )
        if gain > LEAST_GAIN:
            made.append(Move(move.kind, move.families, gain))
            touched |= move.families.keys()
            state = after
            if move.kind in ("place", "root"):
                break  # the others were made for the order before
    return made


def _is_acyclic(before: State, after: State, move: Move) -> bool:
    return not any(
        after.leads(effect, cause)
        for effect, parents in move.families.items()
        for cause in parents - before.parents[effect]
    )


def _is_harmless(objective: Objective, state: State, move: Move) -> bool:
    """Whether no new edge clearly does harm in rows that intervene on its cause."""
    return all(
        objective.under_intervention_on(cause, effect, parents) <= CLEAR_HARM
        for effect, parents in move.families.items()
        for cause in parents - state.parents[effect]
    )
