"""The same weights in both engines: the same losses and the same edge effects."""

from types import SimpleNamespace

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.errors import SettingsError


def make_fused(data, candidates, hidden=16):
    return FusedConditionals(data, candidates, settings=NetworkSettings(hidden=hidden, batch=64), seed=5, n_jobs=1)


def test_categorical_losses_and_effects(make_model, make_data):
    data = make_data((2, 3, 7, 4))
    candidates = Candidates.from_mask([[0, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]])
    fused = make_fused(data, candidates)
    fused.fit(np.full(candidates.n_pairs, 0.5), 300)
    model = make_model(data, candidates=candidates)
    model.load_fused(fused)
    regime, rows = data.interventional[0], np.arange(data.interventional[0].n_rows)
    graphs = np.random.default_rng(0).random((20, candidates.n_pairs)) < 0.5
    found, expected = (engine.graph_losses(regime, rows, graphs) for engine in (model, fused))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for graph in (*graphs[:3], np.zeros_like(graphs[0]), np.ones_like(graphs[0])):
        found, expected = (
            engine.edge_effects(regime, rows, graph.astype(float), np.ones(candidates.n_pairs, bool))
            for engine in (model, fused)
        )
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_continuous_weights_against_numpy(make_model, make_data):
    """The layout of the fused engine with continuous columns, and the network by hand."""
    data = make_data((3, 0, 2, 0))
    candidates = Candidates.all_pairs(4)
    rows_of, outputs_of = np.array([3, 2, 2, 2]), np.array([3, 2, 2, 2])
    hidden, rng = 16, np.random.default_rng(0)
    start, table_row, output_row = [0], np.zeros(12, np.int64), np.zeros(4, np.int64)
    for effect in range(4):
        pairs = candidates.pairs_into(effect)
        sizes = rows_of[candidates.cause[pairs]]
        table_row[pairs] = 1 + np.cumsum(sizes) - sizes
        output_row[effect] = 1 + sizes.sum()
        start.append(start[-1] + (output_row[effect] + outputs_of[effect] + 1) * hidden)
    layout = SimpleNamespace(
        hidden=hidden, start=np.array(start), table_row=table_row, output_row=output_row, n_outputs=outputs_of
    )
    weights = (0.3 * rng.normal(size=start[-1])).astype(np.float32)
    model = make_model(data)
    model.load_fused(SimpleNamespace(layout=layout, weights=weights, candidates=candidates))

    regime = data.observational
    values = Standardisation.of(data).apply(regime.reals)
    columns = [regime.codes[:, 0], values[:, 0], regime.codes[:, 1], values[:, 1]]
    graph = rng.random(12) < 0.7
    found = model.graph_losses(regime, np.arange(regime.n_rows), graph[None])[0]
    for effect in range(4):
        block = weights[start[effect] : start[effect + 1]].reshape(-1, hidden).astype(float)
        h = np.tile(block[0], (regime.n_rows, 1))
        for pair in np.arange(12)[candidates.pairs_into(effect)][graph[candidates.pairs_into(effect)]]:
            cause, row = candidates.cause[pair], table_row[pair]
            if data.n_levels[cause]:
                h += block[row + columns[cause].astype(int)]
            else:
                h += np.outer(columns[cause], block[row]) + block[row + 1]
        first, count = output_row[effect], outputs_of[effect]
        out = np.where(h > 0, h, 0.1 * h) @ block[first : first + count].T + block[first + count, :count]
        if data.n_levels[effect]:
            loss = np.log(np.exp(out).sum(1)) - out[np.arange(len(out)), columns[effect]]
        else:
            variance = np.exp(np.clip(out[:, 1], -9, 4))
            density = np.exp(-((columns[effect] - out[:, 0]) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
            tail = np.exp(-(columns[effect] ** 2) / 50) / np.sqrt(50 * np.pi)
            loss = -np.log(0.99 * density + 0.01 * tail)
        assert found[effect] == pytest.approx(loss.mean(), abs=1e-5)


@pytest.mark.parametrize("settings", [{"layers": 2}, {"hidden": 8}])
def test_other_networks_are_refused(make_model, make_data, settings):
    data = make_data((2, 3))
    with pytest.raises(SettingsError, match="one hidden layer of 16 units"):
        make_model(data, **settings).load_fused(make_fused(data, Candidates.all_pairs(2)))


def test_other_outputs_are_refused(make_model, make_data):
    fused = make_fused(make_data((2, 9)), Candidates.all_pairs(2))
    with pytest.raises(SettingsError, match="9 outputs in the fused engine and 3 here"):
        make_model(make_data((2, 3))).load_fused(fused)
