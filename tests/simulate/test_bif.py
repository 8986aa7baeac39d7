import gzip
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from enco import simulate
from enco.errors import FileFormatError, MissingPackageError, SettingsError
from enco.simulate import BIF_NETWORKS, bif, from_bif, parse_bif

TINY = """
network tiny { property author nobody; }
variable rain { type discrete [ 2 ] { no, yes }; property position = (1, 2) ; }
variable "wet grass" { type discrete [ 3 ] { dry, "a, bit", soaked }; }
probability ( rain ) { table 0.8, 0.2; }  // a comment
probability ( "wet grass" | rain ) {
  (no) 0.9, 0.1, 0.0; /* another
  comment */
  (yes) 0.0, 0.25, 0.75;
}
"""

# variables and edges as listed by the repository the networks come from
SIZES = {
    "cancer": (5, 4), "earthquake": (5, 4), "asia": (8, 8), "sachs": (11, 17), "child": (20, 25),
    "alarm": (37, 46), "diabetes": (413, 602), "pigs": (441, 592), "survey": (6, 6), "insurance": (27, 52),
    "hailfinder": (56, 66), "win95pts": (76, 112), "andes": (223, 338), "link": (724, 1125),
    "mildew": (35, 46), "barley": (48, 84), "water": (32, 66), "hepar2": (70, 123),
}  # fmt: skip


def test_the_list_is_what_pgmpy_carries():
    spec = importlib.util.find_spec("pgmpy")
    folder = Path(spec.submodule_search_locations[0]) / "utils" / "example_models"
    assert sorted(path.name.removesuffix(".bif.gz") for path in folder.glob("*.bif.gz")) == sorted(BIF_NETWORKS)


@pytest.mark.parametrize("name", list(SIZES))
def test_known_networks_have_their_published_size(name):
    model = from_bif(name)
    assert (len(model.variables), int(model.adjacency.sum())) == SIZES[name]


def test_reading_does_not_import_pgmpy():
    before = "pgmpy" in sys.modules
    from_bif("cancer")
    assert ("pgmpy" in sys.modules) == before


def test_cancer_by_hand():
    model = from_bif("cancer")
    assert model.observed_names == ("Pollution", "Smoker", "Cancer", "Xray", "Dyspnoea")
    assert model.variables[0].levels == ("low", "high")
    assert model.variables[3].levels == ("positive", "negative")
    joint = model.joint_probabilities()
    # p(high pollution) p(no smoker) p(cancer | high, no smoker) p(positive | cancer) p(no dyspnoea | cancer)
    assert joint[1, 1, 0, 0, 1] == pytest.approx(0.1 * 0.7 * 0.02 * 0.9 * 0.35)
    cancer = joint.sum(axis=(0, 1, 3, 4))
    assert cancer[0] == pytest.approx(0.9 * (0.3 * 0.03 + 0.7 * 0.001) + 0.1 * (0.3 * 0.05 + 0.7 * 0.02))
    drawn = model.sample(200_000, rng=np.random.default_rng(0)).codes
    assert (drawn[:, 2] == 0).mean() == pytest.approx(cancer[0], abs=0.001)
    forced = model.sample(50_000, do={"Cancer": "True"}, rng=np.random.default_rng(1)).codes
    assert (forced[:, 3] == 0).mean() == pytest.approx(0.9, abs=0.01)


def test_logical_or_in_asia_is_deterministic():
    model = from_bif("asia")
    codes = model.sample(20_000, rng=np.random.default_rng(0)).codes == 0
    column = dict(zip(model.observed_names, codes.T, strict=True))
    np.testing.assert_array_equal(column["either"], column["lung"] | column["tub"])


def test_large_tables_are_distributions():
    for name in ("diabetes", "pigs"):
        for mechanism in from_bif(name).mechanisms:
            np.testing.assert_allclose(mechanism.table.sum(axis=1), 1.0, atol=1e-9)


def test_shuffle_changes_columns_not_the_model():
    plain, mixed = from_bif("asia"), from_bif("asia", shuffle=np.random.default_rng(0))
    assert plain.observed_names != mixed.observed_names
    order = [mixed.observed_names.index(name) for name in plain.observed_names]
    np.testing.assert_array_equal(mixed.adjacency[np.ix_(order, order)], plain.adjacency)
    np.testing.assert_allclose(mixed.joint_probabilities().transpose(order), plain.joint_probabilities())


def test_quotes_comments_and_properties():
    model = parse_bif(TINY)
    assert model.observed_names == ("rain", "wet grass")
    assert model.variables[1].levels == ("dry", "a, bit", "soaked")
    np.testing.assert_allclose(model.joint_probabilities(), [[0.72, 0.08, 0.0], [0.0, 0.05, 0.15]])


def test_table_and_default_entries():
    head = (
        "network x {} "
        "variable a { type discrete [ 2 ] { n, y }; } variable b { type discrete [ 3 ] { p, q, r }; } "
        "probability ( a ) { table 0.5, 0.5; } probability ( b | a ) {"
    )
    whole = parse_bif(head + "table 0.1, 0.2, 0.3, 0.3, 0.6, 0.5; }")  # the child changes slowest
    np.testing.assert_allclose(whole.mechanisms[1].table, [[0.1, 0.3, 0.6], [0.2, 0.3, 0.5]])
    rest = parse_bif(head + "default 0.2, 0.2, 0.6; (y) 0 1.0 0; }")
    np.testing.assert_allclose(rest.mechanisms[1].table, [[0.2, 0.2, 0.6], [0.0, 1.0, 0.0]])


