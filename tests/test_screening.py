"""Screening keeps what may be an edge, and says what it cannot see."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from enco import ENCO, simulate
from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.fitting.loop import Discovery
from enco.knowledge import Knowledge
from enco.screening import SCREEN_ABOVE, screen
from enco.screening.association import BINS, association, levels_of
from enco.screening.screen import RATE, _discoveries, _partial_correlations
from enco.settings import Settings


def make(kind="categorical", n=30, rows=5000, interventional=1000, seed=0, **options):
    rng = np.random.default_rng(seed)
    if kind == "categorical":
        model = simulate.categorical("random", n, rng, edge_probability=3 / n, categories=4, **options)
    else:
        model = simulate.continuous("random", n, rng, edge_probability=3 / n, **options)
    return model, model.dataset(rows, interventional, rng=rng)


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 5), st.integers(5, 80))
@settings(deadline=None, max_examples=30)
def test_the_statistic_is_pearsons(seed, k, m, rows):
    rng = np.random.default_rng(seed)
    levels = np.column_stack([rng.integers(k, size=rows), rng.integers(m, size=rows)]).astype(np.uint16)
    statistic, freedom = np.zeros(2), np.zeros(2)
    association(levels, np.array([k, m]), 0, 1, statistic, freedom)
    table = np.zeros((k, m))
    np.add.at(table, (levels[:, 0], levels[:, 1]), 1)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    if min(table.shape) < 2:
        assert statistic.tolist() == freedom.tolist() == [0.0, 0.0]
        return
    expected = chi2_contingency(table, correction=False)
    assert statistic[1] == pytest.approx(expected.statistic, rel=1e-9, abs=1e-9)
    assert freedom[1] == expected.dof


def test_a_variable_is_not_tested_against_itself_and_results_add_up():
    levels = np.array([[0, 0], [1, 1], [0, 0], [1, 1]], np.uint16)
    statistic, freedom = np.zeros(2), np.zeros(2)
    for _ in range(2):
        association(levels, np.array([2, 2]), 0, 0, statistic, freedom)
    assert (statistic.tolist(), freedom.tolist()) == ([0.0, 8.0], [0.0, 2.0])


def test_continuous_columns_are_cut_at_their_quantiles():
    rng = np.random.default_rng(0)
    normal, zeros = rng.normal(size=1000), np.where(rng.random(1000) < 0.9, 0.0, rng.normal(5, 1, 1000))
    data = InterventionalData.from_environments([np.column_stack([normal, zeros])], [None])
    levels = levels_of(data, data.observational, 10**6)
    assert np.bincount(levels[:, 0]).tolist() == [200] * BINS
    assert np.array_equal(levels[:, 1] > 0, zeros > 0)
    assert len(levels_of(data, data.observational, 300)) == 250  # every fourth row


@pytest.mark.parametrize("kind", ["categorical", "continuous"])
def test_hardly_an_edge_is_lost_and_most_pairs_go(kind):
    model, data = make(kind)
    screening = screen(data)
    truth = np.asarray(model.adjacency, bool)
    assert (truth & ~screening.keep).sum() <= 0.03 * truth.sum()
    assert screening.n_pairs < 0.6 * 30 * 29
    assert not screening.keep.diagonal().any()
    decided = (30, 0, 0) if kind == "categorical" else (0, 30, 0)
    assert (screening.decisive, screening.weak, screening.observational) == decided


def test_causes_among_many_show_once_the_others_are_given():
    """With many parents, and set to a part of its range, a cause hardly shows by itself."""
    rng = np.random.default_rng(0)
    model = simulate.continuous("random", 60, rng, mechanism="nonadditive", edge_probability=8 / 60)
    data = model.dataset(5000, 300, rng=rng)
    truth = np.asarray(model.adjacency, bool)
    keep = screen(data).keep
    assert (truth & keep).sum() > 0.85 * truth.sum()
    assert keep.sum() < 0.6 * 60 * 59


def test_partial_correlations_survive_copies_constants_few_rows_and_categories():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 5))
    x[:, 1] = x[:, 0]
    x[:, 2] = 3.0
    data = InterventionalData.from_environments([x], [None], kinds={"X4": "continuous"})
    size, p = _partial_correlations(data)
    assert np.isfinite(size).all()
    assert ((p >= 0) & (p <= 1)).all()
    assert (p[2] == 1).all()
    categories = InterventionalData.from_environments([rng.integers(3, size=(50, 3))], [None])
    assert (_partial_correlations(categories)[1] == 1).all()


def test_regimes_of_few_rows_are_helped_by_observational_associations():
    model, data = make(n=40, interventional=40)
    truth = np.asarray(model.adjacency, bool)
    screening = screen(data)
    assert screening.weak == 40
    assert (truth & ~screening.keep).sum() <= 0.05 * truth.sum()


def test_causes_without_an_intervention_are_judged_by_observational_rows():
    model, data = make(n=20)
    some = data.keep_regimes(data.names[:5])
    screening = screen(some)
    truth = np.asarray(model.adjacency, bool)
    assert (screening.decisive, screening.observational) == (5, 15)
    assert (truth & ~screening.keep).sum() <= 0.05 * truth.sum()
    # What observational rows cannot tell apart stays open in both directions.
    unknown = screening.keep[5:, 5:]
    assert np.array_equal(unknown, unknown.T)


def test_threads_and_the_order_of_columns_do_not_matter():
    _, data = make(n=12, rows=500, interventional=100)
    keep = screen(data).keep
    assert np.array_equal(screen(data, n_jobs=3).keep, keep)
    order = np.random.default_rng(1).permutation(12)
    shuffled = data.select([data.names[k] for k in order])
    assert np.array_equal(screen(shuffled).keep, keep[np.ix_(order, order)])


def test_an_exclusive_or_is_lost_as_documented():
    rng = np.random.default_rng(0)

    def draw(rows, **set_to):
        a, b = (set_to.get(k, rng.integers(2, size=rows)) for k in "ab")
        return np.column_stack([a, b, set_to.get("c", a ^ b)])

    coins = rng.integers(2, size=(3, 2000))
    parts = [draw(5000), draw(2000, a=coins[0]), draw(2000, b=coins[1]), draw(2000, c=coins[2])]
    data = InterventionalData.from_environments(parts, [None, "X1", "X2", "X3"])
    assert screen(data).n_pairs <= 1  # a chance finding at most


def test_false_discoveries_stay_below_the_rate():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(200):
        p = np.concatenate([rng.random(900), np.zeros(100)])
        found = _discoveries(p)
        assert found[900:].all()
        shares.append(found[:900].sum() / found.sum())
    assert np.mean(shares) < RATE
    assert not _discoveries(np.full(10, 0.9)).any()


# In a fit


def test_screened_candidates_of_a_fit_keep_what_is_required():
    _, data = make(n=12, rows=500, interventional=300)
    keep = screen(data).keep
    lost = next((i, j) for i, j in np.argwhere(~keep) if i != j and not keep[j, i])
    required = Knowledge(required=[(data.names[lost[0]], data.names[lost[1]])])
    fit = Discovery(data, settings=Settings(candidates="screen"), knowledge=required, seed=0)
    place = np.argsort(fit.column)
    dense = fit.candidates.dense(np.ones(fit.candidates.n_pairs)).astype(bool)[np.ix_(place, place)]
    keep[lost] = True
    keep[lost[::-1]] = False  # contradicts what is required
    assert np.array_equal(dense, keep)
    assert fit.screening is not None


def test_many_variables_are_screened_unless_all_are_asked_for():
    n = SCREEN_ABOVE + 1
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=(60, n))
    data = InterventionalData.from_environments([x, x[:20]], [None, "X1"])
    assert Discovery(data, settings=Settings(hidden=1)).candidates.n_pairs < n * (n - 1) / 2
    everything = Discovery(data, settings=Settings(hidden=1, candidates="all"))
    assert (everything.screening, everything.candidates.n_pairs) == (None, n * (n - 1))


def test_a_mask_of_the_users_own():
    _, data = make(n=5, rows=200, interventional=50)
    mask = np.triu(np.ones((5, 5)), 1)
    fitted = ENCO(candidates=mask, max_epochs=1, random_state=0, n_jobs=1, settings={"refine_rounds": 0}).fit(data)
    assert np.array_equal(np.isfinite(fitted.gamma_), mask.astype(bool))


@pytest.mark.parametrize("candidates", ["some", np.ones((2, 3)), [["a"]], 5])
def test_other_candidates_are_refused(candidates):
    _, data = make(n=3, rows=50, interventional=10)
    with pytest.raises(SettingsError, match="candidates must be"):
        ENCO(candidates=candidates).fit(data)


def test_a_fit_that_needs_more_memory_than_there_is(monkeypatch):
    monkeypatch.setattr("enco.system.process_memory.available_memory", lambda: 1000)
    _, data = make(n=5, rows=50, interventional=10)
    with pytest.raises(SettingsError, match=r"5 variables with 20 candidate pairs needs about .* --candidates screen"):
        Discovery(data, settings=Settings())
    with pytest.raises(SettingsError, match="use fewer variables"):
        Discovery(data, settings=Settings(), candidates=np.eye(5, k=1, dtype=bool))
