"""The folder of a result: `graph.json`, `edges.csv`, `history.csv`, `parameters.npz`.

`enco.result.folder` says how they come into the folder together.
"""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.errors import FileFormatError
from enco.io._archive import Archive
from enco.io._atomic import atomic_file
from enco.io._cells import table_as_csv
from enco.io._lock import locked
from enco.io._paths import existing_file
from enco.result.folder import EDGES, GRAPH, HISTORY, PARAMETERS, refuse_existing, replacing, result_in

__all__ = ["read_folder", "write_folder"]


def write_folder(
    folder: str | os.PathLike[str],
    graph: dict[str, Any],
    *,
    edges: pd.DataFrame,
    history: pd.DataFrame,
    parameters: dict[str, NDArray[Any]],
    overwrite: bool,
) -> None:
    """Write all files, in place of those of an earlier result if that is allowed; the folder is created.

    Examples
    --------
    >>> import tempfile
    >>> from enco.result.folder import is_complete
    >>> empty = pd.DataFrame({"epoch": []})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_folder(folder, {"variables": []}, edges=empty, history=empty, parameters={}, overwrite=False)
    ...     is_complete(Path(folder))
    True
    """
    place = Path(folder)
    refuse_existing(place, overwrite=overwrite)
    with locked(place):
        refuse_existing(place, overwrite=overwrite)  # another process may have been quicker
        with replacing(place) as new:
            with atomic_file(new / PARAMETERS) as file, file.open("wb") as stream:
                np.savez(stream, **parameters)  # type: ignore[arg-type]
            for name, table in ((EDGES, edges), (HISTORY, history)):
                with atomic_file(new / name) as file:
                    file.write_bytes(table_as_csv(table).encode())
            with atomic_file(new / GRAPH) as file:
                file.write_text(json.dumps(graph, ensure_ascii=False), encoding="utf-8")


def read_folder(
    folder: str | os.PathLike[str],
    graph_keys: tuple[str, ...],
    arrays: tuple[str, ...],
    *,
    optional: tuple[str, ...] = (),
) -> tuple[dict[str, Any], pd.DataFrame, dict[str, NDArray[Any]]]:
    """Read `graph.json`, `history.csv` and `parameters.npz`, or say what is missing or damaged.

    Parameters
    ----------
    folder : path-like
    graph_keys, arrays : tuple of str
        What the two files must hold.
    optional : tuple of str
        Arrays that are read where there are any.

    Returns
    -------
    graph : dict
    history : DataFrame
    parameters : dict of arrays

    Examples
    --------
    >>> read_folder("nowhere", (), ())
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: nowhere: there is no such folder
    """
    if not Path(folder).is_dir():
        raise FileFormatError(f"{Path(folder)}: there is no such folder")
    place = result_in(Path(folder))
    source = existing_file(place / GRAPH)
    try:
        graph = json.loads(source.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{source}: this is not JSON ({' '.join(str(error).split())[:200]})") from error
    missing = [key for key in graph_keys if not isinstance(graph, dict) or key not in graph]
    if missing:
        raise FileFormatError(f"{source}: the key {missing[0]!r} is missing; was it written by Result.save?")
    with Archive(place / PARAMETERS) as archive:
        parameters = {name: archive.array(name) for name in (*arrays, *optional) if name in arrays or name in archive}
    return graph, _read_table(existing_file(place / HISTORY)), parameters


def _read_table(source: Path) -> pd.DataFrame:
    """Read a table of numbers; pandas alone would rename repeated columns, move long rows and cut cells at a NUL."""
    try:
        text = source.read_text(encoding="utf-8")
        header, *rows = csv.reader(io.StringIO(text), strict=True)
        if "\0" in text:
            raise ValueError("a character is no text")
        if len(set(header) - {""}) < len(header) or any(row and len(row) != len(header) for row in rows):
            raise ValueError("it must have columns of different names, and every row a cell for each")
        return pd.read_csv(
            io.StringIO(text), float_precision="round_trip", keep_default_na=False, na_values=["", "nan"]
        )
    except (ValueError, csv.Error) as error:  # pandas' own errors are a kind of the first
        raise FileFormatError(f"{source}: this is not a table ({' '.join(str(error).split())[:200]})") from error
