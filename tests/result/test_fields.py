"""Whatever stands in the files of a result: it is refused in one sentence, or every command can work with it."""

import contextlib
import copy
import io
import json
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from enco.cli import main
from enco.cli._graph_files import load_graph
from enco.errors import EncoError
from enco.exports import FORMATS
from enco.fitting.checkpoint import Identity
from enco.knowledge import Knowledge
from enco.report import render_report
from enco.result import Result
from enco.result.example import small_data, small_result
from enco.settings import Settings
from enco.stability import Stability

HUGE = int("9" * 400)
VALUES = [
    None, True, "", "text", "\ud800", -1, 2, 0.5, HUGE, float("nan"), float("inf"), -float("inf"), [], {}, [[]], ["A"],
    [1], {"a": 1}, [["A", "B"]], [[1.5]], [None], "A", [[["A"]]],
]  # fmt: skip
KNOWN = {
    "required": [["A", "B"]],
    "forbidden": [["C", "A"]],
    "tiers": [["A"], ["B", "C"]],
    "roots": ["A"],
    "leaves": ["C"],
}
KINDS = ("graph", "probabilities", "existence", "orientation-matrix", "learning", "orientation", "confounders")


def full_result():
    """A result with something in every field."""
    scores = np.array([[np.nan, 0.1, 0.9], [0.1, np.nan, np.nan], [0.9, np.nan, np.nan]])
    report = {
        "components": [{"variables": ["A", "B"], "method": "exact", "score": -1.5, "gap": 0.5}],
        "gap": 0.5,
        "removed": [["B", "A"]],
        "refined": [
            {"move": "add", "added": [["A", "B"]], "removed": [], "gain": 1.5},
            {"move": "reverse", "added": [["B", "C"]], "removed": [["C", "B"]], "gain": 2.0},
        ],
        "totals": [[100.0, 96.5]],
    }
    return replace(
        small_result(),
        order_report=report,
        settings={**small_result().settings, "confounder_threshold": 0.5, "max_epochs": len(small_result().history)},
        knowledge=KNOWN,
        confounder_scores=scores,
        lc_scores=scores,
        data_digest="0" * 32,
    )


@pytest.fixture
def folder(tmp_path):
    full_result().save(tmp_path)
    return tmp_path


