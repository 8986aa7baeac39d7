"""The picture of a graph: every variable and edge is there, in the right colour, causes above effects."""

from dataclasses import replace

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.patches import ArrowStyle, FancyArrowPatch

from enco.errors import GraphError
from enco.plotting import draw_graph
from enco.result import Result
from enco.result.evidence import Evidence

NAMES = ("a", "b", "c", "d")


def make_result(edges):
    n = len(NAMES)
    adjacency = np.zeros((n, n), np.uint8)
    for cause, effect in edges:
        adjacency[NAMES.index(cause), NAMES.index(effect)] = 1
    return Result(
        variables=NAMES,
        adjacency=adjacency,
        adjacency_raw=adjacency,
        gamma=np.zeros((n, n)),
        theta=np.zeros((n, n)),
        order=NAMES,
        order_report={"components": [], "gap": 0.0, "removed": []},
        evidence=Evidence(*np.zeros((3, n, n), np.int64)),
        history=pd.DataFrame(),
        settings={},
    )


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def arrows_of(ax):
    """Ends and colour of every arrow, by the names at its ends."""
    name_at = {text.get_position(): text.get_text() for text in ax.texts}
    return {
        tuple(name_at[end] for end in arrow._posA_posB): to_hex(arrow.get_edgecolor())
        for arrow in ax.patches
        if isinstance(arrow, FancyArrowPatch)
    }


def test_every_edge_is_drawn_from_cause_to_effect():
    edges = {("c", "a"), ("a", "b"), ("c", "b"), ("d", "b")}
    ax = draw_graph(make_result(edges))
    assert set(arrows_of(ax)) == edges
    assert len(set(arrows_of(ax).values())) == 1
    assert ax.get_legend() is None
    height = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert height["c"] == height["d"] > height["a"] > height["b"]
    assert len({text.get_position() for text in ax.texts}) == 4
    ax.figure.canvas.draw()


def test_differences_from_the_truth_are_coloured():
    truth = make_result({("a", "b"), ("b", "c"), ("c", "d")}).adjacency
    ax = draw_graph(make_result({("a", "b"), ("b", "c"), ("a", "d")}), truth)
    colours = arrows_of(ax)
    assert set(colours) == {("a", "b"), ("b", "c"), ("a", "d"), ("c", "d")}
    assert colours["a", "b"] == colours["b", "c"]
    assert len(set(colours.values())) == 3
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["found (2)", "missed (1)", "found, but not in the true graph (1)"]


@pytest.mark.parametrize("edges", [set(), {("a", "b"), ("b", "c"), ("c", "d")}, {("a", "b"), ("a", "c"), ("a", "d")}])
def test_narrow_and_wide_graphs_have_room_for_the_legend(edges):
    result = make_result(edges)
    draw_graph(result, result.adjacency).figure.canvas.draw()  # warns if there is no room


def test_draws_where_told():
    _, ax = plt.subplots()
    assert draw_graph(make_result(set()), ax=ax) is ax
    assert len(ax.texts) == 4
    assert arrows_of(ax) == {}


def test_a_truth_of_another_size():
    with pytest.raises(GraphError, match="the true graph has 2 variables and the result 4"):
        draw_graph(make_result(set()), np.zeros((2, 2)))


def test_confounded_pairs_are_dashed_arrows_with_two_heads():
    scores = np.full((4, 4), np.nan)
    scores[0, 3] = scores[3, 0] = 0.9
    scores[1, 2] = scores[2, 1] = 0.1
    result = replace(make_result([("a", "b")]), confounder_scores=scores, settings={"confounder_threshold": 0.4})
    ax = draw_graph(result)
    two_headed = [arrow for arrow in ax.patches if isinstance(arrow, FancyArrowPatch) and arrow.get_linestyle() == "--"]
    assert len(two_headed) == 1
    assert isinstance(two_headed[0].get_arrowstyle(), ArrowStyle.CurveFilledAB)
    assert arrows_of(ax).keys() == {("a", "b"), ("a", "d")}
