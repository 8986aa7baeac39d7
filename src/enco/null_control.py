"""A negative control: what a fit finds where the labels mean nothing.

The labels of the rows are permuted, and the data are fitted again. Which variables depend on each other stays as it is;
what interventions seem to say about directions is then chance. So the number of edges of some confidence under permuted
labels, over that under the real ones, estimates how many of those edges do not rest on what was done. Within context
columns, such as batches, labels are permuted among rows of the same context.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, lgamma
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.data import InterventionalData, Regime
from enco.errors import DataError, SettingsError
from enco.refits import FitOptions, Refits, check_whole
from enco.result import Result
from enco.result.null_table import NULL_COLUMNS
from enco.settings import Settings

__all__ = ["THRESHOLDS", "NullControl", "null_control", "permuted"]

I64 = NDArray[np.int64]

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
ENOUGH = 1e6  # permutations: nobody asks for more


@dataclass(frozen=True, eq=False)
class NullControl:
    """Fits with real and with permuted labels.

    Attributes
    ----------
    result : Result
        With the real labels.
    permuted : list of Result
    """

    result: Result
    permuted: list[Result]

    def table(self) -> pd.DataFrame:
        """Count edges of at least a confidence.

        Returns
        -------
        DataFrame
            For each ``probability``: the number of ``permutations``, ``edges`` with the real labels, ``by_chance``, the
            mean number with permuted ones, ``beyond_chance``, their difference or 0, and ``fdr``, their ratio, at most
            1; NaN without edges.
        """
        rows = []
        for least in THRESHOLDS:
            edges = _count(self.result, least)
            by_chance = float(np.mean([_count(result, least) for result in self.permuted]))
            fdr = min(1.0, by_chance / edges) if edges else np.nan
            rows.append((len(self.permuted), least, edges, by_chance, max(0.0, edges - by_chance), fdr))
        return pd.DataFrame(rows, columns=list(NULL_COLUMNS))

    def added_to_result(self) -> Result:
        """Return the result with real labels with this table, which its page then shows."""
        return replace(self.result, null_control=self.table())

    def __repr__(self) -> str:
        return f"NullControl({len(self.permuted)} permutations)"


def null_control(
    data: InterventionalData,
    n_permutations: int = 5,
    *,
    result: Result | None = None,
    on_fit: Callable[[int], None] = lambda done: None,
    **options: Unpack[FitOptions],
) -> NullControl:
    """Fit data whose labels are permuted, again and again.

    Parameters
    ----------
    data : InterventionalData
    n_permutations : int
        Each takes about as long as a fit; `n_jobs` of them run at once.
    result : Result, optional
        Of the same data; without it, the fit is run as well.
    on_fit : callable
        Called with the number of fits done.
    settings, knowledge, network, seed, n_jobs
        See `ENCO`.

    Returns
    -------
    NullControl

    Examples
    --------
    >>> from enco import simulate
    >>> rng = np.random.default_rng(0)
    >>> data = simulate.categorical("chain", 3, rng, categories=3).dataset(200, 50, rng=rng)
    >>> null_control(data, 1, settings=Settings(max_epochs=1, refine_steps=100), n_jobs=1)
    NullControl(1 permutations)
    """
    check_whole("number of permutations", n_permutations, 1)
    if len([regime for regime in data.regimes if regime.n_rows]) < 2:
        raise DataError("all rows are of one regime: there are no labels to permute")
    there_are = _possible(data)
    if n_permutations > there_are:
        raise SettingsError(
            f"the labels can be permuted in {there_are:,.0f} other ways only: ask for fewer permutations"
        )
    if result is not None and set(result.variables) != set(data.without_context().names):
        raise DataError("the data and the result have different variables: give the data of this fit")
    fits = Refits(**options)
    settings = fits.settings or Settings()

    def fit(number: int, go_on: Callable[[Any], None]) -> Result:
        if not number and result is not None:
            return result
        rows = permuted(data, np.random.default_rng([fits.seed, 3, number])) if number else data
        return fits.result(fits.discovery(rows, settings), rows, go_on)

    found = fits.run(fit, 1 + n_permutations, on_fit)
    return NullControl(found[0], found[1:])


def permuted(data: InterventionalData, rng: np.random.Generator) -> InterventionalData:
    """Return the same rows with their labels permuted, among those of the same context.

    Examples
    --------
    >>> x = np.arange(12).reshape(6, 2) % 5
    >>> data = InterventionalData.from_environments([x[:4], x[4:]], [None, "X1"])
    >>> mixed = permuted(data, np.random.default_rng(0))
    >>> [regime.n_rows for regime in mixed.regimes], [regime.targets for regime in mixed.regimes]
    ([4, 2], [(), (0,)])
    """
    codes = np.concatenate([regime.codes for regime in data.regimes])
    reals = np.concatenate([regime.reals for regime in data.regimes])
    source = np.arange(len(codes))
    for rows in _strata(data):
        source[rows] = rng.permutation(rows)
    ends = np.cumsum([regime.n_rows for regime in data.regimes])[:-1]
    regimes = [
        Regime.of(regime.condition, codes[rows], reals[rows])
        for regime, rows in zip(data.regimes, np.split(source, ends), strict=True)
    ]
    return InterventionalData(data.variables, regimes)


def _count(result: Result, least: float) -> int:
    return int((result.edge_probability[result.adjacency.astype(bool)] >= least).sum())


def _strata(data: InterventionalData) -> list[I64]:
    """Rows of the same context, of all regimes one after the other."""
    n = sum(regime.n_rows for regime in data.regimes)
    columns = []
    for variable in np.flatnonzero(data.is_context):
        block = "codes" if data.is_categorical[variable] else "reals"
        slot = int(data.slots[variable])
        columns.append(np.concatenate([getattr(regime, block)[:, slot] for regime in data.regimes]))
    if not columns:
        return [np.arange(n)]
    _, stratum = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return [np.flatnonzero(stratum == k) for k in range(int(stratum.max()) + 1)]


def _possible(data: InterventionalData) -> float:
    """Count the ways to label the rows that differ from the real one, up to `ENOUGH`."""
    label = np.repeat(np.arange(len(data.regimes)), [regime.n_rows for regime in data.regimes])
    ways = sum(
        lgamma(len(rows) + 1) - sum(lgamma(count + 1) for count in np.bincount(label[rows])) for rows in _strata(data)
    )
    return round(exp(ways)) - 1 if ways < np.log(ENOUGH) else ENOUGH
