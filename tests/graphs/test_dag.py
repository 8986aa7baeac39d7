import tracemalloc

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enco.errors import GraphError
from enco.graphs.dag import (
    Relation,
    ancestors,
    check_adjacency,
    has_path,
    is_acyclic,
    relations,
    strongly_connected_components,
    topological_order,
)
from enco.graphs.structures import full, random

repeatable = settings(derandomize=True, deadline=None, max_examples=150)


@st.composite
def digraphs(draw, max_size=9):
    size = draw(st.integers(1, max_size))
    bits = draw(st.lists(st.booleans(), min_size=size * size, max_size=size * size))
    adjacency = np.array(bits, dtype=bool).reshape(size, size)
    np.fill_diagonal(adjacency, False)
    return adjacency


@st.composite
def dags(draw, max_size=9):
    adjacency = np.triu(draw(digraphs(max_size)), k=1)
    order = draw(st.permutations(range(len(adjacency))))
    return adjacency[np.ix_(order, order)]


def as_networkx(adjacency):
    return nx.from_numpy_array(adjacency.astype(int), create_using=nx.DiGraph)


@repeatable
@given(digraphs())
def test_is_acyclic_agrees_with_networkx(adjacency):
    assert is_acyclic(adjacency) == nx.is_directed_acyclic_graph(as_networkx(adjacency))


@repeatable
@given(digraphs())
def test_components_agree_with_networkx(adjacency):
    expected = sorted(sorted(members) for members in nx.strongly_connected_components(as_networkx(adjacency)))
    assert strongly_connected_components(adjacency) == expected


@repeatable
@given(digraphs())
def test_ancestors_agree_with_networkx_with_and_without_cycles(adjacency):
    graph = nx.transitive_closure(as_networkx(adjacency), reflexive=False)
    expected = nx.to_numpy_array(graph, nodelist=range(len(adjacency))) > 0
    np.testing.assert_array_equal(ancestors(adjacency), expected)


@repeatable
@given(digraphs(7))
def test_has_path_agrees_with_ancestors_with_and_without_cycles(adjacency):
    before = adjacency.copy()
    reached = ancestors(adjacency)
    for start in range(len(adjacency)):
        for end in range(len(adjacency)):
            found = has_path(adjacency, start, end)
            assert type(found) is bool
            assert found == reached[start, end]
    np.testing.assert_array_equal(adjacency, before)


def test_a_path_to_oneself_needs_an_edge():
    assert not has_path(np.zeros((1, 1), bool), 0, 0)
    assert not has_path(np.eye(3, k=1, dtype=bool), 0, 0)
    assert has_path(np.eye(3, k=1, dtype=bool) | np.eye(3, k=-2, dtype=bool), 0, 0)


@repeatable
@given(dags())
def test_topological_order_puts_causes_first_and_smallest_positions_first(adjacency):
    order = topological_order(adjacency)
    expected = list(nx.lexicographical_topological_sort(as_networkx(adjacency)))
    assert order.tolist() == expected


@repeatable
@given(dags(6))
def test_relations_by_definition(adjacency):
    above = ancestors(adjacency)
    found = relations(adjacency)
    for i in range(len(adjacency)):
        for j in range(len(adjacency)):
            if i == j:
                expected = Relation.NONE
            elif above[i, j]:
                expected = Relation.ANCESTOR
            elif above[j, i]:
                expected = Relation.DESCENDANT
            else:
                expected = Relation.COMMON_CAUSE if (above[:, i] & above[:, j]).any() else Relation.NONE
            assert found[i, j] == expected


def test_sizes_that_are_no_multiple_of_eight_keep_all_bits():
    for size in (7, 8, 9, 63, 64, 65):
        np.testing.assert_array_equal(ancestors(full(size)), full(size))


def test_cycle_message_names_the_shortest_cycle():
    adjacency = np.zeros((6, 6), dtype=bool)
    for cause, effect in [(0, 1), (1, 2), (2, 0), (4, 5), (5, 4)]:
        adjacency[cause, effect] = True
    with pytest.raises(GraphError, match=r"cycle among the variables .*4, 5"):
        topological_order(adjacency)
    with pytest.raises(GraphError, match="cycle"):
        relations(adjacency)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1, 0], [0, 0, 1]], r"square \[N, N\], but its shape is \[2, 3\]"),
        ([0, 1], r"shape is \[2\]"),
        ([[0, 0.5], [0, 0]], r"entry \[0, 1\] is 0.5"),
        ([[0, np.nan], [0, 0]], r"entry \[0, 1\] is nan"),
        ([[0, 1], [0, 1]], "variable 1 has an edge to itself"),
        ([["a", "b"], ["c", "d"]], "must hold 0 and 1"),
        ([[0, 1], [0]], "ragged"),
    ],
)
def test_malformed_matrices_are_explained(matrix, message):
    with pytest.raises(GraphError, match=message):
        check_adjacency(matrix)


def test_empty_graph():
    empty = np.zeros((0, 0), dtype=bool)
    assert is_acyclic(empty)
    assert strongly_connected_components(empty) == []
    assert topological_order(empty).shape == (0,)
    assert ancestors(empty).shape == (0, 0)


def test_large_graphs_need_no_cubic_memory():
    adjacency = random(1500, np.random.default_rng(0), edge_probability=8 / 1500)
    tracemalloc.start()
    reached = ancestors(adjacency)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * adjacency.size  # bytes: a handful of [N, N] bit and byte arrays
    assert not (reached & reached.T).any()
    assert (reached >= adjacency).all()
