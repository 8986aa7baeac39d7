"""The average over graphs nearby, against an exact sum over all acyclic graphs."""

import numpy as np
import pytest
from tests.search_problems import all_dags, free_rules, made_up

from enco.score.objective import families_of
from enco.search import nearby as module
from enco.search.dag import search
from enco.search.nearby import nearby


def exactly(objective, n):
    """P(i -> j) with weights exp(-total)."""
    total, found = 0.0, np.zeros((n, n))
    for graph in all_dags(n):
        weight = np.exp(-objective.total(graph))
        total, found = total + weight, found + weight * graph
    return found / total


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_sum_over_all_acyclic_graphs(seed, monkeypatch):
    monkeypatch.setattr(module, "SWEEPS", 3000)
    monkeypatch.setattr(module, "FAMILIES", 100)
    objective, rules = made_up(seed, n=3, scale=1.5), free_rules(3)
    best = search(objective, np.zeros((3, 3), bool), rules).graph
    probability, _ = nearby(objective, best, rules)
    np.testing.assert_allclose(probability, exactly(objective, 3), atol=0.03)


@pytest.mark.parametrize("seed", range(20))
def test_probabilities_are_probabilities_and_cost_what_toggling_costs(seed):
    objective, rules = made_up(seed, n=5), free_rules(5)
    graph = search(objective, np.zeros((5, 5), bool), rules).graph
    probability, cost = nearby(objective, graph, rules)
    assert (probability >= 0).all()
    assert (probability + probability.T <= 1 + 1e-12).all()
    assert not np.diag(probability).any()
    for effect, parents in families_of(graph):
        for cause in parents:
            wanted = objective.price(effect, parents - {cause}) - objective.price(effect, parents)
            assert cost[cause, effect] == pytest.approx(wanted)


def test_what_is_required_is_certain_and_what_is_forbidden_impossible():
    n = 4
    required, allowed = np.zeros((n, n), bool), ~np.eye(n, dtype=bool)
    required[0, 1], allowed[2, 3] = True, False
    rules = free_rules(n, allowed=allowed, required=required)
    objective = made_up(1, n, scale=2.0)
    graph = search(objective, required, rules).graph
    probability, cost = nearby(objective, graph, rules)
    assert probability[0, 1] == 1.0
    assert probability[2, 3] == 0.0
    assert np.isnan(cost[2, 3])


def test_a_direction_that_nothing_tells_is_open():
    """Two variables whose edge is worth the same both ways."""

    class Same:
        quick = True

        def loss(self, parents):
            return 20.0 - 15.0 * len(parents)

        def changes(self, parents, causes):
            return np.array([self.loss(parents ^ {cause}) for cause in causes])

        def by_regime(self, parents):
            return np.array([self.loss(parents), 0.0, 0.0])

    objective = made_up(0, n=2)
    object.__setattr__(objective, "predictors", [Same(), Same()])
    probability, _ = nearby(objective, np.array([[False, True], [False, False]]), free_rules(2))
    assert probability[0, 1] == pytest.approx(probability[1, 0])
    assert probability[0, 1] == pytest.approx(0.5, abs=0.001)
