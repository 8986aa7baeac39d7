"""The page without a browser: well-formed, closed to the network, safe with any name, and true to the result."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
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


def test_what_the_search_added_is_marked(make_result):
    result = make_result(names_of(6))
    (cause, effect), (other_cause, other_effect) = (tuple(pair) for pair in np.argwhere(result.adjacency)[:2])
    names = result.variables
    result.order_report["refined"] += [
        {"move": "add", "added": [[names[cause], names[effect]]], "removed": [], "gain": 4.0},
        {
            "move": "reverse",
            "added": [[names[other_cause], names[other_effect]]],
            "removed": [[names[other_effect], names[other_cause]]],
            "gain": 4.0,
        },
    ]
    edges = Page(render_report(result)).content["edges"]
    change = dict(zip(zip(edges["cause"], edges["effect"], strict=True), edges["change"], strict=True))
    assert change.pop((cause, effect)) == "added"
    assert change.pop((other_cause, other_effect)) == "reversed"
    assert set(change.values()) == {""}


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
