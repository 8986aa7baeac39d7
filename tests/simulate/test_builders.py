from collections import Counter

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from enco import simulate
from enco.errors import DataError, GraphError, SettingsError
from enco.graphs.structures import STRUCTURES, bidiag, chain, jungle, make_structure
from enco.simulate import (
    AdditiveNetwork,
    NeuralCategorical,
    NonadditiveNetwork,
    ProductCategorical,
    TableCategorical,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def isomorphic(one, two):
    graphs = [nx.from_numpy_array(np.asarray(a, dtype=int), create_using=nx.DiGraph) for a in (one, two)]
    return nx.is_isomorphic(*graphs)


@pytest.mark.parametrize("name", ["bidiag", "chain", "collider", "full", "jungle"])
def test_structures_survive_the_shuffle(name):
    model = simulate.categorical(name, 8, rng(2), categories=3)
    assert isomorphic(model.observed_adjacency, STRUCTURES[name](8))
    assert not np.array_equal(model.observed_adjacency, STRUCTURES[name](8))
    kept = simulate.categorical(name, 8, rng(1), categories=3, shuffle=False)
    np.testing.assert_array_equal(kept.observed_adjacency, STRUCTURES[name](8))


def test_names_follow_positions_after_the_shuffle():
    model = simulate.categorical("chain", 12, rng(0), latents=3)
    assert [v.name for v in model.variables] == [f"X{k}" for k in range(1, 13)] + ["L1", "L2", "L3"]
    roots = Counter()
    for seed in range(600):
        model = simulate.categorical("chain", 3, rng(seed), categories=2)
        roots[model.observed_names[int(np.flatnonzero(model.adjacency.sum(axis=0) == 0)[0])]] += 1
    assert stats.chisquare([roots[name] for name in ("X1", "X2", "X3")]).pvalue > 1e-6


def test_random_options_reach_the_structure():
    model = simulate.categorical("random", 40, rng(0), edge_probability=0.9, max_parents=3, categories=2)
    assert model.adjacency.sum(axis=0).max() == 3
    regular = simulate.categorical("regular", 20, rng(0), parents=4, categories=2)
    assert sorted(regular.adjacency.sum(axis=0).tolist()) == [0, 1, 2, 3] + [4] * 16


def test_own_adjacency():
    own = bidiag(5)
    model = simulate.categorical(own.astype(int), rng=rng(0), shuffle=False)
    np.testing.assert_array_equal(model.adjacency, own)
    assert simulate.categorical(own, 5, rng(0)).adjacency.sum() == own.sum()


def test_categories_follow_their_variables():
    counts = [2, 3, 4, 5, 6, 7]
    model = simulate.categorical("chain", 6, rng(3), categories=counts, latents=1)
    position = int(np.flatnonzero(model.adjacency[:6, :6].sum(axis=0) == 0)[0])
    found = []
    while True:  # walk along the chain
        found.append(model.variables[position].n_levels)
        children = np.flatnonzero(model.adjacency[position, :6])
        if not len(children):
            break
        position = int(children[0])
    assert found == counts
    assert model.variables[6].n_levels == 7
    assert model.variables[0].levels == tuple(range(model.variables[0].n_levels))


def test_mechanisms_by_name():
    has_parents = make_structure("jungle", 7, rng()).any(axis=0)
    kinds = {"neural": NeuralCategorical, "product": ProductCategorical}
    for name, kind in kinds.items():
        model = simulate.categorical(jungle(7), rng=rng(0), mechanism=name, shuffle=False, categories=3)
        assert all(isinstance(m, kind) for m, child in zip(model.mechanisms, has_parents, strict=True) if child)
    for name, kind in {"additive": AdditiveNetwork, "nonadditive": NonadditiveNetwork}.items():
        model = simulate.continuous(jungle(7), rng=rng(0), mechanism=name, shuffle=False)
        assert all(isinstance(m, kind) for m, child in zip(model.mechanisms, has_parents, strict=True) if child)


def is_deterministic(mechanism):
    return isinstance(mechanism, TableCategorical) and set(np.unique(mechanism.table)) <= {0.0, 1.0}


def test_deterministic_all_but_leaves():
    model = simulate.categorical(jungle(9), rng=rng(0), mechanism="deterministic", shuffle=False, categories=4)
    has_parents, has_children = model.adjacency.any(axis=0), model.adjacency.any(axis=1)
    for position, mechanism in enumerate(model.mechanisms):
        assert is_deterministic(mechanism) == (has_parents[position] and has_children[position])
    everything = simulate.categorical(jungle(9), rng=rng(0), mechanism="deterministic", deterministic="all")
    assert [is_deterministic(m) for m in everything.mechanisms] == everything.adjacency.any(axis=0).tolist()
    codes = model.sample(2000, rng=rng(1)).codes
    assert len(np.unique(codes[:, 0])) == 4  # the root is random
    inner = codes[:, 1]  # a function of the root
    assert all(len(np.unique(inner[codes[:, 0] == level])) == 1 for level in range(4))


def test_appendix_setting_is_not_trivial():
    """Conditionals of the paper's networks are neither uniform nor deterministic."""
    model = simulate.categorical("random", 25, rng(0))
    entropies = []
    for mechanism in model.mechanisms:
        codes = np.column_stack([rng(1).integers(n, size=50) for n in mechanism.parent_levels] or [[0] * 50])
        rows = mechanism.probabilities(codes[:, : len(mechanism.parent_levels)])
        entropies.append(-(rows * np.log(rows)).sum(axis=1).mean() / np.log(10))
    assert 0.2 < np.mean(entropies) < 0.9


def test_mixed_models_have_both_kinds_and_effects_across_them():
    model = simulate.mixed("chain", 6, rng(4), categories=3, categorical_share=0.5)
    assert sorted(v.kind for v in model.variables) == ["categorical"] * 3 + ["continuous"] * 3
    regime = model.sample(20_000, rng=rng(5))
    column = {}
    for position, variable in enumerate(model.variables):
        block = regime.codes if variable.levels else regime.reals
        same_kind = [v for v in model.variables[:position] if bool(v.levels) == bool(variable.levels)]
        column[position] = block[:, len(same_kind)]
    crossing = 0
    for cause, effect in np.argwhere(model.adjacency):
        kinds = {model.variables[cause].kind, model.variables[effect].kind}
        if len(kinds) == 2:
            crossing += 1
            groups, values = sorted((column[cause], column[effect]), key=lambda c: c.dtype.kind, reverse=True)
            assert stats.kruskal(*(values[groups == level] for level in np.unique(groups))).pvalue < 1e-7
    assert crossing >= 1


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_share_of_categorical_variables(share):
    model = simulate.mixed("random", 20, rng(0), categorical_share=share, categories=4, latents=2)
    assert sum(v.kind == "categorical" for v in model.observed_variables) == 20 * share


def test_mixed_standardises_wide_parents():
    """A parent with a huge spread must not saturate the softmax of its categorical child."""
    for seed in range(4):
        model = simulate.mixed("chain", 8, rng(seed), mechanism="additive", activation="leaky_relu")
        regime = model.sample(4000, rng=rng(1))
        assert min(len(np.unique(column)) for column in regime.codes.T) >= 4


def test_same_seed_same_model():
    one, two = (simulate.mixed("random", 10, rng(6), latents=2).dataset(50, 5, rng=rng(7)) for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: simulate.categorical("chain", 5), SettingsError, "rng must be a numpy.random.Generator"),
        (lambda: simulate.categorical("chain", None, rng()), SettingsError, "needs a number of variables"),
        (lambda: simulate.categorical("ring", 5, rng()), SettingsError, "unknown structure 'ring'"),
        (lambda: simulate.categorical(chain(4), 5, rng()), SettingsError, "n is 5, but .* has 4 variables"),
        (
            lambda: simulate.categorical(chain(4), rng=rng(), max_parents=2),
            SettingsError,
            "max_parents is an option",
        ),
        (lambda: simulate.categorical([[0, 1], [1, 0]], rng=rng()), GraphError, "cycle"),
        (
            lambda: simulate.categorical("chain", 5, rng(), max_parents=2),
            SettingsError,
            "no option 'max_parents'",
        ),
        (
            lambda: simulate.categorical("chain", 5, rng(), mechanism="x"),
            SettingsError,
            "unknown mechanism 'x'",
        ),
        (
            lambda: simulate.categorical("chain", 5, rng(), deterministic="x"),
            SettingsError,
            "deterministic is 'x'",
        ),
        (
            lambda: simulate.categorical("chain", 5, rng(), categories=1),
            SettingsError,
            "from 2 to 65,535, but got 1",
        ),
        (lambda: simulate.categorical("chain", 5, rng(), categories=2.5), SettingsError, "whole number"),
        (
            lambda: simulate.categorical("chain", 5, rng(), categories=[2, 3]),
            SettingsError,
            "2 entries for 5",
        ),
        (
            lambda: simulate.categorical("full", 5, rng(), latents=1),
            SettingsError,
            "1 latent confounders do not fit",
        ),
        (
            lambda: simulate.continuous("chain", 5, rng(), mechanism="x"),
            SettingsError,
            "unknown mechanism 'x'",
        ),
        (
            lambda: simulate.continuous("chain", 5, rng(), noise_scale=0),
            SettingsError,
            "noise_scale must be above 0",
        ),
        (lambda: simulate.mixed("chain", 5, rng(), categorical_share=2), SettingsError, "between 0 and 1"),
        (
            lambda: simulate.mixed("full", 160, rng(), activation="leaky_relu", categorical_share=0.0),
            SettingsError,
            "beyond what 32-bit floats hold",
        ),
    ],
)
def test_misuse_is_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_cpts_with_parents_in_any_order():
    table = rng(0).dirichlet(np.ones(4), size=(2, 3))  # one axis per parent: b, then a
    model = simulate.from_cpts(
        {
            "a": ([], [0.2, 0.3, 0.5]),
            "c": (["b", "a"], table),
            "b": (["a"], [[0.5, 0.5], [0.1, 0.9], [1, 0]]),
        },
        levels={"a": ("low", "mid", "high")},
    )
    assert model.observed_names == ("a", "c", "b")
    assert model.variables[0].levels == ("low", "mid", "high")
    given_a_b = np.array([[0.5, 0.5], [0.1, 0.9], [1, 0]])
    expected = np.einsum("a,ab,bac->acb", [0.2, 0.3, 0.5], given_a_b, table)
    np.testing.assert_allclose(model.joint_probabilities(), expected)
    flat = simulate.from_cpts(
        {"a": ([], [0.2, 0.3, 0.5]), "c": (["b", "a"], table.reshape(6, 4)), "b": (["a"], given_a_b)}
    )
    np.testing.assert_allclose(flat.joint_probabilities(), expected)


