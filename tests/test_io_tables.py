"""Tables of other people: CSV, Parquet, AnnData and data frames that were not written here."""

import time
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from enco.data import InterventionalData, Variable
from enco.errors import DataError
from enco.io import read_csv, read_data, read_parquet

TABLE = {
    "gene": [0.5, 1.25, -3.0, 2.0, 0.0],
    "dose": [3, 1, 3, 1, 1],
    "state": ["on", "off", "on", "on", "off"],
    "perturbation": ["control", "", "gene", "dose+gene", "gene + dose"],
}
EXPECTED = (
    Variable("gene", "continuous"),
    Variable("dose", "categorical", (1, 3)),
    Variable("state", "categorical", ("off", "on")),
)


def check(data: InterventionalData) -> None:
    assert data.variables == EXPECTED
    assert [regime.targets for regime in data.regimes] == [(), (0,), (0, 1)]
    assert data.column("gene").tolist() == [0.5, 1.25]
    assert data.column("state", 2).tolist() == ["on", "off"]
    assert data.column("dose", 1).tolist() == [3]


def test_plain_csv(tmp_path: Path) -> None:
    pd.DataFrame(TABLE).to_csv(tmp_path / "a.csv", index=False)
    check(read_csv(tmp_path / "a.csv"))


def test_csv_as_spreadsheets_write_it(tmp_path: Path) -> None:
    pd.DataFrame(TABLE).to_csv(
        tmp_path / "a.csv", index=False, sep=";", lineterminator="\r\n", encoding="utf-8-sig", quoting=1
    )
    check(read_csv(tmp_path / "a.csv", delimiter=";"))


def test_csv_without_a_final_line_end(tmp_path: Path) -> None:
    text = pd.DataFrame(TABLE).to_csv(index=False)
    (tmp_path / "a.csv").write_text(text.rstrip("\n"))
    check(read_csv(tmp_path / "a.csv"))


