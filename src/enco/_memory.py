"""How much memory this process has used, how much there is, and a limit on how much more it may take."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["available_memory", "memory_limit", "peak_memory"]


def peak_memory() -> int | None:
    """Most bytes this process has held at once; None where the system does not say.

    Examples
    --------
    >>> (peak_memory() or 2**20) >= 2**20
    True
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else 1024 * int(peak)


def available_memory() -> int | None:
    """Bytes that this process can still take without swapping; None where the system does not say.

    Examples
    --------
    >>> (available_memory() or 2**20) >= 2**20
    True
    """
    limits = [_of_the_machine(Path("/proc/meminfo")), _of_the_container(Path("/sys/fs/cgroup"))]
    return min((limit for limit in limits if limit is not None), default=None)


def _of_the_machine(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def _of_the_container(group: Path) -> int | None:
    """Read what a container or a batch system leaves (cgroup version 2)."""
    try:
        return int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
    except (OSError, ValueError):  # no such group, or "max": no limit
        return None


@contextmanager
def memory_limit(more: int) -> Iterator[None]:
    """Let no request for memory in the block reach beyond `more` bytes; without effect except on Linux.

    For libraries in C that believe whatever size a damaged file claims. The limit holds for all threads.

    Examples
    --------
    >>> with memory_limit(2**30):
    ...     pass
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * os.sysconf("SC_PAGE_SIZE") + more
    if soft != resource.RLIM_INFINITY:
        limit = min(limit, soft)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
