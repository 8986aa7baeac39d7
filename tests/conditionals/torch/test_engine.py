"""The PyTorch engine behind the protocol: exact effects, unbiased sampling, and the same bits again."""

import itertools

import numpy as np
import pytest
import torch

from enco.candidates import Candidates
from enco.conditionals.torch import effects as effects_module
from enco.conditionals.torch.bank import row_chunk
from enco.data import InterventionalData

MIXTURES = {"categorical": (2, 3, 7, 4), "continuous": (0, 0, 0, 0), "mixed": (3, 0, 2, 0)}


def all_rows(regime):
    return np.arange(regime.n_rows)


def half(model):
    return np.full(model.candidates.n_pairs, 0.5)


def everywhere(model):
    return np.ones(model.candidates.n_pairs, bool)


def run(model, data):
    """A bit of everything; returns what came out."""
    first = model.fit(half(model), 30)
    regime = data.interventional[0]
    effects = model.edge_effects(regime, all_rows(regime), half(model), everywhere(model))
    second = model.fit(np.full(model.candidates.n_pairs, 0.8), 20)
    return [first.held_out_loss, first.steps, effects, second.held_out_loss, second.steps, *model.state().values()]


def assert_same_bits(one, other):
    assert [array.tobytes() for array in one] == [array.tobytes() for array in other]


def effects_from_graph_losses(model, regime, graph):
    """Loss with each edge minus without it, the rest of the graph as given."""
    count = model.candidates.n_pairs
    graphs = np.tile(graph, (2 * count, 1))
    graphs[np.arange(count), np.arange(count)] = True
    graphs[count + np.arange(count), np.arange(count)] = False
    losses = model.graph_losses(regime, all_rows(regime), graphs)[:, model.candidates.effect]
    return np.diag(losses[:count]) - np.diag(losses[count:])


# Effects


@pytest.mark.parametrize("settings", [{}, {"layers": 3}, {"density": "dsf"}, {"density": "spline"}], ids=str)
@pytest.mark.parametrize("n_levels", MIXTURES.values(), ids=MIXTURES.keys())
def test_effects_in_a_certain_graph_are_differences_of_losses(make_model, make_data, n_levels, settings):
    data = make_data(n_levels)
    model = make_model(data, **settings)
    model.fit(half(model), 30)
    for probability in (np.zeros(12), np.ones(12), np.arange(12) % 2.0):
        found = model.edge_effects(data.observational, all_rows(data.observational), probability, everywhere(model))
        expected = effects_from_graph_losses(model, data.observational, probability.astype(bool))
        np.testing.assert_allclose(found, expected, atol=3e-6)


@pytest.mark.parametrize("n_levels", [(2, 3, 4), (0, 3, 0)])
def test_effects_are_unbiased(make_model, make_data, n_levels):
    """Against the exact mean over all graphs on the same rows, within the Monte-Carlo error."""
    data = make_data(n_levels, rows=60)
    model = make_model(data)
    model.fit(half(model), 200)
    regime, pairs = data.observational, model.candidates
    probability = np.array([0.2, 0.9, 0.5, 0.35, 0.7, 0.1])
    patterns = np.array(list(itertools.product([False, True], repeat=6)))
    losses = model.graph_losses(regime, all_rows(regime), patterns)[:, pairs.effect]
    weight = np.where(patterns, probability, 1 - probability).prod(axis=1)
    exact = np.array(
        [
            np.average(losses[patterns[:, k], k], weights=weight[patterns[:, k]])
            - np.average(losses[~patterns[:, k], k], weights=weight[~patterns[:, k]])
            for k in range(6)
        ]
    )
    rows = np.tile(all_rows(regime), 20)
    drawn = np.array([model.edge_effects(regime, rows, probability, everywhere(model)) for _ in range(40)])
    error = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn)) + 1e-7
    assert (np.abs(drawn.mean(axis=0) - exact) < 4.5 * error).all()
    assert (error < 0.02).all()


def test_effects_into_targets_and_not_wanted_are_missing(make_model, make_data):
    data = make_data()
    model = make_model(data)
    regime = data.interventional[0]
    for seed in range(5):
        wanted = np.random.default_rng(seed).random(12) < 0.4
        effects = model.edge_effects(regime, all_rows(regime), np.ones(12), wanted)
        computed = wanted & (model.candidates.effect != 0)
        assert (np.isfinite(effects) == computed).all()
        full = model.edge_effects(regime, all_rows(regime), np.ones(12), everywhere(model))
        np.testing.assert_allclose(effects[computed], full[computed], atol=1e-6)
    assert np.isnan(model.edge_effects(regime, all_rows(regime), half(model), np.zeros(12, bool))).all()


@pytest.mark.parametrize("n_levels", MIXTURES.values(), ids=MIXTURES.keys())
def test_small_chunks_change_nothing_but_the_draws(make_model, make_data, monkeypatch, n_levels):
    data = make_data(n_levels)
    model = make_model(data)
    regime, graphs = data.observational, np.random.default_rng(0).random((7, 12)) < 0.5

    def compute():
        always = model.edge_effects(regime, all_rows(regime), np.ones(12), everywhere(model))
        held = model.fit(np.ones(12), 0).held_out_loss
        return [always, held, model.graph_losses(regime, all_rows(regime), graphs)]

    model.fit(np.ones(12), 20)
    whole = compute()
    monkeypatch.setattr("enco.conditionals.torch.bank.BUDGET", 4 * 4 * 10 * 200)
    monkeypatch.setattr(effects_module, "_LEAST_ROWS", 3)
    for one, other in zip(whole, compute(), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)


