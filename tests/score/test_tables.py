"""Tables of counts against counting by hand, and the contract of predictors."""

import numpy as np
import pytest

from enco.data import Regime
from enco.score.rows import Sample
from enco.score.tables import STRENGTHS, TablePredictor

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


def predictor(regimes):
    return TablePredictor(Sample.of(regimes, 4), LEVELS, np.arange(4))


def test_each_row_is_predicted_from_all_others(regimes):
    free = np.concatenate([regimes[0].codes, regimes[1].codes])  # the third regime sets the effect
    alone = {cause: by_hand(free, 2, [cause]).sum() for cause in (0, 1, 3)}
    for parents in ([], [0], [1, 0], [0, 3], [0, 1, 3]):
        expected = by_hand(free, 2, sorted(parents, key=alone.__getitem__))
        found = predictor(regimes).losses(2, frozenset(parents), [])
        np.testing.assert_allclose(found, [[expected[:40].sum(), expected[40:].sum(), 0.0]], rtol=1e-12)


def test_a_change_gives_what_the_changed_parents_give(regimes):
    tables = predictor(regimes)
    _, without, more = tables.losses(3, frozenset({1, 2}), [1, 0])
    np.testing.assert_array_equal(without, tables.losses(3, frozenset({2}), [])[0])
    np.testing.assert_array_equal(more, tables.losses(3, frozenset({0, 1, 2}), [])[0])


def test_the_order_of_the_rows_changes_nothing(regimes):
    turned = [Regime(regime.targets, regime.codes[::-1], regime.reals) for regime in regimes]
    for effect in range(4):
        parents = frozenset(range(4)) - {effect}
        np.testing.assert_allclose(
            predictor(turned).losses(effect, parents, []), predictor(regimes).losses(effect, parents, []), rtol=1e-12
        )


def test_parents_of_very_many_configurations_know_no_more_than_fewer(regimes):
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(200, size=(60, 8)), rng.integers(3, size=60)]).astype(np.uint8)
    sample = Sample.of([Regime((), codes, np.zeros((60, 0), np.float32))], 9)
    tables = TablePredictor(sample, np.array([200] * 8 + [3]), np.arange(9))
    found = tables.losses(8, frozenset(range(8)), [])
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(60 * np.log(3), rel=0.1)
