import numpy as np
import pytest

from enco.cli import main
from enco.result import Result


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("a.npz", data_obs=rng.integers(3, size=(60, 3)), data_int=rng.integers(3, size=(3, 20, 3)))
    return "a.npz"


def test_writes_a_result(data, capsys):
    settings = ["--set", "max_epochs=1", "--set", "sparsity=0.5", "--seed", "4"]
    command = ["baseline", "sdi", data, "--out", "found", *settings]
    assert main(command) == 0
    assert "result  found" in capsys.readouterr().out
    result = Result.load("found")
    assert (result.seed, result.settings["method"], result.settings["sparsity"]) == (4, "sdi", 0.5)
    assert main(command) == 2
    assert "found holds a finished fit" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gis"], "there is no method 'gis'; choose from enco, "),
        (["sdi", "--set", "sparsity"], "--set needs NAME=VALUE"),
        (["sdi", "--set", "sparsity=much"], "setting sparsity must be a number, got 'much'"),
        (["sdi", "--set", "colour=1"], "method 'sdi' has no setting 'colour'"),
        (["dcdi-dsf"], "method 'dcdi-dsf' cannot handle categorical variables"),
    ],
)
def test_mistakes(data, capsys, arguments, message):
    method, *rest = arguments
    assert main(["baseline", method, data, "--out", "found", *rest]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert message in printed
    assert printed.count("\n") == 1