def test_the_memory_of_a_chunk_is_bounded(make_model, make_data):
    model = make_model(make_data(), hidden=256, density="dsf")
    for bank in model.banks:
        network = bank.network
        assert row_chunk(network, 32) * 32 * network.width * 4 <= 2**25
        assert row_chunk(network, 10**9) == 1


# The same bits


@pytest.mark.parametrize("density", ["gaussian", "dsf", "spline"])
def test_state_and_restore_continue_to_the_same_bits(make_model, make_data, density):
    data = make_data()
    whole, continued = make_model(data, density=density), make_model(data, density=density, seed=0)
    run(whole, data)
    saved = whole.state()
    assert all(type(value) is np.ndarray and value.dtype != object for value in saved.values())
    expected = run(whole, data)
    continued.restore(saved)
    assert_same_bits(run(continued, data), expected)


def test_a_state_is_a_copy(make_model, make_data):
    data = make_data()
    model = make_model(data)
    saved = model.state()
    kept = {name: value.copy() for name, value in saved.items()}
    run(model, data)
    assert all(np.array_equal(saved[name], kept[name]) for name in kept)
    assert all(not np.array_equal(saved[name], value) for name, value in model.state().items())
    model.restore(saved)
    run(model, data)
    assert all(np.array_equal(saved[name], kept[name]) for name in kept)


def test_threads_do_not_change_the_bits(make_model, make_data, monkeypatch):
    monkeypatch.setattr("enco.conditionals.torch.engine.BANK", 2)
    data = make_data((3, 0, 2, 0, 0, 4))
    assert_same_bits(run(make_model(data, n_jobs=2), data), run(make_model(data), data))
    assert len(make_model(data).banks) == 4


def test_the_number_of_threads_of_pytorch_is_left_alone(make_model, make_data):
    before = torch.get_num_threads()
    run(make_model(make_data()), make_data())
    assert torch.get_num_threads() == before


def test_the_seed_decides(make_model, make_data):
    data = make_data()
    torch.manual_seed(1)
    first = run(make_model(data, seed=3), data)
    untouched = torch.random.get_rng_state()
    torch.manual_seed(2)
    assert_same_bits(run(make_model(data, seed=3), data), first)
    torch.manual_seed(1)
    assert torch.equal(torch.random.get_rng_state(), untouched)  # the global stream is neither read nor moved
    one, other = (make_model(data, seed=seed).state()["0.weights"] for seed in (3, 4))
    assert not np.array_equal(one, other)


def test_the_column_argument_permutes(make_model, make_data):
    data = make_data()
    order = np.array([2, 0, 3, 1])
    moved = data.select([data.names[column] for column in order])
    model = make_model(data)
    permuted = make_model(moved, column=np.argsort(order))
    graphs = np.random.default_rng(0).random((5, 12)) < 0.5
    first, second = model.fit(half(model), 60), permuted.fit(half(model), 60)
    assert_same_bits([first.held_out_loss, first.steps], [second.held_out_loss, second.steps])
    assert_same_bits(model.state().values(), permuted.state().values())
    rows = np.arange(0, 200, 3)
    assert_same_bits(
        [
            model.graph_losses(data.observational, rows, graphs),
            model.edge_effects(data.observational, rows, half(model), everywhere(model)),
        ],
        [
            permuted.graph_losses(moved.observational, rows, graphs),
            permuted.edge_effects(moved.observational, rows, half(model), everywhere(model)),
        ],
    )


# Odd data


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_fewer_rows_than_the_batch(make_model, make_data, rows):
    data = make_data(rows=rows)
    model = make_model(data)
    assert np.isfinite(model.fit(half(model), 60).held_out_loss).all()
    regime = data.interventional[0]
    effects = model.edge_effects(regime, np.array([3]), half(model), everywhere(model))
    assert np.isfinite(effects[model.candidates.effect != 0]).all()


def test_variables_with_few_or_no_candidates(make_model, make_data):
    data = make_data()
    candidates = Candidates.from_mask([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]])
    model = make_model(data, candidates=candidates)
    report = model.fit(np.full(3, 0.5), 100)
    assert np.isfinite(report.held_out_loss).all()
    regime = data.interventional[0]
    assert np.isfinite(model.edge_effects(regime, all_rows(regime), np.full(3, 0.5), everywhere(model))).all()
    assert model.graph_losses(regime, all_rows(regime), np.ones((2, 3), bool)).shape == (2, 4)
    nobody = make_model(data, candidates=Candidates.from_mask(np.zeros((4, 4))))
    assert np.isfinite(nobody.fit(np.zeros(0), 20).held_out_loss).all()


def test_more_than_256_levels(make_model, make_data):
    data = make_data((300, 2, 0), rows=900)
    model = make_model(data, batch=256, learning_rate=2e-2)
    before = model.fit(np.ones(6), 0).held_out_loss
    after = model.fit(np.ones(6), 100).held_out_loss
    assert before[0] == pytest.approx(np.log(300), abs=0.3)
    assert after[1] < 0.5
    effects = model.edge_effects(data.observational, np.arange(50), half(model), everywhere(model))
    assert np.isfinite(effects).all()


@pytest.mark.parametrize("density", ["gaussian", "dsf", "spline"])
def test_constant_identical_and_wild_columns(make_model, density):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    x[:, 1] = 5.0
    x[:, 3] = x[:, 2]
    x[7, 0] = 1e30
    data = InterventionalData.from_environments([x, x[:50]], [None, "X1"])
    model = make_model(data, density=density)
    report = model.fit(half(model), 200)
    assert np.isfinite(report.held_out_loss).all()
    effects = model.candidates.dense(
        model.edge_effects(data.observational, all_rows(data.observational), half(model), everywhere(model))
    )
    assert np.isfinite(effects).all()
    assert np.abs(effects[1]).max() < 0.1  # a constant explains nothing
    assert effects[2, 3] < -0.3
