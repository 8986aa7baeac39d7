"""The fused engine: it learns every conditional distribution, keeps its best weights, and repeats itself to the bit."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import norm

from enco import simulate
from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.data import InterventionalData, Regime, Variable

# Levels of four variables, 0 for a continuous one.
KINDS = {"categorical": (2, 3, 7, 4), "continuous": (0, 0, 0, 0), "mixed": (3, 0, 2, 0)}
each_kind = pytest.mark.parametrize("n_levels", KINDS.values(), ids=KINDS.keys())

SMALL = NetworkSettings(hidden=16, batch=64, learning_rate=5e-3, weight_decay=1e-4)


def make_model(data, *, candidates=None, settings=SMALL, seed=0, n_jobs=1, column=None):
    candidates = Candidates.all_pairs(data.n_variables) if candidates is None else candidates
    return FusedConditionals(data, candidates, settings=settings, seed=seed, n_jobs=n_jobs, column=column)


def random_data(rows=200, n_levels=KINDS["categorical"], seed=0, interventional_rows=40):
    """X2 follows X1 in the observational rows: something to learn. The second regime is do(X1)."""
    rng = np.random.default_rng(seed)
    regimes = []
    for targets, size in (((), rows), ((0,), interventional_rows)):
        columns = [rng.integers(count, size=size) if count else rng.normal(-2, 5, size) for count in n_levels]
        if not targets:
            columns[1] = columns[0] % n_levels[1] if n_levels[1] else columns[0] + 0.3 * columns[1]
        codes, reals = (
            np.array([column for column, count in zip(columns, n_levels, strict=True) if (count > 0) == kind])
            for kind in (True, False)
        )
        codes, reals = codes.reshape(-1, size).T.astype(np.uint8), reals.reshape(-1, size).T.astype(np.float32)
        regimes.append(Regime(targets, codes, reals))
    variables = [
        Variable(f"X{k}", "categorical", tuple(range(count))) if count else Variable(f"X{k}", "continuous")
        for k, count in enumerate(n_levels, start=1)
    ]
    return InterventionalData(variables, regimes)


def all_rows(regime):
    return np.arange(regime.n_rows)


def half(model):
    return np.full(model.candidates.n_pairs, 0.5)


def everywhere(model):
    return np.ones(model.candidates.n_pairs, bool)


def run(model, data):
    """A bit of everything; returns what came out."""
    first = model.fit(half(model), 60)
    regime = data.interventional[0]
    effects = model.edge_effects(regime, all_rows(regime), half(model), everywhere(model))
    second = model.fit(np.full(model.candidates.n_pairs, 0.8), 40)
    return [first.held_out_loss, first.steps, effects, second.held_out_loss, second.steps, *model.state().values()]


def assert_same_bits(one, other):
    assert [array.tobytes() for array in one] == [array.tobytes() for array in other]


# What is learned

CPTS = {
    "A": ([], [0.2, 0.5, 0.3]),
    "B": (["A"], [[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]]),
    "C": (["A", "B"], [[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], [[0.2, 0.2, 0.6], [0.6, 0.3, 0.1]], [[0.1, 0.1, 0.8]] * 2]),
}


@pytest.fixture(scope="module")
def known():
    """A model whose conditional distributions are known, and networks trained on it with all parents at one half."""
    scm = simulate.from_cpts(CPTS)
    data = scm.dataset(20_000, 10, rng=np.random.default_rng(1))
    model = make_model(data, settings=NetworkSettings(hidden=32, learning_rate=5e-3))
    report = model.fit(half(model), 1500)
    return scm, data, model, report


def conditional_entropy(joint, variable, parents):
    """H(X | parents) in nats."""

    def entropy(kept):
        p = joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in kept))
        return -(p * np.log(p)).sum()

    return entropy({variable, *parents}) - entropy(set(parents))


def cross_entropy(joint, variable, parents, codes):
    """Mean loss of the true conditional distribution on rows."""
    kept = sorted({variable, *parents})
    p = joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in kept), keepdims=True)
    p = np.broadcast_to(p / p.sum(axis=variable, keepdims=True), joint.shape)
    return -np.log(p[tuple(codes.T)]).mean()


def test_every_conditional_distribution_is_approached(known):
    """One network knows p(X given any subset of parents), Eq. 1: on new rows it loses little to the truth."""
    scm, _, model, _ = known
    joint = scm.joint_probabilities()
    regime = scm.sample(20_000, rng=np.random.default_rng(2))
    patterns = np.array(list(itertools.product([False, True], repeat=2)))
    found = model.graph_losses(regime, all_rows(regime), np.tile(patterns, 3))
    for variable in range(3):
        others = model.candidates.cause[model.candidates.pairs_into(variable)]
        for row, pattern in zip(found, patterns, strict=True):
            parents = others[pattern].tolist()
            lost = row[variable] - cross_entropy(joint, variable, parents, regime.codes)
            assert -5e-3 < lost < 0.03, (variable, parents)


def test_held_out_loss_is_the_mean_over_graphs(known):
    scm, _, _, report = known
    joint = scm.joint_probabilities()
    subsets = [[(), (a,), (b,), (a, b)] for a, b in ((1, 2), (0, 2), (0, 1))]
    exact = [np.mean([conditional_entropy(joint, j, s) for s in subsets[j]]) for j in range(3)]
    np.testing.assert_allclose(report.held_out_loss, exact, atol=0.04)  # 2,000 rows held out


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_fitting_lowers_the_held_out_loss_to_the_entropy(known, probability):
    scm, data, _, _ = known
    joint = scm.joint_probabilities()
    model = make_model(data)
    edges = np.full(6, probability)
    before = model.fit(edges, 0).held_out_loss
    after = model.fit(edges, 1000).held_out_loss
    exact = [conditional_entropy(joint, j, {0, 1, 2} - {j} if probability else ()) for j in range(3)]
    assert (after < before).all()
    np.testing.assert_allclose(after, exact, atol=0.04)


def test_an_effect_is_the_information_a_parent_brings(known):
    """On observational rows, all other parents present, delta approaches minus the conditional mutual information."""
    scm, data, model, _ = known
    joint = scm.joint_probabilities()
    pairs = model.candidates
    rows = all_rows(data.observational)
    found = model.edge_effects(data.observational, rows, np.ones(6), everywhere(model))
    for k in range(6):
        cause, effect = int(pairs.cause[k]), int(pairs.effect[k])
        other = 3 - cause - effect
        exact = conditional_entropy(joint, effect, {cause, other}) - conditional_entropy(joint, effect, {other})
        assert found[k] == pytest.approx(exact, abs=0.02)


# What is learned: continuous variables

WEIGHTS = np.array([[0.0, 0.5, 1.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0]])  # A -> B, A -> C, B -> C
NOISE = np.array([3.0, 1.0, 0.5])


@pytest.fixture(scope="module")
def linear():
    """A linear Gaussian model, whose conditional entropies are known, and networks trained on it."""
    rng = np.random.default_rng(3)
    total = np.linalg.inv(np.eye(3) - WEIGHTS)
    blocks = [rng.normal(size=(size, 3)) * NOISE @ total + [0.0, 100.0, -7.0] for size in (20_000, 20_000)]
    data = InterventionalData.from_environments(blocks, [None, "X1"])  # the "intervention" changes nothing
    model = make_model(data, settings=NetworkSettings(hidden=32, learning_rate=5e-3))
    report = model.fit(half(model), 1500)
    return total.T @ np.diag(NOISE**2) @ total, data, model, report


def gaussian_entropy(covariance, variable, parents):
    """H(X | parents) in nats of the original units."""
    rest = 0.0
    if len(parents):
        cross = covariance[variable, parents]
        rest = cross @ np.linalg.solve(covariance[np.ix_(parents, parents)], cross)
    return 0.5 * np.log(2 * np.pi * np.e * (covariance[variable, variable] - rest))


def test_every_conditional_density_is_approached(linear):
    """On new rows each network loses little to the truth, whichever parents it is given."""
    covariance, data, model, _ = linear
    regime = data.interventional[0]
    patterns = np.array(list(itertools.product([False, True], repeat=2)))
    found = model.graph_losses(regime, all_rows(regime), np.tile(patterns, 3))
    found += np.log(Standardisation.of(data).scale)  # from standard deviations to original units
    for variable in range(3):
        others = model.candidates.cause[model.candidates.pairs_into(variable)]
        for row, pattern in zip(found, patterns, strict=True):
            exact = gaussian_entropy(covariance, variable, others[pattern])
            assert -0.02 < row[variable] - exact < 0.08, (variable, others[pattern])


def test_held_out_loss_of_continuous_variables_is_in_original_units(linear):
    covariance, _, _, report = linear
    subsets = [[[], [a], [b], [a, b]] for a, b in ((1, 2), (0, 2), (0, 1))]
    exact = [np.mean([gaussian_entropy(covariance, j, s) for s in subsets[j]]) for j in range(3)]
    np.testing.assert_allclose(report.held_out_loss, exact, atol=0.06)  # 2,000 rows held out


def test_an_effect_on_a_continuous_variable_is_the_information_a_parent_brings(linear):
    covariance, data, model, _ = linear
    rows = all_rows(data.observational)
    for probability in (0.0, 1.0):
        found = model.edge_effects(data.observational, rows, np.full(6, probability), everywhere(model))
        for k in range(6):
            cause, effect = int(model.candidates.cause[k]), int(model.candidates.effect[k])
            others = [3 - cause - effect] if probability else []
            known, unknown = (gaussian_entropy(covariance, effect, s) for s in ([*others, cause], others))
            assert found[k] == pytest.approx(known - unknown, abs=0.04)


def test_effects_between_a_categorical_and_a_continuous_variable():
    """A parent of either kind is worth what it is worth: p(y | a) is normal, p(a | y) follows by Bayes."""
    rng = np.random.default_rng(4)
    share, mean, deviation = np.array([0.5, 0.3, 0.2]), np.array([-1.0, 0.0, 2.0]), np.array([0.5, 1.0, 0.4])
    level = rng.choice(3, size=20_000, p=share)
    value = (rng.normal(mean[level], deviation[level])).astype(np.float32)
    variables = [Variable("A", "categorical", (0, 1, 2)), Variable("Y", "continuous")]
    rows = Regime((), level[:, None].astype(np.uint8), 40 + 10 * value[:, None])
    data = InterventionalData(variables, [rows])
    model = make_model(data, settings=NetworkSettings(hidden=32, learning_rate=5e-3))
    model.fit(half(model), 1500)
    found = model.edge_effects(data.observational, all_rows(data.observational), half(model), everywhere(model))

    y = np.linspace(-8, 8, 20_001)
    joint = share[:, None] * norm.pdf(y, mean[:, None], deviation[:, None])
    information = (joint * np.log(joint / joint.sum(axis=0) / share[:, None])).sum() * (y[1] - y[0])
    # Not knowing A, the head has one normal for a density of three humps: knowing A is worth even more.
    variance = share @ (deviation**2 + mean**2) - (share @ mean) ** 2
    narrower = 0.5 * np.log(variance) - share @ np.log(deviation)
    pairs = model.candidates
    assert found[pairs.effect == 0][0] == pytest.approx(-information, abs=0.02)
    assert found[pairs.effect == 1][0] == pytest.approx(-narrower, abs=0.04)


# Units


@each_kind
def test_a_power_of_two_adds_its_logarithm_to_the_held_out_loss_and_nothing_else(n_levels):
    """Multiplied by a power of two the standardised values have the same bits."""
    data = random_data(n_levels=n_levels)
    regimes = [Regime(regime.targets, regime.codes, regime.reals * np.float32(2**40)) for regime in data.regimes]
    scaled = InterventionalData(data.variables, regimes)
    one, other = make_model(data), make_model(scaled)
    first, second = (model.fit(half(model), 100) for model in (one, other))
    added = np.where(np.array(n_levels) == 0, 40 * np.log(2.0), 0.0)
    np.testing.assert_allclose(second.held_out_loss - first.held_out_loss, added, atol=1e-12)
    assert_same_bits(one.state().values(), other.state().values())
    effects = [
        model.edge_effects(table.observational, all_rows(table.observational), half(model), everywhere(model))
        for model, table in ((one, data), (other, scaled))
    ]
    assert_same_bits(effects[:1], effects[1:])


def test_scale_and_shift_change_the_networks_by_rounding_only():
    data = random_data(n_levels=KINDS["mixed"], rows=1000)
    regimes = [Regime(regime.targets, regime.codes, regime.reals * 1e-7 + 3e-6) for regime in data.regimes]
    moved = InterventionalData(data.variables, regimes)
    reports = [make_model(table).fit(np.full(12, 0.5), 100) for table in (data, moved)]
    added = np.where(np.array(KINDS["mixed"]) == 0, np.log(1e-7), 0.0)
    np.testing.assert_allclose(reports[1].held_out_loss - reports[0].held_out_loss, added, atol=2e-3)


# Early stopping


@each_kind
def test_more_steps_never_raise_the_held_out_loss(n_levels):
    """Too few rows for the network: training on would overfit, but the best weights are kept."""
    data = random_data(rows=60, n_levels=n_levels)
    model = make_model(data)
    always = np.ones(12)  # no sampling, so losses of different stages compare exactly
    reported = [model.fit(always, steps).held_out_loss for steps in (0, 400, 400, 400, 2000)]
    assert (np.diff(reported, axis=0) <= 1e-6).all()  # centring the tables rounds in the last bits
    assert (reported[-1] < reported[0]).any()
    np.testing.assert_allclose(model.fit(always, 0).held_out_loss, reported[-1], atol=1e-6)


@each_kind
def test_more_steps_with_sampled_graphs_raise_it_by_noise_at_most(n_levels):
    data = random_data(rows=2000, n_levels=n_levels)
    model = make_model(data)
    reported = np.array([model.fit(half(model), 300).held_out_loss for _ in range(6)])
    # 200 rows held out; X1 and X2 as continuous variables differ by about 1.2 nats with and without each other.
    noise = 0.05 if all(n_levels) else 0.2
    assert (reported[1:] - reported[0]).max() < noise
    assert (reported[-1] - reported[0]).mean() < noise / 5


@each_kind
def test_a_variable_stops_when_its_held_out_loss_does(n_levels):
    data = random_data(rows=60, n_levels=n_levels)
    settings = NetworkSettings(hidden=16, batch=64, check_every=10, patience=3, learning_rate=2e-2)
    report = make_model(data, settings=settings).fit(np.ones(12), 5000)
    assert (report.steps < 5000).all()
    assert (report.steps % 10 == 0).all()
    assert (report.steps >= 30).all()


def test_weights_change_only_where_a_variable_improved():
    data = random_data(rows=60)
    model = make_model(data)
    model.fit(np.ones(12), 3000)
    before = model.weights.copy()
    losses = [model.fit(np.ones(12), steps).held_out_loss for steps in (0, 200)]
    for j in range(4):
        block = slice(model.layout.start[j], model.layout.start[j + 1])
        # Centring the tables once more rounds in the last bits; training moves weights by far more.
        same = np.allclose(before[block], model.weights[block], atol=1e-5)
        assert same == (abs(losses[0][j] - losses[1][j]) < 1e-7)


def test_an_absent_parent_is_an_average_one():
    """After every stage, each table has mean zero over the training rows."""
    data = random_data(rows=500)
    model = make_model(data)
    model.fit(half(model), 100)
    layout, pairs = model.layout, model.candidates
    for k in range(pairs.n_pairs):
        block = model.weights[layout.start[pairs.effect[k]] : layout.start[pairs.effect[k] + 1]]
        train = model._training[0].train
        codes = data.observational.codes[train, pairs.cause[k]]
        rows = block.reshape(-1, layout.hidden)[layout.table_row[k] + codes.astype(int)]
        np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-5)


@pytest.mark.parametrize("n_levels", [KINDS["mixed"], KINDS["continuous"]])
def test_only_tables_of_categorical_variables_are_centred(n_levels):
    """The mean of a continuous parent, or of a parent of a continuous variable, says how narrow a density gets."""
    data = random_data(rows=500, n_levels=n_levels)
    model = make_model(data)
    before = model.weights.copy()
    model.fit(half(model), 0)
    layout, pairs = model.layout, model.candidates
    for k in range(pairs.n_pairs):
        cause, effect = pairs.cause[k], pairs.effect[k]
        first = layout.start[effect] + layout.table_row[k] * layout.hidden
        table = slice(first, first + (n_levels[cause] or 2) * layout.hidden)
        changed = (model.weights[table] != before[table]).any()
        assert changed == (n_levels[cause] > 0 and n_levels[effect] > 0)


# Some of the variables, and other rows


@each_kind
def test_only_the_variables_asked_for_are_trained(n_levels):
    data = random_data(n_levels=n_levels)
    model, whole = make_model(data), make_model(data)
    before = model.state()
    report, full = model.fit(half(model), 60, np.array([1, 3])), whole.fit(half(model), 60)
    assert report.steps.tolist() == [0, full.steps[1], 0, full.steps[3]]
    assert report.held_out_loss[[1, 3]].tolist() == full.held_out_loss[[1, 3]].tolist()
    for j in range(4):
        block = slice(model.layout.start[j], model.layout.start[j + 1])
        expected = whole.weights if j in (1, 3) else before["weights"]
        assert model.weights[block].tolist() == expected[block].tolist()


@each_kind
def test_an_extended_copy_learns_from_more_rows(n_levels):
    """Under do(X1), X2 no longer follows X1; the copy sees that, but never learns X1 from rows that set it."""
    data = random_data(n_levels=n_levels, interventional_rows=2000)
    model = make_model(data)
    model.fit(half(model), 200)
    before, regime = model.state(), data.interventional[0]
    copy = model.extended([(regime, np.arange(1000))], 1e-2, patience=4)
    assert copy.weights.tolist() == model.weights.tolist()
    copy.fit(np.ones(12), 300)
    assert_same_bits(model.state().values(), before.values())  # the original is left alone
    model.fit(np.ones(12), 300)
    rows, graph = np.arange(1000, 2000), np.ones((1, 12), bool)
    own, extended = (which.graph_losses(regime, rows, graph)[0] for which in (model, copy))
    assert extended[1] < own[1] - 0.1


def test_rows_under_an_intervention_do_not_teach_their_target():
    data = random_data(n_levels=KINDS["mixed"])
    model = make_model(data)
    copy = model.extended([(data.interventional[0], np.arange(40))], model.settings.learning_rate, patience=4)
    first, second = model.fit(half(model), 60), copy.fit(half(model), 60)
    assert first.held_out_loss[0] == second.held_out_loss[0]
    assert (first.held_out_loss[1:] != second.held_out_loss[1:]).all()


# The same bits


@each_kind
def test_state_and_restore_continue_to_the_same_bits(n_levels):
    data = random_data(n_levels=n_levels)
    whole, continued = make_model(data), make_model(data)
    run(whole, data)
    saved = whole.state()
    expected = run(whole, data)
    continued.restore(saved)
    assert_same_bits(run(continued, data), expected)


def test_a_state_is_a_copy():
    data = random_data()
    model = make_model(data)
    saved = model.state()
    kept = {name: value.copy() for name, value in saved.items()}
    run(model, data)
    assert all(np.array_equal(saved[name], kept[name]) for name in kept)
    assert all(not np.array_equal(saved[name], value) for name, value in model.state().items())


@each_kind
@pytest.mark.parametrize("n_jobs", [2, 7])
def test_threads_do_not_change_the_bits(n_jobs, n_levels):
    data = random_data(n_levels=n_levels)
    assert_same_bits(run(make_model(data, n_jobs=n_jobs), data), run(make_model(data), data))


@each_kind
def test_threads_do_not_change_the_losses_of_graphs(n_levels):
    data = random_data(n_levels=n_levels)
    graphs = np.random.default_rng(0).random((9, 12)) < 0.5
    regime = data.interventional[0]
    one, two = (make_model(data, n_jobs=jobs).graph_losses(regime, all_rows(regime), graphs) for jobs in (1, 2))
    assert one.shape == (9, 4)
    assert one.tobytes() == two.tobytes()


COMPILE_AND_RUN = """
import numpy as np
from enco.candidates import Candidates
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.data import InterventionalData

