"""Which interventions are believed, and what that does to a fit: failed ones, and labels that mean nothing."""

import numpy as np
import pytest

from enco import ENCO, simulate
from enco.data import InterventionalData
from enco.interventions.verdicts import EFFECTS, PRIOR, SHARES, believed, judged, probability_without_effect
from enco.metrics import shd
from enco.simulate.experiments import experiment


def test_probabilities_are_those_of_the_mixture():
    """An independent sum over the grid, regime by regime."""
    p, rows = np.array([1e-6, 0.03, 0.8]), np.array([50, 100, 20])
    total, found = 0.0, np.zeros(3)
    for share in SHARES:
        for effect in EFFECTS:
            power = 1 / (1 + effect * rows)
            density = share + (1 - share) * power * p ** (power - 1)
            weight = (1 - share) ** PRIOR * density.prod()
            total += weight
            found += weight * share / density
    np.testing.assert_allclose(probability_without_effect(p, rows), found / total)


def test_with_many_rows_little_significance_is_none():
    assert probability_without_effect([0.1], [500])[0] > 0.5
    assert probability_without_effect([0.1], [20])[0] < 0.5


@pytest.mark.parametrize("regimes", [5, 15])
def test_labels_that_mean_nothing_are_rarely_believed(regimes):
    rng = np.random.default_rng(0)
    fits = [(probability_without_effect(rng.random(regimes), [600] * regimes) <= 0.5).any() for _ in range(200)]
    assert np.mean(fits) < 0.12


def test_interventions_of_few_rows_keep_their_say():
    """Half of them significant at 0.05, as in samples of 20 rows."""
    rng = np.random.default_rng(0)
    lost = [(probability_without_effect(rng.beta(0.25, 1, 25), [20] * 25) > 0.5).mean() for _ in range(50)]
    assert np.mean(lost) < 0.05


@pytest.mark.parametrize(("kind", "rows"), [("categorical", 200), ("continuous", 500)])
def test_verdicts_on_failed_interventions(kind, rows):
    right = []
    for seed in range(4):
        rng = np.random.default_rng([seed, 40])
        model = getattr(simulate, kind)("random", 10, rng, edge_probability=0.3)
        drawn = experiment(model, 2000, rows, rng, failed=0.3)
        right += [v.has_effect == (d.hold > 0) for v, d in zip(judged(drawn.data), drawn.done, strict=True)]
    assert np.mean(right) >= 0.9


def test_rows_of_failed_interventions_are_observational():
    rng = np.random.default_rng(1)
    drawn = experiment(simulate.categorical("chain", 6, rng, categories=5), 2000, 100, rng, failed=0.5)
    verdicts = judged(drawn.data)
    kept = believed(drawn.data, verdicts)
    failed = sum(not verdict.has_effect for verdict in verdicts)
    assert 2 <= failed <= 3
    assert kept.observational.n_rows == 2000 + 100 * failed
    assert {regime.targets for regime in kept.interventional} == {(v.target,) for v in verdicts if v.has_effect}
    assert kept.n_rows == drawn.data.n_rows


def test_a_failed_intervention_orients_nothing():
    """Only b was ever a target, in name: the edge is there, and nothing makes b its cause."""
    rng = np.random.default_rng(0)
    a = rng.integers(4, size=3000)
    b = np.where(rng.random(3000) < 0.7, a, rng.integers(4, size=3000))
    rows = np.column_stack([a, b])
    data = InterventionalData.from_environments([rows[:2500], rows[2500:]], [None, 1], names=["a", "b"])
    fitted = ENCO(random_state=0, n_jobs=1).fit(data)
    assert fitted.adjacency_matrix_.sum() == 1
    assert (fitted.edge_probabilities_ < 0.9).all()
    assert fitted.result_.interventions["verdict"].tolist() == ["no effect"]
    believing = ENCO(random_state=0, n_jobs=1, interventions="perfect").fit(data)
    assert believing.adjacency_matrix_.tolist() == [[0, 0], [1, 0]]
    assert believing.edge_probabilities_[1, 0] > 0.9


def test_failed_interventions_no_longer_give_wrong_edges():
    wrong, before = 0, 0
    for seed in (10, 11, 12):
        rng = np.random.default_rng([seed, 7])
        model = simulate.categorical("random", 10, rng, categories=6, edge_probability=0.3)
        data = experiment(model, 4000, 200, rng, failed=0.4).data
        for rule in ("auto", "perfect"):
            found = ENCO(random_state=0, n_jobs=2, interventions=rule).fit(data).adjacency_matrix_
            errors = shd(found, model.observed_adjacency)
            wrong, before = (wrong + errors, before) if rule == "auto" else (wrong, before + errors)
    assert wrong < before


def test_a_mechanism_that_does_not_fit_is_no_intervention():
    """Nothing was done to these counts, which no normal distribution fits: half of them seemed to be hit."""

    def counts(rng, rows):
        a = rng.gamma(1.0, 1.5, rows)
        b = 0.6 * a + rng.gamma(0.5, 1.0, rows)
        c = 0.5 * b + rng.gamma(0.5, 0.5, rows)
        return np.log1p(rng.poisson(np.column_stack([a, b, c, rng.gamma(0.5, 2.0, rows)]))).astype(float)

    for seed in range(2):
        rng = np.random.default_rng(seed)
        regimes = [counts(rng, 900), *(counts(rng, 1500) for _ in "ABCD")]
        data = InterventionalData.from_environments(regimes, [None, *"ABCD"], names=list("ABCD"))
        found = ENCO(random_state=0, n_jobs=2).fit(data).result_.interventions
        assert (found["verdict"] == "no effect").all()
        assert not found["suspects"].map(len).any()
