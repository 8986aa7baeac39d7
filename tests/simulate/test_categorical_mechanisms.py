import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from enco.errors import SettingsError
from enco.simulate import NeuralCategorical, ProductCategorical, TableCategorical
from enco.simulate.categorical_mechanisms import orthogonal


def every_configuration(levels):
    grid = np.array(list(itertools.product(*(range(n) for n in levels))), dtype=np.uint8)
    return grid.reshape(int(np.prod(levels)), len(levels))


def assert_frequencies(mechanism, codes, reals, rng, repeats):
    """Chi-square of the drawn levels against the exact probabilities, for each row of parent values."""
    expected = mechanism.probabilities(codes, reals)
    many_codes, many_reals = np.repeat(codes, repeats, axis=0), np.repeat(reals, repeats, axis=0)
    drawn = mechanism.sample(many_codes, many_reals, rng).reshape(len(codes), repeats)
    for row, probabilities in zip(drawn, expected, strict=True):
        counts = np.bincount(row, minlength=len(probabilities))
        assert not counts[probabilities == 0].any()
        order = np.argsort(probabilities)
        # rare levels are counted together, so that every class has at least five expected draws
        rare = int(np.searchsorted(np.cumsum(repeats * probabilities[order]), 5))
        observed = [counts[order[: rare + 1]].sum(), *counts[order[rare + 1 :]]]
        wanted = repeats * np.array([probabilities[order[: rare + 1]].sum(), *probabilities[order[rare + 1 :]]])
        if len(wanted) > 1:
            assert stats.chisquare(observed, wanted * (repeats / wanted.sum())).pvalue > 1e-7


MECHANISMS = {
    "neural": lambda levels, n, rng: NeuralCategorical.random(levels, n, rng),
    "product": lambda levels, n, rng: ProductCategorical.random(levels, n, rng),
    "deterministic": lambda levels, n, rng: TableCategorical.random_deterministic(levels, n, rng),
    "table": lambda levels, n, rng: TableCategorical(rng.dirichlet(np.full(n, 0.5), size=int(np.prod(levels))), levels),
}


@pytest.mark.parametrize("kind", list(MECHANISMS))
@pytest.mark.parametrize(("levels", "n_levels"), [([], 10), ([3], 2), ([2, 4], 5), ([3, 2, 2], 10), ([2, 2], 33)])
def test_frequencies_match_exact_probabilities(kind, levels, n_levels):
    rng = np.random.default_rng([len(levels), n_levels])
    mechanism = MECHANISMS[kind](levels, n_levels, rng)
    codes = every_configuration(levels)
    assert_frequencies(mechanism, codes, np.zeros((len(codes), 0), np.float32), rng, repeats=4000)


def test_frequencies_with_continuous_parents():
    rng = np.random.default_rng(0)
    mechanism = NeuralCategorical.random([0, 3, 0], 6, rng, real_means=[5.0, -2.0], real_sds=[2.0, 0.5])
    codes = np.array([[0], [1], [2], [2]], dtype=np.uint8)
    reals = np.array([[5, -2], [7, -1], [1, -2], [9, -3]], dtype=np.float32)
    assert_frequencies(mechanism, codes, reals, rng, repeats=5000)


