"""`enco report` and `enco fit --report`: the page, and every mistake a user can make."""

import json

import numpy as np
import pytest

from enco import simulate
from enco.cli import main
from enco.result.example import small_data, small_result

QUICK = {
    "max_epochs": 1,
    "first_fit_steps": 20,
    "graph_steps": 5,
    "orientation_epochs": 0,
    "refine_rounds": 0,
    "hidden": 8,
}
SETTINGS = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_result().save("result")
    small_data().to_csv("data.csv")
    (tmp_path / "truth.csv").write_text("cause,effect\nC,B\nA,B\n")
    return tmp_path


def error_of(capsys, *arguments):
    assert main(list(arguments)) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_writes_a_page_beside_the_result(folder, capsys):
    assert main(["report", "result"]) == 0
    assert capsys.readouterr().out == "report  result/report.html\n"
    page = (folder / "result/report.html").read_text()
    assert "made without the data" in page
    assert "exists already" in error_of(capsys, "report", "result")
    assert (folder / "result/report.html").read_text() == page
    assert main(["report", "result", "--force", "--title", "Again"]) == 0
    assert "<h1>Again</h1>" in (folder / "result/report.html").read_text()


def test_truth_and_data(folder):
    assert main(["report", "result", "--truth", "truth.csv", "--data", "data.csv", "--out", "page.html"]) == 0
    page = (folder / "page.html").read_text()
    assert "1 right, 1 false, 1 missed" in page
    assert "verdict: " in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nowhere"], "nowhere: there is no such folder"),
        (["report", "result", "--truth", "no.csv"], "no.csv: there is no such file"),
        (["report", "result", "--data", "no.csv"], "no.csv: there is no such file"),
        (["report", "result", "--out", "no/page.html"], "the folder"),
        (["report", "result", "--data", "other.csv"], "different variables"),
        (["report", "result", "--truth", "strange.csv"], "the variables differ"),
    ],
)
def test_mistakes(folder, capsys, arguments, message):
    (folder / "other.csv").write_text("A,Z,perturbation\n1,0,\n0,1,\n")
    (folder / "strange.csv").write_text("cause,effect\nQ,A\n")
    assert message in error_of(capsys, *arguments)
    assert not (folder / "result/report.html").exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("variables", [1, 2, 3]),
        ("order", ["A", "A", "B"]),
        ("order_report", []),
        ("order_report", {"refined": [{"move": "fly"}]}),
        ("settings", 3),
        ("knowledge", None),
        ("seconds", "long"),
        ("adjacency", [[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
    ],
)
def test_a_damaged_result_is_one_line(folder, capsys, key, value):
    graph = json.loads((folder / "result/graph.json").read_text())
    (folder / "result/graph.json").write_text(json.dumps({**graph, key: value}))
    assert ("cycle" if key == "adjacency" else repr(key)) in error_of(capsys, "report", "result")


def test_fit_writes_the_page_when_asked(folder, capsys):
    rng = np.random.default_rng(0)
    simulate.categorical("chain", 3, rng, categories=2).dataset(80, 20, rng=rng).to_npz("data.npz")
    fit = ["fit", "data.npz", "--out", "fitted", "--threads", "1", *SETTINGS]
    assert main([*fit, "--report"]) == 0
    page = folder / "fitted/report.html"
    assert capsys.readouterr().out.endswith(f"report  {page.relative_to(folder)}\n")
    assert "verdict: " in page.read_text()  # the data were at hand
    # Killed between the result and its page, a fit continues with the page.
    page.unlink()
    assert main([*fit, "--resume", "--report"]) == 0
    assert "verdict: " in page.read_text()
    # A page of a result that is gone must not stay.
    assert main([*fit, "--force"]) == 0
    assert not page.exists()
    assert "report  " not in capsys.readouterr().out
    # A page that was there before is not ours to replace, and that is said before the work.
    (folder / "other").mkdir()
    (folder / "other/report.html").write_text("mine")
    assert "other/report.html exists already" in error_of(capsys, "fit", "data.npz", "--out", "other", "--report")
    assert (folder / "other/report.html").read_text() == "mine"