def places(value, path=()):
    """Every place in a nested value, of lists the first entry only."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def changed(content, path, value):
    if not path:
        return value
    result = copy.deepcopy(content)
    inner = result
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return result


def use(folder, *, draw):
    """Do with a folder what the commands do; EncoError is the only exception that they know."""
    with contextlib.suppress(EncoError):
        load_graph(folder)
    try:
        result = Result.load(folder)
    except EncoError:
        return False
    repr(result)
    render_report(result, data=small_data()).encode("utf-8", "replace")
    for write in FORMATS.values():
        with contextlib.suppress(EncoError):
            write(result).encode()
    found = Identity(str(result.data_digest), result.settings, result.knowledge, result.seed, result.version)
    found.differences(Identity.of(small_data(), Settings(), knowledge=Knowledge(), seed=0))
    if draw:
        for kind in KINDS:
            with contextlib.suppress(EncoError):
                plt.close(result.plot(kind).figure)
    return True


@pytest.fixture(autouse=True)
def no_display():
    mpl.use("Agg")


def test_the_folder_itself_is_fine(folder):
    assert use(folder, draw=True)


def test_every_field_of_the_graph(folder):
    source = folder / "graph.json"
    content = json.loads(source.read_text())
    accepted = []
    for path in places(content):
        for value in VALUES:
            source.write_text(json.dumps(changed(content, path, value)))
            if use(folder, draw=False):
                accepted.append((path, value))
    tolerant = {"edge_probability", "confounders", "confounded_pairs", "settings"}  # only some of which is ever read
    harmless = (-1, 2, 0.5, True, [], {}, [[]], [["A", "B"]], ["A"])
    surprising = [
        (path, value)
        for path, value in accepted
        if path[0] not in tolerant and path != ("seed",) and not isinstance(value, str) and value not in harmless
    ]
    assert surprising == []


@pytest.mark.parametrize("column", ["epoch", "edges", "undecided", "changed", "held_out_loss", "fit_steps"])
@pytest.mark.parametrize(
    "cell", ["", "text", "nan", "inf", "-inf", "-1", "1.5", "9" * 400, "True", "1e999", "[1]", "1;2"]
)
def test_every_column_of_the_history(folder, column, cell):
    source = folder / "history.csv"
    table = pd.read_csv(source, dtype=str)
    assert column in table
    table.loc[len(table) - 1, column] = cell
    table.to_csv(source, index=False)
    accepted = use(folder, draw=True)
    number = cell in ("", "nan", "inf", "-inf", "-1", "1.5")
    assert accepted == (number and column in ("held_out_loss", "fit_steps"))


def test_rows_longer_than_the_header(folder):
    source = folder / "history.csv"
    header, *rows = source.read_text().splitlines()
    source.write_text("\n".join([header, *(row + ",1" for row in rows)]))
    assert not use(folder, draw=True)


@pytest.mark.parametrize(
    "damage",
    [
        lambda x: x.astype(str), lambda x: x.astype(complex), lambda x: x > 0, lambda x: np.full(x.shape, np.nan),
        lambda x: np.full(x.shape, np.inf), lambda x: np.full(x.shape, -np.inf), lambda x: -np.ones_like(x, int),
        lambda x: x[:2], lambda x: x.ravel(), lambda x: np.zeros(x.shape, "M8[s]"), lambda x: np.zeros(x.shape, "V8"),
    ],
)  # fmt: skip
def test_every_array(folder, damage):
    source = folder / "parameters.npz"
    with np.load(source) as archive:
        arrays = dict(archive)
    for name, values in arrays.items():
        np.savez(source, **{**arrays, name: damage(values)})
        use(folder, draw=True)


def test_every_field_of_the_stability(tmp_path):
    adjacency = small_result().adjacency
    Stability(
        variables=("A", "B", "C"), frequency=adjacency * 0.5, adjacency=adjacency, consensus=adjacency, n_resamples=4,
        share=0.5, seed=0, seconds=1.0,
    ).save(tmp_path)  # fmt: skip
    source = tmp_path / "stability.json"
    content = json.loads(source.read_text())
    for path in places(content):
        for value in VALUES:
            source.write_text(json.dumps(changed(content, path, value)))
            try:
                found = Stability.load(tmp_path)
            except EncoError:
                continue
            found.to_frame()
            repr(found)
            if path:
                assert value in (2, 0.5, True, "A", "text", "", "\ud800") or path == ("seed",), (path, value)


# --------------------------------------------------------------------------------------------- through the commands


def run(*command):
    printed = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(printed):
        code = main(list(map(str, command)))
    return code, printed.getvalue()


def without_undecided(text):
    table = pd.read_csv(io.StringIO(text), dtype=str)
    table.loc[len(table) - 1, "undecided"] = ""
    return table.to_csv(index=False)


def with_a_list_for_a_name(text):
    content = json.loads(text)
    content["order_report"]["refined"][0]["added"] = [[["A"], "B"]]
    return json.dumps(content)


DAMAGE = {
    "empty undecided": ("history.csv", without_undecided),
    "cause is a list": ("graph.json", with_a_list_for_a_name),
    "infinite seconds": ("graph.json", lambda text: json.dumps({**json.loads(text), "seconds": float("inf")})),
    "half a surrogate": ("graph.json", lambda text: text.replace('"A"', '"\\ud800"')),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_commands_say_it_in_one_line(folder, tmp_path, what):
    name, damage = DAMAGE[what]
    small_data().to_npz(tmp_path / "data.npz")
    (folder / name).write_text(damage((folder / name).read_text()))
    commands = [
        ("report", folder, "--out", tmp_path / "page.html"),
        ("plot", folder, "--out", tmp_path / "graph.png"),
        ("export", folder, "--out", tmp_path / "graph.gml"),
        ("fit", tmp_path / "data.npz", "--out", folder, "--resume"),
    ]
    for command in commands:
        code, printed = run(*command)
        assert code == 2, command
        assert printed.startswith("error: ")
        assert printed.count("\n") == 1
        assert name in printed


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.5, 1.5, HUGE, "1", [1]])
def test_probabilities_that_are_none(folder, value):
    source = folder / "graph.json"
    content = json.loads(source.read_text())
    content["edge_probability"][0][1] = value
    source.write_text(json.dumps(content))
    code, printed = run("evaluate", folder, folder / "graph.json")
    assert code == 2
    assert "'edge_probability' must be a matrix of numbers from 0 to 1" in printed
    assert printed.count("\n") == 1
