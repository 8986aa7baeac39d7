"""Figures of a result, with matplotlib: each function draws into given axes, or a new figure, and returns the axes.

========================  ===================================================================
`draw_graph`              the graph in layers, compared with a true one if there is one
`draw_probabilities`      matrix of edge probabilities, existence, orientation, or frequencies over refits
`draw_learning_curves`    edges, undecided pairs and held-out loss after every epoch, or precision and recall
`draw_precision_recall`   precision and recall for every threshold, given the true graph
`draw_orientation`        how sure the direction of each edge is
`draw_confounder_scores`  how surely pairs share a cause that was not measured
`draw_interventions`      what each intervention does to each variable
========================  ===================================================================

`draw` takes the kind of the figure by name, as `Result.plot` and `enco plot` do.
"""

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.plotting.curves import draw_learning_curves, draw_precision_recall
from enco.plotting.graph import EdgeNumber, draw_graph
from enco.plotting.interventions import draw_interventions
from enco.plotting.matrices import draw_confounder_scores, draw_probabilities
from enco.plotting.orientation import draw_orientation
from enco.result import Result

__all__ = [
    "KINDS",
    "draw",
    "draw_confounder_scores",
    "draw_graph",
    "draw_interventions",
    "draw_learning_curves",
    "draw_orientation",
    "draw_precision_recall",
    "draw_probabilities",
]

KINDS: dict[str, Callable[..., Axes]] = {
    "graph": draw_graph,
    "probabilities": draw_probabilities,
    "existence": lambda result, ax=None: draw_probabilities(result, "existence", ax=ax),
    "orientation-matrix": lambda result, ax=None: draw_probabilities(result, "orientation", ax=ax),
    "frequency": lambda result, ax=None: draw_probabilities(result, "frequency", ax=ax),
    "learning": draw_learning_curves,
    "precision-recall": draw_precision_recall,
    "orientation": draw_orientation,
    "confounders": draw_confounder_scores,
    "interventions": draw_interventions,
}
"""Every figure by the name it has on the command line."""

_TAKES = {
    "graph": {"truth", "by"},
    "learning": {"truth"},
    "precision-recall": {"truth"},
    "interventions": {"data"},
}
_NEEDS = {"precision-recall": "truth", "interventions": "data"}


def draw(
    result: Result,
    kind: str = "graph",
    *,
    truth: ArrayLike | None = None,
    data: InterventionalData | None = None,
    by: EdgeNumber | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a figure by name.

    Parameters
    ----------
    result : Result
    kind : str
        A key of `KINDS`.
    truth : array [N, N], optional
        The true graph, row = cause; for "graph" and "learning", and needed for "precision-recall".
    data : InterventionalData, optional
        What the graph was learned from; needed for "interventions".
    by : {"probability", "frequency"}, optional
        What colour and width of the lines of a "graph" follow: "probability" by default.
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
    >>> draw(small_result(), "existence").get_xlabel()
    'effect'
    >>> draw(small_result(), "interventions")
    Traceback (most recent call last):
        ...
    enco.errors.SettingsError: the figure 'interventions' needs the data (data=..., --data FILE)
    """
    if kind not in KINDS:
        raise SettingsError(f"there is no figure {kind!r}: choose from {', '.join(KINDS)}")
    options: dict[str, Any] = {"truth": truth, "data": data, "by": by}
    given = {name: value for name, value in options.items() if value is not None}
    for name in given.keys() - _TAKES.get(kind, set()):
        raise SettingsError(f"the figure {kind!r} has no use for {name}: leave it out")
    needed = _NEEDS.get(kind)
    if needed is not None and needed not in given:
        words = {"truth": "true graph", "data": "data"}[needed]
        raise SettingsError(f"the figure {kind!r} needs the {words} ({needed}=..., --{needed} FILE)")
    return KINDS[kind](result, **given, ax=ax)