@pytest.mark.parametrize(
    ("cpts", "options", "message"),
    [
        ({"a": (["b"], [[1.0, 0.0]])}, {}, "'a' has the parent 'b', which has no table"),
        ({"a": ([], [0.5, 0.6])}, {}, "variable 'a': row 0 .* sum to 1.1"),
        (
            {"a": ([], [0.5, 0.5]), "b": (["a"], [[0.5, 0.5]])},
            {},
            r"'b' has the shape \[1, 2\].*\[2, 2\] is needed",
        ),
        ({"a": ([], [0.5, 0.5]), "b": (["a", "a"], np.full((4, 2), 0.5))}, {}, "names a parent twice"),
        ({"a": ([], [0.5, 0.5])}, {"levels": {"a": ("x",)}}, "'a' has 1 levels, but its table has 2 columns"),
        ({"a": ([], [0.5, 0.5])}, {"latent": ["z"]}, "'z' has no table"),
    ],
)
def test_bad_cpts_name_the_variable(cpts, options, message):
    with pytest.raises(DataError, match=message):
        simulate.from_cpts(cpts, **options)


def test_cyclic_cpts():
    half = np.full((2, 2), 0.5)
    with pytest.raises(GraphError, match="cycle"):
        simulate.from_cpts({"a": (["b"], half), "b": (["a"], half)})
