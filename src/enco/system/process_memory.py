"""How much memory this process has used, how much there is, and whether that is enough."""

import sys
from pathlib import Path

from enco.system.units import in_bytes

__all__ = ["available_memory", "peak_memory", "shortage"]


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


def shortage(needed: int) -> str | None:
    """Say what is lacking if there is less memory than needed; None if there is enough, or the system does not say.

    Examples
    --------
    >>> shortage(10**18) is None or shortage(10**18)
    'needs about 1000000000.0 GB of memory and ... are free'
    >>> shortage(0)
    """
    available = available_memory()
    if available is None or needed <= available:
        return None
    return f"needs about {in_bytes(needed)} of memory and {in_bytes(available)} are free"


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
