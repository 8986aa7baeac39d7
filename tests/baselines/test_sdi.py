"""SDI: its gradients against exact enumeration of all graphs, and against finite differences."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from enco import simulate
from enco.baselines.sdi import GraphStep, SDISettings
from enco.candidates import Candidates
from enco.conditionals.fused import FusedConditionals, NetworkSettings


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    data = simulate.categorical("full", 3, rng, categories=[4, 3, 3]).dataset(2000, 60, rng=rng)
    model = FusedConditionals(
        data, Candidates.all_pairs(3), settings=NetworkSettings(hidden=16, batch=64), seed=0, n_jobs=1
    )
    model.fit(np.full(6, 0.5), 400)
    return data, model


@pytest.mark.parametrize("rows", [1.0, 1.7, 30.0])
def test_likelihood_gradient_tends_to_that_of_all_graphs(problem, rows):
    data, model = problem
    regime = data.interventional[0]
    settings = SDISettings(likelihood_rows=rows, graph_batch=regime.n_rows, graph_samples=20_000)
    step = GraphStep(model, settings=settings, rng=np.random.default_rng(1))
    step.gamma[:] = np.linspace(-1.0, 1.0, 6)
    probability = expit(step.gamma)
    subsets = np.array(list(itertools.product([False, True], repeat=2)))
    losses = model.graph_losses(regime, np.arange(regime.n_rows), np.tile(subsets, 3))
    for effect in range(3):
        into = model.candidates.pairs_into(effect)
        prior = np.where(subsets, probability[into], 1 - probability[into]).prod(axis=1)
        weight = prior * np.exp(-rows * (losses[:, effect] - losses[:, effect].min()))
        exact = probability[into] - weight @ subsets / weight.sum()
        np.testing.assert_allclose(step.likelihood_gradient(regime)[into], exact, atol=0.02)


def test_regulariser_gradient_is_that_of_the_penalty(problem):
    _, model = problem
    settings = SDISettings(sparsity=0.3, dag_penalty=0.7)
    step = GraphStep(model, settings=settings, rng=np.random.default_rng(1))
    reverse = model.candidates.reverse

    def penalty(gamma):
        p = expit(gamma)
        both = np.cosh(p * p[reverse]).sum() / 2  # a pair of variables counts once
        return settings.sparsity * p.sum() + settings.dag_penalty * both

    gamma = np.random.default_rng(2).normal(size=6)
    step.gamma[:] = gamma
    numeric = [(penalty(gamma + shift) - penalty(gamma - shift)) / 2e-6 for shift in 1e-6 * np.eye(6)]
    np.testing.assert_allclose(step.regulariser_gradient(), numeric, atol=1e-7)
