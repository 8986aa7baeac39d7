"""How many threads to use."""

import os

from enco.errors import SettingsError

__all__ = ["count_threads"]


def count_threads(n_jobs: int | None) -> int:
    """Translate `n_jobs` as joblib counts: None or -1 is every core this process may use, -2 all but one.

    Examples
    --------
    >>> count_threads(2), count_threads(None) == count_threads(-1)
    (2, True)
    """
    whole = type(n_jobs) is int  # not a truth value
    if n_jobs is not None and (n_jobs == 0 or not whole):
        raise SettingsError(
            f"the number of threads must be a whole number other than 0, or None for all; got {n_jobs!r}"
        )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
