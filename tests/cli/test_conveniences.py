"""Logs, completion, exit codes in the help, and data as JSON."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from enco.cli import main
from enco.data import InterventionalData

FAST = [word for name in ("max_epochs=1", "first_fit_steps=20", "refine_rounds=0") for word in ("--set", name)]


@pytest.fixture
def table(tmp_path):
    x = np.arange(60).reshape(20, 3) % 4
    path = tmp_path / "data.npz"
    InterventionalData.from_environments([x, x[:10]], [None, "X2"]).to_npz(path)
    return path


@pytest.mark.parametrize(("flags", "words", "absent"), [
    ([], [], ["enco.io", "EpochRecord"]),
    (["-v"], ["enco.io.files: read ", "FusedConditionals, 6 candidate pairs", "EpochRecord(epoch=1"], ["Settings("]),
    (["-vv"], ["EpochRecord(epoch=1", "Settings(", "checkpoint.npz after epoch 1"], []),
])  # fmt: skip
def test_logs_go_to_standard_error(flags, words, absent, table, tmp_path, capsys):
    assert main([*flags, "fit", str(table), "--out", str(tmp_path / "out"), "--json", *FAST]) == 0
    shown = capsys.readouterr()
    assert all(word in shown.err for word in words)
    assert not any(word in shown.err for word in absent)
    json.loads(shown.out)


def test_one_command_does_not_leave_its_logs_to_the_next(table, capsys):
    assert main(["-v", "describe", str(table)]) == 0
    assert capsys.readouterr().err.count("enco.io.files: read ") == 1
    assert main(["describe", str(table)]) == 0
    assert capsys.readouterr().err == ""


def test_the_help_says_what_exit_codes_mean(capsys):
    assert main(["--help"]) == 0
    assert "Exit codes: 0 done; 2 a mistake" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "position", "word"), [("enco des", 1, "describe"), ("enco fit --boo", 2, "--bootstrap")]
)
def test_completion(typed, position, word):
    program = [sys.executable, "-c", "import sys; from enco.cli import main; sys.exit(main())"]
    asked = {"_ENCO_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(position)}
    done = subprocess.run(program, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert word in done.stdout.split()


def test_describe_as_json(table, capsys):
    assert main(["describe", str(table), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["variables"][1] == {"name": "X2", "kind": "categorical", "levels": 4, "context": False}
    assert content["regimes"] == [
        {"label": None, "targets": [], "unknown": False, "rows": 20},
        {"label": None, "targets": ["X2"], "unknown": False, "rows": 10},
    ]
    assert any("never intervened on" in warning for warning in content["warnings"])
