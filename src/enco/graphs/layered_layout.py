"""Where to draw the variables of an acyclic graph: in layers, causes above effects, with few crossings.

The classical steps for layered drawings: every variable goes to the layer of the longest path that leads to it; an
edge that skips layers gets a bend in each of them; sweeps up and down sort each layer by the middle of its neighbours;
and at last every member moves as close to its neighbours as the sequence allows, which is an isotonic regression.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from enco.graphs.dag import check_adjacency, topological_order

__all__ = ["GraphLayout", "layered_layout"]

Point = tuple[float, float]
Edge = tuple[int, int]

_ORDER_SWEEPS = 16
_PLACE_SWEEPS = 24
_BEND_WIDTH = 0.2  # room for a passing edge; a variable has 1
_STRAIGHT = 3.0  # how much more two bends of an edge want to be above each other than anything else does
_MOST_BENDS = 1500  # beyond this, bends would push the variables apart rather than help


@dataclass(frozen=True, eq=False)
class GraphLayout:
    """Positions in units of one variable: x to the right, y downwards.

    Attributes
    ----------
    x, y : float64 [N]
    bends : dict
        For an edge (cause, effect) that skips layers, the points it passes through, from top to bottom.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    bends: dict[Edge, list[Point]]


def layered_layout(adjacency: ArrayLike, *, widest: int | None = None) -> GraphLayout:
    """Place the variables of an acyclic graph in layers.

    Parameters
    ----------
    adjacency : array [N, N]
        Row = cause; must be acyclic.
    widest : int, optional
        A layer with more variables is broken into several rows, one below the other. No limit by default.

    Returns
    -------
    GraphLayout
        Variables without any edge come last, below all others.

    Examples
    --------
    >>> chain_and_shortcut = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> layout = layered_layout(chain_and_shortcut)
    >>> layout.y.tolist(), list(layout.bends)
    ([0.0, 1.0, 2.0], [(0, 2)])
    """
    graph = check_adjacency(adjacency)
    drawing = _Drawing(graph)
    drawing.sort()
    return drawing.place(widest)


