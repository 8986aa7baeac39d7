"""Extended copies, of either engine: what they start from, which rows teach which variable, what they leave alone."""

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.conditionals.torch import TorchConditionals, TorchSettings
from enco.data import InterventionalData, Regime, Variable

NETWORK = {"hidden": 16, "batch": 64, "learning_rate": 5e-3, "weight_decay": 1e-4}
PAIRS = Candidates.all_pairs(3)


def fused(data, **settings):
    return FusedConditionals(data, PAIRS, settings=NetworkSettings(**NETWORK, **settings), seed=0, n_jobs=1)


def torch(data, **settings):
    return TorchConditionals(data, PAIRS, settings=TorchSettings(**NETWORK, **settings), seed=0, n_jobs=1)


@pytest.fixture(params=[fused, torch], ids=["fused", "torch"])
def engine(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["categorical", "continuous"])
def continuous(request):
    return request.param


def make_data(continuous, rows=300):
    """X3 follows X1 unless it is set. X1 says nothing about X2, except under do(X1), where X2 copies it."""
    rng = np.random.default_rng(0)
    kind = ("continuous", None) if continuous else ("categorical", (0, 1, 2))
    variables, regimes = [Variable(name, *kind) for name in ("X1", "X2", "X3")], []
    for targets in ((), (0,), (1,), (2,)):
        values = rng.normal(size=(rows, 3)) if continuous else rng.integers(3, size=(rows, 3))
        follows = {(): [2], (0,): [1, 2], (1,): [2], (2,): []}[targets]
        for column in follows:
            values[:, column] = values[:, 0] + (0.1 * rng.normal(size=rows) if continuous else 0)
        codes = values[:, : 0 if continuous else 3].astype(np.uint8)
        regimes.append(Regime(targets, codes, values[:, : 3 if continuous else 0].astype(np.float32)))
    return InterventionalData(variables, regimes)


def bits(model):
    return {name: value.tobytes() for name, value in model.state().items()}


def losses(model, regime, parents=()):
    """Mean loss of each variable given parents, pairs (cause, effect)."""
    graph = np.array([(i, j) in parents for i, j in zip(PAIRS.cause.tolist(), PAIRS.effect.tolist(), strict=True)])
    return model.graph_losses(regime, np.arange(regime.n_rows), graph[None])[0]


def every_loss(model, data):
    """Losses of each variable in every regime under several graphs, [., N]."""
    graphs = [(), ((0, 1), (1, 2)), tuple(zip(PAIRS.cause.tolist(), PAIRS.effect.tolist(), strict=True))]
    return np.array([losses(model, regime, graph) for regime in data.regimes for graph in graphs])


HALF = np.full(6, 0.5)


def test_a_copy_starts_from_the_same_weights(engine, continuous):
    data = make_data(continuous)
    model = engine(data)
    model.fit(HALF, 60)
    copy = model.extended([(regime, np.arange(20)) for regime in data.interventional], 1e-2, 3)
    assert every_loss(copy, data).tolist() == every_loss(model, data).tolist()
    assert every_loss(copy.extended([], 1e-2, 3), data).tolist() == every_loss(model, data).tolist()


def test_neither_changes_the_other(engine, continuous):
    data = make_data(continuous)
    model, twin = engine(data), engine(data)
    for each in (model, twin):
        each.fit(HALF, 40)
    copy = model.extended([(data.interventional[0], np.arange(100))], 1e-2, 3)
    before = bits(model)
    copy.fit(HALF, 60)
    copy.edge_effects(data.interventional[1], np.arange(50), HALF, np.ones(6, bool))
    assert bits(model) == before
    trained = bits(copy)
    model.fit(HALF, 40)
    assert bits(copy) == trained
    twin.fit(HALF, 40)
    assert bits(model) == bits(twin)  # the original goes on as if there were no copy


def test_the_same_copy_learns_the_same_bits(engine, continuous):
    data = make_data(continuous)
    model = engine(data)
    found = []
    for _ in range(2):
        copy = model.extended([(data.interventional[0], np.arange(100))], 1e-2, 3)
        copy.fit(HALF, 60)
        found.append(bits(copy))
    assert found[0] == found[1]