def test_files_plain_and_compressed(tmp_path):
    plain, packed = tmp_path / "tiny.bif", tmp_path / "tiny.bif.gz"
    plain.write_text(TINY)
    packed.write_bytes(gzip.compress(TINY.encode()))
    for path in (plain, packed, str(plain)):
        assert from_bif(path).observed_names == ("rain", "wet grass")


def test_rounded_rows_are_normalised():
    model = parse_bif(TINY.replace("0.9, 0.1, 0.0", "0.899, 0.1, 0.0"))
    assert model.joint_probabilities().sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("(yes) 0.0, 0.25, 0.75;", ""), r"'wet grass' \(from line 6\): 1 of 2 rows are missing"),
        (("(yes)", "(no)"), r"the row \(no\) appears twice"),
        (("(yes)", "(maybe)"), "'maybe' is not a state of 'rain'"),
        (("(yes)", "(yes, no)"), "names 2 states for 1 parents"),
        (("0.0, 0.25, 0.75", "0.0, 0.25"), "a row has 2 numbers for 3 states"),
        (("0.0, 0.25, 0.75", "0.0, 0.25, x"), "could not convert"),
        (("0.0, 0.25, 0.75", "0.0, 0.25, nan"), "finite"),
        (("0.0, 0.25, 0.75", "-0.5, 0.75, 0.75"), "not a probability distribution"),
        (("0.0, 0.25, 0.75", "0.0, 0.25, 0.25"), "it sums to 0.5"),
        (("table 0.8, 0.2", "table 0.8, 0.1, 0.1"), "2 numbers are needed, but there are 3"),
        (("table 0.8, 0.2;", "tables 0.8, 0.2;"), "cannot read 'tables 0.8"),
        (("table 0.8, 0.2;", "table 0.8, 0.2"), "cannot read 'table 0.8"),
        (("| rain )", "| snow )"), "line 6: variable 'snow' is not declared"),
        (("probability ( rain ) { table 0.8, 0.2; }", ""), "'rain' has no probabilities"),
        (
            ("discrete [ 2 ]", "discrete [ 3 ]"),
            "line 3: variable 'rain' should have 3 distinct states, but lists 2",
        ),
        (("no, yes };", "no, no };"), "should have 2 distinct states, but lists 1"),
        (("no, yes };", "no, , yes };"), "empty entry"),
        (("type discrete [ 2 ]", "type continuous"), "not of the type"),
        (("network tiny {", "netw tiny {"), "line 2: cannot read 'netw tiny"),
        (('variable "wet grass"', "variable rain"), "line 4: variable 'rain' is declared twice"),
        (
            (
                "probability ( rain ) { table 0.8, 0.2; }",
                "probability ( rain | rain ) { (no) 1, 0; (yes) 0, 1; }",
            ),
            "itself",
        ),
        (("soaked };", "soaked"), "line 4: cannot read"),
    ],
)
def test_malformed_text_says_where(change, message):
    assert change[0] in TINY
    with pytest.raises(FileFormatError, match=message) as caught:
        parse_bif(TINY.replace(*change, 1), label="file 'x.bif'")
    assert "file 'x.bif'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_cycle_in_a_file():
    text = "network x {}" + "".join(
        f"variable {v} {{ type discrete [ 2 ] {{ n, y }}; }} probability ( {v} | {p} ) {{ default 0.5, 0.5; }}"
        for v, p in (("a", "b"), ("b", "a"))
    )
    with pytest.raises(FileFormatError, match="cycle"):
        parse_bif(text)


def test_an_absurd_default_does_not_eat_memory():
    names = [f"v{k}" for k in range(40)]
    text = "network x {}" + "".join(f"variable {v} {{ type discrete [ 2 ] {{ n, y }}; }}" for v in names)
    text += "".join(f"probability ( {v} ) {{ table 0.5, 0.5; }}" for v in names[1:])
    text += f"probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5, 0.5; }}"
    with pytest.raises(FileFormatError, match="too large"):
        parse_bif(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no variables"),
        (b"\x00\xff\xfe binary", "not text"),
        (gzip.compress(TINY.encode())[:-20], "damaged"),
        (b"\x1f\x8b garbage", "damaged"),
        (b"a,b\n1,2\n", "line 1: cannot read 'a,b'"),
    ],
)
def test_foreign_files_are_named(content, message, tmp_path):
    path = tmp_path / "broken.bif"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        from_bif(path)
    assert "broken.bif" in str(caught.value)


def test_missing_files_and_unknown_names(tmp_path):
    with pytest.raises(SettingsError, match=r"unknown network 'asai'; .*asia"):
        from_bif("asai")
    with pytest.raises(FileFormatError, match=r"none\.bif.*cannot be read: No such file"):
        from_bif(tmp_path / "none.bif")
    with pytest.raises(FileFormatError, match="cannot be read"):
        from_bif(tmp_path)


def test_missing_package(monkeypatch):
    monkeypatch.setattr(bif, "find_spec", lambda name: None)
    with pytest.raises(
        MissingPackageError, match=r"network 'asia' needs the package 'pgmpy': pip install 'enco\[bif\]'"
    ):
        simulate.from_bif("asia")
    assert parse_bif(TINY).observed_names == ("rain", "wet grass")  # one's own files need nothing


def test_package_without_the_file(monkeypatch):
    monkeypatch.setattr(bif, "find_spec", lambda name: importlib.util.find_spec("numpy"))
    with pytest.raises(FileFormatError, match="does not carry the network 'asia'"):
        from_bif("asia")
