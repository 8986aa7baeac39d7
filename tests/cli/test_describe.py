import numpy as np
import pytest

from enco.cli import main
from enco.data import InterventionalData


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_prints_the_description_of_the_data(folder, capsys):
    rng = np.random.default_rng(0)
    np.savez("a.npz", data_obs=rng.integers(4, size=(60, 3)), data_int=rng.integers(4, size=(3, 20, 3)))
    assert main(["describe", "a.npz"]) == 0
    described, *labels = capsys.readouterr().out.split("labels ")
    assert described == InterventionalData.from_npz("a.npz").describe() + "\n"
    assert labels == ["        1 of 3 interventions had no effect: X3\n"]  # of numbers drawn at random


def test_tables_name_their_target_column_and_control(folder, capsys):
    rows = "".join(f"{value % 3},{value % 2},{guide}\n" for value in range(20) for guide in ("none", "A"))
    (folder / "screen.csv").write_text("A,B,guide\n" + rows)
    assert main(["describe", "screen.csv", "--target-column", "guide", "--control", "none"]) == 0
    assert "do(A)" in capsys.readouterr().out
    assert main(["describe", "screen.csv", "--target-column", "well"]) == 2
    assert "'well'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.npz", None),
        ("a.npz", "plain text"),
        ("a.csv", ""),
        ("a.csv", "A,B\n1,2\nx\n"),
        ("a.parquet", "plain text"),
        ("a.h5ad", "plain text"),
        ("a.docx", "plain text"),
    ],
)
def test_mistakes(folder, capsys, name, content):
    if content is not None:
        (folder / name).write_text(content)
    assert main(["describe", name]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert name in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
