"""What can be said about a data set before a fit, without knowing the graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData, Regime
from enco.data.describe import FEW_REGIME_ROWS, constant_columns, intervention_p_value
from enco.errors import SettingsError
from enco.theory._tests import Levels, needed_strength, p_values, significant
from enco.theory.data_report import DataReport, SmallRegime

__all__ = ["check_data"]

POWER = 0.8
_MOST_UNTARGETED = 300  # beyond this, pairs without intervention are only counted: tests would take minutes


def check_data(data: InterventionalData, *, level: float = 0.01) -> DataReport:
    """Say what limits causal discovery from a data set, without knowing the graph.

    Parameters
    ----------
    data : InterventionalData
        Categorical and continuous columns; continuous ones are cut at their quantiles for the tests of effects. Context
        is left out.
    level : float
        Level of the tests; for effects and dependent pairs the expected share of false findings.

    Returns
    -------
    DataReport

    Examples
    --------
    >>> from enco.simulate import examples
    >>> data = examples.worked_chain().dataset(2000, 500, targets=["X1"], rng=np.random.default_rng(0))
    >>> report = check_data(data)
    >>> report.untargeted, [pair[:2] for pair in report.distant_pairs], report.unmoved
    (('X2', 'X3'), [('X2', 'X3')], ())
    """
    context = tuple(variable.name for variable in data.variables if variable.context)
    data = data.without_context()
    if not 0 < level < 1:
        raise SettingsError(f"level must lie between 0 and 1, but it is {level}")
    constant = constant_columns(data)
    targeted = {target for regime in data.interventional for target in regime.targets}
    untargeted = [column for column in range(data.n_variables) if column not in targeted]
    levels = Levels(data)
    distant, tested = _distant_pairs(data, levels, untargeted, level)
    found = _effects(data, levels, level)
    label = data.regime_label
    return DataReport(
        variables=data.n_variables,
        rows=data.n_rows,
        regimes=len(data.interventional),
        level=level,
        constant=tuple(data.names[column] for column in np.flatnonzero(constant)),
        untargeted=tuple(data.names[column] for column in untargeted),
        context=context,
        unknown=tuple(label(regime) for regime in data.interventional if regime.unknown),
        distant_pairs=tuple(distant),
        n_distant=len(untargeted) * (len(untargeted) - 1) // 2,
        distant_tested=tested,
        unmoved=tuple(_unmoved(data, constant, level)),
        n_effects=sum(int(effects.found.sum()) for effects in found),
        typical_effect=_typical(found),
        quiet=tuple(label(effects.regime) for effects in found if not effects.found.any()),
        small_regimes=tuple(_small_regimes(data, found, level)),
    )


@dataclass
class _Effects:
    """What tests say about the effect of one regime on each column."""

    regime: Regime
    p: NDArray[np.float64]
    size: NDArray[np.float64]  # nats per row, corrected for what chance alone gives
    freedom: NDArray[np.int64]
    between: NDArray[np.bool_]  # from the comparison with observational rows, else from within the regime
    found: NDArray[np.bool_]


def _distant_pairs(
    data: InterventionalData, levels: Levels, columns: list[int], level: float
) -> tuple[list[tuple[str, str, float]], bool]:
    if len(columns) < 2 or not data.observational.n_rows:
        return [], len(columns) < 2
    if len(columns) > _MOST_UNTARGETED:
        return [], False
    rows = levels.of(data.observational)
    p = np.ones((len(columns), len(columns)))
    for place, column in enumerate(columns):
        own = rows[:, column] - levels.starts[column]
        p[place] = p_values(*levels.association(own, rows))[columns]
    upper = np.triu_indices(len(columns), 1)
    believed = significant(p[upper], level)
    pairs = [
        (data.names[columns[one]], data.names[columns[other]], float(p[one, other]))
        for one, other in np.transpose(upper)[believed]
    ]
    return sorted(pairs, key=lambda pair: pair[2]), True


def _unmoved(data: InterventionalData, constant: NDArray[np.bool_], level: float) -> list[tuple[str, str, float]]:
    if not data.observational.n_rows:
        return []
    found = []
    for regime in data.interventional:
        for target in regime.targets:
            if regime.n_rows < FEW_REGIME_ROWS or constant[target]:
                continue
            p = intervention_p_value(data, target, regime)
            if p > level:
                found.append((data.names[target], data.regime_label(regime), p))
    return found


def _effects(data: InterventionalData, levels: Levels, level: float) -> list[_Effects]:
    """Test the effect of every regime on every other column, against observational rows and inside the regime."""
    observed = levels.of(data.observational) if data.observational.n_rows else None
    found = []
    for regime in data.interventional:
        rows = levels.of(regime)
        effects = _within(regime, rows, levels)
        if observed is not None:
            both = np.concatenate([observed, rows])
            groups = np.repeat([0, 1], [len(observed), len(rows)])
            statistic, freedom = levels.association(groups, both)
            p = p_values(statistic, freedom)
            size = np.maximum(statistic - freedom, 0.0) / (2 * len(observed) * len(rows) / len(both))
            better = p < effects.p
            effects.p = np.minimum(1.0, 2 * np.where(better, p, effects.p))  # the better of two tests
            effects.size = np.where(better, size, effects.size)
            effects.freedom = np.where(better, freedom, effects.freedom)
            effects.between = better
        # What shifts most under an unknown intervention is its target, as far as the data can tell.
        effects.p[[int(np.lexsort((-effects.size, effects.p))[0])] if regime.unknown else list(regime.targets)] = 1.0
        found.append(effects)
    if found:
        believed = significant(np.stack([effects.p for effects in found]), level)
        for effects, row in zip(found, believed, strict=True):
            effects.found = row & (effects.size > 0)
    return found


def _within(regime: Regime, rows: NDArray[np.int64], levels: Levels) -> _Effects:
    """Test a single target against every column inside its own regime; it may have been set to one value there."""
    size = rows.shape[1]
    nothing = _Effects(
        regime, np.ones(size), np.zeros(size), np.zeros(size, np.int64), np.zeros(size, bool), np.zeros(size, bool)
    )
    if len(regime.targets) != 1 or not len(rows):
        return nothing
    target = regime.targets[0]
    statistic, freedom = levels.association(rows[:, target] - levels.starts[target], rows)
    nothing.p, nothing.freedom = p_values(statistic, freedom), freedom
    nothing.size = np.maximum(statistic - freedom, 0.0) / (2 * len(rows))
    return nothing


def _typical(found: list[_Effects]) -> float | None:
    sizes = np.concatenate([effects.size[effects.found] for effects in found]) if found else np.empty(0)
    return float(np.median(sizes)) if len(sizes) else None


def _small_regimes(data: InterventionalData, found: list[_Effects], level: float) -> list[SmallRegime]:
    typical = _typical(found)
    if typical is None:
        return []
    freedom = int(np.median(np.concatenate([effects.freedom[effects.found] for effects in found])))
    between = np.concatenate([effects.between[effects.found] for effects in found]).mean() > 0.5
    # Each regime is asked about all other columns, so that one false finding per regime would be rare.
    needed = needed_strength(max(1, freedom), level / max(1, data.n_variables - 1), POWER) / (2 * typical)
    if between:  # such tests compare with observational rows, of which there must be enough as well
        observed = data.observational.n_rows
        needed = needed * observed / (observed - needed) if observed > needed else np.inf
    wanted = int(np.ceil(needed)) if needed < np.inf else 0
    return [
        SmallRegime(data.regime_label(effects.regime), effects.regime.n_rows, wanted)
        for effects in found
        if effects.regime.n_rows < needed
    ]
