"""Putting encoded columns and regimes together: what every in-memory format ends with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.data.checks import check_names
from enco.data.variables import AnyKind, Codes, Condition, Kind, Level, Regime, Variable, code_dtype
from enco.errors import DataError
from enco.io._encode import Cells, Locate, MissingCellsError, encode_column

__all__ = ["build", "check_overrides", "default_names"]


def build(
    names: Sequence[str],
    columns: Iterable[Cells],
    *,
    regime_of_row: NDArray[np.intp],
    conditions: Sequence[Condition],
    kinds: Mapping[str, AnyKind] | None = None,
    levels: Mapping[str, Sequence[Level]] | None = None,
    context: Iterable[str] = (),
    locate: Locate = "row {}, counting from 0".format,
) -> InterventionalData:
    """Encode columns one at a time and group the rows by regime, keeping their order within each.

    Parameters
    ----------
    names : sequence of str
    columns : iterable of arrays, shape (rows,)
        In the order of `names`; read one after the other, so that a generator never holds two.
    regime_of_row : ndarray of int, shape (rows,)
        Index into `conditions`.
    conditions : sequence of Condition
    kinds, levels : mapping from name, optional
    context : collection of str
        Columns that describe the circumstances of a row.
    locate : callable
        Words a row number for messages.

    Examples
    --------
    >>> columns = [np.array([0, 1]), np.array([0.5, 1.5])]
    >>> build(["A", "B"], columns, regime_of_row=np.zeros(2, np.intp), conditions=[Condition()])
    InterventionalData(2 variables, 2 rows: 2 observational, 0 intervention regimes)
    """
    check_names(names)
    check_overrides(names, kinds, levels)
    if len(regime_of_row) == 0:
        raise DataError("the data are empty: there is not a single row")
    variables: list[Variable] = []
    encoded: list[Codes | NDArray[np.float32]] = []
    missing: list[MissingCellsError] = []
    for name, cells in zip(names, columns, strict=True):
        try:
            variable, values = encode_column(
                name, cells, kind=(kinds or {}).get(name), levels=(levels or {}).get(name), locate=locate
            )
        except MissingCellsError as problem:
            missing.append(problem)  # collected, so that the message can give the total over all columns
            continue
        variables.append(variable)
        encoded.append(values)
    if missing:
        raise DataError(missing[0].message(locate, sum(problem.total for problem in missing)))
    dtype = code_dtype(max(variable.n_levels for variable in variables))
    order = np.argsort(regime_of_row, kind="stable")
    codes = _block([v for v, u in zip(encoded, variables, strict=True) if u.kind.block == "codes"], order, dtype)
    reals = _block([v for v, u in zip(encoded, variables, strict=True) if u.kind.block == "reals"], order, np.float32)
    ends = np.cumsum(np.bincount(regime_of_row, minlength=len(conditions)))
    regimes = [
        Regime.of(condition, codes[start:end], reals[start:end])
        for condition, start, end in zip(conditions, [0, *ends[:-1]], ends, strict=True)
    ]
    return InterventionalData._from_checked(variables, regimes).with_context(context)


def check_overrides(
    names: Sequence[str],
    kinds: Mapping[str, AnyKind] | None,
    levels: Mapping[str, Sequence[Level]] | None = None,
) -> None:
    """Refuse overrides for columns that do not exist, unknown kinds, and levels of a continuous column.

    Examples
    --------
    >>> check_overrides(["A", "B"], {"A": "continuous"})
    """
    for option, mapping in (("kinds", kinds), ("levels", levels)):
        for name in mapping or {}:
            if name not in names:
                raise DataError(
                    f"{option} names the column {name!r}, which does not exist: columns start with {list(names[:5])}"
                )
    for name, kind in (kinds or {}).items():
        if kind not in tuple(Kind):
            raise DataError(f"kinds gives {name!r} the kind {kind!r}: use 'categorical' or 'continuous'")
        if kind == Kind.CONTINUOUS and name in (levels or {}):
            raise DataError(f"column {name!r} is declared continuous but has levels: drop one of the two")


def default_names(count: int) -> list[str]:
    """Name columns that came without names.

    Examples
    --------
    >>> default_names(3)
    ['X1', 'X2', 'X3']
    """
    return [f"X{position + 1}" for position in range(count)]


def _block(columns: Sequence[NDArray[Any]], order: NDArray[np.intp], dtype: type[np.generic]) -> NDArray[Any]:
    block = np.empty((len(order), len(columns)), dtype=dtype)
    for slot, values in enumerate(columns):
        block[:, slot] = values[order]
    return block
