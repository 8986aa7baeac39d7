"""Cross-fitting: no row is judged by networks that learned from it, and what is judged stands for all rows."""

import numpy as np
import pytest

from enco import simulate
from enco.candidates import Candidates
from enco.data import Regime
from enco.fitting import scoring
from enco.fitting.loop import Discovery
from enco.fitting.scoring import CrossFit
from enco.settings import Settings

SIZES = {(0,): 50, (1,): 7, (0, 2): 2, (2,): 1}
N = 3


class Spy:
    """A conditional model that remembers which rows each copy learned from and which it was asked about.

    Edge effects and losses of a row are numbers of that row, so that sums over rows can be written down.
    """

    def __init__(self, n=N, learned=None, parent=None):
        self.candidates = Candidates.all_pairs(n)
        self.learned = learned or {}
        self.parent = parent
        self.copies, self.judged, self.trained, self.settings = [], [], [], None

    def extended(self, rows, learning_rate, patience):
        learned = {regime.targets: those for regime, those in rows}
        copy = Spy(self.candidates.n_variables, {**self.learned, **learned}, self)
        copy.settings = learning_rate, patience
        self.copies.append(copy)
        return copy

    def fit(self, edge_probability, steps, variables=None, on_progress=print):
        self.trained.append((edge_probability.copy(), steps, variables))

    def edge_effects(self, regime, rows, edge_probability, wanted):
        self.judged.append((regime.targets, rows.copy()))
        assert len(rows)
        effect = regime.reals[rows, 0].mean() * np.arange(1, self.candidates.n_pairs + 1)
        return np.where(wanted & ~np.isin(self.candidates.effect, regime.targets), effect, np.nan)

    def graph_losses(self, regime, rows, graphs):
        self.judged.append((regime.targets, rows.copy()))
        assert len(rows)
        each = regime.reals[rows, 0].mean() * np.arange(1, self.candidates.n_variables + 1)
        return np.array([each + graph.sum() for graph in graphs])


def make_regimes(sizes=SIZES, seed=0, alike=False):
    """Rows of one number; the same number in all rows of a regime if they are to be alike."""
    rng = np.random.default_rng(seed)
    reals = [np.full((rows, 1), rows) if alike else rng.normal(size=(rows, 1)) for rows in sizes.values()]
    return [
        Regime(targets, np.zeros((len(values), N), np.uint8), values.astype(np.float32))
        for targets, values in zip(sizes, reals, strict=True)
    ]


EDGE = np.zeros((N, N), bool)
EDGE[0, 1] = True
EVERY = np.ones(N, bool)


def last_copy(networks):
    """The dedicated networks, after the last of their learning rates."""
    while networks.copies:
        (networks,) = networks.copies
    return networks


def ask_everything(model, regimes, settings=None):
    scores = CrossFit(model, regimes, settings or Settings())
    scores.train(EDGE)
    toggles = scores.toggles(EDGE, EVERY)
    dedicated = scores.dedicated(EDGE, np.arange(N))
    return scores, toggles, dedicated


# Halves


def test_two_halves_cover_all_rows_and_share_none():
    model = Spy()
    ask_everything(model, make_regimes())
    first, second = model.copies
    for targets, rows in SIZES.items():
        both = np.concatenate([first.learned[targets], second.learned[targets]])
        assert sorted(both.tolist()) == list(range(rows))
        assert abs(len(first.learned[targets]) - len(second.learned[targets])) <= 1
        assert first.learned[targets].dtype == np.int64


@pytest.mark.parametrize("thinned", [False, True])
def test_no_row_is_judged_by_networks_that_learned_from_it(monkeypatch, thinned):
    if thinned:
        monkeypatch.setattr(scoring, "MOST_TOGGLES", 6 * 20)
        monkeypatch.setattr(scoring, "MOST_ROWS", 10)
    model = Spy()
    ask_everything(model, make_regimes())
    assert model.judged == []  # the networks of the fit itself are not asked
    kinds = 0
    for copy in model.copies:
        for asked in (copy, last_copy(copy)):
            for targets, rows in asked.judged:
                assert not np.intersect1d(rows, asked.learned[targets]).size
            kinds += bool(asked.judged)
    assert kinds == 4  # both sets of networks, and the dedicated ones of each


def test_mean_losses_are_those_of_rows_that_leave_a_variable_free():
    regimes = make_regimes(alike=True)  # loss of variable j in a row: rows of its regime times j + 1, plus the edges
    losses = CrossFit(Spy(), regimes, Settings()).losses(EDGE)
    for j in range(N):
        rows = [rows for targets, rows in SIZES.items() if j not in targets]
        assert losses[j] == pytest.approx(sum(n * (n * (j + 1) + 1) for n in rows) / sum(rows))


