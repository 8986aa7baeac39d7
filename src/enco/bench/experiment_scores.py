"""Figures of what a fit says of interventions, beside what they really did."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

from enco.result import Result
from enco.result.interventions import NO_EFFECT, in_words
from enco.simulate.experiments import Done

__all__ = ["experiment_scores"]


def experiment_scores(result: Result, done: Sequence[Done]) -> dict[str, float | None]:
    """Judge verdicts, targets and suspects; a figure is None if there is nothing to judge.

    Parameters
    ----------
    result : Result
    done : sequence of Done

    Returns
    -------
    dict
        ``verdicts_right``: share of known targets whose verdict is "no effect" exactly if the intervention failed.
        ``targets_auprc``: average precision of `target_probability` over all regimes and variables, against the
        variables that were hit. ``hits_found`` and ``hits_right``: recall and precision of suspects, against variables
        that were hit besides the targets. ``flagged``: 1 if a sentence about the interventions asks whether they are
        batches.

    Examples
    --------
    >>> from enco.data import InterventionalData
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> experiment_scores(Result.from_graph(np.zeros((2, 2)), data), [Done("X1", 0.0, None)])["verdicts_right"]
    """
    truth, table = {regime.target: regime for regime in done}, result.interventions
    scores: dict[str, float | None] = dict.fromkeys(("verdicts_right", "hits_found", "hits_right", "flagged"))
    if table is not None:
        labelled = table[~table["inferred"]]
        scores |= _verdicts(labelled, truth) | _hits(labelled, truth)
        said = in_words(table, len(result.variables), result.shifts)
        # A batch is also among the reasons that are listed for any shift; only a question suspects it.
        scores["flagged"] = float(any("batch" in sentence and "?" in sentence for sentence in said))
    return scores | {"targets_auprc": _targets(result.target_probability, truth)}


def _verdicts(table: pd.DataFrame, truth: dict[str, Done]) -> dict[str, float | None]:
    judged = [
        (verdict == NO_EFFECT) == (truth[regime].hold == 0)
        for regime, target, verdict in zip(table["regime"], table["target"], table["verdict"], strict=True)
        if regime in truth and target in truth[regime].intended
    ]
    return {"verdicts_right": float(np.mean(judged)) if judged else None}


def _hits(table: pd.DataFrame, truth: dict[str, Done]) -> dict[str, float | None]:
    listed = dict(zip(table["regime"], table["suspects"], strict=True))
    suspects = {regime: set(names) for regime, names in listed.items() if regime in truth}
    found = {(regime, name) for regime, names in suspects.items() for name in names}
    hit = {(regime, truth[regime].also) for regime in suspects if truth[regime].also is not None}
    right = len(found & hit)
    return {"hits_found": right / len(hit) if hit else None, "hits_right": right / len(found) if found else None}


def _targets(probability: pd.DataFrame | None, truth: dict[str, Done]) -> float | None:
    if probability is None:
        return None
    known = probability.loc[[regime for regime in probability.index if regime in truth]]
    hit = [[name in truth[regime].targets for name in known.columns] for regime in known.index]
    true = np.array(hit, dtype=bool).reshape(-1)
    return float(average_precision_score(true, known.to_numpy(dtype=np.float64).reshape(-1))) if true.any() else None
