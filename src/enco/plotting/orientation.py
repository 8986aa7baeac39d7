"""How sure the fit is of the direction of each edge."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from enco.plotting._axes import ACCENT, WARNING, start_axes
from enco.result import Result

__all__ = ["draw_orientation"]

_MOST_EDGES = 40


def draw_orientation(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the probability of the direction of each edge, the least sure first, 40 edges at most.

    Directions that rest on interventions elsewhere, because no regime targets just one end of the edge, are drawn as
    open circles: they have no guarantee.

    Parameters
    ----------
    result : Result
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from enco.result.example import small_result
    >>> [label.get_text() for label in draw_orientation(small_result()).get_yticklabels()]
    ['B → C', 'A → B']
    """
    table = result.to_frame().sort_values("orientation", kind="stable")
    shown = table.head(_MOST_EDGES)
    ax = start_axes(ax, 6.0, 1.6 + 0.2 * len(shown))
    place = np.arange(len(shown))
    near = shown["adjacent_intervention"].to_numpy(dtype=bool)
    probability = shown["orientation"].to_numpy()
    ax.hlines(place, 0.5, probability, color="#c8c8c8", linewidth=1.0, zorder=1)
    ax.scatter(probability[near], place[near], s=26, color=ACCENT, zorder=2)
    ax.scatter(probability[~near], place[~near], s=26, facecolors="white", edgecolors=WARNING, zorder=2)
    labels = [f"{edge.cause} → {edge.effect}" for edge in shown.itertuples()]
    ax.set_yticks(place, labels, fontsize=8, parse_math=False)
    ax.invert_yaxis()
    ax.axvline(0.5, color="#909090", linewidth=0.8, linestyle=":")
    ax.set_xlim(min(0.45, float(probability.min(initial=0.5)) - 0.03), 1.02)
    ax.set_xlabel("probability of the direction")
    if len(shown) < len(table):
        ax.set_title(f"the {len(shown)} least sure of {len(table)} edges", fontsize=10)
    circle: dict[str, Any] = {"linestyle": "", "marker": "o"}
    handles = [
        Line2D([], [], color=ACCENT, label="intervention on one end", **circle),
        Line2D([], [], color=WARNING, markerfacecolor="white", label="interventions elsewhere only", **circle),
    ]
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.45, -0.55 / (1.6 + 0.2 * len(shown))),
        ncols=2,
        frameon=False,
    )
    ax.spines[["top", "right"]].set_visible(False)
    return ax
