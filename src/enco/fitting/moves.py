"""Changes of a graph in the refinement."""

from dataclasses import dataclass

__all__ = ["Move"]


@dataclass(frozen=True, order=True)
class Move:
    """One change of the graph; the lower its cost, the better."""

    cost: float  # change of the objective, nats
    kind: str  # "add", "delete" or "reverse"
    pair: int  # the edge as it is in the graph before the move, or the one to add
