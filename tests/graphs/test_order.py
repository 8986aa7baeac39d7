"""The order step against brute force, and its promises: only removes edges, acyclic, columns in any order."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enco.errors import GraphError
from enco.graphs import _order_kernels as kernels
from enco.graphs import order as order_module
from enco.graphs._order_milp import solve_order
from enco.graphs.order import acyclic, best_order


def antisymmetric(n, seed, *, noise=np.inf):
    """Orientation parameters: a hidden order plus noise, or noise alone."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(size=(n, n)), 1)
    theta = upper - upper.T
    if np.isfinite(noise):
        place = rng.permutation(n)
        theta = np.sign(place[None, :] - place[:, None]) * 2.0 + noise * theta
    return theta


def predicted_graph(theta, seed, *, density=0.5):
    return (theta > 0) & (np.random.default_rng(seed).random(theta.shape) < density)


def log_sigmoid_sum(theta, order):
    return sum(-np.logaddexp(0, -theta[a, b]) for a, b in itertools.combinations(order, 2))


def best_score_by_brute_force(theta):
    orders = np.array(list(itertools.permutations(range(len(theta)))))
    scores = np.zeros(len(orders))
    for a, b in itertools.combinations(range(len(theta)), 2):
        scores -= np.logaddexp(0, -theta[orders[:, a], orders[:, b]])
    return scores.max()


def is_dag(adjacency):
    return nx.is_directed_acyclic_graph(nx.from_numpy_array(adjacency, create_using=nx.DiGraph))


def check_promises(adjacency, theta, result):
    assert is_dag(result.adjacency)
    assert not (result.adjacency & ~adjacency).any()
    position = np.argsort(result.order)
    assert sorted(result.order) == list(range(len(adjacency)))
    # Exactly the edges that go backwards in the order are gone, and all of them lie inside a component.
    backward = adjacency & (position[:, None] > position[None, :])
    assert (result.adjacency == adjacency & ~backward).all()
    assert result.removed == tuple(map(tuple, np.argwhere(backward).tolist()))
    component_of = {}
    graph = nx.from_numpy_array(adjacency, create_using=nx.DiGraph)
    for label, members in enumerate(nx.strongly_connected_components(graph)):
        component_of.update(dict.fromkeys(members, label))
    assert all(component_of[cause] == component_of[effect] for cause, effect in result.removed)
    for component in result.components:
        assert len({component_of[member] for member in component.order}) == 1
        assert component.score == pytest.approx(log_sigmoid_sum(theta, component.order))
        assert component.gap >= 0
        assert list(component.order) == [v for v in result.order if v in set(component.order)]
    assert result.gap == pytest.approx(sum(component.gap for component in result.components))


@pytest.mark.parametrize("n", range(1, 9))
def test_best_order_against_brute_force(n):
    for seed in range(6 if n < 8 else 2):
        theta = antisymmetric(n, seed)
        result = best_order(theta)
        assert result.score == pytest.approx(best_score_by_brute_force(theta), abs=1e-9)
        assert result.score == pytest.approx(log_sigmoid_sum(theta, result.order), abs=1e-9)
        assert (result.method, result.gap) == ("exact", 0.0)


@pytest.mark.parametrize("n", [4, 6, 8])
def test_components_against_brute_force(n):
    for seed in range(10):
        theta = antisymmetric(n, seed, noise=3.0)
        adjacency = predicted_graph(theta, seed)
        result = acyclic(adjacency, theta)
        check_promises(adjacency, theta, result)
        for component in result.components:
            within = theta[np.ix_(component.order, component.order)]
            assert component.score == pytest.approx(best_score_by_brute_force(within), abs=1e-9)


@pytest.mark.parametrize("n", [5, 8])
def test_search_and_integer_program_reach_the_brute_force_optimum(n):
    for seed in range(5):
        theta = antisymmetric(n, seed)
        best = best_score_by_brute_force(theta)
        found = kernels.iterated_search(theta, np.arange(n), 200_000)
        assert log_sigmoid_sum(theta, found) == pytest.approx(best, abs=1e-9)
        solved = solve_order(theta, time_limit=30)
        assert solved.order is not None
        assert log_sigmoid_sum(theta, solved.order) == pytest.approx(best, abs=1e-6)
        value = sum(theta[a, b] for a, b in itertools.combinations(solved.order, 2))
        assert solved.bound == pytest.approx(value, abs=1e-5)


