"""How many threads to use, and independent tasks on that many."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from enco.errors import SettingsError
from enco.system.units import in_short

__all__ = ["count_threads", "run_threads"]

T = TypeVar("T")
MOST_THREADS = 1024


def count_threads(n_jobs: int | None) -> int:
    """Translate `n_jobs` as joblib counts: None or -1 is every core this process may use, -2 all but one.

    Examples
    --------
    >>> count_threads(2), count_threads(None) == count_threads(-1)
    (2, True)
    >>> count_threads(10**6)
    Traceback (most recent call last):
        ...
    enco.errors.SettingsError: the number of threads can be at most 1,024; got 1,000,000
    """
    whole = type(n_jobs) is int  # not a truth value
    if n_jobs is not None and (n_jobs == 0 or not whole):
        raise SettingsError(
            f"the number of threads must be a whole number other than 0, or None for all; got {n_jobs!r}"
        )
    if n_jobs is not None and n_jobs > MOST_THREADS:
        raise SettingsError(f"the number of threads can be at most {MOST_THREADS:,}; got {in_short(n_jobs)}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def run_threads(
    task: Callable[[int], T],
    count: int,
    threads: int,
    on_done: Callable[[int], None],
    on_stop: Callable[[], None] = lambda: None,
) -> list[T]:
    """Call a task with 0 to count - 1, on some threads; results in that order.

    Parameters
    ----------
    task : callable
    count, threads : int
    on_done : callable
        Called in the calling thread with the number of tasks done, after each. If it, or a task, raises, tasks that
        have not begun are given up.
    on_stop : callable, optional
        Called in that case, or at Ctrl-C, to tell the tasks that have begun; they are waited for.

    Examples
    --------
    >>> run_threads(lambda number: number**2, 3, 2, print)
    1
    2
    3
    [0, 1, 4]
    """
    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(task, number) for number in range(count)]
        try:
            for done, future in enumerate(as_completed(running), start=1):
                future.result()
                on_done(done)
        except BaseException:
            on_stop()
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in running]
