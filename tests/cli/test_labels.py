"""Commands on a screen whose labels are reagents, with a column that names the batch."""

import json

import numpy as np
import pandas as pd
import pytest

from enco.cli import main
from enco.io import read_data
from enco.result import Result

QUICK = ["--threads", "1", "--set", "max_epochs=3", "--set", "refine_steps=300", "--set", "fit_steps=50"]
DONE = {"": 500, "drug X": 100, "drug Y": 100, "C": 100}
SAID = ["--targets", "map.toml", "--context", "batch"]


def rows_of(label, n, rng):
    """A -> B -> C, where B is also different in the second of two batches."""
    batch = rng.integers(2, size=n)
    a = rng.normal(size=n) + (3.0 if label == "drug X" else 0.0)
    b = rng.normal(size=n) - 3.0 if label == "drug Y" else a + rng.normal(size=n) + 2.0 * batch
    c = rng.normal(size=n) + 4.0 if label == "C" else rng.normal(size=n) - b
    return pd.DataFrame({"A": a, "B": b, "C": c, "batch": batch, "perturbation": label})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screen")
    rng = np.random.default_rng(1)
    pd.concat([rows_of(label, n, rng) for label, n in DONE.items()]).to_csv(folder / "screen.csv", index=False)
    (folder / "map.toml").write_text('"drug X" = "unknown"\n"drug Y" = ["B"]\n')
    blocks = [rng.normal(size=(300, 4)) + rng.normal(size=4, scale=2.0 * (k > 0)) for k in range(5)]
    shifted = pd.DataFrame(np.vstack(blocks), columns=["A", "B", "C", "D"])
    shifted.assign(perturbation=np.repeat(["", *"ABCD"], 300)).to_csv(folder / "batches.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["fit", "screen.csv", *SAID, "--out", "result", *QUICK, "--report"]) == 0
        assert main(["fit", "batches.csv", "--out", "shifted", *QUICK]) == 0
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def test_describe(folder, capsys):
    assert main(["describe", "screen.csv", *SAID]) == 0
    printed = capsys.readouterr().out
    assert "variables      3 (3 continuous)\ncontext        batch\n" in printed
    assert "  drug X: unknown targets  100\n  drug Y: do(B)            100\n  do(C)                    100\n" in printed
    assert "not targeted   A\n" in printed  # the batch could not be
    assert "labels         the targets of 1 regime are not known and will be inferred: drug X" in printed
    assert main(["describe", "screen.csv", "--unknown-targets", "--context", "batch", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [it["name"] for it in content["variables"] if it["context"]] == ["batch"]
    assert [(it["label"], it["unknown"]) for it in content["regimes"]] == [
        (None, False),
        ("drug X", True),
        ("drug Y", True),
        ("C", True),
    ]


def test_fit_says_what_it_took_for_what(folder, capsys):
    assert main(["fit", "screen.csv", *SAID, "--out", "again", *QUICK]) == 0
    printed = capsys.readouterr().out
    assert "data    3 variables, 1 context column, 800 rows: 500 observational, 3 intervention regimes\n" in printed
    assert "pairs   6 of 6" in printed
    assert "labels  inferred targets: drug X: A\n" in printed
    result = Result.load("again")
    assert result.variables == ("A", "B", "C")
    assert result.target_probability.index.tolist() == ["drug X"]
    assert np.array_equal(result.gamma, Result.load("result").gamma)


def test_all_labels_may_be_unknown(folder):
    command = ["fit", "screen.csv", "--unknown-targets", "--context", "batch", "--out", "unknown", *QUICK]
    assert main(command) == 0
    table = Result.load("unknown").interventions
    assert table["inferred"].all()
    assert table["target"].tolist() == ["A", "B", "C"]


def test_a_fit_of_other_labels_is_not_resumed(folder, capsys):
    command = ["fit", "screen.csv", "--out", "result", "--resume", *QUICK]
    assert main([*command, *SAID]) == 0
    assert "there is nothing to resume" in capsys.readouterr().out
    for other in (["--unknown-targets", "--context", "batch"], ["--targets", "map.toml"]):
        assert main([*command, *other]) == 2
        assert "result" in capsys.readouterr().err


def test_refits_of_data_with_context(folder, capsys):
    assert main(["fit", "screen.csv", *SAID, "--out", "result", *QUICK, "--resume", "--bootstrap", "2"]) == 0
    assert "stable  2 of 2 edges in more than 90 % of 2 refits" in capsys.readouterr().out
    assert main(["fit", "batches.csv", "--regime-shift", "--out", "b", *QUICK, "--bootstrap", "1"]) == 0


def test_batches_are_named_before_the_fit_and_after_it(folder, capsys):
    sentence = "variables shift in most regimes in ways no graph explains: are the regimes batches?"
    assert main(["describe", "batches.csv"]) == 0
    assert sentence in capsys.readouterr().out
    assert main(["fit", "batches.csv", "--out", "c", *QUICK]) == 0
    assert capsys.readouterr().out.count(f"labels  {sentence}") == 2
    assert main(["fit", "batches.csv", "--out", "d", *QUICK, "--regime-shift", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["edges"] == content["unexplained_shifts"] == 0
    assert content["interventions"] == []


def test_a_regime_shift_of_categories_is_said_to_do_nothing(folder, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(3, size=(120, 2)), columns=["A", "B"])
    table.assign(perturbation=[""] * 100 + ["A"] * 20).to_csv("levels.csv", index=False)
    assert main(["fit", "levels.csv", "--regime-shift", "--out", "levels", *QUICK]) == 0
    assert "labels  regime_shift does nothing here: all variables are categorical" in capsys.readouterr().out


def test_check_lists_shifts_that_the_graph_does_not_explain(folder, capsys):
    assert main(["check", "--result", "shifted"]) == 0
    saved = capsys.readouterr().out
    found = Result.load("shifted").shifts
    assert len(found) >= 2
    assert saved.startswith(f"shifts that the graph does not explain: {len(found)}\n  in ")
    for part in ("  feedback: ", "  a wrong edge: ", "labels  variables shift in most regimes"):
        assert part in saved
    assert main(["check", "--result", "shifted", "batches.csv"]) == 0
    assert capsys.readouterr().out == saved  # the same data
    assert main(["check", "--result", "shifted", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["unexplained_shifts"] == found.to_dict("records")
    assert len(content["reasons"]) == 4
    assert main(["check", "--result", "result", "screen.csv", *SAID]) == 0
    assert capsys.readouterr().out.startswith("shifts that the graph does not explain: 0\n")


def test_check_of_data(folder, capsys):
    assert main(["check", "screen.csv", *SAID, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["variables"], content["context"], content["unknown"]) == (3, ["batch"], ["drug X"])
    assert content["untargeted"] == ["A"]


def test_page_and_pictures(folder, capsys):
    page = (folder / "result" / "report.html").read_text(encoding="utf-8")
    assert "<td>A (inferred)</td>" in page
    assert "Shifts that the graph does not explain" not in page
    assert main(["report", "shifted", "--data", "batches.csv", "--out", "shifted.html", "--force"]) == 0
    assert "Shifts that the graph does not explain" in (folder / "shifted.html").read_text(encoding="utf-8")
    command = ["plot", "result", "--kind", "interventions", "--data", "screen.csv", "--out", "x.png", "--force"]
    assert main([*command, *SAID]) == 0
    assert main([*command, "--targets", "map.toml"]) == 2
    assert "('batch'): give the data of this fit, with the same context columns" in capsys.readouterr().err


WRONG = {
    "no map": (["--targets", "none.toml"], "none.toml: there is no such file"),
    "no TOML": (["--targets", "screen.csv"], "this is no valid TOML"),
    "a label twice": (["--targets", "twice.toml"], "twice.toml: this is no valid TOML, or it maps a label twice"),
    "a strange entry": (["--targets", "strange.toml"], "the label 'drug X' is mapped to 3"),
    "no such label": (["--targets", "label.toml"], "the label 'drug Z' is mapped and does not occur in the data"),
    "no such variable": (["--targets", "variable.toml"], "mapped to 'Q', and there is no such variable"),
    "a label without meaning": ([], "there is no variable 'drug X'"),
    "no such column": ([*SAID, "--context", "plate"], "there is no variable 'plate'"),
    "context with targets": ([*SAID, "--context", "C"], "'C' is context and the target of an intervention"),
    "all context": ([*SAID, "--context", "A", "--context", "B", "--context", "C"], "context"),
}
MAPS = {
    "twice": '"drug X" = "unknown"\n"drug X" = ["A"]\n',
    "strange": '"drug X" = 3\n',
    "label": '"drug X" = "unknown"\n"drug Y" = "B"\n"drug Z" = "A"\n',
    "variable": '"drug X" = ["Q"]\n"drug Y" = "B"\n',
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("command", ["describe", "fit", "check"])
def test_mistakes(folder, capsys, command, options, message):
    for name, text in MAPS.items():
        (folder / f"{name}.toml").write_text(text)
    if command == "check" and "screen.csv" in options:
        pytest.skip("a name that does not end in .toml has a message of its own")
    out = ["--out", "wrong", "--force"] if command == "fit" else []
    assert main([command, "screen.csv", *options, *out]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_mistakes_of_check(folder, capsys):
    for words, message in (
        ([], "there is nothing to check"),
        (["screen.csv", "--targets", "A,B"], "is a .toml file that says what labels mean, not 'A,B'"),
        (["--result", "result", "--rows", "3"], "--rows applies to a model"),
        (["--result", "result", "screen.csv", "--unknown-targets"], "give the data of this fit"),
        (["--result", "nowhere"], "nowhere: there is no such folder"),
    ):
        assert main(["check", *words]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


@pytest.mark.parametrize("labels", [["drug"], ["drug", "other"]])
def test_unknown_reagents_that_do_nothing(tmp_path, capsys, monkeypatch, labels):
    """Nothing can be inferred from them, but it is said, and the fit goes on with observational rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(300 + 50 * len(labels), 3)), columns=["A", "B", "C"])
    rows.assign(perturbation=[""] * 300 + list(np.repeat(labels, 50))).to_csv("screen.csv", index=False)
    assert main(["fit", "screen.csv", "--unknown-targets", "--out", "out", *QUICK]) == 0
    assert "labels  no intervention had an effect: directions rest on observational rows" in capsys.readouterr().out
    result = Result.load("out")
    assert (result.interventions["target"] == "").all()
    assert read_data("screen.csv", targets="unknown").interventional[0].unknown
    result.report("page.html", data=read_data("screen.csv", targets="unknown"))
