import numpy as np
import pytest
from scipy.stats import norm

import enco.conditionals.regression as module
from enco.conditionals import _regression_kernels as kernels
from enco.conditionals.continuous import TAIL_SCALE, TAIL_SHARE
from enco.conditionals.regression import Regression, Rows, _Layer


def rows(n: int, inputs: int, seed: int = 0) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, inputs)).astype(np.float32)
    return np.hstack([x, np.ones((n, 1), np.float32)]), rng


def random_layer(inputs: int, rng: np.random.Generator) -> _Layer:
    layer = _Layer.random(inputs, 5, 0.3, rng)
    return _Layer(layer.weights + 0.5 * rng.normal(size=len(layer.weights)), 5)


def jacobian(layer: _Layer, x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    columns = []
    for k in range(len(layer.weights)):
        change = np.zeros(len(layer.weights))
        change[k] = step
        up, down = _Layer(layer.weights + change, layer.units), _Layer(layer.weights - change, layer.units)
        columns.append((up(x).astype(float) - down(x)) / (2 * step))
    return np.array(columns).T


@pytest.mark.parametrize(("n", "inputs"), [(1, 0), (3, 3), (256, 4), (700, 7)])
def test_kernels_agree_with_numpy(n, inputs):
    x, rng = rows(n, inputs)
    layer = random_layer(inputs + 1, rng)
    pull, root = rng.normal(size=n).astype(np.float32), rng.uniform(size=n).astype(np.float32)
    into, out, linear = layer.parts
    hidden = x.astype(float) @ into
    slope = np.where(hidden > 0, 1, 0.1)
    by_into = (x[:, :, None] * (slope * out)[:, None, :]).reshape(n, -1)
    expected = np.hstack([by_into, hidden * slope, x])
    np.testing.assert_allclose(layer(x), hidden * slope @ out + x @ linear, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(layer.jacobian(x, root), root[:, None] * expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(layer.gradient(x, pull), expected.T @ pull, rtol=1e-4, atol=1e-3)


def test_equations_are_solved_or_refused():
    rng = np.random.default_rng(0)
    root, right = rng.normal(size=(30, 20)), rng.normal(size=20)
    square = root.T @ root + np.eye(20)
    np.testing.assert_allclose(square @ kernels.solve(square, right), right, atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        kernels.solve(square - 100.0 * np.eye(20), right)


def test_a_step_survives_curvature_that_rounding_made_indefinite(monkeypatch):
    train, _ = kinked()
    layer, tried = Regression.random(train, np.random.default_rng(0)).mean, []

    def solve(square, right):
        tried.append(square[0, 0])
        if len(tried) == 1:
            raise np.linalg.LinAlgError
        return np.zeros_like(right)

    monkeypatch.setattr(kernels, "solve", solve)
    values = layer(train.inputs)
    weight = np.ones_like(values)
    after, _ = layer.step(train.inputs, values, weight, weight, lambda _: 0.0)
    assert len(tried) == module.TRIES
    assert tried[1] > tried[0]
    np.testing.assert_array_equal(after.weights, layer.weights)


def test_losses_agree_with_numpy():
    rng = np.random.default_rng(2)
    y, mean, spread = (rng.normal(scale=scale, size=200).astype(np.float32) for scale in (2, 2, 9))
    log_variance = np.clip(spread.astype(float), -18, 4)
    inside = np.log1p(-TAIL_SHARE) + norm.logpdf(y.astype(float), mean, np.exp(0.5 * log_variance))
    tail = np.log(TAIL_SHARE) + norm.logpdf(y.astype(float), 0, TAIL_SCALE)
    np.testing.assert_allclose(kernels.losses(y, mean, spread), -np.logaddexp(inside, tail), rtol=1e-4, atol=1e-4)


def test_gradient_and_curvature_are_those_of_finite_differences():
    x, rng = rows(40, 2)
    layer = random_layer(3, rng)
    pull, weight = rng.normal(size=40).astype(np.float32), rng.uniform(0.5, 2, size=40).astype(np.float32)
    expected = jacobian(layer, x)
    np.testing.assert_allclose(layer.gradient(x, pull), expected.T @ pull, rtol=2e-2, atol=2e-2)
    square = layer.curvature(x, weight)
    np.testing.assert_allclose(
        np.tril(square), np.tril(expected.T @ (weight[:, None] * expected)), rtol=2e-2, atol=5e-2
    )


def test_curvature_from_some_of_many_rows_is_near_that_of_all(monkeypatch):
    x, rng = rows(20_000, 2)
    layer = random_layer(3, rng)
    weight = np.ones(len(x), np.float32)
    some = np.tril(layer.curvature(x, weight))
    monkeypatch.setattr(module, "ROWS_PER_WEIGHT", len(x))
    every = np.tril(layer.curvature(x, weight))
    assert np.abs(some - every).max() < 0.3 * np.abs(every).max()
    assert np.abs(np.diag(some) / np.diag(every) - 1).mean() < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_densities_integrate_to_one(seed):
    x, rng = rows(3, 2, seed)
    regression = Regression(random_layer(3, rng), random_layer(3, rng))
    grid = np.linspace(-60, 60, 120_001, dtype=np.float32)
    for row in x:
        losses = regression.losses(Rows(np.repeat(row[None], len(grid), axis=0), grid))
        assert np.trapezoid(np.exp(-losses), grid) == pytest.approx(1, abs=2e-3)


def test_pulls_are_the_derivatives_of_the_loss():
    rng = np.random.default_rng(1)
    y, mean, spread = (rng.normal(size=50).astype(np.float32) for _ in range(3))
    step = np.float32(1e-2)
    down = (kernels.losses(y, mean + step, spread) - kernels.losses(y, mean - step, spread)) / (2 * step)
    np.testing.assert_allclose(kernels.mean_terms(y, mean, spread)[1], -down, atol=5e-3)
    down = (kernels.losses(y, mean, spread + step) - kernels.losses(y, mean, spread - step)) / (2 * step)
    np.testing.assert_allclose(kernels.spread_terms(y, mean, spread)[1], -down, atol=5e-3)


def kinked(n: int = 6000, noise: float = 0.002) -> tuple[Rows, Rows]:
    """A function with kinks and little noise, as stochastic gradients hardly learn it."""
    x, rng = rows(n, 2)
    y = np.abs(x[:, 0] - 0.5 * x[:, 1]) - 0.7 * np.maximum(0, x[:, 1]) + noise * rng.normal(size=n).astype(np.float32)
    return Rows(x[: n // 2], y[: n // 2]), Rows(x[n // 2 :], y[n // 2 :])


def test_a_function_is_learned_down_to_its_noise():
    train, others = kinked()
    found = Regression.random(train, np.random.default_rng(0)).fit(train, others)
    at_best = 0.5 * np.log(2 * np.pi * np.e * 0.002**2)
    assert found.losses(others).mean() < at_best + 0.3


def test_noise_that_depends_on_the_inputs_is_learned():
    x, rng = rows(8000, 1)
    y = (x[:, 0] + np.exp(0.8 * x[:, 0]) * rng.normal(size=len(x))).astype(np.float32)
    train, others = Rows(x[:4000], y[:4000]), Rows(x[4000:], y[4000:])
    found = Regression.random(train, rng).fit(train, others)
    inner = np.abs(x[:, 0]) < 1.5
    assert np.abs(found.spread(x)[inner] - 1.6 * x[inner, 0]).mean() < 0.35


def test_an_exact_copy_has_a_finite_loss():
    x, rng = rows(1000, 1)
    train, others = Rows(x[:500], x[:500, 0]), Rows(x[500:], x[500:, 0])
    loss = Regression.random(train, rng).fit(train, others).losses(others)
    assert np.isfinite(loss).all()
    assert loss.mean() < -3


def test_outliers_do_not_move_the_mean():
    x, rng = rows(4000, 1)
    y = (2 * x[:, 0] + 0.1 * rng.normal(size=len(x))).astype(np.float32)
    y[::200] = 10.0
    train, others = Rows(x[:2000], y[:2000]), Rows(x[2000:], y[2000:])
    found = Regression.random(train, rng).fit(train, others)
    assert np.abs(found.mean(x) - 2 * x[:, 0]).mean() < 0.03


def test_new_inputs_change_nothing_at_first_and_useless_ones_can_go():
    train, others = kinked()
    found = Regression.random(train, np.random.default_rng(0)).fit(train, others)
    noise = np.random.default_rng(1).normal(size=(len(others.target), 1)).astype(np.float32)
    wider = found.with_inputs(np.eye(4)[[0, 2, 3]])
    more = Rows(np.hstack([others.inputs[:, :1], noise, others.inputs[:, 1:]]), others.target)
    np.testing.assert_allclose(wider.losses(more), found.losses(others), atol=1e-3)
    again = wider.with_inputs(np.eye(4)[:, [0, 2, 3]])
    np.testing.assert_allclose(again.losses(others), found.losses(others), atol=1e-3)
    assert more.of(np.array([0, 2])).inputs.tolist() == others.inputs.tolist()


def test_expected_gains_tell_what_is_missing_from_what_is_not():
    train, others = kinked()
    known = np.array([0])
    blind = train.of(known)
    found = Regression.random(blind, np.random.default_rng(0)).fit(blind, others.of(known))
    rng = np.random.default_rng(1)
    more = np.column_stack([train.inputs[:, 1], rng.normal(size=(len(blind.target), 2))]).astype(np.float32)
    missing, noise, two = found.expected_gains(blind, more, [np.array([0]), np.array([1]), np.array([1, 2])])
    assert missing > 200
    weights = 1 + module.MEAN_UNITS  # of an input: half a nat each in rows learned from, and again in others
    assert -weights <= noise < 40 - weights
    assert -2 * weights <= two < 80 - 2 * weights


def test_a_hopeless_fit_ends_soon():
    train, others = kinked()
    steps = []
    found = Regression.random(train, np.random.default_rng(0)).fit(train, others, go_on=lambda: steps.append(0))
    blind = np.array([0])
    narrow, unseen = train.of(blind), others.of(blind)
    tries: list[int] = []
    without = Regression.random(narrow, np.random.default_rng(0)).fit(
        narrow,
        unseen,
        goal=(found.learned, 0.05 * len(train.target)),
        go_on=lambda: tries.append(0),
    )
    assert without.learned > found.learned + 1000
    assert len(tries) < len(steps)


def test_training_can_be_interrupted():
    train, others = kinked(400)

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        Regression.random(train, np.random.default_rng(0)).fit(train, others, go_on=stop)


def test_an_input_that_others_stand_in_for():
    """The third input is a linear function of the others: the regression without it says the same."""
    x, rng = rows(500, 2)
    more = np.column_stack([x[:, 0], x[:, 1], 2 * x[:, 0] - x[:, 1] + 0.5, x[:, 2]])
    found = Regression(random_layer(4, rng), random_layer(4, rng))
    without = found.with_inputs(np.array([[1.0, 0, 0], [0, 1, 0], [2, -1, 0.5], [0, 0, 1]]))
    np.testing.assert_allclose(without.mean(x), found.mean(more), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(without.spread(x), found.spread(more), rtol=1e-3, atol=1e-3)
