"""The scikit-learn estimator: conventions, ways to pass data, reproducibility, and every mistake.

Most of scikit-learn's own checks fit float data without intervention targets, which this estimator refuses. Those that
need no fit run on `ENCO` itself; those that need just any fit run on a subclass that makes codes and targets of floats.
"""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import estimator_checks

from enco import simulate
from enco.data import InterventionalData
from enco.errors import DataError, SettingsError
from enco.estimator import ENCO
from enco.knowledge import Knowledge
from enco.result import Result
from enco.settings import Settings

QUICK = {"first_fit_steps": 100, "fit_steps": 50, "graph_steps": 30, "orientation_passes": 1, "orientation_epochs": 0}
QUICK["refine_steps"] = 200
BRIEF = {"first_fit_steps": 5, "fit_steps": 5, "graph_steps": 2, "orientation_passes": 1, "refine_steps": 5}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    model = simulate.categorical("random", 6, rng, categories=3, edge_probability=0.4)
    return model.dataset(400, 60, rng=rng)


def quick(**options):
    return ENCO(**{"max_epochs": 2, "settings": QUICK, "random_state": 0, "n_jobs": 1, **options})


@pytest.fixture(scope="module")
def fitted(data):
    return quick().fit(data)


class WithMadeUpTargets(ENCO):
    """Fits the sign of every number; the last quarter of the rows intervenes on the first column."""

    def fit(self, X, y=None):
        codes = (np.asarray(X) > 0).astype(int)
        last = len(codes) // 4
        return super().fit(codes, targets=[None] * (len(codes) - last) + [0] * last)


@pytest.mark.parametrize(
    "name",
    [
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimator_tags_renamed",
        "check_fit1d",
        "check_get_params_invariance",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_valid_tag_types",
    ],
)
def test_scikit_learn_check_without_a_fit(name):
    getattr(estimator_checks, name)("ENCO", ENCO())


@pytest.mark.parametrize(
    "name",
    [
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_non_transformer_estimators_n_iter",
        "check_pipeline_consistency",
        "check_readonly_memmap_input",
    ],
)
def test_scikit_learn_check_with_a_fit(name):
    estimator = WithMadeUpTargets(max_epochs=1, settings=BRIEF, random_state=0, n_jobs=1)
    getattr(estimator_checks, name)("ENCO", estimator)


