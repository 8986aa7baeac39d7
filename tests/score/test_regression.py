"""Regressions as predictors: what parents earn, what is guessed, and what must not matter."""

from threading import Event

import numpy as np
import pytest

from enco.conditionals.continuous import Standardisation
from enco.conditionals.regression import Regression
from enco.data import InterventionalData, Regime
from enco.score import regression as module
from enco.score.regression import MOST_INPUTS, Regressions
from enco.score.rows import N_FOLDS, Sample

PRICE = 10.0
NOTHING = frozenset[int]()


def chain(rows=300, *, scale=1.0, levels=0, draw=0, noise=0.02):
    """X0 -> X1 -> X2, and X0 and X1 -> X3; noise is small, and X0 knows much of X2. X0 may be categorical."""
    rng = np.random.default_rng(draw)

    def draw_rows(target, n):
        x = np.zeros((n, 4))
        for j in range(4):
            error = noise * rng.normal(size=n)
            if j == target or j == 0:
                x[:, j] = rng.integers(levels, size=n) if levels and j == 0 else 2 * rng.normal(size=n)
            else:
                x[:, j] = [0, np.abs(x[:, 0]), np.tanh(x[:, 1] - 1), x[:, 0] - np.abs(x[:, 1])][j] + error
        x[:, 2] *= scale
        return x

    environments = [draw_rows(None, 2 * rows)] + [draw_rows(j, rows) for j in range(4)]
    kinds = {"X1": "categorical"} if levels else None
    return InterventionalData.from_environments(environments, [None, 0, 1, 2, 3], kinds=kinds)


def regressions(data, go_on=lambda: None):
    sample = Sample.of(data.regimes, 4)
    return Regressions(sample, Standardisation.of(data), data.n_levels, data.slots, go_on)


@pytest.fixture(scope="module")
def data():
    return chain()


@pytest.fixture(scope="module")
def of_x2(data):
    return regressions(data).of(2, PRICE)


def test_parents_earn_what_they_explain(of_x2):
    proxy, true, both = (of_x2.loss(frozenset(parents)) for parents in ((0,), (1,), (0, 1)))
    assert of_x2.loss(NOTHING) > proxy > true + 500
    assert true - PRICE < both < true + 50


def test_losses_are_those_of_rows_that_leave_the_variable_free(data, of_x2):
    by_regime = of_x2.by_regime(frozenset({1}))
    assert by_regime[3] == 0.0
    assert (by_regime[[0, 1, 2, 4]] != 0).all()
    assert by_regime.sum() == pytest.approx(of_x2.loss(frozenset({1})), rel=1e-5)
    sample = Sample.of(data.regimes, 4)
    learned, judged = [], []
    for train, held, fold_rows in of_x2._parts:
        assert not np.intersect1d(np.concatenate([train, held]), fold_rows).size
        assert not np.intersect1d(train, held).size
        learned += [*train, *held]
        judged += [*fold_rows]
    assert sorted(judged) == sample.free_rows(2).tolist()
    assert sorted(learned) == sorted(sample.free_rows(2).tolist() * (N_FOLDS - 1))


def test_rows_that_set_a_variable_teach_nothing_about_it():
    """Other values there change nothing."""
    found = []
    for changed in (False, True):
        data = chain(100)
        unit, regimes = Standardisation.of(data), list(data.regimes)
        if changed:
            regimes[3] = Regime((2,), regimes[3].codes, np.full_like(regimes[3].reals, 0.5))
        sample = Sample.of(regimes, 4)
        found.append(Regressions(sample, unit, data.n_levels, data.slots).of(2, PRICE).loss(frozenset({1})))
    assert found[0] == found[1]


def test_what_a_further_parent_would_bring_is_guessed_well_enough_to_choose(data):
    predictor = regressions(data).of(3, PRICE)
    alone = predictor.loss(frozenset({1}))
    missing, useless = predictor.changes(frozenset({1}), [0, 2])
    assert missing < alone - 100  # X0 is the other parent
    assert useless > alone - 10 * PRICE
    assert useless > missing + 100


def test_what_leaving_a_parent_out_costs(data):
    predictor = regressions(data).of(2, PRICE)
    both = frozenset({0, 1})
    without_proxy, without_parent = predictor.changes(both, [0, 1]) - predictor.loss(both)
    assert without_proxy < PRICE
    assert without_parent > 500


