"""Scores without a true graph: `ENCO.score`, the mechanisms behind it, and the choice of lambda."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from enco import simulate
from enco.data import InterventionalData, Regime, Variable
from enco.errors import DataError, SettingsError
from enco.estimator import ENCO
from enco.likelihood import Mechanisms, aligned
from enco.model_selection import choose_sparsity, cross_validate_regimes
from enco.settings import Settings

QUICK = {"first_fit_steps": 200, "fit_steps": 50, "graph_steps": 30, "orientation_passes": 1, "refine_steps": 600}


@pytest.fixture(scope="module")
def model():
    return simulate.categorical("chain", 4, np.random.default_rng(1), categories=3)


@pytest.fixture(scope="module")
def train(model):
    return model.dataset(800, 100, rng=np.random.default_rng(2))


@pytest.fixture(scope="module")
def test_rows(model):
    return model.dataset(200, 50, rng=np.random.default_rng(3))


@pytest.fixture(scope="module")
def fitted(train):
    return ENCO(max_epochs=3, settings=QUICK, random_state=0, n_jobs=1).fit(train)


def test_the_true_graph_is_the_most_likely(model, train, test_rows):
    truth = model.adjacency
    scores = {
        name: Mechanisms(train, graph).log_likelihood(test_rows.interventional)
        for name, graph in {"true": truth, "reversed": truth.T, "empty": np.zeros_like(truth)}.items()
    }
    assert scores["true"] > scores["reversed"] + 0.01
    assert scores["true"] > scores["empty"] + 0.01


def test_the_likelihood_is_that_of_the_model(model, train, test_rows):
    """No mechanism can beat the true one by more than chance, and with these rows it comes close."""
    joint = model.joint_probabilities()
    regime = test_rows.regimes[0]
    exact = np.log(joint[tuple(regime.codes.T)]).mean() / 4
    found = Mechanisms(train, model.adjacency).log_likelihood([regime])
    assert found == pytest.approx(exact, abs=0.05)


def test_a_density_is_per_unit_of_the_column():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 2))
    scores = [
        Mechanisms(data, np.zeros((2, 2))).log_likelihood(data.interventional)
        for data in (
            InterventionalData.from_environments([s * rows, s * rows[:500]], [None, "X1"]) for s in (1.0, 10.0)
        )
    ]
    assert scores[0] == pytest.approx(-0.5 * np.log(2 * np.pi * np.e), abs=0.1)
    assert scores[1] == pytest.approx(scores[0] - np.log(10), abs=1e-3)


def test_targets_do_not_count(train, model):
    regime = train.interventional[0]
    losses = Mechanisms(train, model.adjacency).losses(regime)
    assert np.isnan(losses).nonzero()[0].tolist() == list(regime.targets)


def test_score_of_data_arrays_and_frames_is_the_same(fitted, train, test_rows):
    frame = test_rows.to_frame()
    targets = frame.pop("perturbation").tolist()
    score = fitted.score(test_rows)
    assert -1.0 < score < 0.0
    assert fitted.score(frame, targets=targets) == pytest.approx(score)
    assert fitted.score(frame[frame.columns[::-1]], targets=targets) == pytest.approx(score)
    assert fitted.score(frame.to_numpy(), targets=targets) == pytest.approx(score)
    assert fitted.score(test_rows.keep_regimes([])) < 0  # observational rows alone


def test_score_knows_levels_by_value(fitted, test_rows):
    frame = test_rows.to_frame()
    targets = frame.pop("perturbation").tolist()
    few = frame.index[:3].tolist() + frame.index[-3:].tolist()
    part, chosen = frame.loc[few], [targets[row] for row in few]
    both = [fitted.score(data, targets=chosen) for data in (part, part.to_numpy())]
    assert both[0] == pytest.approx(both[1])


def test_score_refuses_what_the_fit_does_not_know(fitted, test_rows):
    frame = test_rows.to_frame()
    targets = frame.pop("perturbation").tolist()
    with pytest.raises(NotFittedError):
        clone(fitted).score(test_rows)
    with pytest.raises(DataError, match="expecting 4 features"):
        fitted.score(frame.to_numpy()[:, :3], targets=targets)
    with pytest.raises(DataError, match="'X4'"):
        fitted.score(frame.drop(columns="X4"), targets=[None] * len(frame))
    with pytest.raises(DataError, match="'X1' holds"):
        fitted.score(frame.to_numpy().astype(int) + 7, targets=targets)


def test_alignment():
    train = [Variable("A", "categorical", ("low", "high")), Variable("B", "continuous")]
    given = [Variable("B", "continuous"), Variable("A", "categorical", ("high", "low"))]
    data = InterventionalData(given, [Regime((), np.array([[0], [1]], np.uint8), np.array([[1.0], [2.0]], np.float32))])
    same = aligned(data, train)
    assert same.variables == tuple(train)
    assert same.column("A").tolist() == ["high", "low"]
    assert aligned(same, train).observational.codes.tolist() == [[1], [0]]
    with pytest.raises(DataError, match="'A' has the level 'high', which the fit has not seen"):
        aligned(data, [Variable("A", "categorical", ("low",)), train[1]])
    with pytest.raises(DataError, match="'A' was continuous in the fit and is categorical here"):
        aligned(data, [Variable("A", "continuous"), train[1]])


def test_a_scored_estimator_can_be_copied(fitted, test_rows):
    score = fitted.score(test_rows)
    assert pickle.loads(pickle.dumps(fitted)).score(test_rows) == pytest.approx(score)


def test_in_a_pipeline(train):
    frame = train.to_frame()
    targets = frame.pop("perturbation").tolist()
    pipeline = make_pipeline(FunctionTransformer(), ENCO(max_epochs=1, settings=QUICK, random_state=0, n_jobs=1))
    pipeline.fit(frame, enco__targets=targets)
    assert pipeline[-1].adjacency_matrix_.shape == (4, 4)
    assert pipeline[-1].score(pipeline[:-1].transform(frame), targets=targets) < 0


@pytest.fixture(scope="module")
def table(train):
    settings = Settings(**QUICK, max_epochs=3)
    return cross_validate_regimes(train, (0.004, 0.5), n_folds=2, settings=settings, n_jobs=1)


def test_a_lambda_that_removes_every_edge_predicts_worse(table):
    means = table.groupby("sparsity")[["log_likelihood", "edges"]].mean()
    assert means.loc[0.5, "edges"] < means.loc[0.004, "edges"]
    assert means.loc[0.5, "log_likelihood"] < means.loc[0.004, "log_likelihood"]
    assert choose_sparsity(table) == 0.004


def test_every_regime_is_left_out_once(table):
    once = table[table["sparsity"] == 0.004]
    assert sorted(", ".join(once["regimes"]).split(", ")) == ["do(X1)", "do(X2)", "do(X3)", "do(X4)"]


def test_folds_and_threads(train, table):
    calls = []
    settings = Settings(**QUICK, max_epochs=3)
    again = cross_validate_regimes(train, (0.004, 0.5), n_folds=2, settings=settings, n_jobs=2, on_fit=calls.append)
    pd.testing.assert_frame_equal(again, table)
    assert calls == [1, 2, 3, 4]


def test_regimes_of_unknown_targets_are_never_left_out_and_context_is_not_scored(train):
    table = train.to_frame()
    table["batch"] = np.random.default_rng(0).integers(2, size=len(table))
    data = InterventionalData.from_frame(table, targets={train.names[0]: None}, context=["batch"])
    quick = Settings(max_epochs=2, **QUICK)
    found = cross_validate_regimes(data, [0.004], n_folds=3, settings=quick, n_jobs=1)
    others = [train.regime_label(regime) for regime in train.interventional[1:]]
    assert sorted(name for listed in found["regimes"] for name in listed.split(", ")) == sorted(others)
    assert found["log_likelihood"].between(-1.2, -0.4).all()


def test_among_equals_the_sparsest():
    rows = [(s, fold, score) for s, score in ((0.1, -1.0), (0.2, -1.0), (0.3, -3.0)) for fold in range(3)]
    assert choose_sparsity(pd.DataFrame(rows, columns=["sparsity", "fold", "log_likelihood"])) == 0.2
    assert choose_sparsity(pd.DataFrame(rows[::3], columns=["sparsity", "fold", "log_likelihood"])) == 0.2


def test_what_cannot_be_cross_validated(train):
    with pytest.raises(DataError, match="there are 1 intervention regimes"):
        cross_validate_regimes(train.keep_regimes(["X1"]))
    with pytest.raises(SettingsError, match="n_folds"):
        cross_validate_regimes(train, n_folds=1)
    with pytest.raises(SettingsError, match="sparsity"):
        cross_validate_regimes(train, [-1.0])
    with pytest.raises(SettingsError, match="at least one"):
        cross_validate_regimes(train, [])
