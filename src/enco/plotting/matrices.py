"""Matrices of all pairs: edge probabilities, existence, orientation, and scores of latent confounders."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from enco.errors import SettingsError
from enco.plotting._axes import WARNING, label_axis, start_axes
from enco.result import Result

__all__ = ["MatrixName", "draw_confounder_scores", "draw_probabilities", "frequency_of", "in_order"]

MatrixName = Literal["edge_probability", "existence", "orientation", "frequency"]
_MATRIX_TITLES = {
    "edge_probability": "probability of the edge",
    "existence": "existence: probability that the edge is there",
    "orientation": "orientation: probability that the row comes first",
    "frequency": "frequency: share of the refits with the edge",
}


def draw_probabilities(result: Result, which: MatrixName = "edge_probability", ax: Axes | None = None) -> Axes:
    """Draw a matrix of probabilities, rows = causes, in causal order; dots mark the edges of the graph.

    Parameters
    ----------
    result : Result
    which : {"edge_probability", "existence", "orientation", "frequency"}
        "frequency" needs refits.
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
    >>> draw_probabilities(small_result()).get_title()
    'probability of the edge'
    """
    if which not in get_args(MatrixName):
        raise SettingsError(f"there is no matrix {which!r}: choose from {', '.join(get_args(MatrixName))}")
    matrix = (frequency_of(result) if which == "frequency" else getattr(result, which)).copy()
    np.fill_diagonal(matrix, np.nan)
    drawn = _draw(result, matrix, "RdBu" if which == "orientation" else "Blues", ax)
    drawn.set(title=_MATRIX_TITLES[which], xlabel="effect", ylabel="cause")
    order = in_order(result)
    cause, effect = np.nonzero(result.adjacency[np.ix_(order, order)])
    size = max(1.0, min(20.0, 600.0 / len(order)))
    drawn.scatter(effect, cause, s=size, color=WARNING, label="edge of the graph")
    return drawn


def draw_confounder_scores(result: Result, ax: Axes | None = None) -> Axes:
    """Draw how surely each pair of variables shares a cause that was not measured; crosses mark those found.

    Parameters
    ----------
    result : Result
        Of a fit with ``latent=True``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> draw_confounder_scores(small_result())
    Traceback (most recent call last):
        ...
    enco.errors.SettingsError: the fit did not look for latent confounders: fit again with latent=True (--latent)
    """
    scores = getattr(result, "confounder_scores", None)
    if scores is None:
        raise SettingsError("the fit did not look for latent confounders: fit again with latent=True (--latent)")
    drawn = _draw(result, scores, "Greens", ax)
    drawn.set(title="score of a latent confounder")
    rank = {name: place for place, name in enumerate(result.order)}
    for one, other, _ in getattr(result, "confounders", []):
        places = [rank[one], rank[other]]
        drawn.scatter(places, places[::-1], marker="x", s=22, color=WARNING, linewidths=1.4)
    return drawn


def frequency_of(result: Result) -> NDArray[np.float64]:
    """Return how often refits found every edge.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> frequency_of(small_result())
    Traceback (most recent call last):
        ...
    enco.errors.SettingsError: the result has no refits, and so no frequencies: make some, enco fit ... --bootstrap 20
    """
    if result.frequency is None:
        raise SettingsError("the result has no refits, and so no frequencies: make some, enco fit ... --bootstrap 20")
    return result.frequency


def in_order(result: Result) -> list[int]:
    """Return the columns in causal order.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> in_order(small_result())
    [0, 1, 2]
    """
    place = {name: column for column, name in enumerate(result.variables)}
    return [place[name] for name in result.order]


def _draw(result: Result, matrix: NDArray[np.float64], colours: str, ax: Axes | None) -> Axes:
    order = in_order(result)
    side = min(10.0, 3.0 + 0.22 * len(order))
    ax = start_axes(ax, side + 0.8, side)
    image = ax.imshow(matrix[np.ix_(order, order)], cmap=colours, vmin=0.0, vmax=1.0)
    ax.set_facecolor("#e6e6e6")  # where there is no value
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    for which in ("x", "y"):
        label_axis(ax, which, result.order)
    return ax
