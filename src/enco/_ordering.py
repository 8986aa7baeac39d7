"""From learned parameters to the graph of a `Result`: orientations for the order step, and reports in names."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.fitting.moves import Move
from enco.graphs.order import AcyclicResult
from enco.knowledge import REQUIRED

__all__ = ["mirrored", "report_of_moves", "report_of_order", "with_firm_requirements"]

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


def report_of_moves(moves: list[Move], pairs: Candidates, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Say what the refinement did, each move with its gain in nats."""
    return [
        {"move": move.kind, "cause": names[pairs.cause[move.pair]], "effect": names[pairs.effect[move.pair]],
         "gain": -move.cost}
        for move in moves
    ]  # fmt: skip
