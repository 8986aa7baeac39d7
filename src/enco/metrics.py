"""How close a predicted graph is to the true one.

Every function takes the prediction first and the truth second, as adjacency matrices of shape [N, N]
(booleans, or 0 and 1) in which entry [i, j] = 1 means i -> j. Nothing here is used while a graph is
learned.

Conventions
-----------
- SHD is the smallest number of edges to add, remove or flip: a flipped edge counts once. A 2-cycle (i ->
  j and j -> i) is two edges: against a single edge it costs 1, against no edge it costs 2.
- Precision is 1 when nothing was predicted (no claim is wrong), recall is 1 when there was nothing to
  find, and F1 is 2 TP / (2 TP + FP + FN), which is 1 when prediction and truth are both empty and else
  agrees with the two.
- Orientation accuracy and average precision are NaN when there is no edge to judge: no value would be honest.
- SID and the adjustment identification distances count ordered pairs of variables, so they lie between 0
  and N (N - 1); they are defined for acyclic graphs only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.errors import GraphError
from enco.graphs.dag import check_adjacency, is_acyclic

__all__ = [
    "Scores",
    "ancestor_aid",
    "average_precision",
    "confounder_scores",
    "edge_scores",
    "evaluate",
    "orientation_accuracy",
    "oset_aid",
    "parent_aid",
    "shd",
    "sid",
    "skeleton_scores",
]


class Scores(NamedTuple):
    """Precision, recall and their harmonic mean, for edges, adjacencies or confounded pairs.

    Examples
    --------
    >>> Scores(precision=1.0, recall=0.5, f1=2 / 3).recall
    0.5
    """

    precision: float
    recall: float
    f1: float


def shd(prediction: ArrayLike, truth: ArrayLike) -> int:
    """Structural Hamming distance: edges to add, remove or flip to turn the prediction into the truth.

    Parameters
    ----------
    prediction, truth : array [N, N]
        Adjacency matrices, row = cause; cycles are allowed.

    Returns
    -------
    int
        A flipped edge counts once; a 2-cycle is two edges.

    Examples
    --------
    >>> truth = [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    >>> shd([[0, 0, 1], [1, 0, 0], [0, 0, 0]], truth)
    1
    >>> shd([[0, 1, 0], [0, 0, 1], [0, 0, 0]], truth)
    2
    """
    predicted, true = _two_graphs(prediction, truth)
    wrong_entries = np.count_nonzero(predicted != true)
    flipped = predicted & ~predicted.T & true.T & ~true
    return int(wrong_entries - np.count_nonzero(flipped))


def edge_scores(prediction: ArrayLike, truth: ArrayLike) -> Scores:
    """Precision, recall and F1 of directed edges; a flipped edge is one false and one missed edge.

    Parameters
    ----------
    prediction, truth : array [N, N]
        Adjacency matrices, row = cause.

    Examples
    --------
    >>> edge_scores([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    Scores(precision=0.5, recall=0.5, f1=0.5)
    """
    predicted, true = _two_graphs(prediction, truth)
    return _scores(
        int(np.count_nonzero(predicted & true)),
        int(np.count_nonzero(predicted & ~true)),
        int(np.count_nonzero(~predicted & true)),
    )


def skeleton_scores(prediction: ArrayLike, truth: ArrayLike) -> Scores:
    """Precision, recall and F1 of adjacent pairs, whatever the direction of their edges.

    Parameters
    ----------
    prediction, truth : array [N, N]
        Adjacency matrices, row = cause.

    Examples
    --------
    >>> skeleton_scores([[0, 0], [1, 0]], [[0, 1], [0, 0]])
    Scores(precision=1.0, recall=1.0, f1=1.0)
    """
    predicted, true = _two_graphs(prediction, truth)
    return edge_scores(np.triu(predicted | predicted.T), np.triu(true | true.T))


def orientation_accuracy(prediction: ArrayLike, truth: ArrayLike) -> float:
    """Fraction of the pairs adjacent in both graphs that are oriented as in the truth.

    Parameters
    ----------
    prediction, truth : array [N, N]
        Adjacency matrices, row = cause.

    Returns
    -------
    float
        NaN when no pair is adjacent in both. A pair with a 2-cycle is right only if both graphs have the
        2-cycle.

    Examples
    --------
    >>> orientation_accuracy([[0, 1, 0], [0, 0, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    0.5
    """
    predicted, true = _two_graphs(prediction, truth)
    adjacent_in_both = np.triu((predicted | predicted.T) & (true | true.T))
    same = (predicted == true) & (predicted == true).T
    judged = np.count_nonzero(adjacent_in_both)
    return float(np.count_nonzero(adjacent_in_both & same) / judged) if judged else float("nan")


def confounder_scores(
    prediction: Iterable[tuple[Hashable, Hashable]], truth: Iterable[tuple[Hashable, Hashable]]
) -> Scores:
    """Precision, recall and F1 of the pairs of variables said to share a latent cause.

    Parameters
    ----------
    prediction, truth : iterable of pairs
        Each pair is two variables (positions or names); the pairs are unordered and repetitions count once.

    Examples
    --------
    >>> confounder_scores([("a", "b"), ("b", "a"), ("c", "d")], [("b", "a")])
    Scores(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    predicted, true = _unordered_pairs(prediction), _unordered_pairs(truth)
    return _scores(len(predicted & true), len(predicted - true), len(true - predicted))


def average_precision(probabilities: ArrayLike, truth: ArrayLike) -> float:
    """Area under the precision-recall curve of the directed edges, ranked by their probabilities.

    The area is the step-wise sum over thresholds of precision times the gain in recall (no
    interpolation); edges of equal probability enter together.

    Parameters
    ----------
    probabilities : array [N, N]
        Edge probabilities or any other score that grows with them; entry [i, j] is for i -> j, the
        diagonal is ignored.
    truth : array [N, N]
        Adjacency matrix, row = cause.

    Returns
    -------
    float
        NaN when the true graph has no edge.

    Examples
    --------
    >>> average_precision([[0, 0.9, 0.2], [0.1, 0, 0.8], [0.1, 0.1, 0]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    1.0
    """
    true = _graph(truth, "true graph")
    try:
        scores = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError("the edge probabilities must be a matrix of numbers") from error
    if scores.shape != true.shape:
        raise GraphError(
            f"the edge probabilities are {_shape(scores)} and the true graph {_shape(true)}: give both "
            "for the same variables"
        )
    pairs = ~np.eye(len(true), dtype=bool)
    scores, hits = scores[pairs], true[pairs]
    if np.isnan(scores).any():
        raise GraphError("the edge probabilities contain NaN: every off-diagonal entry must be a number")
    n_edges = np.count_nonzero(hits)
    if n_edges == 0:
        return float("nan")
    ranking = np.argsort(-scores, kind="stable")
    scores, found = scores[ranking], np.cumsum(hits[ranking])
    # A threshold lies only between different scores, so a group of equal ones enters as a whole.
    last_of_group = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    precision = found[last_of_group] / (last_of_group + 1)
    recall_gain = np.diff(found[last_of_group], prepend=0) / n_edges
    return float(np.sum(precision * recall_gain))


def sid(prediction: ArrayLike, truth: ArrayLike) -> int:
    """Structural intervention distance (Peters and Bühlmann, 2015).

    The number of ordered pairs (i, j) for which adjusting for the parents of i in the predicted graph
    gives a wrong effect of i on j when the truth holds.

    Parameters
    ----------
    prediction, truth : array [N, N]
        Acyclic adjacency matrices, row = cause.

    Examples
    --------
    >>> sid([[0, 0], [1, 0]], [[0, 1], [0, 0]])
    2
    """
    return _gadjid_distance("sid", prediction, truth)


def ancestor_aid(prediction: ArrayLike, truth: ArrayLike) -> int:
    """Ancestor adjustment identification distance (Henckel, Würtzen and Weichwald, 2024).

    As `sid`, with the ancestors of i as the adjustment set, and no effect claimed on what i does not cause.

    Examples
    --------
    >>> ancestor_aid([[0, 0], [1, 0]], [[0, 1], [0, 0]])
    2
    """
    return _gadjid_distance("ancestor_aid", prediction, truth)


def oset_aid(prediction: ArrayLike, truth: ArrayLike) -> int:
    """Optimal-set adjustment identification distance (Henckel, Würtzen and Weichwald, 2024).

    As `ancestor_aid`, with the statistically most efficient adjustment set of the predicted graph.

    Examples
    --------
    >>> oset_aid([[0, 0], [1, 0]], [[0, 1], [0, 0]])
    2
    """
    return _gadjid_distance("oset_aid", prediction, truth)


def parent_aid(prediction: ArrayLike, truth: ArrayLike) -> int:
    """Parent adjustment identification distance (Henckel, Würtzen and Weichwald, 2024).

    On directed acyclic graphs it equals the SID.

    Examples
    --------
    >>> parent_aid([[0, 0], [1, 0]], [[0, 1], [0, 0]])
    2
    """
    return _gadjid_distance("parent_aid", prediction, truth)


def evaluate(
    prediction: ArrayLike,
    truth: ArrayLike,
    *,
    probabilities: ArrayLike | None = None,
    confounders: Iterable[tuple[Hashable, Hashable]] | None = None,
    true_confounders: Iterable[tuple[Hashable, Hashable]] | None = None,
) -> dict[str, bool | int | float]:
    """Every metric that applies, by name.

    Parameters
    ----------
    prediction, truth : array [N, N]
        Adjacency matrices, row = cause.
    probabilities : array [N, N], optional
        Edge probabilities; adds `average_precision`.
    confounders, true_confounders : iterable of pairs, optional
        Predicted and true confounded pairs; given both, adds `confounder_precision`, `confounder_recall` and
        `confounder_f1`.

    Returns
    -------
    dict
        `sid`, `parent_aid`, `ancestor_aid` and `oset_aid` are there only when both graphs are acyclic
        (`acyclic` is about the prediction).

    Examples
    --------
    >>> scores = evaluate([[0, 1, 0], [0, 0, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> scores["shd"], scores["sid"], scores["orientation_accuracy"]
    (1, 3, 0.5)
    """
    predicted, true = _two_graphs(prediction, truth)
    acyclic = is_acyclic(predicted)
    results: dict[str, bool | int | float] = {
        "variables": len(true),
        "edges": int(predicted.sum()),
        "true_edges": int(true.sum()),
        "acyclic": acyclic,
        "shd": shd(predicted, true),
    }
    if acyclic and is_acyclic(true):
        distances: tuple[Callable[[ArrayLike, ArrayLike], int], ...] = (
            sid,
            parent_aid,
            ancestor_aid,
            oset_aid,
        )
        results.update({distance.__name__: distance(predicted, true) for distance in distances})
    results.update(_named("edge", edge_scores(predicted, true)))
    results.update(_named("skeleton", skeleton_scores(predicted, true)))
    results["orientation_accuracy"] = orientation_accuracy(predicted, true)
    if probabilities is not None:
        results["average_precision"] = average_precision(probabilities, true)
    if confounders is not None and true_confounders is not None:
        results.update(_named("confounder", confounder_scores(confounders, true_confounders)))
    return results


def _scores(true_positives: int, false_positives: int, false_negatives: int) -> Scores:
    def ratio(part: int, whole: int) -> float:
        return float(part / whole) if whole else 1.0

    return Scores(
        precision=ratio(true_positives, true_positives + false_positives),
        recall=ratio(true_positives, true_positives + false_negatives),
        f1=ratio(2 * true_positives, 2 * true_positives + false_positives + false_negatives),
    )


def _named(what: str, scores: Scores) -> dict[str, float]:
    return {f"{what}_{name}": value for name, value in scores._asdict().items()}


def _unordered_pairs(pairs: Iterable[tuple[Hashable, Hashable]]) -> set[frozenset[Hashable]]:
    unordered = set()
    for pair in pairs:
        ends = frozenset(pair)
        if len(ends) != 2:
            raise GraphError(f"a confounded pair must name two different variables, got {pair!r}")
        unordered.add(ends)
    return unordered


def _gadjid_distance(name: str, prediction: ArrayLike, truth: ArrayLike) -> int:
    predicted, true = _two_graphs(prediction, truth)
    for graph, words in ((predicted, "predicted graph"), (true, "true graph")):
        if not is_acyclic(graph):
            raise GraphError(
                f"{name} is defined for acyclic graphs and the {words} has a cycle: order it first, "
                "for example with enco.graphs.order.acyclic"
            )
    if len(true) < 2:
        return 0  # gadjid refuses graphs without a pair
    import gadjid

    distance = getattr(gadjid, name)
    _, mistakes = distance(true.astype(np.int8), predicted.astype(np.int8), edge_direction="from row to column")
    return int(mistakes)


def _two_graphs(prediction: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    predicted, true = _graph(prediction, "predicted graph"), _graph(truth, "true graph")
    if predicted.shape != true.shape:
        raise GraphError(
            f"the predicted graph is {_shape(predicted)} and the true graph {_shape(true)}: give both for "
            "the same variables in the same order"
        )
    return predicted, true


def _graph(adjacency: ArrayLike, words: str) -> NDArray[np.bool_]:
    try:
        return check_adjacency(adjacency)
    except GraphError as error:
        raise GraphError(f"{words}: {error}") from None


def _shape(array: NDArray[Any]) -> str:
    return " x ".join(map(str, array.shape))
