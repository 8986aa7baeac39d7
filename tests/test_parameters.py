"""gamma and theta: Adam with one clock per entry, antisymmetric theta, exact state."""

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.parameters import Adam, EdgeParameters


class PlainAdam:
    """Kingma and Ba (2015), Algorithm 1, for one number."""

    def __init__(self, beta1, beta2):
        self.beta1, self.beta2 = beta1, beta2
        self.m = self.v = 0.0
        self.t = 0

    def step(self, gradient, rate):
        self.t += 1
        self.m = self.beta1 * self.m + (1 - self.beta1) * gradient
        self.v = self.beta2 * self.v + (1 - self.beta2) * gradient**2
        m = self.m / (1 - self.beta1**self.t)
        v = self.v / (1 - self.beta2**self.t)
        return -rate * m / (v**0.5 + 1e-8)


@pytest.mark.parametrize("betas", [(0.9, 0.9), (0.9, 0.999)])
def test_adam_equals_one_plain_adam_per_entry(betas):
    rng = np.random.default_rng(0)
    adam = Adam(6, *betas)
    plain = [PlainAdam(*betas) for _ in range(6)]
    for _ in range(60):
        where = np.flatnonzero(rng.random(6) < 0.5)
        gradient = rng.normal(size=len(where)) * 10.0 ** rng.integers(-4, 2)
        rate = rng.random(len(where)) + 0.01
        expected = [plain[k].step(g, r) for k, g, r in zip(where, gradient, rate, strict=True)]
        parameter = np.zeros(6)
        adam.move(parameter, where, gradient, rate)
        np.testing.assert_allclose(parameter[where], expected, rtol=1e-12)
        assert np.count_nonzero(parameter) == len(where)
    assert adam.count.tolist() == [one.t for one in plain]


def test_adam_does_not_touch_what_is_not_named():
    adam = Adam(3, 0.9, 0.999)
    adam.move(np.zeros(3), np.array([0, 1, 2]), np.array([1.0, -2.0, 3.0]), 0.1)
    before = adam.first.copy(), adam.second.copy(), adam.count.copy()
    adam.move(np.zeros(3), np.array([1]), np.array([5.0]), 0.1)
    for array, old in zip((adam.first, adam.second, adam.count), before, strict=True):
        assert array[[0, 2]].tolist() == old[[0, 2]].tolist()
        assert array[1] != old[1]


def test_adam_takes_an_empty_step():
    adam = Adam(2, 0.9, 0.9)
    adam.move(np.zeros(2), np.zeros(0, np.int64), np.zeros(0), 0.1)
    assert adam.count.tolist() == [0, 0]


@pytest.mark.parametrize("betas", [(0.9, 0.9), (0.9, 0.999)])
def test_an_adam_that_coasts_has_gradient_zero_where_none_is_given(betas):
    rng = np.random.default_rng(0)
    adam, parameter = Adam(4, *betas, coasts=True), np.zeros(4)
    plain, expected = [PlainAdam(*betas) for _ in range(4)], np.zeros(4)
    for _ in range(60):
        gradient = np.where(rng.random(4) < 0.3, rng.normal(size=4), 0.0)
        where = np.flatnonzero(gradient)
        adam.move(parameter, where, gradient[where], 0.02)
        expected += [each.step(g, 0.02) for each, g in zip(plain, gradient, strict=True)]
        np.testing.assert_allclose(parameter, expected, rtol=1e-9, atol=1e-12)


def test_the_betas_are_those_of_the_paper():
    parameters = EdgeParameters(Candidates.all_pairs(2))
    assert (parameters.gamma_adam.beta1, parameters.gamma_adam.beta2) == (0.9, 0.9)
    assert (parameters.theta_adam.beta1, parameters.theta_adam.beta2) == (0.9, 0.999)


def test_probabilities():
    parameters = EdgeParameters(Candidates.all_pairs(2))
    parameters.gamma[:] = [0.0, 2.0]
    parameters.theta[:] = [-1.0, 1.0]
    existence = 1 / (1 + np.exp([-0.0, -2.0]))
    orientation = 1 / (1 + np.exp([1.0, -1.0]))
    np.testing.assert_allclose(parameters.existence(), existence)
    np.testing.assert_allclose(parameters.orientation(), orientation)
    np.testing.assert_allclose(parameters.edge_probability(), existence * orientation)
    assert parameters.orientation().sum() == pytest.approx(1.0)


def test_extreme_parameters_stay_finite():
    parameters = EdgeParameters(Candidates.all_pairs(2))
    parameters.gamma[:] = [-1e4, 1e4]
    parameters.theta[:] = [-1e4, 1e4]
    assert parameters.edge_probability().tolist() == [0.0, 1.0]


def test_move_gamma_leaves_the_others_and_theta_alone():
    parameters = EdgeParameters(Candidates.all_pairs(3))
    parameters.move_gamma(np.arange(6), np.ones(6), 0.1)
    before = parameters.state()
    parameters.move_gamma(np.array([2, 5]), np.array([1.0, -1.0]), 0.1)
    after = parameters.state()
    others = [0, 1, 3, 4]
    for name in ("gamma", "gamma.first", "gamma.second", "gamma.count"):
        assert after[name][others].tolist() == before[name][others].tolist()
        assert (after[name][[2, 5]] != before[name][[2, 5]]).all()
    for name in ("theta", "theta.first", "theta.second", "theta.count"):
        assert not after[name].any()


