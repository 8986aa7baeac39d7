"""Parquet files to and from `InterventionalData`; needs pyarrow.

Files written here carry a JSON record of kinds and levels in the metadata of their schema, under the key
``enco``. Files of other origin are read like any other table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from enco.data import InterventionalData
from enco.data.variables import AnyKind
from enco.errors import FileFormatError
from enco.io._atomic import atomic_file
from enco.io._paths import existing_file, naming_file
from enco.io._record import DEFAULT_SEPARATOR, DEFAULT_TARGET, Notation, Record
from enco.io._targets import notation_of
from enco.io.formats import missing_package
from enco.io.frames import data_from_frame, frame_from_data
from enco.system.process_memory import shortage

__all__ = ["read_parquet", "write_parquet"]

_KEY = b"enco"
_VALUE_BYTES = 8  # of a number, or of what points to a text


def read_parquet(
    path: str | os.PathLike[str],
    target: str | None = DEFAULT_TARGET,
    *,
    control: str | Iterable[str] | None = None,
    separator: str = DEFAULT_SEPARATOR,
    targets: Any = None,
    context: Iterable[str] = (),
    kinds: Mapping[str, AnyKind] | None = None,
) -> InterventionalData:
    """Read a Parquet file.

    Parameters
    ----------
    path : path-like
    target, control, separator, targets, context, kinds
        As in `InterventionalData.from_frame`. For a file written by `write_parquet`, arguments left at their
        defaults take what the file records.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"A": [0, 1], "B": ["x", "y"]}).to_parquet(f"{folder}/a.parquet")
    ...     read_parquet(f"{folder}/a.parquet", target=None).n_levels.tolist()
    [2, 2]
    """
    source = existing_file(path)
    notation = Notation.of(target, control, separator, targets)
    table = _read_table(source)
    levels = None
    text = (table.schema.metadata or {}).get(_KEY)
    if text is not None:
        record = Record.from_json(text, str(source))
        if table.num_rows != record.rows or table.column_names != [
            *(variable.name for variable in record.variables),
            record.notation.target,
        ]:
            raise FileFormatError(
                f"{source}: rows or columns are not those that the metadata record; write the changed table "
                f"without the metadata key {_KEY.decode()!r}"
            )
        notation = record.notation_for(notation)
        kinds, levels = record.kinds_and_levels(kinds)
        context = [*record.context(), *context]
    with naming_file(source):
        return data_from_frame(
            table,
            notation.target,
            control=notation.control,
            separator=notation.separator,
            targets=notation.meanings,
            context=context,
            kinds=kinds,
            levels=levels,
        )


def write_parquet(
    data: InterventionalData,
    path: str | os.PathLike[str],
    *,
    target: str = DEFAULT_TARGET,
    control: str = "control",
    separator: str = DEFAULT_SEPARATOR,
    overwrite: bool = False,
) -> None:
    """Write a Parquet file, atomically; reading it back gives the same data, bit for bit.

    Examples
    --------
    >>> import tempfile
    >>> data = InterventionalData.from_environments([np.eye(2)], [None])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(data, f"{folder}/a.parquet")
    ...     read_parquet(f"{folder}/a.parquet") == data
    True
    """
    arrow, parquet = _pyarrow("writing Parquet files")
    frame = frame_from_data(data, target, control=control, separator=separator)
    columns = [
        arrow.array(frame[name].to_numpy() if variable.is_continuous else np.asarray(frame[name]))
        for name, variable in zip(data.names, data.variables, strict=True)
    ]
    columns.append(arrow.array(frame[target].tolist(), type=arrow.string()))
    record = Record(data.variables, notation_of(data, target, control, separator), data.n_rows)
    table = arrow.table(columns, names=[*data.names, target]).replace_schema_metadata({_KEY: record.to_json()})
    with atomic_file(path, overwrite=overwrite) as temporary:
        parquet.write_table(table, temporary)


def _read_table(source: Path) -> Any:
    arrow, parquet = _pyarrow("reading Parquet files")
    try:
        with parquet.ParquetFile(source) as file:  # of one file: no columns are guessed from folder names
            _check_memory(source, file.metadata)
            table = file.read()
        table.validate(full=True)  # texts that are no UTF-8 and the like, which fail only when they are used
    except FileFormatError:
        raise
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        reason = " ".join(str(error).split())[:200]
        raise FileFormatError(f"{source}: this is not a readable Parquet file ({reason})") from error
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return table.drop_columns([name for name in index if name in table.column_names])  # row labels are no variables


def _check_memory(source: Path, metadata: Any) -> None:
    """Refuse a table for which there is not enough memory: a column of equal values takes next to nothing on disk."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    values = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
    lacking = shortage(_VALUE_BYTES * values)
    if lacking is not None:
        raise FileFormatError(f"{source}: reading {values:,} values {lacking}: use fewer rows or columns")


def _pyarrow(purpose: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_package(".parquet", purpose) from error
    return pyarrow, pyarrow.parquet
