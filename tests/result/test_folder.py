"""A new result takes the place of an old one at once, wherever the process is killed or the disk is full."""

import errno
import os
import sys
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest

from enco.errors import EncoError
from enco.result import Result
from enco.result.example import small_result
from enco.result.folder import CHECKPOINT, NEXT, is_complete, recover, replacing, result_in

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX processes")

OLD = replace(small_result(), seed=1, theta=np.full((3, 3), 1.0))
CHANGED = {
    "seed": 2,
    "theta": np.full((3, 3), 2.0),
    "adjacency": np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], np.uint8),
    "history": small_result().history.assign(edges=7),
}
NEW = replace(small_result(), **CHANGED)
EVENTS = ("open", "os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir")


def files(result, folder):
    """What a folder with nothing but this result holds."""
    result.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_a_child(task, on_event):
    """Run a task in a child process that asks before every access to a file; return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of earlier tests do not matter to the child
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.settrace(None)
    threading.settrace(None)
    code = 99
    try:
        sys.addaudithook(on_event)
        try:
            task()
            code = 0
        except EncoError:
            code = 2
    finally:
        os._exit(code)


class Counter:
    """Counts accesses to a folder; from some number on, the process is killed or the disk is full."""

    def __init__(self, folder, limit, how):
        self.folder, self.left, self.how = str(folder), limit, how

    def __call__(self, event, arguments):
        if event not in EVENTS or self.folder not in str(arguments[0]):
            return
        self.left -= 1
        if self.left >= 0:
            return
        if self.how == "killed":
            os._exit(9)
        if event in ("os.link", "os.mkdir", "os.rename") or (event == "open" and arguments[2] & os.O_CREAT):
            raise OSError(errno.ENOSPC, "No space left on device")


@needs_fork
@pytest.mark.parametrize("how", ["killed", "full"])
@pytest.mark.parametrize("with_old", [True, False])
def test_at_every_moment_there_is_the_old_result_or_the_new_one(tmp_path, how, with_old):
    wanted = files(NEW, tmp_path / "new")
    before = files(OLD, tmp_path / "old")
    codes, seen = [], []
    for limit in range(1_000):
        folder = tmp_path / f"out{limit}"
        folder.mkdir()
        if with_old:
            OLD.save(folder)
            (folder / "report.html").write_text("of the old result")
            (folder / "stability.json").write_text("of the old result")
        (folder / "notes.txt").write_text("mine")
        codes.append(in_a_child(lambda: NEW.save(folder, overwrite=True), Counter(folder, limit, how)))  # noqa: B023
        found = Result.load(folder).seed if is_complete(folder) else None
        seen.append(found)
        if found is not None:
            place = result_in(folder)
            expected = wanted if found == NEW.seed else before
            assert {name: (place / name).read_bytes() for name in expected} == expected
        recover(folder)
        clean = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".enco-lock"}
        assert clean.pop("notes.txt") == b"mine"
        for name in ("report.html", "stability.json"):
            assert (name in clean) == (with_old and found == OLD.seed)
            clean.pop(name, None)
        assert clean == ({} if found is None else wanted if found == NEW.seed else before)
        if codes[-1] == 0:
            break
    assert set(codes[:-1]) == {9 if how == "killed" else 2}
    assert seen == sorted(seen, key=lambda seed: seed or 0)  # never back to the old one
    assert set(seen) == {OLD.seed if with_old else None, NEW.seed}
    assert seen.count(NEW.seed) > (5 if how == "killed" else 1)  # some of them in the middle of the exchange


def test_an_error_in_the_block_changes_nothing(tmp_path):
    before = files(OLD, tmp_path)

    def interrupted():
        with replacing(tmp_path) as new:
            (new / "graph.json").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_system_without_links(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    OLD.save(tmp_path)
    NEW.save(tmp_path, overwrite=True)
    assert Result.load(tmp_path).seed == NEW.seed
    assert not list(tmp_path.glob(".*"))


def test_a_page_without_a_result_is_somebody_elses(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    (tmp_path / CHECKPOINT).write_text("of a fit")
    OLD.save(tmp_path)
    assert (tmp_path / "report.html").read_text() == "mine"
    NEW.save(tmp_path, overwrite=True)
    assert not (tmp_path / "report.html").exists()
    assert (tmp_path / CHECKPOINT).exists()


def test_what_is_not_a_result_does_not_count(tmp_path):
    files(OLD, tmp_path)
    (tmp_path / NEXT).mkdir()
    (tmp_path / NEXT / "edges.csv").write_text("half")
    assert Result.load(tmp_path).seed == OLD.seed
    NEW.save(tmp_path, overwrite=True)
    assert not list(tmp_path.glob(".*"))


def test_a_link_in_place_of_the_new_folder(tmp_path):
    files(OLD, tmp_path / "out")
    files(NEW, tmp_path / "elsewhere")
    (tmp_path / "out" / NEXT).symlink_to(tmp_path / "elsewhere")
    assert Result.load(tmp_path / "out").seed == OLD.seed
    recover(tmp_path / "out")
    assert (tmp_path / "elsewhere" / "graph.json").exists()
    assert not list((tmp_path / "out").glob(".*"))