def test_move_gamma_follows_adam():
    parameters = EdgeParameters(Candidates.all_pairs(2))
    plain = PlainAdam(0.9, 0.9)
    expected = 0.0
    for gradient in (0.3, -0.1, 1e-4, 2.0):
        parameters.move_gamma(np.array([1]), np.array([gradient]), 0.04)
        expected += plain.step(gradient, 0.04)
    assert parameters.gamma[1] == pytest.approx(expected, rel=1e-12)
    assert parameters.gamma[0] == 0.0


def assert_antisymmetric(parameters):
    reverse = parameters.candidates.reverse
    both = np.flatnonzero(reverse >= 0)
    adam = parameters.theta_adam
    assert (parameters.theta[both] == -parameters.theta[reverse[both]]).all()
    assert (adam.first[both] == -adam.first[reverse[both]]).all()
    assert (adam.second[both] == adam.second[reverse[both]]).all()
    assert (adam.count[both] == adam.count[reverse[both]]).all()


@pytest.mark.parametrize("density", [1.0, 0.6])
def test_theta_and_its_moments_stay_antisymmetric(density):
    rng = np.random.default_rng(1)
    candidates = Candidates.from_mask(rng.random((5, 5)) < density)
    parameters = EdgeParameters(candidates)
    for target in rng.integers(5, size=40):
        pairs = np.flatnonzero(candidates.cause == target)
        parameters.move_theta(pairs, rng.normal(size=len(pairs)), 0.1)
        assert_antisymmetric(parameters)
    assert np.unique(np.abs(parameters.theta)).size > 5


def test_theta_is_one_adam_whichever_direction_brings_the_gradient():
    candidates = Candidates.all_pairs(2)
    forth, back = (int(np.flatnonzero(candidates.cause == cause)[0]) for cause in (0, 1))
    parameters, plain, expected = EdgeParameters(candidates), PlainAdam(0.9, 0.999), 0.0
    for pair, gradient in [(forth, 0.5), (back, 0.2), (back, -1.5), (forth, 0.1)]:
        parameters.move_theta(np.array([pair]), np.array([gradient]), 0.1)
        expected += plain.step(gradient if pair == forth else -gradient, 0.1)
    assert parameters.theta[forth] == pytest.approx(expected, rel=1e-12)
    assert parameters.theta[back] == -parameters.theta[forth]


def test_a_pair_whose_reverse_is_no_candidate_moves_alone():
    candidates = Candidates.from_mask([[0, 1, 1], [1, 0, 0], [0, 1, 0]])  # 1->0, 0->1, 2->1, 0->2
    assert candidates.reverse.tolist() == [1, 0, -1, -1]
    parameters = EdgeParameters(candidates)
    parameters.move_theta(np.array([2]), np.array([1.0]), 0.1)
    assert parameters.theta.round(6).tolist() == [0.0, 0.0, -0.1, 0.0]  # nothing is written at position -1
    assert parameters.theta_adam.count.tolist() == [0, 0, 1, 0]
    parameters.move_theta(np.array([1, 3]), np.array([1.0, -1.0]), 0.1)
    assert parameters.theta.round(6).tolist() == [0.1, -0.1, -0.1, 0.1]


def test_each_pair_can_have_its_own_theta_rate():
    parameters = EdgeParameters(Candidates.all_pairs(3))
    out_of_first = np.flatnonzero(parameters.candidates.cause == 0)
    parameters.move_theta(out_of_first, np.array([1.0, 1.0]), np.array([0.1, 0.01]))
    assert parameters.theta[out_of_first] == pytest.approx([-0.1, -0.01], rel=1e-6)


def test_reconsider_forgets_gammas_past_and_only_there():
    parameters = EdgeParameters(Candidates.all_pairs(3))
    parameters.move_gamma(np.arange(6), np.arange(6) + 1.0, 0.1)
    parameters.move_theta(np.array([0]), np.array([1.0]), 0.1)
    before = parameters.state()
    parameters.reconsider(np.array([1, 4]), 2.0)
    after = parameters.state()
    assert after["gamma"][[1, 4]].tolist() == [2.0, 2.0]
    for name in ("gamma.first", "gamma.second", "gamma.count"):
        assert after[name][[1, 4]].tolist() == [0, 0]
    rest = [0, 2, 3, 5]
    assert all((after[name][rest] == before[name][rest]).all() for name in before)
    assert (after["theta"] == before["theta"]).all()
    assert (after["theta.count"] == before["theta.count"]).all()


def drive(parameters, rng, steps):
    for _ in range(steps):
        target = rng.integers(4)
        pairs = np.flatnonzero(parameters.candidates.cause == target)
        parameters.move_theta(pairs, rng.normal(size=len(pairs)), 0.1)
        moved = np.flatnonzero(rng.random(parameters.candidates.n_pairs) < 0.5)
        parameters.move_gamma(moved, rng.normal(size=len(moved)), 0.04)


def test_a_restored_state_continues_to_the_same_bits():
    candidates = Candidates.all_pairs(4)
    whole, continued = EdgeParameters(candidates), EdgeParameters(candidates)
    drive(whole, np.random.default_rng(2), 10)
    saved = whole.state()
    drive(whole, np.random.default_rng(3), 10)
    continued.restore(saved)
    assert not np.array_equal(saved["gamma"], whole.gamma)  # a copy, not a view
    drive(continued, np.random.default_rng(3), 10)
    for name, value in whole.state().items():
        assert value.tobytes() == continued.state()[name].tobytes()
