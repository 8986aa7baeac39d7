"""Damaged, foreign and contradictory files end in one sentence that names the file and the remedy."""

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enco.data import InterventionalData
from enco.errors import DataError, EncoError, FileFormatError, MissingPackageError
from enco.io import read_data, write_data
from enco.io._record import Notation, Record

Data = InterventionalData
X = np.array([[0, 1], [1, 0], [1, 1]])
HOLES = np.array([[0.0, 1.0], [np.nan, np.inf], [1.0, 1.0]])


def header_only(shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return stream.getvalue()


# name: the arrays of an npz file, what the message must say
NPZ: dict[str, tuple[dict[str, Any], str]] = {
    "nan": (
        {"data_obs": HOLES},
        r"'X1' holds nan in row 1 of data_obs \(2 missing or infinite cells in all\)",
    ),
    "nan under intervention": (
        {"data_obs": X * 1.0, "data_int": np.stack([X, HOLES])},
        r"'X1' holds nan in row 1 of data_int\[1\]",
    ),
    "no rows": ({"data_obs": X[:0]}, "there are no observational rows"),
    "no interventional rows": (
        {"data_obs": X, "data_int": np.zeros((2, 0, 2), int)},
        "has no rows: leave it out",
    ),
    "negative code": (
        {"data_obs": X, "data_int": np.stack([X, -X])},
        r"'X2' holds -1 in row 0 of data_int\[1\], which is negative: number the levels 0, 1, 2",
    ),
    "too many levels": (
        {"data_obs": np.array([[0, 65_535]])},
        "'X2' holds 65535 in row 0 of data_obs, beyond",
    ),
    "one variable": ({"data_obs": X[:, :1]}, "found 1 variable"),
    "one dimension": (
        {"data_obs": X[:, 0]},
        r"data_obs has the shape \(3,\), it must be \[rows, variables\]",
    ),
    "other columns": (
        {"data_obs": X, "data_int": np.zeros((2, 3, 3), int)},
        "every regime needs the columns of data_obs",
    ),
    "floats and integers": (
        {"data_obs": X, "data_int": X[None] * 1.0},
        "data_obs holds int64 but data_int float64",
    ),
    "text": ({"data_obs": X.astype(str)}, "data_obs holds <U.*; save level indices as integers"),
    "objects": ({"data_obs": X.astype(object)}, "'data_obs' holds Python objects, which are never unpickled"),
    "objects as names": (
        {"data_obs": X, "names": np.array(["A", None], dtype=object)},
        "'names' holds Python objects, which are never unpickled",
    ),
    "no such key": ({"observations": X}, "no array 'data_obs'; the file has: observations"),
    "too few names": ({"data_obs": X, "names": ["A"]}, "names has the shape .* must be 2 texts"),
    "numbers as names": ({"data_obs": X, "names": [1, 2]}, "names has the shape .* must be 2 texts"),
    "duplicate names": ({"data_obs": X, "names": ["A", "A"]}, "name 'A' occurs 2 times"),
    "empty name": ({"data_obs": X, "names": ["A", ""]}, "empty name ''"),
    "unknown target": (
        {"data_obs": X, "data_int": X[None], "targets": [2]},
        "regime 0 of data_int targets position 2, but there are 2 variables",
    ),
    "unknown target name": (
        {"data_obs": X, "data_int": X[None], "targets": ["Q"]},
        "regime 0 of data_int targets the unknown variable 'Q'",
    ),
    "too few targets": (
        {"data_obs": X, "data_int": np.stack([X, X]), "targets": [0]},
        "must be 2 column positions",
    ),
    "float targets": ({"data_obs": X, "data_int": X[None], "targets": [0.0]}, "must be 1 column positions"),
    "more regimes than columns": ({"data_obs": X, "data_int": np.stack([X] * 3)}, "say with the key targets"),
    "all targeted": (
        {"data_obs": X, "data_int": X[None], "target_mask": [[True, True]]},
        "targets every variable",
    ),
    "mask of another shape": (
        {"data_obs": X, "data_int": X[None], "target_mask": [[True]]},
        "target_mask has",
    ),
    "rows that do not add up": (
        {"data_obs": X, "data_int": X, "regime_rows": [1, 1]},
        "positive integers that add up to the 3 rows",
    ),
    "targets of nothing": ({"data_obs": X, "targets": [0]}, "an array 'targets' but no data_int"),
    "unknown kinds": ({"data_obs": X, "kinds": ["categorical", "count"]}, "kinds must say 'categorical'"),
    "fractional code": (
        {"data_obs": X * 0.5, "kinds": ["categorical", "continuous"]},
        "'X1' holds 0.5 in row 1 of data_obs, which is no level index",
    ),
    "float with too many levels": (
        {"data_obs": np.array([[0.0, 256.0], [1.0, 0.0]]), "kinds": ["continuous", "categorical"]},
        "float column 'X2' is declared categorical with level indices up to 256, more than 256 levels",
    ),
    "damaged levels": ({"data_obs": X, "levels": np.array("[[0,1]")}, "levels must be JSON text"),
    "levels of one column": (
        {"data_obs": X, "levels": np.array("[[0,1]]")},
        "levels must be JSON text.*1 entries",
    ),
    "levels that are a number": ({"data_obs": X, "levels": np.array("7")}, "levels must be JSON text"),
    "code beyond the levels": (
        {"data_obs": X, "levels": np.array('[["a","b"],["c"]]')},
        "'X2' holds 1 in row 0 of data_obs, beyond its levels",
    ),
    "too large": (
        {"data_obs": np.array([[0.0, 1e300]])},
        "'X2' holds 1e\\+300 in row 0 of data_obs, too large",
    ),
}


@pytest.mark.parametrize("case", NPZ)
def test_npz(case: str, tmp_path: Path) -> None:
    arrays, message = NPZ[case]
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    for memory_map in (None, True):
        with pytest.raises(DataError, match=message) as caught:
            Data.from_npz(path, memory_map=memory_map)
        assert str(caught.value).startswith(f"{path}: ")
        assert str(caught.value).count(str(path)) == 1
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(10**12, 3), (2**62, 2**62), (-1, 2)])
def test_npz_header_that_claims_too_much(shape: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "absurd.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data_obs.npy", header_only(shape) + bytes(64))
    with pytest.raises(FileFormatError, match=r"claims the shape .* but holds 64 bytes; the file is damaged"):
        Data.from_npz(path)


