"""exp and log of the kernels: accurate over their range, with and without the optimisations of the kernels."""

import numpy as np
import pytest
from numba import njit

from enco.conditionals.vector_math import FAST, LARGEST_LOGIT, fast_exp, fast_log


@pytest.fixture(scope="module", params=[False, True], ids=["strict", "as in the kernels"])
def over_array(request):
    """Both functions as loops over arrays, compiled with the fast-math flags of the kernels or without any."""
    flags = FAST if request.param else False

    @njit(fastmath=flags, error_model="numpy")
    def exp_loop(x, out):
        for i in range(x.shape[0]):
            out[i] = fast_exp(x[i])

    @njit(fastmath=flags, error_model="numpy")
    def log_loop(x, out):
        for i in range(x.shape[0]):
            out[i] = fast_log(x[i])

    def run(loop, x):
        x = np.asarray(x, np.float32)
        out = np.empty_like(x)
        loop(x, out)
        return x.astype(np.float64), out

    return lambda x: run(exp_loop, x), lambda x: run(log_loop, x)


def test_exp_is_accurate_over_the_whole_range(over_array):
    exp, _ = over_array
    x, found = exp(np.linspace(-60.0, 60.0, 400_001))
    assert np.abs(found / np.exp(x) - 1.0).max() < 2e-7


def test_exp_is_exact_at_zero_and_accurate_near_it(over_array):
    exp, _ = over_array
    x, found = exp([0.0, -0.0, 1e-7, -1e-7, 1e-3, -1e-3])
    assert found[0] == found[1] == 1.0
    np.testing.assert_allclose(found, np.exp(x), rtol=1.5e-7)


def test_exp_clamps_outside_the_range(over_array):
    exp, _ = over_array
    _, found = exp([-np.inf, -1e30, -60.001, -60.0, 60.0, 60.001, 1e30, np.inf])
    assert len(set(found[:4])) == len(set(found[4:])) == 1
    np.testing.assert_allclose(found[[0, -1]], [np.exp(-60.0), np.exp(60.0)], rtol=2e-7)


def test_the_largest_softmax_sum_is_finite(over_array):
    exp, log = over_array
    _, largest = exp([LARGEST_LOGIT])
    total = np.float32(65_535) * largest
    assert np.isfinite(total[0])
    np.testing.assert_allclose(log(total)[1], 60.0 + np.log(65_535), rtol=2e-7)


def test_log_is_accurate_over_the_whole_range(over_array):
    _, log = over_array
    x, found = log(np.exp(np.linspace(-80.0, 80.0, 400_001)))
    assert np.abs(found - np.log(x)).max() < 1e-5
    away = np.abs(np.log(x)) > 0.5
    assert (np.abs(found / np.log(np.where(away, x, 2.0)) - 1.0) < 2e-7)[away].all()


def test_log_keeps_its_relative_accuracy_near_one(over_array):
    _, log = over_array
    x, found = log(np.linspace(0.5, 2.0, 300_001))
    assert log([1.0])[1][0] == 0.0
    away = x != 1.0
    assert np.abs(found[away] / np.log(x[away]) - 1.0).max() < 3e-7


def test_log_of_smallest_and_largest_normal_numbers(over_array):
    _, log = over_array
    limits = np.finfo(np.float32)
    x, found = log([limits.tiny, limits.max, np.exp(-60.0)])
    np.testing.assert_allclose(found, np.log(x), rtol=2e-7)


def test_log_inverts_exp(over_array):
    exp, log = over_array
    x, forth = exp(np.linspace(-60.0, 60.0, 10_001))
    np.testing.assert_allclose(log(forth)[1], x, rtol=3e-7, atol=3e-7)
