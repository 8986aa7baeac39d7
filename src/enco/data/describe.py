"""What a data set looks like, and what looks wrong with it, in a few lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from enco.data.variables import Kind, Regime, regime_label

if TYPE_CHECKING:
    from enco.data import InterventionalData

__all__ = ["FEW_REGIME_ROWS", "TEST_LEVEL", "constant_columns", "describe", "find_warnings", "intervention_p_value"]

FEW_REGIME_ROWS = 10
"""A regime with fewer rows than this is reported."""

TEST_LEVEL = 0.01
"""A target is reported if a test at this level finds no difference from the observational rows."""

_TEST_ROWS = 20_000  # more observational rows than this would only make the comparison slower
_SHOWN_REGIMES = 20
_SHOWN_NAMES = 8


def describe(data: InterventionalData) -> str:
    """Return the summary behind `InterventionalData.describe`.

    Examples
    --------
    >>> from enco.data import InterventionalData
    >>> x = np.arange(20).reshape(10, 2) % 2
    >>> print(describe(InterventionalData.from_environments([x, 1 - x], [None, ["X1"]])))
    variables      2 (2 categorical)
    levels         2 each
    rows           20
    regimes        2
      observational  10
      do(X1)         10
    not targeted   X2
    warnings       1
      never intervened on (1 of 2): 'X2'
    """
    levels = data.n_levels[data.is_categorical & ~data.is_context]
    of_kind = {kind: sum(it.kind == kind and not it.context for it in data.variables) for kind in Kind}
    lines = [
        _line("variables", f"{sum(of_kind.values())} ({', '.join(f'{n} {kind}' for kind, n in of_kind.items() if n)})")
    ]
    if data.is_context.any():
        lines.append(_line("context", _some([it.name for it in data.variables if it.context], quoted=False)))
    if len(levels):
        low, high = int(levels.min()), int(levels.max())
        lines.append(_line("levels", f"{low} each" if low == high else f"{low} to {high}"))
    lines.append(_line("rows", f"{data.n_rows:,}"))
    lines.append(_line("regimes", f"{len(data.regimes):,}"))
    lines += _regime_lines(data)
    untouched = _never_targeted(data)
    if data.interventional and untouched:
        lines.append(_line("not targeted", _some(untouched, quoted=False)))
    found = find_warnings(data)
    lines.append(_line("warnings", str(len(found)) if found else "none"))
    return "\n".join(lines + [f"  {warning}" for warning in found])


def find_warnings(data: InterventionalData) -> list[str]:
    r"""Return what looks suspicious, one sentence per kind of problem.

    - a variable that has the same value in every row of every regime;
    - an intervention regime with fewer than `FEW_REGIME_ROWS` rows;
    - a target whose distribution in its own regime does not differ from the observational one: chi-square test for
      categorical, Kolmogorov-Smirnov test for continuous variables, p-value above `TEST_LEVEL`; regimes with
      few rows are not tested, and neither are constant variables;
    - variables that no regime intervenes on, or none by its label; context is none of them.

    Examples
    --------
    >>> from enco.data import InterventionalData
    >>> rows = np.arange(40).reshape(20, 2) % 3
    >>> data = InterventionalData.from_environments([rows, rows], [None, "X1"])
    >>> print("\n".join(find_warnings(data)))
    targets that look the same as without intervention (test level 0.01): 'X1' in do(X1)
    never intervened on (1 of 2): 'X2'
    """
    found = []
    constant = constant_columns(data)
    if constant.any():
        found.append(f"constant in every row: {_some([data.names[i] for i in np.flatnonzero(constant)])}")
    few = [regime for regime in data.regimes if regime.n_rows < FEW_REGIME_ROWS]
    if few:
        listed = [f"{data.regime_label(regime)} ({regime.n_rows})" for regime in few]
        found.append(f"regimes with fewer than {FEW_REGIME_ROWS} rows: {_some(listed, quoted=False)}")
    same = _unmoved_targets(data, constant)
    if same:
        found.append(
            f"targets that look the same as without intervention (test level {TEST_LEVEL}): {_some(same, quoted=False)}"
        )
    untouched = _never_targeted(data)
    if untouched:
        n = int((~data.is_context).sum())
        unknown = any(regime.unknown for regime in data.regimes)
        named = "no label names" if unknown else "never intervened on"
        found.append(f"{named} ({len(untouched)} of {n}): {_some(untouched)}")
    return found


def _line(label: str, text: str) -> str:
    return f"{label:<14} {text}"


def _some(words: Sequence[str], *, quoted: bool = True) -> str:
    shown = ", ".join(repr(word) if quoted else word for word in words[:_SHOWN_NAMES])
    return shown if len(words) <= _SHOWN_NAMES else f"{shown} and {len(words) - _SHOWN_NAMES:,} more"


def _regime_lines(data: InterventionalData) -> list[str]:
    shown = data.regimes[:_SHOWN_REGIMES]
    labels = [_in_full(data, regime) for regime in shown]
    labels = [label if len(label) <= 40 else f"{label[:37]}..." for label in labels]
    width = max(map(len, labels))
    digits = max(len(f"{regime.n_rows:,}") for regime in shown)
    lines = [f"  {label:<{width}}  {regime.n_rows:>{digits},}" for label, regime in zip(labels, shown, strict=True)]
    rest = [regime.n_rows for regime in data.regimes[_SHOWN_REGIMES:]]
    if rest:
        size = f"{min(rest):,}" if min(rest) == max(rest) else f"{min(rest):,} to {max(rest):,}"
        lines.append(f"  and {len(rest):,} more with {size} rows each")
    return lines


def _in_full(data: InterventionalData, regime: Regime) -> str:
    """Name a regime, and say what its label means."""
    if regime.label is None:
        return data.regime_label(regime)
    return f"{regime.label}: {'unknown targets' if regime.unknown else regime_label(data.variables, regime.targets)}"


def _never_targeted(data: InterventionalData) -> list[str]:
    targeted = {position for regime in data.regimes for position in regime.targets}
    return [it.name for position, it in enumerate(data.variables) if position not in targeted and not it.context]


def constant_columns(data: InterventionalData) -> NDArray[np.bool_]:
    """Find columns with one value over all regimes, dropping candidates as soon as they vary."""
    constant = np.zeros(data.n_variables, dtype=np.bool_)
    for block_of in ("codes", "reals"):
        columns = np.flatnonzero([kind.block == block_of for kind in data.kinds])
        if not len(columns):
            continue
        blocks: list[NDArray[Any]] = [getattr(regime, block_of) for regime in data.regimes]
        first = blocks[0][0]
        candidates = np.arange(len(columns))
        for block in blocks:
            for start in range(0, len(block), 4096):
                if not len(candidates):
                    break
                rows = block[start : start + 4096]
                part = rows if len(candidates) == rows.shape[1] else rows[:, candidates]
                candidates = candidates[(part == first[candidates]).all(axis=0)]
        constant[columns[candidates]] = True
    return constant


def _unmoved_targets(data: InterventionalData, constant: NDArray[np.bool_]) -> list[str]:
    return [
        f"{data.names[position]!r} in {data.regime_label(regime)}"
        for regime in data.interventional
        if regime.n_rows >= FEW_REGIME_ROWS
        for position in regime.targets
        if not constant[position] and intervention_p_value(data, position, regime) > TEST_LEVEL
    ]


def intervention_p_value(data: InterventionalData, position: int, regime: Regime) -> float:
    """Test whether a variable is distributed in a regime as in the observational rows."""
    slot = data.slots[position]
    if data.is_continuous[position]:
        observed = data.observational.reals[:_TEST_ROWS, slot]
        return float(stats.ks_2samp(observed, regime.reals[:_TEST_ROWS, slot], method="asymp").pvalue)
    counts = np.stack(
        [np.bincount(rows.codes[:, slot], minlength=data.n_levels[position]) for rows in (data.observational, regime)]
    )
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] < 2:
        return 1.0
    return float(stats.chi2_contingency(counts, correction=False).pvalue)
