"""From learned parameters to the graph of a `Result`: orientations for the order step, and reports in names."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.graphs.order import AcyclicResult
from enco.knowledge import REQUIRED
from enco.search.state import Move, State

__all__ = ["mirrored", "named_edges", "report_of_moves", "report_of_order", "with_firm_requirements"]

Floats = NDArray[np.float64]


def mirrored(orientation: Floats, gamma: Floats) -> Floats:
    """Complete an antisymmetric matrix where only one direction of a pair was a candidate."""
    one_way = np.isneginf(gamma) & ~np.isneginf(gamma.T)
    return np.where(one_way, -orientation.T, orientation)


def with_firm_requirements(gamma: Floats, theta: Floats, preference: Floats) -> Floats:
    """Orientations for the order step, in which no sum of learned ones outweighs a required edge."""
    required = (gamma >= REQUIRED) & (theta >= REQUIRED)
    learned = ~(required | required.T)
    weights = preference.copy()
    weights[required] = 1.0 + np.abs(preference[learned]).sum()
    weights.T[required] = -weights[required]
    return weights


def report_of_order(ordered: AcyclicResult, names: tuple[str, ...]) -> dict[str, Any]:
    """Say which components had cycles, how they were ordered, and which edges went."""
    components = [
        {
            "variables": [names[position] for position in component.order],
            "method": component.method,
            "score": component.score,
            "gap": component.gap,
        }
        for component in ordered.components
    ]
    removed = sorted([names[cause], names[effect]] for cause, effect in ordered.removed)
    return {"components": components, "gap": ordered.gap, "removed": removed}


def report_of_moves(
    moves: Sequence[Move], start: NDArray[np.bool_], names: tuple[str, ...], hidden: NDArray[np.bool_]
) -> list[dict[str, Any]]:
    """Say what the search did to a graph: the edges that each move added and removed, and its gain in nats.

    Edges of variables that are hidden, which no graph shows, are left out, and so are moves of no others.
    """
    report, state = [], State.of(start)
    for move in moves:
        after = state.changed(move.families)
        changes = [
            sorted(
                [names[cause], names[effect]]
                for effect in move.families
                for cause in one.parents[effect] - other.parents[effect]
                if not hidden[cause]
            )
            for one, other in ((after, state), (state, after))
        ]
        if any(changes):
            report.append({"move": move.kind, "added": changes[0], "removed": changes[1], "gain": move.gain})
        state = after
    return report


def named_edges(edges: NDArray[np.bool_], names: tuple[str, ...], hidden: NDArray[np.bool_]) -> list[list[str]]:
    """List edges [N, N] by the names of their ends, without those of hidden variables.

    Examples
    --------
    >>> named_edges(np.array([[0, 1], [0, 0]], bool), ("A", "B"), np.zeros(2, bool))
    [['A', 'B']]
    """
    shown = edges & ~hidden & ~hidden[:, None]
    return sorted([names[cause], names[effect]] for cause, effect in np.argwhere(shown))
