"""The process that does jobs: requests come in as JSON lines, and a line says when one begins, another what came out.

Jobs have a process of their own so that a crash, a time limit or a lack of memory ends one job and not a benchmark, and
so that peak memory is that of the job. It does many jobs, because a new one takes seconds to start:

    python -m enco.bench.worker

`enco.bench.runner` starts it, and ends it by closing its input.
"""

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from enco.baselines import find_method
from enco.bench.jobs import Job, run_job
from enco.bench.plugins import load_plugins
from enco.bench.problem_kinds import kind_of
from enco.bench.records import Record
from enco.bench.warmup import warm_up
from enco.errors import EncoError
from enco.settings import Settings

__all__ = ["FAILED", "STARTED", "answer"]

STARTED = "started"
FAILED = "failed"

_warm: set[tuple[Any, ...]] = set()


def answer(request: Mapping[str, Any], on_start: Callable[[], None]) -> Record:
    """Do the job of a request; what goes wrong becomes a record as well.

    Parameters
    ----------
    request : dict
        ``job``, ``threads`` and ``plugins``, as `enco.bench.runner` makes it.
    on_start : callable
        Called when the work itself begins.

    Examples
    --------
    >>> from enco.bench.problem import Problem
    >>> job = Job(problem=Problem(structure="chain", seed=0).tiny(), method="magic")
    >>> answer({"job": job.content, "threads": 1, "plugins": []}, lambda: None)["error"]
    "there is no method 'magic'; choose from ..."
    """
    try:
        load_plugins(request["plugins"])
        job = Job.from_content(request["job"])
        job.check()
        _warm_up(job, request["threads"])
        return run_job(job, n_jobs=request["threads"], on_start=on_start)
    except EncoError as error:
        return {"status": FAILED, "error": str(error)}
    except MemoryError:
        return {"status": FAILED, "error": "not enough memory"}
    except Exception as error:
        traceback.print_exc()
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
        return {"status": FAILED, "error": f"{type(error).__name__}: {error} ({place})"}


def _warm_up(job: Job, threads: int) -> None:
    """Compile kernels, or read them from the cache, before the clock runs; once for each set of kernels."""
    settings = find_method(job.method).make_settings(**job.settings)
    if not isinstance(settings, Settings):
        return  # another method; what it compiles is part of its time
    tiny = job.problem.tiny()
    kernels = (kind_of(tiny), settings.engine, settings.density, settings.estimator, settings.layers, settings.hidden)
    if kernels not in _warm:
        warm_up(settings, n_jobs=threads, problem=tiny)
        _warm.add(kernels)


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone: nobody would read the record."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Serve requests until the input ends."""
    _end_with(os.getppid())
    # What a library prints must not come between the lines of the protocol.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as channel:
        os.dup2(2, 1)

        def say(content: Record) -> None:
            channel.write(json.dumps(content) + "\n")
            channel.flush()

        for line in sys.stdin:
            say(answer(json.loads(line), lambda: say({"status": STARTED})))


if __name__ == "__main__":
    main()
