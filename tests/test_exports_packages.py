"""Exports as the real packages see them: `make packages` installs those and runs this file."""

import numpy as np
import pandas as pd
import pytest

from enco.data import InterventionalData
from enco.exports import to_bif, to_causallearn, to_dot, to_dowhy, to_pgmpy
from enco.result import Result
from enco.result.evidence import Evidence

pytestmark = [pytest.mark.packages, pytest.mark.filterwarnings("ignore")]

NAMES = ("rain", "sprinkler", "wet_grass", "slippery", "alone")
EDGES = {("rain", "sprinkler"), ("rain", "wet_grass"), ("sprinkler", "wet_grass"), ("wet_grass", "slippery")}


@pytest.fixture
def result():
    rows = np.arange(30).reshape(6, 5) % 2
    data = InterventionalData.from_environments([rows, rows], [None, 0], names=list(NAMES))
    adjacency = np.array([[(cause, effect) in EDGES for effect in NAMES] for cause in NAMES], np.uint8)
    return Result(
        variables=NAMES, adjacency=adjacency, adjacency_raw=adjacency, gamma=adjacency * 3.0,
        theta=3.0 * adjacency - 3.0 * adjacency.T, order=NAMES, order_report={"removed": []},
        evidence=Evidence.of(data), history=pd.DataFrame({"epoch": []}), settings={},
    )  # fmt: skip


def test_causal_learn(result):
    graph = to_causallearn(result)
    assert tuple(graph.get_node_names()) == NAMES
    found = {(str(edge.get_node1()), str(edge.get_node2())) for edge in graph.get_graph_edges()}
    assert found == EDGES
    assert all(str(edge).count("-->") == 1 for edge in graph.get_graph_edges())
    rain, slippery = graph.get_node("rain"), graph.get_node("slippery")
    assert graph.is_ancestor_of(rain, slippery)
    assert not graph.is_ancestor_of(slippery, rain)


def test_pgmpy(result):
    graph = to_pgmpy(result)
    assert tuple(graph.nodes()) == NAMES
    assert set(graph.edges()) == EDGES
    assert graph.is_dconnected("rain", "slippery")
    assert not graph.is_dconnected("rain", "slippery", observed=["wet_grass"])


def test_pgmpy_reads_bif(result):
    from pgmpy.readwrite import BIFReader

    model = BIFReader(string=to_bif(result)).get_model()
    assert set(model.nodes()) == set(NAMES)
    assert set(model.edges()) == EDGES
    assert model.check_model()


def test_dowhy(result):
    from dowhy import CausalModel

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50, 5)), columns=list(NAMES))
    model = CausalModel(data=table, treatment="sprinkler", outcome="slippery", graph=to_dowhy(result))
    assert set(model._graph._graph.edges()) >= EDGES
    estimand = model.identify_effect(proceed_when_unidentifiable=True)
    assert estimand.get_backdoor_variables() == ["rain"]


def test_pydot_reads_dot(result):
    import pydot

    (graph,) = pydot.graph_from_dot_data(to_dot(result))
    assert {(edge.get_source().strip('"'), edge.get_destination().strip('"')) for edge in graph.get_edges()} == EDGES
    assert [node.get_name().strip('"') for node in graph.get_nodes()] == list(NAMES)
