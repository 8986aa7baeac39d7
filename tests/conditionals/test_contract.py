"""What every engine promises, whatever the kinds of the variables: one suite over engines and kinds.

The fused engine and the PyTorch engine implement the same networks. With the same weights they give the same losses and
the same edge effects; with their own weights each keeps the promises of `ConditionalModel`.
"""

import io
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.conditionals.torch import TorchConditionals, TorchSettings
from enco.data import InterventionalData, Regime, Variable

NETWORK = {"hidden": 16, "batch": 64, "learning_rate": 5e-3, "weight_decay": 1e-4}
# Levels of four variables, 0 for a continuous one.
KINDS = {"categorical": (2, 3, 7, 4), "continuous": (0, 0, 0, 0), "mixed": (3, 0, 2, 0)}
# X4 is no candidate of X1, and X3 only of X4.
SOME = Candidates.from_mask([[0, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 0]])
ALL = Candidates.all_pairs(4)


def fused(data, candidates=ALL, *, seed=0, n_jobs=1, column=None):
    settings = NetworkSettings(**NETWORK)
    return FusedConditionals(data, candidates, settings=settings, seed=seed, n_jobs=n_jobs, column=column)


def torch(data, candidates=ALL, *, seed=0, n_jobs=1, column=None):
    settings = TorchSettings(**NETWORK)
    return TorchConditionals(data, candidates, settings=settings, seed=seed, n_jobs=n_jobs, column=column)


@pytest.fixture(params=[fused, torch], ids=["fused", "torch"])
def engine(request):
    return request.param


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def n_levels(request):
    return request.param


def make_data(n_levels, rows=200, seed=0, unit=1.0):
    """Observational rows in which X2 follows X1, then do(X1), do(X2, X3) and one row of do(X4)."""
    rng = np.random.default_rng(seed)
    regimes = []
    for targets, size in (((), rows), ((0,), 50), ((1, 2), 40), ((3,), 1)):
        columns = [rng.integers(count, size=size) if count else rng.normal(size=size) for count in n_levels]
        if 1 not in targets:
            columns[1] = columns[0] % n_levels[1] if n_levels[1] else columns[0] + 0.3 * columns[1]
        codes = [column for column, count in zip(columns, n_levels, strict=True) if count]
        reals = [unit * (5 * column - 2) for column, count in zip(columns, n_levels, strict=True) if not count]
        regimes.append(
            Regime(
                targets,
                np.array(codes).reshape(-1, size).T.astype(np.uint8 if max(n_levels) <= 256 else np.uint16),
                np.array(reals).reshape(-1, size).T.astype(np.float32),
            )
        )
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


def some_graphs(model, count=12):
    graphs = np.random.default_rng(7).random((count, model.candidates.n_pairs)) < 0.5
    graphs[0], graphs[1] = False, True
    return graphs


def into_free(model, regime):
    return ~np.isin(model.candidates.effect, regime.targets)


def effects_by_graph_losses(model, regime, rows, graph):
    """Loss with each edge minus without it, the rest of the graph as given; NaN into targets."""
    count = model.candidates.n_pairs
    graphs = np.tile(graph, (2 * count, 1))
    graphs[np.arange(count), np.arange(count)] = True
    graphs[count + np.arange(count), np.arange(count)] = False
    losses = model.graph_losses(regime, rows, graphs)[:, model.candidates.effect]
    return np.where(into_free(model, regime), np.diag(losses[:count]) - np.diag(losses[count:]), np.nan)


def run(model, data):
    """A bit of everything; returns what came out."""
    first = model.fit(half(model), 30)
    regime = data.interventional[0]
    effects = model.edge_effects(regime, all_rows(regime), half(model), everywhere(model))
    losses = model.graph_losses(regime, all_rows(regime), some_graphs(model))
    second = model.fit(np.full(model.candidates.n_pairs, 0.8), 20, np.array([0, 2]))
    found = [first.held_out_loss, first.steps, effects, losses, second.held_out_loss, second.steps]
    return found + list(model.state().values())


