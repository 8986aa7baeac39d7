"""Centre and scale of continuous columns: equivariant, not decided by outliers, 0 for a constant."""

import numpy as np
import pytest

from enco.conditionals.continuous import LARGEST_VALUE, Standardisation
from enco.data import InterventionalData


def make_data(*blocks):
    """Observational rows and further environments with an intervention on the first column."""
    return InterventionalData.from_environments(blocks, [None, "X1", "X2"][: len(blocks)])


def two(column, seed=9):
    """The column and a normal one beside it: a graph needs two."""
    return np.column_stack([column, np.random.default_rng(seed).normal(size=len(column))])


def unit_of(column, *others):
    """Centre and scale of one column."""
    unit = Standardisation.of(make_data(two(column), *(two(other) for other in others)))
    return unit.center[0], unit.scale[0]


def test_mean_and_standard_deviation_of_the_pulled_in_column():
    x = np.random.default_rng(0).gamma(2.0, size=1000).astype(np.float32).astype(np.float64)
    low, high = np.quantile(x, [0.005, 0.995])
    pulled_in = np.clip(x, low, high)
    assert unit_of(x) == pytest.approx((pulled_in.mean(), pulled_in.std()))
    assert unit_of(x)[1] == pytest.approx(x.std(), rel=0.05)


def test_only_observational_rows_decide():
    x, other = np.random.default_rng(1).normal(size=(2, 300))
    assert unit_of(x, 50 + 9 * other) == unit_of(x)


def test_applied_to_rows():
    reals = np.random.default_rng(2).normal([3.0, -1e5], [2.0, 1e4], (500, 2)).astype(np.float32)
    unit = Standardisation.of(make_data(reals))
    expected = (reals.astype(np.float64) - unit.center) / unit.scale
    found = unit.apply(reals)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert unit.apply(np.array([[1e9, -1e9]], np.float32)).tolist() == [[LARGEST_VALUE, -LARGEST_VALUE]]


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**-3, 2.0**60, -4.0])
def test_powers_of_two_change_no_bit(factor):
    x = np.random.default_rng(3).normal(1.0, 2.0, (700, 2)).astype(np.float32)
    moved = (factor * x).astype(np.float32)
    one, other = (Standardisation.of(make_data(block)).apply(block) for block in (x, moved))
    assert (np.sign(factor) * other).tolist() == one.tolist()


@pytest.mark.parametrize(("factor", "shift"), [(1e-12, 0.0), (1e12, 0.0), (3.7, -20.0), (1e-3, 1.0)])
def test_scale_and_shift_change_nothing_but_rounding(factor, shift):
    x = np.random.default_rng(4).normal(1.0, 2.0, (700, 2)).astype(np.float32)
    moved = (factor * x.astype(np.float64) + shift).astype(np.float32)
    one, other = (Standardisation.of(make_data(block)).apply(block) for block in (x, moved))
    np.testing.assert_allclose(other, one, atol=2e-4 if shift == 1.0 else 1e-5)


@pytest.mark.parametrize("wild", [[1e6, -1e6], [1e6, 1e6, 1e6], [1e30]], ids=["both sides", "one side", "huge"])
def test_a_few_wild_values_do_not_decide_the_unit(wild):
    x = np.random.default_rng(5).normal(size=1000)
    center, scale = unit_of(x)
    x[: len(wild)] = wild
    with_wild = unit_of(x)
    assert with_wild[0] == pytest.approx(center, abs=0.02)
    assert with_wild[1] == pytest.approx(scale, rel=0.05)


def test_a_constant_column_stays_at_zero():
    constant = np.full(100, 0.1)
    assert unit_of(constant) == pytest.approx((0.1, 0.0))
    assert unit_of(constant)[1] == 0.0
    unit = Standardisation.of(make_data(two(constant)))
    assert unit.apply(two(constant).astype(np.float32))[:, 0].tolist() == [0.0] * 100


def test_a_column_that_varies_under_interventions_only():
    """Its unit comes from all rows: in the observational ones there is none."""
    moved = np.random.default_rng(6).normal(2.0, size=50)
    center, scale = unit_of(np.full(100, 0.5), moved)
    pooled = np.concatenate([np.full(100, 0.5), moved.astype(np.float32)])
    assert center == pytest.approx(pooled.mean(), abs=0.02)
    assert scale == pytest.approx(pooled.std(), rel=0.05)


@pytest.mark.parametrize("share", [0.99, 0.999])
def test_nearly_all_rows_alike(share):
    """The rare other values are the information: they are not pulled in until nothing varies."""
    rng = np.random.default_rng(7)
    x = np.where(rng.random(10_000) < share, 0.0, rng.normal(5.0, size=10_000))
    assert unit_of(x)[1] > 0.1
    assert np.ptp(Standardisation.of(make_data(two(x))).apply(two(x).astype(np.float32))[:, 0]) > 5


def test_many_rows_are_thinned():
    x = np.random.default_rng(8).normal(3.0, 2.0, 100_000)
    center, scale = unit_of(x)
    assert center == pytest.approx(3.0, abs=0.1)
    assert scale == pytest.approx(2.0, rel=0.03)
    once = np.zeros(100_000)
    once[1] = 1.0  # not among the rows that decide the unit
    assert unit_of(once)[1] > 0


def test_no_continuous_columns():
    data = InterventionalData.from_environments([np.eye(3, dtype=int)], [None])
    unit = Standardisation.of(data)
    assert unit.center.shape == unit.scale.shape == (0,)
    assert unit.apply(data.observational.reals).shape == (3, 0)
