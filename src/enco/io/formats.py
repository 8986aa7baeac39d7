"""The one table of file formats: which suffix is read and written by which function, and what that needs.

`read_data`, `write_data`, `read_graph`, the methods of `InterventionalData`, the command line and its help, and the
messages that list formats all ask this table. A new format is one module with its functions, and one line here
(or a call of `register` from outside of this package).

Functions are named rather than imported, so that the command line can list the formats without importing them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from enco.errors import MissingPackageError

if TYPE_CHECKING:
    from enco.data import InterventionalData

__all__ = ["FILE_FORMATS", "Format", "find_format", "missing_package", "register", "suffixes", "suffixes_in_words"]

Role = Literal["reader", "writer", "graph_reader"]
Function = str | Callable[..., Any]  # or where it is: "module:name"


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    suffix : str
        How the names of its files end, in small letters.
    reader : callable or "module:name", optional
        ``reader(path, **options)`` returns an `InterventionalData`.
    writer : callable or "module:name", optional
        ``writer(data, path, overwrite=...)`` writes one, atomically.
    graph_reader : callable or "module:name", optional
        ``graph_reader(path)`` returns the names (or None), the matrix, and whether all variables are listed.
    options : tuple of str
        Those of the options of `enco.io.read_data` that the reader takes. One that does not take ``targets`` may only
        have labels that name variables; `read_data` then applies the mapping to the regimes.
    needs : (package, extra), optional
        The package that must be installed, and the extra of this package that brings it.
    simulated : bool
        Whether `enco simulate` offers it.

    Examples
    --------
    >>> FILE_FORMATS[".parquet"].needs
    ('pyarrow', 'parquet')
    """

    suffix: str
    reader: Function | None = None
    writer: Function | None = None
    graph_reader: Function | None = None
    options: tuple[str, ...] = ("target", "control", "separator", "kinds")
    needs: tuple[str, str] | None = None
    simulated: bool = False

    def read(self, path: str | PathLike[str], **options: Any) -> InterventionalData:
        """Read a data set."""
        data: InterventionalData = _function(self.reader)(path, **options)
        return data

    def write(self, data: InterventionalData, path: str | PathLike[str], **options: Any) -> None:
        """Write a data set."""
        _function(self.writer)(data, path, **options)

    def read_graph(self, path: Path) -> Any:
        """Read a graph; `enco.io.graphs` says what comes back."""
        return _function(self.graph_reader)(path)


FILE_FORMATS: dict[str, Format] = {}
"""All formats by suffix; messages list them in this order."""


def register(new: Format) -> None:
    r"""Add a format to the table, or replace the one of the same suffix.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from enco.data import InterventionalData
    >>> from enco.io import read_data
    >>> def read_blanks(path, kinds=None):
    ...     return InterventionalData.from_environments([np.loadtxt(path)], [None], kinds=kinds)
    >>> register(Format(".blanks", reader=read_blanks, options=("kinds",)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.blanks")
    ...     _ = path.write_text("0.5 1.5\n2.5 3.5\n")
    ...     read_data(path)
    InterventionalData(2 variables, 2 rows: 2 observational, 0 intervention regimes)
    >>> del FILE_FORMATS[".blanks"]
    """
    FILE_FORMATS[new.suffix] = new


_TABLE = ("target", "control", "separator", "targets", "kinds")

# fmt: off
register(Format(".npz", "enco.io.npz:read_npz", "enco.io.npz:write_npz", "enco.io.graphs:graph_from_npz",
                options=("kinds", "memory_map"), simulated=True))
register(Format(".json", graph_reader="enco.io.graphs:graph_from_json"))
register(Format(".csv", "enco.io.csv:read_csv", "enco.io.csv:write_csv", "enco.io.graphs:graph_from_csv",
                options=_TABLE, simulated=True))
register(Format(".parquet", "enco.io.parquet:read_parquet", "enco.io.parquet:write_parquet",
                options=_TABLE, needs=("pyarrow", "parquet"), simulated=True))
register(Format(".h5ad", "enco.io.anndata:read_h5ad", "enco.io.anndata:write_h5ad",
                options=_TABLE, needs=("anndata", "anndata")))
# fmt: on


def find_format(path: str | PathLike[str], role: Role) -> Format | None:
    """Return the format of a file by its suffix; None if there is none that has this role.

    Examples
    --------
    >>> find_format("a.CSV", "reader").suffix, find_format("a.json", "reader")
    ('.csv', None)
    """
    found = FILE_FORMATS.get(Path(path).suffix.lower())
    return found if found is not None and getattr(found, role) is not None else None


def suffixes(role: Role, *, simulated: bool = False) -> tuple[str, ...]:
    """Suffixes of all formats that have a role; only those that `enco simulate` offers if that is asked.

    Examples
    --------
    >>> suffixes("reader"), suffixes("writer", simulated=True)
    (('.npz', '.csv', '.parquet', '.h5ad'), ('.npz', '.csv', '.parquet'))
    """
    return tuple(
        suffix
        for suffix, entry in FILE_FORMATS.items()
        if getattr(entry, role) is not None and (entry.simulated or not simulated)
    )


def suffixes_in_words(role: Role, *, simulated: bool = False) -> str:
    """Write these suffixes as a sentence lists them.

    Examples
    --------
    >>> suffixes_in_words("graph_reader")
    '.npz, .json or .csv'
    """
    *others, last = suffixes(role, simulated=simulated)
    return f"{', '.join(others)} or {last}" if others else last


def missing_package(suffix: str, purpose: str) -> MissingPackageError:
    """Say how to install what a format needs.

    Examples
    --------
    >>> print(missing_package(".parquet", "reading Parquet files"))
    reading Parquet files needs the package 'pyarrow': pip install 'enco[parquet]'
    """
    package, extra = FILE_FORMATS[suffix].needs or ("", "")
    return MissingPackageError(package, extra, purpose)


def _function(function: Function | None) -> Callable[..., Any]:
    if not isinstance(function, str):
        assert function is not None
        return function
    module, name = function.split(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
