"""Estimators of edge effects against exact enumeration of all graphs; gradients against Eq. 2 by finite differences."""

import itertools
from typing import get_args

import numpy as np
import pytest
from scipy.special import expit

from enco import simulate
from enco.candidates import Candidates
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.gradients import (
    ESTIMATORS,
    LIKELIHOOD_ROWS,
    edge_cost,
    gamma_gradient,
    independent,
    paired,
    reinforce,
    theta_gradient,
)
from enco.parameters import EdgeParameters
from enco.settings import EstimatorName

NAMES = list(ESTIMATORS)
ROWS = np.arange(0, 40)


def make_problem(n, kind="categorical"):
    """Networks of a model in which all variables depend on each other, and its data."""
    rng = np.random.default_rng(n)
    if kind == "categorical":
        scm = simulate.categorical("full", n, rng, categories=[5, 4, 3, 2][:n])
    else:
        scm = simulate.mixed("full", n, rng, categories=3, categorical_share=0.4 if kind == "mixed" else 0.0)
    data = scm.dataset(3000, 60, rng=rng)
    settings = NetworkSettings(hidden=16, batch=64)
    model = FusedConditionals(data, Candidates.all_pairs(n), settings=settings, seed=n, n_jobs=1)
    model.fit(np.full(model.candidates.n_pairs, 0.5), 600)
    return data, model


@pytest.fixture(
    scope="module", params=[(3, "categorical"), (4, "categorical"), (3, "mixed"), (3, "continuous")], ids=str
)
def problem(request):
    return make_problem(*request.param)


@pytest.fixture(scope="module")
def small():
    return make_problem(3)


@pytest.fixture(scope="module")
def larger():
    return make_problem(4)


def all_losses(model, regime, rows):
    """Mean loss of every variable under every subset of its candidates: subsets [S, N - 1], losses [S, N]."""
    n = model.candidates.n_variables
    subsets = np.array(list(itertools.product([False, True], repeat=n - 1)))
    return subsets, model.graph_losses(regime, rows, np.tile(subsets, n))


def expected_losses(model, regime, rows, probability):
    """Expected loss of every variable over all graphs, weighted by their probability, [N]."""
    subsets, losses = all_losses(model, regime, rows)
    result = np.zeros(model.candidates.n_variables)
    for j in range(len(result)):
        p = probability[model.candidates.pairs_into(j)]
        result[j] = np.where(subsets, p, 1 - p).prod(axis=1) @ losses[:, j]
    return result


def exact_effects(model, regime, rows, probability):
    """delta[i, j]: the expected loss of j with the edge minus that without it, [P]; NaN into targets."""
    delta = np.full(model.candidates.n_pairs, np.nan)
    for pair, effect in enumerate(model.candidates.effect):
        if effect not in regime.targets:
            with_edge, without = probability.copy(), probability.copy()
            with_edge[pair], without[pair] = 1.0, 0.0
            delta[pair] = (
                expected_losses(model, regime, rows, with_edge)[effect]
                - expected_losses(model, regime, rows, without)[effect]
            )
    return delta


def repeat(name, model, regime, rows, probability, *, times, n_graphs=20, seed=0):
    """Replicates of an estimate, [times, P]."""
    rng = np.random.default_rng(seed)
    wanted = np.ones(len(probability), bool)
    estimate = ESTIMATORS[name]
    return np.array([estimate(model, regime, rows, probability, wanted, rng, n_graphs) for _ in range(times)])


# Edge effects


@pytest.mark.parametrize("name", ["paired", "independent"])
@pytest.mark.parametrize("which", [0, 1, -1])
def test_estimates_are_unbiased(problem, name, which):
    data, model = problem
    regime = data.regimes[which]
    probability = np.random.default_rng(0).uniform(0.3, 0.65, model.candidates.n_pairs)
    exact = exact_effects(model, regime, ROWS, probability)
    found = repeat(name, model, regime, ROWS, probability, times=600, n_graphs=50)
    free = ~np.isin(model.candidates.effect, regime.targets)
    assert (np.isfinite(found) == free).all()
    error = np.abs(found.mean(axis=0) - exact)[free]
    deviation = (found.std(axis=0, ddof=1) / np.sqrt(len(found)))[free]
    assert np.abs(exact[free]).max() > 0.05  # there is something to estimate
    assert (error < 4.5 * deviation + 1e-6).all()


