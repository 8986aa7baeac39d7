"""The named examples are what the appendix says they are."""

import numpy as np
import pytest

from enco.errors import SettingsError
from enco.simulate import SCM, NeuralCategorical, examples


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_every_example_draws_data(name):
    model = examples.EXAMPLES[name]()
    assert isinstance(model, SCM)
    assert model.dataset(20, 5, rng=np.random.default_rng(0)).n_variables == len(model.variables)


def test_worked_chain():
    joint = examples.worked_chain().joint_probabilities()
    assert joint.sum(axis=(1, 2)) == pytest.approx([0.3, 0.7])
    assert joint[1, 1].sum() / 0.7 == pytest.approx(0.6)
    assert joint[:, 0, 1].sum() / joint[:, 0].sum() == pytest.approx(0.8)


@pytest.mark.parametrize("epsilon", [0.1, 0.45])
def test_exclusive_or_says_nothing_about_one_coin(epsilon):
    joint = examples.noisy_xor(epsilon).joint_probabilities()
    assert joint[0, 1, 1] == joint[1, 0, 1] == pytest.approx((1 - epsilon) / 4)
    assert joint[0, 0, 1] == joint[1, 1, 1] == pytest.approx(epsilon / 4)
    assert joint.sum(axis=1) == pytest.approx(np.full((2, 2), 0.25))


def test_fully_connected_follows_x1():
    joint = examples.fully_connected(0.9, (0.02, 0.07)).joint_probabilities()
    assert joint[0, 0, 1] / joint[0, 0].sum() == pytest.approx(0.02)
    assert joint[1, 1, 0] / joint[1, 1].sum() == pytest.approx(0.07)
    assert joint[1, 1].sum() == pytest.approx(0.45)


@pytest.mark.parametrize("seed", range(3))
def test_cancelling_paths_depend_on_both_parents(seed):
    model = examples.cancelling_paths(seed)
    joint = model.joint_probabilities()
    assert joint[0, 1].sum() == joint[1, 0].sum() == 0
    table = model.mechanisms[2].table[:, 1]
    assert len(set(table.round(2))) == 4
    assert ((table > 0) & (table < 1)).all()


def test_deterministic_chain():
    joint = examples.deterministic_chain(0.3).joint_probabilities()
    assert joint[1, 1, 1] == pytest.approx(0.3)
    assert np.count_nonzero(joint) == 2


@pytest.mark.parametrize("seed", range(4))
def test_deterministic_random(seed):
    model = examples.deterministic_random(25, seed)
    n_parents, n_children = model.adjacency.sum(axis=0), model.adjacency.sum(axis=1)
    assert n_parents.max() <= 3
    for position, mechanism in enumerate(model.mechanisms):
        if n_parents[position] and n_children[position]:
            assert set(np.unique(mechanism.table)) == {0.0, 1.0}
        elif n_parents[position]:
            assert isinstance(mechanism, NeuralCategorical)
        else:
            assert 0 < mechanism.probabilities().max() < 1
    again = examples.deterministic_random(25, seed)
    assert np.array_equal(model.adjacency, again.adjacency)


def test_mistakes():
    for call in (
        lambda: examples.noisy_xor(1.5),
        lambda: examples.fully_connected(copy=-0.1),
        lambda: examples.fully_connected(epsilon=(0.1, 2.0)),
        lambda: examples.deterministic_chain(1.0),
    ):
        with pytest.raises(SettingsError):
            call()