def test_packing_bound_is_a_bound():
    for seed in range(20):
        theta = antisymmetric(7, seed)
        best = best_score_by_brute_force(theta)
        consistent = -np.logaddexp(0, -np.abs(theta))[np.triu_indices(7, 1)].sum()
        for order in (np.arange(7), best_order(theta).order):
            packed = kernels.cycle_packing_bound(theta, order)
            assert 0 <= packed <= consistent - best + 1e-9


def test_packing_bound_proves_a_single_flipped_pair():
    theta = np.triu(np.full((30, 30), 5.0), 1)
    theta[3, 20] = -1.0
    theta -= theta.T
    result = best_order(theta)
    assert (result.method, result.gap) == ("local search", 0.0)
    assert result.order.tolist() == list(range(30))


@pytest.mark.parametrize(("n", "method"), [(20, "exact"), (60, "milp"), (300, "local search")])
def test_larger_components(n, method):
    theta = antisymmetric(n, 1, noise=1.5)
    adjacency = predicted_graph(theta, 1, density=20 / n)
    result = acyclic(adjacency, theta, time_limit=60)
    check_promises(adjacency, theta, result)
    (component,) = result.components
    assert component.method == method
    assert len(component.order) > 0.8 * n
    assert component.gap == 0.0 or method == "local search"


def test_the_gap_bounds_the_optimum(monkeypatch):
    for seed in range(5):
        theta = antisymmetric(12, seed)
        exact = best_order(theta)
        with monkeypatch.context() as patch:
            patch.setattr(order_module, "EXACT_LIMIT", 2)
            searched = best_order(theta, time_limit=0)
            solved = best_order(theta)
        assert searched.method == "local search"
        assert searched.score <= exact.score + 1e-9 <= searched.score + searched.gap + 2e-9
        assert solved.score == pytest.approx(exact.score, abs=1e-6)
        assert solved.gap == 0.0


def test_running_out_of_time_keeps_the_answer_of_the_search_and_a_valid_gap():
    theta = antisymmetric(60, 5)
    searched, interrupted = best_order(theta, time_limit=0), best_order(theta, time_limit=0.3)
    assert interrupted.method == "local search"
    assert (interrupted.order == searched.order).all()
    assert 0 < interrupted.gap <= searched.gap


def test_insertion_search_leaves_no_improving_move():
    theta = antisymmetric(25, 3)
    order = np.arange(25)
    before = log_sigmoid_sum(theta, order)
    gain, _ = kernels.insertion_search(theta, order, np.zeros((0, 0), dtype=bool), 10**9)
    after = log_sigmoid_sum(theta, order)
    # Swapping one pair changes the sum of weights over the order by twice the weight of the pair.
    assert gain / 2 == pytest.approx(after - before)
    for start, end in itertools.permutations(range(25), 2):
        moved = np.insert(np.delete(order, start), end, order[start])
        assert log_sigmoid_sum(theta, moved) <= after + 1e-9


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 26), noise=st.sampled_from([0.5, 2.0, np.inf]))
def test_permuting_the_columns_permutes_the_result(seed, n, noise):
    theta = antisymmetric(n, seed, noise=noise)
    adjacency = predicted_graph(theta, seed, density=min(1.0, 6 / n))
    permutation = np.random.default_rng(seed + 1).permutation(n)
    original = acyclic(adjacency, theta, time_limit=0)
    shuffled = acyclic(
        adjacency[np.ix_(permutation, permutation)], theta[np.ix_(permutation, permutation)], time_limit=0
    )
    check_promises(adjacency, theta, original)
    assert (permutation[shuffled.order] == original.order).all()
    assert (shuffled.adjacency == original.adjacency[np.ix_(permutation, permutation)]).all()
    assert [c.score for c in shuffled.components] == [c.score for c in original.components]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 12))
def test_names_decide_ties_whatever_the_columns(seed, n):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(-1, 2, size=(n, n)).astype(float), 1)
    theta = upper - upper.T
    adjacency = (rng.random((n, n)) < 0.4) & ~np.eye(n, dtype=bool)
    names = [f"gene {chr(97 + place)}" for place in rng.permutation(n)]
    permutation = rng.permutation(n)
    within = np.ix_(permutation, permutation)
    original = acyclic(adjacency, theta, names=names)
    shuffled = acyclic(adjacency[within], theta[within], names=[names[p] for p in permutation])
    check_promises(adjacency, theta, original)
    assert (permutation[shuffled.order] == original.order).all()
    assert (shuffled.adjacency == original.adjacency[within]).all()


