"""Moves that change one edge, or put one parent in the place of another."""

from collections.abc import Iterator

from enco.search.orders import BestParents
from enco.search.state import Move, State

__all__ = ["edges", "exchanges"]


def edges(best: BestParents, state: State) -> Iterator[Move]:
    """Add, delete and reverse single edges: every move that lowers the total, whether it closes a cycle or not."""
    objective, rules = best.objective, best.rules
    changes = [objective.changes(effect, parents) for effect, parents in enumerate(state.parents)]
    for effect, parents in enumerate(state.parents):
        for cause, change in changes[effect].items():
            after = {effect: parents ^ {cause}}
            if cause not in parents:
                if effect not in state.parents[cause] and rules.may_be(cause, effect) and change < 0:
                    yield Move("add", after, -change)
                continue
            if rules.must_be(cause, effect):
                continue
            if change < 0:
                yield Move("delete", after, -change)
            if rules.may_be(effect, cause) and effect in changes[cause]:
                both = change + changes[cause][effect]
                if both < 0:
                    yield Move("reverse", after | {cause: state.parents[cause] | {effect}}, -both)


def exchanges(best: BestParents, state: State) -> Iterator[Move]:
    """Put one parent in the place of another: what knows much of a missing parent is easily taken for it.

    Only causes that would add something to the parents there are, even if less than their price, come into question.
    """
    objective, rules = best.objective, best.rules
    for effect, parents in enumerate(state.parents):
        if not objective.predictors[effect].quick:
            continue
        changes = objective.changes(effect, parents)
        useful = [
            cause
            for cause, change in changes.items()
            if cause not in parents
            and change < objective.edge_price(effect)
            and effect not in state.parents[cause]
            and rules.may_be(cause, effect)
        ]
        for old in sorted(parents - rules.required[effect]) if useful else ():
            rest = parents - {old}
            for new, change in objective.changes(effect, rest, useful).items():
                gain = -changes[old] - change
                if gain > 0:
                    yield Move("exchange", {effect: rest | {new}}, gain)
