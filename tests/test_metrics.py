"""Metrics against brute force on all DAGs with up to four nodes, and against scikit-learn."""

import itertools
import math

import gadjid
import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from enco.errors import GraphError
from enco.metrics import (
    Scores,
    ancestor_aid,
    average_precision,
    confounder_scores,
    edge_scores,
    evaluate,
    orientation_accuracy,
    oset_aid,
    parent_aid,
    shd,
    sid,
    skeleton_scores,
)

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
EMPTY = np.zeros((3, 3), dtype=int)


# --- brute force, written for clarity and independent of the package
# ------------------------------------------------


def all_dags(n):
    """Every DAG with n nodes as a frozenset of edges: a graph is kept if removing sources empties it."""
    pairs = list(itertools.combinations(range(n), 2))
    for states in itertools.product((None, False, True), repeat=len(pairs)):
        edges = frozenset(
            (b, a) if flip else (a, b) for (a, b), flip in zip(pairs, states, strict=True) if flip is not None
        )
        left = set(range(n))
        while sources := {v for v in left if not any((u, v) in edges for u in left)}:
            left -= sources
        if not left:
            yield edges


def matrix(edges, n):
    adjacency = np.zeros((n, n), dtype=int)
    for cause, effect in edges:
        adjacency[cause, effect] = 1
    return adjacency


def descendants(edges, node):
    reached, new = set(), {node}
    while new:
        reached |= new
        new = {b for a, b in edges if a in reached} - reached
    return reached  # the node itself included


def simple_paths(edges, start, end, path=()):
    """All paths between two nodes that visit no node twice, in any direction of the edges."""
    path = (*path, start)
    if start == end:
        yield path
        return
    for nxt in {b for a, b in edges if a == start} | {a for a, b in edges if b == start}:
        if nxt not in path:
            yield from simple_paths(edges, nxt, end, path)


def is_open(edges, path, given):
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        collider = (before, node) in edges and (after, node) in edges
        if collider and not descendants(edges, node) & given:
            return False
        if not collider and node in given:
            return False
    return True


def is_valid_adjustment(edges, cause, effect, given):
    """The adjustment criterion (Shpitser et al., 2010), path by path."""
    for path in simple_paths(edges, cause, effect):
        causal = all(edge in edges for edge in itertools.pairwise(path))
        if causal:
            forbidden = set().union(*(descendants(edges, node) for node in path[1:]))
            if forbidden & given:
                return False
        elif is_open(edges, path, given):
            return False
    return True


def parents(edges, node):
    return {a for a, b in edges if b == node}


def claim_by_parents(guess, cause, effect):
    """None: the guess claims no effect; else the set it would adjust for."""
    return None if effect in parents(guess, cause) else parents(guess, cause)


def claim_by_ancestors(guess, cause, effect, n):
    if effect not in descendants(guess, cause):
        return None
    return {node for node in range(n) if node != cause and cause in descendants(guess, node)}


def claim_by_optimal_set(guess, cause, effect, n):
    if effect not in descendants(guess, cause):
        return None
    on_the_way = {v for v in descendants(guess, cause) if effect in descendants(guess, v)} - {cause}
    forbidden = set().union(*(descendants(guess, v) for v in on_the_way)) | {cause}
    return set().union(*(parents(guess, v) for v in on_the_way)) - forbidden


def identification_mistakes(guess, truth, n, claim):
    mistakes = 0
    for cause, effect in itertools.permutations(range(n), 2):
        adjustment = claim(guess, cause, effect)
        if adjustment is None:
            mistakes += effect in descendants(truth, cause)
        else:
            mistakes += not is_valid_adjustment(truth, cause, effect, adjustment)
    return mistakes


def edits(guess, truth):
    """Fewest additions, removals and flips, by breadth-first search over whole graphs."""
    pairs = {frozenset(edge) for edge in guess | truth}
    total = 0
    for pair in pairs:
        a, b = sorted(pair)
        state, goal = frozenset(guess & {(a, b), (b, a)}), frozenset(truth & {(a, b), (b, a)})
        frontier, seen, steps = {state}, {state}, 0
        while goal not in frontier:
            moves = set()
            for current in frontier:
                moves |= {current ^ {(a, b)}, current ^ {(b, a)}}
                if len(current) == 1:
                    moves.add(frozenset({(a, b), (b, a)}) - current)
            frontier = moves - seen
            seen |= frontier
            steps += 1
        total += steps
    return total


