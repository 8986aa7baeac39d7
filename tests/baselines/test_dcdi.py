"""The kernels of DCDI against plain NumPy, its constraint, and its loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy.special import expit, log_softmax
from threadpoolctl import threadpool_limits

from enco.baselines._dcdi_kernels import draw_masks
from enco.baselines.dcdi import DCDISettings
from enco.baselines.dcdi_networks import FusedNetworks
from enco.baselines.dcdi_training import acyclicity, train
from enco.candidates import Candidates
from enco.conditionals.continuous import TAIL_SCALE, TAIL_SHARE
from enco.conditionals.fused.random import new_streams
from enco.data import InterventionalData

PAIRS = Candidates.all_pairs(3)
DECIDED = np.array([20.0, -20.0, 20.0, 20.0, -20.0, 20.0])  # logits: every mask is certain


@njit
def masks(stream, odds, rows):
    present, slope = np.empty((rows, len(odds)), np.uint8), np.empty((rows, len(odds)), np.float32)
    draw_masks(stream, odds, present, slope, rows)
    return present, slope


def networks(data, seed=0, **settings):
    return FusedNetworks(data, PAIRS, DCDISettings(**settings), seed=seed)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    rows = [np.column_stack([rng.integers(3, size=n), rng.integers(2, size=n), rng.normal(size=n)]) for n in (60, 20)]
    kinds = {"X1": "categorical", "X2": "categorical"}
    return InterventionalData.from_environments(rows, [None, "X2"], kinds=kinds)


def reference_loss(model, row, j, mask):
    """Loss of variable j in one row, its parents let through as far as a mask [k] says, in double precision."""
    layout, pairs = model._layout, model._candidates.pairs_into(j)
    begin, end = layout.start[j : j + 2]
    block = model.weights[begin:end].astype(float)
    rows = block.reshape(-1, layout.hidden)
    h = rows[0].copy()
    for weight, cause, first in zip(mask, model._candidates.cause[pairs], layout.table_row[pairs], strict=True):
        x = float(model._values[row, cause])
        h += weight * (x * rows[first] + rows[first + 1] if model._heads.numeric[cause] else rows[first + int(x)])
    out, count = layout.output_row[j], layout.n_outputs[j]
    outputs = rows[out : out + count] @ np.where(h > 0, h, 0.1 * h) + block[(out + count) * layout.hidden :][:count]
    y = float(model._values[row, j])
    if not model._heads.numeric[j]:
        return -log_softmax(outputs)[int(y)]
    densities = [
        share * np.exp(-0.5 * (y - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
        for share, mean, variance in (
            (1 - TAIL_SHARE, outputs[0], np.exp(outputs[1])),
            (TAIL_SHARE, 0.0, TAIL_SCALE**2),
        )
    ]
    return -np.log(sum(densities))


def test_masks_have_the_edge_probability_and_the_slope_of_a_sigmoid():
    logits = np.array([-2.0, 0.0, 3.0])
    present, slope = masks(new_streams(0, 1), np.exp(logits).astype(np.float32), 100_000)
    np.testing.assert_allclose(present.mean(axis=0), expit(logits), atol=0.01)
    # The expected slope of the soft mask, by integrating over the uniform variable.
    u = (np.arange(200_000) + 0.5) / 200_000
    soft = expit(logits[:, None] + np.log(u / (1 - u)))
    np.testing.assert_allclose(slope.mean(axis=0), (soft * (1 - soft)).mean(axis=1), rtol=0.02)


def test_held_out_loss_of_certain_masks(data):
    model = networks(data)
    free = model._free[model._held].astype(bool)
    expected = sum(
        reference_loss(model, row, j, DECIDED[PAIRS.pairs_into(j)] > 0)
        for row, is_free in zip(model._held, free, strict=True)
        for j in np.flatnonzero(is_free)
    )
    loss = model.held_out_loss(DECIDED)
    assert loss == pytest.approx(expected / len(model._held) / 3, rel=1e-4)


def test_gradient_by_logits(data):
    """Slope of the soft mask times the derivative of the loss by the mask, taken by differences."""
    model, logits = networks(data, batch=8), np.linspace(-1, 1, 6)
    rng_state, streams = model._rng.bit_generator.state, model._streams.copy()
    before = model.weights.copy()
    gradient = model.step(logits)
    model._rng.bit_generator.state = rng_state
    batch = model._rng.choice(model._train, 8)
    model.weights = before
    expected, small = np.zeros(6), 1e-5
    for j in range(3):
        pairs = np.arange(6)[PAIRS.pairs_into(j)]
        present, slope = masks(streams[j : j + 1], np.exp(logits[pairs]).astype(np.float32), 8)
        for r, row in enumerate(batch):
            for c, pair in enumerate(pairs):
                step = small * (np.arange(len(pairs)) == c)
                up, down = (reference_loss(model, row, j, present[r] + sign * step) for sign in (1, -1))
                expected[pair] += model._free[row, j] * slope[r, c] * (up - down) / (2 * small) / 8 / 3
    np.testing.assert_allclose(gradient, expected, atol=2e-6)
    assert np.abs(expected).max() > 1e-4


def test_a_step_of_the_networks_follows_their_gradient(data):
    """Adam's first moment after one step is a tenth of the gradient."""
    model = networks(data, batch=8, weight_decay=0.0, learning_rate=1e-9)
    rng_state = model._rng.bit_generator.state
    model.step(DECIDED)
    model._rng.bit_generator.state = rng_state
    batch = model._rng.choice(model._train, 8)
    chosen = np.random.default_rng(1).choice(len(model.weights), 40, replace=False)

    def loss(place, change):
        model.weights[place] += change
        total = sum(
            model._free[row, j] * reference_loss(model, row, j, DECIDED[PAIRS.pairs_into(j)] > 0)
            for row in batch
            for j in range(3)
        )
        model.weights[place] -= change
        return total / 8

    small = np.float32(2.0**-8)
    slopes = [(loss(place, small) - loss(place, -small)) / (2 * small) for place in chosen]
    np.testing.assert_allclose(10 * model._first[chosen], slopes, atol=2e-3)
    assert np.abs(slopes).max() > 0.01


@given(st.integers(0, 10**6))
def test_the_constraint_is_zero_for_acyclic_graphs_only(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(4)
    graph = np.triu(rng.random((4, 4)), 1)[np.ix_(order, order)]
    assert acyclicity(graph)[0] == pytest.approx(0.0, abs=1e-12)
    assert acyclicity(graph + 0.1 * graph.T)[0] > 0 or not graph.any()


def test_the_gradient_of_the_constraint():
    a, small = np.random.default_rng(0).random((3, 3)), 1e-6
    gradient = acyclicity(a)[1]
    for i, j in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[i, j] = small
        assert (acyclicity(a + step)[0] - acyclicity(a - step)[0]) / (2 * small) == pytest.approx(gradient[i, j])


class Indifferent:
    """Networks to which all edges are alike."""

    restarts = 0

    def step(self, logits):
        return np.zeros(len(logits))

    def held_out_loss(self, logits):
        return 1.0

    def restart(self):
        self.restarts += 1


def test_price_and_constraint_take_edges_out_that_earn_nothing():
    model = Indifferent()
    with threadpool_limits(1):
        probability, history = train(model, PAIRS, DCDISettings(max_steps=4000, mu=1e-3, window=20))
    assert history[-1][3] < 1e-7
    assert history[-1][0] < 4000
    assert (probability <= 0.5).all()
    assert model.restarts > 1
