"""Distribution fitting: early stopping for each variable, Adam, and what an absent parent means."""

import numpy as np
import pytest
import torch

from enco.candidates import Candidates
from enco.conditionals.torch import TorchSettings, training
from enco.data import InterventionalData


def all_rows(regime):
    return np.arange(regime.n_rows)


def half(model):
    return np.full(model.candidates.n_pairs, 0.5)


# Early stopping


@pytest.mark.parametrize("density", ["gaussian", "dsf", "spline"])
def test_more_steps_never_raise_the_held_out_loss(make_model, make_data, density):
    """Too few rows for the network: training on would overfit, but the best weights are kept."""
    data = make_data(rows=60)
    model = make_model(data, density=density, learning_rate=2e-2)
    always = np.ones(12)  # no sampling, so losses of different stages compare exactly
    reported = [model.fit(always, steps).held_out_loss for steps in (0, 100, 100)]
    assert (np.diff(reported, axis=0) <= 2e-6).all()  # centring rounds in the last bits
    assert (reported[-1] < reported[0]).any()
    np.testing.assert_allclose(model.fit(always, 0).held_out_loss, reported[-1], atol=2e-6)


def test_a_variable_stops_when_its_held_out_loss_does(make_model, make_data):
    data = make_data((0, 0, 0, 0), rows=60)
    report = make_model(data, check_every=10, patience=3, learning_rate=2e-2).fit(np.ones(12), 3000)
    assert (report.steps < 3000).all()
    assert (report.steps % 10 == 0).all()
    assert (report.steps >= 30).all()
    assert len(set(report.steps.tolist())) > 1  # each for itself


def test_held_out_graphs_stay_when_variables_stop(make_model, make_data, monkeypatch):
    """A variable that trains on is judged on the graphs it was judged on before."""
    data = make_data((0, 0, 0, 0), rows=100)
    model = make_model(data, check_every=5, patience=2, learning_rate=1e-2)
    seeds = []
    original = training.held_out_losses

    def spy(network, weights, rows, probability, seed, index=None):
        losses = original(network, weights, rows, probability, seed, index)
        seeds.append(seed)
        if index is not None:
            full = original(network, model.banks[0].weights, rows, probability, seed)
            alone = original(network, model.banks[0].weights[index], rows, probability, seed, index)
            np.testing.assert_allclose(alone, full[index], rtol=1e-6)
        return losses

    monkeypatch.setattr(training, "held_out_losses", spy)
    report = model.fit(half(model), 400)
    assert len(set(report.steps.tolist())) > 1
    assert len(set(seeds)) == 1


def test_steps_are_counted_for_each_variable(make_model, make_data):
    data = make_data((0, 0, 0, 0), rows=60)
    model = make_model(data, check_every=10, patience=2, learning_rate=2e-2)
    taken = sum(model.fit(np.ones(12), 300).steps for _ in range(3))
    bank = model.banks[0]
    assert bank.counters.tolist() == taken[bank.variables].tolist()


def test_adam_is_adam(make_model, make_data):
    """Against the formula in NumPy, with variables at different step numbers."""
    rng = np.random.default_rng(0)
    weights, gradient, first = rng.normal(size=(3, 2, 5))
    second = rng.random((2, 5))
    number = np.array([[1], [40]])
    g = gradient + 0.1 * weights
    m, v = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
    expected = weights - 0.05 * (m / (1 - 0.9**number)) / (np.sqrt(v / (1 - 0.999**number)) + 1e-8)
    tensors = [torch.tensor(array, dtype=torch.float32) for array in (weights, gradient, first, second)]
    settings = TorchSettings(learning_rate=0.05, weight_decay=0.1)
    training.adam(*tensors, torch.from_numpy(number[:, 0]), settings)
    for found, exact in zip((tensors[0], tensors[2], tensors[3]), (expected, m, v), strict=True):
        np.testing.assert_allclose(found, exact, rtol=2e-5)


def test_an_absent_parent_is_an_average_one(make_model, make_data):
    """After every stage, tables of categorical variables have mean zero over the training rows; others are left."""
    data = make_data((3, 0, 2, 0, 5), rows=300)
    candidates = Candidates.from_mask(np.array([[0, 1, 1, 0, 1]] * 3 + [[0, 0, 1, 0, 1]] * 2))
    model = make_model(data, candidates=candidates)
    model.fit(half(model), 50)
    means = {}
    for bank in model.banks:
        for kind in ("codes", "reals"):
            pair = bank.network.parents.pairs(kind)
            slots = torch.arange(pair.shape[1]).expand_as(pair)
            mean = bank.network.contribution(bank.weights, model._train, kind, slots).mean(2).abs().amax(-1)
            means.update({int(k): float(value) for k, value in zip(pair.ravel(), mean.ravel(), strict=True)})
    for k, (cause, effect) in enumerate(zip(candidates.cause, candidates.effect, strict=True)):
        centred = data.n_levels[cause] > 0 and data.n_levels[effect] > 0
        assert (means[k] < 2e-6) == centred, (cause, effect)


@pytest.mark.parametrize("probability", [0.1, 0.9])
def test_an_effect_does_not_depend_on_how_often_the_parent_is_there(make_model, probability):
    """A density is wide without its parent and narrow with it, also at an average value of the parent."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    data = InterventionalData.from_environments([np.column_stack([x, 2 * x + rng.normal(size=3000)])], [None])
    model = make_model(data, batch=128)
    model.fit(np.full(2, 0.5), 400)
    model.fit(np.full(2, probability), 100)
    found = model.edge_effects(data.observational, np.arange(3000), np.full(2, probability), np.ones(2, bool))
    np.testing.assert_allclose(found, -0.5 * np.log(5), atol=0.08)


def test_centring_keeps_what_is_certain(make_model, make_data):
    """With every parent always present, the mean moves into the bias and no loss changes."""
    data = make_data((3, 0, 2, 0))
    model = make_model(data)
    model.fit(np.ones(12), 0)
    before = model.graph_losses(data.observational, all_rows(data.observational), np.ones((1, 12), bool))
    for bank in model.banks:
        bank.network.center(bank.weights, model._train, torch.ones((1, 1)), torch.ones(13))
    after = model.graph_losses(data.observational, all_rows(data.observational), np.ones((1, 12), bool))
    np.testing.assert_allclose(after, before, atol=1e-6)
