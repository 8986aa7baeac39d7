"""Tables of results: nothing in them runs in a spreadsheet, and every name comes back as it was."""

import csv
import io
import json
import shutil
import subprocess
from dataclasses import replace
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enco.exports import to_edge_list
from enco.io._cells import as_plain_text, from_plain_text, table_as_csv
from enco.result.example import small_result
from enco.stability import Stability

FORMULAS = ["=cmd|'/C calc'!A0", "+1", "-1.5", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1d1", "'", "''=1"]
HARMLESS = ["gene", "a=b", "1.5", "", " ", '"=1"', "it's", "\u0394\u03b1"]
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text):
    assert as_plain_text(text) == "'" + text


@pytest.mark.parametrize("text", HARMLESS)
def test_everything_else_stays(text):
    assert as_plain_text(text) == text


@given(texts)
@example("'=1")
@example("''")
def test_text_comes_back_as_it_was(text):
    assert from_plain_text(as_plain_text(text)) == text


@given(texts)
def test_no_cell_begins_like_a_formula(text):
    assert as_plain_text(text)[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n")


def cells(written):
    return [list(map(from_plain_text, row)) for row in csv.reader(io.StringIO(written, newline=""), strict=True)][1:]


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
@example([("=1", "a\r=b"), ("a\nb", '"')])
def test_names_in_a_table_come_back_as_they_were(pairs):
    table = pd.DataFrame(pairs, columns=["cause", "effect"], dtype=object).assign(gain=-1.5)
    assert cells(table_as_csv(table)) == [[cause, effect, "-1.5"] for cause, effect in pairs]


def test_numbers_are_no_text():
    table = pd.DataFrame({"cause": ["-1.5"], "probability": [-1.5], "rows": [-3], "adjacent": [True]})
    assert table_as_csv(table).splitlines()[1] == "'-1.5,-1.5,-3,True"


def named(first, second):
    return replace(small_result(), variables=(first, second, "C"), order=(first, second, "C"))


@pytest.mark.parametrize("name", FORMULAS)
def test_every_table_of_a_result(name, tmp_path):
    result = named(name, "B")
    result.save(tmp_path)
    none = np.zeros((3, 3))
    Stability(
        variables=result.variables, frequency=none, adjacency=result.adjacency, consensus=result.adjacency,
        n_resamples=5, share=0.5, seed=0, seconds=1.0,
    ).save(tmp_path)  # fmt: skip
    for written in ((tmp_path / "edges.csv").read_bytes(), (tmp_path / "stability.csv").read_bytes()):
        rows = list(csv.reader(io.StringIO(written.decode(), newline="")))
        assert sorted(row[0] for row in rows[1:]) == sorted(["'" + name, "B"])
    assert sorted(row[0] for row in cells(to_edge_list(result))) == sorted([name, "B"])


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_page_writes_the_same_table():
    names = [*FORMULAS, *(text for text in HARMLESS if text)]
    script = resources.files("enco.report").joinpath("templates", "downloads.js").read_text(encoding="utf-8")
    edges = {"cause": list(range(len(names))), "effect": [0] * len(names)}
    fields = ["probability", "existence", "orientation", "regimes", "rows", "orientation_rows", "adjacent_intervention"]
    edges |= {field: [-1] * len(names) for field in fields}
    content = {"columns": [[field, "long"] for field in fields]}
    given = {"content": content, "names": names, "edges": edges, "edgeCount": len(names)}
    before = "".join(f"const {name} = {json.dumps(value)};" for name, value in given.items())
    program = f"{before} const missed = () => false; {script} process.stdout.write(edgesAsCsv());"
    written = subprocess.run(["node", "-e", program], capture_output=True, check=True).stdout.decode()
    assert [row[0] for row in csv.reader(io.StringIO(written, newline=""))][1:] == list(map(as_plain_text, names))
    assert [row[2] for row in cells(written)] == ["-1"] * len(names)