def likelihood_effects(model, regime, rows, probability):
    """What Eq. 5 tends to with ever more graphs, [P]: (A0 - A1) / (p A1 + q A0), A the mean likelihood by the edge."""
    subsets, losses = all_losses(model, regime, rows)
    delta = np.full(model.candidates.n_pairs, np.nan)
    for pair, effect in enumerate(model.candidates.effect):
        if effect not in regime.targets:
            block = model.candidates.pairs_into(effect)
            likelihood = {}
            for edge in (0.0, 1.0):
                p = probability.copy()
                p[pair] = edge
                graphs = np.where(subsets, p[block], 1 - p[block]).prod(axis=1)
                likelihood[edge] = graphs @ np.exp(-LIKELIHOOD_ROWS * losses[:, effect])
            p = probability[pair]
            delta[pair] = (likelihood[0.0] - likelihood[1.0]) / (p * likelihood[1.0] + (1 - p) * likelihood[0.0])
    return delta


@pytest.mark.parametrize("which", [0, -1])
def test_reinforce_tends_to_the_ratio_of_likelihoods(problem, which):
    data, model = problem
    regime = data.regimes[which]
    free = ~np.isin(model.candidates.effect, regime.targets)
    probability = np.random.default_rng(0).uniform(0.3, 0.65, model.candidates.n_pairs)
    limit = likelihood_effects(model, regime, ROWS, probability)[free]
    found = repeat("reinforce", model, regime, ROWS, probability, times=40, n_graphs=4000)[:, free]
    deviation = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - limit) < 4.5 * deviation + 1e-3).all()
    # Near the edge effects times the number of rows: of the same sign where they matter and losses differ little.
    exact = exact_effects(model, regime, ROWS, probability)[free]
    _, losses = all_losses(model, regime, ROWS)
    alike = np.ptp(losses, axis=0)[model.candidates.effect][free] < 1.0
    clear = alike & (np.abs(exact) > 0.05)
    assert clear.any() or not alike.any()
    assert (np.sign(limit) == np.sign(exact))[clear].all()


def test_eq_5_adds_sparsity_to_what_the_slope_of_existence_multiplies():
    parameters = EdgeParameters(Candidates.all_pairs(2))
    parameters.gamma[:], parameters.theta[:] = [0.0, 3.0], [-1.0, 1.0]
    assert edge_cost("paired", parameters, 0.01) == edge_cost("independent", parameters, 0.01) == 0.01
    without_effect = gamma_gradient(parameters, np.zeros(2), edge_cost("reinforce", parameters, 0.01))
    np.testing.assert_allclose(without_effect, 0.01 * parameters.orientation())


def test_eq_5_begins_with_the_threshold_of_eq_3():
    """Where gamma is 0, an edge effect of -lambda_sparse is on the edge in both, to first order in the losses."""
    parameters = EdgeParameters(Candidates.all_pairs(2))
    effect = np.full(2, -0.004)
    gradient = gamma_gradient(parameters, LIKELIHOOD_ROWS * effect, edge_cost("reinforce", parameters, 0.004))
    np.testing.assert_allclose(gradient, gamma_gradient(parameters, effect, 0.004), atol=1e-15)


def test_a_single_row_is_unbiased_too(small):
    data, model = small
    regime, probability = data.observational, np.linspace(0.1, 0.9, 6)
    exact = exact_effects(model, regime, ROWS[:1], probability)
    found = repeat("paired", model, regime, ROWS[:1], probability, times=3000)
    deviation = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - exact) < 4.5 * deviation + 1e-6).all()


def test_multi_target_regimes(larger):
    data, model = larger
    regime = type(data.observational)((1, 3), data.observational.codes, data.observational.reals)
    probability = np.full(12, 0.4)
    exact = exact_effects(model, regime, ROWS, probability)
    for name in NAMES:
        found = repeat(name, model, regime, ROWS, probability, times=3)
        assert (np.isnan(found) == np.isin(model.candidates.effect, [1, 3])).all()
    found = repeat("paired", model, regime, ROWS, probability, times=400).mean(axis=0)
    np.testing.assert_allclose(found, exact, atol=0.03)