def test_npz_directory_that_claims_too_much(tmp_path: Path) -> None:
    """A compressed member cannot be much larger than deflate allows, whatever the directory says."""
    path = tmp_path / "absurd.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data_obs.npy", header_only((2**27, 2)) + bytes(64))
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (2**30 + len(header_only((2**27, 2)))).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="more than the file can hold"):
        Data.from_npz(path)


# name: suffix, content, what the message must say
FILES: dict[str, tuple[str, bytes, str]] = {
    "npz that is text": ("npz", b"hello", "not a readable npz file"),
    "empty npz": ("npz", b"", "not a readable npz file"),
    "csv that is binary": ("csv", b"PK\x03\x04\0\0", "not a text file; pass a CSV file"),
    "empty csv": ("csv", b"", "the file is empty; it needs a header line"),
    "csv without rows": ("csv", b"A,B,perturbation\n", "there is not a single row"),
    "csv in latin-1": ("csv", b"A,B,perturbation\n\xe4,1,\n", "not UTF-8 text; save it as UTF-8"),
    "csv header in latin-1": ("csv", b"\xe4,B,perturbation\n0,1,\n", "not UTF-8 text; save it as UTF-8"),
    "csv with semicolons": ("csv", b"A;B;perturbation\n0;1;\n", "'A;B;perturbation'.* pass delimiter="),
    "csv with a long row": ("csv", b"A,B,perturbation\n0,1,\n0,1,,4\n", "as many cells as the header"),
    "csv with long rows": ("csv", b"A,B,perturbation\n0,1,,4\n0,1,,4\n", "as many cells as the header"),
    "csv with a short row": ("csv", b"A,B,perturbation\n0,1,\n0\n", "'B' holds nan in row 1"),
    "csv with an open quote": ("csv", b'A,B,perturbation\n"0,1,\n', "as many cells as the header"),
    "csv with a hole": ("csv", b"A,B,perturbation\n0,1,\n,1,\n", "'A' holds nan in row 1"),
    "csv with a word for missing": ("csv", b"A,B,perturbation\nx,1,\nNA,1,\n", "'A' holds nan in row 1"),
    "csv with text among numbers": (
        "csv",
        b"A,B,perturbation\n0.5,1,\n1.5,0,\noops,0,\n",
        "'A' holds the text 'oops' in row 2, .*correct the cell",
    ),
    "csv with duplicate names": ("csv", b"A,A,perturbation\n0,1,\n", "name 'A' occurs 2 times"),
    "csv with a row index": ("csv", b",A,perturbation\n0,1,\n", "column 0 has no name; .*row index"),
    "csv without target column": ("csv", b"A,B\n0,1\n", "no target column 'perturbation'"),
    "csv with an unknown target": (
        "csv",
        b"A,B,perturbation\n0,1,\n0,1,C\n",
        "row 1.*there is no variable 'C'",
    ),
    "csv with one variable": ("csv", b"A,perturbation\n0,\n", "found 1 variable"),
    "csv with a damaged record": (
        "csv",
        b'#enco: {"rows": \nA,B,perturbation\n0,1,\n',
        "record .* is damaged",
    ),
    "csv with an odd record": ("csv", b"#enco: [1]\nA,B,perturbation\n0,1,\n", "record .* is damaged"),
    "csv with a binary record": ("csv", b"#enco: \xff\nA,B,perturbation\n0,1,\n", "first line is not UTF-8"),
    "parquet that is text": ("parquet", b"hello", "not a readable Parquet file"),
    "empty parquet": ("parquet", b"", "not a readable Parquet file"),
    "h5ad that is text": ("h5ad", b"hello", "not a readable h5ad file"),
    "empty h5ad": ("h5ad", b"", "not a readable h5ad file"),
}


