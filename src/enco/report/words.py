"""A result in plain words: what was found, how sure that is, and what to be careful about."""

from __future__ import annotations

from math import isclose

import numpy as np

from enco import metrics
from enco.data import InterventionalData
from enco.report.content import Graph, confounders
from enco.result import Result
from enco.result.interventions import in_words
from enco.theory import DataReport

__all__ = ["cautions", "comparison", "meaning", "permutations", "summary"]

SURE = 0.9
_EVEN = 0.5


def summary(result: Result, data: InterventionalData | None = None) -> list[str]:
    """Say in a few sentences what was found.

    Examples
    --------
    >>> from enco.result.example import small_data, small_result
    >>> for sentence in summary(small_result(), small_data()):
    ...     print(sentence)
    Among 3 variables, 2 edges were found: pairs in which one variable is a direct cause of the other.
    Learned from 16 rows: 8 without intervention, and 8 from 1 experiment in which variables were set on purpose.
    How sure: 1 of the 2 edges has a probability of at least 0.9, 1 more of at least 0.5.
    Most effects come from A (1) and B (1).
    """
    n, edges = len(result.variables), result.n_edges
    sentences = [
        f"Among {n:,} variables, {_count(edges, 'edge')} {_was(edges)} found: pairs in which one variable is a direct "
        "cause of the other."
        if edges
        else f"Among {n:,} variables, no edges were found."
    ]
    if data is not None:
        sentences.append(_origin(data))
    if edges:
        sentences += [_confidence(result), *_refits(result), _hubs(result)]
    sentences += _by_chance(result)
    pairs = confounders(result)
    if pairs:
        seem = "seems" if len(pairs) == 1 else "seem"
        sentences.append(f"{_count(len(pairs), 'pair')} of variables {seem} to share a cause that was not measured.")
    return sentences


def comparison(result: Result, truth: Graph) -> list[str]:
    """Say how the graph compares with the true one.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> comparison(small_result(), np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool))
    ['Compared with the true graph (2 edges): 1 right, 1 false, 1 missed; precision 0.50, recall 0.50, SHD 2.']
    """
    found = result.adjacency.astype(bool)
    scores = metrics.edge_scores(found, truth)
    return [
        f"Compared with the true graph ({_count(int(truth.sum()), 'edge')}): {int((found & truth).sum()):,} right, "
        f"{int((found & ~truth).sum()):,} false, {int((truth & ~found).sum()):,} missed; precision "
        f"{scores.precision:.2f}, recall {scores.recall:.2f}, SHD {metrics.shd(found, truth):,}."
    ]


def cautions(result: Result, report: DataReport | None = None) -> list[str]:
    """Say what to be careful about: in this result, in these data, and always.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> for sentence in cautions(small_result())[:2]:
    ...     print(sentence)
    1 edge joins variables neither of which was ever set on purpose: its direction rests on experiments elsewhere and
    has no guarantee. The table marks it.
    Common causes that were not measured were not looked for, and can look like an edge.
    """
    about_this = [
        *_about_interventions(result),
        *_about_circumstances(result),
        *_about_edges(result),
        *_about_the_fit(result),
    ]
    tested = result.interventions is not None and bool(result.interventions["p_value"].notna().any())
    about_data = _about_data(report, tested=tested)
    return [*about_this, *about_data, *_about_the_method(result)]


def meaning(result: Result) -> str:
    """Say what the probability of an edge means.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> meaning(small_result())
    'A probability says how the fit weighed the evidence; it is not a frequency over repeated experiments.'
    """
    if result.confidence is None:
        return "A probability says how the fit weighed the evidence; it is not a frequency over repeated experiments."
    return (
        "Of edges with a probability of 0.9, about nine in ten are right on simulated data of the kinds that it was "
        "calibrated on; real data may be unlike them."
    )


def permutations(result: Result) -> str:
    """Say how often the labels were permuted for the negative control.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import pandas as pd
    >>> from enco.result.example import small_result
    >>> permutations(replace(small_result(), null_control=pd.DataFrame({"permutations": [5, 5]})))
    '5 times'
    """
    table = result.null_control
    if table is None or table.empty or "permutations" not in table:
        return ""
    return _count(int(table["permutations"].iloc[0]), "time")


def _origin(data: InterventionalData) -> str:
    observed, regimes = data.observational.n_rows, len(data.interventional)
    if not regimes:
        return f"Learned from {data.n_rows:,} rows, all without intervention: directions cannot be learned from them."
    return (
        f"Learned from {data.n_rows:,} rows: {observed:,} without intervention, and {data.n_rows - observed:,} from "
        f"{_count(regimes, 'experiment')} in which variables were set on purpose."
    )


def _confidence(result: Result) -> str:
    probability = result.edge_probability[result.adjacency.astype(bool)]
    sure = int((probability >= SURE).sum())
    rest = int(((probability >= _EVEN) & (probability < SURE)).sum())
    low = len(probability) - sure - rest
    if sure == len(probability):
        return f"How sure: every edge has a probability of at least {SURE}."
    sentence = (
        f"How sure: {sure:,} of the {_count(len(probability), 'edge')} {_has(sure)} a probability of at least {SURE}"
    )
    if rest:
        sentence += f", {rest:,} more of at least {_EVEN}"
    return sentence + (f", and {low:,} less than {_EVEN}." if low else ".")


def _refits(result: Result) -> list[str]:
    if result.frequency is None:
        return []
    again = int((result.frequency[result.adjacency.astype(bool)] >= SURE).sum())
    return [
        f"How stable: {again:,} of the {_count(result.n_edges, 'edge')} {_was(again)} found by at least {SURE:.0%} of "
        "the refits."
    ]


