"""Do many jobs: one process for each that runs at a time, records as they come, and nothing twice.

joblib hands out the jobs. Here its threads only wait for processes (`enco.bench.worker`); inside a
``joblib.parallel_config(backend="dask")`` or ``"ray"`` block, the same function runs on the machines of a cluster, and
each of them has processes of its own.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import joblib
from joblib.parallel import get_active_backend

from enco.bench.jobs import Job, circumstances
from enco.bench.machine import code_fingerprint
from enco.bench.records import Record, Store
from enco.bench.worker import FAILED, STARTED
from enco.executors.threads import count_threads

__all__ = ["KILLED", "TIME_LIMIT", "run_jobs", "to_do"]

KILLED = "killed"
TIME_LIMIT = "time limit"


def to_do(jobs: Iterable[Job], store: Store, *, retry: bool = False, renew: bool = False) -> list[Job]:
    """List the jobs without a record, each once.

    Parameters
    ----------
    jobs : iterable of Job
    store : Store
    retry : bool
        Also those that failed, were killed or took too long.
    renew : bool
        Also those whose results were made by other code than the present one.

    Examples
    --------
    >>> from enco.bench.problem import Problem
    >>> job = Job(problem=Problem(structure="chain", seed=1), method="enco")
    >>> store = Store()
    >>> store.add({"key": job.key, "status": "killed"})
    >>> len(to_do([job], store)), len(to_do([job, job], store, retry=True))
    (0, 1)
    """

    def wanted(job: Job) -> bool:
        record = store.records.get(job.key)
        if record is None:
            return True
        if not store.done(job.key):
            return retry
        return renew and record.get("code") != code_fingerprint()

    return [job for job in {job.key: job for job in jobs}.values() if wanted(job)]


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    *,
    n_jobs: int = 1,
    threads: int | None = None,
    time_limit: float | None = None,
    plugins: Sequence[str | os.PathLike[str]] = (),
    on_start: Callable[[Job], None] = lambda job: None,
    on_record: Callable[[Job, Record], None] = lambda job, record: None,
) -> list[Record]:
    """Do jobs; each record is stored as soon as it is there. A job that fails is recorded too, and the others go on.

    Parameters
    ----------
    jobs : sequence of Job
        See `to_do`.
    store : Store
    n_jobs : int
        Jobs at a time. Seconds are worth reading only if it is 1.
    threads : int, optional
        Of each job; by default the cores of the machine are shared out.
    time_limit : float, optional
        Seconds for each job, not counting simulation and compilation.
    plugins : sequence of path-like
        Python files that register methods, see `enco.bench.plugins`.
    on_start, on_record : callable, optional
        Called when a job is handed out, and after its record is stored.

    Returns
    -------
    list of dict
        The records, in the order in which they came.

    Examples
    --------
    >>> from enco.bench.problem import Problem
    >>> job = Job(problem=Problem(structure="chain", seed=0).tiny(), method="enco", settings={"max_epochs": 1})
    >>> [record] = run_jobs([job], Store(), threads=1)
    >>> record["status"], record["variables"]
    ('done', 4)
    """
    by_key = {job.key: job for job in jobs}
    each = threads or max(1, count_threads(None) // n_jobs)
    files = [str(Path(plugin).resolve()) for plugin in plugins]

    def hand_out() -> Iterator[object]:
        for job in by_key.values():
            on_start(job)
            yield joblib.delayed(supervise)(job, each, time_limit, files)

    # Where a backend cannot hand records over one by one, they come together at the end.
    streams = getattr(get_active_backend()[0], "supports_return_generator", False)
    parallel = joblib.Parallel(
        n_jobs=n_jobs,
        prefer="threads",
        batch_size=1,
        pre_dispatch=n_jobs,
        return_as="generator_unordered" if streams else "list",
    )
    records = []
    try:
        for record in parallel(hand_out()):
            store.add(record)
            records.append(record)
            on_record(by_key[record["key"]], record)
    finally:
        _end_processes()
    return records


def supervise(job: Job, threads: int, time_limit: float | None, plugins: list[str]) -> Record:
    """Have a job done by a process and return its record, whatever happens to the process."""
    process = _take_process()
    outcome = process.do({"job": job.content, "threads": threads, "plugins": plugins}, time_limit)
    if process.usable:
        with _lock:
            _idle.append(process)
    if "key" in outcome:
        return outcome
    limit = {} if time_limit is None else {"time_limit": time_limit}
    return {**job.describe(), **outcome, **limit, "threads": threads, **circumstances()}


class _Process:
    """A worker, as seen from here."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "enco.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is ours to deal with
        )
        self.usable = True

    def do(self, request: Record, time_limit: float | None) -> Record:
        """Return a record, or the status and the error of a process that ended instead."""
        assert self._popen.stdin is not None
        too_long = threading.Event()
        timer: threading.Timer | None = None

        def stop() -> None:
            too_long.set()
            self._popen.kill()

        try:
            with suppress(OSError):  # a process that is gone says nothing either
                self._popen.stdin.write(json.dumps(request) + "\n")
                self._popen.stdin.flush()
            reply = self._listen()
            if reply is not None and reply["status"] == STARTED:
                if time_limit is not None:
                    timer = threading.Timer(time_limit, stop)
                    timer.start()
                reply = self._listen()
        except BaseException:
            self.end()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if reply is not None and not too_long.is_set():
            return reply
        self.usable = False
        code = self._popen.wait()
        said = self._last_words()
        self.end()
        if too_long.is_set():
            return {"status": TIME_LIMIT, "error": f"took longer than {time_limit:g} s"}
        if code < 0:
            memory = ", perhaps for lack of memory" if code == -9 else ""
            return {"status": KILLED, "error": f"the process was ended by signal {-code}{memory}"}
        return {"status": FAILED, "error": f"the process ended with code {code}: {said}"}

    def end(self) -> None:
        """End the process, whatever it does."""
        self.usable = False
        with suppress(OSError):
            self._popen.kill()
        self._popen.wait()
        for stream in (self._popen.stdin, self._popen.stdout, self._errors):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        with _lock:
            _all.discard(self)

    def _listen(self) -> Record | None:
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        return dict(json.loads(line)) if line.endswith("\n") else None

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


_lock = threading.Lock()
_idle: list[_Process] = []
_all: set[_Process] = set()


def _take_process() -> _Process:
    with _lock:
        if _idle:
            return _idle.pop()
        process = _Process()
        _all.add(process)
        return process


def _end_processes() -> None:
    with _lock:
        _idle.clear()
        processes = list(_all)
    for process in processes:
        process.end()


atexit.register(_end_processes)