@pytest.mark.parametrize("rows", ["Infinity", "1e999", "NaN", "6.0", "true", "1" + 5000 * "0", "[6]"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "h5ad"])
def test_records_of_a_number_of_rows_that_is_none(rows: str, suffix: str, tmp_path: Path) -> None:
    """The record is a comment of a CSV file, metadata of a Parquet file and an entry of an h5ad file."""
    data = Data.from_environments([X, X], [None, "X1"])
    text = Record(data.variables, Notation(), data.n_rows).to_json().replace('"rows": 6', f'"rows": {rows}')
    path = tmp_path / f"a.{suffix}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Record, "to_json", lambda record: text)
        write_data(data, path)
    with pytest.raises(
        FileFormatError, match=r"a\.(csv|parquet|h5ad): .*(the record of kinds|but records|are not those)"
    ):
        read_data(path)


@pytest.mark.parametrize("case", FILES)
def test_files(case: str, tmp_path: Path) -> None:
    suffix, content, message = FILES[case]
    path = tmp_path / f"bad.{suffix}"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_data(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count(str(path)) == 1
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "h5ad", "xyz"])
def test_files_that_are_not_there(suffix: str, tmp_path: Path) -> None:
    message = "cannot read data from a '.xyz' file" if suffix == "xyz" else "there is no such file"
    with pytest.raises(FileFormatError, match=message):
        read_data(tmp_path / f"nowhere.{suffix}")
    (tmp_path / f"folder.{suffix}").mkdir()
    if suffix != "xyz":
        with pytest.raises(FileFormatError, match="this is a folder"):
            read_data(tmp_path / f"folder.{suffix}")


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "h5ad"])
def test_truncated_files(suffix: str, tmp_path: Path) -> None:
    """Wherever a file is cut, the reader says so and names it."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, size=(40, 4))
    data = Data.from_environments([x[:30], x[30:]], [None, "X2"])
    write_data(data, tmp_path / f"whole.{suffix}")
    content = (tmp_path / f"whole.{suffix}").read_bytes()
    path = tmp_path / f"cut.{suffix}"
    pieces = 60 if suffix in ("npz", "csv") else 12
    for length in {*np.linspace(0, len(content) - 1, pieces).astype(int).tolist(), len(content) - 1}:
        path.write_bytes(content[:length])
        with pytest.raises(DataError) as caught:
            read_data(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_flipped_bytes_in_npz_are_found_or_harmless(tmp_path: Path) -> None:
    """Checksums are verified even where the file is mapped; nothing but an `EncoError` escapes."""
    x = np.random.default_rng(0).integers(0, 3, size=(50, 4))
    data = Data.from_environments([x[:30], x[30:]], [None, "X2"])
    data.to_npz(tmp_path / "whole.npz")
    content = (tmp_path / "whole.npz").read_bytes()
    path = tmp_path / "flipped.npz"
    refused = 0
    directory = content.index(b"PK\x01\x02")
    positions = [*range(0, directory, 5), *range(directory, len(content))]
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 0x95
        path.write_bytes(damaged)
        try:
            found = Data.from_npz(path, memory_map=True)
        except EncoError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
            refused += 1
        else:
            assert found == data
    assert refused > 0.3 * len(positions)


def test_changed_tables_with_a_record_are_refused(tmp_path: Path) -> None:
    data = Data.from_environments([X, X], [None, "X1"])
    data.to_csv(tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines(keepends=True)
    (tmp_path / "a.csv").write_text("".join(lines[:-1]))
    with pytest.raises(FileFormatError, match="has 5 rows but records 6; copy it again, or remove"):
        Data.from_csv(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("".join([lines[0], "X1,Z,perturbation\n", *lines[2:]]))
    with pytest.raises(FileFormatError, match="columns are not those that the first line records"):
        Data.from_csv(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("".join([*lines[:2], "9,0,control\n", *lines[3:]]))
    with pytest.raises(DataError, match="'X1' holds '9' in row 0, which is not among the levels"):
        Data.from_csv(tmp_path / "a.csv")
    reals = Data.from_environments([X * 0.5], [None])
    reals.to_csv(tmp_path / "b.csv")
    (tmp_path / "b.csv").write_text((tmp_path / "b.csv").read_text().replace("\n0.5,0.0,", "\nhalf,0.0,"))
    with pytest.raises(DataError, match=r"b\.csv: variable 'X1' is continuous but holds the text 'half' in row 1"):
        Data.from_csv(tmp_path / "b.csv")
    (tmp_path / "a.csv").write_text("".join(lines[1:]))  # what the messages advise
    assert Data.from_csv(tmp_path / "a.csv") == data


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a+b", "c"], "contains the separator '\\+': choose another"),
        (["control", "c"], "is also the label of observational rows"),
        (["perturbation", "c"], "cannot hold both targets and a variable: pass another name as target="),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet", "h5ad"])
def test_names_that_a_table_cannot_hold(names: list[str], message: str, suffix: str, tmp_path: Path) -> None:
    data = Data.from_environments([X], [None], names=names)
    with pytest.raises(DataError, match=message):
        write_data(data, tmp_path / f"a.{suffix}")
    assert list(tmp_path.iterdir()) == []
    write_data(data, tmp_path / "a.npz")  # which has no such trouble


@pytest.mark.parametrize(("package", "suffix"), [("pyarrow", "parquet"), ("anndata", "h5ad")])
def test_missing_packages(package: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Data.from_environments([X], [None])
    (tmp_path / f"a.{suffix}").write_bytes(b"something")
    monkeypatch.setitem(sys.modules, package, None)
    extra = "parquet" if package == "pyarrow" else package
    with pytest.raises(MissingPackageError, match=rf"'{package}': pip install 'enco\[{extra}\]'"):
        read_data(tmp_path / f"a.{suffix}")
    with pytest.raises(MissingPackageError, match="pip install"):
        write_data(data, tmp_path / f"b.{suffix}")