def assert_same_bits(one, other):
    assert [array.tobytes() for array in one] == [array.tobytes() for array in other]


# The same weights, the same numbers


@pytest.fixture(params=[ALL, SOME], ids=["all pairs", "some pairs"])
def twins(request, n_levels):
    """Both engines with the weights of the fused one, trained until they differ from nothing."""
    data = make_data(n_levels)
    one, other = fused(data, request.param), torch(data, request.param, seed=9)
    one.fit(half(one), 200)
    other.load_fused(one)
    return data, one, other


def test_the_same_losses(twins):
    data, one, other = twins
    for regime in data.regimes:
        losses = [model.graph_losses(regime, all_rows(regime), some_graphs(model)) for model in (one, other)]
        np.testing.assert_allclose(losses[0], losses[1], atol=1e-5)


def test_the_same_effects(twins):
    data, one, other = twins
    for regime, graph in itertools.product(data.regimes, some_graphs(one, 5)):
        effects = [
            model.edge_effects(regime, all_rows(regime), graph.astype(float), everywhere(model))
            for model in (one, other)
        ]
        np.testing.assert_allclose(effects[0], effects[1], atol=1e-5)


def test_the_same_held_out_loss(twins):
    """The same rows are held out if the seed is the same; in original units."""
    data, one, _ = twins
    other = torch(data, one.candidates)
    other.load_fused(one)
    for probability in (0.0, 1.0):
        reports = [model.fit(np.full(one.candidates.n_pairs, probability), 0) for model in (one, other)]
        np.testing.assert_allclose(reports[0].held_out_loss, reports[1].held_out_loss, atol=1e-5)
        other.load_fused(one)  # tables were centred


def test_the_same_numbers_for_weights_far_from_training(n_levels):
    """Clamped logits and variances, values far outside of the training range."""
    data = make_data(n_levels)
    one, other = fused(data), torch(data)
    one.weights *= np.float32(20.0)
    other.load_fused(one)
    regimes = [Regime(r.targets, r.codes, r.reals * np.float32(50.0)) for r in data.regimes]
    for regime in regimes:
        losses = [model.graph_losses(regime, all_rows(regime), some_graphs(model)) for model in (one, other)]
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4, atol=1e-4)
        assert np.isfinite(losses).all()


# Effects


def test_effects_in_a_certain_graph_are_differences_of_losses(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data, SOME)
    model.fit(half(model), 50)
    for regime, graph in itertools.product(data.regimes, some_graphs(model, 4)):
        rows = all_rows(regime)
        found = model.edge_effects(regime, rows, graph.astype(float), everywhere(model))
        np.testing.assert_allclose(found, effects_by_graph_losses(model, regime, rows, graph), atol=5e-6)


@pytest.mark.parametrize("three", [(2, 3, 4), (0, 0, 0), (3, 0, 2), (0, 2, 0)], ids=str)
def test_effects_are_unbiased(engine, three):
    """Against the mean over all graphs of three variables, on the same rows, within the Monte-Carlo error."""
    data = make_data((*three, 2), rows=60)
    candidates = Candidates.from_mask(np.pad(1 - np.eye(3), (0, 1)))
    model = engine(data, candidates)
    model.fit(half(model), 150)
    regime, pairs = data.observational, model.candidates
    probability = np.array([0.2, 0.9, 0.5, 0.35, 0.7, 0.1])
    graphs = np.array(list(itertools.product([False, True], repeat=6)))
    losses = model.graph_losses(regime, all_rows(regime), graphs)[:, pairs.effect]
    weight = np.where(graphs, probability, 1 - probability).prod(axis=1)
    exact = np.array(
        [
            np.average(losses[graphs[:, k], k], weights=weight[graphs[:, k]])
            - np.average(losses[~graphs[:, k], k], weights=weight[~graphs[:, k]])
            for k in range(6)
        ]
    )
    rows = np.tile(all_rows(regime), 20)
    drawn = np.array([model.edge_effects(regime, rows, probability, everywhere(model)) for _ in range(40)])
    error = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn)) + 1e-6
    assert np.abs(exact).max() > 0.05
    assert (np.abs(drawn.mean(axis=0) - exact) < 4.5 * error).all()