def test_hopeless_training_is_given_up(data, monkeypatch):
    predictor = regressions(data).of(2, PRICE)
    predictor.loss(frozenset({0, 1}))
    monkeypatch.setattr(module, "FAR", 0.001)
    given_up = predictor.changes(frozenset({0, 1}), [1])[0]
    assert given_up > predictor.loss(frozenset({0, 1})) + 500
    monkeypatch.setattr(Regression, "fit", lambda *_, **__: pytest.fail("asked again"))
    assert predictor.changes(frozenset({0, 1}), [1])[0] == given_up


def test_where_noise_is_large_two_starts_are_alike():
    """Where it is small, training ends in minima that differ, and a parent must earn more than that."""
    assert regressions(chain(noise=0.5)).of(2, PRICE).error(frozenset({1})) == 0.0
    apart = regressions(chain(noise=0.02)).of(3, PRICE).error(frozenset({0, 1}))
    assert 0.0 < apart < 500


def test_the_unit_of_a_column_does_not_matter():
    one, other = (regressions(chain(100, scale=scale)).of(2, PRICE).loss(frozenset({1})) for scale in (1.0, 1e6))
    assert one == pytest.approx(other, abs=1.0)


def test_inputs_are_standardised_values_and_indicators_of_levels():
    """X0 is categorical; its levels but the first have a column each, in the order of the parents asked for."""
    data = chain(levels=4)
    found, rows = regressions(data), np.array([3, 1, 4])
    columns = np.column_stack(found.inputs([2, 0, 3], rows))
    assert columns.shape == (3, 5)
    unit, table = Standardisation.of(data), found.sample.table
    for place, variable in ((0, 2), (4, 3)):
        slot = data.slots[variable]
        by_hand = (table.reals[rows, slot] - unit.center[slot]) / unit.scale[slot]
        np.testing.assert_allclose(columns[:, place], np.clip(by_hand, -10, 10), rtol=1e-6)
    codes = table.codes[rows, data.slots[0]]
    np.testing.assert_array_equal(columns[:, 1:4], codes[:, None] == np.arange(1, 4))


def test_a_categorical_parent_is_found(data):
    predictor = regressions(chain(levels=4)).of(1, PRICE)
    assert predictor.loss(frozenset({0})) < predictor.loss(NOTHING) - 500
    assert predictor.changes(NOTHING, [0, 2])[0] < predictor.loss(NOTHING) - 100


def test_parents_of_very_many_levels_are_left_to_others(monkeypatch):
    """A second-order step costs the square of all levels; with 300 of them a fit hung for minutes."""
    found = regressions(chain(levels=200))
    assert [found.answers_for(effect, frozenset({0})) for effect in range(4)] == [False] * 4
    assert [found.answers_for(effect, frozenset({2}) - {effect}) for effect in range(4)] == [False, True, True, True]
    widths, fit = [], Regression.fit

    def recorded(self, train, *args, **more):
        widths.append(train.inputs.shape[1])
        return fit(self, train, *args, **more)

    monkeypatch.setattr(Regression, "fit", recorded)
    assert found.of(3, PRICE).changes(frozenset({1}), [0, 2])[0] == np.inf
    assert max(widths) <= MOST_INPUTS + 1


def test_few_rows_are_enough_to_be_asked():
    predictor = regressions(chain(rows=2)).of(3, PRICE)
    assert np.isfinite(predictor.loss(frozenset({0, 1, 2})))
    assert np.isfinite(predictor.changes(frozenset({0}), [1, 2])).all()


def test_the_same_question_has_the_same_answer(data):
    """Whatever the object was asked before, if the questions come in the same order."""
    one, other = (regressions(data).of(3, PRICE) for _ in range(2))
    for parents in (NOTHING, frozenset({0}), frozenset({0, 1})):
        assert one.loss(parents) == other.loss(parents)
        assert one.changes(parents, [0, 1, 2]).tolist() == other.changes(parents, [0, 1, 2]).tolist()


def test_training_can_be_interrupted(data):
    stop = Event()

    def go_on():
        if stop.is_set():
            raise InterruptedError

    predictor = regressions(data, go_on).of(2, PRICE)
    predictor.loss(NOTHING)
    stop.set()
    with pytest.raises(InterruptedError):
        predictor.loss(frozenset({1}))
