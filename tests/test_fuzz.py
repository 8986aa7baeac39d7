"""Damaged files of every format end in an error of this package, or read back as what they say.

No other exception, no hang, no flood of memory, and no value that the file does not have. The trials run in a process
of their own (`fuzz_worker.py`), which a crash or a hang of a library would end.
"""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import fuzz_worker
from enco.data import InterventionalData

WORKER = Path(__file__).with_name("fuzz_worker.py")
FORMATS = (
    "csv", "plain csv", "npz", "parquet", "h5ad", "bif", "toml", "spec", "settings", "records", "checkpoint",
    "graph.json", "history.csv", "parameters", "edges.csv", "stability.csv", "stability.json", "truth", "truth npz",
    "truth csv", "truth pairs",
)  # fmt: skip
MOST_MEMORY = 1 << 30


def run(first, count, seconds):
    command = [sys.executable, str(WORKER), str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"the process ended with {done.returncode} at {last}: {done.stderr[-3000:]}"
    return json.loads(last[0])


def check(tally):
    assert tally["intact"] == "accepted"
    assert tally["findings"] == []
    assert tally["refused"] > 0
    assert tally["memory"] < MOST_MEMORY


@pytest.fixture(scope="module")
def report():
    return run(0, 25, 300)


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files(name, report):
    check(report[name])


def test_every_format_is_here(report):
    assert sorted(report) == sorted(FORMATS)


# ---------------------------------------------------------------------------------------- the trials themselves

CHANGES = {  # a value of each format, and another one
    "csv": (rb"\n(0\.\d\d\d)", b"0.5555"), "plain csv": (rb"\n(0\.\d\d\d)", b"0.5555"),
    "bif": (rb"(0\.8, 0\.2)", b"0.7, 0.3"), "toml": (rb"\[\[\"(C)\", \"A", b"B"), "spec": (rb"graphs = (2)", b"3"),
    "settings": (rb"\nbatch=(128)", b"129"), "records": (rb"\"f1\": (0.75)", b"0.5"), "truth": (rb"\[\[0, (1)", b"0"),
    "graph.json": (rb"\"gain\": (3.5)", b"4.5"), "history.csv": (rb"\n1,(\d+),", b"77"),
    "edges.csv": (rb"\n(X\d)", b"X9"), "stability.csv": (rb"\n(X\d)", b"X9"), "stability.json": (rb"0, (0.75)", b"0.5"),
    "truth csv": (rb"A,0,(1)", b"0"), "truth pairs": (rb"\[\[0, (1)", b"0"),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return fuzz_worker.formats(tmp_path_factory.mktemp("formats"))


@pytest.mark.parametrize("name", CHANGES)
def test_other_values_are_noticed(name, made):
    """Were a reader to understand another value than a file has, a trial would say so."""
    one, (pattern, other) = made[name], CHANGES[name]
    content = one.path.read_bytes()
    place = re.search(pattern, content)
    one.path.write_bytes(content[: place.start(1)] + other + content[place.end(1) :])
    found = one.read(one.path)
    assert one.difference(one.path, found) is None
    one.path.write_bytes(content)
    assert one.difference(one.path, found) is not None


@pytest.mark.parametrize("name", ["csv", "npz", "parquet", "h5ad"])
@pytest.mark.parametrize("kind", ["codes", "reals", "targets"])
def test_other_data_are_noticed(name, kind, made):
    data = fuzz_worker.mixed_data()
    last = data.regimes[-1]
    if kind == "targets":
        last = replace(last, targets=(0, 3))
    else:
        changed = getattr(last, kind).copy()
        changed[-1, -1] = (changed[-1, -1] + 1) % 10
        last = replace(last, **{kind: changed})
    other = InterventionalData(data.variables, [*data.regimes[:-1], last])
    assert made[name].difference(made[name].path, data) is None
    assert made[name].difference(made[name].path, other) is not None


@pytest.mark.slow
def test_thousands_of_damaged_files():
    for tally in run(10_000, 1_000, 3_000).values():
        check(tally)