blocks = [np.random.default_rng(0).normal(size=(200, 4)) @ np.triu(np.ones((4, 4))) for _ in range(2)]
for rows in (blocks, [(block > 0).astype(int) for block in blocks]):
    data = InterventionalData.from_environments(rows, [None, "X1"])
    model = FusedConditionals(data, Candidates.all_pairs(4), settings=NetworkSettings(hidden=16), seed=0, n_jobs=1)
    effects = model.edge_effects(data.observational, np.arange(200), np.full(12, 0.5), np.ones(12, bool))
    report = model.fit(np.full(12, 0.5), 60)
    print(effects.tobytes().hex(), report.held_out_loss.tobytes().hex(), model.first.tobytes().hex())
"""


@pytest.mark.slow
def test_compiled_now_or_earlier_the_bits_are_the_same(tmp_path):
    """The first process compiles the kernels, the second one finds them in the cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", COMPILE_AND_RUN], env=environment, capture_output=True, check=True).stdout
        for _ in range(2)
    )
    assert first == second


def test_the_seed_decides():
    data = random_data()
    assert_same_bits(run(make_model(data, seed=3), data), run(make_model(data, seed=3), data))
    assert not np.array_equal(make_model(data, seed=3).weights, make_model(data, seed=4).weights)


@each_kind
def test_the_column_argument_permutes(n_levels):
    data = random_data(n_levels=n_levels)
    order = np.array([2, 0, 3, 1])
    moved = data.select([data.names[column] for column in order])
    back = np.argsort(order)  # column of the moved data that holds each original variable
    model = make_model(data)
    permuted = make_model(moved, column=back)
    assert permuted.layout.n_outputs.tolist() == [count or 2 for count in n_levels]
    graphs = np.random.default_rng(0).random((5, 12)) < 0.5
    regime, moved_regime = data.observational, moved.observational
    first, second = model.fit(half(model), 60), permuted.fit(half(model), 60)
    assert_same_bits([first.held_out_loss, first.steps], [second.held_out_loss, second.steps])
    assert_same_bits(model.state().values(), permuted.state().values())
    rows = np.arange(0, 200, 3)
    assert_same_bits(
        [model.graph_losses(regime, rows, graphs), model.edge_effects(regime, rows, half(model), everywhere(model))],
        [
            permuted.graph_losses(moved_regime, rows, graphs),
            permuted.edge_effects(moved_regime, rows, half(model), everywhere(model)),
        ],
    )


