"""One reader and one writer that go by the suffix of the file."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from enco.data import InterventionalData
from enco.data.meanings import Meanings
from enco.data.variables import AnyKind
from enco.errors import FileFormatError
from enco.io._paths import naming_file
from enco.io._targets import relabelled
from enco.io.formats import find_format, suffixes_in_words

__all__ = ["read_data", "write_data"]

_log = logging.getLogger(__name__)


def read_data(
    path: str | os.PathLike[str],
    target: str | None = "perturbation",
    *,
    control: str | Iterable[str] | None = None,
    separator: str = "+",
    targets: Any = None,
    context: Iterable[str] = (),
    kinds: Mapping[str, AnyKind] | None = None,
    memory_map: bool | None = None,
) -> InterventionalData:
    """Read a data set from a file of any format in `enco.io.formats`, such as .npz or .csv.

    Parameters
    ----------
    path : path-like
    target, control, separator
        How a table writes targets, see `InterventionalData.from_frame`; an npz file has its own keys for
        that.
    targets : mapping, "unknown" or None
        What labels mean, see `InterventionalData.from_frame`.
    context : collection of str
        Columns that describe the circumstances of a row, see `InterventionalData.with_context`.
    kinds : mapping from name to kind, optional
        Overrides for single columns.
    memory_map : bool, optional
        For npz files, see `enco.io.read_npz`.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/a.npz", data_obs=np.eye(2))
    ...     read_data(f"{folder}/a.npz").kinds
    ('continuous', 'continuous')
    """
    form = find_format(path, "reader")
    if form is None:
        suffix, suffixes = _suffix(path), suffixes_in_words("reader")
        raise FileFormatError(f"{path}: cannot read data from a {suffix!r} file; use {suffixes}")
    meanings = Meanings.of(targets)
    asked = {
        "target": target,
        "control": control,
        "separator": separator,
        "targets": meanings,
        "kinds": kinds,
        "memory_map": memory_map,
    }
    data = form.read(path, **{name: value for name, value in asked.items() if name in form.options})
    if meanings is not None and "targets" not in form.options:
        data = relabelled(data, meanings)
    with naming_file(Path(path)):
        data = data.with_context(context)
    _log.info("read %s: %r", path, data)
    return data


def write_data(data: InterventionalData, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a data set in any format of `enco.io.formats`, such as .npz or .csv, atomically.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> data = InterventionalData.from_environments([np.eye(2)], [None])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_data(data, f"{folder}/a.parquet")
    ...     read_data(f"{folder}/a.parquet") == data
    True
    """
    form = find_format(path, "writer")
    if form is None:
        suffix, suffixes = _suffix(path), suffixes_in_words("writer")
        raise FileFormatError(f"{path}: cannot write data to a {suffix!r} file; use {suffixes}")
    form.write(data, path, overwrite=overwrite)


def _suffix(path: str | os.PathLike[str]) -> str:
    return Path(path).suffix.lower() or "nameless"