class _Drawing:
    """The members of the layers: variables 0 to N-1, then the bends of long edges."""

    def __init__(self, graph: NDArray[np.bool_]) -> None:
        self.graph = graph
        self.n = len(graph)
        depth = _depths(graph)
        self.alone = [int(v) for v in np.flatnonzero(~(graph.any(axis=0) | graph.any(axis=1)))]
        edges = [(int(cause), int(effect)) for cause, effect in np.argwhere(graph)]
        skipped = sum(int(depth[effect] - depth[cause]) - 1 for cause, effect in edges)
        self.level = depth.tolist()
        self.chains: dict[Edge, list[int]] = {}
        self.upper: list[list[int]] = [[] for _ in range(self.n)]  # neighbours in layers above
        self.lower: list[list[int]] = [[] for _ in range(self.n)]
        for cause, effect in edges:
            self._connect(cause, effect, bend=skipped <= _MOST_BENDS)
        alone = set(self.alone)
        members = [member for member in range(len(self.level)) if member not in alone]
        deepest = max((self.level[member] for member in members), default=-1)
        self.layers: list[list[int]] = [[] for _ in range(deepest + 1)]
        for member in members:
            self.layers[self.level[member]].append(member)

    def _connect(self, cause: int, effect: int, *, bend: bool) -> None:
        path = [cause]
        for level in range(self.level[cause] + 1, self.level[effect]) if bend else ():
            path.append(len(self.level))
            self.level.append(level)
            self.upper.append([])
            self.lower.append([])
        path.append(effect)
        if len(path) > 2:
            self.chains[cause, effect] = path[1:-1]
        for above, below in pairwise(path):
            self.lower[above].append(below)
            self.upper[below].append(above)

    def sort(self) -> None:
        """Sort each layer by the middle of its neighbours, and keep the sequence with the fewest crossings."""
        best, fewest = self.layers, self._crossings()
        for sweep in range(_ORDER_SWEEPS):
            down = sweep % 2 == 0
            self.layers = [list(layer) for layer in self.layers]
            rank = self._ranks()
            for layer in self.layers if down else self.layers[::-1]:
                neighbours = self.upper if down else self.lower
                wanted = {m: _middle([rank[other] for other in neighbours[m]], rank[m]) for m in layer}
                layer.sort(key=wanted.__getitem__)
                rank.update(_shares(layer))
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = self.layers, crossings
        self.layers = best

    def place(self, widest: int | None) -> GraphLayout:
        """Find x by isotonic regressions and y by counting rows."""
        rows = [self._rows(layer, widest) for layer in self.layers]
        x = np.zeros(len(self.level))
        offsets = []
        for layer, count in zip(self.layers, rows, strict=True):
            width = np.array([1.0 / count if member < self.n else _BEND_WIDTH for member in layer])
            offsets.append(np.cumsum(width) - width / 2)
            x[layer] = offsets[-1] - width.sum() / 2
        for sweep in range(_PLACE_SWEEPS):
            sequence = range(len(self.layers)) if sweep % 2 == 0 else range(len(self.layers) - 1, -1, -1)
            for level in sequence:
                layer = self.layers[level]
                wanted, weight = zip(*(self._wish(member, x) for member in layer), strict=True)
                fitted = isotonic_regression(np.array(wanted) - offsets[level], weights=np.array(weight)).x
                x[layer] = fitted + offsets[level]
        y = np.zeros(len(self.level))
        top = 0
        for layer, count in zip(self.layers, rows, strict=True):
            variables = [member for member in layer if member < self.n]
            y[layer] = top + (count - 1) / 2
            y[variables] = top + np.arange(len(variables)) % count
            top += count
        self._place_alone(x, y, top, widest)
        points = {edge: [(float(x[m]), float(y[m])) for m in chain] for edge, chain in self.chains.items()}
        return GraphLayout(x[: self.n], y[: self.n], points)

    def _rows(self, layer: Sequence[int], widest: int | None) -> int:
        variables = sum(member < self.n for member in layer)
        return 1 if widest is None else max(1, ceil(variables / widest))

    def _wish(self, member: int, x: NDArray[np.float64]) -> tuple[float, float]:
        """Where a member wants to be, and how strongly."""
        others = self.upper[member] + self.lower[member]
        weights = [_STRAIGHT if member >= self.n and other >= self.n else 1.0 for other in others]
        return float(np.average(x[others], weights=weights)), sum(weights)

    def _place_alone(self, x: NDArray[np.float64], y: NDArray[np.float64], top: int, widest: int | None) -> None:
        if not self.alone:
            return
        used = [member for layer in self.layers for member in layer]
        span = float(np.ptp(x[used])) + 1.0 if used else 0.0
        middle = float(x[used].min() + x[used].max()) / 2 if used else 0.0
        per_row = max(1, int(max(span, widest or 0, sqrt(2 * len(self.alone)))))
        for place, variable in enumerate(self.alone):
            row, column = divmod(place, per_row)
            in_row = min(per_row, len(self.alone) - row * per_row)
            x[variable] = middle + column - (in_row - 1) / 2
            y[variable] = top + row

    def _ranks(self) -> dict[int, float]:
        return {member: share for layer in self.layers for member, share in _shares(layer).items()}

    def _crossings(self) -> int:
        """Count pairs of edges between successive layers that cross."""
        place = {member: position for layer in self.layers for position, member in enumerate(layer)}
        crossings = 0
        for level, layer in enumerate(self.layers):
            seen: list[int] = []
            for member in layer:
                ends = sorted(place[other] for other in self.lower[member] if self.level[other] == level + 1)
                crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return crossings


def _depths(graph: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Length of the longest path that leads to each variable."""
    depth = np.zeros(len(graph), np.int64)
    for variable in topological_order(graph):
        children = graph[variable]
        depth[children] = np.maximum(depth[children], depth[variable] + 1)
    return depth


def _shares(layer: Sequence[int]) -> dict[int, float]:
    """Positions within a layer as numbers between 0 and 1, comparable between layers of different size."""
    return {member: (position + 0.5) / len(layer) for position, member in enumerate(layer)}


def _middle(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
