import json

import numpy as np
import pytest

from enco.cli import main
from enco.io import write_data
from enco.simulate import examples
from enco.theory import check_conditions

BIF = """network small {}
variable rain { type discrete [ 2 ] { no, yes }; }
variable wet { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.8, 0.2; }
probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.1, 0.9; }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.bif").write_text(BIF)
    return tmp_path


def test_a_bif_file_gives_a_table_and_a_verdict(folder, capsys):
    assert main(["check", "model.bif"]) == 0
    printed = capsys.readouterr().out
    assert "edge rain -> wet is guaranteed for lambda below" in printed
    assert "with 200 rows per intervention expect" in printed
    assert "verdict: with enough data, recovery is guaranteed" in printed


def test_lambda_and_rows(folder, capsys):
    assert main(["check", "worked-chain", "--lambda", "0.021", "--rows", "500"]) == 0
    printed = capsys.readouterr().out
    assert "verdict: recovery is not guaranteed for lambda = 0.021" in printed
    assert "condition 3 for X1 -> X2: gain 0.020 given {}" in printed
    assert "with 500 rows" in printed


def test_json_is_the_report(folder, capsys):
    assert main(["check", "worked-chain", "--json", "--targets", "X1, X2"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content == json.loads(json.dumps(check_conditions(examples.worked_chain(), targets=["X1", "X2"]).to_dict()))
    assert content["without_intervention"] == ["X3"]


@pytest.mark.parametrize("network", ["cancer", "earthquake", "asia"])
def test_known_networks(folder, capsys, network):
    assert main(["check", network]) == 0
    assert "verdict:" in capsys.readouterr().out


def test_sampling_is_reported(folder, capsys):
    assert main(["check", "asia", "--budget", "200", "--seed", "3"]) == 0
    assert "(budget 200, seed 3): a search for violations, not a proof" in capsys.readouterr().out


def test_a_model_with_data(folder, capsys):
    data = examples.worked_chain().dataset(500, 100, rng=np.random.default_rng(0))
    write_data(data, folder / "rows.csv")
    assert main(["check", "worked-chain", "--data", "rows.csv"]) == 0
    assert "from data: absent edges stay out for lambda above" in capsys.readouterr().out
    assert main(["check", "model.bif", "--data", "rows.csv"]) == 2
    assert "no column 'rain'" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_data_without_a_model(folder, capsys, suffix):
    data = examples.worked_chain().dataset(2000, 300, targets=["X1"], rng=np.random.default_rng(0))
    write_data(data, folder / f"rows.{suffix}")
    assert main(["check", f"rows.{suffix}"]) == 0
    printed = capsys.readouterr().out
    assert "without intervention (2 of 3): X2, X3" in printed
    assert "dependent 1: X2 - X3" in printed
    assert main(["check", f"rows.{suffix}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["untargeted"] == ["X2", "X3"]


def test_help_has_examples(capsys):
    assert main(["check", "--help"]) == 0
    assert "\n    enco check asia " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nowhere.bif"], "nowhere.bif"),
        (["nowhere.csv"], "nowhere.csv"),
        (["nosuchnetwork"], "nosuchnetwork"),
        (["bad.bif"], "bad.bif"),
        (["notes.docx"], "notes.docx"),
        (["model.bif", "--lambda", "-1"], "lambda"),
        (["model.bif", "--lambda", "nan"], "lambda"),
        (["model.bif", "--rows", "0"], "rows"),
        (["model.bif", "--targets", "snow"], "snow"),
        (["model.bif", "--data", "nowhere.csv"], "nowhere.csv"),
        (["rows.csv", "--lambda", "0.01"], "--lambda"),
        (["rows.csv", "--budget", "10"], "--budget"),
        (["rows.csv", "--data", "rows.csv"], "--data"),
        ([], "there is nothing to check"),
    ],
)
def test_mistakes(folder, capsys, arguments, word):
    (folder / "bad.bif").write_text("variable {")
    (folder / "notes.docx").write_text("plain text")
    (folder / "rows.csv").write_text("A,B,perturbation\n0,1,\n1,0,A\n")
    assert main(["check", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert word in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