def test_continuous_parents_enter_standardised():
    plain = NeuralCategorical.random([0], 4, np.random.default_rng(3))
    scaled = NeuralCategorical.random([0], 4, np.random.default_rng(3), real_means=[10.0], real_sds=[4.0])
    values = np.linspace(-3, 3, 7)[:, None]
    np.testing.assert_allclose(
        scaled.probabilities(reals=10 + 4 * values), plain.probabilities(reals=values), atol=1e-5
    )
    assert np.ptp(plain.probabilities(reals=values), axis=0).max() > 0.05


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    levels=st.lists(st.integers(2, 6), max_size=4),
    n_levels=st.integers(2, 20),
    rows=st.integers(0, 300),
    seed=st.integers(0, 2**32 - 1),
)
def test_kernel_inverts_the_exact_cumulative_distribution(levels, n_levels, rows, seed):
    rng = np.random.default_rng(seed)
    mechanism = NeuralCategorical.random(levels, n_levels, rng)
    codes = np.stack([rng.integers(n, size=rows) for n in levels] or [np.zeros(rows)], axis=1).astype(np.uint8)
    codes = codes[:, : len(levels)]
    drawn = mechanism.sample(codes, np.zeros((rows, 0), np.float32), np.random.default_rng(seed))
    uniforms = np.random.default_rng(seed).random(rows, dtype=np.float32).astype(float)
    exact = mechanism.probabilities(codes)
    cumulative = np.cumsum(exact, axis=1)
    lower = np.concatenate([np.zeros((rows, 1)), cumulative], axis=1)[np.arange(rows), drawn]
    upper = cumulative[np.arange(rows), drawn]
    assert (uniforms >= lower - 1e-5).all()
    assert (uniforms <= upper + 1e-5).all()


def test_neural_network_is_the_one_of_the_appendix():
    """Rebuild the network from its parts, drawn in the same order, with the embeddings kept apart."""
    rng = np.random.default_rng(7)
    levels, n_levels = [10, 5, 10], 10
    mechanism = NeuralCategorical.random(levels, n_levels, np.random.default_rng(7))
    embeddings = [rng.standard_normal((n, 4)) for n in levels]
    first, second = orthogonal(48, 12, rng, gain=2.5), orthogonal(10, 48, rng, gain=2.5)
    bias, out_bias = rng.uniform(-0.5, 0.5, 48), rng.uniform(-0.5, 0.5, 10)
    codes = every_configuration(levels)[::7]
    stacked = np.concatenate([table[code] for table, code in zip(embeddings, codes.T, strict=True)], axis=1)
    hidden = stacked @ first.T + bias
    logits = np.where(hidden > 0, hidden, 0.1 * hidden) @ second.T + out_bias
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mechanism.probabilities(codes), expected, rtol=1e-4)


def test_orthogonal_is_semi_orthogonal_with_the_gain():
    rng = np.random.default_rng(0)
    tall, wide = orthogonal(48, 12, rng, gain=2.5), orthogonal(10, 48, rng, gain=2.5)
    np.testing.assert_allclose(tall.T @ tall, 6.25 * np.eye(12), atol=1e-12)
    np.testing.assert_allclose(wide @ wide.T, 6.25 * np.eye(10), atol=1e-12)
    signs = np.array([orthogonal(2, 2, rng)[0, 0] > 0 for _ in range(2000)])
    assert stats.binomtest(int(signs.sum()), 2000).pvalue > 1e-6  # no preferred sign


def test_every_parent_of_a_network_matters():
    mechanism = NeuralCategorical.random([10] * 5, 10, np.random.default_rng(1))
    base = np.full((10, 5), 3)
    for parent in range(5):
        codes = base.copy()
        codes[:, parent] = np.arange(10)
        assert np.ptp(mechanism.probabilities(codes), axis=0).max() > 0.05


def test_product_is_the_normalised_product_of_conditionals():
    rng = np.random.default_rng(2)
    tables = [rng.dirichlet(np.ones(4), size=n) for n in (3, 2)]
    mechanism = ProductCategorical(tables)
    codes = every_configuration([3, 2])
    product = tables[0][codes[:, 0]] * tables[1][codes[:, 1]]
    np.testing.assert_allclose(mechanism.probabilities(codes), product / product.sum(axis=1, keepdims=True), rtol=1e-5)


def test_random_product_has_logits_of_variance_two():
    rng = np.random.default_rng(3)
    rows = np.concatenate(
        [ProductCategorical.random([10], 200, rng).probabilities(np.arange(10)[:, None]) for _ in range(5)]
    )
    logits = np.log(rows)
    assert logits.var(axis=1).mean() == pytest.approx(2.0, rel=0.05)
    roots = [ProductCategorical.random([], 400, rng).probabilities() for _ in range(20)]
    assert np.log(np.concatenate(roots)).var(axis=1).mean() == pytest.approx(2.0, rel=0.1)