def test_variance_falls_from_reinforce_to_independent_to_paired(problem):
    """At an equal number of network evaluations: K graphs cost K per row, a paired estimate 1 + (N - 1)."""
    data, model = problem
    n = model.candidates.n_variables
    regime = data.interventional[0]
    free = ~np.isin(model.candidates.effect, regime.targets)
    probability = np.full(model.candidates.n_pairs, 0.4)
    repeats = 15
    n_graphs = repeats * n
    spread = {
        name: repeat(name, model, regime, ROWS, probability, times=200, n_graphs=n_graphs).var(axis=0)[free]
        for name in ("independent", "reinforce")
    }
    several = repeat("paired", model, regime, ROWS, probability, times=200 * repeats)
    spread["paired"] = several.reshape(200, repeats, -1).mean(axis=1).var(axis=0)[free]
    # In total; a single pair whose other parents hardly matter may have less noise with shared graphs.
    assert spread["paired"].sum() < 0.25 * spread["independent"].sum()
    _, losses = all_losses(model, regime, ROWS)
    if np.ptp(losses, axis=0).max() < 1.0:  # else one family has all the likelihood, and there is no noise
        assert spread["independent"].sum() < 0.5 * spread["reinforce"].sum() / LIKELIHOOD_ROWS**2
        assert (spread["paired"] < spread["reinforce"] / LIKELIHOOD_ROWS**2).all()


@pytest.mark.parametrize("certainty", [1e-9, 0.0])
def test_pairs_all_graphs_agree_on_freeze_only_with_shared_graphs(small, certainty):
    """Near-certain edges: K graphs agree on them and say nothing, a toggle in every row always has an answer."""
    data, model = small
    regime = data.observational
    probability = np.array([certainty, 1 - certainty, 1 - certainty, certainty, 0.5, 0.5])
    wanted, rng = np.ones(6, bool), np.random.default_rng(0)
    shared = independent(model, regime, ROWS, probability, wanted, rng, 50)
    assert np.isnan(shared).tolist() == [True] * 4 + [False] * 2
    own = repeat("paired", model, regime, ROWS, probability, times=300)
    assert np.isfinite(own).all()
    exact = exact_effects(model, regime, ROWS, probability)
    np.testing.assert_allclose(own[:, :4].mean(axis=0), exact[:4], atol=1e-5)  # nothing else is random for X1 and X2
    np.testing.assert_allclose(own.mean(axis=0), exact, atol=0.02)


def test_reinforce_has_no_answer_for_certain_edges(small):
    data, model = small
    probability = np.array([0.0, 1.0, 0.5, 0.5, 0.5, 0.5])
    found = reinforce(model, data.observational, ROWS, probability, np.ones(6, bool), np.random.default_rng(0), 30)
    assert np.isnan(found).tolist() == [True, True, False, False, False, False]