class OnContinuousArrays(ENCO):
    """Takes arrays as scikit-learn's checks pass them; the last quarter of the rows intervenes on the first column."""

    def fit(self, X, y=None):
        return super().fit(X, targets=self._targets(X))

    def score(self, X, y=None):
        return super().score(X, targets=self._targets(X))

    @staticmethod
    def _targets(X):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return [None] * (n_rows - n_rows // 4) + [0] * (n_rows // 4)


def test_every_check_of_scikit_learn_on_continuous_arrays():
    estimator = OnContinuousArrays(max_epochs=1, settings=BRIEF, random_state=0, n_jobs=1)
    outcomes = estimator_checks.check_estimator(estimator, on_skip=None)
    skipped = [outcome["check_name"] for outcome in outcomes if outcome["status"] != "passed"]
    assert len(outcomes) > 30
    assert skipped in ([], ["check_array_api_input"])  # which runs only where SCIPY_ARRAY_API is set


def test_parameters_are_stored_untouched_and_fit_leaves_them_alone(data):
    settings, known = dict(QUICK), Knowledge(roots=["X1"])
    estimator = quick(settings=settings, knowledge=known)
    before = estimator.get_params()
    assert estimator.fit(data) is estimator
    assert before == estimator.get_params()
    assert estimator.settings is settings
    assert settings == QUICK
    twin = clone(estimator)
    assert not hasattr(twin, "adjacency_matrix_")
    assert np.array_equal(twin.fit(data).theta_, estimator.theta_)


def test_defaults_are_those_of_the_settings():
    assert ENCO()._settings() == Settings()


def test_fitted_attributes(fitted, data):
    n = data.n_variables
    assert fitted.adjacency_matrix_.shape == fitted.adjacency_matrix_raw_.shape == (n, n)
    assert nx.is_directed_acyclic_graph(nx.DiGraph(fitted.adjacency_matrix_))
    assert ((fitted.edge_probabilities_ >= 0) & (fitted.edge_probabilities_ <= 1)).all()
    assert np.array_equal(fitted.theta_, -fitted.theta_.T)
    assert np.isneginf(np.diag(fitted.gamma_)).all()
    assert sorted(fitted.causal_order_) == sorted(data.names)
    assert set(fitted.causal_graph_.nodes) == set(data.names)
    assert fitted.causal_graph_.number_of_edges() == fitted.adjacency_matrix_.sum()
    assert (fitted.n_features_in_, fitted.n_iter_, len(fitted.history_)) == (n, 2, 2)
    assert tuple(fitted.feature_names_in_) == data.names
    assert isinstance(fitted.result_, Result)
    assert fitted.result_.seed == 0
    assert fitted.result_.settings["fit_steps"] == 50
    assert fitted.result_.seconds > 0


def from_raw_to_final(result):
    """The predicted graph without the edges that closed cycles, and with the moves of the search."""
    edges = {(result.variables[i], result.variables[j]) for i, j in np.argwhere(result.adjacency_raw)}
    edges -= {tuple(edge) for edge in result.order_report["removed"]}
    for step in result.order_report["refined"]:
        added, removed = ({tuple(edge) for edge in step[key]} for key in ("added", "removed"))
        assert step["gain"] > 0
        assert removed <= edges
        assert not added & edges
        edges = (edges - removed) | added
    return edges


@pytest.mark.parametrize("options", [{}, {"refine_rounds": 0}, {"edge_evidence": 50.0}, {"refine_steps": 10}])
def test_the_report_says_how_the_final_graph_came_about(fitted, data, options):
    estimator = quick(settings={**QUICK, **options}).fit(data)
    result = estimator.result_
    assert from_raw_to_final(result) == set(estimator.causal_graph_.edges)
    assert nx.is_directed_acyclic_graph(estimator.causal_graph_)
    place = {name: position for position, name in enumerate(estimator.causal_order_)}
    assert all(place[cause] < place[effect] for cause, effect in estimator.causal_graph_.edges)
    # What was learned does not depend on how the search goes.
    assert np.array_equal(estimator.gamma_, fitted.gamma_)
    assert np.array_equal(estimator.theta_, fitted.theta_)
    moves = result.order_report["refined"]
    if options == {"refine_rounds": 0}:
        assert moves == []
        assert (estimator.adjacency_matrix_ <= estimator.adjacency_matrix_raw_).all()
    if options == {"edge_evidence": 50.0}:  # more than these few rows can say about any edge
        assert "add" not in [step["move"] for step in moves]
        assert result.n_edges < fitted.result_.n_edges


def test_the_settings_and_the_seed_matter(fitted, data):
    assert not np.array_equal(fitted.gamma_, quick(random_state=1).fit(data).gamma_)
    assert not np.array_equal(fitted.gamma_, quick(sparsity=0.5).fit(data).gamma_)


def test_threads_do_not_matter(fitted, data):
    assert np.array_equal(fitted.gamma_, quick(n_jobs=2).fit(data).gamma_)


def test_knowledge_is_used(data):
    required = [("X2", "X1"), ("X3", "X2")]
    estimator = quick(knowledge=Knowledge(required=required, leaves=["X4"])).fit(data)
    assert set(required) <= set(estimator.causal_graph_.edges)
    assert estimator.causal_graph_.out_degree("X4") == 0
    added = [edge for step in estimator.result_.order_report["refined"] for edge in step["added"]]
    assert not any(cause == "X4" for cause, _ in added)
    assert estimator.result_.knowledge["leaves"] == ("X4",)


def rows_and_targets(data):
    frame = data.to_frame()
    targets = frame.pop("perturbation").tolist()
    return frame.astype(int), targets


def test_every_way_to_pass_the_data_gives_the_same_result(fitted, data):
    frame, names = rows_and_targets(data)
    positions = [None if name == "control" else data.position(name) for name in names]
    ways = [
        (frame, names),
        (pl.from_pandas(frame), ["" if name == "control" else [name] for name in names]),
        (frame.to_numpy(), names),
        (frame.to_numpy(), positions),
        (frame.to_numpy().tolist(), np.array(positions, dtype=object)),
        (frame, pd.Series([np.nan if name == "control" else name for name in names])),
        (frame, [() if position is None else (position,) for position in positions]),
    ]
    for X, targets in ways:
        assert np.array_equal(fitted.gamma_, quick().fit(X, targets=targets).gamma_)


def test_several_targets_per_row():
    x = np.arange(60).reshape(20, 3) % 2
    targets = [None] * 10 + [["X1", "X3"]] * 5 + [1] * 5
    estimator = quick().fit(x, targets=targets)
    evidence = estimator.result_.evidence
    assert evidence.orientation_rows[0, 2] == 0
    assert evidence.orientation_rows[0, 1] == 10


def test_names_are_remembered_only_when_there_are_any(data):
    frame, targets = rows_and_targets(data)
    estimator = quick(max_epochs=1).fit(frame, targets=targets)
    assert estimator.feature_names_in_.tolist() == list(frame.columns)
    estimator.fit(frame.to_numpy(), targets=targets)
    assert not hasattr(estimator, "feature_names_in_")
    estimator.fit(frame.set_axis(range(6), axis=1), targets=[None] * 400 + [0] * 360)
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.causal_order_ != list(frame.columns)


def test_random_state(fitted, data):
    twins = [np.random.default_rng, np.random.RandomState]
    for make in twins:
        first, second = (quick(max_epochs=1, random_state=make(4)).fit(data) for _ in range(2))
        assert first.result_.seed == second.result_.seed
        assert np.array_equal(first.gamma_, second.gamma_)
    assert quick(random_state=np.int64(0)).fit(data).result_.seed == 0
    seeds = {quick(max_epochs=1, random_state=None).fit(data).result_.seed for _ in range(3)}
    assert len(seeds) == 3


def test_verbose(data, capsys):
    quick(verbose=1).fit(data)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split(":")[0] for line in printed.err.splitlines()] == ["epoch 1/2", "epoch 2/2"]
    quick().fit(data)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"sparsity": 0.5}, {"sparsity": 0.5}),
        ({"settings": {"sparsity": 0.5}}, {"sparsity": 0.5}),
        ({"settings": Settings(sparsity=0.5), "hidden": 16}, {"sparsity": 0.5, "hidden": 16}),
        ({"sparsity": 0.5, "settings": {"sparsity": 0.5, "batch": 7}}, {"sparsity": 0.5, "batch": 7}),
    ],
)
def test_settings_come_from_two_places(options, expected):
    assert ENCO(**options)._settings() == Settings(**expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sparsity": 0.5, "settings": {"sparsity": 0.6}}, "sparsity is 0.5 as a parameter and 0.6 in settings"),
        ({"settings": {"sparseness": 0.5}}, "there is no setting 'sparseness'"),
        ({"settings": "fast"}, "settings must be a dict or a Settings object, got str"),
        ({"sparsity": "much"}, "setting sparsity must be a number, got 'much'"),
        ({"max_epochs": 0}, "setting max_epochs must be positive, got 0"),
        ({"estimator": "best"}, "setting estimator must be one of paired, independent, reinforce, got 'best'"),
        ({"knowledge": {"roots": ["X1"]}}, "knowledge must be a Knowledge object, got dict"),
        ({"knowledge": Knowledge(roots=["Y1"])}, "mentions 'Y1', which is no variable of the data"),
        ({"random_state": -1}, "random_state must be a whole number from 0"),
        ({"random_state": "seven"}, "random_state must be a whole number from 0"),
        ({"random_state": True}, "random_state must be a whole number from 0"),
        ({"n_jobs": 0}, "the number of threads must be a whole number other than 0"),
        ({"n_jobs": 1.5}, "the number of threads must be a whole number other than 0"),
    ],
)
def test_bad_parameters_are_refused_when_fitting(data, options, message):
    estimator = ENCO(**options)
    with pytest.raises(SettingsError) as caught:
        estimator.fit(data)
    assert message in str(caught.value)
    assert not hasattr(estimator, "result_")


