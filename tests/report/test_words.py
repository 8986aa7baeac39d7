"""The sentences say what the result and the data say, no more and no less."""

import numpy as np
import pytest

from enco.report.history_curves import learning_curves
from enco.report.words import cautions, summary
from enco.result.evidence import Evidence
from enco.theory import check_data


def test_numbers_and_grammar(make_result):
    result = make_result(["a", "b", "c"], edges_per_variable=0.0)
    assert summary(result) == ["Among 3 variables, no edges were found."]
    adjacency = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], np.uint8)
    one = make_result(["a", "b", "c"], adjacency=adjacency, gamma=np.full((3, 3), 9.0), theta=np.full((3, 3), 9.0))
    assert summary(one)[0].startswith("Among 3 variables, 1 edge was found")
    assert "every edge has a probability of at least 0.9" in summary(one)[1]
    assert summary(one)[2] == "Most effects come from a (1)."
    weak = make_result(["a", "b", "c"], adjacency=adjacency, gamma=np.full((3, 3), -2.0))
    assert "0 of the 1 edge have a probability of at least 0.9, and 1 less than 0.5" in summary(weak)[1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"order_report": {"removed": [["a", "b"]], "gap": 0.0}}, "1 edge was removed because it closed a loop"),
        ({"order_report": {"removed": [["a", "b"]] * 2, "gap": 0.0}}, "2 edges were removed because they closed"),
        ({"order_report": {"removed": [], "gap": 0.5}}, "not proven that the cut is the best"),
        ({"gamma": np.full((4, 4), -2.0)}, "a probability below 0.5"),
        ({"evidence": Evidence(*np.zeros((3, 4, 4), np.int64))}, "neither of which was ever set on purpose"),
    ],
)
def test_each_caution_appears_when_it_applies(make_result, changes, words):
    names = ["a", "b", "c", "d"]
    sure = {
        "gamma": np.full((4, 4), 9.0),
        "theta": np.full((4, 4), 9.0),
        "evidence": Evidence(*np.ones((3, 4, 4), np.int64)),
    }
    assert not any(words in sentence for sentence in cautions(make_result(names, **sure)))
    assert any(words in sentence for sentence in cautions(make_result(names, **(sure | changes))))


def test_a_fit_that_ran_out_of_epochs(make_result):
    result = make_result(["a", "b", "c"], settings={"max_epochs": 2})
    result.history["undecided"] = [3, 2]
    assert any("all of its 2 epochs with 2 pairs still undecided" in sentence for sentence in cautions(result))
    result.history["undecided"] = [3, 0]
    assert not any("undecided" in sentence for sentence in cautions(result))


def test_cautions_about_data():
    from enco.result.example import small_data, small_result

    found = cautions(small_result(), check_data(small_data()))
    assert "2 of 3 variables were never set on purpose." in found


def test_curves_survive_gaps_and_damage(make_result):
    history = make_result(["a", "b"]).history
    history["edges"] = [np.nan, 4.0]
    history["held_out_loss"] = ["broken", "text"]
    curves = learning_curves(history)
    assert [curve.title for curve in curves] == ["Edges"]
    assert (curves[0].first, curves[0].final, len(curves[0].points)) == (2, "4", 1)
