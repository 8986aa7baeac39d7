"""Whole numbers with hundreds of values are categorical; beside continuous columns, a fit to them hung for minutes."""

import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

NAMES = "KXYZ"


def draw(rng, target, n):
    k = rng.integers(300, size=n)
    x = rng.normal(size=n) if target == "X" else np.sin(k / 40) + 0.3 * rng.normal(size=n)
    y = rng.normal(size=n) if target == "Y" else x**2 + 0.3 * rng.normal(size=n)
    z = rng.normal(size=n) if target == "Z" else np.tanh(y) + 0.01 * k + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"K": k, "X": x, "Y": y, "Z": z, "perturbation": target or "control"})


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    pd.concat([draw(rng, target, 1500 if target is None else 300) for target in (None, *NAMES)]).to_csv(
        path, index=False
    )
    return path


def start(table, out):
    return subprocess.Popen(
        [sys.executable, "-m", "enco", "fit", str(table), "--control", "control", "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_fit_ends_about_when_it_said(table, tmp_path):
    """It announced 11 s and was not done after 70 s."""
    process = start(table, tmp_path / "out")
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    announced, taken = (float(re.search(pattern, printed)[1]) for pattern in (r"about ([\d.]+) s", r"time +([\d.]+) s"))
    assert taken < 5 * announced + 10  # machines are busy; minutes are what this is about


def test_ctrl_c_during_the_search(table, tmp_path):
    process = start(table, tmp_path / "out")
    for line in process.stderr:
        if "searching" in line:
            break
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    process.communicate(timeout=30)
    assert process.returncode in (130, 0, -signal.SIGINT)  # it may have been quicker, and about to leave
    assert time.monotonic() - asked < 5  # 2 s on a machine that does nothing else