# Which effects are computed


@each_kind
def test_effects_into_targets_and_not_wanted_are_missing(n_levels):
    data = random_data(n_levels=n_levels)
    model = make_model(data)
    regime = data.interventional[0]
    wanted = np.random.default_rng(0).random(12) < 0.5
    effects = model.edge_effects(regime, all_rows(regime), half(model), wanted)
    assert (np.isfinite(effects) == (wanted & (model.candidates.effect != 0))).all()


def test_variables_that_are_targets_do_not_advance():
    """The stream of a variable moves only when the variable is sampled."""
    data = random_data()
    model = make_model(data)
    before = model.streams.copy()
    regime = data.interventional[0]
    model.edge_effects(regime, all_rows(regime), half(model), everywhere(model))
    assert (model.streams != before).tolist() == [False, True, True, True]


@each_kind
def test_a_certain_or_impossible_edge_still_has_an_effect(n_levels):
    data = random_data(n_levels=n_levels)
    model = make_model(data)
    model.fit(half(model), 100)
    regime = data.observational
    probability = np.where(np.arange(12) % 2, 0.0, 1.0)
    effects = model.edge_effects(regime, all_rows(regime), probability, everywhere(model))
    graphs = np.tile(probability.astype(bool), (24, 1))
    graphs[np.arange(12), np.arange(12)] = True
    graphs[12 + np.arange(12), np.arange(12)] = False
    losses = model.graph_losses(regime, all_rows(regime), graphs)[:, model.candidates.effect]
    expected = np.diag(losses[:12]) - np.diag(losses[12:])
    np.testing.assert_allclose(effects, expected, atol=2e-6)