def test_permutation_with_the_integer_program():
    theta = antisymmetric(32, 4, noise=3.0)
    permutation = np.random.default_rng(0).permutation(32)
    original, shuffled = best_order(theta), best_order(theta[np.ix_(permutation, permutation)])
    assert original.method == "milp"
    assert (permutation[shuffled.order] == original.order).all()


def test_acyclic_graphs_are_left_alone_even_against_theta():
    adjacency = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    theta = -10.0 * (adjacency.astype(float) - adjacency.T)
    result = acyclic(adjacency, theta)
    assert (result.adjacency == adjacency).all()
    assert result.order.tolist() == [0, 1, 2]
    assert (result.components, result.removed, result.gap) == ((), (), 0.0)


def test_order_follows_theta_where_the_graph_leaves_it_free():
    theta = antisymmetric(12, 9, noise=0.1)
    wanted = best_order(theta).order
    assert (acyclic(np.zeros((12, 12)), theta).order == wanted).all()


def test_order_follows_names_where_nothing_else_speaks():
    names = ["d", "a", "c", "b"]
    result = acyclic(np.zeros((4, 4)), np.zeros((4, 4)), names=names)
    assert [names[v] for v in result.order] == ["a", "b", "c", "d"]


def test_several_back_edges_at_one_variable_all_go():
    # A variable may close several cycles at once; keeping any of its backward edges would leave a cycle.
    theta = np.triu(np.full((6, 6), 4.0), 1)
    theta[0, 4] = theta[0, 5] = theta[1, 5] = -0.5
    theta -= theta.T
    result = acyclic(theta > 0, theta)
    assert result.removed == ((4, 0), (5, 0), (5, 1))
    assert is_dag(result.adjacency)


def test_two_cycle():
    theta = np.array([[0.0, -1.0], [1.0, 0.0]])
    result = acyclic([[0, 1], [1, 0]], theta)
    assert result.removed == ((0, 1),)
    assert result.order.tolist() == [1, 0]


def test_thousand_variables_quickly():
    theta = antisymmetric(1000, 2, noise=1.0)
    adjacency = predicted_graph(theta, 2, density=0.01)
    result = acyclic(adjacency, theta)
    check_promises(adjacency, theta, result)
    assert result.components


def test_float32_theta_is_accepted():
    theta = antisymmetric(6, 0).astype(np.float32)
    assert best_order(theta).score == pytest.approx(best_score_by_brute_force(theta.astype(float)), abs=1e-5)


def test_no_variables():
    result = acyclic(np.zeros((0, 0)), np.zeros((0, 0)))
    assert (result.order.size, result.components) == (0, ())


@pytest.mark.parametrize(
    ("adjacency", "theta", "options", "message"),
    [
        (np.zeros((2, 2)), np.zeros((2, 3)), {}, "theta must be a square matrix"),
        (np.zeros((2, 2)), [["a", "b"], ["c", "d"]], {}, "theta must be a matrix of numbers"),
        (np.zeros((2, 2)), [[0, np.nan], [0, 0]], {}, "NaN or infinite"),
        (np.zeros((2, 2)), [[0, 1], [1, 0]], {}, "antisymmetric"),
        (np.zeros((3, 3)), np.zeros((2, 2)), {}, "the graph has 3 variables and theta 2"),
        (np.eye(2), np.zeros((2, 2)), {}, "edge to itself"),
        (np.full((2, 2), 0.5), np.zeros((2, 2)), {}, "0 and 1"),
        (np.zeros((2, 2)), np.zeros((2, 2)), {"names": ["a", "a"]}, "2 different names"),
        (np.zeros((2, 2)), np.zeros((2, 2)), {"time_limit": -1}, "time_limit must be 0 or more"),
        (np.zeros((2, 2)), np.zeros((2, 2)), {"time_limit": np.nan}, "time_limit must be 0 or more"),
    ],
)
def test_malformed_input(adjacency, theta, options, message):
    with pytest.raises(GraphError, match=message):
        acyclic(adjacency, theta, **options)
