"""Kernels work where Numba can keep nothing on disk: the cache is a convenience."""

import errno
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import enco
from enco.result.example import small_data
from enco.system import compilation

QUICK = [
    "max_epochs=1",
    "first_fit_steps=5",
    "graph_steps=2",
    "first_orientation_passes=1",
    "hidden=4",
    "refine_rounds=0",
]
NOWHERE = "/dev/null/nowhere"  # below a file: not even the superuser can create it


@pytest.fixture
def read_only_package(tmp_path):
    """A copy of the package in which a file is in the way of every folder for compiled code."""
    package = tmp_path / "lib" / "enco"
    shutil.copytree(Path(enco.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    return package.parent


@pytest.mark.skipif(os.name == "nt", reason="needs /dev/null")
def test_a_fit_where_nothing_can_be_cached(read_only_package, tmp_path):
    small_data().to_npz(tmp_path / "data.npz")
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH", "LANG")}
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "TMPDIR"), NOWHERE)
    options = [word for setting in QUICK for word in ("--set", setting)]
    done = subprocess.run(
        [sys.executable, "-m", "enco", "fit", "data.npz", "--out", "out", "--threads", "1", *options],
        cwd=tmp_path,
        env={**kept, **places, "PYTHONPATH": str(read_only_package)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "graph.json").exists()
    said = [line for line in done.stderr.splitlines() if not line.startswith("epoch ")]
    assert len(said) == 1
    assert "compiled kernels cannot be kept on disk" in said[0]
    assert "NUMBA_CACHE_DIR" in said[0]


@pytest.fixture
def said(caplog):
    compilation._say_once.cache_clear()
    with caplog.at_level(logging.WARNING, "enco.system.compilation"):
        yield caplog
    compilation._say_once.cache_clear()


def compiled(name):
    def double(number):
        return 2 * number

    double.__qualname__ = name
    return compilation.njit(cache=True)(double)


def test_no_place_for_a_cache(monkeypatch, said):
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    assert [compiled("one")(2), compiled("other")(3)] == [4, 6]
    assert len(said.records) == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_cache_that_cannot_be_written_when_it_is_needed(monkeypatch, said, tmp_path, number):
    monkeypatch.setattr(numba.core.caching.config, "CACHE_DIR", str(tmp_path))

    def fail(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "save", fail)
    assert compiled("one")(2) == 4
    assert len(said.records) == 1


def test_the_cache_is_used_where_it_can_be(monkeypatch, said, tmp_path):
    monkeypatch.setattr(numba.core.caching.config, "CACHE_DIR", str(tmp_path))
    assert compiled("one")(2) == 4
    again = compiled("one")
    assert again(2) == 4
    assert sum(again.stats.cache_hits.values()) == 1
    assert not said.records


CALLEE = """
from enco.system.compilation import njit
@njit(cache=True, forceinline=True)
def answer():
    return {answer}
def chain(first):
    @njit(forceinline=True)
    def either(number):
        return first() + number
    return either
"""
CALLER = """
from typing import NamedTuple
import numpy as np
from callee import answer, chain
from enco.system.compilation import njit
class {name}(NamedTuple):
    number: int
chained = chain(answer)
@njit(cache=True)
def ask(question):
    return chained(question.number)
print(ask({name}(1)), len(ask.stats.cache_hits))
"""


@pytest.fixture
def ask(tmp_path):
    """Run a kernel that calls one of another file, in a process of its own: what it says, and hits of the cache."""

    def run(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", "import caller"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return [int(word) for word in done.stdout.split()]

    return run


def test_a_kernel_is_compiled_again_when_one_that_it_calls_changes(ask):
    assert ask(callee=CALLEE.format(answer=41), caller=CALLER.format(name="Question")) == [42, 0]
    assert ask() == [42, 1]
    assert ask(callee=CALLEE.format(answer=1041)) == [1042, 0]
    assert ask() == [1042, 1]


def test_a_cache_that_names_what_is_no_longer_there_is_written_anew(ask):
    assert ask(callee=CALLEE.format(answer=41), caller=CALLER.format(name="Question")) == [42, 0]
    assert ask(caller=CALLER.format(name="Riddle")) == [42, 0]
    assert ask() == [42, 1]
