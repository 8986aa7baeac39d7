"""What the search must find in data, and what must not mislead it. What it does not find yet is in the file beside."""

import numpy as np
import pytest

from enco import ENCO, Knowledge, simulate
from enco.data import InterventionalData
from enco.graphs import is_acyclic
from enco.metrics import shd
from enco.settings import Settings
from search_problems import FORWARD, bidiag, chain, counted, found_from, graph_of, rare_cause, two_proxies, weak_cause

# Continuous variables


@pytest.mark.parametrize("draw", range(4))
def test_overlooked_parents_are_added_and_their_proxies_deleted(draw):
    start = graph_of(4, (0, 1), (0, 2), (1, 3))
    assert found_from(chain(draw=draw), start) == {*FORWARD}


@pytest.mark.parametrize("levels", [0, 4])
def test_ancestors_that_are_no_parents_are_found_out(levels):
    assert found_from(chain(levels=levels), graph_of(4, *FORWARD, (0, 2), (2, 3))) == {*FORWARD}


@pytest.mark.parametrize("cause", [2, 3])
def test_a_continuous_effect_is_not_taken_for_a_cause(cause):
    """X3 and X4 know much of X2, but not where they are themselves set."""
    allowed = graph_of(4, (cause, 1))
    start = graph_of(4, *(edge for edge in FORWARD if edge != (1, cause)))
    assert (cause, 1) not in found_from(chain(), start, allowed=allowed, required=start)


def test_the_unit_of_a_column_does_not_matter():
    assert found_from(chain(scale=1e6), graph_of(4, *FORWARD, (0, 2), (2, 3))) == {*FORWARD}


# Categorical variables


STARTS = [[], [(2, 1)], [(0, 2), (0, 1)], [(2, 0), (3, 0)], [(0, 1), (1, 2), (0, 2), (3, 2), (3, 1)]]


@pytest.mark.parametrize("start", STARTS, ids=str)
def test_the_truth_is_found_from_other_graphs(start):
    assert found_from(counted(), graph_of(4, *start)) == {(0, 1), (1, 2)}


def test_a_proxy_is_exchanged_for_the_cause():
    """a knows something of b, the missing parent of c."""
    assert found_from(counted(), graph_of(4, (0, 1), (0, 2))) == {(0, 1), (1, 2)}


def test_a_cause_comes_in_the_place_of_all_its_proxies():
    assert found_from(two_proxies(), graph_of(4, (0, 2), (3, 2))) == {(1, 0), (1, 2), (1, 3)}


def test_an_effect_taken_for_a_cause_is_turned_round():
    assert found_from(counted(), graph_of(4, (2, 1), (1, 0))) == {(0, 1), (1, 2)}


@pytest.mark.parametrize("start", [[], [(0, 1)]], ids=str)
def test_what_is_rare_and_no_cause_is_not_taken_for_one(start):
    assert found_from(rare_cause(0.0), graph_of(3, *start)) == set()


def test_where_rows_that_set_the_cause_say_little_those_that_set_the_effect_decide():
    assert found_from(weak_cause(2000), graph_of(3)) == {(0, 1)}


def test_weak_causes_show_in_observational_rows():
    """With a price that few interventional rows cannot pay; without observational rows the edge leaves."""
    price = Settings(sparsity=0.02, edge_evidence=40.0)
    for observational, kept in ((5000, True), (10, False)):
        data = counted(observational, 20, seed=1)
        found = found_from(data, graph_of(4, (0, 1), (1, 2)), settings=price)
        assert ((0, 1) in found) == kept


# Functions of parents


def test_functions_of_parents_have_no_other_parents():
    """Some true edges cannot be found: in rows without noise, other parents may say all that one of them says."""
    missing = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        scm = simulate.categorical("random", 8, rng, categories=3, mechanism="deterministic", edge_probability=0.3)
        data = scm.dataset(3000, 200, rng=rng)
        found, truth = ENCO(random_state=0, n_jobs=1).fit(data).adjacency_matrix_ == 1, scm.observed_adjacency
        assert not (found & ~truth).any()
        missing += np.count_nonzero(truth & ~found)
    assert missing <= 7


# Directions that no intervention tells


def test_directions_that_no_intervention_tells():
    """Two interventions orient most of a graph, by way of colliders and of what follows from them."""
    data, truth = bidiag(2, 2)
    assert shd(ENCO(random_state=0, n_jobs=2).fit(data).adjacency_matrix_, truth) <= 1


def test_knowledge_stands_where_directions_are_open():
    data, truth = bidiag(1, 1)
    (cause, effect), (without, forbidden) = np.argwhere(truth)[[0, -1]].tolist()
    name = data.names
    knowledge = Knowledge(required=[(name[effect], name[cause])], forbidden=[(name[without], name[forbidden])])
    found = ENCO(random_state=0, n_jobs=2, knowledge=knowledge).fit(data).adjacency_matrix_.astype(bool)
    assert found[effect, cause]
    assert not found[without, forbidden]
    assert is_acyclic(found)


# Small samples


@pytest.mark.parametrize(("continuous", "most"), [(False, 4), (True, 2)])
def test_graphs_have_fewer_errors_after_the_search(continuous, most):
    """Very small samples: chains of six variables, 1,000 rows and 20 for each intervention."""
    before, after = 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scm = (simulate.continuous if continuous else simulate.categorical)("chain", 6, rng)
        data = scm.dataset(1000, 20, rng=rng)
        fitted = ENCO(random_state=seed, n_jobs=1).fit(data)
        ordered = ENCO(random_state=seed, n_jobs=1, settings={"refine_rounds": 0}).fit(data)
        assert (fitted.adjacency_matrix_raw_ == ordered.adjacency_matrix_raw_).all()
        after += shd(fitted.adjacency_matrix_, scm.observed_adjacency)
        before += shd(ordered.adjacency_matrix_, scm.observed_adjacency)
    assert after < before
    assert after <= most


@pytest.mark.parametrize("seed", range(4))
def test_observational_rows_do_not_make_a_rare_cause_too_weak(seed):
    """A cause that is present in one of 200 observational rows, and in half of those that intervene on it."""
    rng = np.random.default_rng(seed)

    def block(rows, target=None):
        x = rng.integers(2, size=(rows, 3))
        if target != 0:
            x[:, 0] = rng.random(rows) < 0.005
        if target != 1:
            x[:, 1] = rng.random(rows) < np.where(x[:, 0] == 1, 0.4, 0.1)
        return x

    names = ["a", "b", "c"]
    blocks = [block(20_000), *(block(200, target) for target in range(3))]
    data = InterventionalData.from_environments(blocks, [None, *names], names=names)
    assert found_from(data, graph_of(3, (0, 1))) == {(0, 1)}
