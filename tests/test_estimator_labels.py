"""The estimator, where labels are reagents, targets are not known, or columns describe the circumstances of a row."""

import numpy as np
import pandas as pd
import pytest

from enco import ENCO
from enco.data import InterventionalData
from enco.errors import DataError, SettingsError
from enco.result.interventions import BATCHES, in_words

BRIEF = {"first_fit_steps": 100, "fit_steps": 50, "graph_steps": 20, "refine_steps": 300}
DONE = {None: 500, "drug X": 100, "drug Y": 100, "C": 100}
LABELS = [label for label, rows in DONE.items() for _ in range(rows)]
REAGENTS = {"drug X": None, "drug Y": ["B"]}


def quick(**options):
    return ENCO(**{"max_epochs": 3, "settings": BRIEF, "random_state": 0, "n_jobs": 1, **options})


def rows_of(label, n, rng, batch):
    """A -> B -> C, where B is also different in the second of two batches."""
    a = rng.normal(size=n) + (3.0 if label == "drug X" else 0.0)
    b = rng.normal(size=n) - 3.0 if label == "drug Y" else a + rng.normal(size=n) + 2.0 * batch
    c = rng.normal(size=n) + 4.0 if label == "C" else rng.normal(size=n) - b
    return np.column_stack([a, b, c, batch])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    blocks = [rows_of(label, n, rng, rng.integers(2, size=n)) for label, n in DONE.items()]
    return pd.DataFrame(np.vstack(blocks), columns=["A", "B", "C", "batch"]).astype({"batch": int})


@pytest.fixture(scope="module")
def fitted(frame):
    return quick(context=["batch"]).fit(frame, targets=LABELS, reagents=REAGENTS)


def test_context_is_no_part_of_the_graph_and_unknown_targets_are_inferred(fitted):
    assert fitted.adjacency_matrix_.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert (fitted.n_features_in_, list(fitted.feature_names_in_)) == (4, ["A", "B", "C", "batch"])
    assert sorted(fitted.causal_order_) == ["A", "B", "C"]
    table = fitted.result_.interventions
    assert table[["regime", "target", "inferred"]].values.tolist() == [
        ["drug X", "A", True],
        ["drug Y", "B", False],
        ["C", "C", False],
    ]
    assert fitted.result_.target_probability.loc["drug X"].round(2).tolist() == [1, 0, 0]


def test_every_way_to_say_it_is_the_same(frame, fitted):
    by_position = quick(context=[3]).fit(
        frame.to_numpy(dtype=object),
        targets=[2 if it == "C" else it for it in LABELS],
        reagents={"drug X": "unknown", "drug Y": 1},
    )
    assert np.array_equal(by_position.edge_probabilities_, fitted.edge_probabilities_)
    table = frame.assign(perturbation=[label or "" for label in LABELS])
    data = InterventionalData.from_frame(table, targets=REAGENTS)
    assert np.array_equal(quick(context=["batch"]).fit(data).gamma_, fitted.gamma_)
    assert np.array_equal(quick().fit(data.with_context(["batch"])).gamma_, fitted.gamma_)


def test_targets_can_be_forgotten(frame):
    table = frame.assign(perturbation=[label or "" for label in LABELS])
    data = InterventionalData.from_frame(table, targets=REAGENTS)
    of_data = quick(context=["batch"]).fit(data, targets="unknown")
    assert of_data.result_.interventions["inferred"].all()
    assert of_data.result_.interventions["target"].tolist() == ["A", "B", "C"]
    of_table = quick(context=["batch"]).fit(frame, targets=LABELS, reagents="unknown")
    assert np.array_equal(of_table.gamma_, of_data.gamma_)


def test_rows_are_scored_without_context(frame, fitted):
    score = fitted.score(frame, targets=LABELS, reagents=REAGENTS)
    assert score == fitted.score(frame.to_numpy(dtype=object), targets=LABELS, reagents={**REAGENTS, "C": 2})
    assert -3 < score < -1
    with pytest.raises(DataError, match="'drug Z' are not known, and the fit has not seen it"):
        fitted.score(
            frame,
            targets=["drug Z" if it == "C" else it for it in LABELS],
            reagents={"drug X": ["A"], "drug Y": ["B"], "drug Z": None},
        )


