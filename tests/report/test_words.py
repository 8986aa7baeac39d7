"""The sentences say what the result and the data say, no more and no less."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from enco.report.history_curves import learning_curves
from enco.report.words import cautions, meaning, summary
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
        ({"order_report": {"removed": [], "unsure": [["a", "b"]]}}, "1 more edge was found by the search and left out"),
        ({"order_report": {"removed": [], "unsure": [["a", "b"]] * 3}}, "3 more edges were found by the search"),
        ({"order_report": {"removed": [], "left_out": [["a", "b"]]}}, "1 more edge was left out, the least sure"),
        ({"order_report": {"removed": [], "left_out": [["a", "b"]] * 2}}, "2 more edges were left out, the least sure"),
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


def test_refits_and_permuted_labels_are_part_of_the_summary(make_result):
    adjacency = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], np.uint8)
    plain = make_result(["a", "b", "c"], adjacency=adjacency)
    assert not any("refit" in sentence or "permuted" in sentence for sentence in summary(plain))
    stable = replace(plain, frequency=np.array([[0, 0.9, 0.85], [0, 0, 1], [0, 0, 0]]))
    assert any(s.startswith("How stable: 1 of the 2 edges was found by at least 90% of") for s in summary(stable))
    counts = {
        "permutations": 2,
        "probability": [0.5, 0.9],
        "edges": [9, 2],
        "by_chance": [5.0, 1.0],
        "beyond_chance": 0.0,
        "fdr": 0.5,
    }
    control = replace(plain, null_control=pd.DataFrame(counts))
    assert any("1 edge on average reaches a probability of 0.9; with the real ones, 2." in s for s in summary(control))
    other = replace(plain, null_control=pd.DataFrame(counts)[:1])
    assert not any("permuted" in sentence for sentence in summary(other))


def test_what_a_probability_means_is_the_last_caution(make_result, searched):
    for result in (make_result(["a", "b"]), searched(make_result(["a", "b"]))):
        assert cautions(result)[-1] == meaning(result)
    assert "nine in ten" in meaning(result)


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
