"""Tables of counts: each row is predicted from all others."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enco.data import InterventionalData, Regime, Variable
from enco.fitting import counts
from enco.fitting.counts import Counts, Family, distinct


def left_out_losses(values, levels, order, strengths):
    """The formula in the module's words, one row left out at a time and one parent joining at a time."""
    losses = []
    for row, value in enumerate(values):
        others = np.delete(values, row, axis=0)
        probability = 1.0 / levels
        for joined, strength in zip(range(len(order) + 1), strengths, strict=True):
            parents = list(order[:joined])
            alike = others[(others[:, parents] == value[parents]).all(axis=1)]
            same = np.count_nonzero(alike[:, -1] == value[-1])
            probability = (same + strength * probability) / (len(alike) + strength)
        losses.append(-np.log(probability))
    return np.array(losses)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([0.5, 2.0, 16.0]))
def test_losses_are_those_of_rows_left_out(seed, strength):
    rng = np.random.default_rng(seed)
    n_levels = rng.integers(2, 5, size=3)
    values = rng.integers(n_levels, size=(rng.integers(5, 60), 3))
    kind = rng.integers(3, size=len(values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "STRENGTHS", np.array([strength]))
        family = Family(values, n_levels, kind)
        ways = [left_out_losses(values, n_levels[-1], order, [strength] * 3) for order in ((0, 1), (1, 0))]
        alone = [left_out_losses(values, n_levels[-1], (parent,), [strength] * 2).sum() for parent in (0, 1)]
        expected = ways[int(np.argmin(alone))]  # the better parent joins first
        assert family.loss([0, 1]) == pytest.approx([expected[kind == k].sum() for k in range(3)])
        last = left_out_losses(values, n_levels[-1], (0, 1), [strength] * 3)
        assert family.gain([0], 1).sum() == pytest.approx(alone[0] - last.sum())
    assert family.rows.tolist() == np.bincount(kind, minlength=3).tolist()


@pytest.mark.parametrize("levels", [2, 5, 20])
def test_a_useless_parent_earns_next_to_nothing(levels):
    """However many cells it makes; a parent that matters earns what it should."""
    rng = np.random.default_rng(levels)
    cause, useless = rng.integers(levels, size=(2, 4000))
    effect = np.where(rng.random(4000) < 0.5, cause, rng.integers(levels, size=4000))
    family = Family(np.column_stack([cause, useless, effect]), np.full(3, levels), np.zeros(4000, int))
    assert abs((family.loss([0]) - family.loss([0, 1])).sum()) < 5.0
    assert abs((family.loss([]) - family.loss([1])).sum()) < 5.0
    kept = 0.5 + 0.5 / levels  # probability of the cause's value
    information = np.log(levels) + kept * np.log(kept) + (1 - kept) * np.log(0.5 / levels)
    assert (family.loss([]) - family.loss([0])).sum() == pytest.approx(4000 * information, rel=0.15)


def test_a_variable_that_sums_up_the_parents_earns_nothing_beside_them():
    """Of 400 configurations of the parents, most have few rows: their sum would help, if it were asked first."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(20, size=(2, 1500))
    effect = np.where(rng.random(1500) < 0.7, (a + b) // 4, rng.integers(10, size=1500))
    family = Family(np.column_stack([a, b, a + b, effect]), np.array([20, 20, 39, 10]), np.zeros(1500, int))
    assert (family.loss([0, 1]) - family.loss([0, 1, 2])).sum() > 50
    assert family.gain([0, 1], 2).sum() < 3
    assert family.gain([2], 0).sum() < 3


def test_a_function_is_learned_from_few_rows():
    """Eight rows for each configuration: too much smoothing would let any further parent seem to help."""
    rng = np.random.default_rng(0)
    values = rng.integers(5, size=(1000, 4))
    effect = rng.integers(5, size=(5, 5, 5))[tuple(values[:, :3].T)]
    family = Family(np.column_stack([values, effect]), np.full(5, 5), np.zeros(1000, int))
    assert family.gain([0, 1, 2], 3).sum() < 5
    assert min(family.gain({0, 1, 2} - {k}, k).sum() for k in range(3)) > 500


@pytest.mark.parametrize("largest", [1 << 62, 5])
@pytest.mark.parametrize("sparse", [0, 1000])
def test_distinct_rows_even_if_there_could_be_more_than_numbers(largest, sparse, monkeypatch):
    monkeypatch.setattr(counts, "LARGEST", largest)
    monkeypatch.setattr(counts, "SPARSE", sparse)
    rows = np.random.default_rng(0).integers(3, size=(400, 5))
    where, which = distinct(rows, np.full(5, 3))
    assert (rows[where][which] == rows).all()
    assert len(where) == len(np.unique(rows, axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_the_expected_gain_of_rows_is_that_of_all_rows_with_the_same_parents(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers([3, 2, 4], size=(200, 3))
    kind = rng.integers(3, size=200)
    family = Family(values, np.array([3, 2, 4]), kind)
    rows = [Family(values, np.array([3, 2, 4]), np.where(np.arange(200) == r, 2, 0)) for r in range(200)]
    gain = np.array([alone.gain([0], 1)[2] for alone in rows])
    expected = sum(gain[(values[:, :2] == parents).all(axis=1)].mean() for parents in values[kind == 2, :2])
    assert family.expected_gain([0], 1) == pytest.approx(expected)
    everywhere = Family(values, np.array([3, 2, 4]), np.full(200, 2))
    assert everywhere.expected_gain([0], 1) == pytest.approx(everywhere.gain([0], 1)[2])


def make_data():
    """Three categorical variables, a continuous one in between; columns hold 0, 1 and 2 times ten plus the regime."""
    variables = [Variable(name, "categorical", tuple(range(30))) for name in "abc"]
    variables.insert(1, Variable("x", "continuous"))
    regimes = [
        Regime(targets, np.tile(np.arange(3) * 10 + k, (rows, 1)).astype(np.uint8), np.zeros((rows, 1), np.float32))
        for k, (targets, rows) in enumerate([((), 6), ((0,), 4), ((2, 3), 5)])
    ]
    return InterventionalData(variables, regimes)


def test_rows_leave_the_effect_free_and_columns_come_in_the_order_of_the_graph():
    counted = Counts.of(make_data(), np.array([3, 2, 1, 0]))  # c, b, x, a
    values, regime = counted.rows([3, 0], 1)  # parents a and c, effect b: a target of the last regime
    assert values[:, 0].tolist() == [0] * 6 + [1] * 4
    assert values[:, 1:].tolist() == [[20, 10]] * 6 + [[21, 11]] * 4
    assert regime.tolist() == [0] * 6 + [1] * 4
    assert counted.rows([], 3)[0].ravel().tolist() == [0] * 6 + [2] * 5


def test_rows_are_told_apart_by_what_was_done_to_the_last_parent():
    counted = Counts.of(make_data(), np.arange(4))
    assert counted.family([], 0).rows.tolist() == [6, 5, 0]
    assert counted.family([3], 2).rows.tolist() == [6, 4, 0]
    assert counted.family([3, 0], 2).rows.tolist() == [6, 0, 4]
    assert counted.family([0, 3], 2).rows.tolist() == [6, 4, 0]


def test_only_categorical_families_are_counted():
    graph = np.zeros((4, 4), bool)
    graph[1, 2] = graph[0, 3] = True  # x -> b, a -> c
    counted = Counts.of(make_data(), np.arange(4))
    assert counted.countable(graph).tolist() == [True, False, False, True]


def test_mean_losses_of_interventional_rows():
    graph = np.zeros((4, 4), bool)
    graph[0, 3] = True
    data = make_data()
    counted = Counts.of(data, np.arange(4))
    mean = counted.losses(graph, np.array([True, False, False, True]))
    assert np.isinf(mean[1:3]).all()
    for effect, parents in ((0, []), (3, [0])):
        family = counted.family(parents, effect)
        assert mean[effect] == pytest.approx(family.loss(range(len(parents)))[1:].sum() / family.rows[1:].sum())
    nothing = Counts.of(data.without_regimes([("a",), ("b", "c")]), np.arange(4))
    assert nothing.losses(graph, np.array([False, False, False, True]))[3] == 0.0


def test_tables_know_nothing_where_every_row_has_parents_of_its_own():
    counted = Counts.of(make_data(), np.arange(4))
    own = replace(counted, codes=np.arange(3 * len(counted.codes), dtype=np.uint8).reshape(-1, 3) % 30)
    graph = np.zeros((4, 4), bool)
    graph[0, 3] = True
    asked = np.array([False, False, False, True])
    assert np.isfinite(counted.losses(graph, asked)[3])
    assert np.isinf(own.losses(graph, asked)[3])


def best_of_all(smoothed):
    return max((smoothed(strength) for strength in counts.STRENGTHS), key=lambda found: found[0])[1]


@pytest.mark.parametrize("seed", range(20))
def test_climbing_finds_the_best_strength(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n_levels = rng.integers(2, 12, 3)
    values = rng.integers(n_levels, size=(600, 3))
    values[:, 2] = np.where(rng.random(600) < rng.random(), values[:, 0] % n_levels[2], values[:, 2])
    climbed = Family(values, n_levels, np.zeros(600, int)).loss([0, 1])
    monkeypatch.setattr(counts, "_climb", best_of_all)
    assert climbed.sum() == pytest.approx(Family(values, n_levels, np.zeros(600, int)).loss([0, 1]).sum(), rel=1e-12)


def test_the_first_rows_of_every_regime_if_there_are_too_many():
    counted = Counts.of(make_data(), np.arange(4), most_rows=4)
    assert np.bincount(counted.regime).tolist() == [4, 2, 2]


def test_more_rows_where_the_last_parent_was_set():
    counted = Counts.of(make_data(), np.arange(4), most_rows=4)
    assert counted.family([3, 0], 2).rows.tolist() == [4, 0, 2]
    family = counted.family([3, 0], 2, every_set_row=True)
    assert family.rows.tolist() == [4, 0, 4]
    values, kind = np.array([[20, 0, 10]] * 4 + [[21, 1, 11]] * 4), np.repeat([0, 2], 4)
    assert family.loss([0, 1]).tolist() == Family(values, np.full(3, 30), kind).loss([0, 1]).tolist()
