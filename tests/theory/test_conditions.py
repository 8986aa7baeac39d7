"""The conditions against the same conditions written down naively: full joint tables and loops over rows."""

from itertools import chain, combinations, product

import numpy as np
import pytest

from enco.errors import EncoError
from enco.simulate import SCM, Categorical, continuous, examples, from_cpts
from enco.theory import check_conditions


def subsets(items):
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def conditional(joint, effect, given, row):
    """p(x_effect | x_given) at one row, from a joint table."""
    match = [row[k] if k in given else slice(None) for k in range(joint.ndim)]
    below = joint[tuple(match)].sum()
    match[effect] = row[effect]
    return joint[tuple(match)].sum() / below


def gain(model, cause, effect, parents, target):
    """E under do(target) of log p(effect | parents, cause) - log p(effect | parents)."""
    observational = model.joint_probabilities()
    under = model.joint_probabilities(do={model.variables[target].name: None})
    total = 0.0
    for row in product(*(range(size) for size in observational.shape)):
        if under[row] > 0:
            with_edge = conditional(observational, effect, {*parents, cause}, row)
            without = conditional(observational, effect, set(parents), row)
            total += under[row] * (np.log(with_edge) - np.log(without))
    return total


def reachable(adjacency):
    n = len(adjacency)
    paths = np.linalg.matrix_power(np.eye(n, dtype=int) + adjacency.astype(int), n) > 0
    return paths & ~np.eye(n, dtype=bool)


def mean_gain(model, cause, effect, parents):
    others = [k for k in range(len(model.variables)) if k != effect]
    return np.mean([gain(model, cause, effect, parents, k) for k in others])


def possible_parents(model, cause, effect):
    below = reachable(model.adjacency)[effect]
    return [k for k in range(len(below)) if k not in (cause, effect) and not below[k]]


