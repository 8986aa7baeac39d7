"""What fits must find. Marked is what they do not find yet: each says what is found instead."""

from functools import partial

import numpy as np
import pytest

from enco import ENCO, Knowledge, simulate
from enco.conditionals.continuous import Standardisation
from enco.data import InterventionalData
from enco.metrics import shd
from enco.score.objective import Objective
from enco.score.regression import Regressions
from enco.score.rows import Sample
from enco.search.dag import LEAST_GAIN, search
from enco.simulate import examples
from enco.theory import check_conditions
from search_problems import (
    FORWARD,
    TRUTH,
    bidiag,
    chain,
    counted,
    edges,
    found_from,
    free_rules,
    graph_of,
    rare_cause,
    small_data,
    weak_cause,
)
from test_continuous_input import CHAIN, TARGETS, fit, make_blocks
from test_continuous_input import edges as names_of_edges

not_yet = partial(pytest.mark.xfail, strict=True, raises=AssertionError)


# What interventions on a cause say against an edge counts as much as any other rows, and those are many


def test_interventions_tell_an_effect_from_a_cause():
    """Observational rows cannot tell b -> a from a -> b; under interventions on b, it does harm."""
    allowed = graph_of(4, (1, 0))
    assert found_from(counted(interventional=1000), graph_of(4), allowed=allowed) == set()


def test_knowledge_does_not_make_an_effect_a_cause():
    forbidden = [(one, other) for one in "abcd" for other in "abcd" if one != other and (one, other) != ("b", "a")]
    fitted = ENCO(random_state=0, n_jobs=1, knowledge=Knowledge(forbidden=forbidden)).fit(counted(interventional=1000))
    assert edges(fitted.adjacency_matrix_) == set()


@pytest.mark.xfail(
    strict=True, reason="found b -> a: 20 rows set b, and in the 40 that set a it shows no effect, by chance"
)
def test_a_direction_that_hardly_any_row_tells_is_left_open():
    fitted = ENCO(random_state=0, n_jobs=1).fit(weak_cause(20))
    assert edges(fitted.adjacency_matrix_) == set()


@pytest.mark.parametrize("continuous", [False, pytest.param(True, marks=not_yet(reason="found C -> B besides"))])
def test_a_proxy_of_a_confounder_is_no_cause(continuous):
    """A <- L -> B and A -> C, and D by itself."""
    rng = np.random.default_rng(0)
    blocks, targets = [], [None, "A", "B", "C", "D"]
    for target in targets:
        size = 200 if target else 1500
        noise = rng.normal(size=(4, size)) if continuous else rng.integers(3, size=(4, size))
        latent = rng.normal(size=size) if continuous else rng.integers(3, size=size)
        columns = {}
        for name, own, keep in zip("ABCD", noise, rng.random((4, size)) < 0.7, strict=True):
            cause = {"A": latent, "B": latent, "C": columns.get("A")}.get(name)
            if name == target or cause is None:
                columns[name] = own
            else:
                columns[name] = cause + 0.5 * own if continuous else np.where(keep, cause, own)
        blocks.append(np.column_stack(list(columns.values())))
    data = InterventionalData.from_environments(blocks, targets, names=list("ABCD"))
    quick = {"max_epochs": 7, "hidden": 16, "refine_steps": 300, "interventions": "perfect"}
    fitted = ENCO(latent=True, settings=quick, random_state=1, n_jobs=1).fit(data)
    assert [pair[:2] for pair in fitted.result_.confounders] == [("A", "B")]
    assert edges(fitted.adjacency_matrix_) == {(0, 2)}


# Causes that matter in few rows


@pytest.mark.parametrize("start", [[], [(0, 1)]], ids=str)
@not_yet(reason="found no edge: over all rows a rare cause earns less than `sparsity` for each")
def test_a_rare_cause_is_found_where_it_was_set(start):
    assert found_from(rare_cause(0.15), graph_of(3, *start)) == {(0, 1)}


