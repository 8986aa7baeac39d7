"""Curves: what a fit recorded after every epoch, and what a threshold on the probability would give."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from enco.errors import GraphError, SettingsError
from enco.graphs.dag import check_truth
from enco.metrics import Scores, edge_scores
from enco.plotting._axes import ACCENT, GREY, WARNING, start_axes
from enco.result import Result

__all__ = ["draw_learning_curves", "draw_precision_recall"]


def draw_learning_curves(result: Result, truth: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw edges and undecided pairs after every epoch, and the held-out loss or, given a truth, precision and recall.

    Parameters
    ----------
    result : Result
    truth : array [N, N], optional
        The true graph, row = cause.
    ax : matplotlib.axes.Axes, optional
        Where to draw the counts; the rest gets an axis on the right. A new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of the counts.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from enco.result.example import small_result
    >>> [line.get_label() for line in draw_learning_curves(small_result()).lines]
    ['edges', 'undecided pairs']
    """
    history = result.history.apply(pd.to_numeric, errors="coerce")
    if not len(history) or not {"epoch", "edges", "undecided", "held_out_loss"} <= set(history):
        raise SettingsError("the result holds no record of its epochs, so there are no learning curves to draw")
    scores = None if truth is None else _scores_by_epoch(result, truth)
    ax = start_axes(ax, 6.5, 3.8)
    ax.plot(history["epoch"], history["edges"], color=ACCENT, marker="o", markersize=4, label="edges")
    ax.plot(history["epoch"], history["undecided"], "s--", color=WARNING, markersize=4, label="undecided pairs")
    ax.set(xlabel="epoch", ylabel="count", ylim=(0, None))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    right = ax.twinx()
    if scores is None:
        right.plot(history["epoch"], history["held_out_loss"], color=GREY, linestyle=":", label="held-out loss")
        right.set_ylabel("held-out loss (nats per variable)")
    else:
        for name, line in (("precision", "-."), ("recall", ":")):
            values = [getattr(score, name) for score in scores]
            right.plot(history["epoch"], values, color=GREY, linestyle=line, label=name)
        right.set(ylabel="precision and recall of edges", ylim=(0, 1.04))
    handles = [*ax.lines, *right.lines]
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=len(handles), frameon=False)
    ax.spines["top"].set_visible(False)
    right.spines["top"].set_visible(False)
    return ax


def _scores_by_epoch(result: Result, truth: ArrayLike) -> list[Scores]:
    true = _checked_truth(result, truth)
    return [edge_scores(result.edges_after(epoch), true) for epoch in range(1, len(result.history) + 1)]


def _checked_truth(result: Result, truth: ArrayLike) -> NDArray[np.bool_]:
    true = check_truth(truth, len(result.variables))
    if not true.any():
        raise GraphError("the true graph has no edges, so that recall means nothing")
    return true


def draw_precision_recall(result: Result, truth: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw precision and recall of all edges with at least a probability, for every such probability.

    Parameters
    ----------
    result : Result
    truth : array [N, N]
        The true graph, row = cause.
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
    >>> result = small_result()
    >>> ax = draw_precision_recall(result, result.adjacency)
    >>> [line.get_label() for line in ax.lines]
    ['precision', 'recall']
    """
    true = _checked_truth(result, truth)
    off_diagonal = ~np.eye(len(true), dtype=bool)
    probability, right = result.edge_probability[off_diagonal], true[off_diagonal]
    surest_first = np.argsort(-probability, kind="stable")
    hits = np.cumsum(right[surest_first])
    thresholds = probability[surest_first]
    last = np.append(np.flatnonzero(np.diff(thresholds)), len(thresholds) - 1)  # of each run of equal probabilities
    ax = start_axes(ax, 6.0, 3.8)
    ax.step(thresholds[last], hits[last] / (last + 1), where="pre", color=ACCENT, label="precision")
    ax.step(thresholds[last], hits[last] / right.sum(), where="pre", color=WARNING, linestyle="--", label="recall")
    ax.set(xlabel="least probability of an edge", ylabel="precision and recall", ylim=(0, 1.04), xlim=(0, 1))
    ax.legend(loc="lower center", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
