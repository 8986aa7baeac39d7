"""The page without a browser: well-formed, closed to the network, safe with any name, and true to the result."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from enco.errors import DataError, EncoError, GraphError
from enco.report import render_report, write_report
from enco.result.example import small_data, small_result

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"'&amp;`${1}",
    "]]>\u2028--><!--",
    "=1+1,\n",
)
VOID = {"meta", "link", "input", "br"}
OPTIONAL = {"path", "circle", "polyline"}  # of inline SVG, closed at once


class Page(HTMLParser):
    """Reads a page, and checks that every element is closed in its turn."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.attributes, self.texts = [], [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("id")))

    def handle_startendtag(self, tag, attrs):
        assert tag in OPTIONAL | VOID
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open:
            key = self.open[-1][1] or self.open[-1][0]
            self.texts[key] = self.texts.get(key, "") + data

    @property
    def content(self):
        return json.loads(self.texts["content"])

    @property
    def words(self):
        return " ".join(" ".join(self.texts.values()).split())


def names_of(count):
    return [f"X{position}" for position in range(1, count + 1)]


def test_a_well_formed_page_with_every_section(make_result):
    result = make_result(names_of(25))
    page = Page(render_report(result, truth=result.adjacency))
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {"summary", "graph", "edges", "matrix", "learning", "data", "settings"} <= set(ids)
    # What labels, describes or lists something else must find it.
    for _, name, value in page.attributes:
        if name in ("for", "list", "aria-labelledby", "aria-describedby"):
            assert value in ids
        if name == "href" and value.startswith("#"):
            assert value[1:] in ids
    assert "confounders" not in ids
    assert page.tags.count("h1") == 1


def test_every_control_has_a_label(make_result):
    text = render_report(make_result(names_of(5)))
    inside = re.findall(r"<label[^>]*>(.*?)</label>", text, re.DOTALL)
    controls = re.findall(r'<(?:input|select)[^>]* id="([\w-]+)"', text)
    assert len(controls) >= 5
    for control in controls:
        assert any(f'id="{control}"' in label and re.sub(r"<[^>]+>", "", label).strip() for label in inside)


