import numpy as np
import pytest
from scipy import stats

from enco.errors import SettingsError
from enco.simulate import AdditiveNetwork, LinearGaussian, NonadditiveNetwork

NO_CODES = np.zeros((6000, 0), dtype=np.uint8)
NO_REALS = np.zeros((6000, 0), dtype=np.float32)


@pytest.mark.parametrize("kind", [LinearGaussian, AdditiveNetwork, NonadditiveNetwork])
def test_roots_are_gaussian_with_variance_between_one_and_two(kind):
    rng = np.random.default_rng(0)
    variances = []
    for _ in range(300):
        mechanism = kind.random([], rng)
        variances.append(mechanism.sd**2)
    assert stats.kstest(variances, stats.uniform(1, 1).cdf).pvalue > 1e-6
    drawn = mechanism.sample(NO_CODES, NO_REALS, rng)
    assert drawn.dtype == np.float32
    assert stats.kstest(drawn, stats.norm(0, mechanism.sd).cdf).pvalue > 1e-6


def test_linear_draws_are_gaussian_around_the_weighted_sum():
    mechanism = LinearGaussian([0, 3, 0], real_weights=[0.5, -1.0], tables=[[0.0, 1.0, -2.0]], sd=0.7)
    rng = np.random.default_rng(1)
    codes = rng.integers(3, size=(6000, 1)).astype(np.uint8)
    reals = rng.normal(size=(6000, 2)).astype(np.float32)
    expected = 0.5 * reals[:, 0] - reals[:, 1] + np.array([0.0, 1.0, -2.0])[codes[:, 0]]
    np.testing.assert_allclose(mechanism.mean(codes, reals), expected, atol=1e-5)
    residuals = mechanism.sample(codes, reals, rng) - expected
    assert stats.kstest(residuals, stats.norm(0, 0.7).cdf).pvalue > 1e-6


def test_linear_weights_keep_away_from_zero():
    rng = np.random.default_rng(2)
    weights = np.concatenate([LinearGaussian.random([0] * 5, rng).real_weights for _ in range(400)])
    assert (np.abs(weights) >= 0.25).all()
    assert stats.kstest(np.abs(weights), stats.uniform(0.25, 0.75).cdf).pvalue > 1e-6
    assert stats.binomtest(int((weights > 0).sum()), len(weights)).pvalue > 1e-6
    tables = LinearGaussian.random([4], rng).tables
    assert [len(table) for table in tables] == [4]


def test_noise_of_children_is_scaled():
    rng = np.random.default_rng(3)
    for kind in (LinearGaussian, AdditiveNetwork, NonadditiveNetwork):
        sds = np.array([kind.random([0], rng).sd for _ in range(300)])
        assert stats.kstest((sds / 0.4) ** 2, stats.uniform(1, 1).cdf).pvalue > 1e-6
        assert kind.random([0], rng, noise_scale=1.0).sd >= 1.0


@pytest.mark.parametrize("activation", ["leaky_relu", "tanh"])
def test_additive_network_by_hand(activation):
    mechanism = AdditiveNetwork.random([0, 3], np.random.default_rng(4), activation=activation)
    network = mechanism.network
    assert network.real_weights.shape == (1, 10)
    rng = np.random.default_rng(5)
    codes = rng.integers(3, size=(6000, 1)).astype(np.uint8)
    reals = rng.normal(size=(6000, 1)).astype(np.float32)
    hidden = reals @ network.real_weights + network.tables[0][codes[:, 0]] + network.bias
    active = np.tanh(hidden) if activation == "tanh" else np.where(hidden > 0, hidden, 0.25 * hidden)
    expected = active @ network.out_weights + network.out_bias
    np.testing.assert_allclose(mechanism.mean(codes, reals), expected, rtol=1e-4, atol=1e-4)
    residuals = mechanism.sample(codes, reals, rng) - expected
    assert stats.kstest(residuals, stats.norm(0, mechanism.sd).cdf).pvalue > 1e-6
    assert abs(stats.spearmanr(np.abs(residuals), reals[:, 0]).statistic) < 0.06  # noise does not depend on parents


def test_network_weights_are_standard_normal():
    rng = np.random.default_rng(6)
    networks = [AdditiveNetwork.random([0, 0, 4], rng).network for _ in range(200)]
    for values in (
        np.concatenate([network.real_weights.ravel() for network in networks]),
        np.concatenate([network.tables[0].ravel() for network in networks]),
        np.concatenate([network.out_weights for network in networks]),
    ):
        assert stats.kstest(values, stats.norm.cdf).pvalue > 1e-6
    biases = np.concatenate([network.bias for network in networks])
    assert stats.kstest(biases, stats.uniform(-1 / 3**0.5, 2 / 3**0.5).cdf).pvalue > 1e-6


def test_nonadditive_noise_passes_through_the_network():
    mechanism = NonadditiveNetwork.random([0], np.random.default_rng(7))
    network = mechanism.network
    assert network.real_weights.shape == (2, 20)
    reals = np.linspace(-3, 3, 6000, dtype=np.float32)[:, None]
    drawn = mechanism.sample(NO_CODES, reals, np.random.default_rng(8))
    noise = mechanism.sd * np.random.default_rng(8).standard_normal(6000, dtype=np.float32)
    hidden = np.stack([reals[:, 0], noise], axis=1) @ network.real_weights + network.bias
    np.testing.assert_allclose(drawn, np.tanh(hidden) @ network.out_weights + network.out_bias, rtol=1e-3, atol=1e-3)


def test_nonadditive_spread_depends_on_the_parent():
    ratios = []
    for seed in range(20):
        mechanism = NonadditiveNetwork.random([0], np.random.default_rng(seed))
        spreads = [
            mechanism.sample(NO_CODES, np.full((6000, 1), value, np.float32), np.random.default_rng(1)).std()
            for value in (-2.0, 0.0, 2.0)
        ]
        ratios.append(max(spreads) / min(spreads))
    assert np.median(ratios) > 1.3


def test_misuse_is_explained():
    with pytest.raises(SettingsError, match="unknown activation 'relu'; choose one of leaky_relu, tanh"):
        AdditiveNetwork.random([0], np.random.default_rng(0), activation="relu")
    with pytest.raises(SettingsError, match="need 2 real weights"):
        LinearGaussian([0, 0], real_weights=[1.0], tables=[], sd=1.0)
    with pytest.raises(SettingsError, match=r"tables of \[3\] entries"):
        LinearGaussian([3], real_weights=[], tables=[[1.0, 2.0]], sd=1.0)
