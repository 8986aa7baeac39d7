"""Damaged files of every format end in an error of this package: no other exception, no hang, no flood of memory.

The trials run in a process of their own (`fuzz_worker.py`), which a crash or a hang of a library would end.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = Path(__file__).with_name("fuzz_worker.py")
FORMATS = (
    "csv", "npz", "parquet", "h5ad", "bif", "toml", "checkpoint", "graph.json", "history.csv", "parameters",
    "edges.csv", "truth",
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


@pytest.mark.slow
def test_thousands_of_damaged_files():
    for tally in run(10_000, 1_000, 3_000).values():
        check(tally)
