"""Both engines read a value in the same way, whatever its head asks for."""

from types import SimpleNamespace

import numpy as np
import pytest

from enco.conditionals.fused.effects import Table, gather
from enco.conditionals.reading import Reading
from enco.data import InterventionalData, Regime, Variable

KINDS = ["continuous", "categorical", "continuous", "continuous"]


@pytest.fixture
def data():
    """A skewed column with an outlier, a categorical one, a constant one, and counts."""
    rng = np.random.default_rng(0)
    reals = np.column_stack([np.exp(rng.normal(size=50)), np.full(50, 3.0), rng.poisson(4.0, size=50)])
    reals[7, 0] = 1e7
    codes = np.tile([[0], [1]], (25, 1)).astype(np.uint8)
    variables = [Variable(f"X{k}", kind, (0, 1) if kind == "categorical" else None) for k, kind in enumerate(KINDS)]
    return InterventionalData(variables, [Regime((), codes, reals.astype(np.float32))])


def gathered(reading, regime, rows):
    heads = reading.heads
    arrays = reading.slot, heads.numeric, heads.logarithmic, reading.center, reading.inverse_scale
    out = np.empty((len(rows), len(reading.slot)), np.float32)
    gather(Table(regime.codes, regime.reals, *arrays), rows, np.arange(len(reading.slot)), out)
    return out


@pytest.mark.parametrize("column", [[0, 1, 2, 3], [3, 0, 1, 2]], ids=str)
def test_numbers_are_standardised_and_clipped(data, column):
    reading, rows = Reading.of(data, np.array(column)), np.array([7, 3, 3, 49])
    found, numbers = gathered(reading, data.observational, rows), reading.numbers(data.observational, rows)
    for variable, place in enumerate(column):
        if KINDS[place] == "categorical":
            assert found[:, variable].tolist() == (rows % 2).tolist()
            assert (reading.center[variable], reading.scale[variable]) == (0.0, 1.0)
        else:
            np.testing.assert_allclose(found[:, variable], numbers[:, reading.slot[variable]], rtol=1e-6, atol=1e-6)
    assert numbers.max() == 10.0
    assert np.abs(numbers[:, 1]).max() == 0.0  # constant
    assert np.isfinite(reading.log_scale).all()


def test_logarithms_are_left_as_they_are(data):
    numeric, logarithmic = np.array([1, 0, 1, 1], np.uint8), np.array([0, 0, 0, 1], np.uint8)
    heads = SimpleNamespace(numeric=numeric, logarithmic=logarithmic)
    reading = Reading(heads, np.array([0, 0, 1, 2]), np.zeros(4), np.ones(4))
    rows = np.arange(50)
    before = data.observational.reals.copy()
    numbers = reading.numbers(data.observational, rows)
    np.testing.assert_allclose(np.expm1(numbers[:, 2]), before[:, 2], atol=1e-4)
    np.testing.assert_allclose(gathered(reading, data.observational, rows)[:, 3], numbers[:, 2], rtol=1e-6)
    assert (data.observational.reals == before).all()
