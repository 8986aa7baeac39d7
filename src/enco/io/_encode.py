"""Turning one column of cells into level indices or real numbers, with errors that name the cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.data.checks import not_finite
from enco.data.variables import MAX_LEVELS, AnyKind, Codes, Kind, Level, Variable, code_dtype
from enco.errors import DataError

__all__ = [
    "MAX_FLOAT_LEVELS",
    "Cells",
    "Locate",
    "MissingCellsError",
    "as_categorical",
    "encode_column",
    "number_to_level",
]

MAX_FLOAT_LEVELS = 256
"""The largest number of distinct values of a float column that the caller declares categorical."""

Cells: TypeAlias = "NDArray[Any] | pd.Categorical[Any]"
Locate: TypeAlias = Callable[[int], str]


class MissingCellsError(Exception):
    """A column has missing or infinite cells: where the first is, and how many there are."""

    def __init__(self, name: str, row: int, value: object, total: int) -> None:
        self.name, self.row, self.value, self.total = name, row, value, total
        super().__init__(name)

    def message(self, locate: Locate, total: int) -> str:
        """Word it for the user, with the total over all columns."""
        return not_finite(self.name, locate(self.row), self.value).format(total=total)


def encode_column(
    name: str,
    cells: Cells,
    *,
    kind: AnyKind | None = None,
    levels: Sequence[Level] | None = None,
    locate: Locate = "row {}, counting from 0".format,
) -> tuple[Variable, Codes | NDArray[np.float32]]:
    """Decide the kind of a column and encode it.

    Parameters
    ----------
    name : str
    cells : ndarray of bool, int, float, text or objects, or pandas Categorical, shape (rows,)
    kind : {"categorical", "continuous"}, optional
        By default floats are continuous, everything else is categorical.
    levels : sequence, optional
        All levels of a categorical column in their order; by default the sorted distinct values, or the
        categories of a pandas Categorical.
    locate : callable
        Words a row number for messages.

    Returns
    -------
    variable : Variable
    values : ndarray of uint8 or uint16 (categorical) or float32 (continuous), shape (rows,)

    Examples
    --------
    >>> encode_column("A", np.array(["lo", "hi", "lo"], dtype=object))
    (Variable(name='A', kind='categorical', levels=('hi', 'lo')), array([1, 0, 1], dtype=uint8))
    """
    column: Cells = cells if isinstance(cells, pd.Categorical) else _typed(name, cells, locate)
    if kind is None and levels is None and not isinstance(column, pd.Categorical) and column.dtype.kind == "f":
        kind = Kind.CONTINUOUS
    if kind == Kind.CONTINUOUS:
        return Variable(name, Kind.CONTINUOUS), _reals(name, np.asarray(column), locate)
    which, found = _distinct(name, column, declared=kind is not None or levels is not None, locate=locate)
    if levels is not None:
        which, found = _onto_levels(name, which, found, Variable(name, Kind.CATEGORICAL, tuple(levels)), locate)
    codes: Codes = which.astype(code_dtype(len(found)))  # type: ignore[assignment]
    return Variable(name, Kind.CATEGORICAL, tuple(found)), codes


def as_categorical(codes: NDArray[Any], levels: Sequence[Level]) -> pd.Categorical[Any]:
    """Return a pandas categorical with exactly these levels, used or not.

    Examples
    --------
    >>> as_categorical(np.array([1, 0]), ("a", "b")).tolist()
    ['b', 'a']
    """
    categories: Any = pd.Index(list(levels))  # the stubs know indices of one type only
    found: pd.Categorical[Any] = pd.Categorical.from_codes(codes, categories=categories)
    return found


def number_to_level(values: NDArray[Any]) -> list[Level]:
    """Turn distinct floats into levels: integers if all are whole, else their shortest text.

    Examples
    --------
    >>> number_to_level(np.array([0.0, 2.0])), number_to_level(np.array([0.5, 2.0]))
    ([0, 2], ['0.5', '2.0'])
    """
    if np.all(values == np.floor(values)) and np.all(np.abs(values) < 2.0**63):
        return [int(value) for value in values]
    return [str(value) for value in values]


def _typed(name: str, cells: NDArray[Any], locate: Locate) -> NDArray[Any]:
    """Return bools, integers, floats, or an object array of nothing but text."""
    cells = np.asarray(cells)
    if cells.dtype.kind in "biuf":
        return cells
    if cells.dtype.kind == "U":
        return cells.astype(object)
    if cells.dtype.kind != "O":
        raise DataError(f"variable {name!r} is of type {cells.dtype}: turn it into numbers, text or categories")
    missing = pd.isna(cells)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise MissingCellsError(name, row, cells[row], int(missing.sum()))
    found = pd.api.types.infer_dtype(cells, skipna=False)
    if found in ("string", "empty"):
        return cells
    try:
        if found in ("integer", "boolean", "floating", "mixed-integer-float", "decimal"):
            return np.array(cells.tolist(), dtype={"integer": np.int64, "boolean": np.bool_}.get(found, np.float64))
    except OverflowError:
        raise DataError(f"variable {name!r} holds integers beyond 64 bits: turn it into text or floats") from None
    row = _odd_one_out(cells)
    raise DataError(
        f"variable {name!r} holds {cells[row]!r} ({type(cells[row]).__name__}) in {locate(row)} among cells "
        "of another type: make all cells of the column numbers, or all of them text"
    )


def _odd_one_out(cells: NDArray[Any]) -> int:
    """Return the first row whose type is not that of the most frequent type."""
    types = [type(cell) for cell in cells]
    usual = max(dict.fromkeys(types), key=types.count)
    return next((row for row, kind in enumerate(types) if kind is not usual), 0)


def _reals(name: str, cells: NDArray[Any], locate: Locate) -> NDArray[np.float32]:
    if cells.dtype.kind not in "biuf":
        cells = _parsed(name, _typed(name, cells, locate), locate)
    with np.errstate(over="ignore"):
        reals: NDArray[np.float32] = cells.astype(np.float32)
    wrong = ~np.isfinite(reals)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        if np.isfinite(cells[row]):
            raise DataError(
                f"variable {name!r} holds {cells[row]} in {locate(row)}, too large for single precision: rescale it"
            )
        raise MissingCellsError(name, row, cells[row], int(wrong.sum()))
    exact = cells.astype(np.float64)
    if len(exact) and np.abs(reals - exact).max() > 0.5 * np.ptp(exact) > 0:
        raise DataError(
            f"variable {name!r} varies so little around {cells[0]:.6g} that single precision cannot hold it: "
            "subtract a constant from it first"
        )
    return reals


def _parsed(name: str, cells: NDArray[Any], locate: Locate) -> NDArray[np.float64]:
    """Read text as numbers for a column that must be continuous."""
    if cells.dtype.kind != "O":
        return cells.astype(np.float64)
    try:
        return cells.astype(np.str_).astype(np.float64)
    except ValueError:
        row = next(row for row, cell in enumerate(cells) if not _is_number(cell))
        raise DataError(
            f"variable {name!r} is continuous but holds the text {cells[row]!r} in {locate(row)}: "
            "correct the cell or declare the column categorical"
        ) from None


def _distinct(name: str, cells: Cells, *, declared: bool, locate: Locate) -> tuple[NDArray[np.intp], list[Level]]:
    """Return for each row the index of its level, and the levels in order."""
    if isinstance(cells, pd.Categorical):
        return _categories(name, cells)
    if cells.dtype.kind == "b":
        return cells.astype(np.intp), [False, True]
    if cells.dtype.kind == "f":
        return _distinct_floats(name, cells)
    if cells.dtype.kind in "iu":
        return _distinct_integers(name, cells)
    which, texts = pd.factorize(cells)
    _check_count(name, len(texts), "drop it, or merge rare levels")
    plain = [str(text) for text in texts]
    if not declared:
        _refuse_text_among_numbers(name, which, plain, locate)
    order = sorted(range(len(plain)), key=plain.__getitem__)
    rank = np.empty(len(plain), dtype=np.intp)
    rank[order] = np.arange(len(plain))
    return rank[which], [plain[index] for index in order]


def _distinct_integers(name: str, cells: NDArray[Any]) -> tuple[NDArray[np.intp], list[Level]]:
    remedy = f"declare it continuous with kinds={{{name!r}: 'continuous'}}"
    low, high = int(cells.min()), int(cells.max())
    if high > np.iinfo(np.int64).max:
        raise DataError(f"variable {name!r} holds the integer {high}, beyond 64 bits with sign: {remedy}")
    if high - low < 4 * MAX_LEVELS:  # a table of what occurs is many times faster than sorting
        shifted = (cells.astype(np.int64) - low).astype(np.intp)
        present = np.zeros(high - low + 1, dtype=np.bool_)
        present[shifted] = True
        levels = np.flatnonzero(present) + low
        which: NDArray[np.intp] = (np.cumsum(present) - 1)[shifted]
    else:
        levels, which = np.unique(cells.astype(np.int64), return_inverse=True)
    _check_count(name, len(levels), remedy)
    return which, list(levels.tolist())


def _distinct_floats(name: str, cells: NDArray[Any]) -> tuple[NDArray[np.intp], list[Level]]:
    wrong = ~np.isfinite(cells)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise MissingCellsError(name, row, cells[row], int(wrong.sum()))
    values, which = np.unique(cells, return_inverse=True)
    if len(values) > MAX_FLOAT_LEVELS:
        raise DataError(
            f"variable {name!r} is a float column declared categorical with {len(values):,} distinct values, "
            f"more than {MAX_FLOAT_LEVELS}: leave it continuous, or round or bin it first"
        )
    return which, number_to_level(values)


def _categories(name: str, cells: pd.Categorical[Any]) -> tuple[NDArray[np.intp], list[Level]]:
    which = np.asarray(cells.codes, dtype=np.intp)
    if (which < 0).any():
        raise MissingCellsError(name, int(np.flatnonzero(which < 0)[0]), "a missing value", int((which < 0).sum()))
    _check_count(name, len(cells.categories), "remove unused categories or merge rare ones")
    categories = np.asarray(cells.categories)
    if categories.dtype.kind == "f":
        return which, number_to_level(categories)
    return which, list(categories.tolist())


def _onto_levels(
    name: str, which: NDArray[np.intp], found: Sequence[Level], wanted: Variable, locate: Locate
) -> tuple[NDArray[np.intp], list[Level]]:
    """Index into the levels that were asked for instead of those that were found."""
    levels = list(wanted.levels or ())
    index = {(type(level), level): position for position, level in enumerate(levels)}
    moved = np.array([index.get((type(level), level), -1) for level in found], dtype=np.intp)[which]
    if (moved < 0).any():
        row = int(np.flatnonzero(moved < 0)[0])
        raise DataError(
            f"variable {name!r} holds {found[which[row]]!r} in {locate(row)}, which is not among its levels "
            f"{levels[:8]}: add the level or correct the cell"
        )
    return moved, levels


def _refuse_text_among_numbers(name: str, which: NDArray[np.intp], texts: Sequence[str], locate: Locate) -> None:
    """Refuse a stray word that turned a numeric column into text, rather than make every number a level."""
    numeric = np.array([_is_number(text) for text in texts], dtype=np.bool_)
    cells_numeric = numeric[which]
    if numeric.all() or 2 * int(cells_numeric.sum()) < len(which):
        return
    row = int(np.flatnonzero(~cells_numeric)[0])
    raise DataError(
        f"variable {name!r} holds the text {texts[which[row]]!r} in {locate(row)}, while most of its cells "
        f"are numbers: correct the cell, or declare the column with kinds={{{name!r}: 'categorical'}}"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_count(name: str, count: int, remedy: str) -> None:
    if count > MAX_LEVELS:
        raise DataError(f"variable {name!r} has {count:,} levels, more than {MAX_LEVELS:,}: {remedy}")