@pytest.mark.parametrize(("seed", "n"), [(0, 3), (1, 3), (2, 3), (3, 4), (4, 4), (5, 4)])
def test_every_pair_agrees_with_enumeration(random_model, seed, n):
    model = random_model(seed, n)
    report = check_conditions(model)
    ancestors = reachable(model.adjacency)
    assert {(model.position(p.cause), model.position(p.effect)) for p in report.pairs} == set(
        map(tuple, np.argwhere(ancestors).tolist())
    )
    for pair in report.pairs:
        cause, effect = model.position(pair.cause), model.position(pair.effect)
        assert pair.edge == model.adjacency[cause, effect]
        others = [k for k in range(n) if k not in (cause, effect)]
        own = [gain(model, cause, effect, s, cause) for s in subsets(others)]
        assert pair.own.minimum == pytest.approx(min(own), abs=1e-12)
        assert pair.own.maximum == pytest.approx(max(own), abs=1e-12)
        assert pair.own.examined == pair.own.possible == 2 ** (n - 2)
        named = [model.position(name) for name in pair.own.smallest.parents]
        assert gain(model, cause, effect, named, cause) == pytest.approx(pair.own.minimum, abs=1e-9)
        assert (pair.condition_1 == "holds") == (min(own) >= -1e-9)
        assert (pair.condition_2 == "holds") == (max(own) > 1e-9)
        if pair.edge:
            sets = list(subsets(possible_parents(model, cause, effect)))
            mean = [mean_gain(model, cause, effect, s) for s in sets]
            assert pair.existence.minimum == pytest.approx(min(mean), abs=1e-12)
            assert pair.existence.possible == len(sets)
            assert pair.existence.smallest.value == pytest.approx(
                np.mean(list(pair.existence.smallest.by_intervention.values()))
            )
            assert (pair.condition_3(0.01) == "holds") == (min(mean) > 0.01)
    edges = [pair.largest_sparsity for pair in report.edges]
    oriented = all(pair.orientation == "holds" for pair in report.pairs)
    assert report.largest_sparsity == (min(edges, default=np.inf) if oriented else 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_global_optimum_agrees_with_enumeration(random_model, seed):
    model = random_model(seed, 4, density=0.8)
    report = check_conditions(model)
    seen = {check.effect for check in report.parent_sets}
    assert seen == {model.variables[k].name for k in range(4) if model.adjacency[:, k].any()}
    observational = model.joint_probabilities()
    for check in report.parent_sets:
        effect = model.position(check.effect)
        parents = np.flatnonzero(model.adjacency[:, effect]).tolist()
        allowed = possible_parents(model, effect, effect)

        def score(given, effect=effect):
            total = 0.0
            for target in (k for k in range(4) if k != effect):
                under = model.joint_probabilities(do={model.variables[target].name: None})
                for row in product(*(range(size) for size in under.shape)):
                    total += under[row] * np.log(conditional(observational, effect, set(given), row)) / 3
            return total

        best = score(parents)
        smaller = [s for s in subsets(allowed) if len(s) < len(parents)]
        losses = [(best - score(s)) / (len(parents) - len(s)) for s in smaller]
        assert check.rival.value == pytest.approx(min(losses), abs=1e-10)
        assert check.exhaustive
        assert check.dependent


def test_dependence_for_the_global_optimum_is_mutual_information():
    model = examples.noisy_xor(0.1)
    [check] = check_conditions(model).parent_sets
    assert check.observational == pytest.approx({"X1": 0.0, "X2": 0.0}, abs=1e-12)
    entropy = -(0.1 * np.log(0.1) + 0.9 * np.log(0.9))
    assert check.interventional == pytest.approx({"X1": np.log(2) - entropy, "X2": np.log(2) - entropy})
    assert not check.dependent
    assert check_conditions(model).global_sparsity == 0.0


def test_neither_names_nor_positions_matter(random_model):
    model = random_model(7, 4)
    order = [2, 0, 3, 1]
    new_name = {f"V{k}": f"W{place}" for place, k in enumerate(order)}
    cpts = {}
    for k in order:
        parents = np.flatnonzero(model.adjacency[:, k])
        cpts[new_name[f"V{k}"]] = ([new_name[f"V{p}"] for p in parents], model.mechanisms[k].table)
    one, other = check_conditions(model), check_conditions(from_cpts(cpts))
    assert len(one.pairs) == len(other.pairs) > 0
    for pair in one.pairs:
        twin = other.pair(new_name[pair.cause], new_name[pair.effect])
        assert (twin.own.minimum, twin.own.maximum) == pytest.approx((pair.own.minimum, pair.own.maximum), abs=1e-12)
        assert {new_name[name] for name in pair.own.largest.parents} == set(twin.own.largest.parents)
        assert twin.largest_sparsity == pytest.approx(pair.largest_sparsity, abs=1e-12)
    assert one.largest_sparsity == pytest.approx(other.largest_sparsity, abs=1e-12)
    assert one.global_sparsity == pytest.approx(other.global_sparsity, abs=1e-12)


def test_interventions_follow_what_is_asked(random_model):
    model = random_model(1, 3)
    cause, effect = next((p.cause, p.effect) for p in check_conditions(model).edges)
    probabilities = np.arange(1, model.variables[model.position(cause)].n_levels + 1, dtype=float)
    probabilities /= probabilities.sum()
    report = check_conditions(model, interventions={cause: Categorical(tuple(probabilities))})
    observational = model.joint_probabilities()
    under = model.joint_probabilities(do={cause: Categorical(tuple(probabilities))})
    c, e = model.position(cause), model.position(effect)
    expected = sum(
        under[row] * np.log(conditional(observational, e, {c}, row) / conditional(observational, e, set(), row))
        for row in product(*(range(size) for size in under.shape))
    )
    assert report.pair(cause, effect).evidence is not None
    both = [report.pair(cause, effect).own.minimum, report.pair(cause, effect).own.maximum]
    assert min(both) - 1e-12 <= expected <= max(both) + 1e-12
    assert report.pair(cause, effect).own.minimum != check_conditions(model).pair(cause, effect).own.minimum


def test_without_intervention_on_the_cause_the_effect_decides():
    report = check_conditions(examples.worked_chain(), targets=["X2", "X3"])
    pair = report.pair("X1", "X2")
    assert pair.decided_by == "effect"
    assert pair.own is None
    model = examples.worked_chain()
    reverse = [gain(model, 1, 0, s, 1) for s in ((), (2,))]
    assert pair.reverse.maximum == pytest.approx(max(reverse), abs=1e-12)
    assert pair.reverse.minimum == pytest.approx(min(reverse), abs=1e-12)
    assert (pair.condition_1, pair.condition_2) == ("holds", "holds")
    assert report.untargeted == ("X1",)


def test_pairs_that_nothing_decides():
    report = check_conditions(examples.worked_chain(), targets=["X3"])
    assert report.pair("X1", "X2").condition_1 == "missing"
    assert report.status == "missing"
    assert report.largest_sparsity == 0.0
    assert "nothing that was intervened on" in str(report)
    nothing = check_conditions(examples.worked_chain(), targets=[])
    assert not nothing.guaranteed
    assert nothing.pair("X1", "X2").condition_3(0.004) == "missing"


def test_a_graph_without_edges():
    report = check_conditions(from_cpts({"a": ([], [0.5, 0.5]), "b": ([], [0.1, 0.9])}))
    assert report.pairs == ()
    assert "no edges" in str(report)


def test_mistakes(random_model):
    chain_ = examples.worked_chain()
    latent = from_cpts({"a": ([], [0.5, 0.5]), "b": (["a"], np.eye(2))}, latent=["a"])
    for call in (
        lambda: check_conditions(continuous("chain", 3, np.random.default_rng(0))),
        lambda: check_conditions(latent),
        lambda: check_conditions("asia"),
        lambda: check_conditions(chain_, sparsity=-1),
        lambda: check_conditions(chain_, sparsity=float("nan")),
        lambda: check_conditions(chain_, rows=0),
        lambda: check_conditions(chain_, budget=0),
        lambda: check_conditions(chain_, targets=["X9"]),
        lambda: check_conditions(chain_, interventions="gaussian"),
        lambda: check_conditions(chain_).pair("X3", "X1"),
    ):
        with pytest.raises(EncoError):
            call()
    assert isinstance(chain_, SCM)