def test_effects_not_wanted_and_into_targets_are_missing(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data)
    for regime in data.regimes:
        rows = all_rows(regime)
        everything = model.edge_effects(regime, rows, np.ones(12), everywhere(model))
        assert everything.shape == (12,)
        assert everything.dtype == np.float64
        assert (np.isfinite(everything) == into_free(model, regime)).all()
        wanted = np.random.default_rng(regime.n_rows).random(12) < 0.4
        some = model.edge_effects(regime, rows, np.ones(12), wanted)
        np.testing.assert_allclose(some, np.where(wanted, everything, np.nan), atol=2e-6)
        assert np.isnan(model.edge_effects(regime, rows, half(model), np.zeros(12, bool))).all()


def test_a_useful_parent_and_a_useless_one(engine, n_levels):
    data = make_data(n_levels, rows=2000)
    model = engine(data)
    model.fit(half(model), 600)
    rows = all_rows(data.observational)
    found = model.candidates.dense(model.edge_effects(data.observational, rows, half(model), everywhere(model)))
    assert found[0, 1] < -0.3
    assert found[1, 0] < -0.3
    assert np.abs(found[2:]).max() < 0.05
    assert np.abs(found[:, 2:]).max() < 0.05


# Losses


def test_losses_of_graphs(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data, SOME)
    before = model.state()
    for regime in data.regimes:
        rows, graphs = all_rows(regime), some_graphs(model)
        found = model.graph_losses(regime, rows, graphs)
        assert found.shape == (12, 4)
        assert found.dtype == np.float64
        assert np.isfinite(found).all()
        # A loss depends on its graph alone, and is a mean over the rows.
        np.testing.assert_allclose(model.graph_losses(regime, rows, graphs[3:4]), found[3:4], atol=2e-6)
        one_by_one = np.mean([model.graph_losses(regime, rows[k : k + 1], graphs) for k in rows], axis=0)
        np.testing.assert_allclose(found, one_by_one, atol=1e-5)
    # Nothing is drawn: the random streams stay where they are.
    assert_same_bits(before.values(), model.state().values())


def test_a_variable_listens_to_its_own_parents_only(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data)
    rows = all_rows(data.observational)
    losses = model.graph_losses(data.observational, rows, np.vstack([np.zeros(12, bool), np.eye(12, dtype=bool)]))
    for pair, effect in enumerate(model.candidates.effect):
        changed = np.abs(losses[1 + pair] - losses[0]) > 1e-5
        assert changed.tolist() == [j == effect for j in range(4)]


def with_changes(model, effect, family, changes):
    """The graphs that `row_losses` is asked about."""
    graphs = np.zeros((1 + len(changes), model.candidates.n_pairs), bool)
    first = model.candidates.start[effect]
    graphs[:, first : first + len(family)] = family
    graphs[1 + np.arange(len(changes)), first + changes] ^= True
    return graphs


@pytest.mark.parametrize("candidates", [ALL, SOME], ids=["all pairs", "some pairs"])
def test_losses_of_rows_are_what_losses_of_graphs_are_means_of(engine, n_levels, candidates):
    data = make_data(n_levels)
    model = engine(data, candidates)
    model.fit(half(model), 50)
    before = model.state()
    rng = np.random.default_rng(5)
    for regime, effect in itertools.product(data.regimes, range(4)):
        rows = rng.integers(regime.n_rows, size=77)
        family = rng.random(candidates.start[effect + 1] - candidates.start[effect]) < 0.5
        changes = np.flatnonzero(rng.random(len(family)) < 0.7)
        found = model.row_losses(regime, rows, effect, family, changes)
        assert found.shape == (1 + len(changes), 77)
        assert found.dtype == np.float32
        graphs = with_changes(model, effect, family, changes)
        expected = model.graph_losses(regime, rows, graphs)[:, effect]
        np.testing.assert_allclose(found.mean(axis=1, dtype=np.float64), expected, atol=1e-5)
        one_row = model.graph_losses(regime, rows[3:4], graphs)[:, effect]
        np.testing.assert_allclose(found[:, 3], one_row, atol=1e-5)
    assert_same_bits(before.values(), model.state().values())