X = np.arange(40).reshape(20, 2) % 2


@pytest.mark.parametrize(
    ("x", "targets", "message"),
    [
        (X, None, "there is no intervention regime"),
        (X, [None] * 20, "there is no intervention regime"),
        (X, [None] * 19, "there are 20 rows but 19 targets: give one entry per row"),
        (X, "X1", "there are 20 rows but 1 targets: give one entry per row"),
        (X, [None] * 19 + ["X9"], "row 19 targets the unknown variable 'X9': known are 'X1', 'X2'"),
        (X, [None] * 19 + [2], "row 19 targets position 2, but there are 2 variables"),
        (X, [None] * 19 + [0.5], "row 19 has the target 0.5: give a name or a position"),
        (X, ["X1"] * 20, "there are no observational rows"),
        (X, [None] * 10 + [[0, 1]] * 10, "targets every variable"),
        (csr_array(X), [None] * 19 + [0], "X is sparse, and sparse input is not supported: pass X.toarray()"),
        (X[:, 0], [None] * 20, "X is a 1-d array: pass rows x variables"),
        (X[:, :1], [None] * 20, "a causal graph needs at least 2 columns"),
        (np.where(X, "a", None), [None] * 19 + [0], "'X1'"),
        (InterventionalData.from_environments([X, X], [None, "X1"]), [None] * 40, "leave targets= out"),
    ],
)
def test_bad_data(x, targets, message):
    with pytest.raises(DataError) as caught:
        quick().fit(x, targets=targets)
    assert message in str(caught.value)


# Continuous columns


def test_floats_are_continuous_and_the_rest_is_not():
    rng = np.random.default_rng(8)
    size = 600
    dose = rng.normal(size=size)
    cell = np.where(dose + 0.3 * rng.normal(size=size) > 0, "alive", "dead")
    frame = pd.DataFrame({"cell": cell, "dose": dose})
    targets = np.repeat(["control", "dose", "cell"], 200)
    frame.loc[400:, "cell"] = rng.choice(["alive", "dead"], 200)
    fitted = ENCO(random_state=0, n_jobs=1).fit(frame, targets=targets)
    assert fitted.adjacency_matrix_.tolist() == [[0, 0], [1, 0]]  # dose -> cell
    assert fitted.feature_names_in_.tolist() == ["cell", "dose"]
    twice = ENCO(random_state=0, n_jobs=2).fit(frame, targets=targets)
    assert fitted.gamma_.tobytes() == twice.gamma_.tobytes()


def test_an_array_of_floats():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(600, 2))
    x[:400, 1] += 2 * x[:400, 0]
    fitted = ENCO(random_state=0, n_jobs=1).fit(x, targets=[None] * 200 + [0] * 200 + [1] * 200)
    assert fitted.adjacency_matrix_.tolist() == [[0, 1], [0, 0]]