def test_deterministic_table_is_a_function_with_uniform_values():
    mechanism = TableCategorical.random_deterministic([10, 10, 10], 5, np.random.default_rng(4))
    assert set(np.unique(mechanism.table)) == {0.0, 1.0}
    assert stats.chisquare(mechanism.table.sum(axis=0)).pvalue > 1e-6
    codes = every_configuration([10, 10, 10])
    reals = np.zeros((1000, 0), np.float32)
    draws = [mechanism.sample(codes, reals, np.random.default_rng(seed)) for seed in range(5)]
    for drawn in draws:
        np.testing.assert_array_equal(drawn, mechanism.table.argmax(axis=1))


def test_impossible_levels_are_never_drawn():
    table = [[0.0, 0.1, 0.9, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    mechanism = TableCategorical(table, [3])
    # rounding in the sum of tenths must not leave a gap below one
    tenths = TableCategorical([[0.1] * 10 + [0.0] * 5])
    codes = np.repeat(np.arange(3, dtype=np.uint8), 200_000)[:, None]
    drawn = mechanism.sample(codes, np.zeros((len(codes), 0), np.float32), np.random.default_rng(5)).reshape(3, -1)
    assert set(drawn[0]) == {1, 2}
    assert set(drawn[1]) == {0}
    assert set(drawn[2]) == {3}

    class AlmostOne:
        def random(self, rows, dtype):
            return np.full(rows, np.nextafter(np.float32(1), np.float32(0)), dtype=dtype)

    empty = np.zeros((3, 0))
    assert tenths.sample(empty.astype(np.uint8), empty.astype(np.float32), AlmostOne()).tolist() == [9] * 3


def test_more_than_256_levels():
    rng = np.random.default_rng(6)
    mechanism = TableCategorical(np.full((1, 700), 1 / 700))
    drawn = mechanism.sample(np.zeros((50_000, 0), np.uint16), np.zeros((50_000, 0), np.float32), rng)
    assert drawn.dtype == np.uint16
    assert drawn.max() > 690
    child = NeuralCategorical.random([700], 3, rng)
    codes = np.array([[0], [255], [256], [699]], dtype=np.uint16)
    assert_frequencies(child, codes, np.zeros((4, 0), np.float32), rng, repeats=3000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TableCategorical([[0.5, 0.5]], [2]), r"shape \[2, levels\], but its shape is \[1, 2\]"),
        (lambda: TableCategorical([[0.5, 0.6]]), "row 0 of the table .* sum to 1.1"),
        (lambda: TableCategorical([[0.5, 0.5], [1.5, -0.5]], [2]), "row 1 of the table"),
        (lambda: TableCategorical([[np.nan, 0.5]]), "row 0 of the table"),
        (lambda: ProductCategorical([[[0.0, 1.0]]]), "entries above 0"),
        (lambda: ProductCategorical([]), "at least one table"),
        (lambda: ProductCategorical.random([0], 3, np.random.default_rng(0)), "categorical parents"),
        (
            lambda: TableCategorical.random_deterministic([0], 3, np.random.default_rng(0)),
            "categorical parents",
        ),
        (
            lambda: TableCategorical.random_deterministic([10] * 10, 10, np.random.default_rng(0)),
            "max_parents",
        ),
        (
            lambda: TableCategorical([[0.5, 0.5]]).probabilities([[1]]),
            "0 categorical and 0 continuous parents",
        ),
        (lambda: TableCategorical([[1.0], [1.0]], [2]).probabilities([[2]]), "outside its levels"),
    ],
)
def test_misuse_is_explained(call, message):
    with pytest.raises(SettingsError, match=message):
        call()


def test_probabilities_are_distributions():
    mechanism = NeuralCategorical.random([4, 4], 10, np.random.default_rng(8))
    rows = mechanism.probabilities(every_configuration([4, 4]))
    assert rows.shape == (16, 10)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert (rows > 0).all()
