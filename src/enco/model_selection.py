"""Choosing lambda without a true graph: leave interventions out, and see how well their rows are predicted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.errors import DataError, SettingsError
from enco.executors.threads import run_threads
from enco.likelihood import Mechanisms
from enco.refits import FitOptions, Refits
from enco.result.interventions import with_inferred_targets
from enco.settings import Settings

__all__ = ["choose_sparsity", "cross_validate_regimes"]

SPARSITIES = (0.001, 0.004, 0.016, 0.064)
"""Values of lambda that are compared by default: the usual one and its neighbours."""


def cross_validate_regimes(
    data: InterventionalData,
    sparsities: Sequence[float] = SPARSITIES,
    *,
    n_folds: int = 5,
    on_fit: Callable[[int], None] = lambda done: None,
    **options: Unpack[FitOptions],
) -> pd.DataFrame:
    """Leave interventions out, learn the graph from the rest, and score the rows that were left out.

    The intervention regimes are divided into folds. For every fold and every value of lambda, a graph is learned from
    the observational rows and the other regimes; mechanisms for its edges are trained on the same rows; and the score
    is how likely they find the rows of the regimes left out.

    Parameters
    ----------
    data : InterventionalData
        With at least two intervention regimes whose targets are known. Regimes of unknown targets are never left out:
        nobody can say which of their values were set.
    sparsities : sequence of float
        Values of lambda_sparse.
    n_folds : int
        At most as many as there are regimes; fewer are used if there are not so many.
    on_fit : callable
        Called with the number of fits done, of ``len(sparsities) * n_folds``.
    settings, knowledge, network : optional
        As for `ENCO`; the sparsity in the settings is not used.
    seed : int
        Decides the folds, and every fit; 0 by default.
    n_jobs : int or None
        Threads; None (the default) or -1 for every core. The result does not depend on it.

    Returns
    -------
    DataFrame
        One row per value and fold: ``sparsity``, ``fold``, ``regimes`` (left out), ``log_likelihood`` (mean over the
        values that no intervention set, nats), ``edges`` of the graph.

    Examples
    --------
    >>> from enco import simulate
    >>> rng = np.random.default_rng(0)
    >>> data = simulate.categorical("chain", 3, rng, categories=3).dataset(200, 50, rng=rng)
    >>> quick = Settings(max_epochs=1, refine_steps=50)
    >>> cross_validate_regimes(data, [0.004, 0.04], n_folds=2, settings=quick, n_jobs=1)[["sparsity", "fold"]]
       sparsity  fold
    0     0.004     0
    1     0.004     1
    2     0.040     0
    3     0.040     1
    """
    fits = Refits(**options)
    chosen = fits.settings or Settings()
    candidates = [replace(chosen, sparsity=sparsity) for sparsity in sparsities]  # checks every value
    if not candidates:
        raise SettingsError("there is no sparsity to compare: give at least one")
    known = [k for k, regime in enumerate(data.regimes) if regime.targets]
    folds = _folds(known, n_folds, fits.seed)
    in_graph = data.without_context()  # what is scored: context explains nothing here
    tasks = [(its_settings, fold) for its_settings in candidates for fold in range(len(folds))]

    def evaluate(number: int) -> dict[str, object]:
        its_settings, fold = tasks[number]
        left_out = [in_graph.regimes[k] for k in folds[fold]]
        kept = [regime for k, regime in enumerate(data.regimes) if k not in folds[fold]]
        rest = InterventionalData._from_checked(data.variables, kept)
        result = fits.result(fits.discovery(rest, its_settings), rest)
        rows = with_inferred_targets(rest.without_context(), result.interventions)
        mechanisms = Mechanisms(rows, result.adjacency, settings=its_settings, network=fits.network, seed=fits.seed)
        return {
            "sparsity": its_settings.sparsity,
            "fold": fold,
            "regimes": ", ".join(data.regime_label(regime) for regime in left_out),
            "log_likelihood": mechanisms.log_likelihood(left_out),
            "edges": result.n_edges,
        }

    return pd.DataFrame(run_threads(evaluate, len(tasks), fits.threads, on_fit))


def choose_sparsity(table: pd.DataFrame) -> float:
    """Pick the largest lambda that is not clearly worse than the best one.

    Not clearly worse means: the mean difference to the best, over the folds, is at most one standard error of it.
    Graphs with needless edges predict almost as well as without them, so that among equals the sparsest is right.

    Parameters
    ----------
    table : DataFrame
        What `cross_validate_regimes` returned.

    Examples
    --------
    >>> scores = {0.001: (-1.0, -1.2), 0.01: (-1.1, -1.15), 0.1: (-2.0, -2.1)}
    >>> table = pd.DataFrame([(sparsity, fold, score) for sparsity, both in scores.items()
    ...                       for fold, score in enumerate(both)], columns=["sparsity", "fold", "log_likelihood"])
    >>> choose_sparsity(table)
    0.01
    """
    by_fold = table.pivot(index="sparsity", columns="fold", values="log_likelihood")
    sparsities, scores = by_fold.index.to_numpy(float), by_fold.to_numpy(float)
    worse = scores[scores.mean(axis=1).argmax()] - scores
    error = worse.std(axis=1, ddof=min(1, scores.shape[1] - 1)) / np.sqrt(scores.shape[1])
    return float(sparsities[worse.mean(axis=1) <= error].max())


def _folds(regimes: Sequence[int], n_folds: Any, seed: int) -> list[list[int]]:
    """Divide regimes, given by their places, into folds."""
    if isinstance(n_folds, bool) or not isinstance(n_folds, int) or n_folds < 2:
        raise SettingsError(f"n_folds must be a whole number from 2, got {n_folds!r}")
    if len(regimes) < 2:
        raise DataError(
            f"there are {len(regimes)} intervention regimes with known targets: to leave some out and learn from the "
            "rest, at least 2 are needed"
        )
    order: NDArray[np.int64] = np.random.default_rng([seed, 3]).permutation(len(regimes))
    parts = np.array_split(order, min(n_folds, len(regimes)))
    return [[regimes[place] for place in np.sort(part)] for part in parts]
