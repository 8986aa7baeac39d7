"""Figures of benchmarks, with matplotlib."""

import os
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from enco.bench.gradient_variance import ESTIMATOR_NAMES, ESTIMATOR_TITLES, VarianceCurve
from enco.io._atomic import atomic_file
from enco.settings import Settings

__all__ = ["draw_scores", "draw_variance"]

# Okabe and Ito's colours, which everybody can tell apart; markers say the same once more.
_ESTIMATOR_STYLES = {"reinforce": ("#D55E00", "s"), "independent": ("#0072B2", "o"), "paired": ("#009E73", "D")}
_PANELS = {
    "same rows": "the same rows, graphs drawn anew\n(the noise of sampling graphs)",
    "fresh rows": "rows and graphs drawn anew\n(the noise that training sees)",
}


def draw_variance(curves: Sequence[VarianceCurve], path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Draw deviation against cost, one panel per curve, and write it as a PNG file.

    Parameters
    ----------
    curves : sequence of VarianceCurve
        From `enco.bench.gradient_variance.measure_variance`.
    path : path-like
    overwrite : bool

    Examples
    --------
    >>> import tempfile
    >>> from enco.bench.gradient_variance import Point
    >>> points = tuple(Point(10 * m, m, m, {name: 1 / m for name in ESTIMATOR_NAMES}) for m in (1, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_variance([VarianceCurve("same rows", points)], f"{folder}/a.png")
    """
    figure = Figure(figsize=(0.8 + 4.4 * len(curves), 4.2), layout="constrained")
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for panel, curve in zip(panels, curves, strict=True):
        for name in ESTIMATOR_NAMES:
            colour, marker = _ESTIMATOR_STYLES[name]
            panel.loglog(
                [point.evaluations for point in curve.points],
                [point.deviation[name] for point in curve.points],
                color=colour,
                marker=marker,
                markersize=5,
                linewidth=1.6,
                label=ESTIMATOR_TITLES[name],
            )
        panel.set_title(_PANELS[curve.rows], fontsize=10)
        panel.set_xlabel("network evaluations per estimate")
        panel.grid(which="major", color="#d0d0d0", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("standard deviation of the $\\gamma$ gradient")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    with atomic_file(path, overwrite=overwrite) as temporary:
        figure.savefig(temporary, format="png", dpi=160)


def draw_scores(
    scores: tuple[NDArray[np.float64], NDArray[np.float64]],
    path: str | os.PathLike[str],
    settings: Settings,
    *,
    overwrite: bool = False,
) -> None:
    """Draw the score lc of confounded pairs, and the highest of all other pairs, over epochs, as a PNG file.

    Parameters
    ----------
    scores : pair of arrays
        From `enco.bench.latents.scores_over_epochs`.
    path : path-like
    settings : Settings
        For the threshold.
    overwrite : bool

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_scores((np.array([[0.1], [0.8]]), np.array([0.1, 0.2])), f"{folder}/a.png", Settings())
    """
    confounded, others = scores
    epochs = np.arange(1, len(others) + 1)
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    panel = figure.subplots()
    for number, score in enumerate(confounded.T):
        panel.plot(epochs, score, color="#0072B2", linewidth=1.4, label="" if number else "confounded pairs")
    panel.plot(epochs, others, color="#D55E00", linestyle="--", linewidth=1.8, label="highest of all other pairs")
    panel.axhline(settings.confounder_threshold, color="#404040", linestyle=":", linewidth=1.0, label="threshold")
    panel.set(xlabel="epoch", ylabel="score lc", ylim=(-0.02, 1.02))
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, loc="upper left")
    with atomic_file(path, overwrite=overwrite) as temporary:
        figure.savefig(temporary, format="png", dpi=160)