def test_a_copy_learns_what_only_interventional_rows_show(engine, continuous):
    """Half of the rows of do(X1) teach that X2 copies X1; the other half shows that it was learned."""
    data = make_data(continuous)
    regime = data.interventional[0]
    model = engine(data)
    copy = model.extended([(regime, np.arange(0, 300, 2))], 1e-2, 5)
    for each in (model, copy):
        each.fit(np.ones(6), 300)
    shown = Regime(regime.targets, regime.codes[1::2], regime.reals[1::2])
    every = tuple(zip(PAIRS.cause.tolist(), PAIRS.effect.tolist(), strict=True))
    gain = losses(model, shown, every) - losses(copy, shown, every)
    assert gain[1] > 0.25
    assert abs(gain[2]) < 0.5 * gain[1]  # nothing new about X3


def test_rows_not_given_do_not_teach(engine, continuous):
    """What stands in the other rows of the regime does not matter."""
    data = make_data(continuous)
    regime = data.interventional[0]
    codes, reals = regime.codes.copy(), regime.reals.copy()
    codes[100:], reals[100:] = 0, 9.0
    model = engine(data)
    found = []
    for given in (regime, Regime(regime.targets, codes, reals)):
        copy = model.extended([(given, np.arange(100))], 1e-2, 3)
        copy.fit(HALF, 60)
        found.append(bits(copy))
    assert found[0] == found[1]


def test_rows_that_set_a_variable_do_not_teach_it(engine, continuous):
    """Neither their values nor their parents' values; also in a copy of the copy."""
    data = make_data(continuous)
    regime = data.interventional[1]
    other = Regime(regime.targets, (regime.codes + 1) % 2, regime.reals[:, ::-1] * 2 + 1)
    model = engine(data)
    for again in (False, True):
        found = []
        for given in (regime, other):
            copy = model.extended([(given, np.arange(200)), (data.interventional[0], np.arange(50))], 1e-2, 3)
            copy = copy.extended([], 1e-2, 3) if again else copy
            copy.fit(HALF, 100)
            found.append(every_loss(copy, data))
        # PyTorch may add up gradients in another order.
        np.testing.assert_allclose(found[0][:, 1], found[1][:, 1], rtol=1e-4)
        assert (np.abs(found[0] - found[1])[:, [0, 2]].max(axis=0) > 1e-3).all()


def test_rows_that_set_a_variable_could_as_well_be_left_out():
    """The fused engine draws rows for each variable on its own: then even the bits are the same."""
    for continuous in (False, True):
        data = make_data(continuous)
        model = fused(data)
        rows = [(data.interventional[0], np.arange(250)), (data.interventional[1], np.arange(200))]
        copies = [model.extended(given, 1e-2, 3) for given in (rows, rows[:1])]
        for copy in copies:
            copy.fit(HALF, 60)
        found = [every_loss(copy, data) for copy in copies]
        assert found[0][:, 1].tolist() == found[1][:, 1].tolist()
        assert (found[0] != found[1])[:, [0, 2]].any(axis=0).all()


def test_few_rows_teach_as_well(engine):
    """X3 copies X2, which parts from X1 only where it is set, in 1 of 100 rows."""
    rng = np.random.default_rng(0)
    variables = [Variable(name, "categorical", (0, 1)) for name in ("X1", "X2", "X3")]
    together, apart = rng.integers(2, size=(4000, 1)), rng.integers(2, size=(80, 2))
    codes = [np.repeat(together, 3, axis=1), apart[:, [0, 1, 1]]]
    regimes = [
        Regime(targets, values.astype(np.uint8), np.zeros((len(values), 0), np.float32))
        for targets, values in zip(((), (1,)), codes, strict=True)
    ]
    copy = engine(InterventionalData(variables, regimes)).extended([(regimes[1], np.arange(40))], 1e-2, 5)
    copy.fit(np.ones(6), 100)
    shown = Regime((1,), regimes[1].codes[40:], regimes[1].reals[40:])
    assert losses(copy, shown, ((0, 2), (1, 2)))[2] < 0.02


