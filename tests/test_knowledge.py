"""Background knowledge: what it forbids, what it fixes, and every contradiction it refuses."""

import numpy as np
import pytest
from scipy.special import expit

from enco.candidates import Candidates
from enco.errors import FileFormatError, SettingsError
from enco.knowledge import Knowledge
from enco.parameters import EdgeParameters

NAMES = ("a", "b", "c", "d")


def allowed_edges(known):
    allowed = known.constraints(NAMES).allowed
    return {(NAMES[cause], NAMES[effect]) for cause, effect in np.argwhere(allowed)}


ALL = {(cause, effect) for cause in NAMES for effect in NAMES if cause != effect}


@pytest.mark.parametrize(
    ("known", "impossible"),
    [
        ({}, set()),
        ({"forbidden": [("a", "b"), ["b", "c"]]}, {("a", "b"), ("b", "c")}),
        ({"required": [("a", "b")]}, {("b", "a")}),
        ({"required": [("a", "b"), ("b", "c")]}, {("b", "a"), ("c", "b"), ("c", "a")}),  # c -> a would close a cycle
        ({"roots": ["a"]}, {("b", "a"), ("c", "a"), ("d", "a")}),
        ({"leaves": ["a"]}, {("a", "b"), ("a", "c"), ("a", "d")}),
        ({"roots": ["a"], "leaves": ["a"]}, {edge for edge in ALL if "a" in edge}),
        ({"tiers": [["d"], ["a", "b"]]}, {("a", "d"), ("b", "d")}),
        ({"tiers": [["d"], ["a"], ["b"]]}, {("a", "d"), ("b", "d"), ("b", "a")}),
    ],
)
def test_impossible_edges(known, impossible):
    assert ALL - allowed_edges(Knowledge(**known)) == impossible


def apply(known):
    constraints = known.constraints(NAMES)
    parameters = EdgeParameters(Candidates.from_mask(constraints.allowed))
    fixed, oriented = constraints.apply(parameters)
    pairs = parameters.candidates
    named = list(zip(np.array(NAMES)[pairs.cause].tolist(), np.array(NAMES)[pairs.effect].tolist(), strict=True))
    return parameters, named, fixed, oriented


def test_required_edges_are_certain_and_fixed():
    parameters, named, fixed, oriented = apply(Knowledge(required=[("b", "a")]))
    at = named.index(("b", "a"))
    assert ("a", "b") not in named
    assert np.flatnonzero(fixed).tolist() == np.flatnonzero(oriented).tolist() == [at]
    assert parameters.edge_probability()[at] == 1.0
    others = np.arange(len(named)) != at
    assert not parameters.gamma[others].any()
    assert not parameters.theta[others].any()


def test_one_possible_direction_fixes_the_orientation_only():
    parameters, named, fixed, oriented = apply(Knowledge(tiers=[["a"], ["b"]], forbidden=[("c", "d"), ("d", "c")]))
    at = named.index(("a", "b"))
    assert not fixed.any()
    assert np.flatnonzero(oriented).tolist() == [at]
    assert parameters.gamma[at] == 0
    assert expit(parameters.theta[at]) == pytest.approx(1)


def test_without_knowledge_nothing_is_fixed():
    parameters, named, fixed, oriented = apply(Knowledge())
    assert set(named) == ALL
    assert not fixed.any()
    assert not oriented.any()
    assert not parameters.theta.any()


