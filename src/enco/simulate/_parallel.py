"""Run independent tasks on a few threads and hand back their results in order, holding only a few."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import numba

__all__ = ["ordered_map"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def ordered_map(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """Yield function(task) for every task, in order, computing ahead on as many threads as Numba may use.

    At most two results per thread wait to be taken, so a slow consumer (a disk) limits memory, not speed.

    Examples
    --------
    >>> list(ordered_map(abs, [-3, 2, -1]))
    [3, 2, 1]
    """
    threads = numba.get_num_threads()
    remaining = iter(tasks)
    first = list(islice(remaining, 2))
    if threads == 1 or len(first) < 2:  # no gain from a pool
        for task in (*first, *remaining):
            yield function(task)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        started = [*first, *islice(remaining, 2 * threads - 2)]
        waiting: deque[Future[Result]] = deque(pool.submit(function, task) for task in started)
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(pool.submit(function, task) for task in islice(remaining, 1))
            yield result
    finally:
        pool.shutdown(cancel_futures=True)
