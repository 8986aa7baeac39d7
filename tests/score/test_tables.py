"""Tables of counts against counting by hand, and the contract of predictors."""

import numpy as np
import pytest

from enco.data import Regime
from enco.score.rows import Sample
from enco.score.tables import STRENGTHS, Tables, best_smoothing, renumbered

LEVELS = np.array([2, 3, 4, 3])


@pytest.fixture
def regimes():
    rng = np.random.default_rng(5)
    a, b = rng.integers(2, size=60), rng.integers(3, size=60)
    c = (a + b + rng.integers(2, size=60)) % 4
    d = (c + (rng.random(60) < 0.3)) % 3
    codes = np.column_stack([a, b, c, d]).astype(np.uint8)
    reals = np.zeros((60, 0), np.float32)
    return [
        Regime((), codes[:40], reals[:40]),
        Regime((1,), codes[40:50], reals[:10]),
        Regime((2,), codes[50:], reals[:10]),
    ]


def by_hand(table, effect, parents):
    """Leave every row out in turn and count the others; the strength of each table is the best of all."""
    y, n = table[:, effect], len(table)
    base = np.full(n, 1.0 / LEVELS[effect])
    for count in range(len(parents) + 1):
        x = table[:, parents[:count]]
        among = np.array([sum((x[k] == x[row]).all() for k in range(n) if k != row) for row in range(n)])
        same = np.array(
            [sum((x[k] == x[row]).all() and y[k] == y[row] for k in range(n) if k != row) for row in range(n)]
        )
        tables = [(same + strength * base) / (among + strength) for strength in STRENGTHS]
        base = max(tables, key=lambda table: np.log(table).sum())
    return -np.log(base)


def tables(regimes):
    return Tables(Sample.of(regimes, 4), LEVELS, np.arange(4))


def test_each_row_is_predicted_from_all_others(regimes):
    free = np.concatenate([regimes[0].codes, regimes[1].codes])  # the third regime sets the effect
    alone = {cause: by_hand(free, 2, [cause]).sum() for cause in (0, 1, 3)}
    for parents in ([], [0], [1, 0], [0, 3], [0, 1, 3]):
        expected = by_hand(free, 2, sorted(parents, key=alone.__getitem__))
        found = tables(regimes).of(2)
        by_regime = found.by_regime(frozenset(parents))
        np.testing.assert_allclose(by_regime, [expected[:40].sum(), expected[40:].sum(), 0.0], rtol=1e-12)
        assert found.loss(frozenset(parents)) == pytest.approx(expected.sum(), rel=1e-12)


def test_a_change_gives_what_the_changed_parents_give(regimes):
    predictor = tables(regimes).of(3)
    without, more = predictor.changes(frozenset({1, 2}), [1, 0])
    assert without == predictor.loss(frozenset({2}))
    assert more == predictor.loss(frozenset({0, 1, 2}))


def test_the_order_of_the_rows_changes_nothing(regimes):
    turned = [Regime(regime.targets, regime.codes[::-1], regime.reals) for regime in regimes]
    for effect in range(4):
        parents = frozenset(range(4)) - {effect}
        one, other = (tables(those).of(effect).by_regime(parents) for those in (turned, regimes))
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_parents_of_very_many_configurations_know_no_more_than_fewer():
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(200, size=(60, 8)), rng.integers(3, size=60)]).astype(np.uint8)
    sample = Sample.of([Regime((), codes, np.zeros((60, 0), np.float32))], 9)
    found = Tables(sample, np.array([200] * 8 + [3]), np.arange(9)).of(8).loss(frozenset(range(8)))
    assert found == pytest.approx(60 * np.log(3), rel=0.1)


def of_columns(*columns, levels):
    """Predictor of the last column, from one regime."""
    codes = np.column_stack(columns).astype(np.uint8)
    sample = Sample.of([Regime((), codes, np.zeros((len(codes), 0), np.float32))], len(levels))
    return Tables(sample, np.array(levels), np.arange(len(levels))).of(len(levels) - 1)