def test_the_same_losses_of_rows(twins):
    data, one, other = twins
    for regime, effect in itertools.product(data.regimes, range(4)):
        count = one.candidates.start[effect + 1] - one.candidates.start[effect]
        family = np.arange(count) % 2 == 0
        losses = [
            model.row_losses(regime, all_rows(regime), effect, family, np.arange(count)[::-1]) for model in (one, other)
        ]
        np.testing.assert_allclose(losses[0], losses[1], atol=1e-4)


# Fitting


def test_the_report_of_a_fit(engine, n_levels):
    model = engine(make_data(n_levels))
    report = model.fit(half(model), 60)
    assert report.held_out_loss.shape == report.steps.shape == (4,)
    assert report.held_out_loss.dtype == np.float64
    assert report.steps.dtype == np.int64
    assert np.isfinite(report.held_out_loss).all()
    assert ((report.steps >= 1) & (report.steps <= 60)).all()


def test_no_steps_change_no_loss(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data)
    model.fit(half(model), 60)
    graphs, rows = np.ones((1, 12), bool), all_rows(data.observational)
    before = model.graph_losses(data.observational, rows, graphs)
    assert model.fit(np.ones(12), 0).steps.tolist() == [0] * 4
    np.testing.assert_allclose(model.graph_losses(data.observational, rows, graphs), before, atol=1e-5)


def test_fitting_never_raises_the_held_out_loss(engine, n_levels):
    model = engine(make_data(n_levels, rows=80))
    reported = [model.fit(np.ones(12), steps).held_out_loss for steps in (0, 100, 300, 0)]
    assert (np.diff(reported, axis=0) <= 1e-5).all()
    assert (reported[2] < reported[0]).any()


def test_only_the_variables_asked_for_are_trained(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data)
    graphs, rows = some_graphs(model), all_rows(data.observational)
    before = model.graph_losses(data.observational, rows, graphs)
    report = model.fit(half(model), 60, np.array([1, 3]))
    assert (report.steps > 0).tolist() == [False, True, False, True]
    after = model.graph_losses(data.observational, rows, graphs)
    assert after[:, [0, 2]].tolist() == before[:, [0, 2]].tolist()
    assert np.abs(after - before)[:, 1].max() > 1e-3


def test_an_extended_copy(engine, n_levels):
    """It starts from the same weights, learns from the rows it was given, and leaves the original alone."""
    data = make_data(n_levels)
    model = engine(data)
    model.fit(half(model), 100)
    before = model.state()
    regime = data.interventional[0]
    copy = model.extended([(regime, np.arange(40)), (data.interventional[1], np.arange(30))], 1e-2, patience=4)
    rows, graphs = all_rows(regime), some_graphs(model)
    first = copy.graph_losses(regime, rows, graphs)
    np.testing.assert_array_equal(first, model.graph_losses(regime, rows, graphs))
    report = copy.fit(half(model), 200)
    assert np.isfinite(report.held_out_loss).all()
    assert not np.array_equal(copy.graph_losses(regime, rows, graphs), first)
    assert_same_bits(before.values(), model.state().values())


def test_networks_anew(engine, n_levels):
    """Over other candidates, from their own seed, and from the rows they are given: the original stays as it is."""
    data = make_data(n_levels)
    model = engine(data)
    model.fit(half(model), 100)
    before = model.state()
    regime = data.interventional[0]
    rows = [(data.observational, np.arange(0, 200, 2)), (regime, np.arange(30))]
    one, same, other = (model.anew(SOME, rows, seed) for seed in (1, 1, 2))
    assert one.candidates is SOME
    assert_same_bits(run(one, data), run(same, data))
    assert run(one, data)[0].tobytes() != run(other, data)[0].tobytes()
    assert_same_bits(before.values(), model.state().values())


