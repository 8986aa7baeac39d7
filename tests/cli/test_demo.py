import json

import pytest

from enco.cli import main
from enco.io import read_data
from enco.result import Result
from enco.settings import Settings


def test_demo_runs_and_can_be_repeated(tmp_path, capsys, monkeypatch):
    quick = Settings(max_epochs=1, first_fit_steps=30, graph_steps=10, orientation_passes=1, orientation_epochs=0)
    monkeypatch.setattr(Settings, "parse", lambda **texts: quick)
    folder = tmp_path / "new" / "demo"
    for _ in range(2):
        assert main(["demo", "--out", str(folder)]) == 0
    printed = capsys.readouterr()
    for words in ("25 variables", "cost    about", " -> ", "SHD", "SID", f"graph   {folder / 'graph.png'}"):
        assert words in printed.out
    assert read_data(folder / "data.npz").n_variables == 25
    assert len(Result.load(folder).variables) == 25
    assert "X25" in (folder / "report.html").read_text()
    assert (folder / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert not list(folder.glob(".*"))


@pytest.mark.slow
def test_demo_finds_the_graph(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path), str(tmp_path / "data.npz"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shd"] <= 1


def test_a_file_in_the_way(tmp_path, capsys):
    (tmp_path / "demo").write_text("")
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 2
    assert "it is a file, choose a folder with --out" in capsys.readouterr().err
