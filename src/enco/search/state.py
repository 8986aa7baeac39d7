"""An acyclic graph as a search sees it, and a change of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.graphs.dag import topological_order

__all__ = ["Move", "Rules", "State"]

Mask = NDArray[np.bool_]
Parents = tuple[frozenset[int], ...]


@dataclass(frozen=True)
class Rules:
    """What a graph may and must have.

    Attributes
    ----------
    allowed : sequence of frozenset
        Possible parents of each variable.
    required : sequence of frozenset
        Parents that it must have.
    near : sequence of frozenset
        Variables that each may be joined to when it takes another place in the causal order.
    loose : frozenset
        Variables that may take another place: those with an unidentified direction to one that is near.
    """

    allowed: Sequence[frozenset[int]]
    required: Sequence[frozenset[int]]
    near: Sequence[frozenset[int]]
    loose: frozenset[int]

    @classmethod
    def of(cls, allowed: Mask, required: Mask, joined: Mask, told: Mask) -> "Rules":
        """Read them from matrices [N, N], row = cause; `joined` counts in both directions."""
        open_pairs = allowed | required
        near = (joined | joined.T) & (open_pairs | open_pairs.T)
        loose = frozenset(np.flatnonzero((near & ~told).any(axis=0)).tolist())
        return cls(_sets(open_pairs), _sets(required), _sets(near), loose)

    def may_be(self, cause: int, effect: int) -> bool:
        """Whether an edge may be there."""
        return cause in self.allowed[effect]

    def must_be(self, cause: int, effect: int) -> bool:
        """Whether it must."""
        return cause in self.required[effect]


@dataclass(frozen=True)
class State:
    """An acyclic graph: the parents of every variable."""

    parents: Parents

    @classmethod
    def of(cls, graph: Mask) -> "State":
        """Take over a graph [N, N], row = cause."""
        return cls(_sets(graph))

    @property
    def graph(self) -> Mask:
        """As a matrix [N, N], row = cause."""
        graph = np.zeros((len(self.parents),) * 2, bool)
        for effect, parents in enumerate(self.parents):
            graph[list(parents), effect] = True
        return graph

    def order(self) -> list[int]:
        """Return a causal order."""
        return [int(variable) for variable in topological_order(self.graph)]

    def leads(self, begin: int, end: int) -> bool:
        """Whether a path leads from one variable to another, or they are the same."""
        waiting, seen = [end], {end}
        while waiting:
            variable = waiting.pop()
            if variable == begin:
                return True
            new = self.parents[variable] - seen
            seen |= new
            waiting += new
        return False

    def changed(self, families: Mapping[int, frozenset[int]]) -> "State":
        """Give some variables other parents."""
        return State(tuple(families.get(effect, parents) for effect, parents in enumerate(self.parents)))


@dataclass(frozen=True)
class Move:
    """A change of a graph.

    Attributes
    ----------
    kind : str
        "add", "delete", "reverse", "exchange", "place", "root", "harmful" for an edge of the first graph that clearly
        does harm in rows that intervene on its cause, or "restart" for another start of the search.
    families : dict
        New parents of the variables that get other ones.
    gain : float
        Nats by which the total falls; a harmful edge leaves even if the total rises.
    """

    kind: str
    families: Mapping[int, frozenset[int]]
    gain: float


def _sets(mask: Mask) -> Parents:
    return tuple(frozenset(np.flatnonzero(column).tolist()) for column in mask.T)
