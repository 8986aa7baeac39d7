"""One reader and one writer that go by the suffix of the file."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from enco.data import InterventionalData
from enco.data.variables import AnyKind
from enco.errors import FileFormatError
from enco.io.formats import find_format, suffixes_in_words

__all__ = ["read_data", "write_data"]

_log = logging.getLogger(__name__)


def read_data(
    path: str | os.PathLike[str],
    target: str | None = "perturbation",
    *,
    control: str | Iterable[str] | None = None,
    separator: str = "+",
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
    asked = {"target": target, "control": control, "separator": separator, "kinds": kinds, "memory_map": memory_map}
    data = form.read(path, **{name: asked[name] for name in form.options})
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