def test_every_row_is_judged_once():
    model = Spy()
    ask_everything(model, make_regimes())
    dedicated = [last_copy(copy) for copy in model.copies]
    for asked in (model.copies, dedicated):
        for targets, n_rows in SIZES.items():
            judged = [row for copy in asked for of, rows in copy.judged if of == targets for row in rows]
            assert sorted(judged) == list(range(n_rows))


def test_halves_are_drawn_at_random_but_always_the_same():
    first, second = Spy(), Spy()
    for model in (first, second):
        ask_everything(model, make_regimes())
    for copy, twin in zip(first.copies, second.copies, strict=True):
        for targets in SIZES:
            assert copy.learned[targets].tolist() == twin.learned[targets].tolist()
    learned = first.copies[0].learned[0,]
    assert learned.tolist() != list(range(25))
    assert (np.diff(learned) > 0).all()  # sorted, so that reading stays sequential


def test_networks_train_with_the_settings_of_the_refinement():
    model = Spy()
    settings = Settings(refine_rate=0.5, refine_patience=9, patience=3, refine_steps=77)
    ask_everything(model, make_regimes(), settings)
    pairs = model.candidates
    present = EDGE[pairs.cause, pairs.effect]
    for copy in model.copies:
        assert copy.settings == (0.5, 3)
        ((probability, steps, variables),) = copy.trained
        unusual = scoring.unusual_presence(pairs.n_variables)
        assert probability.tolist() == np.where(present, scoring.USUAL, unusual).tolist()
        assert (steps, variables) == (77, None)
        dedicated = copy
        for share in scoring.ANNEALING:  # each from where the one before ended, with smaller steps
            (dedicated,) = dedicated.copies
            assert dedicated.settings == (0.5 * share, 9)
            ((probability, steps, variables),) = dedicated.trained
            assert probability.tolist() == present.astype(float).tolist()
            assert (steps, variables.tolist()) == (77, [0, 1, 2])
    assert model.trained == []


# Sums over rows


def toggle_sums(regimes):
    pairs = Candidates.all_pairs(N)
    total = np.zeros(6)
    for regime in regimes:
        free = ~np.isin(pairs.effect, regime.targets)
        total += free * np.arange(1, 7) * regime.reals.sum(dtype=np.float64)
    return total


def loss_sums(regimes):
    total = np.zeros(N)
    for regime in regimes:
        free = ~np.isin(np.arange(N), regime.targets)
        total += free * (np.arange(1, N + 1) * regime.reals.sum(dtype=np.float64) + regime.n_rows)  # one edge is there
    return total


def test_sums_are_over_all_rows_that_leave_a_variable_free():
    regimes = make_regimes()
    scores, toggles, dedicated = ask_everything(Spy(), regimes)
    np.testing.assert_allclose(toggles, toggle_sums(regimes), atol=1e-5)
    np.testing.assert_allclose(dedicated, loss_sums(regimes), atol=1e-5)
    assert scores.free_rows.tolist() == [7 + 1, 50 + 2 + 1, 50 + 7]


def test_only_edges_into_the_variables_asked_for_have_a_price():
    regimes = make_regimes()
    model = Spy()
    toggles = CrossFit(model, regimes, Settings()).toggles(EDGE, np.array([False, True, False]))
    expected = np.where(model.candidates.effect == 1, toggle_sums(regimes), 0.0)
    np.testing.assert_allclose(toggles, expected, atol=1e-5)


