"""The page in a real browser, headless chromium: `make browser` runs this and says what it needs."""

import shutil
import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from enco.io._cells import from_plain_text
from enco.report import write_report

pytestmark = pytest.mark.browser

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"'&amp;`${1}",
    "]]>--><!--",
    "=1+1,\n",
]


def find_program(*names):
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.fail(f"there is no {names[0]} on this machine; on Debian: apt-get install chromium chromium-driver")
    return found


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = find_program("chromium", "chromium-browser", "google-chrome")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    folder = tmp_path_factory.mktemp("downloads")
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    browser = webdriver.Chrome(options=options, service=Service(find_program("chromedriver")))
    browser.downloads = folder
    yield browser
    browser.quit()


class Page:
    """What a visitor does and sees."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get(path.as_uri())

    def element(self, css):
        return self.driver.find_element("css selector", css)

    def count(self, css):
        return self.run(f"return document.querySelectorAll({css!r}).length")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def type(self, css, *keys):
        element = self.element(css)
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        element.send_keys(*keys)

    def click(self, css):
        element = self.element(css)
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        element.click()

    def slide(self, value):
        self.run(
            "const slider = document.getElementById('threshold'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input'))",
            value,
        )

    def select(self, control, value):
        self.run(
            "const select = document.getElementById(arguments[0]); select.value = arguments[1];"
            "select.dispatchEvent(new Event('change'))",
            control,
            value,
        )

    def text(self, css):
        return self.element(css).text

    def variables(self, css):
        """Positions of the variables whose boxes match a selector."""
        found = self.run(f"return [...document.querySelectorAll({css!r})].map((node) => node.dataset.variable)")
        return {int(variable) for variable in found}

    def listed(self, column):
        script = (
            "return [...document.querySelectorAll('#table tbody tr')].map((row) => row.cells[arguments[0]].textContent)"
        )
        return self.run(script, column)

    def transform(self, css):
        return self.element(css).get_attribute("transform")


@pytest.fixture
def open_page(driver, tmp_path):
    def open_page(result, **options):
        write_report(tmp_path / "page.html", result, overwrite=True, **options)
        return Page(driver, tmp_path / "page.html")

    yield open_page
    assert driver.get_log("browser") == []  # whatever a test did, nothing complained


def names_of(count):
    return [f"X{position}" for position in range(1, count + 1)]


@pytest.fixture(params=[25, 500])
def result(request, make_result):
    return make_result(names_of(request.param), edges_per_variable=3.0)


def test_loads_at_once_and_asks_for_nothing(open_page, result):
    page = open_page(result, truth=result.adjacency)
    n = len(result.variables)
    assert page.count("#view .node") == n
    assert page.count("#view .edge:not(.off)") == result.n_edges
    assert page.count("#table tbody tr") == min(200, result.n_edges)
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert page.run("return performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart") < 10_000
    assert page.run("return document.getElementById('cells').width") >= n
    # Everything is inside the frame.
    frame = page.element("#view").rect
    corner = page.run(
        "return [...document.querySelectorAll('.node')].map((node) => node.getBoundingClientRect())"
        ".map(({left, right}) => [left, right])"
    )
    assert np.min(corner) >= frame["x"] - 1
    assert np.max(corner) <= frame["x"] + frame["width"] + 1


def test_the_slider_hides_improbable_edges(open_page, result):
    page = open_page(result)
    probability = result.edge_probability[result.adjacency.astype(bool)]
    for threshold in (0.3, 0.6, 0.8):
        page.slide(threshold)
        left = int((probability >= threshold).sum())
        assert 0 < left < result.n_edges
        assert page.count("#view .edge:not(.off)") == left
        assert page.text("#status") == f"{left:,} of {result.n_edges:,} edges shown."
        assert page.text("#count").startswith(f"{left:,} edge")
        assert page.text("#threshold-value") == f"{threshold:.2f}"
    page.click("#reset")
    assert page.count("#view .edge:not(.off)") == result.n_edges


def test_slider_and_lines_follow_the_chosen_number(open_page, result, searched):
    result = searched(result)
    page = open_page(result)
    table = result.to_frame()
    lines = (
        "return [...document.querySelectorAll('#view .edge')].map((edge) => [Number(edge.getAttribute('stroke-width')),"
        "Number(edge.getAttribute('opacity')), Number(edge.dataset.step), getComputedStyle(edge).stroke])"
    )
    for name, words in (("frequency", "frequency over refits"), ("probability", "probability")):
        page.select("by", name)
        assert page.text("#status").startswith(f"Edges follow the {words}. ")
        assert page.text(".legend .by") == words
        assert page.text("label .by") == words
        value = table[name].to_numpy()  # edges are drawn in the order of the table
        width, opacity, step, colour = zip(*page.run(lines), strict=True)
        assert list(step) == [int((np.array([0.5, 0.7, 0.9, 0.95]) <= each).sum()) for each in value]
        by_value = np.argsort(value, kind="stable")
        assert (np.diff(np.array(width)[by_value]) >= 0).all()
        assert (np.diff(np.array(opacity)[by_value]) >= 0).all()
        assert width[by_value[-1]] > width[by_value[0]]
        assert len(set(zip(step, colour, strict=True))) == len(set(step)) == len(set(colour)) > 1
        for threshold in (0.65, 0.85):
            page.slide(threshold)
            left = int((value >= threshold).sum())
            assert 0 < left < result.n_edges
            assert page.count("#view .edge:not(.off)") == left
            assert page.text("#count").startswith(f"{left:,} edge")
        # The slider stays where it is, and means the other number now.
    page.select("by", "frequency")
    assert page.count("#view .edge:not(.off)") == (table["frequency"] >= 0.85).sum()


def test_a_thousand_variables_with_refits(open_page, make_result, searched):
    result = searched(make_result(names_of(1000), edges_per_variable=3.0))
    page = open_page(result)
    assert page.run("return performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart") < 15_000
    began = time.monotonic()
    page.select("by", "frequency")
    page.slide(0.85)
    left = int((result.to_frame()["frequency"] >= 0.85).sum())
    assert page.text("#status") == f"{left:,} of {result.n_edges:,} edges shown."
    assert page.count("#view .edge:not(.off)") == left > 0
    assert time.monotonic() - began < 10


def test_the_numbers_of_a_chosen_variable_are_those_of_the_lines(open_page, make_result, searched):
    result = searched(make_result(names_of(25), edges_per_variable=3.0))
    page = open_page(result)
    cause = int(np.argmax(result.adjacency.sum(axis=1)))
    page.type("#search", result.variables[cause])
    effects = result.to_frame().query("cause == @result.variables[@cause]")
    shown = "return [...document.querySelectorAll('#details ul:last-child li span')].map((it) => it.textContent)"
    for name in ("probability", "frequency"):
        page.select("by", name)
        assert page.run(shown) == [f"{value:.2f}" for value in sorted(effects[name], reverse=True)]


def test_the_legend_has_the_colours_of_the_lines(open_page, make_result, searched):
    page = open_page(searched(make_result(names_of(25), edges_per_variable=3.0)))
    colours = (
        "return Object.fromEntries([...document.querySelectorAll(arguments[0])]"
        ".map((line) => [line.dataset.step, getComputedStyle(line).stroke]))"
    )
    for _ in ("light", "dark"):
        page.select("by", "frequency")
        legend, drawn = page.run(colours, ".legend .edge"), page.run(colours, "#view .edge")
        assert len(set(legend.values())) == 5
        assert drawn.items() <= legend.items()
        page.click("#theme")


def test_without_refits_there_is_nothing_to_choose(open_page, make_result):
    page = open_page(make_result(names_of(5)))
    assert page.count("#by") == 0
    assert page.count("th[data-key=frequency]") == 0
    assert page.count("#matrix-kind option[value=frequency]") == 0


def test_cells_without_a_number_are_empty_and_last(open_page, make_result, searched):
    result = searched(make_result(names_of(25), edges_per_variable=3.0))
    truth = result.adjacency.copy()
    truth[tuple(np.argwhere((truth == 0) & (truth.T == 0) & ~np.eye(25, dtype=bool))[0])] = 1
    page = open_page(result, truth=truth)
    headings = page.run("return [...document.querySelectorAll('#table th')].map((cell) => cell.textContent)")
    assert headings == [
        "cause", "effect", "probability", "existence", "orientation", "frequency", "source", "gain", "slope",
        "experiments", "rows", "direction rows", "adjacent intervention", "truth",
    ]  # fmt: skip
    table = result.to_frame()
    known = int(table["slope"].notna().sum())
    slope = headings.index("slope")
    for direction in ("down", "up"):
        page.click("th[data-key=slope] button")
        shown = page.listed(slope)
        assert shown[known:] == [""] * (len(table) + 1 - known)
        values = [float(text.replace("\u2212", "-")) for text in shown[:known]]
        assert values == sorted(values, reverse=direction == "down")
        assert all(text.startswith(("+", "\u2212")) for text in shown[:known] if float(text[1:]))
    page.click("th[data-key=gain] button")
    first = table.sort_values("gain", ascending=False).iloc[0]
    digits = 0 if first["gain"] >= 10 else 1
    error = "" if np.isnan(first["gain_error"]) else f" ± {first['gain_error']:.{digits}f}"
    assert page.listed(headings.index("gain"))[0] == f"{first['gain']:.{digits}f}{error}"
    assert page.listed(headings.index("gain"))[-1] == ""  # the missed edge
    page.select("kind", "changed")
    assert page.text("#count").startswith("0 edges")


def test_search_finds_a_variable_and_shows_where_it_belongs(open_page, result):
    page = open_page(result)
    graph = nx.DiGraph(result.adjacency)
    middle = max(graph, key=lambda v: min(len(nx.ancestors(graph, v)), len(nx.descendants(graph, v))))
    name = result.variables[middle]
    page.type("#search", name)
    assert page.variables(".node.chosen") == {middle}
    assert page.variables(".node.ancestor") == nx.ancestors(graph, middle)
    assert page.variables(".node.descendant") == nx.descendants(graph, middle)
    assert page.text("#details h3") == name
    assert page.text("#status").startswith(f"{name}: causes ")
    box = page.element(".node.chosen").rect
    frame = page.element("#view").rect
    assert frame["x"] < box["x"] < frame["x"] + frame["width"]
    assert frame["y"] < box["y"] < frame["y"] + frame["height"]
    assert page.element(".node.chosen text").is_displayed()

    page.select("reach", "direct")
    assert page.variables(".node.ancestor") == set(graph.predecessors(middle))
    assert page.variables(".node.descendant") == set(graph.successors(middle))


def test_part_of_a_name_marks_all_that_have_it(open_page, result):
    page = open_page(result)
    page.type("#search", "2")
    having = {place for place, name in enumerate(result.variables) if "2" in name}
    assert page.variables(".node.match") == having
    assert page.text("#status").startswith(f"{len(having)} variables found")
    page.type("#search", "\ue007")  # Enter
    assert page.variables(".node.chosen") == {min(having)}
    page.type("#search", "\ue00c")  # Escape
    assert page.variables(".node.match") == set()


def test_highlighting_follows_the_slider(open_page, make_result):
    result = make_result(names_of(25), edges_per_variable=3.0)
    page = open_page(result)
    kept = nx.DiGraph(result.adjacency * (result.edge_probability >= 0.8))
    start = max(kept, key=lambda variable: len(nx.ancestors(nx.DiGraph(result.adjacency), variable)))
    page.type("#search", result.variables[start])
    page.slide(0.8)
    assert page.variables(".node.ancestor") == nx.ancestors(kept, start)


def test_the_table_sorts_and_filters(open_page, make_result):
    result = make_result(names_of(25), edges_per_variable=3.0)
    page = open_page(result)
    frame = result.to_frame()
    assert page.listed(0) == frame["cause"].tolist()
    page.click("th[data-key=existence] button")
    shown = [float(value) for value in page.listed(3)]
    assert shown == sorted(shown, reverse=True)
    assert page.element("th[data-key=existence]").get_attribute("aria-sort") == "descending"
    page.click("th[data-key=cause] button")
    assert page.listed(0) == sorted(frame["cause"], key=lambda name: int(name[1:]))
    page.type("#filter", "x7")
    assert set(page.listed(0)) | {"X7"} > {"X7"}
    expected = frame[(frame["cause"] == "X7") | (frame["effect"] == "X7")]
    assert len(page.listed(0)) == len(expected) > 0
    page.type("#filter", "\ue003\ue003")  # Backspace
    page.select("kind", "distant")
    assert len(page.listed(0)) == (~frame["adjacent_intervention"]).sum() > 0
    page.click("#table tbody .link")
    assert page.count(".node.chosen") == 1


def test_long_tables_come_in_pages(open_page, make_result):
    result = make_result(names_of(500), edges_per_variable=3.0)
    page = open_page(result)
    assert page.count("#table tbody tr") == 200
    page.click("#more")
    assert page.count("#table tbody tr") == 1200


def test_keys_walk_through_the_graph(open_page, make_result):
    result = make_result(names_of(25), edges_per_variable=3.0)
    page = open_page(result)
    before = page.transform("#view > g")
    page.type("#view", "\ue015")  # down: the first variable in causal order
    first = page.variables(".node.current").pop()
    assert result.variables[first] == result.order[0] == page.text("#status")
    page.type("#view", "\ue015", "\ue007")  # down to an effect, Enter
    (second,) = page.variables(".node.chosen")
    assert result.adjacency[first, second] or not result.adjacency[first].any()
    page.type("#view", "+")
    assert page.transform("#view > g") != before
    page.type("#view", "\ue00c")
    assert page.variables(".node.chosen, .node.current") == set()
    assert page.transform("#view > g") == before


def test_mouse_moves_variables_view_and_scale(open_page, make_result):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    result = make_result(names_of(25), edges_per_variable=3.0)
    page = open_page(result)
    page.run("document.getElementById('view').scrollIntoView({block: 'center', behavior: 'instant'})")
    variable = int(np.argmax(result.adjacency.sum(axis=1)))
    node = f".node[data-variable='{variable}']"
    lines = "return [...document.querySelectorAll('.edge')].map((edge) => edge.getAttribute('d'))"
    place, view, curves = page.transform(node), page.transform("#view > g"), page.run(lines)
    ActionChains(page.driver).drag_and_drop_by_offset(page.element(f"{node} rect"), 40, 25).perform()
    assert page.transform(node) != place
    assert page.transform("#view > g") == view
    moved = sum(one != other for one, other in zip(curves, page.run(lines), strict=True))
    assert moved == result.adjacency[variable].sum() + result.adjacency[:, variable].sum()
    assert page.count(".node.chosen") == 0  # a drag is not a click

    svg = page.element("#view")
    corner = (-int(svg.rect["width"] / 2) + 8, -int(svg.rect["height"] / 2) + 8)
    ActionChains(page.driver).move_to_element_with_offset(svg, *corner).click_and_hold().move_by_offset(
        30, 20
    ).release().perform()
    panned = page.transform("#view > g")
    assert panned.split("scale")[1] == view.split("scale")[1]
    assert panned != view
    ActionChains(page.driver).scroll_from_origin(ScrollOrigin.from_element(svg), 0, -200).perform()
    assert page.transform("#view > g").split("scale")[1] != view.split("scale")[1]
    ActionChains(page.driver).click(page.element(f"{node} rect")).perform()
    assert page.variables(".node.chosen") == {variable}


def test_missed_edges_have_a_switch(open_page, make_result):
    result = make_result(names_of(12))
    truth = result.adjacency.copy()
    absent = np.argwhere((truth == 0) & (truth.T == 0) & ~np.eye(12, dtype=bool))[0]
    truth[tuple(absent)] = 1
    page = open_page(result, truth=truth)
    assert page.count(".edge.missed:not(.off)") == 1
    page.slide(1.0)
    assert page.count(".edge.missed:not(.off)") == 1
    page.click("#show-missed")
    assert page.count(".edge.missed:not(.off)") == 0


def test_confounded_pairs_are_drawn_and_can_be_hidden(open_page, make_result, monkeypatch):
    result = make_result(names_of(12))
    scores = np.full((12, 12), np.nan)
    scores[2, 7] = scores[7, 2] = 0.75
    # As a fit with latent=True gives them.
    object.__setattr__(result, "confounder_scores", scores)
    monkeypatch.setattr(type(result), "confounders", property(lambda self: [("X3", "X8", 0.75)]), raising=False)
    page = open_page(result)
    title = page.run("return document.querySelector('.edge.confounder title').textContent")
    assert title == "X3 ↔ X8, confounder score 0.750"
    page.click("#show-confounders")
    assert page.count(".edge.confounder:not(.off)") == 0
    first, second = (result.order.index(name) for name in ("X3", "X8"))
    page.type("#cells", "\ue015", *["\ue015"] * first, *["\ue014"] * second)  # down and right to the pair
    assert "confounder score 0.75" in page.text("#cell")


def test_the_matrix_tells_its_cells(open_page, make_result):
    result = make_result(names_of(25), edges_per_variable=3.0)
    page = open_page(result)
    page.type("#cells", "\ue014", "\ue014")  # right, right: row 1, column 2
    first, second = result.order[:2]
    cause, effect = (result.variables.index(name) for name in (first, second))
    probability = result.edge_probability[cause, effect]
    assert page.text("#cell").startswith(f"{first} → {second}: probability {probability:.2f}")
    picture = "return document.getElementById('cells').toDataURL()"
    before = page.run(picture)
    page.select("matrix-kind", "orientation")
    assert page.run(picture) != before


def test_the_matrix_shows_frequencies(open_page, make_result, searched):
    result = searched(make_result(names_of(12), edges_per_variable=3.0))
    page = open_page(result)
    picture = "return document.getElementById('cells').toDataURL()"
    before = page.run(picture)
    page.select("matrix-kind", "frequency")
    assert page.run(picture) != before
    page.type("#cells", "\ue014", "\ue014")  # right, right: row 1, column 2
    cause, effect = (result.variables.index(name) for name in result.order[:2])
    assert f", frequency {result.frequency[cause, effect]:.2f}" in page.text("#cell")


def test_dark_and_light(open_page, make_result):
    page = open_page(make_result(names_of(5)))
    colour = "return getComputedStyle(document.body).backgroundColor"
    first = page.run(colour)
    page.click("#theme")
    assert page.run(colour) != first
    page.click("#theme")
    assert page.run(colour) == first


def downloaded(driver, name):
    deadline = time.monotonic() + 20
    while not (driver.downloads / name).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return driver.downloads / name


@pytest.mark.parametrize("refits", [0, 10])
@pytest.mark.parametrize("names", [names_of(25), HOSTILE], ids=["plain", "hostile"])
def test_downloads_are_the_graph(open_page, make_result, searched, driver, names, refits):
    result = make_result(names, edges_per_variable=1.5)
    assert result.n_edges > 0
    result = searched(result, refits=refits) if refits else result
    for file in driver.downloads.iterdir():
        file.unlink()
    page = open_page(result, truth=1 - np.tri(len(names), dtype=int))  # missed edges must not be in the files
    page.click("#download-csv")
    expected = result.to_frame()
    found = pd.read_csv(downloaded(driver, "edges.csv"), float_precision="round_trip")
    for end in ("cause", "effect"):
        found[end] = found[end].map(from_plain_text)  # an apostrophe keeps formulas from running
    pd.testing.assert_frame_equal(found, expected)
    page.click("#download-graphml")
    graph = nx.read_graphml(downloaded(driver, "graph.graphml"))
    assert list(graph) == list(result.variables)
    known = {
        pair: {name: value for name, value in values.items() if value == value}  # not NaN
        for pair, values in result.to_networkx().edges.items()
    }
    assert dict(graph.edges) == known


def test_hostile_names_do_nothing(open_page, make_result):
    page = open_page(make_result(HOSTILE, edges_per_variable=1.5), title=HOSTILE[0])
    assert page.count("img") == 0
    assert page.count("script") == 2
    page.type("#search", "script")
    page.type("#search", "\ue007")
    assert page.text("#details h3") == HOSTILE[0]
    assert page.text("h1") == HOSTILE[0]
    titles = page.run("return [...document.querySelectorAll('.node title')].map((title) => title.textContent)")
    assert titles == HOSTILE


def test_every_button_has_a_name_and_can_be_reached(open_page, make_result, searched):
    page = open_page(searched(make_result(names_of(5))))
    unnamed = page.run(
        "return [...document.querySelectorAll('button')]"
        ".filter((button) => !(button.textContent.trim() || button.getAttribute('aria-label'))).length"
    )
    assert unnamed == 0
    reached = set()
    for _ in range(80):
        page.run("return document.activeElement").send_keys("\ue004")  # Tab
        reached.add(page.run("return document.activeElement.id"))
    controls = {
        "theme",
        "search",
        "by",
        "threshold",
        "reach",
        "fit",
        "view",
        "filter",
        "kind",
        "download-csv",
        "matrix-kind",
        "cells",
    }
    assert controls <= reached
