"""Networks corrected by counts, against counting by hand, and the contract of predictors."""

import numpy as np
import pytest

from enco.fitting.loop import Discovery
from enco.score.counted import CountedPredictor
from enco.score.counts import STRENGTHS, corrected, renumbered
from enco.score.networks import Networks
from enco.score.rows import Sample
from enco.settings import Settings
from search_problems import counted, small_data


def by_counts(columns, y, base=None, n_values=None):
    """Losses of rows once counts have corrected a base loss, which is that of guessing if nothing else is said."""
    n_values = n_values or int(y.max()) + 1
    loss = np.full(len(y), np.log(n_values), np.float32) if base is None else base.astype(np.float32).copy()
    number, span = np.zeros(len(y), np.int64), 1
    for column in columns:
        span *= int(column.max()) + 1
        number = number * (int(column.max()) + 1) + column
    corrected(loss, *renumbered(number, span), y.astype(np.int64), n_values, STRENGTHS, np.ones(len(y), np.float32))
    return loss


def by_hand(columns, y, base):
    """Leave every row out in turn and count the others; the strength is the best of all."""
    x, n = np.array(columns), len(y)
    among = np.array([sum((x[:, k] == x[:, row]).all() for k in range(n) if k != row) for row in range(n)])
    same = np.array(
        [sum((x[:, k] == x[:, row]).all() and y[k] == y[row] for k in range(n) if k != row) for row in range(n)]
    )
    tables = [(same + strength * np.exp(-base)) / (among + strength) for strength in STRENGTHS.astype(float)]
    return -np.log(max(tables, key=lambda table: np.log(table).sum()))


@pytest.mark.parametrize("seed", range(6))
def test_each_row_is_predicted_from_all_others(seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(3, size=(seed % 3, 80))
    y = (columns.sum(axis=0) + rng.integers(2, size=80)) % 4
    base = rng.uniform(0.3, 2.5, 80)
    np.testing.assert_allclose(by_counts(columns, y, base, 4), by_hand(columns, y, base), rtol=2e-5, atol=2e-6)


def test_what_is_predicted_is_a_distribution():
    """Whatever the base says, probabilities of all values of a left-out row sum to 1."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(3, size=(2, 50))
    base = rng.dirichlet(np.ones(3), 50)
    total = np.zeros(50)
    for value in range(3):
        strength = np.array([2.0], np.float32)
        for row in range(50):
            other = y.copy()
            other[row] = value
            loss = -np.log(base[np.arange(50), other]).astype(np.float32)
            corrected(loss, x.copy(), 3, other, 3, strength, np.ones(len(x), np.float32))
            total[row] += np.exp(-loss[row])
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


@pytest.mark.parametrize("levels", [2, 5, 20])
def test_a_useless_parent_earns_next_to_nothing(levels):
    """However many cells it makes; a parent that matters earns what it should."""
    rng = np.random.default_rng(levels)
    cause, useless = rng.integers(levels, size=(2, 4000))
    effect = np.where(rng.random(4000) < 0.5, cause, rng.integers(levels, size=4000))
    kept = np.full((levels, levels), 0.5 / levels) + 0.5 * np.eye(levels)
    exact = -np.log(kept[cause, effect])
    one, both = (by_counts(those, effect, exact).sum() for those in ([cause], [cause, useless]))
    assert abs(one - both) < 5.0
    assert one == pytest.approx(exact.sum(), abs=5.0)  # nothing is lost where the networks are right
    information = np.log(levels) + kept[0, 0] * np.log(kept[0, 0]) + (1 - kept[0, 0]) * np.log(0.5 / levels)
    assert by_counts([], effect).sum() - by_counts([cause], effect).sum() == pytest.approx(4000 * information, rel=0.15)


def test_a_function_is_learned_from_few_rows():
    """Eight rows for each configuration, and networks that know nothing of it: no further parent seems to help."""
    rng = np.random.default_rng(0)
    values = rng.integers(5, size=(4, 1000))
    effect = rng.integers(5, size=(5, 5, 5))[tuple(values[:3])]
    true, more = (by_counts(values[:k], effect).sum() for k in (3, 4))
    without = [by_counts(np.delete(values[:3], k, axis=0), effect).sum() for k in range(3)]
    assert more - true > -5
    assert min(without) - true > 500


@pytest.mark.parametrize("span", [7, 10**12])
def test_distinct_values_get_numbers_of_their_own(span):
    number = np.random.default_rng(0).integers(7, size=400) * (span // 7)
    which, count = renumbered(number, span + 1)
    assert count == 7
    assert len(set(zip(number.tolist(), which.tolist(), strict=True))) == 7
    assert sorted(set(which.tolist())) == list(range(7))


@pytest.fixture(scope="module")
def trained():
    data = counted()
    discovery = Discovery(data, settings=Settings(refine_steps=200, hidden=16, interventions="perfect"))
    regimes = [data.observational, *discovery.graph_fitting.regimes]
    return data, Networks(discovery.model, Sample.of(regimes, 4), np.full((4, 4), 0.5), discovery.settings)


def predictor(trained, effect):
    data, networks = trained
    return CountedPredictor(networks, effect, data.n_levels, data.slots)


def test_a_change_gives_what_the_changed_parents_give(trained):
    found = predictor(trained, 2)
    changed = found.changes(frozenset({0, 1}), [0, 1, 3])
    again = predictor(trained, 2)
    for loss, cause in zip(changed, (0, 1, 3), strict=True):
        family = frozenset({0, 1}) ^ {cause}
        assert loss == pytest.approx(again.loss(family), abs=1e-3)
        assert again.by_regime(family).sum() == pytest.approx(loss, abs=1e-3)
    assert found.by_regime(frozenset({0}))[3] == 0.0  # rows that set the variable do not count


def test_counts_never_cost_more_than_a_trace(trained):
    """The strongest smoothing is nearly the networks alone."""
    _, networks = trained
    for effect in range(4):
        for parents in ([], [(effect + 1) % 4], [(effect + 1) % 4, (effect + 2) % 4]):
            family = frozenset(parents)
            assert predictor(trained, effect).loss(family) < networks.of(effect).loss(family) + 1.0


def test_counts_mend_networks_that_have_learned_nothing():
    data = small_data("categorical")
    discovery = Discovery(data, settings=Settings(refine_steps=1, hidden=16))
    networks = Networks(discovery.model, Sample.of(data.regimes, 4), np.full((4, 4), 0.5), discovery.settings)
    found = CountedPredictor(networks, 1, data.n_levels, data.slots)
    assert found.loss(frozenset({0})) < networks.of(1).loss(frozenset({0})) - 50
