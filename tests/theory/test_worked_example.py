"""The numbers of Appendix B.2.1, the examples that violate a condition, and what a report prints."""

import json

import numpy as np
import pytest

from enco.simulate import examples, from_bif
from enco.theory import check_conditions


@pytest.fixture(scope="module")
def report():
    return check_conditions(examples.worked_chain())


def test_edge_x1_x2(report):
    pair = report.pair("X1", "X2")
    assert (pair.own.largest.parents, round(pair.own.largest.value, 3)) == ((), 0.023)
    assert (pair.own.smallest.parents, round(pair.own.smallest.value, 3)) == (("X3",), 0.015)
    existence = pair.existence.smallest
    assert (existence.parents, round(existence.value, 3)) == ((), 0.020)
    assert {name: round(value, 3) for name, value in existence.by_intervention.items()} == {"X1": 0.023, "X3": 0.017}
    assert pair.existence.possible == 1


def test_edge_x2_x3(report):
    pair = report.pair("X2", "X3")
    assert (pair.own.smallest.parents, round(pair.own.smallest.value, 3)) == ((), 0.194)
    assert (pair.own.largest.parents, round(pair.own.largest.value, 3)) == (("X1",), 0.200)
    largest, smallest = pair.existence.largest, pair.existence.smallest
    assert (largest.parents, round(largest.value, 3)) == ((), 0.194)
    assert {name: round(value, 3) for name, value in largest.by_intervention.items()} == {"X1": 0.194, "X2": 0.194}
    assert (smallest.parents, round(smallest.value, 3)) == (("X1",), 0.193)
    assert {name: round(value, 3) for name, value in smallest.by_intervention.items()} == {"X1": 0.186, "X2": 0.200}


def test_pair_x1_x3(report):
    pair = report.pair("X1", "X3")
    assert not pair.edge
    assert (pair.own.largest.parents, round(pair.own.largest.value, 3)) == ((), 0.008)
    assert (pair.own.smallest.parents, round(pair.own.smallest.value, 3)) == (("X2",), 0.0)
    assert (pair.condition_1, pair.condition_2) == ("holds", "holds")


def test_guaranteed_below_0_020(report):
    assert report.guaranteed
    assert round(report.largest_sparsity, 3) == 0.020
    assert check_conditions(examples.worked_chain(), sparsity=0.019).guaranteed
    assert not check_conditions(examples.worked_chain(), sparsity=0.021).guaranteed
    assert not check_conditions(examples.worked_chain(), sparsity=0.0).guaranteed


def test_the_text_shows_the_numbers(report):
    text = str(report)
    for number in ("0.023", "0.015", "0.020", "0.194", "0.200", "0.193", "0.008", " 0 {X2}"):
        assert number in text
    assert "edge X1 -> X2 is guaranteed for lambda below 0.020; with 200 rows per intervention expect 1.6" in text
    assert "guaranteed for lambda below 0.020 (yours: 0.004)" in text.splitlines()[-2]


def test_the_rule_of_thumb_is_the_spread_of_simulated_rows():
    model, rows = examples.worked_chain(), 200_000
    evidence = check_conditions(model).pair("X2", "X3").evidence
    drawn = model.sample(rows, do={"X2": None}, rng=np.random.default_rng(0)).codes.astype(int)
    joint = model.joint_probabilities()
    with_edge = joint.sum(axis=0) / joint.sum(axis=(0, 2))[:, None]
    gains = np.log(with_edge[drawn[:, 1], drawn[:, 2]]) - np.log(joint.sum(axis=(0, 1))[drawn[:, 2]])
    assert evidence.parents == ()
    assert gains.mean() == pytest.approx(evidence.own_mean, abs=5 * evidence.own_sd / np.sqrt(rows))
    assert gains.std() == pytest.approx(evidence.own_sd, rel=0.01)
    needed = evidence.rows_needed(0.004)
    both = (evidence.orientation_z(needed), evidence.existence_z(needed, 0.004))
    assert min(both) == pytest.approx(3.0)


def test_frame_and_dict_agree_with_the_report(report):
    frame = report.to_frame()
    assert list(zip(frame.cause, frame.effect, frame.edge, strict=True)) == [
        ("X1", "X2", True),
        ("X2", "X3", True),
        ("X1", "X3", False),
    ]
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["largest_sparsity"] == report.largest_sparsity
    assert len(content["pairs"]) == 3
    assert content["failures"] == []


def test_fully_connected_names_condition_and_parent_set():
    report = check_conditions(examples.fully_connected())
    first = report.failures[0]
    assert (first.condition, first.cause, first.effect, first.gain.parents) == ("1", "X2", "X3", ())
    assert first.gain.value < 0
    assert report.largest_sparsity == 0.0
    # With the edge X1 -> X3 in the graph, the direction shows.
    assert report.pair("X2", "X3").own.largest.parents == ("X1",)


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.3, 0.4, 0.45])
def test_exclusive_or_fails_condition_3_with_the_empty_set(epsilon):
    report = check_conditions(examples.noisy_xor(epsilon), sparsity=1e-4)
    assert [(f.condition, f.cause, f.gain.parents) for f in report.failures] == [("3", "X1", ()), ("3", "X2", ())]
    assert report.pair("X1", "X3").condition_2 == "holds"
    assert "condition 3 for X1 -> X3: gain 0 given {}" in str(report)


def test_exact_cancellation_names_condition_and_parent_set():
    report = check_conditions(examples.cancelling_paths())
    named = [(f.condition, f.cause, f.effect) for f in report.failures]
    assert ("1", "X2", "X3") in named
    first = next(f for f in report.failures if f.condition == "1")
    assert first.gain.parents == ()
    assert first.gain.unseen == 0
    # What depends on X1 != X2, which never occurs without intervention, is not called a failure of the model.
    assert report.pair("X2", "X3").condition_2 == "open"
    assert report.pair("X1", "X3").condition_3(0.004) == "assumed"


def test_deterministic_chain_rests_on_configurations_never_observed():
    report = check_conditions(examples.deterministic_chain())
    assert report.status == "assumed"
    assert not report.guaranteed
    assert report.pair("X2", "X3").own.smallest_unseen.unseen == pytest.approx(0.5)
    assert report.pair("X2", "X3").own.minimum == pytest.approx(np.log(2))


def test_sachs_violates_condition_1_by_enumeration():
    """The paper saw no violation in the networks it used; an independent computation of one."""
    model = from_bif("sachs")
    observational = model.joint_probabilities()
    under = model.joint_probabilities(do={"Mek": None})
    mek, erk = model.position("Mek"), model.position("Erk")
    others = tuple(k for k in range(11) if k not in (mek, erk))
    seen, done = observational.sum(axis=others), under.sum(axis=others)
    if erk < mek:
        seen, done = seen.T, done.T
    given, alone = seen / seen.sum(axis=1, keepdims=True), seen.sum(axis=0)
    expected = float((done * (np.log(given) - np.log(alone))).sum())
    assert expected < -0.02
    pair = check_conditions(model, budget=11 * 1024).pair("Mek", "Erk")
    assert pair.own.smallest.parents == ()
    assert pair.own.minimum == pytest.approx(expected, abs=1e-12)
    assert pair.condition_1 == "fails"
