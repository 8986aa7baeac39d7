"""One reader and one writer that go by the suffix of the file."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from enco._variables import Kind
from enco.data import InterventionalData
from enco.errors import FileFormatError
from enco.io.anndata import read_h5ad, write_h5ad
from enco.io.csv import read_csv, write_csv
from enco.io.npz import read_npz, write_npz
from enco.io.parquet import read_parquet, write_parquet

__all__ = ["read_data", "write_data"]

_log = logging.getLogger(__name__)
_SUFFIXES = ".npz, .csv, .parquet or .h5ad"


def read_data(
    path: str | os.PathLike[str],
    target: str | None = "perturbation",
    *,
    control: str | Iterable[str] | None = None,
    separator: str = "+",
    kinds: Mapping[str, Kind] | None = None,
    memory_map: bool | None = None,
) -> InterventionalData:
    """Read a data set from a .npz, .csv, .parquet or .h5ad file.

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
    suffix = Path(path).suffix.lower()
    table: dict[str, Callable[..., InterventionalData]] = {
        ".csv": read_csv,
        ".parquet": read_parquet,
        ".h5ad": read_h5ad,
    }
    if suffix == ".npz":
        data = read_npz(path, kinds=kinds, memory_map=memory_map)
    elif suffix in table:
        data = table[suffix](path, target, control=control, separator=separator, kinds=kinds)
    else:
        raise FileFormatError(f"{path}: cannot read data from a {suffix or 'nameless'!r} file; use {_SUFFIXES}")
    _log.info("read %s: %r", path, data)
    return data


def write_data(data: InterventionalData, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a data set as .npz, .csv, .parquet or .h5ad, atomically.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> data = InterventionalData.from_environments([np.eye(2)], [None])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_data(data, f"{folder}/a.parquet")
    ...     read_data(f"{folder}/a.parquet") == data
    True
    """
    suffix = Path(path).suffix.lower()
    writers: dict[str, Callable[..., None]] = {
        ".npz": write_npz,
        ".csv": write_csv,
        ".parquet": write_parquet,
        ".h5ad": write_h5ad,
    }
    if suffix not in writers:
        raise FileFormatError(f"{path}: cannot write data to a {suffix or 'nameless'!r} file; use {_SUFFIXES}")
    writers[suffix](data, path, overwrite=overwrite)
