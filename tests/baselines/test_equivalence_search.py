"""The search finds what the package `ges` finds, and has the properties that a search of classes should have."""

import numpy as np
import pytest

from enco.baselines.bic import GaussianScore, TableScore
from enco.baselines.equivalence_search import backward, forward, greedy_equivalence_search
from enco.baselines.partial_dag import PartialDag

KINDS = ["gaussian", "table"]


def random_rows(seed, n=6, rows=300, density=0.5):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < density), 1)
    values = np.zeros((rows, n))
    for variable in range(n):
        values[:, variable] = values @ weights[:, variable] + rng.normal(size=rows)
    return values[:, rng.permutation(n)]


def make_score(kind, values):
    if kind == "gaussian":
        return GaussianScore(values, penalty=1.0)
    return TableScore(np.digitize(values, [-0.5, 0.5]), np.full(values.shape[1], 3), penalty=0.25)


class ForPackage:
    """A score as the package `ges` asks for it."""

    def __init__(self, score):
        self.p, self.local_score = score.p, score.local_score

    def full_score(self, directed):
        return sum(self.local_score(effect, np.flatnonzero(directed[:, effect])) for effect in range(self.p))


def score_of_class(score, graph):
    order, parents = graph._extension()
    directed = np.array([[parents[effect] >> cause & 1 for effect in range(len(order))] for cause in range(len(order))])
    return ForPackage(score).full_score(directed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_the_package_ges_finds_the_same(kind, seed):
    import ges  # here, because `make packages` collects this file where there is no such package

    values = random_rows(seed, n=4 + seed % 4, rows=[60, 300, 1000][seed % 3], density=[0.3, 0.6][seed % 2])
    expected, total = ges.fit(ForPackage(make_score(kind, values)), phases=["forward", "backward"])
    score = make_score(kind, values)
    found = greedy_equivalence_search(score)
    np.testing.assert_array_equal(found, expected != 0)
    assert score_of_class(score, PartialDag.from_matrix(found)) == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_every_step_is_a_completed_graph_of_larger_score(kind, seed):
    score = make_score(kind, random_rows(seed, n=8))
    up = list(forward(PartialDag(score.p), score))
    down = list(backward(up[-1], score))
    for graph in up + down:
        np.testing.assert_array_equal(graph.completed().to_matrix(), graph.to_matrix())
    skeletons = [np.sum(graph.to_matrix() | graph.to_matrix().T) // 2 for graph in up + down[1:]]
    assert skeletons == [*range(len(up)), *range(len(up) - 2, len(up) - 1 - len(down), -1)]
    assert np.all(np.diff([score_of_class(score, graph) for graph in up + down[1:]]) > 0)
    np.testing.assert_array_equal(down[-1].to_matrix(), greedy_equivalence_search(score))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_columns_does_not_matter(kind, seed):
    values = random_rows(seed, n=7)
    order = np.random.default_rng(seed).permutation(7)
    shuffled = greedy_equivalence_search(make_score(kind, values[:, order]))
    np.testing.assert_array_equal(shuffled, greedy_equivalence_search(make_score(kind, values))[np.ix_(order, order)])


def test_both_phases_do_something():
    deletions = []
    for seed in range(5):
        score = make_score("gaussian", random_rows(seed, n=8, density=0.8))
        *_, densest = forward(PartialDag(8), score)
        deletions.append(len(list(backward(densest, score))) - 1)
    assert max(deletions) > 0  # or the comparisons above would say nothing about them


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([(0, 1), (1, 2)], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]),
        ([(1, 0), (1, 2)], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]),
        ([(0, 2), (1, 2)], [[0, 0, 1], [0, 0, 1], [0, 0, 0]]),
        ([], [[0, 0, 0], [0, 0, 0], [0, 0, 0]]),
        ([(0, 1), (1, 2), (0, 2)], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
    ],
    ids=["chain", "fork", "collider", "independent", "complete"],
)
def test_known_graphs(kind, edges, expected):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20_000, 3))
    for effect in (1, 0, 2):  # a causal order of all of them
        for cause in (cause for cause, end in edges if end == effect):
            # Coarse causes, so that tables lose nothing and hold exactly the same independences.
            values[:, effect] += 0.8 * np.sign(values[:, cause]) if kind == "table" else 0.8 * values[:, cause]
    score = GaussianScore(values, penalty=1.0)
    if kind == "table":
        score = TableScore((values > 0).astype(int), np.full(3, 2), penalty=1.0)
    np.testing.assert_array_equal(greedy_equivalence_search(score), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_one_variable(kind):
    np.testing.assert_array_equal(greedy_equivalence_search(make_score(kind, random_rows(0, n=1))), [[False]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_column_has_no_edges(kind):
    values = random_rows(1, n=5, rows=1000)
    values[:, 2] = 0.0
    found = greedy_equivalence_search(make_score(kind, values))
    assert found.any()
    assert not found[2].any()
    assert not found[:, 2].any()


@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_a_column_are_joined(kind):
    values = random_rows(1, n=3, rows=1000)
    found = greedy_equivalence_search(make_score(kind, np.column_stack([values, values[:, 0]])))
    assert found[0, 3] or found[3, 0]