@pytest.mark.parametrize("levels", [2, 5, 20])
def test_a_useless_parent_earns_next_to_nothing(levels):
    """However many cells it makes; a parent that matters earns what it should."""
    rng = np.random.default_rng(levels)
    cause, useless = rng.integers(levels, size=(2, 4000))
    effect = np.where(rng.random(4000) < 0.5, cause, rng.integers(levels, size=4000))
    found = of_columns(cause, useless, effect, levels=[levels] * 3)
    nothing, one, other, both = (found.loss(frozenset(those)) for those in ((), (0,), (1,), (0, 1)))
    assert abs(one - both) < 5.0
    assert abs(nothing - other) < 5.0
    kept = 0.5 + 0.5 / levels  # probability of the cause's value
    information = np.log(levels) + kept * np.log(kept) + (1 - kept) * np.log(0.5 / levels)
    assert nothing - one == pytest.approx(4000 * information, rel=0.15)


def test_a_function_is_learned_from_few_rows():
    """Eight rows for each configuration: too much smoothing would let any further parent seem to help."""
    rng = np.random.default_rng(0)
    values = rng.integers(5, size=(1000, 4))
    effect = rng.integers(5, size=(5, 5, 5))[tuple(values[:, :3].T)]
    found, true = of_columns(*values.T, effect, levels=[5] * 5), frozenset({0, 1, 2})
    *without, useless = found.changes(true, [0, 1, 2, 3]) - found.loss(true)
    assert useless > -5
    assert min(without) > 500


def test_a_continuous_parent_cannot_be_counted():
    rng = np.random.default_rng(0)
    codes, reals = rng.integers(2, size=(50, 2)).astype(np.uint8), rng.normal(size=(50, 1)).astype(np.float32)
    sample = Sample.of([Regime((), codes, reals), Regime((0,), codes, reals)], 3)
    found = Tables(sample, np.array([2, 0, 2]), np.array([0, 0, 1])).of(2)
    assert np.isinf(found.by_regime(frozenset({0, 1}))).all()
    assert found.loss(frozenset({1})) == np.inf
    assert np.isfinite(found.changes(frozenset({0, 1}), [1])).all()


def test_rows_that_stand_for_others_count_for_them(monkeypatch, regimes):
    """Twice the rows of the budget: each is judged for two."""
    monkeypatch.setattr("enco.score.rows.MOST_ROWS", 20)
    found, whole = tables(regimes), LEVELS[1]
    assert found.sample.weight.tolist() == [2.0, 1.0, 1.0]
    loss = found.of(1).by_regime(frozenset())
    assert loss[0] == pytest.approx(40 * np.log(whole), rel=0.2)
    assert loss[1] == 0.0


@pytest.mark.parametrize("span", [7, 10**12])
def test_distinct_values_get_numbers_of_their_own(span):
    number = np.random.default_rng(0).integers(7, size=400) * (span // 7)
    which, count = renumbered(number, span + 1)
    assert count == 7
    assert len(set(zip(number.tolist(), which.tolist(), strict=True))) == 7
    assert sorted(set(which.tolist())) == list(range(7))


@pytest.mark.parametrize("seed", range(10))
def test_climbing_finds_the_best_strength(seed):
    """Of all of them, tried one by one."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, 12, 2)
    x, y = rng.integers(levels, size=(600, 2)).T
    y = np.where(rng.random(600) < rng.random(), x % levels[1], y)
    cell, _ = renumbered(x * levels[1] + y, int(levels.prod()))
    count = np.bincount(cell).astype(float)
    others = np.zeros(len(count))
    others[cell] = np.bincount(x)[x] - 1.0
    base = np.full(len(count), 1.0 / levels[1])
    found = np.log(best_smoothing(count, others, base, STRENGTHS)) @ count
    every = [np.log((count - 1 + s * base) / (others + s)) @ count for s in STRENGTHS]
    assert found == pytest.approx(max(every), rel=1e-12)
