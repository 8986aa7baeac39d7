"""Bad files through the command line: one line on standard error that says what is wrong, exit code 2, no traceback."""

import numpy as np
import pytest

from enco.cli import main

GOOD = {"data_obs": np.tile([[0, 1], [1, 0]], (10, 1)), "data_int": np.tile([[0, 1], [1, 1]], (2, 5, 1))}
TABLES = {
    "missing value": ("a,b,perturbation\n0.5,1.5,\n,0.5,\n1.5,2.5,a\n", "'a'"),
    "infinity": ("a,b,perturbation\n0.5,1.5,\ninf,0.5,\n1.5,2.5,a\n", "'a'"),
    "no rows": ("a,b,perturbation\n", "row"),
    "empty file": ("", "empty"),
    "no observational rows": ("a,b,perturbation\n0,1,a\n1,1,a\n", "observational"),
    "repeated name": ("a,a,perturbation\n0,1,\n1,0,a\n", "'a'"),
    "empty name": (",b,perturbation\n0,1,\n1,0,b\n", "name"),
    "unknown target": ("a,b,perturbation\n0,1,\n1,0,c\n", "'c'"),
    "every variable a target": ("a,b,perturbation\n0,1,\n1,0,a+b\n", "every variable"),
    "one variable": ("a,perturbation\n0,\n1,a\n", "variable"),
    "text among numbers": ("a,b,perturbation\n0.5,1.5,\nhigh,0.5,\n1.5,2.5,a\n", "'a'"),
}
ARRAYS = {
    "negative codes": ({**GOOD, "data_obs": GOOD["data_obs"] - 1}, "negative"),
    "other columns": ({**GOOD, "data_int": np.zeros((2, 5, 3), int)}, "column"),
    "objects": ({**GOOD, "names": np.array(["a", None], object)}, "object"),
    "no data": ({"something": np.zeros(3)}, "data_obs"),
}


def refused(path, capsys):
    assert main(["describe", str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize("case", TABLES)
def test_tables(case, tmp_path, capsys):
    text, word = TABLES[case]
    path = tmp_path / "data.csv"
    path.write_text(text)
    assert word in refused(path, capsys)


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays(case, tmp_path, capsys):
    arrays, word = ARRAYS[case]
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    assert word in refused(path, capsys)


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "h5ad", "xyz"])
def test_foreign_files(suffix, tmp_path, capsys):
    path = tmp_path / f"data.{suffix}"
    path.write_bytes(b"\x00\x01 not a table at all \xff\xfe")
    assert "data" in refused(path, capsys)


def test_truncated_archive(tmp_path, capsys):
    path = tmp_path / "data.npz"
    np.savez(path, **GOOD)
    path.write_bytes(path.read_bytes()[:-40])
    assert "data.npz" in refused(path, capsys)
