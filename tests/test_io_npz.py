"""npz files: the plain layout, the extra keys, mapping, and writing block by block."""

import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from enco.data import InterventionalData, Regime, Variable
from enco.errors import DataError
from enco.io import NpzStream, read_graph, read_npz, write_npz

X = np.array([[0, 1, 2], [1, 0, 0], [1, 1, 1], [0, 0, 1]])
CONTINUOUS = [Variable("A", "continuous"), Variable("B", "continuous")]
CATEGORICAL = [Variable("A", "categorical", ("x", "y")), Variable("B", "categorical", tuple(range(4)))]


def save(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def codes(targets: tuple[int, ...], rows: int, value: int = 0) -> Regime:
    return Regime(targets, np.full((rows, 2), value, np.uint8), np.zeros((rows, 0), np.float32))


def test_plain_layout_and_its_defaults(tmp_path: Path) -> None:
    data = read_npz(save(tmp_path / "a.npz", data_obs=X, data_int=np.stack([X, X + 1, X])))
    assert data.names == ("X1", "X2", "X3")
    assert [regime.targets for regime in data.regimes] == [(), (0,), (1,), (2,)]
    assert data.interventional[1].codes.tolist() == (X + 1).tolist()
    assert data.observational.codes.dtype == np.uint8


def test_levels_count_every_regime_and_each_column(tmp_path: Path) -> None:
    """Neither the largest code of a row nor that of the observational rows alone decides."""
    intervened = np.zeros((1, 2, 3), dtype=int)
    intervened[0, 1] = [0, 5, 0]
    data = read_npz(save(tmp_path / "a.npz", data_obs=X, data_int=intervened))
    assert data.n_levels.tolist() == [2, 6, 3]
    assert data.variables[1].levels == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize("targets", [[2, 0], ["C", "A"]])
def test_targets_and_names(targets: list[object], tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", data_obs=X, data_int=np.stack([X, X]), targets=targets, names=["A", "B", "C"])
    data = read_npz(path)
    assert [data.regime_label(regime) for regime in data.regimes] == ["observational", "do(C)", "do(A)"]


def test_regimes_with_the_same_target_are_joined(tmp_path: Path) -> None:
    data = read_npz(save(tmp_path / "a.npz", data_obs=X, data_int=np.stack([X, X + 1]), targets=[1, 1]))
    assert data.interventional[0].codes.tolist() == np.concatenate([X, X + 1]).tolist()


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u2"])
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("memory_map", [None, True, False])
def test_any_integer_type(dtype: str, compressed: bool, memory_map: bool | None, tmp_path: Path) -> None:
    save_as = np.savez_compressed if compressed else np.savez
    save_as(tmp_path / "a.npz", data_obs=X.astype(dtype), data_int=X[None].astype(dtype))
    data = read_npz(tmp_path / "a.npz", memory_map=memory_map)
    assert data.observational.codes.dtype == np.uint8
    assert data.observational.codes.tolist() == data.interventional[0].codes.tolist() == X.tolist()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4"])
def test_any_float_type(dtype: str, tmp_path: Path) -> None:
    data = read_npz(save(tmp_path / "a.npz", data_obs=(X / 4).astype(dtype)), memory_map=True)
    assert data.kinds == ("continuous",) * 3
    assert data.observational.reals.tolist() == (X / 4).tolist()


def test_fortran_order(tmp_path: Path) -> None:
    stacked = np.asfortranarray(np.stack([X, X + 1]).astype(np.uint8))
    path = save(tmp_path / "a.npz", data_obs=np.asfortranarray(X.astype(np.uint8)), data_int=stacked)
    data = read_npz(path, memory_map=True)
    assert data.observational.codes.tolist() == X.tolist()
    assert data.interventional[1].codes.tolist() == (X + 1).tolist()


def test_truth_values_have_two_levels(tmp_path: Path) -> None:
    for memory_map in (False, True):
        data = read_npz(save(tmp_path / "a.npz", data_obs=X == 3), memory_map=memory_map)
        assert data.variables[0].levels == (False, True)
        assert data.column("X1").tolist() == [False] * 4


def test_kinds_override_the_type(tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", data_obs=X)
    data = read_npz(path, kinds={"X2": "continuous"})
    assert data.kinds == ("categorical", "continuous", "categorical")
    assert data.observational.reals.tolist() == X[:, 1:2].tolist()
    assert data.observational.codes.tolist() == X[:, [0, 2]].tolist()
    path = save(tmp_path / "b.npz", data_obs=X * 1.0, kinds=["continuous", "categorical", "continuous"])
    data = read_npz(path)
    assert data.variables[1] == Variable("X2", "categorical", (0, 1))
    assert read_npz(path, kinds={"X2": "continuous"}).kinds == ("continuous",) * 3


def test_recorded_levels_are_not_numbers(tmp_path: Path) -> None:
    data = InterventionalData(CATEGORICAL, [codes((), 3)])
    write_npz(data, tmp_path / "a.npz")
    assert read_npz(tmp_path / "a.npz", kinds={"B": "continuous"}).kinds == ("categorical", "continuous")
    with pytest.raises(DataError, match=r"column 'A' has recorded levels .*read it as categorical"):
        read_npz(tmp_path / "a.npz", kinds={"A": "continuous"})


def test_more_than_a_byte_of_levels(tmp_path: Path) -> None:
    """The first block fits a byte, the second does not; nothing wraps."""
    x = np.zeros((3_000_000, 2), dtype=np.int32)
    x[-1, 1] = 300
    data = read_npz(save(tmp_path / "a.npz", data_obs=x))
    assert data.observational.codes.dtype == np.uint16
    assert data.observational.codes.max() == 300
    assert data.n_levels.tolist() == [1, 301]


def test_written_files_follow_the_plain_layout_where_they_can(tmp_path: Path) -> None:
    data = InterventionalData.from_environments([X, X[:2], X[2:]], [None, "X3", "X1"])
    adjacency = np.triu(np.ones((3, 3)), 1)
    write_npz(data, tmp_path / "a.npz", adjacency=adjacency, extra={"seed": 7})
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert file["data_obs"].dtype == np.uint8
        assert file["data_obs"].tolist() == X.tolist()
        assert file["data_int"].shape == (2, 2, 3)
        assert file["targets"].tolist() == [2, 0]
        assert file["names"].tolist() == ["X1", "X2", "X3"]
        assert file["adj_matrix"].tolist() == adjacency.tolist()
        assert file["seed"] == 7
        assert "target_mask" not in file
        assert "regime_rows" not in file
    names, found = read_graph(tmp_path / "a.npz")
    assert names == data.names
    assert np.array_equal(found, adjacency)


def test_unequal_regimes_and_several_targets(tmp_path: Path) -> None:
    data = InterventionalData.from_environments([X, X[:1], X[1:]], [None, ("X3", "X1"), "X1"])
    write_npz(data, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert file["data_int"].shape == (4, 3)
        assert file["regime_rows"].tolist() == [1, 3]
        assert file["target_mask"].tolist() == [[True, False, True], [True, False, False]]
    assert read_npz(tmp_path / "a.npz") == data


def test_same_data_same_bytes(tmp_path: Path) -> None:
    data = InterventionalData.from_environments([X, X * 2], [None, 1])
    write_npz(data, tmp_path / "a.npz")
    write_npz(data, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("kind", ["categorical", "continuous"])
def test_mapped_rows_stay_in_the_file(kind: str, tmp_path: Path) -> None:
    """Opening a file of 96 MB takes a few blocks of memory, and the rows are views of the file."""
    rows, columns = (480_000, 200) if kind == "categorical" else (120_000, 200)
    variables = [
        Variable(f"V{i}", "categorical", tuple(range(10))) if kind == "categorical" else Variable(f"V{i}", "continuous")
        for i in range(columns)
    ]
    values = np.arange(1_000 * columns).reshape(1_000, columns) % 10
    block = (
        Regime((), values.astype(np.uint8), np.zeros((1_000, 0), np.float32))
        if kind == "categorical"
        else Regime((), np.zeros((1_000, 0), np.uint8), values.astype(np.float32))
    )
    path = tmp_path / "large.npz"
    with NpzStream(
        path, variables, observational_rows=rows - 1_000, interventional_rows=[1_000], targets=[(3,)]
    ) as out:
        for _ in range(rows // 1_000 - 1):
            out.write(block)
        out.write(Regime((3,), block.codes, block.reals))
    tracemalloc.start()
    data = read_npz(path, memory_map=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 95_000_000
    assert peak < 48_000_000
    found = data.observational.codes if kind == "categorical" else data.observational.reals
    assert found.flags.aligned
    assert found.flags.c_contiguous
    assert not found.flags.writeable
    assert type(found) is np.ndarray
    assert np.array_equal(found[-1_000:], values)
    assert np.array_equal(data.column("V7", 1), values[:, 7])
    path.unlink()  # the map keeps the rows alive
    assert np.array_equal(found[:1_000], values)


def test_members_written_by_numpy_are_mapped_too(tmp_path: Path) -> None:
    x = (np.arange(8_000_000) % 7).astype(np.uint8).reshape(-1, 8)
    path = save(tmp_path / "a.npz", data_obs=x, data_int=x[None, :1000])
    tracemalloc.start()
    data = read_npz(path, memory_map=True)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 1_000_000
    assert np.array_equal(data.observational.codes, x)
    assert read_npz(path) == data


def test_members_are_aligned(tmp_path: Path) -> None:
    data = InterventionalData.from_environments([np.eye(3), np.eye(3)[:1]], [None, 1], names=["a", "bb", "c" * 77])
    write_npz(data, tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.testzip() is None
    for regime in read_npz(tmp_path / "a.npz", memory_map=True).regimes:
        assert regime.reals.ctypes.data % 64 == 0


def test_stream_takes_rows_as_they_come(tmp_path: Path) -> None:
    with NpzStream(tmp_path / "a.npz", CATEGORICAL, observational_rows=5, interventional_rows=3) as out:
        out.write(codes((), 2))
        out.write(codes((), 0))
        out.write(codes((), 3, 1))
        assert not (tmp_path / "a.npz").exists()
        out.write(codes((0,), 3))
        out.write(codes((1,), 1))
        out.write(codes((1,), 2, 1))
    expected = InterventionalData(
        CATEGORICAL, [codes((), 2), codes((), 3, 1), codes((0,), 3), codes((1,), 1), codes((1,), 2, 1)]
    )
    assert read_npz(tmp_path / "a.npz") == expected


def test_stream_of_observational_rows_only(tmp_path: Path) -> None:
    with NpzStream(tmp_path / "a.npz", CATEGORICAL, observational_rows=2, interventional_rows=0) as out:
        out.write(codes((), 2))
    assert read_npz(tmp_path / "a.npz").regimes[0].n_rows == 2


def test_stream_of_mixed_rows(tmp_path: Path) -> None:
    variables = [CATEGORICAL[0], CONTINUOUS[1]]
    rows = Regime((), np.array([[0], [1]], np.uint8), np.array([[0.1], [0.2]], np.float32))
    with NpzStream(tmp_path / "a.npz", variables, observational_rows=2, interventional_rows=0) as out:
        out.write(rows)
    assert read_npz(tmp_path / "a.npz", memory_map=True) == InterventionalData(variables, [rows])


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (
            [codes((0,), 1)],
            r"expected rows of the regime observational, not of do\(A\): write regimes in the order",
        ),
        ([codes((), 3)], "was announced with 2 rows, not more"),
        ([codes((), 1)], "observational has 1 of 2 announced rows: nothing was written"),
        ([codes((), 2)], r"regime do\(A\) has 0 of 2 announced rows"),
        ([codes((), 2), codes((0,), 2), codes((1,), 2), codes((1,), 2)], "write no more than announced"),
        (
            [Regime((), np.zeros((2, 3), np.uint8), np.zeros((2, 0), np.float32))],
            "a block has 3 columns, but there are 2 variables",
        ),
    ],
)
def test_stream_refuses_what_was_not_announced(blocks: list[Regime], message: str, tmp_path: Path) -> None:
    def attempt() -> None:
        with NpzStream(tmp_path / "a.npz", CATEGORICAL, observational_rows=2, interventional_rows=2) as out:
            for block in blocks:
                out.write(block)

    with pytest.raises(DataError, match=message):
        attempt()
    assert list(tmp_path.iterdir()) == []


def test_stream_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_text("old")
    options = {"observational_rows": 2, "interventional_rows": 0, "overwrite": True}

    def attempt() -> None:
        with NpzStream(tmp_path / "a.npz", CATEGORICAL, **options) as out:  # type: ignore[arg-type]
            out.write(codes((), 1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]
    assert (tmp_path / "a.npz").read_text() == "old"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interventional_rows": [1, 2, 3]}, "2 intervention regimes but 3 numbers of rows"),
        ({"observational_rows": 0}, "regime observational is to have 0 rows: give 1 or more"),
        ({"interventional_rows": [1, 0]}, r"regime do\(B\) is to have 0 rows"),
        ({"adjacency": np.zeros((3, 3))}, r"graph has the shape \(3, 3\), but there are 2 variables"),
        ({"extra": {"names": [1]}}, "cannot store 'names'"),
        ({"extra": {"notes": np.array([None])}}, "cannot store 'notes'"),
    ],
)
def test_stream_checks_its_announcement(options: dict[str, object], message: str, tmp_path: Path) -> None:
    defaults: dict[str, object] = {"observational_rows": 2, "interventional_rows": 2}
    with pytest.raises(DataError, match=message):
        NpzStream(tmp_path / "a.npz", CATEGORICAL, **(defaults | options))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not open for rows"):
        NpzStream(tmp_path / "a.npz", CATEGORICAL, **defaults).write(codes((), 1))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_stream_on_a_full_disk(tmp_path: Path) -> None:
    """Every write beyond the allowed size fails, also those that would end the archive properly."""
    script = f"""
import numpy as np, pathlib, resource, signal
from enco.data import Regime, Variable
from enco.errors import EncoError
from enco.io import NpzStream

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
folder = pathlib.Path({str(tmp_path)!r})
pair = [Variable("A", "continuous"), Variable("B", "continuous")]
block = Regime((), np.zeros((50_000, 0), np.uint8), np.zeros((50_000, 2), np.float32))
try:
    with NpzStream(folder / "a.npz", pair, observational_rows=50_000, interventional_rows=0) as out:
        out.write(block)
except EncoError as error:
    assert "cannot write" in str(error) and "a.npz" in str(error), error
else:
    raise SystemExit("nothing failed")
assert list(folder.iterdir()) == []
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