def test_a_pair_that_is_no_candidate_for_other_reasons_keeps_its_orientation_open():
    constraints = Knowledge().constraints(NAMES)
    parameters = EdgeParameters(Candidates.from_mask(np.triu(np.ones((4, 4), bool))))
    _, oriented = constraints.apply(parameters)
    assert not oriented.any()


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (
            {"required": [("a", "b")], "forbidden": [("a", "b")]},
            "the edge 'a' -> 'b' is required, but the same edge is forbidden: remove one of the two",
        ),
        (
            {"required": [("a", "b")], "roots": ["b"]},
            "the edge 'a' -> 'b' is required, but 'b' is a root: remove one of the two",
        ),
        (
            {"required": [("a", "b")], "leaves": ["a"]},
            "the edge 'a' -> 'b' is required, but 'a' is a leaf: remove one of the two",
        ),
        (
            {"required": [("a", "b")], "tiers": [["b"], ["a"]]},
            "the edge 'a' -> 'b' is required, but 'a' is in tier 2 and 'b' in the earlier tier 1: "
            "remove one of the two",
        ),
        (
            {"required": [("a", "b"), ("b", "c")], "tiers": [["c"], ["d"], ["a"]]},
            "the path 'a' -> 'b' -> 'c' is required, but 'a' is in tier 3 and 'c' in the earlier tier 1: "
            "remove one of the two",
        ),
        (
            {"required": [("a", "b"), ("b", "a")]},
            "the required edges form a cycle, 'a' -> 'b' -> 'a': remove one of them",
        ),
        (
            {"required": [("d", "a"), ("a", "b"), ("b", "c"), ("c", "a")]},
            "the required edges form a cycle, 'a' -> 'b' -> 'c' -> 'a': remove one of them",
        ),
        ({"tiers": [["a"], ["b", "a"]]}, "'a' is in tier 1 and in tier 2: keep one of them"),
        ({"required": [("a", "a")]}, "required holds the edge 'a' -> 'a' of a variable to itself: remove it"),
        ({"forbidden": [("a", "a")]}, "forbidden holds the edge 'a' -> 'a' of a variable to itself: remove it"),
        ({"required": "a,b"}, "required must be a list, not 'a,b'"),
        ({"required": ["ab"]}, "required must hold pairs of names [cause, effect], not 'ab'"),
        ({"required": [("a", "b", "c")]}, "required must hold pairs of names [cause, effect], not ('a', 'b', 'c')"),
        ({"forbidden": [("a", 1)]}, "forbidden must hold pairs of names [cause, effect], not ('a', 1)"),
        ({"tiers": ["ab"]}, "tiers must be a list, not 'ab'"),
        ({"tiers": 3}, "tiers must be a list, not 3"),
        ({"tiers": [[1]]}, "tiers must hold names of variables, not 1"),
        ({"roots": "a"}, "roots must be a list, not 'a'"),
        ({"leaves": [None]}, "leaves must hold names of variables, not None"),
    ],
)
def test_contradictions_and_malformed_entries(known, message):
    with pytest.raises(SettingsError) as caught:
        Knowledge(**known)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "known",
    [
        {"required": [("smoke", "cancer")]},
        {"forbidden": [("cancer", "smoke")]},
        {"tiers": [["smoke"]]},
        {"roots": ["smoke"]},
        {"leaves": ["smoke"]},
    ],
)
def test_unknown_names_come_with_near_matches(known):
    with pytest.raises(SettingsError, match=r"mentions 'smoke', .* \(did you mean 'smoker'\?\); correct the name"):
        Knowledge(**known).constraints(["smoker", "cancer"])


def test_unknown_name_without_a_near_match():
    with pytest.raises(SettingsError, match=r"mentions 'xyz', which is no variable of the data; correct"):
        Knowledge(roots=["xyz"]).constraints(NAMES)


def test_repetition_is_no_contradiction():
    known = Knowledge(required=[("a", "b"), ("a", "b")], roots=["a", "a"], tiers=[["a", "a"], ["b"]])
    assert known.required == (("a", "b"),)
    assert known.roots == ("a",)
    assert known.tiers == (("a",), ("b",))


def test_names_not_positions_are_the_identity():
    known = Knowledge(required=[("a", "b")], roots=["c"], tiers=[["d"], ["b"]])
    backwards = known.constraints(NAMES[::-1])
    forwards = known.constraints(NAMES)
    assert np.array_equal(backwards.allowed[::-1, ::-1], forwards.allowed)
    assert np.array_equal(backwards.required[::-1, ::-1], forwards.required)


def test_toml_round_trip(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(
        'required = [["a", "b"]]\nforbidden = [["c", "d"]]\n'
        'tiers = [["a"], ["b", "c"]]\nroots = ["a"]\nleaves = ["d"]\n'
    )
    assert Knowledge.from_toml(path) == Knowledge(
        required=[("a", "b")], forbidden=[("c", "d")], tiers=[["a"], ["b", "c"]], roots=["a"], leaves=["d"]
    )


def test_empty_toml(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text("")
    assert Knowledge.from_toml(path) == Knowledge()


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"required = [", FileFormatError, "this is not a TOML file"),
        (b"required = [['\xff', 'b']]", FileFormatError, "this is not a TOML file"),
        (b"a = " + b"[" * 5000, FileFormatError, "this is not a TOML file"),
        (b"require = []", FileFormatError, "unknown key 'require' (did you mean 'required'?); use required, forbidden"),
        (b"roots = 'a'", SettingsError, "roots must be a list, not 'a'"),
        (b"[required]\na = 'b'", SettingsError, "required must be a list"),
        (b"required = [['a', 'a']]", SettingsError, "of a variable to itself"),
        (b"required = [['a', 'b'], ['b', 'a']]", SettingsError, "form a cycle"),
    ],
)
def test_bad_files(tmp_path, content, error, message):
    path = tmp_path / "known.toml"
    path.write_bytes(content)
    with pytest.raises(error) as caught:
        Knowledge.from_toml(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(FileFormatError, match="there is no such file"):
        Knowledge.from_toml(tmp_path / "known.toml")
