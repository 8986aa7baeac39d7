"""Small files that would become large are refused by what their headers say, before anything is inflated."""

import io
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import anndata
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from enco.cli._graph_files import load_graph
from enco.data import InterventionalData
from enco.errors import EncoError
from enco.fitting.checkpoint import Identity, read_checkpoint, write_checkpoint
from enco.fitting.loop import Discovery
from enco.io import data_from_anndata, graphs, read_graph, read_npz, read_parquet
from enco.settings import Settings
from enco.system import process_memory

Claim = tuple[str, tuple[int, ...]]  # type and shape of an array of zeros
LARGE = 1 << 27
LITTLE = LARGE // 8
PIECE = bytes(1 << 20)


def write_npz(path: Path, **arrays: Claim | np.ndarray) -> Path:
    """Write arrays, and claims as deflated zeros that never lie in memory."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for key, value in arrays.items():
            stream = io.BytesIO()
            if isinstance(value, np.ndarray):
                np.save(stream, value)
                archive.writestr(f"{key}.npy", stream.getvalue())
                continue
            kind, shape = value
            np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
            left = int(np.prod(shape)) * np.dtype(kind).itemsize
            with archive.open(f"{key}.npy", "w") as member:
                member.write(stream.getvalue())
                for start in range(0, left, len(PIECE)):
                    member.write(PIECE[: left - start])
    return path


@pytest.fixture
def in_little_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < LITTLE


SMALL = np.zeros((3, 2))
SQUARE = np.zeros((2, 2), np.uint8)
CASES: dict[str, tuple[Callable[[Path], object], dict[str, Claim | np.ndarray], str]] = {
    "more names than columns": (read_npz, {"data_obs": SMALL, "names": ("<U1", (LARGE // 4,))}, "must be 2 texts"),
    "a name that does not end": (
        read_npz,
        {"data_obs": SMALL, "names": (f"<U{LARGE // 8}", (2,))},
        "texts of 16,777,216 characters, .* at most 65,536",
    ),
    "more kinds than columns": (
        read_npz,
        {"data_obs": SMALL, "kinds": ("<U1", (LARGE // 4,))},
        "for each of the 2 columns",
    ),
    "levels without end": (
        read_npz,
        {"data_obs": SMALL, "levels": (f"<U{LARGE // 4}", ())},
        "33,554,432 characters, there can be at most 13,107,000",
    ),
    "more targets than regimes": (
        read_npz,
        {"data_obs": SMALL, "data_int": SMALL[None], "targets": ("<i8", (LARGE // 8,))},
        "must be 1 column positions",
    ),
    "a mask of more regimes": (
        read_npz,
        {"data_obs": SMALL, "data_int": SMALL[None], "target_mask": ("|b1", (LARGE // 2, 2))},
        r"\[1, 2\] truth values",
    ),
    "more regimes than rows": (
        read_npz,
        {"data_obs": SMALL, "data_int": SMALL, "regime_rows": ("<i8", (LARGE // 8,))},
        "add up to the 3 rows",
    ),
    "a graph of too many variables": (read_graph, {"adj_matrix": ("|u1", (8_192, 8_192))}, "8,192 .* 1,000"),
    "a graph that is no square": (read_graph, {"adj_matrix": ("|u1", (2, LARGE // 2))}, "must be square"),
    "a graph with more names": (
        read_graph,
        {"adj_matrix": SQUARE, "names": ("<U1", (LARGE // 4,))},
        "must be 2 texts",
    ),
    "more confounded pairs than pairs": (
        load_graph,
        {"adj_matrix": SQUARE, "confounded_pairs": ("<i8", (LARGE // 16, 2))},
        "must list pairs",
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("in_little_memory")
def test_arrays_whose_size_is_known_beforehand(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "MOST_VARIABLES", 1_000)
    read, arrays, words = CASES[case]
    with pytest.raises(EncoError, match=words) as caught:
        read(write_npz(tmp_path / "a.npz", **arrays))
    assert str(caught.value).startswith(f"{tmp_path / 'a.npz'}: ")


@pytest.mark.parametrize(
    "arrays",
    [
        {"data_obs": ("|u1", (LARGE // 2, 2))},
        {"data_obs": ("<f8", (LARGE // 16, 2))},
        {"data_obs": ("|u1", (3, 2)), "data_int": ("|u1", (2, LARGE // 4, 2))},
        {"data_obs": ("|u1", (2, LARGE // 2))},  # few rows, but every column has a name
    ],
)
@pytest.mark.usefixtures("in_little_memory")
def test_data_beyond_the_memory(arrays: dict[str, Claim], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_memory, "available_memory", lambda: 50_000_000)
    with pytest.raises(EncoError, match=r"a\.npz: .* needs about .* of memory and 50 MB are free: "):
        read_npz(write_npz(tmp_path / "a.npz", **arrays))


def test_data_that_stay_on_disk_need_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = InterventionalData.from_environments([np.zeros((40_000, 50), np.int64)], [None])
    data.to_npz(tmp_path / "a.npz")
    monkeypatch.setattr(process_memory, "available_memory", lambda: 500_000)
    assert read_npz(tmp_path / "a.npz", memory_map=True) == data
    with pytest.raises(EncoError, match="needs about 2 MB of memory and 0 MB are free: "):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("shape", [(10**9, 0, 2), (10**9, 10**9, 0)])
def test_regimes_without_rows(shape: tuple[int, ...], tmp_path: Path) -> None:
    """A shape may be huge although its array has no bytes."""
    with pytest.raises(EncoError, match=r"a\.npz: "):
        read_npz(write_npz(tmp_path / "a.npz", data_obs=SMALL, data_int=("<f8", shape)))


def test_more_regimes_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, ones = np.zeros((100_000, 2)), np.ones(100_000, np.int64)
    monkeypatch.setattr(process_memory, "available_memory", lambda: 50_000_000)
    with pytest.raises(EncoError, match="needs about 100 MB of memory and 50 MB are free: "):
        read_npz(write_npz(tmp_path / "a.npz", data_obs=SMALL, data_int=rows, regime_rows=ones, targets=0 * ones))


def test_columns_without_rows(tmp_path: Path) -> None:
    with pytest.raises(EncoError, match=r"a\.npz: "):
        read_npz(write_npz(tmp_path / "a.npz", data_obs=("<f8", (0, 10**12))))


@pytest.mark.parametrize("key", ["state.model.weights", "seconds", "identity", "state.history"])
@pytest.mark.usefixtures("in_little_memory")
def test_checkpoints(key: str, tmp_path: Path) -> None:
    x = np.array([[0, 1], [1, 0]])
    data = InterventionalData.from_environments([x, x], [None, "X1"])
    fit, identity = Discovery(data, settings=Settings()), Identity.of(data, Settings(), seed=0)
    write_checkpoint(tmp_path / "a.npz", fit, identity=identity, seconds=1.0)
    with np.load(tmp_path / "a.npz") as found:
        arrays: dict[str, Claim | np.ndarray] = dict(found)
    text = np.asarray(arrays[key]).dtype.kind == "U"
    arrays[key] = (f"<U{LARGE // 2}", ()) if text else ("<f4", (LARGE // 4,))
    with pytest.raises(EncoError, match=r"a\.npz: .*(damaged|characters)"):
        read_checkpoint(write_npz(tmp_path / "a.npz", **arrays), fit, identity=identity)


def test_edges_between_too_many_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("cause,effect\nA,B\nC,D\n")
    assert len(read_graph(tmp_path / "a.csv")[1]) == 4
    monkeypatch.setattr(graphs, "MOST_VARIABLES", 3)
    with pytest.raises(EncoError, match=r"a\.csv: the graph has 4 variables, there can be 3; leave some out"):
        read_graph(tmp_path / "a.csv")


@pytest.mark.usefixtures("in_little_memory")
def test_parquet_of_equal_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"A": pa.array(np.zeros(10**6)), "B": pa.array(np.zeros(10**6))})
    pq.write_table(table, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 10_000
    monkeypatch.setattr(process_memory, "available_memory", lambda: 5_000_000)
    with pytest.raises(
        EncoError, match=r"a\.parquet: reading 2,000,000 values needs about 16 MB of memory and 5 MB are"
    ):
        read_parquet(tmp_path / "a.parquet", None)


def test_sparse_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = anndata.AnnData(sparse.csr_matrix((1_000, 2_000), dtype=np.float32))
    assert data_from_anndata(cells, None).n_rows == 1_000
    monkeypatch.setattr(process_memory, "available_memory", lambda: 5_000_000)
    with pytest.raises(EncoError, match="1,000 cells of 2,000 variables, no longer sparse, needs about 16 MB"):
        data_from_anndata(cells, None)