def test_networks_anew_learn_from_their_rows_where_these_leave_a_variable_free(engine):
    """Rows of one regime only, in which X1 and X4 sit at one value; X1 was set there."""
    data = make_data((3, 2, 2, 4))
    regime = Regime((0,), np.tile(np.array([[2, 0, 1, 3]], np.uint8), (60, 1)), np.zeros((60, 0), np.float32))
    networks = engine(data).anew(ALL, [(regime, np.arange(60))], seed=3)
    empty = np.zeros((1, 12), bool)
    before = networks.graph_losses(regime, np.arange(60), empty)[0]
    networks.fit(np.zeros(12), 300, np.array([1, 2, 3]))
    after = networks.graph_losses(regime, np.arange(60), empty)[0]
    assert (after[1:] < 0.05).all()
    assert after[0] == before[0]


def test_rows_under_an_intervention_do_not_teach_their_target(engine):
    """Under do(X2) both continuous variables, X2 and X4, sit at three standard deviations."""
    data = make_data(KINDS["mixed"])
    unit = Standardisation.of(data)
    reals = np.tile(unit.center + 3 * unit.scale, (60, 1)).astype(np.float32)
    regime = Regime((1,), np.zeros((60, 2), np.uint8), reals)
    model = engine(data)
    model.fit(np.zeros(12), 200)
    before = model.graph_losses(regime, np.arange(60), np.zeros((1, 12), bool))[0]
    copy = model.extended([(regime, np.arange(60))], 5e-3, patience=4)
    copy.fit(np.zeros(12), 300)
    after = copy.graph_losses(regime, np.arange(60), np.zeros((1, 12), bool))[0]
    assert after[1] > before[1] - 0.3  # X2 was set there
    assert after[3] < before[3] - 1.0  # X4 was free, and is now known to go there


# Units


def test_a_factor_adds_its_logarithm_to_the_held_out_loss(engine, n_levels):
    reports = [engine(make_data(n_levels, unit=unit)).fit(np.ones(12), 50) for unit in (1.0, 2.0**20, 1e-6)]
    continuous = np.array(n_levels) == 0
    for report, unit, tolerance in ((reports[1], 2.0**20, 1e-9), (reports[2], 1e-6, 5e-3)):
        added = np.where(continuous, np.log(unit), 0.0)
        np.testing.assert_allclose(report.held_out_loss - reports[0].held_out_loss, added, atol=tolerance)


# The same bits


def test_state_and_restore_continue_to_the_same_bits(engine, n_levels):
    data = make_data(n_levels)
    whole, continued = engine(data), engine(data)
    run(whole, data)
    file = io.BytesIO()
    np.savez(file, **whole.state())
    expected = run(whole, data)
    file.seek(0)
    with np.load(file, allow_pickle=False) as saved:  # as a checkpoint does
        continued.restore(dict(saved))
    assert_same_bits(run(continued, data), expected)


def test_a_state_is_a_copy(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data)
    saved = model.state()
    kept = {name: value.copy() for name, value in saved.items()}
    run(model, data)
    model.restore(saved)
    assert_same_bits(model.state().values(), kept.values())
    run(model, data)
    assert_same_bits(saved.values(), kept.values())


def test_threads_do_not_change_the_bits(engine, n_levels, monkeypatch):
    monkeypatch.setattr("enco.conditionals.torch.engine.BANK", 1)  # so that there is something to share
    data = make_data(n_levels)
    assert_same_bits(run(engine(data, n_jobs=2), data), run(engine(data), data))


def test_the_seed_decides(engine, n_levels):
    data = make_data(n_levels)
    one, same, other = (run(engine(data, seed=seed), data) for seed in (3, 3, 4))
    assert_same_bits(one, same)
    assert one[0].tobytes() != other[0].tobytes()


