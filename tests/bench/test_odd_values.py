"""Specs and records with numbers that are none, or beyond all sense, end in one sentence that names the place."""

import json

import pytest

from enco.bench.records import Store
from enco.bench.spec import load_spec
from enco.cli import main
from enco.errors import FileFormatError
from enco.knowledge import Knowledge

SPEC = """
title = "Mine"
kind = "categorical"
graphs = 1
columns = "structure"
[problem]
variables = 4
[axes]
structure = ["random"]
[methods.enco]
settings = { max_epochs = 1 }
"""
HUGE = "1" + 400 * "0"


def said(capsys, *arguments):
    assert main(list(map(str, arguments))) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert printed.count("\n") == 1
    return printed


@pytest.mark.parametrize(
    "value", ["inf", "-inf", "nan", "1e400", HUGE, "9223372036854775808", "2020-01-01", "07:32:00"]
)
@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("variables = 4", "edge_probability = {}", "problem.edge_probability"),
        ("variables = 4", "rows = {}", "problem.rows"),
        ('["random"]', '["random"]\nrows = [50, {}]', "axes.rows[1]"),
        ('["random"]', '["random"]\nlabels = {{ a = {{ rows = {} }} }}', "axes.labels.a.rows"),
        ("max_epochs = 1", "sparsity = {}", "methods.enco.settings.sparsity"),
        ("max_epochs = 1", "nonsense = [[{}]]", "methods.enco.settings.nonsense[0][0]"),
        ("graphs = 1", "graphs = {}", "graphs"),
        ("graphs = 1", "graphs = 1\nfirst_seed = {}", "first_seed"),
    ],
)
def test_specs(before, after, place, value, tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(SPEC.replace(before, after.format(value)))
    complaint = said(capsys, "bench", "table", tmp_path / "mine.toml", "--results", tmp_path)
    assert f"mine.toml: {place} must be " in complaint


def test_numbers_of_thousands_of_digits(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(SPEC.replace("variables = 4", "rows = 1" + 5000 * "0"))
    assert "mine.toml: this is no valid TOML" in said(capsys, "bench", "table", tmp_path / "mine.toml")
    (tmp_path / "known.toml").write_text("tiers = 1" + 5000 * "0")
    with pytest.raises(FileFormatError, match=r"known\.toml: this is not a TOML file"):
        Knowledge.from_toml(tmp_path / "known.toml")


def test_more_graphs_than_anybody_can_run(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(SPEC.replace("graphs = 1", "graphs = 2000000000"))
    command = ["bench", "table", tmp_path / "mine.toml", "--results", tmp_path]
    assert "there can be 100,000 graphs of each cell, not 2,000,000,000" in said(capsys, *command)
    assert "there can be 100,000 graphs of each cell, not 200,000" in said(capsys, *command, "--graphs", "200000")


def a_record(spec):
    fields = {"threads": 1, "machine": {"cpu": "x"}, "peak_memory_mb": 1.0, "code": "x", "status": "done"}
    return {"key": spec.plan()[0].job.key, "shd": 1, "shd_raw": 2, "seconds": 1.0, "rows": 50, **fields}


@pytest.mark.parametrize(
    "change",
    [
        '"rows": Infinity', '"rows": 1e999', '"rows": NaN', f'"rows": {HUGE}', '"shd": "3"', '"shd": [1]', '"shd": {}',
        '"seconds": {"a": 1}', '"machine": "fast"', '"machine": {"cpu": 3}', '"threads": null', '"status": ["done"]',
        '"method": 3', '"error": {}', '"curve": []', '"curve": [3]', '"curve": [{"recall": "x"}]', '"curves": [{}]',
        '"curves": [{"rows": "same", "points": [{"deviation": 3}]}]', '"versions": {"numpy": Infinity}', '"code": 1',
    ],
)  # fmt: skip
def test_records(change, tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(SPEC)
    command = ["bench", "table", tmp_path / "mine.toml", "--results", tmp_path]
    text = json.dumps(a_record(load_spec(tmp_path / "mine.toml")))
    (tmp_path / "a.jsonl").write_text(f"{text}\n")
    assert main(list(map(str, command))) == 0
    assert "| random | " not in capsys.readouterr().err
    (tmp_path / "a.jsonl").write_text(f"{text}\n{text[:-1]}, {change}}}\n")
    assert "a.jsonl: line 2: the field '" in said(capsys, *command)


@pytest.mark.parametrize("missing", ["threads", "machine", "peak_memory_mb", "code", "shd", "seconds", "status"])
def test_records_that_lack_a_field(missing, tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(SPEC)
    record = a_record(load_spec(tmp_path / "mine.toml"))
    del record[missing]
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    assert main(["bench", "table", str(tmp_path / "mine.toml"), "--results", str(tmp_path)]) == 0


@pytest.mark.parametrize("line", ["[" * 100_000, '{"key": "k", "rows": 1' + 5000 * "0" + "}"])
def test_lines_that_are_no_json(line, tmp_path):
    (tmp_path / "a.jsonl").write_text(line)
    if line.startswith("{"):  # as if it had been cut off
        assert Store(tmp_path / "a.jsonl").records == {}
        return
    with pytest.raises(FileFormatError, match="line 1 is no benchmark record"):
        Store(tmp_path / "a.jsonl")


@pytest.mark.parametrize(("name", "field"), [("learning-curves", "curve"), ("gradient-variance", "curves")])
def test_records_of_other_tasks_that_lack_what_is_shown(name, field, tmp_path, capsys):
    record = a_record(load_spec(name))
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    code = main(["bench", "table", name, "--results", str(tmp_path)])
    printed = capsys.readouterr().err
    assert code == 0 or (code == 2 and f"in its {field}: remove its line" in printed)