def test_a_copy_of_a_copy_keeps_its_rows(engine):
    """It learns that X2 copies X1 although it was given nothing more."""
    data = make_data(True)
    regime = data.interventional[0]
    copy = engine(data).extended([(regime, np.arange(150))], 1e-2, 5).extended([], 1e-2, 5)
    before = losses(copy, regime, [(0, 1)])[1]
    probability = ((PAIRS.cause == 0) & (PAIRS.effect == 1)).astype(float)
    copy.fit(probability, 300)
    assert losses(copy, regime, [(0, 1)])[1] < before - 0.2


def test_only_the_variables_asked_for_are_trained(engine, continuous):
    data = make_data(continuous)
    copy = engine(data).extended([(regime, np.arange(100)) for regime in data.interventional], 1e-2, 3)
    before = every_loss(copy, data)
    report = copy.fit(np.ones(6), 200, np.array([2, 0]))
    after = every_loss(copy, data)
    assert (report.steps > 0).tolist() == [True, False, True]
    assert after[:, 1].tolist() == before[:, 1].tolist()
    assert (after != before)[:, [0, 2]].any(axis=0).all()
    assert copy.fit(HALF, 60, np.zeros(0, np.int64)).steps.tolist() == [0, 0, 0]
    assert every_loss(copy, data).tolist() == after.tolist()


def test_rate_and_patience_are_those_of_the_copy(engine):
    data = make_data(True, rows=60)
    model = engine(data, check_every=10, patience=50)
    rows = [(data.interventional[2], np.arange(20))]
    impatient, patient = (model.extended(rows, 2e-2, patience).fit(np.ones(6), 400).steps for patience in (1, 50))
    assert (patient == 400).all()
    assert (impatient < 400).all()
    slow, fast = (model.extended(rows, rate, 50) for rate in (1e-9, 1e-2))
    before = every_loss(model, data)
    for copy in (slow, fast):
        copy.fit(np.ones(6), 30)
    np.testing.assert_allclose(every_loss(slow, data), before, atol=1e-4)
    assert np.abs(every_loss(fast, data) - before).max() > 1e-2
    assert model.settings.patience == 50
    assert model.settings.learning_rate == NETWORK["learning_rate"]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_rows(engine, continuous, count):
    data = make_data(continuous)
    copy = engine(data).extended([(regime, np.arange(count)) for regime in data.interventional], 1e-2, 3)
    assert np.isfinite(copy.fit(HALF, 20).held_out_loss).all()
    assert np.isfinite(every_loss(copy, data)).all()


def test_networks_anew_know_nothing_of_the_old_ones(continuous):
    """Other candidates, other rows, weights of their own; and the model goes on as if there were none."""
    data = make_data(continuous)
    model, regime = fused(data), data.interventional[0]
    model.fit(HALF, 40)
    before = bits(model)
    pairs = Candidates.from_mask([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    first, second, other = (model.anew(pairs, [(regime, np.arange(0, 300, 2))], seed) for seed in (1, 1, 2))
    for each in (first, second, other):
        each.fit(np.full(1, 0.5), 400)
    assert bits(first) == bits(second)
    assert bits(first) != bits(other)
    assert bits(model) == before
    rows = np.arange(1, 300, 2)
    without, given = first.family_losses(regime, rows, 1, np.array([[False], [True]]))
    assert given < without - 0.5  # X2 copies X1 under do(X1), which observational rows do not show
    for family, expected in ((False, [without, given]), (True, [given, without])):
        losses = first.row_losses(regime, rows, 1, np.array([family]), np.array([0])).mean(axis=1, dtype=np.float64)
        assert losses.tolist() == pytest.approx(expected, abs=1e-6)
    graphs = np.array([[False], [True]])
    assert (first.graph_losses(regime, rows, graphs)[:, 1] == [without, given]).all()
