"""Data frames (pandas, polars, pyarrow and whatever else narwhals reads) to and from `InterventionalData`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.data.checks import check_names
from enco.data.variables import AnyKind, Condition, Level
from enco.errors import DataError
from enco.io._build import build
from enco.io._encode import Cells, as_categorical
from enco.io._record import DEFAULT_SEPARATOR, DEFAULT_TARGET, Notation
from enco.io._targets import parse_targets, target_labels

__all__ = ["OpenTable", "data_from_frame", "frame_from_data", "is_frame", "open_frame"]


@dataclass(frozen=True)
class OpenTable:
    """A table of any origin: names, the number of rows, and its columns on demand."""

    names: Sequence[str]
    n_rows: int
    cells: Callable[[int], Any]

    def reordered(self, names: Sequence[str]) -> OpenTable:
        """Return the same table with its columns in the order of `names`."""
        positions = {name: position for position, name in enumerate(self.names)}
        missing = [name for name in names if name not in positions]
        if missing:
            raise DataError(f"a table lacks the columns {missing[:5]}: it needs {list(names[:5])} and so on")
        return OpenTable(names, self.n_rows, lambda position: self.cells(positions[names[position]]))


def is_frame(value: Any) -> bool:
    """Tell a data frame from an array.

    Examples
    --------
    >>> is_frame(pd.DataFrame({"A": [1]})), is_frame(np.zeros((2, 2)))
    (True, False)
    """
    try:
        return isinstance(nw.from_native(value, pass_through=True), nw.DataFrame | nw.LazyFrame)
    except nw.exceptions.DuplicateError:  # a frame with repeated names, about which `open_frame` has more to say
        return True


def open_frame(frame: Any) -> OpenTable:
    """Wrap any data frame as an `OpenTable`.

    Examples
    --------
    >>> open_frame(pd.DataFrame({"A": [1, 2], 7: [0.5, 1.5]})).names
    ['A', '7']
    """
    if isinstance(frame, pd.DataFrame):  # narwhals insists on distinct text names; our message comes first
        titles = [str(name) for name in frame.columns]
        return OpenTable(titles, len(frame), lambda position: _cells(frame.iloc[:, position], titles[position]))
    try:
        wrapped = nw.from_native(frame)
        table = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{' '.join(str(error).split())}: rename the columns") from error
    except TypeError:
        raise DataError(
            f"cannot read a {type(frame).__name__} as a data frame: pass pandas, polars or pyarrow"
        ) from None
    names = list(table.columns)
    return OpenTable(
        names, len(table), lambda position: _cells(table.get_column(names[position]).to_native(), names[position])
    )


def data_from_frame(
    frame: Any,
    target: str | None = DEFAULT_TARGET,
    *,
    control: str | Iterable[str] | None = None,
    separator: str = DEFAULT_SEPARATOR,
    targets: Any = None,
    context: Iterable[str] = (),
    kinds: Mapping[str, AnyKind] | None = None,
    levels: Mapping[str, Sequence[Level]] | None = None,
) -> InterventionalData:
    """Build from a table with a target column; see `InterventionalData.from_frame`.

    Examples
    --------
    >>> table = pd.DataFrame({"A": [0, 1, 1], "B": ["x", "y", "x"], "guide": ["NT", "NT", "B"]})
    >>> data_from_frame(table, "guide", control="NT").interventional[0].targets
    (1,)
    """
    notation = Notation.of(target, control, separator, targets)
    table = open_frame(frame)
    if target is None:
        names = list(table.names)
        regime_of_row = np.zeros(table.n_rows, dtype=np.intp)
        conditions = [Condition()]
        if notation.meanings is not None:
            raise DataError("targets says what labels mean, and target=None that there is no column of labels")
    else:
        if target not in table.names:
            raise DataError(
                f"there is no target column {target!r} among {len(table.names)} columns that start with "
                f"{list(table.names[:5])}: pass its name as target=, or target=None if all rows are "
                "observational"
            )
        if list(table.names).count(target) > 1:
            raise DataError(f"the target column {target!r} occurs twice: rename one of them")
        names = [name for name in table.names if name != target]
        check_names(names)
        cells = np.asarray(table.cells(list(table.names).index(target)), dtype=object)
        regime_of_row, conditions = parse_targets(cells, names, notation)
    check_names(names)
    columns = table.reordered(names)
    return build(
        names,
        map(columns.cells, range(len(names))),
        regime_of_row=regime_of_row,
        conditions=conditions,
        kinds=kinds,
        levels=levels,
        context=context,
    )


def frame_from_data(
    data: InterventionalData,
    target: str = DEFAULT_TARGET,
    *,
    control: str = "control",
    separator: str = DEFAULT_SEPARATOR,
) -> pd.DataFrame:
    """Return a pandas table with the target column last; see `InterventionalData.to_frame`.

    Examples
    --------
    >>> from enco.io.arrays import data_from_environments
    >>> list(frame_from_data(data_from_environments([np.eye(2)], [None]), "guide").columns)
    ['X1', 'X2', 'guide']
    """
    notation = Notation.of(target, control, separator)
    labels = target_labels([regime.condition for regime in data.regimes], data.names, notation)
    columns: dict[str, Any] = {}
    for position, variable in enumerate(data.variables):
        slot = data.slots[position]
        if variable.levels is None:
            columns[variable.name] = np.concatenate([regime.reals[:, slot] for regime in data.regimes])
        else:
            codes = np.concatenate([regime.codes[:, slot] for regime in data.regimes])
            columns[variable.name] = as_categorical(codes, variable.levels)
    columns[target] = np.repeat(np.array(labels, dtype=object), [regime.n_rows for regime in data.regimes])
    return pd.DataFrame(columns)


def _cells(column: Any, name: str) -> Cells:
    """Return the cells of a native column; categoricals and enumerations keep their categories."""
    if type(column).__module__.startswith("pyarrow"):
        column = column.to_pandas() if str(column.type).startswith("dictionary") else column
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Categorical(column)
    series = nw.from_native(column, series_only=True)
    if series.dtype.is_nested():
        raise DataError(
            f"the column {name!r} holds {series.dtype}: turn its cells into numbers or text, targets into names "
            "with a separator between them"
        )
    if series.dtype == nw.Enum:
        return pd.Categorical(series.cast(nw.String).to_list(), categories=list(series.dtype.categories))
    if series.dtype == nw.Categorical:
        series = series.cast(nw.String)
    cells: NDArray[Any] = series.to_numpy()
    return cells
