"""The other figures: what they show is what the result, the data and the truth say."""

import matplotlib

matplotlib.use("Agg")

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from enco import InterventionalData, metrics
from enco.errors import DataError, GraphError, SettingsError
from enco.plotting import (
    KINDS,
    draw,
    draw_confounder_scores,
    draw_interventions,
    draw_learning_curves,
    draw_orientation,
    draw_precision_recall,
    draw_probabilities,
)
from enco.plotting.interventions import intervention_shifts
from enco.result.example import small_data, small_result

FREQUENCY = np.array([[0.0, 0.9, 0.1], [0.0, 0.0, 0.6], [0.0, 0.3, 0.0]])
TRUTH = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
GIVEN = {"graph": {"truth": TRUTH}, "precision-recall": {"truth": TRUTH}, "interventions": {"data": small_data()}}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def image_of(ax):
    return ax.images[0].get_array()


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"confounders"}))
def test_every_kind_draws_where_told_and_alone(kind):
    result = replace(small_result(), frequency=FREQUENCY)
    ax = result.plot(kind, **GIVEN.get(kind, {}))
    assert isinstance(ax, Axes)
    ax.figure.canvas.draw()
    _, given = plt.subplots()
    assert draw(result, kind, ax=given, **GIVEN.get(kind, {})) is given


def test_matrices_are_in_causal_order():
    result = small_result()
    backwards = replace(result, order=("C", "B", "A"), frequency=FREQUENCY)
    for which in ("edge_probability", "existence", "orientation", "frequency"):
        matrix = getattr(backwards, which)
        shown = image_of(draw_probabilities(backwards, which))
        off_diagonal = ~np.eye(3, dtype=bool)
        np.testing.assert_allclose(shown[off_diagonal], matrix[::-1, ::-1][off_diagonal])
        assert np.ma.getmaskarray(shown).diagonal().all() or np.isnan(shown).diagonal().all()
    dots = draw_probabilities(backwards).collections[0].get_offsets()
    assert sorted(map(tuple, dots.tolist())) == [(0.0, 1.0), (1.0, 2.0)]  # B -> C and A -> B, column and row


def test_precision_and_recall_at_every_threshold():
    result = small_result()
    precision, recall = draw_precision_recall(result, TRUTH).lines
    thresholds = precision.get_xdata()
    assert len(thresholds) == 6
    for place, threshold in enumerate(thresholds):
        scores = metrics.edge_scores((result.edge_probability >= threshold) & ~np.eye(3, dtype=bool), TRUTH)
        assert precision.get_ydata()[place] == pytest.approx(scores.precision)
        assert recall.get_ydata()[place] == pytest.approx(scores.recall)


def test_learning_curves_show_the_history():
    ax = draw_learning_curves(small_result())
    assert ax.lines[0].get_ydata().tolist() == [0, 3, 2]
    loss = next(axes for axes in ax.figure.axes if axes is not ax)
    assert loss.lines[0].get_ydata().tolist() == [1.1, 0.9, 0.8]


def test_learning_curves_show_precision_and_recall_given_the_truth():
    """A -> B and B -> C are true: no edge, then both and A -> C, then both."""
    ax = draw_learning_curves(small_result(), small_result().adjacency)
    precision, recall = next(axes for axes in ax.figure.axes if axes is not ax).lines
    assert [line.get_label() for line in (precision, recall)] == ["precision", "recall"]
    assert precision.get_ydata()[1:].tolist() == [pytest.approx(2 / 3), 1.0]
    assert recall.get_ydata().tolist() == [0.0, 1.0, 1.0]


def test_learning_curves_without_a_record_of_edges_have_no_precision():
    bare = replace(small_result(), edge_epochs=None)
    draw_learning_curves(bare)
    with pytest.raises(SettingsError, match="no record of the edges after epoch 1"):
        draw_learning_curves(bare, small_result().adjacency)


