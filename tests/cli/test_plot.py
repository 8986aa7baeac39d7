"""`enco plot`: pictures by kind and format, and every mistake a user can make."""

import pytest

from enco.cli import main
from enco.result.example import small_data, small_result

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_result().save("result")
    small_data().to_csv("data.csv")
    (tmp_path / "truth.csv").write_text("cause,effect\nC,B\nA,B\n")
    return tmp_path


@pytest.mark.parametrize("ending", STARTS)
def test_formats(folder, capsys, ending):
    assert main(["plot", "result", "--truth", "truth.csv", "--out", f"a.{ending}"]) == 0
    assert capsys.readouterr().out == f"figure  a.{ending}\n"
    assert (folder / f"a.{ending}").read_bytes().startswith(STARTS[ending])


def test_data_and_replacement(folder, capsys):
    arguments = ["plot", "result", "--kind", "interventions", "--data", "data.csv", "--out", "a.png"]
    assert main(arguments) == 0
    before = (folder / "a.png").read_bytes()
    assert main(arguments) == 2
    assert "exists already" in capsys.readouterr().err
    assert (folder / "a.png").read_bytes() == before
    assert main([*arguments, "--force", "--dpi", "60"]) == 0
    assert (folder / "a.png").read_bytes() != before


def test_help_names_every_kind(capsys):
    from enco.plotting import KINDS

    assert main(["plot", "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.replace("\n", " ").split()).replace("- ", "-")
    for kind in KINDS:
        assert kind in printed
    assert "enco plot result --out graph.png" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["result", "--out", "a.gif"], "ends in .png, .svg, .pdf"),
        (["nowhere", "--out", "a.png"], "nowhere: there is no such folder"),
        (["result", "--out", "no/a.png"], "the folder"),
        (["result", "--out", "a.png", "--kind", "pie"], "there is no figure 'pie': choose from graph,"),
        (["result", "--out", "a.png", "--kind", "interventions"], "needs the data (data=..., --data FILE)"),
        (["result", "--out", "a.png", "--kind", "existence", "--truth", "truth.csv"], "has no use for truth"),
        (["result", "--out", "a.png", "--truth", "no.csv"], "no.csv: there is no such file"),
    ],
)
def test_mistakes(folder, capsys, arguments, message):
    assert main(["plot", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert message in printed.err
    assert not list(folder.glob("a.*"))
