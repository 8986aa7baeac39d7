"""What the PyTorch engine learns: known conditional distributions, the information in an edge, and odd shapes."""

import numpy as np
import pytest

from enco import simulate
from enco.data import InterventionalData
from enco.gradients import independent

ALWAYS, EVERYWHERE = np.ones(2), np.ones(2, bool)


def pair_data(x, y):
    return InterventionalData.from_environments([np.column_stack([x, y])], [None])


@pytest.mark.parametrize("density", ["gaussian", "dsf", "spline"])
def test_the_effect_of_a_linear_edge_is_its_information(make_model, density):
    """For y = 2x + noise, x tells log(5) / 2 nats about y, whatever the units, and y as much about x."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    data = pair_data(1e3 * x - 7, 2 * x + rng.normal(size=4000))
    model = make_model(data, hidden=32, batch=128, density=density)
    report = model.fit(np.full(2, 0.5), 350)
    effects = model.edge_effects(data.observational, np.arange(4000), np.full(2, 0.5), EVERYWHERE)
    np.testing.assert_allclose(effects, -0.5 * np.log(5), atol=0.08)
    # Half of the graphs have the edge; the entropy of a normal is log(sd) + 1.4189 nats.
    exact = np.log([1e3, np.sqrt(5)]) + 1.4189 - 0.25 * np.log(5)
    np.testing.assert_allclose(report.held_out_loss, exact, atol=0.12)


def test_flows_learn_two_humps_that_depend_on_the_parent(make_model):
    """The distance of the humps is |x|: mean and variance are all a Gaussian can follow."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0.5, 3.0, size=3000)
    data = pair_data(x, rng.choice([-1.0, 1.0], size=3000) * x + 0.15 * rng.normal(size=3000))
    loss = {}
    for density in ("gaussian", "dsf", "spline"):
        model = make_model(data, hidden=32, batch=128, density=density)
        loss[density] = model.fit(ALWAYS, 450).held_out_loss[1]
    best = np.log(2) + np.log(0.15) + 1.4189
    assert best - 0.1 < loss["dsf"] < loss["gaussian"] - 0.4
    assert best - 0.1 < loss["spline"] < loss["gaussian"] - 0.4


def test_categorical_conditionals(make_model):
    """One network knows p(X given any subset of parents): its losses approach the conditional entropies."""
    scm = simulate.from_cpts({"A": ([], [0.2, 0.5, 0.3]), "B": (["A"], [[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]])})
    data = scm.dataset(8000, 10, rng=np.random.default_rng(1))
    model = make_model(data, batch=128)
    model.fit(np.full(2, 0.5), 500)
    joint = scm.joint_probabilities()
    entropy = [-(p * np.log(p)).sum() for p in (joint.sum(1), joint.sum(0), joint)]
    graphs = np.array([[False, False], [True, True]])
    found = model.graph_losses(data.observational, np.arange(8000), graphs)
    np.testing.assert_allclose(found[0], entropy[:2], atol=0.03)
    np.testing.assert_allclose(found[1], [entropy[2] - entropy[1], entropy[2] - entropy[0]], atol=0.03)


def test_kinds_may_be_mixed(make_model):
    """A level shifts a number by 3 standard deviations: each gives the other away almost entirely."""
    rng = np.random.default_rng(2)
    level = rng.integers(2, size=3000)
    number = 6.0 * level + rng.normal(size=3000)
    data = InterventionalData.from_environments(
        [np.column_stack([level, number])], [None], kinds={"X1": "categorical", "X2": "continuous"}
    )
    assert data.kinds == ("categorical", "continuous")
    model = make_model(data, batch=128)
    model.fit(np.full(2, 0.5), 400)
    effects = model.edge_effects(data.observational, np.arange(3000), np.full(2, 0.5), EVERYWHERE)
    assert effects[0] == pytest.approx(-np.log(2), abs=0.08)  # number -> level: all of it
    assert effects[1] < -0.8  # level -> number: more, since one normal does not describe two humps


def test_deeper_networks_learn_a_product(make_model):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 2))
    data = InterventionalData.from_environments(
        [np.column_stack([x, x[:, 0] * x[:, 1] + 0.1 * rng.normal(size=4000)])], [None]
    )
    model = make_model(data, layers=2, hidden=32, batch=128)
    model.fit(np.ones(6), 500)
    found = model.graph_losses(data.observational, np.arange(4000), np.ones((1, 6), bool))[0, 2]
    assert found < 0.0  # without its parents, about 1.3


def test_the_paper_s_estimator_agrees(make_model):
    """Edge effects from K whole graphs approach the paired ones."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=1000)
    data = pair_data(x, x + 0.5 * rng.normal(size=1000))
    model = make_model(data)
    model.fit(np.full(2, 0.5), 300)
    rows, probability = np.arange(1000), np.full(2, 0.5)
    one = model.edge_effects(data.observational, rows, probability, EVERYWHERE)
    other = independent(model, data.observational, rows, probability, EVERYWHERE, np.random.default_rng(0), 50)
    np.testing.assert_allclose(one, other, atol=0.1)
