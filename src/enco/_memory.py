"""How much memory this process has used."""

import sys

__all__ = ["peak_memory"]


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
