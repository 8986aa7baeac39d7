"""The table of formats: what every entry must do, and that whoever lists formats asks the table."""

from pathlib import Path

import numpy as np
import pytest

from enco.data import InterventionalData
from enco.errors import FileFormatError
from enco.io import read_data, read_graph, write_data
from enco.io.formats import FILE_FORMATS, Format, find_format, register, suffixes

X = np.column_stack([np.arange(6) % 3, np.arange(6) % 2])
DATA = InterventionalData.from_environments([X, X[:4]], [None, "A"], names=["A", "B"])


def as_text(data: InterventionalData, path: Path, *, overwrite: bool = False) -> None:
    rows = [[*regime.targets, "|", *row] for regime in data.regimes for row in regime.codes.tolist()]
    path.write_text("\n".join(" ".join(map(str, row)) for row in rows))


def from_text(path: Path, *, separator: str) -> InterventionalData:
    parts = [line.split("|") for line in path.read_text().splitlines()]
    rows = [np.array([part[1].split()], int) for part in parts]
    return InterventionalData.from_environments(
        rows, [[*map(int, part[0].split())] for part in parts], names=["A", "B"]
    )


@pytest.fixture
def new_format():
    register(Format(".text", from_text, as_text, options=("separator",)))
    yield
    del FILE_FORMATS[".text"]


@pytest.mark.parametrize("suffix", [suffix for suffix in suffixes("reader") if suffix in suffixes("writer")])
def test_every_format_keeps_the_data(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix.upper()}"
    write_data(DATA, path)
    assert read_data(path) == DATA
    with pytest.raises(ValueError, match="exists already"):
        write_data(DATA, path)
    write_data(DATA, path, overwrite=True)


@pytest.mark.parametrize("suffix", suffixes("graph_reader"))
def test_every_format_of_graphs_names_its_damaged_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"\xff\x00 nothing")
    with pytest.raises(FileFormatError, match=f"a{suffix}: "):
        read_graph(path)


@pytest.mark.usefixtures("new_format")
def test_a_registered_format_is_read_written_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.text"
    write_data(DATA, path)
    assert read_data(path, "ignored", separator="/") == DATA
    assert find_format(path, "graph_reader") is None
    for suffix in ("xyz", "json"):
        with pytest.raises(FileFormatError, match=r"use .npz, .csv, .parquet, .h5ad or .text"):
            read_data(tmp_path / f"a.{suffix}")