def pairs_of_dags(n, count):
    graphs = list(all_dags(n))
    if len(graphs) ** 2 <= count:
        return list(itertools.product(graphs, repeat=2))
    rng = np.random.default_rng(n)
    return [(graphs[a], graphs[b]) for a, b in rng.integers(len(graphs), size=(count, 2))]


def test_there_are_as_many_dags_as_known():
    assert [sum(1 for _ in all_dags(n)) for n in (1, 2, 3, 4)] == [1, 3, 25, 543]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_sid_and_aids_against_brute_force(n):
    for guess, truth in pairs_of_dags(n, 1500):
        a, b = matrix(guess, n), matrix(truth, n)
        by_parents = identification_mistakes(guess, truth, n, claim_by_parents)
        assert sid(a, b) == by_parents
        assert parent_aid(a, b) == by_parents
        assert ancestor_aid(a, b) == identification_mistakes(
            guess, truth, n, lambda *args: claim_by_ancestors(*args, n)
        )
        assert oset_aid(a, b) == identification_mistakes(guess, truth, n, lambda *args: claim_by_optimal_set(*args, n))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_shd_and_scores_against_brute_force(n):
    for guess, truth in pairs_of_dags(n, 5000):
        a, b = matrix(guess, n), matrix(truth, n)
        assert shd(a, b) == shd(b, a) == edits(guess, truth)
        hits = len(guess & truth)
        scores = edge_scores(a, b)
        assert scores.precision == (hits / len(guess) if guess else 1.0)
        assert scores.recall == (hits / len(truth) if truth else 1.0)
        mean = scores.precision + scores.recall
        assert scores.f1 == pytest.approx(2 * scores.precision * scores.recall / mean if mean else 0.0)
        skeleton_a, skeleton_b = {frozenset(e) for e in guess}, {frozenset(e) for e in truth}
        common = skeleton_a & skeleton_b
        skeleton = skeleton_scores(a, b)
        assert skeleton.precision == (len(common) / len(skeleton_a) if skeleton_a else 1.0)
        assert skeleton.recall == (len(common) / len(skeleton_b) if skeleton_b else 1.0)
        accuracy = orientation_accuracy(a, b)
        assert accuracy == hits / len(common) if common else math.isnan(accuracy)


@pytest.mark.parametrize("n", [2, 3])
def test_shd_of_graphs_with_cycles(n):
    pairs = list(itertools.permutations(range(n), 2))
    choices = itertools.product((0, 1), repeat=len(pairs))
    graphs = [frozenset(itertools.compress(pairs, bits)) for bits in choices]
    for guess, truth in itertools.product(graphs, repeat=2):
        assert shd(matrix(guess, n), matrix(truth, n)) == edits(guess, truth)


def test_shd_conventions_for_two_cycles():
    both, forward, none = [[0, 1], [1, 0]], [[0, 1], [0, 0]], [[0, 0], [0, 0]]
    assert (shd(both, forward), shd(forward, both), shd(both, none), shd(both, both)) == (1, 1, 2, 0)
    assert shd(forward, np.transpose(forward)) == 1


def test_shd_agrees_with_gadjid_on_larger_dags():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.permutation(15), rng.permutation(15)
        a, b = (np.triu(rng.random((15, 15)) < 0.3, 1)[np.ix_(s, s)] for s in (p, q))
        assert shd(a, b) == gadjid.shd(a.astype(np.int8), b.astype(np.int8))[1]


