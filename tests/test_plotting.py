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


def lines_of(ax):
    """Width and colour of every arrow, by the names at its ends."""
    name_at = {text.get_position(): text.get_text() for text in ax.texts}
    return {
        tuple(name_at[end] for end in arrow._posA_posB): (arrow.get_linewidth(), arrow.get_edgecolor()[:3])
        for arrow in ax.patches
        if isinstance(arrow, FancyArrowPatch)
    }


def with_numbers():
    """A chain with edges of different probabilities, and of frequencies in the opposite order."""
    result = make_result([("a", "b"), ("b", "c"), ("c", "d")])
    gamma, frequency = np.full((4, 4), -9.0), np.zeros((4, 4))
    for cause, (level, share) in enumerate(((3.0, 0.2), (1.0, 0.5), (-1.0, 1.0))):
        gamma[cause, cause + 1], frequency[cause, cause + 1] = level, share
    return replace(result, gamma=gamma, theta=np.full((4, 4), 9.0), frequency=frequency)


def darkness(colour):
    return -np.dot(colour, (0.2126, 0.7152, 0.0722))


@pytest.mark.parametrize(("by", "words", "weakest_first"), [
    ("probability", "probability", ["cd", "bc", "ab"]), ("frequency", "frequency over refits", ["ab", "bc", "cd"]),
])  # fmt: skip
def test_surer_edges_are_wider_and_darker(by, words, weakest_first):
    ax = draw_graph(with_numbers(), by=by)
    lines = lines_of(ax)
    widths, colours = zip(*(lines[tuple(pair)] for pair in weakest_first), strict=True)
    assert (np.diff(widths) > 0.1).all()
    assert (np.diff([darkness(colour) for colour in colours]) > 0.02).all()  # in greyscale too
    (bar,) = (axes for axes in ax.figure.axes if axes is not ax)
    assert bar.get_ylabel() == words
    ax.figure.canvas.draw()


def test_compared_with_the_truth_only_the_width_says_how_sure():
    result = with_numbers()
    truth = result.adjacency.copy()
    truth[1, 2], truth[0, 3] = 0, 1
    ax = draw_graph(result, truth)
    lines = lines_of(ax)
    assert lines["a", "b"][0] > lines["b", "c"][0] > lines["c", "d"][0]
    assert lines["a", "b"][1] == lines["c", "d"][1] != lines["b", "c"][1]
    assert ax.get_legend().get_title().get_text() == "wider lines: higher probability"
    assert ax.figure.axes == [ax]  # colours say something else
    assert "frequency" in draw_graph(result, truth, by="frequency").get_legend().get_title().get_text()


def test_targets_of_interventions_have_another_outline():
    plain = draw_graph(with_numbers())
    outline = {text.get_text(): text.get_bbox_patch().get_edgecolor() for text in plain.texts}
    assert len(set(outline.values())) == 1
    table = pd.DataFrame({"target": ["b", "d", "b", ""]})  # of the last regime, nothing is known
    ax = draw_graph(replace(with_numbers(), interventions=table))
    boxes = {text.get_text(): text.get_bbox_patch() for text in ax.texts}
    marked = {name for name, box in boxes.items() if box.get_edgecolor() != outline[name]}
    assert marked == {name for name, box in boxes.items() if box.get_linewidth() > 2} == {"b", "d"}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["target of an intervention"]
    unknown = replace(with_numbers(), interventions=table[table["target"] == ""])
    assert draw_graph(unknown).get_legend() is None


def test_the_legend_has_room_for_everything():
    scores = np.full((4, 4), np.nan)
    scores[0, 3] = scores[3, 0] = 0.9
    table = pd.DataFrame({"target": ["b"]})
    settings = {"confounder_threshold": 0.4}
    result = replace(with_numbers(), interventions=table, confounder_scores=scores, settings=settings)
    for truth in (None, result.adjacency):
        ax = draw_graph(result, truth)
        ax.figure.canvas.draw()  # warns if there is no room
        box, whole = ax.get_legend().get_window_extent(), ax.figure.bbox
        assert box.x0 >= whole.x0
        assert box.x1 <= whole.x1
        assert box.y0 >= whole.y0


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