def test_orientations_least_sure_first_and_distant_ones_open():
    ax = draw_orientation(small_result())
    near, distant = ax.collections[1:]
    assert near.get_offsets().tolist() == [[pytest.approx(1 / (1 + np.exp(-5.0))), 1.0]]  # A -> B
    assert distant.get_offsets().tolist() == [[pytest.approx(1 / (1 + np.exp(-1.5))), 0.0]]  # nobody set B or C
    assert distant.get_facecolor()[0].tolist() == [1.0, 1.0, 1.0, 1.0]


def test_interventions_are_measured_against_observational_rows():
    rng = np.random.default_rng(0)
    observed = np.column_stack([rng.normal(size=400), rng.normal(size=400)])
    moved = np.column_stack([rng.normal(9.0, size=300), rng.normal(size=300)])
    data = InterventionalData.from_environments([observed, moved], [None, "X1"])
    shift = intervention_shifts(data, data.interventional[0])
    assert shift[0] == 1.0
    assert shift[1] < 0.15
    drawn = image_of(draw_interventions(small_result(), small_data().select(["C", "A", "B"])))
    np.testing.assert_allclose(drawn, [[0.5, 0.25, 0.0]])  # columns go by name


def test_confounder_scores(monkeypatch):
    result = small_result()
    scores = np.full((3, 3), np.nan)
    scores[0, 2] = scores[2, 0] = 0.8
    # As a fit with latent=True gives them.
    object.__setattr__(result, "confounder_scores", scores)
    monkeypatch.setattr(type(result), "confounders", property(lambda self: [("A", "C", 0.8)]), raising=False)
    ax = draw_confounder_scores(result)
    assert image_of(ax)[0, 2] == 0.8
    assert sorted(map(tuple, ax.collections[0].get_offsets().tolist())) == [(0.0, 2.0), (2.0, 0.0)]


def test_names_are_not_mathematics():
    changes = {"variables": ("$\\x$", "b$", "c"), "order": ("$\\x$", "b$", "c")}
    result = small_result().__class__(**{**vars(small_result()), **changes})
    for kind in ("graph", "probabilities", "orientation"):
        draw(result, kind).figure.canvas.draw()


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (SettingsError, "there is no figure 'pie'", lambda r: r.plot("pie")),
        (SettingsError, "needs the true graph", lambda r: r.plot("precision-recall")),
        (SettingsError, "needs the data", lambda r: r.plot("interventions")),
        (SettingsError, "has no use for truth", lambda r: r.plot("existence", truth=TRUTH)),
        (SettingsError, "has no use for by", lambda r: r.plot("existence", by="frequency")),
        (SettingsError, "there is no number 'gain'", lambda r: r.plot("graph", by="gain")),
        (SettingsError, "no refits, .* --bootstrap 20", lambda r: r.plot("graph", by="frequency")),
        (SettingsError, "no refits, .* --bootstrap 20", lambda r: r.plot("frequency")),
        (SettingsError, "there is no matrix", lambda r: draw_probabilities(r, "gamma")),
        (SettingsError, "did not look for latent", lambda r: r.plot("confounders")),
        (GraphError, "the true graph has 2 variables", lambda r: r.plot("precision-recall", truth=np.zeros((2, 2)))),
        (GraphError, "no edges", lambda r: r.plot("precision-recall", truth=np.zeros((3, 3)))),
        (DataError, "no interventions", lambda r: r.plot("interventions", data=small_data().keep_regimes([]))),
        (DataError, "different variables", lambda r: r.plot("interventions", data=renamed())),
    ],
)
def test_mistakes(error, message, call):
    with pytest.raises(error, match=message):
        call(small_result())


def renamed():
    x = np.array([[0, 1, 0], [1, 0, 1]])
    return InterventionalData.from_environments([x, x], [None, "X1"])


def test_no_history():
    bare = small_result().__class__(**{**vars(small_result()), "history": small_result().history.iloc[:0]})
    with pytest.raises(SettingsError, match="no record of its epochs"):
        bare.plot("learning")
