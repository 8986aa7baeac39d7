"""Heads: every density integrates to one, agrees with its formula, and survives whatever a network puts out."""

import numpy as np
import pytest
import torch

from enco.conditionals.continuous import LARGEST_VALUE, LOG_VARIANCE_RANGE, TAIL_SCALE, TAIL_SHARE
from enco.conditionals.heads import HEADS
from enco.conditionals.torch.heads import RegisteredHead, SigmoidalFlowHead, torch_head
from enco.conditionals.torch.heads.dsf import LARGEST_SLOPE, sigmoidal_layer
from enco.conditionals.torch.heads.spline import SplineHead

OF_KIND = {head.kind: head for head in HEADS}
DENSITIES = ["gaussian", "dsf", "spline"]


def continuous_head(density):
    return torch_head(OF_KIND["continuous"], torch.zeros(1, dtype=torch.int64), density)


def categorical_head(n_levels):
    return RegisteredHead(OF_KIND["categorical"], n_levels)


def random_parameters(head, count, scale, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn((count, head.n_outputs), generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("scale", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("density", DENSITIES)
def test_densities_integrate_to_one(density, scale):
    head = continuous_head(density)
    # Points dense near zero and reaching out to a million: flat flows have wide densities.
    t = torch.linspace(-15.0, 15.0, 60_001, dtype=torch.float64)
    y = torch.sinh(t)
    for parameters in random_parameters(head, 6, scale):
        loss = head.loss(parameters.expand(1, len(y), -1), y[None])[0]
        assert float(torch.trapezoid((-loss).exp() * torch.cosh(t), t)) == pytest.approx(1.0, abs=1e-4)


def test_probabilities_of_levels_sum_to_one():
    n_levels = torch.tensor([2, 5, 3])
    head = categorical_head(n_levels)
    parameters = 5 * torch.randn((3, 4, 5), generator=torch.Generator().manual_seed(0))
    total = torch.zeros(3, 4)
    for level in range(5):
        term = (-head.loss(parameters, torch.full((3, 4), level))).exp()
        assert (term[n_levels <= level] == 0).all()
        total += term
    np.testing.assert_allclose(total, 1.0, atol=1e-6)


def test_the_gaussian_loss_is_its_formula():
    rng = np.random.default_rng(0)
    mean, log_variance, y = rng.normal(size=(3, 2, 50)) * [[[1.0]], [[6.0]], [[3.0]]]
    variance = np.exp(np.clip(log_variance, *LOG_VARIANCE_RANGE))
    network = np.exp(-((y - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    tail = np.exp(-(y**2) / (2 * TAIL_SCALE**2)) / np.sqrt(2 * np.pi * TAIL_SCALE**2)
    expected = -np.log((1 - TAIL_SHARE) * network + TAIL_SHARE * tail)
    found = continuous_head("gaussian").loss(torch.from_numpy(np.stack([mean, log_variance], -1)), torch.from_numpy(y))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_categorical_loss_is_its_formula():
    rng = np.random.default_rng(0)
    n_levels = np.array([3, 7])
    logits = 40 * rng.normal(size=(2, 30, 7))
    y = rng.integers(n_levels[:, None], size=(2, 30))
    clamped = np.clip(logits, -60, 60)
    expected = np.zeros((2, 30))
    for variable, row in np.ndindex(2, 30):
        own = clamped[variable, row, : n_levels[variable]]
        expected[variable, row] = np.log(np.exp(own).sum()) - own[y[variable, row]]
    head = categorical_head(torch.from_numpy(n_levels))
    np.testing.assert_allclose(head.loss(torch.from_numpy(logits), torch.from_numpy(y)), expected, atol=1e-9)


def test_values_broadcast_over_toggles():
    head = categorical_head(torch.tensor([2, 3]))
    parameters = torch.randn((2, 4, 5, 3), generator=torch.Generator().manual_seed(0))
    y = torch.tensor([[0, 1, 0, 1, 1], [2, 1, 0, 2, 2]])
    together = head.loss(parameters, y[:, None])
    assert together.shape == (2, 4, 5)
    assert torch.equal(together[:, 1], head.loss(parameters[:, 1], y))
    flow = SigmoidalFlowHead()
    assert flow.loss(torch.zeros(2, 4, 5, flow.n_outputs), torch.zeros(2, 1, 5)).shape == (2, 4, 5)


def test_selected_variables_keep_their_levels():
    head = categorical_head(torch.tensor([2, 5, 3]))
    parameters = torch.randn((3, 6, 5), generator=torch.Generator().manual_seed(0))
    y = torch.ones((3, 6), dtype=torch.int64)
    index = torch.tensor([2, 0])
    assert torch.equal(head.select(index).loss(parameters[index], y[index]), head.loss(parameters, y)[index])


def test_the_slope_of_a_sigmoidal_layer():
    generator = torch.Generator().manual_seed(0)
    log_slope, shift, weight = torch.randn((3, 9), generator=generator, dtype=torch.float64) * 2
    x = torch.linspace(-9, 9, 101, dtype=torch.float64, requires_grad=True)
    y, log_derivative = sigmoidal_layer(x, log_slope, shift, torch.log_softmax(weight, -1))
    (slope,) = torch.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(log_derivative.exp().detach(), slope, rtol=1e-9)
    assert (log_derivative <= log_slope.max() + 1e-12).all()  # nowhere steeper than its steepest unit


@pytest.mark.parametrize(("density", "most"), [("gaussian", 0.02), ("spline", 0.02), ("dsf", 0.5)])
def test_zero_outputs_are_close_to_the_standard_normal(density, most):
    head = continuous_head(density)
    y = torch.linspace(-2, 2, 41)[None]
    normal = 0.5 * y**2 + 0.5 * np.log(2 * np.pi)
    assert (head.loss(torch.zeros(1, 41, head.n_outputs), y) - normal).abs().max() < most


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_losses_and_gradients_are_finite_whatever_a_network_puts_out(density, scale):
    head = continuous_head(density)
    parameters = random_parameters(head, 400, scale, seed=1).float().requires_grad_()
    y = torch.linspace(-LARGEST_VALUE, LARGEST_VALUE, 400)
    loss = head.loss(parameters[None], y[None])
    (gradient,) = torch.autograd.grad(loss.sum(), parameters)
    assert torch.isfinite(loss).all()
    assert torch.isfinite(gradient).all()
    # The tail bounds the loss of one row from above, slopes and variances bound it from below.
    tail = 0.5 * (LARGEST_VALUE / TAIL_SCALE) ** 2 - np.log(TAIL_SHARE / TAIL_SCALE / np.sqrt(2 * np.pi))
    assert loss.max() <= tail + 1e-4
    assert loss.min() >= -np.log(100 * np.exp(-0.5 * LOG_VARIANCE_RANGE[0]))


def test_numbers_that_heads_ask_for():
    assert SigmoidalFlowHead(units=5).n_outputs == 30
    assert SplineHead(bins=4).n_outputs == 13
    narrowest = np.exp(0.5 * LOG_VARIANCE_RANGE[0])
    assert narrowest * LARGEST_SLOPE**2 == pytest.approx(1.0, rel=0.2)
