from enco.cli import main
from enco.io import read_data, read_graph


def test_demo_runs_and_can_be_repeated(tmp_path, capsys):
    folder = tmp_path / "new" / "demo"
    for _ in range(2):
        assert main(["demo", "--out", str(folder)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for words in ("25 variables", "do(X1)", "SHD", "SID"):
        assert words in printed.out
    assert read_data(folder / "data.npz").n_variables == 25
    names, adjacency = read_graph(folder / "guess.json")
    assert len(names) == len(adjacency) == 25


def test_a_file_in_the_way(tmp_path, capsys):
    (tmp_path / "demo").write_text("")
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 2
    assert "choose another folder" in capsys.readouterr().err