@pytest.mark.parametrize("most", [1, 6 * 20, 6 * 59, 6 * 60, 10**9])
def test_fewer_rows_are_judged_when_there_are_too_many(monkeypatch, most):
    """Three variables have six pairs; the regimes have 60 rows."""
    monkeypatch.setattr(scoring, "MOST_TOGGLES", most)
    model = Spy()
    CrossFit(model, make_regimes(), Settings()).toggles(EDGE, EVERY)
    for targets, n_rows in SIZES.items():
        counts = [len(rows) for copy in model.copies for of, rows in copy.judged if of == targets]
        halves = [half for half in (n_rows - n_rows // 2, n_rows // 2) if half]
        share = min(1.0, most / (6 * 60))
        assert sorted(counts) == sorted(max(1, int(half * share)) for half in halves)
    for copy in model.copies:
        assert {targets: len(rows) for targets, rows in copy.learned.items()}.keys() == SIZES.keys()
    assert sum(len(rows) for copy in model.copies for rows in copy.learned.values()) == 60  # all still teach


@pytest.mark.parametrize("most", [1, 6 * 20, 6 * 45])
def test_thinned_sums_have_the_size_of_full_ones(monkeypatch, most):
    """Where all rows of a regime are alike, leaving some out changes nothing."""
    regimes = make_regimes(alike=True)
    monkeypatch.setattr(scoring, "MOST_TOGGLES", most)
    model = Spy()
    scores, toggles, dedicated = ask_everything(model, regimes)
    assert sum(len(rows) for copy in model.copies for _, rows in copy.judged) < 60
    np.testing.assert_allclose(toggles, toggle_sums(regimes))
    np.testing.assert_allclose(dedicated, loss_sums(regimes))
    assert scores.free_rows.tolist() == [8, 53, 57]


def test_thinned_sums_are_unbiased(monkeypatch):
    """Over many data sets of the same distribution, thinned sums differ from full ones by noise alone."""
    monkeypatch.setattr(scoring, "MOST_TOGGLES", 6 * 60)
    difference = []
    for seed in range(300):
        regimes = make_regimes({(0,): 100, (1,): 80}, seed=seed)
        thinned = CrossFit(Spy(), regimes, Settings()).toggles(EDGE, EVERY)
        difference.append((thinned - toggle_sums(regimes))[0])
    assert abs(np.mean(difference)) < 4 * np.std(difference) / np.sqrt(300)
    assert np.std(difference) > 1


@pytest.mark.parametrize("most", [1, 10, 25, 10**9])
def test_fewer_rows_teach_when_there_are_too_many(monkeypatch, most):
    monkeypatch.setattr(scoring, "MOST_ROWS", most)
    model = Spy()
    ask_everything(model, make_regimes())
    for copy in model.copies:
        n_learned = sum(len(rows) for rows in copy.learned.values())
        assert abs(n_learned - min(30, most)) <= len(SIZES)  # at least one row of each regime
    judged = sum(len(rows) for copy in model.copies for _, rows in copy.judged)
    assert judged == 60  # all are still judged


# With networks


def fitted(engine, *, continuous, seed=0):
    rng = np.random.default_rng(seed)
    make = simulate.continuous if continuous else simulate.categorical
    data = make("chain", N, rng).dataset(200, 30, rng=rng)
    quick = Settings(max_epochs=1, first_fit_steps=50, graph_steps=3, hidden=8, engine=engine, refine_steps=60)
    fit = Discovery(data, settings=quick, seed=0)
    fit.run()
    return fit


def bits(model):
    return {name: value.tobytes() for name, value in model.state().items()}


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("engine", ["fused", "torch"])
def test_dedicated_networks_leave_the_others_alone(engine, continuous):
    fit = fitted(engine, continuous=continuous)
    own = bits(fit.model)
    scores = CrossFit(fit.model, fit.graph_fitting.regimes, fit.settings)
    before = [bits(model) for model in scores._models]
    first = scores.dedicated(EDGE, np.array([1, 2]))
    assert [bits(model) for model in scores._models] == before
    assert scores.dedicated(EDGE, np.array([1, 2])).tolist() == first.tolist()
    assert bits(fit.model) == own
    # Not the losses of networks that know many parent sets: these were trained for this one.
    plain = scores.dedicated(EDGE, np.zeros(0, np.int64))
    assert plain[0] == first[0]
    assert (plain[1:] != first[1:]).any()


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("engine", ["fused", "torch"])
def test_rows_that_set_a_variable_teach_no_network_of_it(engine, continuous):
    """Changing such rows changes nothing that is asked about the variable; networks of others do learn from them."""
    fit = fitted(engine, continuous=continuous, seed=1)
    found = []
    for changed in (False, True):
        regimes = [
            Regime(regime.targets, regime.codes[:, ::-1], regime.reals[:, ::-1] + np.float32(3))
            if changed and regime.targets == (1,)
            else regime
            for regime in fit.graph_fitting.regimes
        ]
        scores = CrossFit(fit.model, regimes, fit.settings)
        scores.train(EDGE)
        found.append((scores.toggles(EDGE, EVERY), scores.dedicated(EDGE, np.arange(N))))
    into = scores.pairs.effect == 1
    # PyTorch may add up gradients in another order; nothing else is allowed to differ.
    np.testing.assert_allclose(found[0][0][into], found[1][0][into], rtol=1e-4)
    assert found[0][1][1] == pytest.approx(found[1][1][1], rel=1e-4)
    assert (found[0][0][~into] != found[1][0][~into]).all()
    assert (found[0][1][[0, 2]] != found[1][1][[0, 2]]).all()
