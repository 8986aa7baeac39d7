"""Layered drawings: causes above effects, nothing on top of anything else, and few crossings."""

import numpy as np
import pytest

from enco.errors import GraphError
from enco.graphs.layered_layout import layered_layout


def random_dag(seed, n=30, density=0.1):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    return np.triu(rng.random((n, n)) < density, 1)[np.ix_(order, order)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("widest", [None, 4])
def test_causes_are_above_effects_and_nothing_overlaps(seed, widest):
    adjacency = random_dag(seed)
    layout = layered_layout(adjacency, widest=widest)
    cause, effect = np.nonzero(adjacency)
    assert (layout.y[cause] < layout.y[effect]).all()
    for row in np.unique(layout.y):
        assert (np.diff(np.sort(layout.x[layout.y == row])) > 1 - 1e-9).all()
    if widest is not None:
        joined = adjacency.any(axis=0) | adjacency.any(axis=1)
        assert np.unique(layout.y[joined], return_counts=True)[1].max() <= widest


def test_bends_lie_in_the_skipped_rows():
    chain = np.diag(np.ones(4, int), 1)
    chain[0, 4] = 1
    layout = layered_layout(chain)
    (points,) = layout.bends.values()
    assert list(layout.bends) == [(0, 4)]
    assert [y for _, y in points] == [1.0, 2.0, 3.0]
    for x, y in points:  # beside the variables of those rows, not behind them
        assert abs(x - layout.x[int(y)]) > 0.5


def test_a_tree_is_drawn_without_crossings():
    parent = [(child - 1) // 2 for child in range(1, 15)]
    tree = np.zeros((15, 15), int)
    tree[parent, range(1, 15)] = 1
    rng = np.random.default_rng(0)
    order = rng.permutation(15)
    layout = layered_layout(tree[np.ix_(order, order)])
    place = np.argsort(order)
    segments = [(place[one], place[child]) for child, one in enumerate(parent, start=1)]
    for first in segments:
        for second in segments:
            if layout.y[first[0]] == layout.y[second[0]] and layout.x[first[0]] < layout.x[second[0]]:
                assert layout.x[first[1]] < layout.x[second[1]]


def test_variables_without_edges_come_last():
    adjacency = np.zeros((6, 6), int)
    adjacency[4, 2] = 1
    layout = layered_layout(adjacency)
    assert layout.y[[4, 2]].tolist() == [0.0, 1.0]
    assert (layout.y[[0, 1, 3, 5]] >= 2).all()
    assert len(set(zip(layout.x, layout.y, strict=True))) == 6


def test_no_edges_at_all():
    layout = layered_layout(np.zeros((5, 5), int))
    assert len(set(zip(layout.x, layout.y, strict=True))) == 5


def test_a_cycle_is_refused():
    with pytest.raises(GraphError, match="cycle"):
        layered_layout([[0, 1], [1, 0]])