def test_independent_is_the_difference_of_two_means(small):
    data, model = small
    regime, probability = data.interventional[0], np.full(6, 0.5)
    found = independent(model, regime, ROWS, probability, np.ones(6, bool), np.random.default_rng(5), 12)
    graphs = np.random.default_rng(5).random((12, 6)) < probability
    losses = model.graph_losses(regime, ROWS, graphs)
    for pair, effect in enumerate(model.candidates.effect):
        if effect not in regime.targets:
            has = graphs[:, pair]
            assert found[pair] == pytest.approx(losses[has, effect].mean() - losses[~has, effect].mean(), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_only_wanted_pairs_have_an_effect(problem, name):
    data, model = problem
    regime = data.interventional[-1]
    pairs = model.candidates
    wanted = np.random.default_rng(1).random(pairs.n_pairs) < 0.5
    found = ESTIMATORS[name](
        model, regime, ROWS, np.full(pairs.n_pairs, 0.5), wanted, np.random.default_rng(2), 40
    )  # fmt: skip
    assert found.dtype == np.float64
    assert (np.isfinite(found) == (wanted & ~np.isin(pairs.effect, regime.targets))).all()


def test_every_estimator_has_its_name():
    assert set(ESTIMATORS) == set(get_args(EstimatorName))
    assert ESTIMATORS["paired"] is paired


# Gradients


def make_parameters(model, seed):
    """gamma and theta at random, theta antisymmetric."""
    parameters = EdgeParameters(model.candidates)
    rng = np.random.default_rng(seed)
    parameters.gamma[:] = rng.normal(size=model.candidates.n_pairs)
    theta = np.triu(rng.normal(size=(model.candidates.n_variables,) * 2), 1)
    parameters.theta[:] = model.candidates.gather(theta - theta.T)
    return parameters


def objective(model, regime, gamma, theta, sparsity):
    """Eq. 2 for one regime; losses and costs of the edges into targets are cut with those edges."""
    probability = expit(gamma) * expit(theta)
    free = [j for j in range(model.candidates.n_variables) if j not in regime.targets]
    cost = probability[np.isin(model.candidates.effect, free)].sum()
    return expected_losses(model, regime, ROWS, probability)[free].sum() + sparsity * cost


def slope(function, at, direction, step=1e-5):
    return (function(at + step * direction) - function(at - step * direction)) / (2 * step)


@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_gamma_gradient_is_the_slope_of_the_objective(small, which):
    data, model = small
    regime, parameters = data.regimes[which], make_parameters(model, 1)
    delta = exact_effects(model, regime, ROWS, parameters.edge_probability())
    found = gamma_gradient(parameters, delta, 0.03)
    for pair in range(6):
        expected = slope(
            lambda gamma: objective(model, regime, gamma, parameters.theta, 0.03), parameters.gamma, np.eye(6)[pair]
        )
        if model.candidates.effect[pair] in regime.targets:
            assert np.isnan(found[pair])
            assert expected == 0.0
        else:
            assert found[pair] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def along_theta(model, pair):
    """The direction that moves theta[i, j] up and theta[j, i] down."""
    direction = np.eye(6)[pair]
    direction[model.candidates.reverse[pair]] = -1.0
    return direction


@pytest.mark.parametrize("target", [0, 1, 2])
def test_theta_gradient_is_the_slope_under_an_intervention_on_the_cause(small, target):
    """Eq. 4 has no sparsity term: orientation says nothing about existence."""
    data, model = small
    regime, parameters = data.interventional[target], make_parameters(model, 2)
    assert regime.targets == (target,)
    found = theta_gradient(parameters, exact_effects(model, regime, ROWS, parameters.edge_probability()))
    for pair in np.flatnonzero(model.candidates.cause == target):
        expected = slope(
            lambda theta: objective(model, regime, parameters.gamma, theta, 0.0),
            parameters.theta,
            along_theta(model, pair),
        )
        assert found[pair] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_the_difference_of_both_directions_is_the_slope_elsewhere(small):
    """Far from the intervention both directions have a loss, and theta moves both (Eq. 28)."""
    data, model = small
    regime, parameters = data.interventional[2], make_parameters(model, 3)
    found = theta_gradient(parameters, exact_effects(model, regime, ROWS, parameters.edge_probability()))
    pair = int(np.flatnonzero((model.candidates.cause == 0) & (model.candidates.effect == 1))[0])
    expected = slope(
        lambda theta: objective(model, regime, parameters.gamma, theta, 0.0), parameters.theta, along_theta(model, pair)
    )
    assert found[pair] - found[model.candidates.reverse[pair]] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_the_gradient_of_all_interventions_is_eq_4(small):
    """Averaged over interventions, the two directions come with p(I) and opposite signs."""
    data, model = small
    parameters = make_parameters(model, 4)
    probability, pairs = parameters.edge_probability(), model.candidates
    terms = np.zeros(6)
    for regime in data.interventional:
        gradient = theta_gradient(parameters, exact_effects(model, regime, ROWS, probability))
        terms += np.where(np.isin(pairs.cause, regime.targets), gradient, 0.0) / 3
    for pair in range(6):
        cause, effect = int(pairs.cause[pair]), int(pairs.effect[pair])

        def eq_4_objective(theta, ends=(cause, effect)):
            adjacent = [regime for regime in data.interventional if regime.targets[0] in ends]
            other = {regime.targets: ({*ends} - {*regime.targets}).pop() for regime in adjacent}
            return sum(
                expected_losses(model, regime, ROWS, parameters.existence() * expit(theta))[other[regime.targets]] / 3
                for regime in adjacent
            )

        expected = slope(eq_4_objective, parameters.theta, along_theta(model, pair))
        assert terms[pair] - terms[pairs.reverse[pair]] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_unknown_effects_have_unknown_gradients(small):
    _, model = small
    parameters = make_parameters(model, 5)
    delta = np.array([np.nan, 0.1, 0.0, -0.1, np.nan, 0.2])
    assert np.isnan(gamma_gradient(parameters, delta, 0.01)).tolist() == np.isnan(delta).tolist()
    assert np.isnan(theta_gradient(parameters, delta)).tolist() == np.isnan(delta).tolist()


def test_sparsity_is_the_price_of_an_edge(small):
    """The gradient of gamma changes its sign exactly where the edge earns lambda_sparse."""
    _, model = small
    parameters = make_parameters(model, 6)
    delta = np.array([-0.031, -0.03, -0.029, 0.0, 1.0, -1.0])
    assert np.sign(gamma_gradient(parameters, delta, 0.03)).tolist() == [-1.0, 0.0, 1.0, 1.0, 1.0, -1.0]
