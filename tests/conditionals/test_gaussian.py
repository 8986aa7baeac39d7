"""The Gaussian head of the fused engine: a density that integrates to one, bounded losses, exact gradients."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from enco.conditionals.continuous import LARGEST_VALUE, LOG_VARIANCE_RANGE, TAIL_SCALE, TAIL_SHARE
from enco.conditionals.heads import losses

LOWEST, HIGHEST = LOG_VARIANCE_RANGE
LARGEST_LOSS = -norm.logpdf(LARGEST_VALUE, 0.0, TAIL_SCALE) - np.log(TAIL_SHARE)


def head(mean, log_variance, y, *, differentiate=False):
    """Loss of each row and, if asked for, its gradient by mean and log-variance, [R, 2]."""
    y = np.atleast_1d(np.asarray(y, np.float32))
    logits = np.array([np.broadcast_to(mean, y.shape), np.broadcast_to(log_variance, y.shape)], np.float32)
    loss = np.empty(len(y), np.float32)
    losses(1, logits, y, loss, len(y), differentiate)
    return (loss.astype(np.float64), logits.T.astype(np.float64)) if differentiate else loss.astype(np.float64)


def exact_loss(mean, log_variance, y):
    deviation = np.exp(0.5 * np.clip(log_variance, LOWEST, HIGHEST))
    return -np.log((1 - TAIL_SHARE) * norm.pdf(y, mean, deviation) + TAIL_SHARE * norm.pdf(y, 0.0, TAIL_SCALE))


def random_parameters(count, seed):
    """Means, log-variances and values as they occur, as float32 would hold them; a third is not far from its mean."""
    rng = np.random.default_rng(seed)
    mean, log_variance = rng.normal(size=count), rng.uniform(LOWEST - 2, HIGHEST + 2, count)
    y = np.clip(rng.normal(0, 4, count), -LARGEST_VALUE, LARGEST_VALUE)
    near = np.arange(count) % 3 == 0
    y[near] = (mean + np.exp(0.5 * log_variance) * rng.normal(size=count))[near].clip(-LARGEST_VALUE, LARGEST_VALUE)
    return (numbers.astype(np.float32).astype(np.float64) for numbers in (mean, log_variance, y))


CLAMPED = [(0.0, LOWEST), (3.0, LOWEST - 10), (-7.0, -1e6), (0.0, HIGHEST), (3.0, HIGHEST + 10), (-7.0, 1e6)]
USUAL = np.random.default_rng(0).uniform([-12, LOWEST], [12, HIGHEST], (12, 2)).tolist()


@pytest.mark.parametrize(("mean", "log_variance"), CLAMPED + USUAL)
def test_the_density_integrates_to_one(mean, log_variance):
    deviation = np.exp(0.5 * np.clip(log_variance, LOWEST, HIGHEST))
    near, far = mean + deviation * np.linspace(-12, 12, 4001), np.linspace(-80, 80, 8001)
    grid = np.unique(np.concatenate([near, far]).astype(np.float32))
    density = np.exp(-head(mean, log_variance, grid))
    assert trapezoid(density, grid.astype(np.float64)) == pytest.approx(1.0, abs=2e-4)


def test_the_loss_is_that_of_the_mixture():
    mean, log_variance, y = random_parameters(3000, 1)
    np.testing.assert_allclose(head(mean, log_variance, y), exact_loss(mean, log_variance, y), rtol=2e-4, atol=1e-5)


def test_the_gradient_is_that_of_finite_differences():
    mean, log_variance, y = random_parameters(3000, 2)
    loss, gradient = head(mean, log_variance, y, differentiate=True)
    assert loss.tolist() == head(mean, log_variance, y).tolist()
    step = 1e-6
    by_mean = (exact_loss(mean + step, log_variance, y) - exact_loss(mean - step, log_variance, y)) / (2 * step)
    by_log = (exact_loss(mean, log_variance + step, y) - exact_loss(mean, log_variance - step, y)) / (2 * step)
    assert (np.abs(by_mean) > 1.0).sum() > 500  # there is something to compare
    assert (np.abs(by_log) > 0.1).sum() > 500
    np.testing.assert_allclose(gradient[:, 0], by_mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(gradient[:, 1], by_log, rtol=1e-3, atol=1e-4)


def test_no_gradient_pushes_a_clamped_variance_further():
    at = np.array([LOWEST - 1, LOWEST - 1e-3, HIGHEST + 1e-3, HIGHEST + 50])
    _, gradient = head(0.1, at, np.zeros(4), differentiate=True)
    assert gradient[:, 1].tolist() == [0.0] * 4
    assert (gradient[:, 0] > 0).all()  # the mean still learns
    _, gradient = head(0.1, np.array([LOWEST + 1e-3, HIGHEST - 1e-3]), np.zeros(2), differentiate=True)
    assert (gradient[:, 1] != 0).all()


@pytest.mark.parametrize("differentiate", [False, True])
def test_one_row_cannot_be_infinitely_surprising(differentiate):
    """Whatever the network says, even when it extrapolates wildly under an intervention."""
    mean, log_variance, y = (
        part.ravel() for part in np.meshgrid([-1e9, -30, 0, 30, 1e9], [-1e9, -9, 0, 4, 1e9], [-10, -0.5, 0, 0.5, 10])
    )
    found = head(mean, log_variance, y, differentiate=differentiate)
    loss, gradient = found if differentiate else (found, np.zeros(2))
    assert (loss <= LARGEST_LOSS + 1e-4).all()
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() < 1e3


def test_an_exact_copy_has_a_finite_density():
    """The narrowest density there is: nothing is gained below the lowest variance."""
    least = head(0.7, LOWEST, 0.7)[0]
    assert least == pytest.approx(0.5 * (np.log(2 * np.pi) + LOWEST) - np.log(1 - TAIL_SHARE), abs=1e-4)
    assert head(0.7, LOWEST - 100, 0.7)[0] == least


def test_far_from_the_mean_the_tail_takes_over():
    y = np.linspace(-LARGEST_VALUE, LARGEST_VALUE, 41)
    loss, gradient = head(100.0, -5.0, y, differentiate=True)
    np.testing.assert_allclose(loss, -np.log(TAIL_SHARE) - norm.logpdf(y, 0.0, TAIL_SCALE), rtol=1e-6)
    assert np.abs(gradient).max() < 1e-12  # an outlier does not pull
