"""One writer per folder, also where the kernel knows no locks."""

import os
import subprocess
import sys
import threading

import pytest

from enco.errors import EncoError
from enco.io import _lock
from enco.io._lock import LOCK, NAMED, locked

HOLD = """
import sys
from enco.io import _lock
if sys.argv[2] == "name":
    _lock.kernel_lock = None
with _lock.locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""
# Many processes enter and leave; a marker that only one of them can create shows whether two are in at once.
COMPETE = """
import os, sys, time
from enco.errors import EncoError
from enco.io import _lock
if sys.argv[2] == "name":
    _lock.kernel_lock = None
entered = 0
end = time.monotonic() + 1.5
while time.monotonic() < end:
    try:
        with _lock.locked(sys.argv[1]):
            os.close(os.open(sys.argv[1] + "/marker", os.O_CREAT | os.O_EXCL))
            time.sleep(0.001)
            os.unlink(sys.argv[1] + "/marker")
            entered += 1
    except EncoError as error:
        assert "in use by" in str(error) or "all the time" in str(error), error
print(entered)
"""


@pytest.fixture(params=["kernel", "name"])
def way(request, monkeypatch):
    if request.param == "name":
        monkeypatch.setattr(_lock, "kernel_lock", None)
    return request.param


@pytest.fixture
def holder(tmp_path, way):
    command = [sys.executable, "-c", HOLD, str(tmp_path / "out"), way]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_second_is_refused_and_told_by_whom(tmp_path, holder):
    with pytest.raises(EncoError, match=rf"out is in use by process {holder.pid}, which writes to it: wait"):
        locked(tmp_path / "out").__enter__()
    holder.communicate("")
    assert not (tmp_path / "out").exists()  # it was created for the lock, and was empty
    with locked(tmp_path / "out"):
        pass


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path, holder, way):
    holder.kill()
    holder.wait()
    assert (tmp_path / "out" / (LOCK if way == "kernel" else NAMED)).exists()
    with locked(tmp_path / "out"):
        pass
    assert not list((tmp_path / "out").iterdir())


def test_another_host_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(_lock, "kernel_lock", None)
    (tmp_path / NAMED).write_text("1 far.example\n")
    with pytest.raises(
        EncoError, match=r"in use by process 1 on far\.example, .*; if there is no such process, remove"
    ):
        locked(tmp_path).__enter__()


@pytest.mark.parametrize("note", [b"", b"text", b"\xff\xfe", b"9" * 500])
def test_a_strange_note(tmp_path, monkeypatch, note):
    (tmp_path / LOCK).write_bytes(note)
    with locked(tmp_path):
        assert (tmp_path / LOCK).read_text().startswith(f"{os.getpid()} ")
    monkeypatch.setattr(_lock, "kernel_lock", None)
    (tmp_path / NAMED).write_bytes(note)
    with pytest.raises(EncoError, match="in use by another process"):
        locked(tmp_path).__enter__()


def test_threads_exclude_each_other(tmp_path, way):
    refused = []

    def attempt():
        try:
            with locked(tmp_path):
                pass
        except EncoError as error:
            refused.append(str(error))

    with locked(tmp_path):
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert f"process {os.getpid()}" in refused[0]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, None])
def test_nothing_is_left_behind(tmp_path, way, error):
    def work():
        with locked(tmp_path / "new" / "out"):
            assert (tmp_path / "new" / "out").is_dir()
            if error:
                raise error

    if error:
        with pytest.raises(error):
            work()
    else:
        work()
    assert not list(tmp_path.iterdir())


def test_a_file_system_that_knows_no_locks(tmp_path, monkeypatch):
    def unsupported(descriptor, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(_lock, "kernel_lock", unsupported)
    with locked(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [NAMED]
        with pytest.raises(EncoError, match="in use by process"):
            locked(tmp_path).__enter__()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_denies_the_note_only(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with locked(tmp_path):
        pass
    monkeypatch.setattr(_lock, "kernel_lock", None)
    with pytest.raises(EncoError, match="No space left on device"):
        locked(tmp_path).__enter__()
    assert not list(tmp_path.iterdir())


def test_a_link_is_replaced(tmp_path):
    (tmp_path / "other").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LOCK).symlink_to(tmp_path / "other")
    with locked(tmp_path / "out"):
        pass
    assert (tmp_path / "other").read_text() == "mine"


def test_never_two_at_once(tmp_path, way):
    command = [sys.executable, "-c", COMPETE, str(tmp_path / "out"), way]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    results = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, results
    assert sum(int(entered) for entered, _ in results) > 10
