"""Gains of edges and of their directions, row by row, against sums over whole families."""

import numpy as np
import pytest

from enco import simulate
from enco.fitting.loop import Discovery
from enco.score.counted import CountedPredictor
from enco.score.networks import Networks
from enco.score.rows import Sample
from enco.score.support import gain_and_error, gains_of_edges
from enco.settings import Settings

ALL = [frozenset(range(5)) - {j} for j in range(5)]


@pytest.fixture(scope="module")
def answers():
    """Predictors of a small problem, the true graph in the order of the fit, and its rows."""
    rng = np.random.default_rng(2)
    model = simulate.categorical("random", 5, rng, categories=3, edge_probability=0.5)
    data = model.dataset(900, 80, rng=rng)
    fit = Discovery(data, settings=Settings(refine_steps=400))
    sample = Sample.of([data.observational, *fit.graph_fitting.regimes], 5)
    presence = np.full((5, 5), 0.5)
    networks = Networks(fit.model, sample, presence, fit.settings)
    levels, slot = fit.data.n_levels[fit.column], fit.data.slots[fit.column]
    graph = model.adjacency[np.ix_(fit.column, fit.column)].astype(bool)
    return [CountedPredictor(networks, j, levels, slot) for j in range(5)], graph, sample


def test_gains_are_differences_of_whole_families(answers):
    predictors, graph, sample = answers
    gains = gains_of_edges(predictors.__getitem__, graph, ALL, sample)
    assert all((np.isfinite(matrix) == graph).all() for matrix in gains)
    for cause, effect in np.argwhere(graph):
        parents, other = (frozenset(np.flatnonzero(graph[:, j]).tolist()) for j in (effect, cause))
        lost = predictors[effect].by_regime(parents - {cause}) - predictors[effect].by_regime(parents)
        brought = predictors[cause].by_regime(other | {effect}) - predictors[cause].by_regime(other)
        one = np.array([regime.free(cause) != regime.free(effect) for regime in sample.regimes])
        assert gains.gain[cause, effect] == pytest.approx(lost.sum(), abs=0.02)
        assert gains.turn[cause, effect] == pytest.approx((lost + brought).sum(), abs=0.02)
        assert gains.told[cause, effect] == pytest.approx((lost + brought)[one].sum(), abs=0.02)
    assert (gains.told[graph] > 0).mean() > 0.8  # interventions speak for the true directions


def test_an_edge_that_cannot_be_turned_has_no_gain_of_its_direction(answers):
    predictors, graph, sample = answers
    everything = gains_of_edges(predictors.__getitem__, graph, ALL, sample)
    cause, effect = np.argwhere(graph)[0].tolist()
    some = gains_of_edges(predictors.__getitem__, graph, [ALL[j] - {effect} for j in range(5)], sample)
    assert np.isnan([some.turn[cause, effect], some.told[cause, effect]]).all()
    assert some.gain[cause, effect] == everything.gain[cause, effect]


def test_threads_do_not_matter(answers):
    predictors, graph, sample = answers
    one = gains_of_edges(predictors.__getitem__, graph, ALL, sample)
    other = gains_of_edges(
        predictors.__getitem__, graph, ALL, sample, lambda task, items: map(task, reversed(list(items)))
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_errors_are_those_of_repeated_draws():
    rng = np.random.default_rng(0)
    regime = np.repeat(np.arange(20), 40)
    drawn = []
    for _ in range(400):
        gained = rng.normal(size=20)[regime] + rng.normal(size=800)
        drawn.append(gain_and_error(gained, regime, np.ones(20)))
    total, rows, regimes = np.array(drawn).T
    assert np.median(regimes) == pytest.approx(total.std(), rel=0.15)
    assert np.median(rows) < 0.4 * total.std()  # rows of one regime are no independent witnesses
