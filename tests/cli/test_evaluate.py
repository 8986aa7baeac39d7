import json

import numpy as np
import pytest

from enco.cli import main

CHAIN = {"variables": ["a", "b", "c"], "adjacency": [[0, 1, 0], [0, 0, 1], [0, 0, 0]]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.json").write_text(json.dumps(CHAIN))
    return tmp_path


def scores(capsys, prediction, truth="truth.json"):
    assert main(["evaluate", prediction, truth, "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def test_a_perfect_prediction(folder, capsys):
    result = scores(capsys, "truth.json")
    assert result["shd"] == result["sid"] == 0
    assert result["edge_f1"] == result["orientation_accuracy"] == 1.0


def test_table(folder, capsys):
    assert main(["evaluate", "truth.json", "truth.json"]) == 0
    rows = dict(line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert rows["SHD"] == "0"
    assert rows["edge F1"] == "1.000"
    assert rows["acyclic"] == "yes"


def test_variables_are_matched_by_name(folder, capsys):
    shuffled = {
        "variables": ["c", "a", "b"],
        "adjacency": [[0, 0, 0], [0, 0, 1], [1, 0, 0]],
        "edge_probability": [[0, 0.1, 0.1], [0.2, 0, 0.9], [0.8, 0.1, 0]],
        "confounded_pairs": [["c", "a"]],
    }
    (folder / "prediction.json").write_text(json.dumps(shuffled))
    (folder / "truth.json").write_text(json.dumps({**CHAIN, "confounded_pairs": [["a", "c"], ["a", "b"]]}))
    result = scores(capsys, "prediction.json")
    assert result["shd"] == 0
    assert result["average_precision"] == 1.0
    assert (result["confounder_precision"], result["confounder_recall"]) == (1.0, 0.5)


def test_matrix_and_edge_list_as_csv(folder, capsys):
    (folder / "matrix.csv").write_text(",b,a,c\nb,0,0,1\na,1,0,0\nc,0,0,0\n")
    assert scores(capsys, "matrix.csv")["shd"] == 0
    (folder / "edges.csv").write_text("cause,effect\na,b\n")  # c has no edge, so the list does not name it
    result = scores(capsys, "edges.csv")
    assert (result["shd"], result["variables"]) == (1, 3)
    assert scores(capsys, "truth.json", "edges.csv")["shd"] == 1


def test_truth_from_npz(folder, capsys):
    np.savez("named.npz", adj_matrix=np.array(CHAIN["adjacency"])[::-1, ::-1], names=np.array(["c", "b", "a"]))
    assert scores(capsys, "truth.json", "named.npz")["shd"] == 0
    np.savez("plain.npz", adj_matrix=np.array(CHAIN["adjacency"]), confounded_pairs=np.array([[0, 2]]))
    assert scores(capsys, "truth.json", "plain.npz")["shd"] == 0
    assert scores(capsys, "plain.npz", "plain.npz")["confounder_recall"] == 1.0


def test_a_folder_stands_for_its_graph(folder, capsys):
    (folder / "run").mkdir()
    (folder / "run" / "graph.json").write_text(json.dumps(CHAIN))
    assert scores(capsys, "run")["shd"] == 0


def test_a_cyclic_prediction_has_no_sid(folder, capsys):
    (folder / "cyclic.json").write_text(json.dumps({**CHAIN, "adjacency": [[0, 1, 0], [0, 0, 1], [1, 0, 0]]}))
    result = scores(capsys, "cyclic.json")
    assert result["acyclic"] is False
    assert "sid" not in result
    assert main(["evaluate", "cyclic.json", "truth.json"]) == 0
    assert "has a cycle" in capsys.readouterr().out


def test_undefined_scores_are_null(folder, capsys):
    (folder / "empty.json").write_text(json.dumps({**CHAIN, "adjacency": [[0] * 3] * 3}))
    assert scores(capsys, "empty.json")["orientation_accuracy"] is None
    assert main(["evaluate", "empty.json", "truth.json"]) == 0
    assert "orientation accuracy      -" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.json", None, "missing.json: there is no such file"),
        ("a.json", "{", "a.json"),
        ("a.json", "[1, 2]", "a.json"),
        ("a.json", json.dumps({"variables": ["a"]}), "adjacency"),
        ("a.json", json.dumps({**CHAIN, "variables": ["a", "b", "x"]}), "variables differ"),
        ("a.json", json.dumps({"variables": ["a", "b"], "adjacency": [[0, 1], [0, 0]]}), "variables differ"),
        ("a.json", json.dumps({**CHAIN, "adjacency": [[0, 1], [0, 0], [0, 0]]}), "square"),
        ("a.json", json.dumps({**CHAIN, "adjacency": [[0, 0.4, 0]] * 3}), "0 and 1"),
        ("a.json", json.dumps({**CHAIN, "edge_probability": [[0, 1]]}), "'edge_probability'"),
        ("a.json", json.dumps({**CHAIN, "edge_probability": "high"}), "'edge_probability'"),
        ("a.json", json.dumps({**CHAIN, "edge_probability": [[10**400] * 3] * 3}), "'edge_probability'"),
        ("a.json", json.dumps({**CHAIN, "edge_probability": [[np.inf] * 3] * 3}), "'edge_probability'"),
        ("a.json", json.dumps({**CHAIN, "confounded_pairs": [["a", "a"]]}), "'confounded_pairs'"),
        ("a.json", json.dumps({**CHAIN, "confounded_pairs": [["a", "z"]]}), "'confounded_pairs'"),
        ("a.json", json.dumps({**CHAIN, "confounded_pairs": [["a", {}]]}), "'confounded_pairs'"),
        ("a.json", json.dumps({**CHAIN, "confounded_pairs": "a-b"}), "'confounded_pairs'"),
        ("a.csv", "a,b\n1,2,3\n", "a.csv"),
        ("a.npz", "not a zip file", "a.npz"),
        ("a.txt", "", "cannot read a graph"),
    ],
)
def test_mistakes(folder, capsys, name, content, message):
    if content is not None:
        (folder / name).write_text(content)
    assert main(["evaluate", name, "truth.json"]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_graphs_of_different_size_without_names(folder, capsys):
    np.savez("small.npz", adj_matrix=np.zeros((2, 2), dtype=int))
    assert main(["evaluate", "small.npz", "truth.json"]) == 2
    assert "2 x 2 and the true graph 3 x 3" in capsys.readouterr().err


def test_missing_argument(capsys):
    assert main(["evaluate", "only.json"]) == 2
    assert capsys.readouterr().err.startswith("error: Missing argument")


REFITS = "cause,effect,frequency,reverse_frequency,in_graph,in_consensus\n"


def test_of_the_table_of_refits_only_edges_of_the_graph_count(folder, capsys):
    (folder / "stability.csv").write_text(
        f"{REFITS}a,b,0.9,0.1,True,True\nb,c,0.8,0.0,True,True\nc,a,0.2,0.0,False,False\n"
    )
    result = scores(capsys, "stability.csv")
    assert (result["shd"], result["average_precision"]) == (0, 1.0)


@pytest.mark.parametrize(
    ("row", "word"), [("a,b,often,0,True,True", "'frequency'"), ("a,b,0.5,0,maybe,True", "in_graph")]
)
def test_a_damaged_table_of_refits(folder, capsys, row, word):
    (folder / "stability.csv").write_text(f"{REFITS}{row}\n")
    assert main(["evaluate", "stability.csv", "truth.json"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert word in line
