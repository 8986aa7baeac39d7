"""Linear regressions in closed form, against least squares by hand, and what they are for."""

import numpy as np
import pytest

from enco import simulate
from enco.conditionals.continuous import Standardisation
from enco.discover import discover
from enco.score.linear import LinearPredictor
from enco.score.regression import Regressions
from enco.score.rows import N_FOLDS, Sample
from enco.settings import Settings


def drawn(seed, n=6, rows=600, **options):
    rng = np.random.default_rng(seed)
    model = simulate.continuous("random", n, rng, mechanism="linear", edge_probability=0.5, **options)
    return model.adjacency.astype(bool), model.dataset(rows, 60, rng=rng)


def predictor_of(data, effect, candidates):
    sample = Sample.of(data.regimes, data.n_variables)
    shared = Regressions(sample, Standardisation.of(data), data.n_levels, data.slots)
    return LinearPredictor(shared, effect, candidates), sample, shared.reals.astype(float)


def test_losses_are_those_of_least_squares_on_the_other_folds():
    _, data = drawn(0)
    linear, sample, x = predictor_of(data, 2, [0, 1, 3, 4, 5])
    parents, expected = frozenset({0, 4}), np.full(len(sample.origin), np.nan)
    free = sample.free[2][sample.origin]
    for fold in range(N_FOLDS):
        learned, judged = (free & (sample.fold != fold)), (free & (sample.fold == fold))
        design = np.column_stack([np.ones(len(x)), x[:, [0, 4]]])
        weights, *_ = np.linalg.lstsq(design[learned], x[learned, 2], rcond=None)
        variance = np.mean((x[learned, 2] - design[learned] @ weights) ** 2)
        left = x[judged, 2] - design[judged] @ weights
        expected[judged] = 0.5 * (np.log(2 * np.pi * variance) + left**2 / variance)
    np.testing.assert_allclose(linear.row_losses(parents), expected, rtol=1e-4)
    assert linear.loss(parents) == pytest.approx(np.nansum(expected), rel=1e-5)
    assert linear.by_regime(parents).sum() == pytest.approx(np.nansum(expected), rel=1e-5)
    changed = linear.changes(parents, [0, 1])
    assert changed == pytest.approx([linear.loss(frozenset({4})), linear.loss(frozenset({0, 1, 4}))])


def test_columns_that_repeat_have_a_solution():
    _, data = drawn(1)
    for regime in data.regimes:
        regime.reals.flags.writeable = True
        regime.reals[:, 3] = regime.reals[:, 0]
    linear, _, _ = predictor_of(data, 2, [0, 1, 3])
    assert np.isfinite(linear.loss(frozenset({0, 3})))
    assert linear.loss(frozenset({0, 3})) == pytest.approx(linear.loss(frozenset({0})), abs=2.0)


def test_linear_graphs_are_found_where_few_directions_are_told():
    """Networks claim directions of linear mechanisms; a search that starts only where they end goes wrong."""
    errors = []
    for seed in (20, 21, 25):
        truth, data = drawn(seed, n=9, rows=1500)
        few = data.keep_regimes([["X1"], ["X2"]])
        found = discover(few, settings=Settings(), n_jobs=2).adjacency.astype(bool)
        errors.append(int((found != truth).sum()))
    assert sum(errors) <= 15, errors  # 41 without them
