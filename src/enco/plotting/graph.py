"""The graph in layers, from the first causes to the last effects; lines are darker and wider for surer edges."""

from collections.abc import Sequence, Set
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import ConnectionStyle, FancyArrowPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike, NDArray

from enco.errors import SettingsError
from enco.graphs.dag import check_truth
from enco.graphs.layered_layout import layered_layout
from enco.plotting._axes import ACCENT, BLUES, GREY, TARGETED, WARNING
from enco.plotting.matrices import frequency_of
from enco.result import Result

__all__ = ["EdgeNumber", "draw_graph"]

EdgeNumber = Literal["probability", "frequency"]
_NUMBERS = {"probability": "probability", "frequency": "frequency over refits"}

# Line styles say the same as colours once more.
_EDGE_STYLES: dict[str, dict[str, Any]] = {
    "found": {"color": GREY, "linestyle": "-", "zorder": 1},
    "missed": {"color": ACCENT, "linestyle": ":", "zorder": 2},
    "false": {"color": WARNING, "linestyle": "--", "zorder": 3},
}
_PLAIN_WIDTH = 1.1
_CONFOUNDED: dict[str, Any] = {"color": "#CC79A7", "linestyle": "--", "zorder": 3}
_ARC = "arc3,rad=0.18"
_LABELS = {"found": "found", "missed": "missed", "false": "found, but not in the true graph"}
Place = tuple[float, float]


def draw_graph(
    result: Result, truth: ArrayLike | None = None, ax: Axes | None = None, *, by: EdgeNumber = "probability"
) -> Axes:
    """Draw the graph of a result from the first causes (top) to the last effects (bottom).

    Surer edges have wider lines and, without a truth, darker ones. Variables that an intervention targeted have a thick
    outline. Pairs that share a latent confounder are joined by a dashed arrow with two heads.

    Parameters
    ----------
    result : Result
    truth : array [N, N], optional
        The true graph, row = cause: edges that are missed, or not true, are then drawn in other colours.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    by : {"probability", "frequency"}
        What the lines follow: the probability of the edge, or the share of the refits that found it.

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
    strength = _strength(result, by)
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
            style = _style(kind, strength[cause, effect], compared=truth is not None)
            ax.add_patch(_arrow(places[cause], places[effect], line, style))
    position = dict(zip(result.variables, places, strict=True))
    for one, other, _ in result.confounders:
        ax.add_patch(_arrow(position[one], position[other], _ARC, _CONFOUNDED, heads="<|-|>"))
    targets = set() if result.interventions is None else set(result.interventions["target"])
    _draw_names(ax, result.variables, places, targets)
    ax.set_xlim(min(across) - 0.7, max(across) + 0.7)
    ax.set_ylim(-layout.y.max() - 0.6, 0.6)
    counts = {} if truth is None else {kind: int(matrix.sum()) for kind, matrix in edges.items()}
    handles = _handles(counts, targeted=not targets.isdisjoint(result.variables), confounded=bool(result.confounders))
    if handles:
        title = f"wider lines: higher {_NUMBERS[by]}" if counts else None
        ncols = 1 if not counts else 3 if len(handles) == len(counts) else 2
        ax.legend(
            handles=handles, title=title, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=ncols, frameon=False
        )
    if truth is None and found.any():
        scale = ScalarMappable(Normalize(0.0, 1.0), BLUES)
        inches = ax.get_window_extent().height / ax.figure.dpi
        ax.figure.colorbar(scale, ax=ax, shrink=min(0.6, 2.0 / inches), aspect=16, pad=0.02, label=_NUMBERS[by])
    ax.set_axis_off()
    return ax


def _strength(result: Result, by: str) -> NDArray[np.float64]:
    if by not in get_args(EdgeNumber):
        raise SettingsError(f"there is no number {by!r} of edges to draw by: choose from {', '.join(_NUMBERS)}")
    return result.edge_probability if by == "probability" else frequency_of(result)


def _style(kind: str, strength: float, *, compared: bool) -> dict[str, Any]:
    """Colour and width of an edge; a missed one is improbable by nature and has a width of its own."""
    style = _EDGE_STYLES[kind]
    if kind == "missed":
        return style
    colour = style["color"] if compared else BLUES(strength)
    return style | {"color": colour, "linewidth": 0.7 + 1.5 * strength, "zorder": style["zorder"] + 0.5 * strength}


def _handles(counts: dict[str, int], *, targeted: bool, confounded: bool) -> list[Line2D]:
    """List what the legend explains: kinds of edges, variables that an intervention targeted, confounded pairs."""
    handles = [
        Line2D(
            [],
            [],
            color=_EDGE_STYLES[kind]["color"],
            linestyle=_EDGE_STYLES[kind]["linestyle"],
            label=f"{_LABELS[kind]} ({count})",
        )
        for kind, count in counts.items()
    ]
    if targeted:
        box: dict[str, Any] = {
            "marker": "s",
            "markersize": 9,
            "markerfacecolor": "white",
            "markeredgewidth": 2.2,
            "linestyle": "",
        }
        handles.append(Line2D([], [], markeredgecolor=TARGETED, label="target of an intervention", **box))
    if confounded:
        colour, line = _CONFOUNDED["color"], _CONFOUNDED["linestyle"]
        handles.append(Line2D([], [], color=colour, linestyle=line, label="common cause not measured"))
    return handles


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
        connectionstyle=line,
        **({"linewidth": _PLAIN_WIDTH} | style),
    )


def _draw_names(ax: Axes, names: Sequence[str], places: Sequence[Place], targets: Set[str]) -> None:
    for name, (x, y) in zip(names, places, strict=True):
        outline = {"edgecolor": TARGETED, "linewidth": 2.2} if name in targets else {"edgecolor": GREY}
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white"} | outline
        ax.text(x, y, name, ha="center", va="center", fontsize=9, bbox=box, zorder=4, parse_math=False)
