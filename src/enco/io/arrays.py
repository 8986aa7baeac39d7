"""Arrays in memory: one per environment, or one table with a mask of intervened cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from enco.data import InterventionalData
from enco.data.checks import check_names
from enco.data.meanings import UNKNOWN
from enco.data.variables import AnyKind, Condition, Level
from enco.errors import DataError
from enco.io._build import build, default_names
from enco.io._encode import Cells
from enco.io._targets import resolve_targets
from enco.io.frames import OpenTable, is_frame, open_frame

__all__ = ["data_from_environments", "data_from_mask", "data_from_rows"]

_KIND_WORDS = {
    "b": "truth values",
    "i": "integers",
    "u": "integers",
    "f": "floats",
    "U": "text",
    "O": "objects",
}


def data_from_environments(
    environments: Sequence[Any],
    targets: Sequence[Any],
    *,
    names: Sequence[str] | None = None,
    labels: Sequence[str | None] | None = None,
    context: Iterable[str] = (),
    kinds: Mapping[str, AnyKind] | None = None,
    levels: Mapping[str, Sequence[Level]] | None = None,
) -> InterventionalData:
    """Build from one array or data frame per environment; see `InterventionalData.from_environments`.

    Examples
    --------
    >>> data_from_environments([np.zeros((3, 2)), np.ones((2, 2))], [(), ("X1",)])
    InterventionalData(2 variables, 5 rows: 3 observational, 1 intervention regime)
    """
    if len(environments) == 0:
        raise DataError("the data are empty: pass at least one environment")
    if isinstance(targets, str) or len(environments) != len(targets):
        raise DataError(
            f"there are {len(environments)} environments but targets={targets!r}: give one entry per "
            "environment, None for observational rows"
        )
    tables = _same_columns([_table(x, names, f"environment {index}") for index, x in enumerate(environments)])
    positions = {name: position for position, name in enumerate(tables[0].names)}
    if labels is not None and len(labels) != len(environments):
        raise DataError(f"there are {len(environments)} environments but {len(labels)} labels: give one entry each")
    called = labels or [None] * len(environments)
    found = [
        _condition(entry, label, positions, f"environment {index}")
        for index, (entry, label) in enumerate(zip(targets, called, strict=True))
    ]
    conditions = list(dict.fromkeys(found))
    sizes = [table.n_rows for table in tables]
    starts = np.cumsum([0, *sizes])

    def locate(row: int) -> str:
        environment = int(np.searchsorted(starts, row, side="right")) - 1
        return f"row {row - starts[environment]} of environment {environment}"

    return build(
        tables[0].names,
        _joined_columns(tables, kinds or {}),
        regime_of_row=np.repeat([conditions.index(condition) for condition in found], sizes),
        conditions=conditions,
        kinds=kinds,
        levels=levels,
        context=context,
        locate=locate,
    )


def data_from_mask(
    x: Any,
    mask: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    kinds: Mapping[str, AnyKind] | None = None,
    levels: Mapping[str, Sequence[Level]] | None = None,
) -> InterventionalData:
    """Build from a table and a mask of intervened cells; see `InterventionalData.from_mask`.

    Examples
    --------
    >>> data_from_mask(np.zeros((2, 2)), [[0, 0], [0, 1]]).interventional[0].targets
    (1,)
    """
    table = _table(x, names, "the table")
    marks = _mask(mask, table)
    # Rows of the mask, packed to bits, are compared as single values.
    packed = np.ascontiguousarray(np.packbits(marks, axis=1))
    _, first, which = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # number the sets by first appearance
    conditions = [Condition(tuple(np.flatnonzero(marks[row]).tolist())) for row in np.sort(first)]
    return build(
        table.names,
        map(table.cells, range(len(table.names))),
        regime_of_row=rank[which],
        conditions=conditions,
        kinds=kinds,
        levels=levels,
    )


def data_from_rows(
    x: Any,
    conditions: Sequence[Condition],
    *,
    names: Sequence[str] | None = None,
    context: Iterable[str] = (),
    kinds: Mapping[str, AnyKind] | None = None,
    levels: Mapping[str, Sequence[Level]] | None = None,
) -> InterventionalData:
    """Build from a table and the condition of each of its rows.

    Examples
    --------
    >>> data = data_from_rows(np.zeros((2, 2)), [Condition(), Condition((), "drug X", unknown=True)])
    >>> data.interventional[0].label
    'drug X'
    """
    table = _table(x, names, "the table")
    if len(conditions) != table.n_rows:
        raise DataError(f"there are {table.n_rows} rows but {len(conditions)} conditions: give one for each row")
    place: dict[Condition, int] = {}
    regime_of_row = np.array([place.setdefault(condition, len(place)) for condition in conditions], np.intp)
    return build(
        table.names,
        map(table.cells, range(len(table.names))),
        regime_of_row=regime_of_row,
        conditions=list(place),
        kinds=kinds,
        levels=levels,
        context=context,
    )


def _condition(entry: Any, label: str | None, positions: Mapping[str, int], where: str) -> Condition:
    if isinstance(entry, str) and entry == UNKNOWN and UNKNOWN not in positions:
        return Condition((), label or where, unknown=True)
    targets = resolve_targets(entry, positions, where)
    return Condition(targets, label) if targets else Condition()


def _table(x: Any, names: Sequence[str] | None, what: str) -> OpenTable:
    if is_frame(x):
        if names is not None:
            raise DataError(f"{what} is a data frame with names of its own: leave names= out")
        table = open_frame(x)
        check_names(table.names)
        return table
    array = np.asarray(x)
    if array.ndim != 2:
        raise DataError(f"{what} is a {array.ndim}-d array: pass rows x variables")
    found = default_names(array.shape[1]) if names is None else [str(name) for name in names]
    if len(found) != array.shape[1]:
        raise DataError(f"{what} has {array.shape[1]} columns but there are {len(found)} names: give one per column")
    check_names(found)
    return OpenTable(found, array.shape[0], lambda position: array[:, position])


def _same_columns(tables: Sequence[OpenTable]) -> list[OpenTable]:
    """Match the columns of all tables by name; refuse tables that have others."""
    names = tables[0].names
    matched = []
    for index, table in enumerate(tables):
        missing = [name for name in names if name not in table.names]
        extra = [name for name in table.names if name not in names]
        if missing or extra:
            raise DataError(
                f"environment {index} has other columns than environment 0 (missing {missing[:5]}, "
                f"additional {extra[:5]}): every environment needs the same columns"
            )
        matched.append(table.reordered(names))
    return matched


def _joined_columns(tables: Sequence[OpenTable], kinds: Mapping[str, AnyKind]) -> Iterator[Cells]:
    for position, name in enumerate(tables[0].names):
        parts = [table.cells(position) for table in tables]
        if all(isinstance(part, pd.Categorical) for part in parts):
            if any(not part.categories.equals(parts[0].categories) for part in parts):
                raise DataError(f"variable {name!r} has other categories in other environments: use the same ones")
            codes = np.concatenate([part.codes for part in parts])
            yield pd.Categorical.from_codes(codes, dtype=parts[0].dtype)
            continue
        arrays = [np.asarray(part) for part in parts]
        words = [_KIND_WORDS.get(array.dtype.kind, str(array.dtype)) for array in arrays]
        odd = next((index for index, word in enumerate(words) if word != words[0]), None)
        if odd is not None and name not in kinds:
            raise DataError(
                f"variable {name!r} holds {words[0]} in environment 0 but {words[odd]} in environment {odd}: "
                f"use one type, or declare it with kinds={{{name!r}: ...}}"
            )
        if odd is not None and "U" in {array.dtype.kind for array in arrays}:
            arrays = [array.astype(object) for array in arrays]  # numpy would turn numbers into text
        yield np.concatenate(arrays)


def _mask(mask: ArrayLike, table: OpenTable) -> NDArray[np.bool_]:
    if is_frame(mask):
        frame = open_frame(mask)
        check_names(frame.names)
        other = frame.reordered(table.names)
        mask = np.column_stack([np.asarray(other.cells(position)) for position in range(len(table.names))])
    marks = np.asarray(mask)
    if marks.shape != (table.n_rows, len(table.names)):
        raise DataError(
            f"the mask has the shape {marks.shape} but the table has {table.n_rows} rows and "
            f"{len(table.names)} columns: pass one truth value per cell"
        )
    if marks.dtype.kind not in "biuf" or not np.isin(marks, (0, 1)).all():
        raise DataError("the mask holds something else than truth values (0 or 1): mark intervened cells with 1")
    return marks.astype(np.bool_)
