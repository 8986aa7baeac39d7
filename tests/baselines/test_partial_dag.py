"""Questions about partly directed graphs, answered by brute force as well."""

from itertools import combinations, product

import networkx
import numpy as np
import pytest

from enco.baselines.partial_dag import PartialDag, members
from enco.graphs import is_acyclic


def all_dags(n):
    pairs = list(combinations(range(n), 2))
    for choice in product(range(3), repeat=len(pairs)):
        graph = np.zeros((n, n), bool)
        for (i, j), state in zip(pairs, choice, strict=True):
            graph[i, j], graph[j, i] = state == 1, state == 2
        if is_acyclic(graph):
            yield graph


def features(graph):
    """What equivalent graphs share (Verma and Pearl): adjacent pairs and v-structures."""
    joined = graph | graph.T
    colliders = [
        (a, c, b)
        for c in range(len(graph))
        for a, b in combinations(np.flatnonzero(graph[:, c]).tolist(), 2)
        if not joined[a, b]
    ]
    return joined.tobytes(), tuple(colliders)


@pytest.fixture(scope="module")
def classes():
    found = {}
    for graph in all_dags(4):
        found.setdefault(features(graph), []).append(graph)
    return list(found.values())


def test_the_completed_graph_joins_all_members_of_a_class(classes):
    assert sum(map(len, classes)) == 543
    assert len(classes) == 185
    for graphs in classes:
        union = np.logical_or.reduce(graphs)
        for graph in [*graphs, union]:
            np.testing.assert_array_equal(PartialDag.from_matrix(graph).completed().to_matrix(), union)


@pytest.mark.parametrize(
    "graph",
    [np.roll(np.eye(3), 1, axis=1), np.roll(np.eye(4), 1, axis=1) + np.roll(np.eye(4), -1, axis=1)],
    ids=["directed cycle", "undirected square"],
)
def test_no_extension(graph):
    with pytest.raises(ValueError, match="no consistent extension"):
        PartialDag.from_matrix(graph).completed()


def random_graph(seed, n=6):
    return (np.random.default_rng(seed).random((n, n)) < 0.3) & ~np.eye(n, dtype=bool)


@pytest.mark.parametrize("seed", range(10))
def test_edges(seed):
    matrix = random_graph(seed)
    graph = PartialDag.from_matrix(matrix)
    np.testing.assert_array_equal(graph.to_matrix(), matrix)
    for variable in range(len(matrix)):
        into, out = matrix[:, variable], matrix[variable]
        assert list(members(graph.parents(variable))) == np.flatnonzero(into & ~out).tolist()
        assert list(members(graph.neighbours(variable))) == np.flatnonzero(into & out).tolist()
        assert list(members(graph.adjacent(variable))) == np.flatnonzero(into | out).tolist()


def test_a_copy_is_on_its_own():
    graph = PartialDag.from_matrix([[0, 1], [1, 0]])
    twin = graph.copy()
    twin.remove(1, 0)
    assert graph.to_matrix().sum() == 2
    assert twin.to_matrix().tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize("seed", range(5))
def test_paths_and_cliques(seed):
    matrix = random_graph(seed)
    n = len(matrix)
    graph = PartialDag.from_matrix(matrix)
    walk = networkx.from_numpy_array(matrix, create_using=networkx.DiGraph)
    joined = matrix | matrix.T
    for start, end, avoided in product(range(n), range(n), range(1 << n)):
        if start != end and not avoided & (1 << start | 1 << end):
            rest = walk.subgraph(v for v in range(n) if not avoided >> v & 1)
            assert graph.has_path(start, end, avoiding=avoided) == networkx.has_path(rest, start, end)
    for core, others in [(0, 0b111111), (0b1, 0b111110), (0b101, 0b011010)]:
        subsets = [s for s in range(1 << n) if s & core == core and not s & ~(core | others)]
        expected = [s for s in subsets if all(joined[pair] for pair in combinations(members(s), 2))]
        assert sorted(graph.cliques(core, others)) == expected
