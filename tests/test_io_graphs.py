"""Graphs from npz, JSON and CSV files; A[i, j] = 1 means i -> j."""

import json
from pathlib import Path

import numpy as np
import pytest

from enco.errors import EncoError, FileFormatError, GraphError
from enco.io import read_graph

NAMES = ("A", "B", "C")
CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)


def write(folder: Path, form: str) -> Path:
    path = folder / f"graph.{form.split()[0]}"
    if form == "npz":
        np.savez(path, adj_matrix=CHAIN.astype(np.int64), names=list(NAMES))
    elif form == "json":
        path.write_text(json.dumps({"variables": NAMES, "adjacency": CHAIN.astype(int).tolist(), "seconds": 1}))
    elif form == "csv matrix":
        path.write_text(",A,B,C\nA,0,1,0\nB,0,0,1\nC,0,0,0\n")
    else:
        path.write_text("probability,cause,effect\n0.9,A,B\n0.8,B,C\n")
    return path


@pytest.mark.parametrize("form", ["npz", "json", "csv matrix", "csv edges"])
def test_every_form(form: str, tmp_path: Path) -> None:
    names, adjacency = read_graph(write(tmp_path, form))
    assert names == NAMES
    assert adjacency.dtype == np.bool_
    assert np.array_equal(adjacency, CHAIN)


@pytest.mark.parametrize("form", ["npz", "json", "csv matrix", "csv edges"])
def test_variables_in_another_order(form: str, tmp_path: Path) -> None:
    names, adjacency = read_graph(write(tmp_path, form), names=["C", "A", "B"])
    assert names == ("C", "A", "B")
    assert adjacency.astype(int).tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]


def test_edges_may_leave_variables_out(tmp_path: Path) -> None:
    _, adjacency = read_graph(write(tmp_path, "csv edges"), names=["D", "A", "B", "C"])
    assert adjacency.sum() == 2
    assert not adjacency[0].any()
    with pytest.raises(GraphError, match=r"unknown \['C'\]"):
        read_graph(write(tmp_path, "csv edges"), names=["A", "B"])
    with pytest.raises(GraphError, match=r"missing \['D'\]"):
        read_graph(write(tmp_path, "json"), names=["A", "B", "C", "D"])


def test_npz_without_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", adj_matrix=CHAIN)
    names, adjacency = read_graph(tmp_path / "a.npz")
    assert names is None
    assert np.array_equal(adjacency, CHAIN)
    with pytest.raises(GraphError, match="has 3 variables, not 2"):
        read_graph(tmp_path / "a.npz", names=["A", "B"])


def test_cyclic_graphs_are_graphs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("cause,effect\nA,B\nB,A\n")
    assert read_graph(tmp_path / "a.csv")[1].sum() == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "cannot read a graph from a '.txt' file; use .npz, .json or .csv"),
        ("a.npz", "", "not a readable npz file"),
        ("a.json", "", "expected JSON with the keys 'variables' and 'adjacency'"),
        ("a.json", "[]", "expected JSON with the keys"),
        ("a.json", "[" * 100_000, "expected JSON with the keys"),
        ("a.json", '{"variables": ["A"]}', "key 'adjacency' is missing"),
        ("a.json", '{"variables": ["A"], "adjacency": [[0, 1]]}', r"shape \(1, 2\), it must be square"),
        ("a.json", '{"variables": ["A", "B"], "adjacency": [[0, 1], [0]]}', "expected JSON"),
        ("a.json", '{"variables": ["A"], "adjacency": [[0, 1], [0, 0]]}', "1 names but 2 rows"),
        ("a.json", '{"variables": ["A", "A"], "adjacency": [[0, 1], [0, 0]]}', "names must be unique"),
        ("a.json", '{"variables": ["A", "B"], "adjacency": [[0, 0.7], [0, 0]]}', "apply a threshold first"),
        (
            "a.json",
            '{"variables": ["A", "B"], "adjacency": [[0, "x"], [0, 0]]}',
            "something else than 0 and 1",
        ),
        (
            "a.json",
            '{"variables": ["A", "B"], "adjacency": [[0, 1], [0, 1]]}',
            "'B' points at itself; remove",
        ),
        ("a.csv", "", "the file is empty"),
        ("a.csv", ",A,B\nA,0,1\n", "expected a square matrix"),
        ("a.csv", ",A,B\nA,0,1\nB,0\n", "expected a square matrix"),
        ("a.csv", ",A,B\nB,0,1\nA,0,0\n", "first column are not those in the first row"),
        ("a.csv", ",A,B\nA,0,x\nB,0,0\n", "something else than 0 and 1"),
        ("a.csv", "cause,effect\nA\n", "edge 1 lacks its cause or its effect"),
        ("a.csv", "cause,effect\nA,B\nA, \n", "edge 2 lacks its cause or its effect"),
        ("a.csv", 'cause,effect\n"A,B\n', "not a readable CSV file"),
    ],
)
def test_bad_graphs(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(EncoError, match=message) as caught:
        read_graph(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_bad_npz_graphs(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", data_obs=CHAIN)
    with pytest.raises(FileFormatError, match="there is no array 'adj_matrix'"):
        read_graph(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", adj_matrix=CHAIN.astype(object))
    with pytest.raises(FileFormatError, match="never unpickled"):
        read_graph(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", adj_matrix=CHAIN, names=[1, 2, 3])
    with pytest.raises(FileFormatError, match="it must be 3 texts, one per row of adj_matrix"):
        read_graph(tmp_path / "c.npz")
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_graph(tmp_path / "d.npz")
    for names in (
        np.array([["A", "B", "C"]] * 3),
        np.array([["A"], ["B"], ["C"]]),
        np.array("A"),
        np.array(["A", "B"]),
    ):
        np.savez(tmp_path / "e.npz", adj_matrix=CHAIN, names=names)
        with pytest.raises(
            FileFormatError, match=r"names has the shape .* it must be 3 texts, one per row of adj_matrix"
        ):
            read_graph(tmp_path / "e.npz")


def test_names_that_a_spreadsheet_would_run_come_back_as_they_were(tmp_path):
    """`edges.csv` has an apostrophe in front of them."""
    file = tmp_path / "edges.csv"
    file.write_text("cause,effect\n'=1+1,gene\ngene,''quoted'\n")
    names, adjacency = read_graph(file, names=["=1+1", "gene", "'quoted'"])
    assert list(names) == ["=1+1", "gene", "'quoted'"]
    assert adjacency.astype(int).tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
