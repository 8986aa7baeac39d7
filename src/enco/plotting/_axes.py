"""What the figures share: colours, new axes, names along an axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

__all__ = ["ACCENT", "BLUES", "GREY", "TARGETED", "WARNING", "label_axis", "start_axes"]

# Okabe and Ito's colours, which everybody can tell apart.
ACCENT, WARNING, GREY, TARGETED = "#0072B2", "#D55E00", "#404040", "#009E73"
# From light to dark, so that it works in greyscale too; not as light as paper, so that thin lines can be seen.
BLUES = LinearSegmentedColormap.from_list("enco", plt.get_cmap("Blues")(np.linspace(0.3, 1.0, 64)))
_MOST_NAMES = 60


def start_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or those of a new figure of this size in inches.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> start_axes(None, 4.0, 3.0).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def label_axis(ax: Axes, which: str, names: Sequence[str]) -> None:
    """Write names along the "x" or "y" axis: all of them, or every second, third, ... if they are many.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = start_axes(None, 4.0, 3.0)
    >>> label_axis(ax, "x", ["A", "B"])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['A', 'B']
    """
    step = -(-len(names) // _MOST_NAMES)
    places = range(0, len(names), step)
    labels = [names[place] for place in places]
    size = 8 if len(labels) <= 30 else 6
    if which == "x":
        ax.set_xticks(places, labels, rotation=90, fontsize=size, parse_math=False)
    else:
        ax.set_yticks(places, labels, fontsize=size, parse_math=False)
