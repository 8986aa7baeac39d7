"""CSV files to and from `InterventionalData`.

A CSV file cannot say which columns are categorical or which levels exist, so files written here begin with
one comment line, ``#enco:`` followed by a JSON record. Files without that line are read like any other
table: columns of integers, truth values or text are categorical, columns with a decimal point are continuous.
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.data.checks import check_names
from enco.data.variables import AnyKind, Level, Variable
from enco.errors import DataError, EncoError, FileFormatError
from enco.io._atomic import atomic_file
from enco.io._disk import check_disk
from enco.io._encode import as_categorical
from enco.io._paths import existing_file, naming_file
from enco.io._record import DEFAULT_SEPARATOR, DEFAULT_TARGET, Notation, Record
from enco.io._targets import notation_of
from enco.io.frames import data_from_frame, frame_from_data
from enco.system.process_memory import shortage

__all__ = ["read_csv", "write_csv"]

_RECORD_MARK = b"#enco:"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NUMBER_BYTES = 70  # of a number that has become a text
_LONGEST_LINE = 1 << 20  # that is looked at
_MISSING = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "-NaN", "NULL", "null"]


def read_csv(
    path: str | os.PathLike[str],
    target: str | None = DEFAULT_TARGET,
    *,
    control: str | Iterable[str] | None = None,
    separator: str = DEFAULT_SEPARATOR,
    targets: Any = None,
    context: Iterable[str] = (),
    kinds: Mapping[str, AnyKind] | None = None,
    delimiter: str = ",",
) -> InterventionalData:
    r"""Read a CSV file with a header line.

    Parameters
    ----------
    path : path-like
    target, control, separator, targets, context, kinds
        As in `InterventionalData.from_frame`. For a file written by `write_csv`, arguments left at their
        defaults take what the file records.
    delimiter : str
        What stands between cells.

    Returns
    -------
    InterventionalData

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("A,B,guide\n0,1.5,NT\n1,2.5,NT\n1,0.5,A\n")
    ...     read_csv(f"{folder}/a.csv", "guide", control="NT").kinds
    ('categorical', 'continuous')
    """
    source = existing_file(path)
    notation = Notation.of(target, control, separator, targets)
    with source.open("rb") as file:
        record = _read_record(file, source)
        start = file.tell()
        names = _read_header(file, source, delimiter)
        file.seek(start)
        if record is None:
            frame = _parse_plain(file, source, names, notation.target, delimiter)
            levels = None
        else:
            notation = record.notation_for(notation)
            frame = _parse_recorded(file, source, names, record, delimiter)
            kinds, levels = record.kinds_and_levels(kinds)
            context = [*record.context(), *context]
    with naming_file(source):
        return data_from_frame(
            frame,
            notation.target,
            control=notation.control,
            separator=notation.separator,
            targets=notation.meanings,
            context=context,
            kinds=kinds,
            levels=levels,
        )


def write_csv(
    data: InterventionalData,
    path: str | os.PathLike[str],
    *,
    target: str = DEFAULT_TARGET,
    control: str = "control",
    separator: str = DEFAULT_SEPARATOR,
    overwrite: bool = False,
) -> None:
    """Write a CSV file, atomically; reading it back gives the same data, bit for bit.

    Names and levels are written as they are, also where a spreadsheet would take them for a formula: the table is meant
    for programs, which would otherwise see other names.

    Examples
    --------
    >>> import tempfile
    >>> data = InterventionalData.from_environments([np.eye(2, dtype=int)], [None])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(data, f"{folder}/a.csv")
    ...     print(Path(folder, "a.csv").read_text().splitlines()[1:])
    ['X1,X2,perturbation', '1,0,control', '0,1,control']
    """
    _check_room(data, path)
    frame = frame_from_data(data, target, control=control, separator=separator)
    for variable in data.variables:
        if variable.is_continuous:
            frame[variable.name] = _decimals(frame[variable.name].to_numpy())
    record = Record(data.variables, notation_of(data, target, control, separator), data.n_rows)
    with atomic_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        file.write(_RECORD_MARK + b" " + record.to_json().encode() + b"\n")
        frame.to_csv(file, index=False, lineterminator=_line_end(data, target, control), encoding="utf-8")


def _check_room(data: InterventionalData, path: str | os.PathLike[str]) -> None:
    """Refuse a table for which there is no room on disk, or in memory, where all its numbers become texts first."""
    continuous = int(data.is_continuous.sum())
    lacking = shortage(_NUMBER_BYTES * continuous * data.n_rows)
    if lacking is not None:
        raise EncoError(f"cannot write {path}: {data.n_rows:,} rows of text {lacking}: write an .npz or .parquet file")
    cells = f"{data.n_rows:,} rows of {data.n_variables:,} variables"
    check_disk(path, data.n_rows * (10 * continuous + 2 * (data.n_variables - continuous)), cells)


def _decimals(values: NDArray[np.float32]) -> NDArray[Any]:
    """Write numbers as short as possible, such that reading them in double precision gives them back exactly.

    The shortest decimal of a single-precision number is meant to be read as such; through double precision
    it could, for a handful of extreme numbers, be rounded twice. Those get all their digits.
    """
    texts = values.astype(np.str_)
    astray = texts.astype(np.float64).astype(np.float32) != values
    texts[astray] = values[astray].astype(np.float64).astype(np.str_)
    return texts.astype(object)


def _line_end(data: InterventionalData, *labels: str) -> str:
    """Choose the line end: the writer puts quotes only around the characters that end its lines."""
    words = [
        *data.names,
        *labels,
        *(str(level) for variable in data.variables for level in variable.levels or ()),
    ]
    return "\r\n" if any("\r" in word for word in words) else "\n"


def _read_record(file: IO[bytes], source: Path) -> Record | None:
    """Read the first line if it is a record, and leave the file at the header line."""
    head = file.read(4096)
    if b"\0" in head:
        raise FileFormatError(f"{source}: this is not a text file; pass a CSV file, or give the file its right suffix")
    skipped = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
    file.seek(skipped)
    if not head[skipped:].startswith(_RECORD_MARK):
        return None
    line = file.readline()
    try:
        return Record.from_json(line[len(_RECORD_MARK) :].decode("utf-8"), str(source))
    except UnicodeDecodeError:
        raise FileFormatError(f"{source}: the first line is not UTF-8 text; write the file again") from None


def _parse(file: IO[bytes], source: Path, delimiter: str, **options: Any) -> pd.DataFrame:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # raised when a row has too many cells
            frame: pd.DataFrame = pd.read_csv(
                file,
                sep=delimiter,
                encoding="utf-8",
                keep_default_na=False,
                low_memory=False,
                # The parser's faster methods may miss the last bit, and lose digits after many zeros.
                float_precision="round_trip",
                **options,
            )
            return frame
    except pd.errors.EmptyDataError:
        raise FileFormatError(f"{source}: the file is empty; it needs a header line and rows") from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{source}: this is not UTF-8 text; save it as UTF-8") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        reason = " ".join(str(error).split())
        raise FileFormatError(f"{source}: the rows do not all have as many cells as the header ({reason})") from error


def _read_header(file: IO[bytes], source: Path, delimiter: str) -> list[str]:
    head = _parse(file, source, delimiter, header=None, nrows=1, dtype=str, na_filter=False)
    names = [str(name) for name in head.iloc[0]]
    for position, name in enumerate(names):
        if not name.strip():
            raise DataError(
                f"{source}: column {position} has no name; name it, or leave a row index out when writing the table"
            )
    if len(names) < 2:
        raise DataError(
            f"{source}: the header has the single column {names[0][:60]!r}; a causal graph needs at least 2 "
            f"variables, and if the cells are not separated by {delimiter!r} pass delimiter="
        )
    with naming_file(source):
        check_names(names)
    return names


def _parse_plain(
    file: IO[bytes], source: Path, names: Sequence[str], target: str | None, delimiter: str
) -> pd.DataFrame:
    # Words such as NA are missing values in a variable, but may well be the name of a target or a control.
    missing = {name: _MISSING for name in names if name != target}
    types = {target: str} if target in names else {}
    _refuse_cut_line(file, source, len(names), delimiter)
    return _parse(file, source, delimiter, header=0, names=list(names), index_col=False, na_values=missing, dtype=types)


def _refuse_cut_line(file: IO[bytes], source: Path, cells: int, delimiter: str) -> None:
    """Refuse a file that ends within a line: if that lacks its targets only, it would read as one without any."""
    start = file.tell()
    file.seek(max(start, source.stat().st_size - _LONGEST_LINE))
    _, newline, last = file.read().rpartition(b"\n")
    file.seek(start)
    if newline and last.strip() and b'"' not in last and last.count(delimiter.encode()) + 1 < cells:
        raise FileFormatError(
            f"{source}: the last line is cut off, it has fewer cells than the header; copy the file again, or end it"
        )


def _parse_recorded(
    file: IO[bytes], source: Path, names: Sequence[str], record: Record, delimiter: str
) -> pd.DataFrame:
    expected = [*(variable.name for variable in record.variables), record.notation.target]
    if list(names) != expected:
        raise FileFormatError(
            f"{source}: the columns are not those that the first line records; remove that line to read a changed table"
        )
    start = file.tell()
    file.seek(-1, os.SEEK_END)
    complete = file.read(1) == b"\n"
    file.seek(start)
    # Levels are read as text: one may look like a number or like a missing value, and must stay what it is.
    types = {variable.name: np.float64 if variable.is_continuous else str for variable in record.variables}
    options = {"header": 0, "names": list(names), "index_col": False, "na_filter": False}
    try:
        frame = _parse(file, source, delimiter, dtype=defaultdict(lambda: str, types), **options)
    except FileFormatError:
        raise
    except ValueError:  # some cell is no number; read as text, the column and the row can be named
        file.seek(start)
        frame = _parse(file, source, delimiter, dtype=str, **options)
    if len(frame) != record.rows or not complete:
        raise FileFormatError(
            f"{source}: the file has {len(frame):,} rows{'' if complete else ', the last one cut off,'} but "
            f"records {record.rows:,}; copy it again, or remove its first line to read a changed table"
        )
    for variable in record.variables:
        if variable.is_categorical:
            frame[variable.name] = _levels_from_text(frame[variable.name], variable, source)
    return frame


def _levels_from_text(cells: pd.Series[str], variable: Variable, source: Path) -> pd.Categorical[Any]:
    levels: tuple[Level, ...] = variable.levels or ()
    index = {str(level): position for position, level in enumerate(levels)}
    which, texts = pd.factorize(cells.to_numpy(dtype=object))
    codes = np.array([index.get(text, -1) for text in texts], dtype=np.int32)[which]
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise DataError(
            f"{source}: variable {variable.name!r} holds {cells.iloc[row]!r} in row {row}, which is not "
            "among the levels that the first line records; correct the cell or remove that line"
        )
    return as_categorical(codes, levels)
