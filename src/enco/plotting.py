"""Figures of graphs, with matplotlib."""

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from numpy.typing import ArrayLike, NDArray

from enco.errors import GraphError
from enco.graphs.dag import check_adjacency
from enco.result import Result

__all__ = ["draw_graph"]

# Okabe and Ito's colours, which everybody can tell apart; line styles say the same once more.
_STYLES: dict[str, dict[str, Any]] = {
    "found": {"color": "#404040", "linestyle": "-", "zorder": 1},
    "missed": {"color": "#0072B2", "linestyle": ":", "zorder": 2},
    "false": {"color": "#D55E00", "linestyle": "--", "zorder": 3},
}
_CONFOUNDED = {"color": "#CC79A7", "linestyle": "--", "zorder": 3}
_LABELS = {"found": "found", "missed": "missed", "false": "found, but not in the true graph"}
_SWEEPS = 8
Place = tuple[float, float]


def draw_graph(result: Result, truth: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw the graph of a result from the first causes (top) to the last effects (bottom).

    Pairs that share a latent confounder are joined by a dashed arrow with two heads.

    Parameters
    ----------
    result : Result
    truth : array [N, N], optional
        The true graph, row = cause: edges that are missed, or not true, are then drawn in other colours.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from enco.data import InterventionalData
    >>> from enco.fitting.loop import Discovery
    >>> from enco.knowledge import Knowledge
    >>> from enco.settings import Settings
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
    >>> result = Result.from_discovery(fit, data, seconds=0.0, seed=0)
    >>> [label.get_text() for label in draw_graph(result).texts]
    ['X1', 'X2']
    """
    found = result.adjacency.astype(bool)
    true = found if truth is None else check_adjacency(truth)
    if true.shape != found.shape:
        raise GraphError(
            f"the true graph has {len(true)} variables and the result {len(found)}: give both for the same variables"
        )
    edges = {"found": found & true, "missed": true & ~found, "false": found & ~true}
    places = _places(found)
    if ax is None:
        width = 1.2 + 1.1 * max(np.unique([y for _, y in places], return_counts=True)[1])
        height = 1.2 + 1.1 * len({y for _, y in places})
        narrowest = 4.0 if truth is None else 7.0  # the legend needs room
        _, ax = plt.subplots(figsize=(max(narrowest, width), max(3.0, height)), layout="constrained")
    for kind, matrix in edges.items():
        for cause, effect in np.argwhere(matrix):
            ax.add_patch(_arrow(places[cause], places[effect], _STYLES[kind]))
    position = dict(zip(result.variables, places, strict=True))
    for one, other, _ in result.confounders:
        ax.add_patch(_arrow(position[one], position[other], _CONFOUNDED, heads="<|-|>"))
    _draw_names(ax, result.variables, places)
    if truth is not None:
        handles = [
            Line2D(
                [],
                [],
                color=style["color"],
                linestyle=style["linestyle"],
                label=f"{_LABELS[kind]} ({edges[kind].sum()})",
            )
            for kind, style in _STYLES.items()
        ]
        ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, frameon=False)
    ax.set_axis_off()
    return ax


def _places(adjacency: NDArray[np.bool_]) -> list[Place]:
    """Place every variable: rows by the longest path that leads there, few crossings within them."""
    layers = [sorted(layer) for layer in nx.topological_generations(nx.DiGraph(adjacency))]
    x = np.zeros(len(adjacency))
    for layer in layers:
        x[layer] = _spread(len(layer))
    joined = adjacency | adjacency.T
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            # Each variable moves towards the middle of its neighbours, as far as the sequence allows.
            wanted = [x[joined[variable]].mean() if joined[variable].any() else x[variable] for variable in layer]
            x[np.array(layer)[np.argsort(wanted, kind="stable")]] = _spread(len(layer))
    depth = {variable: level for level, layer in enumerate(layers) for variable in layer}
    return [(float(x[variable]), -float(depth[variable])) for variable in range(len(adjacency))]


def _spread(size: int) -> NDArray[np.float64]:
    return np.arange(size, dtype=np.float64) - (size - 1) / 2.0


def _arrow(start: Place, end: Place, style: dict[str, Any], heads: str = "-|>") -> FancyArrowPatch:
    straight = heads == "-|>" and abs(start[1] - end[1]) == 1.0
    return FancyArrowPatch(
        start,
        end,
        arrowstyle=heads,
        mutation_scale=9,
        shrinkA=11,
        shrinkB=11,
        linewidth=1.1,
        connectionstyle=f"arc3,rad={0.0 if straight else 0.18}",  # bent around the rows in between
        **style,
    )


def _draw_names(ax: Axes, names: Sequence[str], places: Sequence[Place]) -> None:
    for name, (x, y) in zip(names, places, strict=True):
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#404040"}
        ax.text(x, y, name, ha="center", va="center", fontsize=9, bbox=box, zorder=4)
    across, down = zip(*places, strict=True)
    ax.set_xlim(min(across) - 0.7, max(across) + 0.7)
    ax.set_ylim(min(down) - 0.6, max(down) + 0.6)