def test_csv_columns_of_truth_values(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("A,B,perturbation\nTrue,1,\nFalse,2,\n")
    assert read_csv(tmp_path / "a.csv").variables[0] == Variable("A", "categorical", (False, True))


def test_words_for_missing_values_can_be_targets(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("NA,B,perturbation\n0,1,null\n1,2,null\n1,1,NA\n")
    data = read_csv(tmp_path / "a.csv", control="null")
    assert [data.regime_label(regime) for regime in data.regimes] == ["observational", "do(NA)"]


def test_declared_categories_may_mix_words_and_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("chromosome,B,perturbation\n1,1,\n2,2,\nX,1,\n")
    data = read_csv(tmp_path / "a.csv", kinds={"chromosome": "categorical"})
    assert data.variables[0].levels == ("1", "2", "X")


def test_a_long_csv_column_is_one_type(tmp_path: Path) -> None:
    """A word late in a long column does not leave numbers and text side by side."""
    rows = [f"{i % 3},1," for i in range(300_000)] + ["x,1,"]
    (tmp_path / "a.csv").write_text("A,B,perturbation\n" + "\n".join(rows) + "\n")
    data = read_csv(tmp_path / "a.csv", kinds={"A": "categorical"})
    assert data.variables[0].levels == ("0", "1", "2", "x")


def test_recorded_notation_is_used_unless_another_is_asked_for(tmp_path: Path) -> None:
    data = InterventionalData.from_environments([np.eye(3), np.eye(3)], [None, (0, 2)], names=["A", "B+", "C"])
    for suffix in ("csv", "parquet"):
        getattr(data, f"to_{suffix}")(tmp_path / f"a.{suffix}", target="guide", control="NT", separator="|")
        assert read_data(tmp_path / f"a.{suffix}") == data
        assert read_data(tmp_path / f"a.{suffix}", "guide", control="NT", separator="|") == data
        assert read_data(tmp_path / f"a.{suffix}", None) == data
    assert InterventionalData.from_anndata(data.to_anndata("guide", control="NT", separator="|")) == data


def test_recorded_kinds_can_be_overridden(tmp_path: Path) -> None:
    data = InterventionalData.from_environments([np.array([[10, 0], [30, 1]])], [None])
    for suffix in ("csv", "parquet"):
        getattr(data, f"to_{suffix}")(tmp_path / f"a.{suffix}")
        found = read_data(tmp_path / f"a.{suffix}", kinds={"X1": "continuous"})
        assert found.kinds == ("continuous", "categorical")
        assert found.column("X1").tolist() == [10.0, 30.0]
    found = InterventionalData.from_anndata(data.to_anndata(), kinds={"X1": "continuous"})
    assert found.column("X1").tolist() == [10.0, 30.0]


def test_plain_parquet(tmp_path: Path) -> None:
    pd.DataFrame(TABLE).to_parquet(tmp_path / "a.parquet")
    check(read_parquet(tmp_path / "a.parquet"))


def test_parquet_row_labels_are_no_variables(tmp_path: Path) -> None:
    labels = pd.Index(["c1", "c2", "c3", "c4", "c5"], name="cell")
    pd.DataFrame(TABLE).set_index(labels).to_parquet(tmp_path / "a.parquet")
    check(read_parquet(tmp_path / "a.parquet"))


def test_parquet_folders_add_no_columns(tmp_path: Path) -> None:
    (tmp_path / "batch=7").mkdir()
    pd.DataFrame(TABLE).to_parquet(tmp_path / "batch=7" / "a.parquet")
    check(read_parquet(tmp_path / "batch=7" / "a.parquet"))


def test_parquet_keeps_the_order_of_categories(tmp_path: Path) -> None:
    frame = pd.DataFrame(TABLE)
    frame["state"] = pd.Categorical(frame["state"], categories=["on", "standby", "off"])
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    assert read_parquet(tmp_path / "a.parquet").variables[2].levels == ("on", "standby", "off")


def test_parquet_with_equal_names(tmp_path: Path) -> None:
    table = pa.table([pa.array([1]), pa.array([2]), pa.array([""])], names=["A", "A", "perturbation"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: Expected unique column names.*'A' 2 times: rename"):
        read_parquet(tmp_path / "a.parquet")


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pyarrow", "pandas with arrow types"])
def test_any_frame(kind: str) -> None:
    frame = {
        "pandas": lambda: pd.DataFrame(TABLE),
        "polars": lambda: pl.DataFrame(TABLE),
        "lazy": lambda: pl.DataFrame(TABLE).lazy(),
        "pyarrow": lambda: pa.table(TABLE),
        "pandas with arrow types": lambda: pd.DataFrame(TABLE).convert_dtypes(dtype_backend="pyarrow"),
    }[kind]()
    if kind == "pandas with arrow types":
        frame["gene"] = frame["gene"].astype("double[pyarrow]")
    check(InterventionalData.from_frame(frame))


def test_polars_categories() -> None:
    frame = pl.DataFrame({"A": ["b", "a", "b"], "B": ["b", "a", "b"]}).select(
        pl.col("A").cast(pl.Categorical), pl.col("B").cast(pl.Enum(["c", "b", "a"]))
    )
    data = InterventionalData.from_frame(frame, None)
    assert [variable.levels for variable in data.variables] == [("a", "b"), ("c", "b", "a")]


def test_target_cells_of_other_types() -> None:
    values = {"0": [0.5, 1.5, 2.5], "1": [1.0, 2.0, 3.0], "2": [1.0, 2.0, 3.0]}
    for cells in ([np.nan, 0, 1], pd.Categorical([None, "0", "1"]), pd.array([None, 0, 1], dtype="Int64")):
        data = InterventionalData.from_frame(pd.DataFrame({**values, "T": cells}), "T")
        assert [regime.targets for regime in data.regimes] == [(), (0,), (1,)]


def test_control_labels() -> None:
    frame = pd.DataFrame({"A": [0, 1, 0, 1], "B": [0, 1, 1, 1], "T": ["NT", "safe", "A", "A+NT"]})
    data = InterventionalData.from_frame(frame, "T", control=["NT", "safe"])
    assert [(regime.targets, regime.n_rows) for regime in data.regimes] == [((), 2), ((0,), 2)]


@pytest.mark.parametrize("form", ["dense", "csr", "csc", "csr array", "layer", "integers"])
def test_anndata_matrices(form: str) -> None:
    matrix = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 1.0, 0.0]], dtype=np.float32)
    stored = {
        "csr": sparse.csr_matrix(matrix),
        "csc": sparse.csc_matrix(matrix),
        "csr array": sparse.csr_array(matrix),
        "integers": matrix.astype(np.int32),
    }.get(form, matrix)
    obs = pd.DataFrame({"guide": pd.Categorical(["NT", "NT", "G2"])}, index=["c1", "c2", "c3"])
    cells = anndata.AnnData(stored, obs, pd.DataFrame(index=["G1", "G2", "G3"]))
    layer = None
    if form == "layer":
        cells.layers["counts"] = sparse.csr_matrix(matrix)
        cells.X = matrix + 100
        layer = "counts"
    data = InterventionalData.from_anndata(cells, "guide", control="NT", layer=layer)
    assert data.kinds == (("categorical",) if form == "integers" else ("continuous",)) * 3
    assert np.array_equal(np.column_stack([data.column(name) for name in data.names]), matrix[:2])
    assert data.interventional[0].targets == (1,)
    override = InterventionalData.from_anndata(
        cells, "guide", control="NT", layer=layer, kinds={"G1": "categorical", "G2": "continuous"}
    )
    assert override.variables[0] == Variable("G1", "categorical", (0, 1, 3))
    assert override.kinds[1] == "continuous"


def test_anndata_without_targets_and_in_backed_mode(tmp_path: Path) -> None:
    cells = anndata.AnnData(np.eye(3, dtype=np.float32), var=pd.DataFrame(index=["A", "B", "C"]))
    assert InterventionalData.from_anndata(cells, None).n_rows == 3
    cells.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    assert InterventionalData.from_anndata(backed, None).column("B").tolist() == [0.0, 1.0, 0.0]
    backed.file.close()
    assert read_data(tmp_path / "a.h5ad", None).n_rows == 3


def test_a_large_table_takes_about_a_second() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, object] = {f"c{i}": rng.integers(0, 10, 100_000) for i in range(40)}
    columns |= {f"r{i}": rng.normal(size=100_000) for i in range(40)}
    columns |= {f"t{i}": rng.choice(["lo", "mid", "hi"], size=100_000) for i in range(20)}
    frame = pd.DataFrame(columns)
    frame["perturbation"] = rng.choice(["control", "c1", "r1+c2"], size=100_000)
    start = time.process_time()
    data = InterventionalData.from_frame(frame)
    assert time.process_time() - start < 4.0  # leaves room for a busy machine; cell by cell it would take minutes
    assert data.n_rows == 100_000
