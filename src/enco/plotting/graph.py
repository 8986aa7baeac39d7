"""The graph in layers, from the first causes to the last effects."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import ConnectionStyle, FancyArrowPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike

from enco.graphs.dag import check_truth
from enco.graphs.layered_layout import layered_layout
from enco.result import Result

__all__ = ["draw_graph"]

# Okabe and Ito's colours, which everybody can tell apart; line styles say the same once more.
_EDGE_STYLES: dict[str, dict[str, Any]] = {
    "found": {"color": "#404040", "linestyle": "-", "zorder": 1},
    "missed": {"color": "#0072B2", "linestyle": ":", "zorder": 2},
    "false": {"color": "#D55E00", "linestyle": "--", "zorder": 3},
}
_CONFOUNDED = {"color": "#CC79A7", "linestyle": "--", "zorder": 3}
_ARC = "arc3,rad=0.18"
_LABELS = {"found": "found", "missed": "missed", "false": "found, but not in the true graph"}
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
    >>> from enco.discover import conclude
    >>> from enco.fitting.loop import Discovery
    >>> from enco.settings import Settings
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
    >>> result = conclude(fit, data, seconds=0.0, seed=0)
    >>> [label.get_text() for label in draw_graph(result).texts]
    ['X1', 'X2']
    """
    found = result.adjacency.astype(bool)
    true = found if truth is None else check_truth(truth, len(found))
    edges = {"found": found & true, "missed": true & ~found, "false": found & ~true}
    layout = layered_layout(found)
    places = list(zip(layout.x.tolist(), (-layout.y).tolist(), strict=True))
    across = [*layout.x.tolist(), *(x for points in layout.bends.values() for x, _ in points)]
    if ax is None:
        width = 2.0 + 0.9 * np.ptp(across)
        height = 2.0 + 0.9 * np.ptp(layout.y)
        narrowest = max(4.0 if truth is None else 7.0, 0.25 * height)  # room for the legend, and for arcs
        _, ax = plt.subplots(figsize=(max(narrowest, width), max(3.0, height)), layout="constrained")
    for kind, matrix in edges.items():
        for cause, effect in np.argwhere(matrix):
            bends = layout.bends.get((cause, effect), [])
            next_row = layout.y[effect] - layout.y[cause] == 1.0
            # Missed edges had no say in the layout, and may point anywhere.
            line = _Through(ax, bends) if kind != "missed" and (bends or next_row) else _ARC
            ax.add_patch(_arrow(places[cause], places[effect], line, _EDGE_STYLES[kind]))
    position = dict(zip(result.variables, places, strict=True))
    for one, other, _ in result.confounders:
        ax.add_patch(_arrow(position[one], position[other], _ARC, _CONFOUNDED, heads="<|-|>"))
    _draw_names(ax, result.variables, places)
    ax.set_xlim(min(across) - 0.7, max(across) + 0.7)
    ax.set_ylim(-layout.y.max() - 0.6, 0.6)
    if truth is not None:
        handles = [
            Line2D(
                [],
                [],
                color=style["color"],
                linestyle=style["linestyle"],
                label=f"{_LABELS[kind]} ({edges[kind].sum()})",
            )
            for kind, style in _EDGE_STYLES.items()
        ]
        ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, frameon=False)
    ax.set_axis_off()
    return ax


class _Through(ConnectionStyle._Base):
    """A line from cause to effect through the bends of its edge, smooth, with vertical ends.

    Matplotlib asks for the line in the coordinates of the screen, and may do so again whenever the figure changes.
    """

    def __init__(self, ax: Axes, bends: Sequence[Place]) -> None:
        self.ax = ax
        self.bends = bends

    def connect(self, start: Place, end: Place) -> Path:
        """Return the line between two points of the screen."""
        between = [tuple(self.ax.transData.transform((x, -y))) for x, y in self.bends]
        vertices, codes = [start], [Path.MOVETO]
        for (x, y), (next_x, next_y) in pairwise([start, *between, end]):
            middle = (y + next_y) / 2
            vertices += [(x, middle), (next_x, middle), (next_x, next_y)]
            codes += [Path.CURVE4] * 3
        return Path(vertices, codes)


def _arrow(start: Place, end: Place, line: Any, style: dict[str, Any], heads: str = "-|>") -> FancyArrowPatch:
    return FancyArrowPatch(
        start,
        end,
        arrowstyle=heads,
        mutation_scale=9,
        shrinkA=11,
        shrinkB=11,
        linewidth=1.1,
        connectionstyle=line,
        **style,
    )


def _draw_names(ax: Axes, names: Sequence[str], places: Sequence[Place]) -> None:
    for name, (x, y) in zip(names, places, strict=True):
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#404040"}
        ax.text(x, y, name, ha="center", va="center", fontsize=9, bbox=box, zorder=4, parse_math=False)