def test_direction_of_the_matrix_is_from_row_to_column():
    # Adjusting for nothing fails for the effects of 2 on its causes: two mistakes. Were the matrix read from
    # column to row, 2 would be a common cause, and nothing would also fail between its two effects: four.
    collider = [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert (sid(EMPTY, collider), sid(EMPTY, np.transpose(collider))) == (2, 4)


def test_zero_division_conventions():
    assert edge_scores(EMPTY, EMPTY) == Scores(1.0, 1.0, 1.0)
    assert edge_scores(EMPTY, CHAIN) == Scores(1.0, 0.0, 0.0)
    assert edge_scores(CHAIN, EMPTY) == Scores(0.0, 1.0, 0.0)
    assert confounder_scores([], []) == Scores(1.0, 1.0, 1.0)
    assert confounder_scores([], [(0, 1)]) == Scores(1.0, 0.0, 0.0)
    assert math.isnan(orientation_accuracy(EMPTY, CHAIN))
    assert math.isnan(average_precision(np.random.default_rng(0).random((3, 3)), EMPTY))


def test_confounded_pairs_are_unordered():
    assert confounder_scores([(1, 0), (2, 3)], [(0, 1), (1, 0), (3, 2)]) == Scores(1.0, 1.0, 1.0)
    assert confounder_scores([("a", "b")], [("a", "c")]) == Scores(0.0, 0.0, 0.0)
    with pytest.raises(GraphError, match="two different variables"):
        confounder_scores([(1, 1)], [])


@pytest.mark.parametrize("decimals", [8, 1, 0])  # fewer decimals: more ties
def test_average_precision_agrees_with_scikit_learn(decimals):
    rng = np.random.default_rng(decimals)
    off_diagonal = ~np.eye(12, dtype=bool)
    for _ in range(20):
        scores = np.round(rng.random((12, 12)), decimals)
        truth = (rng.random((12, 12)) < 0.2) & off_diagonal
        expected = average_precision_score(truth[off_diagonal], scores[off_diagonal])
        assert average_precision(scores, truth) == pytest.approx(expected, abs=1e-12)


def test_average_precision_ignores_the_diagonal():
    scores = np.where(CHAIN, 0.9, 0.1)
    np.fill_diagonal(scores, np.nan)
    assert average_precision(scores, CHAIN) == 1.0


def test_evaluate_collects_what_applies():
    perfect = evaluate(CHAIN, CHAIN, probabilities=CHAIN * 0.9, confounders=[(0, 1)], true_confounders=[(1, 0), (0, 2)])
    assert perfect["shd"] == perfect["sid"] == perfect["oset_aid"] == perfect["ancestor_aid"] == 0
    assert perfect["acyclic"] is True
    assert perfect["edges"] == perfect["true_edges"] == 2
    assert perfect["average_precision"] == perfect["edge_f1"] == perfect["orientation_accuracy"] == 1.0
    assert (perfect["confounder_precision"], perfect["confounder_recall"]) == (1.0, 0.5)

    cyclic = evaluate([[0, 1, 0], [0, 0, 1], [1, 0, 0]], CHAIN)
    assert cyclic["acyclic"] is False
    assert cyclic["shd"] == 1
    assert not {"sid", "parent_aid", "average_precision", "confounder_f1"} & set(cyclic)


def test_values_are_plain_python_numbers():
    assert {type(value) for value in evaluate(CHAIN, CHAIN).values()} <= {bool, int, float}


@pytest.mark.parametrize("distance", [sid, parent_aid, ancestor_aid, oset_aid])
@pytest.mark.parametrize("cyclic", [[[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]]])
def test_cyclic_graphs_are_told_to_be_ordered_first(distance, cyclic):
    with pytest.raises(GraphError, match=r"the predicted graph has a cycle: order it first.*order.acyclic"):
        distance(cyclic, CHAIN)
    with pytest.raises(GraphError, match=r"the true graph has a cycle"):
        distance(CHAIN, cyclic)


def test_a_single_variable():
    scores = evaluate([[0]], [[0]])
    assert scores["shd"] == scores["sid"] == 0


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        ([[0, 1], [0, 0]], "the predicted graph is 2 x 2 and the true graph 3 x 3"),
        ([0, 1, 0], "predicted graph.*square"),
        (np.eye(3), "predicted graph: variable 0 has an edge to itself"),
        (CHAIN * 0.7, "predicted graph.*threshold edge probabilities"),
        (CHAIN.astype(str), "predicted graph.*0 and 1"),
    ],
)
def test_malformed_predictions(prediction, message):
    with pytest.raises(GraphError, match=message):
        evaluate(prediction, CHAIN)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((2, 2)), "2 x 2 and the true graph 3 x 3"),
        (np.full((3, 3), np.nan), "NaN"),
        ([["a"] * 3] * 3, "matrix of numbers"),
    ],
)
def test_malformed_probabilities(scores, message):
    with pytest.raises(GraphError, match=message):
        average_precision(scores, CHAIN)
