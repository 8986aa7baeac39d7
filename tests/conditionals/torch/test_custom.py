"""A user's own module: what it sees, that it trains, and what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from enco.candidates import Candidates
from enco.conditionals.torch import TorchSettings
from enco.errors import SettingsError

PAGE = Path(__file__).parents[3] / "docs" / "custom_networks.md"
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def two_layers(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, 16), nn.Tanh(), nn.Linear(16, n_outputs))


def encode(data, regime, causes, present):
    """The documented encoding, by hand."""
    terms = []
    for cause, is_there in zip(causes, present, strict=True):
        column = data.column(int(cause), regime)
        if data.n_levels[cause]:
            term = np.equal.outer(column, np.arange(data.n_levels[cause])).astype(float)
        else:
            observed = data.column(int(cause))
            low, high = np.quantile(observed, [0.005, 0.995])
            pulled_in = np.clip(observed.astype(float), low, high)
            term = np.column_stack([(column - pulled_in.mean()) / pulled_in.std(), np.ones(len(column))])
        terms.append(term * is_there)
    return np.concatenate(terms, axis=1)


def test_what_a_module_sees(make_model, make_data):
    data = make_data((3, 0, 2, 0))
    seen = []

    class Watch(nn.Module):
        def __init__(self, n_inputs, n_outputs):
            super().__init__()
            self.linear = nn.Linear(n_inputs, n_outputs)

        def forward(self, x):
            seen.append(x.clone())
            return self.linear(x)

    model = make_model(data, network=Watch)
    graph = np.random.default_rng(0).random((1, 12)) < 0.6
    regime = data.interventional[0]
    seen.clear()
    model.graph_losses(regime, np.arange(regime.n_rows), graph)
    assert len(seen) == 4
    for bank, inputs in zip(model.banks, seen, strict=True):
        pairs = model.candidates.pairs_into(int(bank.variables[0]))
        expected = encode(data, regime, model.candidates.cause[pairs], graph[0, pairs])
        np.testing.assert_allclose(inputs, expected, atol=1e-4)


@pytest.mark.parametrize("density", ["gaussian", "dsf"])
def test_effects_are_differences_of_losses(make_model, make_data, density):
    data = make_data((3, 0, 2, 0))
    model = make_model(data, network=two_layers, density=density)
    model.fit(np.full(12, 0.5), 20)
    regime, rows = data.interventional[0], np.arange(data.interventional[0].n_rows)
    graph = np.arange(12) % 2 == 0
    graphs = np.tile(graph, (24, 1))
    graphs[np.arange(12), np.arange(12)] = True
    graphs[12 + np.arange(12), np.arange(12)] = False
    losses = model.graph_losses(regime, rows, graphs)[:, model.candidates.effect]
    expected = np.where(model.candidates.effect == 0, np.nan, np.diag(losses[:12]) - np.diag(losses[12:]))
    found = model.edge_effects(regime, rows, graph.astype(float), np.ones(12, bool))
    np.testing.assert_allclose(found, expected, atol=3e-6)


def test_a_module_trains_and_continues_to_the_same_bits(make_model, make_data):
    data = make_data((3, 0, 2), rows=400)
    model, other = (make_model(data, network=two_layers) for _ in range(2))
    before = model.fit(np.ones(6), 0).held_out_loss
    assert (model.fit(np.ones(6), 200).held_out_loss[:2] < before[:2] - 0.2).all()
    other.restore(model.state())
    one, two = (m.fit(np.full(6, 0.5), 30) for m in (model, other))
    assert one.held_out_loss.tobytes() == two.held_out_loss.tobytes()
    assert [value.tobytes() for value in model.state().values()] == [
        value.tobytes() for value in other.state().values()
    ]


def test_the_seed_decides_the_initial_parameters(make_model, make_data):
    data = make_data()
    torch.manual_seed(5)
    untouched = torch.random.get_rng_state()
    first, second, third = (make_model(data, network=two_layers, seed=seed).state() for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), untouched)
    assert np.array_equal(first["0.weights"], second["0.weights"])
    assert not np.array_equal(first["0.weights"], third["0.weights"])


def test_a_variable_without_candidates(make_model, make_data):
    candidates = Candidates.from_mask([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]])

    class Free(nn.Module):  # PyTorch warns about Linear layers without inputs, so this one has a bias of its own
        def __init__(self, n_inputs, n_outputs):
            super().__init__()
            self.bias = nn.Parameter(torch.zeros(n_outputs))
            self.weight = nn.Parameter(torch.zeros(n_inputs, n_outputs))

        def forward(self, x):
            return x @ self.weight + self.bias

    model = make_model(make_data(), candidates=candidates, network=Free)
    assert np.isfinite(model.fit(np.full(2, 0.5), 20).held_out_loss).all()


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda n, k: "no module", "returned a str, not an nn.Module"),
        (lambda n, k: nn.Linear(n, k + 1), "must return shape"),
        (lambda n, k: nn.Linear(n + 1, k), "fails on an input of shape"),
        (lambda n, k: nn.Sequential(nn.Linear(n, k), nn.Dropout()), "contains Dropout"),
        (lambda n, k: nn.Sequential(nn.BatchNorm1d(n), nn.Linear(n, k)), "contains BatchNorm1d"),
        (lambda n, k: nn.Linear(n, k).double(), "not float32"),
        (lambda n, k: nn.Identity(), "no parameters"),
    ],
)
def test_modules_that_are_refused(make_model, make_data, factory, message):
    with pytest.raises(SettingsError, match=message):
        make_model(make_data(), network=factory)


def test_a_network_has_to_be_a_function():
    with pytest.raises(SettingsError, match="setting network must be a function"):
        TorchSettings(network=3)


def test_the_page_has_an_example():
    assert PYTHON


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_the_examples_of_the_page_run(code):
    exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})