# Odd data


@each_kind
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_fewer_rows_than_the_batch(rows, n_levels):
    data = random_data(rows=rows, n_levels=n_levels)
    model = make_model(data)
    report = model.fit(half(model), 100)
    assert np.isfinite(report.held_out_loss).all()
    assert np.isfinite(model.weights).all()
    regime = data.interventional[0]
    effects = model.edge_effects(regime, np.array([3]), half(model), everywhere(model))
    assert np.isfinite(effects[model.candidates.effect != 0]).all()


def test_rows_held_out_are_not_trained_on():
    """With five rows one is held out; a network that saw it could learn it by heart."""
    x = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [1, 1]])
    data = InterventionalData.from_environments([x, x], [None, "X1"])
    losses = np.array([make_model(data, seed=seed).fit(np.ones(2), 3000).held_out_loss for seed in range(20)])
    odd_one_held = (losses > 0.5).all(axis=1)
    assert 0 < odd_one_held.sum() < 10
    assert (losses[~odd_one_held] < 0.1).all()


def test_more_than_256_levels():
    rng = np.random.default_rng(0)
    many = np.concatenate([np.arange(300), rng.integers(300, size=2700)])
    blocks = [np.column_stack([many, many // 150, (many + 7) % 300]), np.tile([299, 1, 0], (20, 1))]
    data = InterventionalData.from_environments(blocks, [None, "X2"])
    assert data.observational.codes.dtype == np.uint16
    assert data.n_levels.tolist() == [300, 2, 300]
    model = make_model(data)
    before = model.fit(np.ones(6), 0).held_out_loss
    after = model.fit(np.ones(6), 600).held_out_loss
    assert before == pytest.approx(np.log([300, 2, 300]), abs=0.3)
    assert after[1] < 0.1
    assert (after[[0, 2]] < before[[0, 2]] - 1.0).all()
    regime = data.interventional[0]
    effects = model.edge_effects(regime, all_rows(regime), np.full(6, 0.5), everywhere(model))
    assert np.isfinite(effects[model.candidates.effect != 1]).all()


def test_a_constant_column():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(2, size=300), np.full(300, 5), rng.integers(3, size=300)])
    data = InterventionalData.from_environments([x, x[:50]], [None, "X1"])
    assert data.n_levels.tolist() == [2, 1, 3]
    model = make_model(data)
    report = model.fit(half(model), 200)
    assert abs(report.held_out_loss[1]) < 1e-6
    effects = model.candidates.dense(
        model.edge_effects(data.observational, all_rows(data.observational), half(model), everywhere(model))
    )
    assert np.abs(effects[:, 1]).max() < 1e-6  # nothing explains a constant
    assert np.abs(effects[1]).max() < 0.02  # and it explains nothing


def test_a_constant_continuous_column():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    x[:, 1] = 0.1
    data = InterventionalData.from_environments([x, x[:50]], [None, "X1"])
    model = make_model(data)
    model.fit(half(model), 200)
    rows = all_rows(data.observational)
    found = model.candidates.dense(model.edge_effects(data.observational, rows, half(model), everywhere(model)))
    assert np.abs(found[1]).max() < 0.05  # it explains nothing
    assert np.isfinite(found).all()
    # Its value is 0 in every row: as a parent it is only there or not.
    values, _ = model._gather(model._table(data.observational), rows, 0)
    assert not values[:, 0].any()


def test_two_identical_columns():
    """Each is all there is to know about the other, and the density stays finite."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 3))
    x[:, 1] = x[:, 0]
    data = InterventionalData.from_environments([x, x[:50]], [None, "X1"])
    model = make_model(data)
    report = model.fit(half(model), 600)
    assert np.isfinite(report.held_out_loss).all()
    rows = all_rows(data.observational)
    found = model.candidates.dense(model.edge_effects(data.observational, rows, half(model), everywhere(model)))
    assert found[0, 1] < -1.5
    assert found[1, 0] < -1.5
    assert np.abs(found[2]).max() < 0.1


def test_a_variable_without_candidates():
    data = random_data()
    candidates = Candidates.from_mask([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]])
    model = make_model(data, candidates=candidates)
    report = model.fit(np.full(3, 0.5), 300)
    # X4 is uniform over 4 levels, and all that can be known of it is that.
    assert report.held_out_loss[3] == pytest.approx(np.log(4), abs=0.15)
    regime = data.interventional[0]
    effects = model.edge_effects(regime, all_rows(regime), np.full(3, 0.5), everywhere(model))
    assert np.isfinite(effects).all()
    assert model.graph_losses(regime, all_rows(regime), np.ones((2, 3), bool)).shape == (2, 4)


def test_networks_start_near_the_uniform_distribution():
    data = random_data()
    model = make_model(data)
    found = model.graph_losses(data.observational, all_rows(data.observational), np.zeros((1, 12), bool))[0]
    assert found == pytest.approx(np.log(data.n_levels), abs=0.15)


def test_networks_of_continuous_variables_start_near_the_standard_normal():
    data = random_data(n_levels=KINDS["continuous"], rows=1000)
    model = make_model(data)
    found = model.graph_losses(data.observational, all_rows(data.observational), np.zeros((1, 12), bool))[0]
    assert found == pytest.approx(np.full(4, 0.5 * np.log(2 * np.pi * np.e)), abs=0.15)
