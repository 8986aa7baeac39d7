"""The objective: what a family costs, what a graph is worth, and what an edge does under interventions on its cause."""

import numpy as np
import pytest

from enco.data import Regime
from enco.score.objective import Objective, families_of


class Written:
    """Losses of one variable in three regimes, written down: ten nats, less five for every parent, times the regime."""

    def by_regime(self, parents):
        return (10.0 - 5.0 * len(parents) + sum(parents)) * np.array([1.0, 2.0, 3.0])

    def loss(self, parents):
        return float(self.by_regime(parents).sum())

    def changes(self, parents, causes):
        return np.array([self.loss(parents ^ {cause}) for cause in causes])


REGIMES = [
    Regime(targets, np.zeros((n, 3), np.uint8), np.zeros((n, 0), np.float32))
    for targets, n in (((), 100), ((0,), 20), ((1, 2), 3))
]
EVERY = [frozenset(range(3)) - {effect} for effect in range(3)]


def objective(**options):
    return Objective([Written()] * 3, EVERY, REGIMES, **({"sparsity": 0.1, "evidence": 4.0} | options))


def test_an_edge_costs_sparsity_in_rows_that_intervene_elsewhere_and_evidence_once():
    """The 100 observational rows cost nothing."""
    assert [objective().edge_price(effect) for effect in range(3)] == pytest.approx([4.3, 6.0, 6.0])
    wrong = objective(errors=[0.0, 2.5, 0.0])
    assert [wrong.edge_price(effect) for effect in range(3)] == pytest.approx([4.3, 8.5, 6.0])


def test_a_family_costs_its_losses_and_its_edges():
    assert objective().price(1, frozenset()) == 60.0
    assert objective().price(1, frozenset({0})) == pytest.approx(30.0 + 6.0)
    assert objective().price(1, frozenset({0, 2})) == pytest.approx(12.0 + 12.0)


def test_changes_are_differences_of_prices():
    for effect in range(3):
        for parents in (frozenset(), EVERY[effect], frozenset({min(EVERY[effect])})):
            changes = objective().changes(effect, parents)
            assert list(changes) == sorted(EVERY[effect])
            for cause, change in changes.items():
                wanted = objective().price(effect, parents ^ {cause}) - objective().price(effect, parents)
                assert change == pytest.approx(wanted)


def test_changes_of_some_causes():
    assert list(objective().changes(0, frozenset({1}), [2])) == [2]
    assert objective().changes(0, frozenset({1}), []) == {}
    narrow = Objective([Written()] * 3, [frozenset()] * 3, REGIMES, 0.1, 4.0)
    assert narrow.changes(0, frozenset()) == {}
    assert list(narrow.changes(0, frozenset({2}))) == [2]  # a parent that is no candidate can leave


def test_the_total_is_the_sum_over_families():
    graph = np.zeros((3, 3), bool)
    graph[0, 1] = graph[0, 2] = graph[1, 2] = True
    asked = objective()
    wanted = asked.price(0, frozenset()) + asked.price(1, frozenset({0})) + asked.price(2, frozenset({0, 1}))
    assert asked.total(graph) == pytest.approx(wanted)
    assert families_of(graph) == [(0, frozenset()), (1, frozenset({0})), (2, frozenset({0, 1}))]


@pytest.mark.parametrize("parents", [frozenset(), frozenset({0}), frozenset({2})])
def test_harm_is_counted_where_the_cause_was_set_and_the_effect_left_free(parents):
    """Variable 0 was set in the second regime only; the third sets 1 and 2 and says nothing about edges into them."""
    having, lacking = Written().by_regime(parents | {0}), Written().by_regime(parents - {0})
    assert objective().under_intervention_on(0, 1, parents) == pytest.approx((having - lacking)[1])
    assert objective().under_intervention_on(1, 2, frozenset()) == 0.0
    assert objective().under_intervention_on(2, 0, frozenset()) == pytest.approx(3 * (2 - 5))
