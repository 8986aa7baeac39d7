from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from enco.errors import GraphError, SettingsError
from enco.graphs.dag import is_acyclic
from enco.graphs.structures import (
    STRUCTURES,
    add_latent_confounders,
    bidiag,
    chain,
    collider,
    full,
    jungle,
    make_structure,
    random,
    regular,
    shuffle_columns,
)


def edges(adjacency):
    return {(int(cause), int(effect)) for cause, effect in np.argwhere(adjacency)}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 25])
def test_deterministic_structures_follow_the_appendix(n):
    assert edges(chain(n)) == {(i - 1, i) for i in range(1, n)}
    assert edges(bidiag(n)) == {(p, i) for i in range(n) for p in (i - 2, i - 1) if p >= 0}
    assert edges(collider(n)) == {(i, n - 1) for i in range(n - 1)}
    assert edges(full(n)) == {(p, i) for i in range(n) for p in range(i)}
    assert int(full(n).sum()) == n * (n - 1) // 2
    assert int(jungle(n).sum()) == max(n - 1, 0) + max(n - 3, 0)


def test_jungle_is_a_binary_tree_with_grandparents():
    # The tree over 8 nodes: 0 has 1, 2; 1 has 3, 4; 2 has 5, 6; 3 has 7.
    tree = {(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (3, 7)}
    grandparents = {(0, 3), (0, 4), (0, 5), (0, 6), (1, 7)}
    assert edges(jungle(8)) == tree | grandparents


@pytest.mark.parametrize("name", list(STRUCTURES))
def test_every_structure_is_boolean_acyclic_and_in_causal_order(name):
    adjacency = make_structure(name, 30, np.random.default_rng(0))
    assert adjacency.shape == (30, 30)
    assert adjacency.dtype == np.bool_
    assert is_acyclic(adjacency)
    assert not np.tril(adjacency).any()


def test_random_draws_each_edge_with_the_given_probability():
    rng = np.random.default_rng(1)
    counts = sum(random(6, rng, edge_probability=0.3).astype(int) for _ in range(4000))
    above = counts[np.triu_indices(6, k=1)]
    assert min(stats.binomtest(int(count), 4000, 0.3).pvalue for count in above) > 1e-6
    assert int(random(25, np.random.default_rng(0)).sum()) == pytest.approx(0.3 * 300, abs=40)  # the default
    assert edges(random(5, rng, edge_probability=1.0)) == edges(full(5))
    assert edges(random(5, rng, edge_probability=0.0)) == set()


def test_max_parents_keeps_a_uniform_subset():
    rng = np.random.default_rng(2)
    kept = Counter()
    for _ in range(6000):
        adjacency = random(5, rng, edge_probability=1.0, max_parents=2)
        assert adjacency.sum(axis=0).tolist() == [0, 1, 2, 2, 2]
        kept[tuple(np.flatnonzero(adjacency[:, 4]))] += 1
    assert set(kept) == set(combinations(range(4), 2))
    assert stats.chisquare(list(kept.values())).pvalue > 1e-6


def test_max_parents_leaves_smaller_sets_alone():
    free = random(40, np.random.default_rng(3), edge_probability=0.2)
    limited = random(40, np.random.default_rng(3), edge_probability=0.2, max_parents=6)
    few = free.sum(axis=0) <= 6
    np.testing.assert_array_equal(limited[:, few], free[:, few])
    assert (limited.sum(axis=0)[~few] == 6).all()
    assert (limited <= free).all()


def test_scalability_setting_has_eight_edges_per_node():
    adjacency = random(1000, np.random.default_rng(4), edge_probability=8 / 1000, max_parents=10)
    assert 2 * adjacency.sum() / 1000 == pytest.approx(8, abs=0.3)  # incoming and outgoing
    assert adjacency.sum(axis=0).max() == 10


def test_regular_gives_everyone_the_same_number_of_uniform_parents():
    rng = np.random.default_rng(5)
    counts = np.zeros((6, 6))
    for _ in range(6000):
        adjacency = regular(6, rng, parents=2)
        assert adjacency.sum(axis=0).tolist() == [0, 1, 2, 2, 2, 2]
        counts += adjacency
    assert stats.chisquare(counts[:5, 5]).pvalue > 1e-6


def test_latent_confounders_join_unconnected_pairs_once():
    base = random(12, np.random.default_rng(6), edge_probability=0.4)
    bigger, latent = add_latent_confounders(base, 5, np.random.default_rng(7))
    assert latent.tolist() == [12, 13, 14, 15, 16]
    np.testing.assert_array_equal(bigger[:12, :12], base)
    assert not bigger[:, 12:].any()  # nothing causes a latent
    pairs = [tuple(np.flatnonzero(bigger[position])) for position in latent]
    assert all(len(pair) == 2 for pair in pairs)
    assert len(set(pairs)) == 5
    assert not any(base[i, j] or base[j, i] for i, j in pairs)


def test_latent_confounders_are_uniform_over_free_pairs():
    rng = np.random.default_rng(8)
    seen = Counter()
    for _ in range(3000):
        bigger, latent = add_latent_confounders(chain(4), 1, rng)
        seen[tuple(int(p) for p in np.flatnonzero(bigger[latent[0]]))] += 1
    assert set(seen) == {(0, 2), (0, 3), (1, 3)}
    assert stats.chisquare(list(seen.values())).pvalue > 1e-6


def test_too_many_latents_say_how_many_fit():
    assert add_latent_confounders(chain(4), 3, np.random.default_rng(0))[0].shape == (7, 7)
    with pytest.raises(SettingsError, match=r"4 latent confounders do not fit.*between 0 and 3"):
        add_latent_confounders(chain(4), 4, np.random.default_rng(0))


def test_shuffle_keeps_the_graph_and_is_uniform():
    rng = np.random.default_rng(9)
    seen = Counter()
    for _ in range(6000):
        shuffled, permutation = shuffle_columns(chain(4), rng)
        np.testing.assert_array_equal(shuffled, chain(4)[np.ix_(permutation, permutation)])
        seen[tuple(permutation.tolist())] += 1
    assert len(seen) == 24
    assert stats.chisquare(list(seen.values())).pvalue > 1e-6


def test_same_seed_same_graph():
    for name in ("random", "regular"):
        one, two = (make_structure(name, 50, np.random.default_rng(3)) for _ in range(2))
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: make_structure("ring", 5, rng), "unknown structure 'ring'; choose one of bidiag, chain"),
        (lambda rng: make_structure("chain", 5, rng, max_parents=2), "'chain' has no option 'max_parents'"),
        (
            lambda rng: make_structure("random", 5, rng, parents=2),
            "it takes edge_probability and max_parents",
        ),
        (lambda rng: chain(0), "at least 1, but n is 0"),
        (lambda rng: random(5, rng, edge_probability=1.5), "between 0 and 1, but it is 1.5"),
        (lambda rng: random(5, rng, edge_probability=float("nan")), "between 0 and 1, but it is nan"),
        (lambda rng: random(5, rng, max_parents=-1), "max_parents must be 0 or more"),
        (lambda rng: regular(5, rng, parents=-1), "parents must be 0 or more"),
    ],
)
def test_bad_options_are_explained(call, message):
    with pytest.raises(SettingsError, match=message):
        call(np.random.default_rng(0))


def test_shuffle_wants_a_square_matrix():
    with pytest.raises(GraphError, match="square"):
        shuffle_columns(np.zeros((2, 3)), np.random.default_rng(0))
