"""Did an intervention do anything? p-values that are right without an effect, and small with one."""

import numpy as np
import pytest

from enco import simulate
from enco.data import InterventionalData
from enco.interventions.two_sample import effect_p_values
from enco.simulate.experiments import experiment


def p_values(data):
    return np.array([p for found in effect_p_values(data) for p in found.values()])


@pytest.mark.parametrize(("kind", "rows"), [("categorical", 20), ("categorical", 200), ("continuous", 100)])
def test_without_an_effect_p_values_are_uniform(kind, rows):
    """Of 120, as many as there should be are below every level, within four standard errors."""
    found = []
    for seed in range(12):
        rng = np.random.default_rng([seed, rows])
        model = getattr(simulate, kind)("random", 10, rng, edge_probability=0.3)
        found += p_values(experiment(model, 1000, rows, rng, failed=1.0).data).tolist()
    p = np.array(found)
    for level in (0.01, 0.05, 0.2, 0.5):
        assert np.mean(p <= level) < level + 4 * np.sqrt(level * (1 - level) / len(p))
    assert np.mean(p <= 0.5) > 0.35


@pytest.mark.parametrize("kind", ["categorical", "continuous"])
def test_with_an_effect_they_are_small(kind):
    rng = np.random.default_rng(1)
    model = getattr(simulate, kind)("random", 10, rng, edge_probability=0.3)
    assert (p_values(model.dataset(2000, 200, rng=rng)) < 1e-3).all()


def test_a_target_that_keeps_its_marginal_is_told_by_its_neighbours():
    """b copies a, and is a fair coin by itself; where it is set, it is a fair coin that copies nothing."""
    rng = np.random.default_rng(0)

    def draw(rows, target=None):
        a = rng.integers(2, size=rows)
        return np.column_stack([a, rng.integers(2, size=rows) if target else a, rng.integers(2, size=rows)])

    data = InterventionalData.from_environments([draw(1000), draw(100, "b")], [None, "b"], names=["a", "b", "c"])
    assert p_values(data)[0] < 1e-3


def test_permuted_labels_have_no_effect():
    rng = np.random.default_rng(3)
    model = simulate.categorical("random", 8, rng, edge_probability=0.4)
    data = model.dataset(1000, 200, rng=rng)
    rows = np.concatenate([regime.codes for regime in data.regimes])
    labels = rng.permutation(np.repeat(np.arange(9), [1000] + [200] * 8))
    blocks = [rows[labels == k] for k in range(9)]
    permuted = InterventionalData.from_environments(blocks, [None, *range(8)])
    assert np.sort(p_values(permuted))[1] > 0.01  # of eight


def test_rows_and_columns_may_be_in_any_order():
    rng = np.random.default_rng(5)
    model = simulate.continuous("random", 6, rng, edge_probability=0.4)
    data = experiment(model, 500, 60, rng, failed=0.5).data
    turned = data.select(data.names[::-1])
    names = [data.names[j] for found in effect_p_values(data) for j in found]
    again = [turned.names[j] for found in effect_p_values(turned) for j in found]
    one, other = (dict(zip(n, p_values(d), strict=True)) for n, d in ((names, data), (again, turned)))
    for name in one:
        assert (one[name] < 0.01) == (other[name] < 0.01)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_a_constant_target_is_no_accident(value):
    rng = np.random.default_rng(0)
    knocked_out = rng.normal(size=(40, 3))
    knocked_out[:, 1] = value
    data = InterventionalData.from_environments([rng.normal(size=(400, 3)), knocked_out], [None, 1])
    assert p_values(data)[0] < 1e-3


def test_few_rows_of_many_levels():
    """One row, levels that only the regime has, and a constant column: a p-value all the same."""
    observed = np.column_stack([np.arange(30) % 7, np.zeros(30, int), np.arange(30) % 2])
    data = InterventionalData.from_environments([observed, [[9, 0, 1]], [[3, 5, 0], [4, 6, 1]]], [None, 0, 1])
    assert ((p_values(data) > 0) & (p_values(data) <= 1)).all()