def test_nothing_comes_from_the_network(make_result):
    text = render_report(make_result(names_of(5)))
    page = Page(text)
    for tag, name, value in page.attributes:
        if name in ("src", "srcset", "action", "data", "poster"):
            pytest.fail(f"{tag} loads {value}")
        if name == "href":
            assert value.startswith("#") or value == "data:,"
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(", text)
    # The only addresses are names of XML dialects, which nobody opens.
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {
        "http://www.w3.org/2000/svg",
        "http://graphml.graphdrawing.org/xmlns",
    }


def test_the_policy_allows_the_script_of_the_page_only(make_result):
    text = render_report(make_result(names_of(5)))
    policy = next(value for tag, name, value in Page(text).attributes if name == "content" and "default-src" in value)
    script = text.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_hostile_names_are_text(make_result):
    plain = Page(render_report(make_result(names_of(len(HOSTILE)))))
    result = make_result(HOSTILE, knowledge={"required": [[HOSTILE[0], HOSTILE[1]]]})
    text = render_report(result, truth=result.adjacency, title=HOSTILE[0])
    page = Page(text)
    assert page.tags.count("script") == plain.tags.count("script") == 2
    assert "img" not in page.tags
    assert not any(name.startswith("on") for _, name, _ in page.attributes)
    assert page.content["names"] == list(HOSTILE)
    assert page.texts["title"] == HOSTILE[0]
    assert "alert(1)</script>" not in text


def test_a_name_that_no_encoding_knows(make_result, tmp_path):
    write_report(tmp_path / "page.html", make_result(["\ud800", "b", "c"]))
    Page((tmp_path / "page.html").read_text(encoding="utf-8"))


def test_the_content_is_that_of_the_result(make_result):
    result = make_result(names_of(30))
    content = Page(render_report(result)).content
    edges = content["edges"]
    adjacency = np.zeros_like(result.adjacency)
    adjacency[edges["cause"], edges["effect"]] = 1
    assert (adjacency == result.adjacency).all()
    np.testing.assert_array_equal(edges["probability"], result.edge_probability[edges["cause"], edges["effect"]])
    assert [content["names"][variable] for variable in content["order"]] == list(result.order)
    # Causes above effects.
    y = np.array(content["y"])
    assert (y[edges["cause"]] < y[edges["effect"]]).all()
    existence = np.frombuffer(base64.b64decode(content["matrices"]["existence"]), np.uint8).reshape(30, 30) / 254
    np.testing.assert_allclose(existence, result.existence, atol=0.002)
    assert set(edges["status"]) == {"found"}
    assert content["compared"] is False


def test_comparison_with_the_truth(make_result):
    result = make_result(names_of(12))
    truth = result.adjacency.copy()
    cause, effect = np.argwhere(truth)[0]
    truth[cause, effect] = 0
    absent = np.argwhere((truth == 0) & (truth.T == 0) & ~np.eye(12, dtype=bool) & (result.adjacency == 0))[0]
    truth[tuple(absent)] = 1
    page = Page(render_report(result, truth=truth))
    edges = page.content["edges"]
    status = dict(zip(zip(edges["cause"], edges["effect"], strict=True), edges["status"], strict=True))
    assert [pair for pair, word in status.items() if word == "false"] == [(cause, effect)]
    assert [pair for pair, word in status.items() if word == "missed"] == [tuple(absent)]
    right = result.n_edges - 1
    assert f"{right} right, 1 false, 1 missed" in page.words


def test_confounders_and_their_scores(make_result, monkeypatch):
    result = make_result(names_of(4))
    scores = np.full((4, 4), np.nan)
    scores[0, 1] = scores[1, 0] = 0.75
    # As a fit with latent=True gives them.
    object.__setattr__(result, "confounder_scores", scores)
    monkeypatch.setattr(type(result), "confounders", property(lambda self: [("X1", "X2", 0.75)]), raising=False)
    page = Page(render_report(result))
    assert page.content["confounders"] == [[0, 1, 0.75]]
    levels = np.frombuffer(base64.b64decode(page.content["matrices"]["confounders"]), np.uint8).reshape(4, 4)
    assert levels[0, 1] == round(0.75 * 254)
    assert levels[2, 3] == 255
    assert "0.750" in page.words
    assert "1 pair of variables seems" in page.words


def test_where_an_edge_comes_from(make_result):
    """The graph before the search lacks one edge and has another the other way round."""
    result = make_result(names_of(6))
    added, turned = (tuple(pair) for pair in np.argwhere(result.adjacency)[:2])
    before = result.adjacency.copy()
    before[added] = before[turned] = 0
    before[turned[::-1]] = 1
    absent = tuple(np.argwhere((before == 0) & (before.T == 0) & ~np.eye(6, dtype=bool) & (result.adjacency == 0))[0])
    truth = result.adjacency.copy()
    truth[absent] = 1
    edges = Page(render_report(replace(result, adjacency_raw=before), truth=truth)).content["edges"]
    source = dict(zip(zip(edges["cause"], edges["effect"], strict=True), edges["source"], strict=True))
    assert source.pop(added) == "added"
    assert source.pop(turned) == "reversed"
    assert source.pop(absent) == ""  # it is missed, so that nothing has found it
    assert set(source.values()) == {"learned"}


def strict(text):
    """Read JSON as a browser does: NaN and Infinity are mistakes."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("after", ["a search", "Algorithm 1"])
def test_missing_numbers_are_null(make_result, searched, after):
    result = make_result(names_of(12))
    result = searched(result) if after == "a search" else result
    truth = result.adjacency.copy()
    truth[tuple(np.argwhere((truth == 0) & (truth.T == 0) & ~np.eye(12, dtype=bool))[0])] = 1
    content = strict(Page(render_report(result, truth=truth)).texts["content"])
    table = result.to_frame()
    assert table["slope"].isna().any()
    for name in ("frequency", "gain", "gain_error", "slope"):
        expected = [None if np.isnan(value) else value for value in table[name]]
        assert content["edges"][name][: len(table)] == expected
    assert content["edges"]["gain"][len(table)] is None  # missed
    assert [name for name, _ in content["columns"]] == list(table.columns[2:])
    assert dict(content["columns"])["adjacent_intervention"] == "boolean"
    assert dict(content["columns"])["source"] == "string"
    assert dict(content["columns"])["rows"] == "long"
    assert dict(content["columns"])["gain"] == "double"


def test_only_refits_offer_frequencies(make_result, searched):
    without, with_refits = make_result(names_of(8)), searched(make_result(names_of(8)))
    page = Page(render_report(without))
    assert ("select", "id", "by") not in page.attributes
    assert ("option", "value", "frequency") not in page.attributes
    assert page.content["refits"] is False
    assert "frequency" not in page.content["matrices"]
    page = Page(render_report(with_refits))
    assert ("select", "id", "by") in page.attributes
    assert page.attributes.count(("option", "value", "frequency")) == 2  # of the edges and of the matrix
    assert page.content["refits"] is True
    levels = np.frombuffer(base64.b64decode(page.content["matrices"]["frequency"]), np.uint8).reshape(8, 8)
    np.testing.assert_allclose(levels / 254, with_refits.frequency, atol=0.002)


def test_what_a_probability_means_is_said_where_it_is_shown(make_result, searched):
    calibrated = "about nine in ten are right on simulated data of the kinds"
    learned = "it is not a frequency over repeated experiments"
    for result, said, unsaid in (
        (make_result(names_of(5)), learned, calibrated),
        (searched(make_result(names_of(5))), calibrated, learned),
    ):
        text = " ".join(render_report(result).split())
        for section in ("summary", "graph", "edges"):
            assert said in text.split(f'id="{section}"')[1].split("</section>")[0]
        assert unsaid not in text


def test_a_negative_control(make_result):
    counts = {
        "permutations": 1,
        "probability": [0.5, 0.9, 0.95],
        "edges": [14, 12, 0],
        "by_chance": [7.25, 1.2, 0.0],
        "beyond_chance": [6.75, 10.8, 0.0],
        "fdr": [0.518, 0.1, np.nan],
    }
    text = render_report(make_result(names_of(5), null_control=pd.DataFrame(counts)))
    page = Page(text)
    assert ("a", "href", "#control") in page.attributes
    rows = re.findall(r"<tr><td>(.*?)</td></tr>", text.split('id="control"')[1].split("</section>")[0])
    cells = [re.split(r"</td><td[^>]*>", row) for row in rows]
    assert cells == [
        ["0.5 and more", "14", "7.2", "6.8", "0.52"],
        ["0.9 and more", "12", "1.2", "10.8", "0.10"],
        ["0.95 and more", "0", "0.0", "0.0", "-"],
    ]
    assert (
        "With permuted labels, 1.2 edges on average reach a probability of 0.9; with the real ones, 12." in page.words
    )
    assert "labels of the rows were permuted 1 time and" in page.words
    assert 'id="control"' not in render_report(make_result(names_of(5)))


def test_data_checks(make_result):
    assert "made without the data" in Page(render_report(small_result())).words
    words = Page(render_report(small_result(), data=small_data())).words
    assert "without intervention (2 of 3): B, C" in words
    assert "verdict: " in words
    assert "16 rows: 8 without intervention" in words


def test_a_result_without_edges_or_history(make_result):
    result = make_result(names_of(3), edges_per_variable=0.0)
    page = Page(render_report(result, truth=np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])))
    assert "no edges were found" in page.words
    assert page.content["edges"]["status"] == ["missed"]
    bare = make_result(names_of(3), history=result.history.iloc[:0])
    assert "no record of its epochs" in Page(render_report(bare)).words


def test_many_variables_make_a_page_of_moderate_size(make_result):
    text = render_report(make_result(names_of(500), edges_per_variable=4.0))
    assert len(text) < 1_500_000
    assert len(Page(text).content["names"]) == 500


def test_mistakes(make_result, tmp_path):
    result = make_result(names_of(3))
    with pytest.raises(GraphError, match="the true graph has 2 variables and the result 3"):
        render_report(result, truth=np.zeros((2, 2)))
    with pytest.raises(DataError, match="different variables"):
        render_report(result, data=small_data())
    write_report(tmp_path / "page.html", result)
    with pytest.raises(EncoError, match="exists already"):
        write_report(tmp_path / "page.html", result)
    write_report(tmp_path / "page.html", result, overwrite=True, title="again")
    assert "<h1>again</h1>" in (tmp_path / "page.html").read_text()
