"""Exports: what is written is read back by networkx and by our own readers; awkward names survive or are refused."""

import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from enco.cli import main
from enco.data import InterventionalData
from enco.errors import EncoError, GraphError, MissingPackageError, SettingsError
from enco.exports import FORMATS, export, to_bif, to_causallearn, to_dot, to_dowhy, to_gml, to_graphml, to_pgmpy
from enco.io import read_graph
from enco.result import Result
from enco.result.evidence import Evidence
from enco.simulate import parse_bif

AWKWARD = (
    "plain",
    "two words",
    'with "quotes"',
    "<script>&amp;",
    "back\\slash",
    "\N{GREEK SMALL LETTER GAMMA}\u2603",
    "a,b;c",
    "7",
)


def made(names, edges):
    rows = np.arange(len(names) * 6).reshape(6, -1) % 2
    data = InterventionalData.from_environments([rows, rows], [None, 0], names=list(names))
    adjacency = np.zeros((len(names), len(names)), np.uint8)
    for cause, effect in edges:
        adjacency[cause, effect] = 1
    parameters = np.where(adjacency > 0, 3.0, -3.0)
    return Result(
        variables=data.names,
        adjacency=adjacency,
        adjacency_raw=adjacency,
        gamma=parameters,
        theta=parameters - parameters.T,
        order=data.names,
        order_report={"removed": []},
        evidence=Evidence.of(data),
        history=pd.DataFrame({"epoch": []}),
        settings={},
    )


@pytest.fixture
def result():
    return made(AWKWARD, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (5, 6)])


def edges_of(result):
    return {(result.variables[cause], result.variables[effect]) for cause, effect in np.argwhere(result.adjacency)}


@pytest.mark.parametrize(("write", "read"), [(to_graphml, nx.parse_graphml), (to_gml, nx.parse_gml)])
def test_networkx_reads_it_back(write, read, result):
    graph = read(write(result))
    assert tuple(graph.nodes) == AWKWARD
    assert set(graph.edges) == edges_of(result)
    table = result.to_frame()
    for row in table.itertuples():
        known = graph.edges[row.cause, row.effect]
        assert known["probability"] == pytest.approx(row.probability)
        assert int(known["rows"]) == row.rows
        assert bool(known["adjacent_intervention"]) == row.adjacent_intervention


def test_dowhy_gets_gml_on_one_line(result):
    text = to_dowhy(result)
    assert "\n" not in text
    graph = nx.parse_gml(text)
    assert (tuple(graph.nodes), set(graph.edges)) == (AWKWARD, edges_of(result))


def test_edge_list_is_a_graph_file(result, tmp_path):
    export(result, tmp_path / "edges.csv")
    _, adjacency = read_graph(tmp_path / "edges.csv", names=AWKWARD)
    np.testing.assert_array_equal(adjacency, result.adjacency)


def test_dot_quotes_names():
    text = to_dot(made(('say "hi"', "back\\slash", "two\nlines"), [(0, 1)]))
    assert '  "say \\"hi\\"" -> "back\\\\slash" [probability=' in text
    assert '  "two\\nlines";\n' in text


def test_bif_holds_the_structure():
    names = ("plain", "two words", "a,b;c", "\N{GREEK SMALL LETTER GAMMA}")
    wanted = made(names, [(0, 2), (1, 2), (3, 2), (0, 1)])
    model = parse_bif(to_bif(wanted))
    assert model.observed_names == names
    np.testing.assert_array_equal(model.adjacency, wanted.adjacency)


def test_what_a_format_cannot_hold_is_refused(result):
    with pytest.raises(GraphError, match="BIF cannot hold the variable name"):
        to_bif(result)
    with pytest.raises(GraphError, match="GraphML cannot hold the control character"):
        to_graphml(made(("A\x01", "B"), []))
    crowded = made([f"X{number}" for number in range(14)], [(cause, 13) for cause in range(13)])
    with pytest.raises(GraphError, match="'X13' has 13 parents"):
        to_bif(crowded)


def test_format_and_suffix(result, tmp_path):
    for name in FORMATS:
        simple = made(("A", "B"), [(0, 1)])
        export(simple, tmp_path / f"graph.{name}")
        export(simple, tmp_path / f"{name}.txt", format=name)
        assert (tmp_path / f"graph.{name}").read_text() == (tmp_path / f"{name}.txt").read_text()
    with pytest.raises(SettingsError, match=r"file 'graph\.xyz': choose from graphml"):
        export(result, tmp_path / "graph.xyz")
    with pytest.raises(SettingsError, match="format 'svg'"):
        export(result, tmp_path / "graph.gml", format="svg")
    with pytest.raises(EncoError, match="exists already"):
        export(result, tmp_path / "graph.gml")


@pytest.mark.parametrize(("convert", "module", "extra"), [
    (to_causallearn, "causallearn.graph.Edge", "packages"), (to_pgmpy, "pgmpy.base", "bif"),
])  # fmt: skip
def test_a_missing_package_is_named(convert, module, extra, result, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match=rf"pip install 'enco\[{extra}\]'"):
        convert(result)


def test_the_command(tmp_path, capsys):
    made(("A", "B"), [(0, 1)]).save(tmp_path / "result")
    out = tmp_path / "graph.graphml"
    assert main(["export", str(tmp_path / "result"), "--out", str(out)]) == 0
    assert "2 variables, 1 edges" in capsys.readouterr().out
    assert set(nx.read_graphml(out).edges) == {("A", "B")}
    assert main(["export", str(tmp_path / "result"), "--out", str(out), "--format", "gml"]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "result"), "--out", str(out), "--format", "gml", "--force"]) == 0
    assert set(nx.read_gml(out).edges) == {("A", "B")}
    assert main(["export", str(tmp_path), "--out", str(tmp_path / "a.dot")]) == 2
    assert "graph.json" in capsys.readouterr().err
