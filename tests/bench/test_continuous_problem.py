"""Continuous, mixed and known networks as problems: what is drawn, and what is refused."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from enco.bench.continuous_problem import CONTINUOUS_MECHANISMS, ContinuousProblem, MixedProblem
from enco.bench.jobs import Job
from enco.bench.known_networks import NetworkProblem
from enco.bench.problem import Problem
from enco.bench.problem_kinds import kind_of, make_problem, told_apart
from enco.errors import SettingsError

PAPER = ContinuousProblem(mechanism="linear", seed=1)
DENSE = replace(PAPER, variables=20, interventions=20, edges_per_variable=4.0)


def test_kinds_of_problems_have_keys_of_their_own():
    both = MixedProblem(**asdict(PAPER))
    assert Job(problem=PAPER, method="enco").key != Job(problem=both, method="enco").key


@pytest.mark.parametrize("mechanism", CONTINUOUS_MECHANISMS)
def test_graphs_have_the_edges_asked_for(mechanism):
    counts = [replace(PAPER, mechanism=mechanism, seed=seed).model().observed_adjacency.sum() for seed in range(200)]
    assert np.mean(counts) == pytest.approx(10.0, abs=0.6)  # four standard errors
    assert replace(DENSE, seed=0).edge_probability == pytest.approx(8 / 19)


def test_the_mechanism_alone_changes_no_graph():
    graphs = [replace(PAPER, mechanism=mechanism).draw()[1] for mechanism in CONTINUOUS_MECHANISMS]
    assert all(np.array_equal(graph, graphs[0]) for graph in graphs)
    assert np.tril(graphs[0]).any()  # shuffled


def test_problems_that_differ_in_rows_share_the_model():
    few = replace(PAPER, rows=100, interventional_rows=100)
    assert np.array_equal(few.draw()[1], PAPER.draw()[1])
    assert few.targets() == PAPER.targets()
    assert len(few.draw()[0].interventional) == 10


@pytest.mark.parametrize("problem", [DENSE, MixedProblem(mechanism="additive", seed=1)])
def test_tiny_problems_are_of_the_same_kind(problem):
    tiny = problem.tiny()
    assert type(tiny) is type(problem)
    assert (tiny.variables, tiny.mechanism, tiny.draw()[0].n_rows) == (4, problem.mechanism, 280)


@pytest.mark.parametrize(
    "changes", [{"mechanism": "neural"}, {"edges_per_variable": 4.6}, {"edges_per_variable": -1.0}, {"rows": 1}]
)
def test_impossible_problems(changes):
    with pytest.raises(SettingsError):
        replace(PAPER, **changes)


def test_a_known_network_has_shuffled_columns_and_fresh_rows_only():
    one, other = (NetworkProblem(network="cancer", seed=seed, rows=50, interventional_rows=5) for seed in (1, 2))
    assert (one.variables, one.interventions, one.label) == (5, 5, "cancer")
    edges = [
        {(names[cause], names[effect]) for cause, effect in np.argwhere(truth)}
        for names, truth in ((problem.draw()[0].names, problem.draw()[1]) for problem in (one, other))
    ]
    assert edges[0] == edges[1]
    assert len(edges[0]) == 4
    assert one.draw()[0].names != other.draw()[0].names
    assert one.tiny().variables == 4


def test_problems_come_back_from_what_tells_them_apart():
    for problem in (PAPER, DENSE, MixedProblem(mechanism="additive", seed=1), NetworkProblem(network="asia", seed=1),
                    Problem(structure="random", seed=2, edge_probability=0.1, max_parents=3, latents=2)):  # fmt: skip
        content = told_apart(problem)
        assert content.pop("kind") == kind_of(problem)
        assert make_problem(kind_of(problem), content) == problem


def test_whole_numbers_stand_for_numbers():
    values = {"mechanism": "linear", "seed": 1, "variables": 20, "edges_per_variable": 4}
    assert told_apart(make_problem("continuous", values)) == told_apart(replace(DENSE, mechanism="linear"))


@pytest.mark.parametrize(
    ("kind", "values", "complaint"),
    [
        ("magic", {}, "there is no kind of problem 'magic'"),
        ("categorical", {"seed": 1}, "needs 'structure'"),
        ("categorical", {"seed": 1, "structure": "chain", "rows": 2.5}, "rows of a problem must be a whole number"),
        ("categorical", {"seed": 1, "structure": "chain", "rows": True}, "rows of a problem must be a whole number"),
        ("categorical", {"seed": 1, "structure": 3}, "structure of a problem must be text"),
        ("network", {"seed": 1, "network": "nowhere"}, "unknown network 'nowhere'"),
    ],
)
def test_values_that_make_no_problem(kind, values, complaint):
    with pytest.raises(SettingsError, match=complaint):
        make_problem(kind, values)


def test_latent_confounders_are_named():
    problem = Problem(structure="random", seed=1, variables=8, interventions=8, rows=50, latents=2)
    data, truth = problem.draw()
    pairs = problem.confounded()
    assert len(pairs) == 2
    for one, other in pairs:
        assert not truth[data.names.index(one), data.names.index(other)]
    assert Problem(structure="chain", seed=1).confounded() == []
