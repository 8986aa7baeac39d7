"""The rules a data set must satisfy, each with a message that names the place and the remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.data.variables import Condition, Regime, Variable, code_dtype, regime_label
from enco.errors import DataError

__all__ = ["canonical_regimes", "check_names", "check_values", "check_variables", "not_finite"]

_CHECKED_BYTES = 1 << 24  # rows are checked in pieces of about 16 MiB, so that a memory map is never read at once


def check_names(names: Sequence[str]) -> None:
    """Refuse fewer than two names and duplicates.

    Examples
    --------
    >>> check_names(["A", "B"])
    """
    if len(names) < 2:
        raise DataError(f"found {len(names)} variable(s) {list(names)}: a causal graph needs at least 2 columns")
    repeated, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise DataError(f"the name {repeated!r} occurs {times} times: names must be unique, rename the columns")


def check_variables(variables: Sequence[Variable]) -> None:
    """Refuse anything that is not at least two variables with distinct names."""
    for variable in variables:
        if not isinstance(variable, Variable):
            raise DataError(f"expected a Variable, not {variable!r}: build it with Variable(name, kind, levels)")
    check_names([variable.name for variable in variables])
    if sum(not variable.context for variable in variables) < 2:
        known = [variable.name for variable in variables if variable.context]
        raise DataError(f"all columns but one are context ({known[:5]}): a causal graph needs at least 2 variables")


def canonical_regimes(variables: Sequence[Variable], regimes: Sequence[Regime]) -> tuple[Regime, ...]:
    """Merge regimes of the same condition, put the observational one first, use one code type throughout."""
    for regime in regimes:
        if not isinstance(regime, Regime):
            raise DataError(f"expected a Regime, not {regime!r}: build it with Regime(targets, codes, reals)")
        _check_shape(variables, regime)
    grouped: dict[Condition, list[Regime]] = {Condition(): []}
    for regime in regimes:
        grouped.setdefault(Condition() if regime.is_observational else regime.condition, []).append(regime)
    _check_labels(grouped)
    dtype = code_dtype(max(variable.n_levels for variable in variables))
    merged = tuple(_merge(condition, parts, dtype) for condition, parts in grouped.items() if parts)
    if not grouped[Condition()] or merged[0].n_rows == 0:
        raise DataError(
            "there are no observational rows: add rows without intervention (in a table: rows whose target "
            "cell is empty or names the control)"
        )
    for regime in merged:
        if regime.n_rows == 0:
            label = regime_label(variables, regime.targets, regime.label)
            raise DataError(f"the regime {label} has no rows: leave it out or add its rows")
    return merged


def _check_labels(conditions: Iterable[Condition]) -> None:
    """Refuse a label that stands for two things."""
    labels = Counter(condition.label for condition in conditions if condition.label is not None)
    if labels and max(labels.values()) > 1:
        label = labels.most_common(1)[0][0]
        raise DataError(f"the label {label!r} stands for regimes with different targets: give each a label of its own")


def check_values(variables: Sequence[Variable], regime: Regime) -> None:
    """Refuse codes beyond the levels and real numbers that are not finite."""
    coded = [variable for variable in variables if variable.kind.block == "codes"]
    real = [variable for variable in variables if variable.kind.block == "reals"]
    limits = np.array([variable.n_levels for variable in coded], dtype=np.int64)
    for start, block in _row_blocks(regime.codes):
        if block.size and (block.max(axis=0) >= limits).any():
            row, column = np.argwhere(block >= limits)[0]
            variable = coded[column]
            raise DataError(
                f"variable {variable.name!r}, regime {regime_label(variables, regime.targets)}, row "
                f"{start + row}: code {block[row, column]} is not below its {variable.n_levels} levels; list "
                "all levels"
            )
    bad = 0
    first = ""
    for start, block in _row_blocks(regime.reals):
        wrong = ~np.isfinite(block)
        if wrong.any():
            bad += int(wrong.sum())
            row, column = np.argwhere(wrong)[0]
            where = f"row {start + row} of regime {regime_label(variables, regime.targets)}"
            first = first or not_finite(real[column].name, where, block[row, column])
    if bad:
        raise DataError(first.format(total=bad))


def not_finite(name: str, where: str, value: object) -> str:
    """Word the message about a missing or infinite number; ``{total}`` is filled in by the caller.

    Examples
    --------
    >>> print(not_finite("A", "row 3", float("nan")).format(total=2))
    variable 'A' holds nan in row 3 (2 missing or infinite cells in all): remove those rows or fill them in
    """
    place = f"variable {name!r} holds {value} in {where}".replace("{", "{{").replace("}", "}}")
    return place + " ({total} missing or infinite cells in all): remove those rows or fill them in"


def _check_shape(variables: Sequence[Variable], regime: Regime) -> None:
    n_coded = sum(variable.kind.block == "codes" for variable in variables)
    expected = (n_coded, len(variables) - n_coded)
    if regime.targets and regime.targets[-1] >= len(variables):
        raise DataError(
            f"a regime targets position {regime.targets[-1]}, but there are {len(variables)} variables: "
            f"positions go from 0 to {len(variables) - 1}"
        )
    context = [variables[target].name for target in regime.targets if variables[target].context]
    if context:
        raise DataError(
            f"the column {context[0]!r} is context and the target of an intervention: interventions do not act on "
            "context, so leave it out of one of the two"
        )
    found = (regime.codes.shape[1], regime.reals.shape[1])
    if found != expected:
        raise DataError(
            f"the regime {regime_label(variables, regime.targets)} has {found[0]} categorical and {found[1]} "
            f"continuous columns instead of {expected[0]} and {expected[1]}: every regime needs the same "
            "columns"
        )
    if len(regime.targets) == sum(not variable.context for variable in variables):
        raise DataError(
            f"the regime {regime_label(variables, regime.targets)} targets every variable, which leaves no "
            "effect to observe: leave this regime out"
        )


def _merge(condition: Condition, parts: Sequence[Regime], dtype: type[np.generic]) -> Regime:
    if len(parts) == 1 and parts[0].codes.dtype == dtype and parts[0].condition == condition:
        return parts[0]
    codes: NDArray[Any] = np.concatenate([part.codes for part in parts])
    if dtype == np.uint8 and codes.dtype != np.uint8 and codes.size and int(codes.max()) > 255:
        dtype = codes.dtype.type  # check_values will refuse it
    reals = np.concatenate([part.reals for part in parts])
    return Regime.of(condition, codes.astype(dtype), reals, _sources(parts))


def _sources(parts: Sequence[Regime]) -> NDArray[np.int64] | None:
    """Give the rows that those of several regimes are copies of numbers of their own, [rows]; None if none are."""
    if all(part.source is None for part in parts):
        return None
    numbers, begin = [], 0
    for part in parts:
        source = np.arange(part.n_rows) if part.source is None else part.source
        numbers.append(source + begin)
        begin += int(source.max(initial=-1)) + 1
    return np.concatenate(numbers)


def _row_blocks(values: NDArray[Any]) -> list[tuple[int, NDArray[Any]]]:
    step = max(1, _CHECKED_BYTES // max(1, values.itemsize * values.shape[1]))
    return [(start, values[start : start + step]) for start in range(0, len(values), step)]