def _by_chance(result: Result) -> list[str]:
    """Compare with permuted labels, if that was done."""
    if result.null_control is None:
        return []
    return [
        f"With permuted labels, {_mean_count(it['by_chance'], 'edge')} on average {_reach(it['by_chance'])} a "
        f"probability of {SURE}; with the real ones, {it['edges']:,}."
        for it in result.null_control.to_dict("records")
        if isclose(it["probability"], SURE)
    ]


def _hubs(result: Result) -> str:
    effects = result.adjacency.sum(axis=1, dtype=np.int64)
    first = [int(v) for v in np.argsort(-effects, kind="stable")[:3] if effects[v]]
    listed = [f"{result.variables[variable]} ({effects[variable]})" for variable in first]
    return f"Most effects come from {_and(listed)}."


def _about_interventions(result: Result) -> list[str]:
    """Say what the labels of the experiment say and the data do not."""
    if result.interventions is None:
        return []
    sentences = in_words(result.interventions, len(result.variables), result.shifts)
    return [f"{sentence[0].upper()}{sentence[1:]}{'' if sentence.endswith('?') else '.'}" for sentence in sentences]


def _about_circumstances(result: Result) -> list[str]:
    """Say in what the data are unlike all that the probabilities were calibrated on."""
    said = result.order_report.get("unlike", [])
    if not said:
        return []
    return [f"The probabilities were calibrated on data unlike these, which have {'; '.join(said)}. Trust them less."]


def _about_edges(result: Result) -> list[str]:
    found = result.adjacency.astype(bool)
    distant = int((found & ~result.evidence.adjacent_intervention).sum())
    weak = int((result.edge_probability[found] < _EVEN).sum())
    unsure, left_out = (len(result.order_report.get(key, [])) for key in ("unsure", "left_out"))
    sentences = []
    if unsure:
        sentences.append(
            f"{_count(unsure, 'more edge')} {_was(unsure)} found by the search and left out, because the two variables "
            "are less likely joined than not."
        )
    if left_out:
        sentences.append(
            f"{_count(left_out, 'more edge')} {_was(left_out)} left out, the least sure, to keep the expected share of "
            "false ones as low as was asked for (--fdr)."
        )
    if distant:
        sentences.append(
            f"{_count(distant, 'edge')} {_join(distant)} variables neither of which was ever set on purpose: "
            f"{_its(distant)} direction rests on experiments elsewhere and has no guarantee. The table marks "
            f"{_it(distant)}."
        )
    if weak:
        sentences.append(
            f"{_count(weak, 'edge')} {_has(weak)} a probability below {_EVEN}: a last comparison of whole graphs put "
            f"{_it(weak)} in, although the fit before it was not convinced. Treat {_it(weak)} as suggestions."
        )
    return sentences


def _about_the_fit(result: Result) -> list[str]:
    sentences = []
    removed = len(result.order_report.get("removed", []))
    if removed:
        sentences.append(
            f"{_count(removed, 'edge')} {_was(removed)} removed because {_it(removed, subject=True)} closed a loop. "
            "The method assumes that there are no loops: a real feedback shows only one of its directions."
        )
    if result.order_report.get("gap", 0.0) > 0:
        sentences.append("Where loops were cut, it is not proven that the cut is the best one.")
    epochs, most = len(result.history), result.settings.get("max_epochs")
    undecided = _last(result, "undecided")
    if epochs == most and undecided:
        sentences.append(
            f"The fit used all of its {epochs} epochs with {_count(undecided, 'pair')} still undecided: more epochs "
            "(max_epochs) may change the graph."
        )
    return sentences


def _about_data(report: DataReport | None, *, tested: bool) -> list[str]:
    if report is None:
        return []
    sentences = []
    if report.untargeted:
        what = "are named by no label" if report.unknown else "were never set on purpose"
        sentences.append(f"{len(report.untargeted):,} of {report.variables:,} variables {what}.")
    if report.unmoved and not tested:  # else the fit has said it
        sentences.append(
            f"{_count(len(report.unmoved), 'intervention')} left {_its(len(report.unmoved))} target as it was: either "
            "it failed or it draws values as nature does."
        )
    if report.small_regimes:
        sentences.append(
            f"{_count(len(report.small_regimes), 'experiment')} {_has(len(report.small_regimes))} too few rows for "
            "effects of the usual size: edges may be missed."
        )
    return sentences


def _about_the_method(result: Result) -> list[str]:
    unseen = (
        "Common causes that were not measured were not looked for, and can look like an edge."
        if getattr(result, "confounder_scores", None) is None
        else "Common causes that were not measured are found only where both variables were set on purpose."
    )
    return [
        unseen,
        "An edge is direct only among the variables measured here: what lies between two of them may be missing.",
        "An intervention is assumed to act on its targets alone; what it seems to have hit besides is said above.",
        meaning(result),
    ]


def _last(result: Result, column: str) -> int:
    if column not in result.history or not len(result.history):
        return 0
    return int(result.history[column].iloc[-1])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _mean_count(number: float, noun: str) -> str:
    return f"{number:,.3g} {noun}{'' if number == 1 else 's'}"


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _has(number: int) -> str:
    return "has" if number == 1 else "have"


def _join(number: int) -> str:
    return "joins" if number == 1 else "join"


def _reach(number: float) -> str:
    return "reaches" if number == 1 else "reach"


def _its(number: int) -> str:
    return "its" if number == 1 else "their"


def _it(number: int, *, subject: bool = False) -> str:
    return "it" if number == 1 else "they" if subject else "them"