def test_the_order_of_the_columns_does_not_matter(engine, n_levels):
    data = make_data(n_levels)
    order = np.array([2, 0, 3, 1])
    moved = data.select([data.names[column] for column in order])
    # A model counts the variables as its candidates do, and so must the targets of the regimes it is given.
    regimes = [Regime(r.targets, m.codes, m.reals) for r, m in zip(data.regimes, moved.regimes, strict=True)]
    renamed = SimpleNamespace(interventional=regimes[1:])
    one, other = run(engine(data, SOME), data), run(engine(moved, SOME, column=np.argsort(order)), renamed)
    assert_same_bits(one, other)


# Odd input


def test_inputs_are_left_alone(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data)
    arguments = [np.full(12, 0.5), np.arange(20), np.ones(12, bool), np.ones((2, 12), bool)]
    for array in arguments:
        array.flags.writeable = False
    probability, rows, wanted, graphs = arguments
    model.fit(probability, 10)
    model.edge_effects(data.observational, rows, probability, wanted)
    model.graph_losses(data.observational, rows, graphs)


def test_rows_may_be_repeated_and_in_any_order(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data)
    regime, graphs = data.observational, some_graphs(model)
    rows = np.array([7, 3, 3, 199, 0])
    expected = np.mean([model.graph_losses(regime, np.array([row]), graphs) for row in rows], axis=0)
    np.testing.assert_allclose(model.graph_losses(regime, rows, graphs), expected, atol=5e-6)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_hardly_any_rows(engine, n_levels, rows):
    data = make_data(n_levels, rows=rows)
    model = engine(data)
    assert np.isfinite(model.fit(half(model), 60).held_out_loss).all()
    for regime in data.regimes:
        effects = model.edge_effects(regime, all_rows(regime), half(model), everywhere(model))
        assert (np.isfinite(effects) == into_free(model, regime)).all()


def test_no_candidates_at_all(engine, n_levels):
    data = make_data(n_levels)
    model = engine(data, Candidates.from_mask(np.zeros((4, 4))))
    assert np.isfinite(model.fit(np.zeros(0), 20).held_out_loss).all()
    rows = all_rows(data.observational)
    assert model.edge_effects(data.observational, rows, np.zeros(0), np.zeros(0, bool)).shape == (0,)
    assert model.graph_losses(data.observational, rows, np.zeros((3, 0), bool)).shape == (3, 4)


def test_more_than_256_levels(engine):
    data = make_data((300, 0, 2, 0), rows=400)
    assert data.observational.codes.dtype == np.uint16
    one, other = fused(data), torch(data)
    other.load_fused(one)
    rows, graphs = all_rows(data.observational), some_graphs(one)
    losses = [model.graph_losses(data.observational, rows, graphs) for model in (one, other)]
    np.testing.assert_allclose(losses[0], losses[1], atol=1e-5)
    assert np.isfinite(run(engine(data), data)[0]).all()


def test_residuals_have_mean_zero_and_agree_between_engines(n_levels):
    """The mean residual is near zero after training; with the same weights, engines agree on each row."""
    data = make_data(n_levels, rows=400)
    one, other = fused(data), torch(data)
    one.fit(np.full(ALL.n_pairs, 0.5), 400)
    other.load_fused(one)
    graph = np.zeros(ALL.n_pairs, bool)
    graph[::3] = True
    rows = np.arange(400)
    residuals = [model.residuals(data.observational, rows, graph) for model in (one, other)]
    for levels, mine, theirs in zip(n_levels, *residuals, strict=True):
        assert mine.shape == theirs.shape == (400, max(1, levels))
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-4)
        if levels:
            assert np.abs(mine.sum(axis=1)).max() < 1e-4  # probabilities minus one level
            assert ((mine < 0).sum(axis=1) == 1).all()
        assert np.abs(mine.mean(axis=0)).max() < 0.2 * max(1.0, np.abs(mine).mean())