@pytest.mark.parametrize("candidates", [np.triu(np.ones((3, 3)), 1), np.triu(np.ones((4, 4)), 1).T[::-1, ::-1].T])
@pytest.mark.parametrize("regime_shift", [False, True])
def test_candidates_may_leave_context_out(frame, candidates, regime_shift):
    fitted = quick(context=["batch"], candidates=candidates, regime_shift=regime_shift, max_epochs=1).fit(
        frame, targets=LABELS, reagents=REAGENTS
    )
    considered = fitted.gamma_ > -np.inf
    assert np.array_equal(considered, candidates[:3, :3] > 0)


def test_what_is_said_of_single_interventions_is_kept(frame):
    fitted = quick(context=["batch"], interventions={"drug Y": "soft", "C": "perfect"}, max_epochs=1)
    fitted.fit(frame, targets=LABELS, reagents=REAGENTS)
    assert {it.label: it.claim for it in fitted._fit_data.regimes} == {
        None: None,
        "drug X": None,
        "drug Y": "soft",
        "C": "perfect",
    }
    assert fitted.result_.settings["interventions"] == "auto"


def shifted_everywhere(rng, n_regimes=4):
    """Every regime has an offset of its own in every variable."""
    blocks = [rng.normal(size=(300, 4)) + (rng.normal(size=4, scale=2.0) if k else 0.0) for k in range(n_regimes + 1)]
    return InterventionalData.from_environments(blocks, [None, *range(n_regimes)])


def test_batches_are_named(capsys):
    data = shifted_everywhere(np.random.default_rng(1))
    result = quick().fit(data).result_
    assert BATCHES in in_words(result.interventions, 4, result.shifts)
    shifted = quick(regime_shift=True).fit(data).result_
    assert BATCHES not in in_words(shifted.interventions, 4, shifted.shifts)
    assert shifted.adjacency.sum() == 0


WRONG = {
    "no such context": ({"context": ["btach"]}, {}, "context names the column 'btach', which is not there"),
    "no such position": ({"context": [4]}, {}, "context names position 4, but there are 4 columns"),
    "a text as context": ({"context": "batch"}, {}, "context must be a list of columns"),
    "context with a target": ({"context": ["C"]}, {}, "'C' is context and the target of an intervention"),
    "all context": ({"context": ["A", "B", "C", "batch"]}, {}, "context"),
    "one variable": (
        {"context": ["A", "C", "batch"]},
        {"labels": [None] * 799 + ["B"]},
        "all columns but one are context",
    ),
    "no such label": ({}, {"reagents": {**REAGENTS, "drug Z": ["A"]}}, "'drug Z' is mapped and does not occur"),
    "no such variable": (
        {},
        {"reagents": {**REAGENTS, "drug X": ["D"]}},
        "mapped to 'D', and there is no such variable",
    ),
    "no such place": ({}, {"reagents": {**REAGENTS, "drug X": 7}}, "mapped to position 7"),
    "a label without meaning": ({}, {"reagents": {"drug X": None}}, "the label 'drug Y', which is no column of X"),
    "no mapping": ({}, {"reagents": 3}, "reagents must be a mapping"),
    "another word": ({}, {"reagents": {**REAGENTS, "drug X": {"target": "A"}}}, "give 'targets'"),
    "no such regime": ({"interventions": {"drug Z": "soft"}}, {}, "names the regime 'drug Z', which is not there"),
    "no such claim": ({"interventions": {"drug X": "weak"}}, {}, "cannot be 'weak'"),
    "no such rule": ({"interventions": "weak"}, {}, "setting interventions must be one of auto, perfect, soft"),
}


@pytest.mark.parametrize(("options", "given", "message"), WRONG.values(), ids=WRONG.keys())
def test_mistakes_are_named(frame, options, given, message):
    options = {name: value for name, value in options.items() if name != "x"}
    reagents = given.get("reagents", REAGENTS if "labels" not in given else None)
    with pytest.raises((DataError, SettingsError)) as caught:
        quick(**options).fit(frame, targets=given.get("labels", LABELS), reagents=reagents)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_targets_of_data_that_know_theirs_are_refused(frame):
    data = InterventionalData.from_frame(frame.assign(perturbation=["A"] * 100 + [""] * 700))
    with pytest.raises(DataError, match="leave targets= out, or say in reagents="):
        quick().fit(data, targets=LABELS)
