"""Readers and writers: npz, CSV, Parquet, AnnData, data frames and arrays; graphs from npz, JSON and CSV.

Every reader checks what it reads and names the file, the column and the row when something is wrong; every
writer writes a temporary file first and refuses to replace an existing file unless told to.
"""

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