@not_yet(reason="at 0.019 the search deletes X1 -> X2 for 328 nats: it judges all rows alike")
def test_discovery_finds_the_bound_on_lambda():
    """Appendix B.2.1: recovered at 0.019, the edge X1 -> X2 missed at 0.021, from 100k + 10k rows.

    The bound of 10k rows scatters around 0.0201 with a standard error of 0.0014, more than its distance to either
    lambda: not every data set shows both outcomes. This one is, of twelve, that whose own bound (the limited-data
    condition) is closest to 0.020; the rule was fixed after six data sets had been fitted.
    """
    model = examples.worked_chain()
    data = [model.dataset(100_000, 10_000, rng=np.random.default_rng(seed)) for seed in range(12)]
    bounds = [check_conditions(model, data=rows).pair("X1", "X2").largest_sparsity for rows in data]
    chosen = data[int(np.argmin(np.abs(np.array(bounds) - 0.020)))]
    options = {"random_state": 0, "n_jobs": 1}
    assert ENCO(sparsity=0.019, **options).fit(chosen).adjacency_matrix_.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert ENCO(sparsity=0.021, **options).fit(chosen).adjacency_matrix_.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]


# Continuous variables


def test_a_copy_is_a_child():
    """D repeats A unless it is set: then A shows who copies whom."""
    blocks = make_blocks()
    for block, target in zip(blocks, TARGETS, strict=True):
        if target != "D":
            block[:, 0] = block[:, 2]
    assert names_of_edges(fit(blocks)) == {*CHAIN, "A -> D"}


def test_simulated_mixed_models_are_recovered():
    rng = np.random.default_rng(11)
    scm = simulate.mixed("random", 6, rng, categories=4, categorical_share=0.5, edge_probability=0.35)
    fitted = ENCO(random_state=0, n_jobs=1).fit(scm.dataset(3000, 300, rng=rng))
    assert (fitted.adjacency_matrix_ == scm.observed_adjacency).all()


@not_yet(reason="X4 -> X3 in the place of X1 -> X4: networks answer for children of X1")
def test_parents_of_hundreds_of_levels_stay():
    """Regressions leave them to networks."""
    assert found_from(chain(levels=200), graph_of(4, *FORWARD)) == {*FORWARD}


# Directions that no intervention tells


def test_directions_that_no_intervention_tells():
    """Two interventions orient most of a graph, by way of colliders and of what follows from them."""
    data, truth = bidiag(3, 2)
    assert shd(ENCO(random_state=0, n_jobs=2).fit(data).adjacency_matrix_, truth) <= 1


# Bookkeeping


@not_yet(reason="1563.3 nats at first and 1566.5 after other questions: regressions go on from each other's weights")
def test_the_total_of_a_graph_does_not_depend_on_what_was_asked_before():
    data = small_data("continuous")
    sample = Sample.of(data.regimes, 4)
    regressions = Regressions(sample, Standardisation.of(data), data.n_levels, data.slots)
    every = [frozenset(range(4)) - {effect} for effect in range(4)]
    predictors = [regressions.of(effect, 5.0) for effect in range(4)]
    objective = Objective(predictors, every, data.regimes, sparsity=0.004, evidence=3.0)
    before = objective.total(TRUTH)
    search(objective, graph_of(4), free_rules(4))
    assert objective.total(TRUTH) == pytest.approx(before, abs=LEAST_GAIN)


def test_the_totals_of_a_fit_differ_by_the_gains_of_its_moves():
    rng = np.random.default_rng(11)
    scm = simulate.mixed("random", 6, rng, categories=4, categorical_share=0.0, edge_probability=0.35)
    report = ENCO(random_state=0, n_jobs=1).fit(scm.dataset(3000, 300, rng=rng)).result_.order_report
    fallen = sum(before - after for before, after in report["totals"])
    assert fallen == pytest.approx(sum(step["gain"] for step in report["refined"]), abs=LEAST_GAIN)
