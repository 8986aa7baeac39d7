"""Beyond the budget: what is drawn is right, the report says so, and enough budget gives the exact answer."""

import numpy as np
import pytest

from enco.errors import SettingsError
from enco.simulate import categorical, from_bif
from enco.theory import check_conditions
from enco.theory.elimination import Factor, TableTooLargeError, marginal
from enco.theory.regime_tables import ModelTables
from enco.theory.scores import subset_scores


@pytest.mark.parametrize("seed", range(6))
def test_elimination_agrees_with_the_joint(random_model, seed):
    model = random_model(seed, 4)
    tables = ModelTables(model)
    for scope in ([0], [2, 1], [3, 0, 2], [1, 3, 0, 2]):
        table = tables.table(scope)
        for target in (None, *range(4)):
            do = None if target is None else {f"V{target}": None}
            joint = model.joint_probabilities(do=do)
            expected = joint.sum(axis=tuple(k for k in range(4) if k not in scope))
            expected = expected.transpose(np.argsort(np.argsort(scope)))
            row = 0 if target is None else table.row_of[target]
            np.testing.assert_allclose(table.values[row], expected, atol=1e-14)


def test_elimination_refuses_large_tables():
    pair = Factor((0, 1), np.ones((1, 10, 10)))
    with pytest.raises(TableTooLargeError, match="100 cells"):
        marginal([pair], [0], [10, 10], max_cells=99)


def test_every_subset_is_scored_once(random_model):
    model = random_model(3, 4)
    table = ModelTables(model).table([0, 1, 2, 3])
    scored = subset_scores(table.values, (0, 1, 2), table.row_of)
    for mask in range(8):
        kept = [k for k in range(3) if mask >> k & 1]
        part = ModelTables(model).table([*kept, 3])
        log_p = np.log(part.values[0] / part.values[0].sum(axis=-1, keepdims=True))
        expected = [(part.values[part.row_of[k]] * log_p).sum() for k in range(4)]
        np.testing.assert_allclose([scored.scores[table.row_of[k], mask] for k in range(4)], expected, atol=1e-12)


def test_a_small_budget_draws_sets_and_says_so():
    model = from_bif("asia")
    exact, drawn = check_conditions(model), check_conditions(model, budget=300)
    assert exact.exhaustive
    assert not drawn.exhaustive
    assert not drawn.guaranteed
    for pair in drawn.pairs:
        whole = exact.pair(pair.cause, pair.effect)
        assert 0 < pair.own.examined <= pair.own.possible == 64
        assert pair.own.minimum >= whole.own.minimum - 1e-9
        assert pair.own.maximum <= whole.own.maximum + 1e-9
        if pair.edge:
            assert pair.largest_sparsity >= whole.largest_sparsity - 1e-9
    assert "sampled" in str(drawn)
    assert "seed 0" in str(drawn)
    assert drawn == check_conditions(model, budget=300)


def test_drawn_gains_are_exact_for_the_sets_they_name():
    model = from_bif("asia")
    tables = ModelTables(model)
    for pair in check_conditions(model, budget=300, seed=5).pairs:
        scope = [model.position(name) for name in (*pair.own.smallest.parents, pair.cause)]
        table = tables.table([*scope, model.position(pair.effect)])
        scored = subset_scores(table.values, tuple(scope), table.row_of)
        row, full = table.row_of[model.position(pair.cause)], 2 ** len(scope) - 1
        expected = scored.scores[row, full] - scored.scores[row, full >> 1]
        assert pair.own.smallest.value == pytest.approx(expected, abs=1e-9)


def test_more_budget_reaches_the_exact_answer():
    model = from_bif("asia")
    assert check_conditions(model, budget=8 * 128).exhaustive
    near = check_conditions(model, budget=8 * 127)
    exact = check_conditions(model)
    agree = [p.own.minimum == pytest.approx(exact.pair(p.cause, p.effect).own.minimum, abs=1e-9) for p in near.pairs]
    assert np.mean(agree) > 0.8


def test_a_network_of_twenty_variables():
    report = check_conditions(from_bif("child"), budget=2000)
    assert len(report.edges) == 25
    assert all(pair.own.examined > 0 for pair in report.pairs)
    assert report.pair("Disease", "Sick").own.possible == 2**18
    assert report.status == "fails"


def test_too_dense_for_an_exact_check(monkeypatch):
    model = categorical("full", 7, np.random.default_rng(0), categories=4)
    monkeypatch.setattr("enco.theory.regime_tables.MAX_CELLS", 60_000)
    monkeypatch.setattr("enco.theory.conditions.MAX_CELLS", 60_000)
    with pytest.raises(SettingsError, match="too densely connected"):
        check_conditions(model, budget=200)


def test_too_many_parents():
    model = categorical("collider", 9, np.random.default_rng(0), categories=10)
    with pytest.raises(SettingsError, match="8 parents"):
        check_conditions(model)
