"""Cross-fitted networks: no row is judged by networks that learned from it, and what they say are sums over rows."""

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.data import Regime
from enco.score.networks import AVERAGED, OPEN, USUAL, Networks, presence_near
from enco.score.rows import N_FOLDS, Sample
from enco.settings import Settings
from search_problems import small_data

N = 3
PAIRS = Candidates.all_pairs(N)
SIZES = {(): 30, (0,): 9, (1, 2): 4}


class Spy:
    """A conditional model that remembers what it learned from and what it was asked.

    The loss of a row is its number, plus the effect, less ten for every parent and one for the sum of the parents.
    """

    candidates = PAIRS

    def __init__(self, learned=(), seed=None):
        self.learned, self.seed, self.copies, self.trained, self.asked = learned, seed, [], [], []

    def anew(self, candidates, rows, seed, training):
        assert candidates is PAIRS
        learned = np.concatenate([regime.reals[chosen, 0] for regime, chosen in rows])
        self.copies.append(Spy(learned, seed))
        self.copies[-1].training = training
        return self.copies[-1]

    def fit(self, edge_probability, steps, variables=None, on_progress=print):
        self.trained.append((edge_probability.copy(), steps, variables))
        on_progress(0.5)
        on_progress(1.0)

    def row_losses(self, table, rows, effect, family, changes):
        causes = PAIRS.cause[PAIRS.pairs_into(effect)]
        self.asked.append((rows.copy(), effect))
        assert not np.intersect1d(table.reals[rows, 0], self.learned).size
        sets = [family.copy() for _ in range(1 + len(changes))]
        for chosen, place in zip(sets[1:], changes, strict=True):
            chosen[place] = ~chosen[place]
        each = [table.reals[rows, 0] + effect - 10 * chosen.sum() - causes[chosen].sum() for chosen in sets]
        return np.array(each, np.float32)

    def residuals(self, table, rows, present):
        return [table.reals[rows, :1] + 1.0 for _ in range(N)]


def sample():
    first, regimes = 0, []
    for targets, n in SIZES.items():
        regimes.append(
            Regime(targets, np.zeros((n, N), np.uint8), np.arange(first, first + n, dtype=np.float32)[:, None])
        )
        first += n
    return Sample.of(regimes, N)


def networks(presence=None, **options):
    model = Spy()
    presence = np.full((N, N), 0.3) if presence is None else presence
    settings = Settings(refine_rate=0.5, refine_patience=9, refine_steps=77)
    return model, Networks(model, sample(), presence, settings, **options)


def test_every_fold_has_networks_of_its_own_that_never_saw_its_rows():
    model, found = networks()
    assert [copy.seed for copy in model.copies] == list(range(N_FOLDS))
    for fold, copy in enumerate(model.copies):
        assert sorted(copy.learned.tolist()) == np.flatnonzero(found.sample.fold != fold).tolist()
    assert model.trained == []


def test_networks_train_with_the_settings_of_the_search():
    presence = np.arange(9.0).reshape(3, 3) / 10
    seen = []
    model, _ = networks(presence, variables=np.array([1]), on_progress=seen.append)
    for copy in model.copies:
        assert copy.training == (0.5, 9, AVERAGED)
        for probability, steps, variables in copy.trained:
            assert probability.tolist() == presence[PAIRS.cause, PAIRS.effect].tolist()
            assert (steps, variables.tolist()) == (77, [1])
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize("effect", range(N))
def test_losses_are_sums_over_the_rows_that_leave_the_variable_free(effect):
    _, found = networks()
    others = [k for k in range(N) if k != effect]
    for parents in (frozenset(), frozenset(others[:1]), frozenset(others)):
        rows = np.arange(43.0) + effect - 10 * len(parents) - sum(parents)
        free = [effect not in targets for targets in SIZES]
        wanted = [part.sum() * is_free for part, is_free in zip(np.split(rows, [30, 39]), free, strict=True)]
        predictor = found.of(effect)
        assert predictor.by_regime(parents).tolist() == pytest.approx(wanted)
        assert predictor.loss(parents) == pytest.approx(sum(wanted))
        toggled = [predictor.loss(parents ^ {cause}) for cause in others]
        assert found.of(effect).changes(parents, others).tolist() == pytest.approx(toggled)
        every = found.of(effect).regime_changes(parents, others)
        assert every.shape == (3, 3)
        assert every.sum(axis=1).tolist() == pytest.approx([sum(wanted), *toggled])


def test_every_row_is_judged_once_and_remembered():
    model, found = networks()
    predictor = found.of(0)
    predictor.changes(frozenset({1}), [1, 2])
    judged = np.concatenate([rows for copy in model.copies for rows, _ in copy.asked])
    assert sorted(judged.tolist()) == found.sample.free_rows(0).tolist()
    predictor.changes(frozenset({1}), [2, 1])
    predictor.loss(frozenset({1}))
    predictor.loss(frozenset())
    assert sum(len(copy.asked) for copy in model.copies) == N_FOLDS


def test_rows_that_stand_for_others_count_for_them(monkeypatch):
    monkeypatch.setattr("enco.score.rows.MOST_ROWS", 13)
    _, found = networks()
    predictor = found.of(0)
    rows = np.flatnonzero(found.sample.origin == 0)
    assert predictor.by_regime(frozenset())[0] == pytest.approx(30 / 13 * found.table.reals[rows].sum())
    assert predictor.loss(frozenset()) == pytest.approx(predictor.by_regime(frozenset()).sum())


def test_residuals_are_zero_where_the_variable_was_set():
    _, found = networks()
    for fold in range(N_FOLDS):
        origin = found.sample.origin[found.sample.fold == fold]
        for variable, residual in enumerate(found.residuals(np.zeros((N, N), bool), fold)):
            assert ((residual[:, 0] != 0) == found.sample.free[variable][origin]).all()


def test_presence_of_an_open_pair_is_the_same_in_both_directions():
    graph, told = np.zeros((5, 5), bool), np.ones((5, 5), bool)
    graph[0, 1] = graph[2, 3] = True
    told[2, 3] = told[3, 2] = False
    presence = presence_near(np.zeros((5, 5), bool), graph, told)
    assert presence[0, 1] == USUAL
    assert presence[1, 0] < OPEN
    assert presence[2, 3] == presence[3, 2] == OPEN
    likely = presence_near(graph, np.zeros((5, 5), bool), told)
    assert likely[2, 3] == likely[3, 2] == OPEN
    assert likely[0, 1] < OPEN


@pytest.mark.parametrize("kind", ["categorical", "continuous", "mixed"])
def test_parents_earn_what_they_explain(kind):
    data = small_data(kind, rows=600)
    pairs = Candidates.all_pairs(4)
    small = NetworkSettings(hidden=16, batch=64)
    model = FusedConditionals(data, pairs, settings=small, seed=0, n_jobs=1)
    before = {name: value.copy() for name, value in model.state().items()}
    presence = np.full((4, 4), 0.5)
    settings = Settings(refine_steps=300)
    one, two = (Networks(model, Sample.of(data.regimes, 4), presence, settings).of(1) for _ in range(2))
    nothing, true, useless = (one.loss(frozenset(parents)) for parents in ((), (0,), (3,)))
    assert true < nothing - 100
    assert useless > nothing - 10
    assert one.changes(frozenset({0}), [0, 3])[0] == pytest.approx(nothing, rel=1e-5)
    assert two.loss(frozenset({0})) == true  # trained anew, to the same bits
    for name, value in model.state().items():
        assert (value == before[name]).all(), name
