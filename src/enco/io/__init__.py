"""Readers and writers: npz, CSV, Parquet, AnnData, data frames and arrays; graphs from npz, JSON and CSV.

Every reader checks what it reads and names the file, the column and the row when something is wrong; every
writer writes a temporary file first and refuses to replace an existing file unless told to. `enco.io.formats` is the
table of formats.

Names are imported when they are first used, so that the command line can list the formats quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enco.io.anndata import anndata_from_data, data_from_anndata, read_h5ad, write_h5ad
    from enco.io.arrays import data_from_environments, data_from_mask
    from enco.io.csv import read_csv, write_csv
    from enco.io.files import read_data, write_data
    from enco.io.frames import data_from_frame, frame_from_data
    from enco.io.graphs import read_graph
    from enco.io.npz import read_npz, write_npz
    from enco.io.parquet import read_parquet, write_parquet
    from enco.io.stream import NpzStream

__all__ = [
    "NpzStream",
    "anndata_from_data",
    "data_from_anndata",
    "data_from_environments",
    "data_from_frame",
    "data_from_mask",
    "frame_from_data",
    "read_csv",
    "read_data",
    "read_graph",
    "read_h5ad",
    "read_npz",
    "read_parquet",
    "write_csv",
    "write_data",
    "write_h5ad",
    "write_npz",
    "write_parquet",
]

_HOME = {
    "NpzStream": "stream",
    "anndata_from_data": "anndata",
    "data_from_anndata": "anndata",
    "data_from_environments": "arrays",
    "data_from_frame": "frames",
    "data_from_mask": "arrays",
    "frame_from_data": "frames",
    "read_csv": "csv",
    "read_data": "files",
    "read_graph": "graphs",
    "read_h5ad": "anndata",
    "read_npz": "npz",
    "read_parquet": "parquet",
    "write_csv": "csv",
    "write_data": "files",
    "write_h5ad": "anndata",
    "write_npz": "npz",
    "write_parquet": "parquet",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"enco.io.{_HOME[name]}"), name)
    raise AttributeError(f"module 'enco.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
