"""Graphs with directed and undirected edges, small and quick: a set of variables is an integer, one bit for each.

Such a graph is *completed* if it stands for a class of equivalent directed acyclic graphs: x -> y where all members of
the class agree, x - y where they do not. References: Dor and Tarsi (1992), "A simple algorithm to construct a
consistent extension of a partially oriented graph"; Chickering (1995), "A transformational characterization of
equivalent Bayesian network structures".
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["PartialDag", "members"]


def members(variables: int) -> Iterator[int]:
    """Positions of the bits of a set, in ascending order.

    Examples
    --------
    >>> list(members(0b10110))
    [1, 2, 4]
    """
    while variables:
        lowest = variables & -variables
        yield lowest.bit_length() - 1
        variables ^= lowest


class PartialDag:
    """A graph of edges x -> y and x - y; a new one has none.

    Parameters
    ----------
    n_variables : int

    Attributes
    ----------
    outgoing, incoming : list of int
        For each variable, the set of those that an edge leads to or comes from; x - y counts as both x -> y and y -> x.

    Examples
    --------
    >>> chain = PartialDag.from_matrix([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> chain.completed().to_matrix().astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """

    def __init__(self, n_variables: int) -> None:
        self.outgoing = [0] * n_variables
        self.incoming = [0] * n_variables

    def __len__(self) -> int:
        return len(self.outgoing)

    @classmethod
    def from_matrix(cls, adjacency: NDArray[np.generic] | list[list[int]]) -> "PartialDag":
        """Read a matrix [N, N], row = cause; x - y is an entry in both directions."""
        graph = cls(len(adjacency))
        for cause, effect in np.argwhere(adjacency).tolist():
            graph.add(cause, effect)
        return graph

    def to_matrix(self) -> NDArray[np.bool_]:
        """Write a matrix [N, N], row = cause; x - y is an entry in both directions."""
        matrix = np.zeros((len(self), len(self)), bool)
        for cause, effects in enumerate(self.outgoing):
            matrix[cause, list(members(effects))] = True
        return matrix

    def copy(self) -> "PartialDag":
        """Return a graph that can be changed on its own."""
        twin = PartialDag(0)
        twin.outgoing, twin.incoming = self.outgoing.copy(), self.incoming.copy()
        return twin

    def add(self, cause: int, effect: int) -> None:
        """Add cause -> effect; it makes effect -> cause undirected."""
        self.outgoing[cause] |= 1 << effect
        self.incoming[effect] |= 1 << cause

    def remove(self, cause: int, effect: int) -> None:
        """Take cause -> effect away; it leaves effect -> cause of an undirected edge."""
        self.outgoing[cause] &= ~(1 << effect)
        self.incoming[effect] &= ~(1 << cause)

    def parents(self, variable: int) -> int:
        """Those with a directed edge into the variable."""
        return self.incoming[variable] & ~self.outgoing[variable]

    def neighbours(self, variable: int) -> int:
        """Those with an undirected edge."""
        return self.incoming[variable] & self.outgoing[variable]

    def adjacent(self, variable: int) -> int:
        """Those with any edge."""
        return self.incoming[variable] | self.outgoing[variable]

    def cliques(self, core: int, others: int) -> list[int]:
        """All sets of mutually adjacent variables that have the core and any of the others.

        Examples
        --------
        >>> graph = PartialDag.from_matrix([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
        >>> [list(members(clique)) for clique in graph.cliques(0b001, 0b110)]
        [[0], [0, 2], [0, 1]]
        """
        if any(core & ~self.adjacent(variable) != 1 << variable for variable in members(core)):
            return []
        found = [core]
        for other in reversed(list(members(others))):
            strangers = ~self.adjacent(other)
            found += [clique | 1 << other for clique in found if not clique & strangers]
        return found

    def has_path(self, start: int, end: int, *, avoiding: int) -> bool:
        """Tell whether a semi-directed path, one with no edge against its direction, avoids a set of variables.

        Examples
        --------
        >>> chain = PartialDag.from_matrix([[0, 1, 0], [1, 0, 1], [0, 0, 0]])  # 0 - 1 -> 2
        >>> chain.has_path(0, 2, avoiding=0), chain.has_path(0, 2, avoiding=0b010), chain.has_path(2, 0, avoiding=0)
        (True, False, False)
        """
        # Breadth first: every variable is looked at once, however many paths there are.
        frontier, seen = 1 << start, 1 << start | avoiding
        while frontier and not frontier >> end & 1:
            reached = 0
            for variable in members(frontier):
                reached |= self.outgoing[variable]
            frontier = reached & ~seen
            seen |= frontier
        return bool(frontier)

    def completed(self) -> "PartialDag":
        """Return the graph of the class that its consistent extensions are members of.

        Raises
        ------
        ValueError
            If it has none: undirected edges cannot be directed without a cycle or a new v-structure.
        """
        order, parents = self._extension()
        compelled = _compelled(order, parents)
        graph = PartialDag(len(order))
        for effect in order:
            for cause in members(parents[effect]):
                graph.add(cause, effect)
                if not compelled[effect] >> cause & 1:
                    graph.add(effect, cause)
        return graph

    def _extension(self) -> tuple[list[int], list[int]]:
        """Direct all edges as Dor and Tarsi do: variables in a causal order, and the parents of each."""
        order: list[int] = []
        parents = [0] * len(self)
        left = pending = (1 << len(self)) - 1
        while pending:
            sink = pending.bit_length() - 1
            pending ^= 1 << sink
            around = self.adjacent(sink) & left
            neighbours = self.neighbours(sink) & left
            # A sink takes in all its edges. That makes no new v-structure if its neighbours are adjacent to all around.
            if self.outgoing[sink] & left == neighbours and all(
                not around & ~self.adjacent(neighbour) & ~(1 << neighbour) for neighbour in members(neighbours)
            ):
                order.append(sink)
                parents[sink] = around
                left ^= 1 << sink
                pending |= around  # only they can have become sinks
        if left:
            raise ValueError("the graph has no consistent extension")
        return order[::-1], parents


def _compelled(order: list[int], parents: list[int]) -> list[int]:
    """For each variable of a directed acyclic graph, those parents that it has in every equivalent graph.

    This is Chickering's algorithm "Label-Edges", for all edges into a variable at once: the latest parent decides.
    """
    compelled = [0] * len(parents)
    place = {variable: position for position, variable in enumerate(order)}
    for effect in order:
        if parents[effect]:
            latest = max(members(parents[effect]), key=place.__getitem__)
            others = parents[effect] & ~(1 << latest)
            # A v-structure at the effect compels, and so does a chain that would be a v-structure if it were turned.
            collides = others & ~parents[latest]
            continues = compelled[latest] & ~others
            compelled[effect] = parents[effect] if collides or continues else compelled[latest]
    return compelled
