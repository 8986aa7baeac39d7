"""The search: the best moves first, until none lowers the total.

Cheap moves come first: single edges, then exchanges of parents, then other places in the causal order. After a move,
the cheap ones are looked at again. Every move is priced by the families it changes, before and after; it is made if the
total falls by more than `LEAST_GAIN`. So the search ends by itself, and the gain of every move is a difference of two
totals.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from enco.score.objective import CLEAR_HARM, Objective
from enco.score.strength import Strength
from enco.score.support import Support
from enco.score.suspects import Suspect
from enco.search.moves import edges, exchanges
from enco.search.orders import BestParents, places, roots
from enco.search.state import Move, Rules, State

__all__ = ["MOVES", "ORDER_MOVES", "Path", "Propose", "search"]

Mask = NDArray[np.bool_]
Map = Callable[[Callable[[int], None], Iterable[int]], Iterable[None]]

LEAST_GAIN = 1.0  # nats; what rounding changes is far less

Propose = Callable[[BestParents, State], Iterable[Move]]
"""A kind of move: all that may lower the total of a graph, with their gains, which may be guesses."""

ORDER_MOVES: tuple[Propose, ...] = (places, roots)
"""Those that change the causal order: one of them at a time."""

MOVES: tuple[Propose, ...] = (edges, exchanges, *ORDER_MOVES)
"""All kinds, the cheap ones first; a new kind is a function and its name here."""


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
    suspects : list of Suspect
        Variables that regimes seem to have hit besides their targets, if that was looked at.
    strengths : list of Strength
        Of the interventions, likewise.
    dispersion : sequence of float
        Of each variable, likewise; see `enco.score.dispersion`.
    gains : float64 [regimes, N]
        Nats for each variable to be hit by each regime besides its targets, likewise; see `enco.score.suspects`.
    support : Support, optional
        How sure its edges are, of the last search.
    """

    graph: Mask
    moves: list[Move]
    before: float
    after: float
    suspects: list[Suspect] = field(default_factory=list)
    strengths: list[Strength] = field(default_factory=list)
    dispersion: Sequence[float] = ()
    gains: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    support: Support | None = None

    def seen_from(self, start: Mask, total: float) -> "Path":
        """Return the path of a search that began elsewhere as one move from a graph of a known total."""
        families = {
            effect: parents
            for effect, parents in enumerate(State.of(self.graph).parents)
            if (start[:, effect] != self.graph[:, effect]).any()
        }
        return Path(self.graph, [Move("restart", families, total - self.after)], total, self.after)


def search(
    objective: Objective,
    start: Mask,
    rules: Rules,
    *,
    moves: Sequence[Propose] = MOVES,
    order_first: bool = False,
    run: Map = map,
    on_move: Callable[[Move], None] = lambda move: None,
) -> Path:
    """Lower the total of an acyclic graph until no move does.

    Parameters
    ----------
    objective : Objective
    start : bool [N, N]
        Row = cause.
    rules : Rules
    moves : sequence of callables
        Kinds of moves, in the order in which they are looked at.
    order_first : bool
        Whether to look at places in the causal order before single edges.
    run : callable
        Like `map`; prices of several families at once.
    on_move : callable, optional
        Called after every move.
    """
    state = State.of(start)
    best = BestParents(objective, rules)
    done: list[Move] = []

    def look(effect: int) -> None:
        objective.changes(effect, state.parents[effect])

    kinds = sorted(moves, key=ORDER_MOVES.__contains__, reverse=True) if order_first else moves
    before = objective.total(start)
    for move in _harmful(objective, state, rules):
        state = state.changed(move.families)
        done.append(move)
        on_move(move)
    moved = True
    while moved:
        moved = False
        for propose in kinds:
            if propose is edges:  # what it will ask, on all threads
                for _ in run(look, range(len(start))):
                    pass
            proposed = sorted(propose(best, state), key=_rank)
            made = _make(objective, state, proposed, one=propose in ORDER_MOVES)
            if made:
                for move in made:
                    state = state.changed(move.families)
                    done.append(move)
                    on_move(move)
                moved = True
                break
    return Path(state.graph, done, before, objective.total(state.graph))


def _harmful(objective: Objective, state: State, rules: Rules) -> Iterator[Move]:
    """Delete edges that clearly do harm in rows that intervene on their cause, the most harmful first.

    Only where predictors answer quickly; the first search of a fit asks those alone.
    """
    for effect, parents in enumerate(state.parents):
        while objective.predictors[effect].quick and (free := parents - rules.required[effect]):
            harm = {cause: objective.under_intervention_on(cause, effect, parents) for cause in sorted(free)}
            worst = max(harm, key=lambda cause: harm[cause])
            if harm[worst] <= CLEAR_HARM:
                break
            rest = parents - {worst}
            yield Move("harmful", {effect: rest}, objective.price(effect, parents) - objective.price(effect, rest))
            parents = rest


def _rank(move: Move) -> tuple[float, str, list[tuple[int, list[int]]]]:
    """Put the move that gains most first; of equal ones, always the same."""
    return -move.gain, move.kind, sorted((effect, sorted(parents)) for effect, parents in move.families.items())


def _make(objective: Objective, state: State, moves: Sequence[Move], *, one: bool) -> list[Move]:
    """Choose the best moves that change different families, so that their gains add up, and close no cycle."""
    made, touched = list[Move](), set[int]()
    for move in moves:
        if move.gain <= LEAST_GAIN or touched & move.families.keys():
            continue
        after = state.changed(move.families)
        if not _is_acyclic(state, after, move):
            continue
        if not _is_harmless(objective, state, move):
            continue
        # The family with more parents may find what helps the other; asked for twice, both know it.
        for effect, parents in move.families.items():
            objective.price(effect, parents)
        gain = sum(
            objective.price(effect, state.parents[effect]) - objective.price(effect, parents)
            for effect, parents in move.families.items()
        )
        if gain > LEAST_GAIN:
            made.append(Move(move.kind, move.families, gain))
            touched |= move.families.keys()
            state = after
            if one:
                break  # the others were made for the order before
    return made


def _is_acyclic(before: State, after: State, move: Move) -> bool:
    return not any(
        after.leads(effect, cause)
        for effect, parents in move.families.items()
        for cause in parents - before.parents[effect]
    )


def _is_harmless(objective: Objective, state: State, move: Move) -> bool:
    """Whether no new edge clearly does harm in rows that intervene on its cause.

    An effect knows much of its causes in all other rows, and those are most: where the edge from cause to effect is not
    allowed, or a latent variable joins the two, the total alone would take the effect for a cause.
    """
    return all(
        objective.under_intervention_on(cause, effect, parents) <= CLEAR_HARM
        for effect, parents in move.families.items()
        for cause in parents - state.parents[effect]
    )
