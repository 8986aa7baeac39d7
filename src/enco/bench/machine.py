"""What a figure was measured on: machine, versions, memory, and the machine's arithmetic peak."""

import hashlib
import os
import platform
import time
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from enco._version import __version__
from enco.system.process_memory import peak_memory

__all__ = ["code_fingerprint", "machine", "peak_memory_mb", "reset_peak_memory", "single_precision_peak", "versions"]

_NO_PART_OF_RESULTS = ("bench", "cli", "plotting.py", "report")


@cache
def machine() -> dict[str, str | int]:
    """Name the processor and count its cores.

    Examples
    --------
    >>> sorted(machine())
    ['cores', 'cpu', 'system']
    """
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not on Linux
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {"cpu": models[0] if models else cpu, "cores": os.cpu_count() or 1, "system": platform.system()}


@cache
def versions() -> dict[str, str]:
    """List the versions that speed or results may depend on; PyTorch and zuko, for flows, where they are installed.

    Examples
    --------
    >>> sorted(versions())[:5]
    ['enco', 'llvmlite', 'numba', 'numpy', 'python']
    """
    libraries = {name: version(name) for name in ("llvmlite", "numba", "numpy", "scipy")}
    for name in ("torch", "zuko"):
        with suppress(PackageNotFoundError):
            libraries[name] = version(name)
    return {"enco": __version__, "python": platform.python_version(), **libraries}


@cache
def code_fingerprint() -> str:
    """Identify the code that simulates, fits and evaluates: records of other code are not quite comparable.

    Examples
    --------
    >>> len(code_fingerprint())
    12
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in _NO_PART_OF_RESULTS:
            digest.update(place.as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def reset_peak_memory() -> None:
    """Let `peak_memory_mb` count from now on, so that a job is not charged for those before it in the same process.

    Where the system cannot do that (it takes Linux), the peak stays that of the whole process.

    Examples
    --------
    >>> reset_peak_memory()
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory_mb() -> float | None:
    """Most megabytes this process has held at once, up to now; None where the system does not say.

    Examples
    --------
    >>> (peak_memory_mb() or 1.0) >= 1.0
    True
    """
    with suppress(OSError):  # not what `getrusage` says: that remembers, and knows about the parent process
        status = Path("/proc/self/status").read_text(encoding="ascii")
        kilobytes = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), None)
        if kilobytes is not None:
            return round(int(kilobytes) * 1024 / 1e6, 1)
    peak = peak_memory()
    return None if peak is None else round(peak / 1e6, 1)


def single_precision_peak(size: int = 768, repeats: int = 8) -> float:
    """Floating-point operations per second of one thread, in the best of several float32 matrix products.

    NumPy's BLAS runs its widest vector instructions, so this is close to what the processor can do.

    Examples
    --------
    >>> single_precision_peak(size=64, repeats=2) > 0
    True
    """
    from threadpoolctl import threadpool_limits

    left, right = np.random.default_rng(0).standard_normal((2, size, size), dtype=np.float32)
    product = np.empty_like(left)
    best = np.inf
    with threadpool_limits(limits=1, user_api="blas"):
        for _ in range(repeats + 1):  # the first one finds its memory cold
            started = time.perf_counter()
            np.matmul(left, right, out=product)
            best = min(best, time.perf_counter() - started)
    return float(2.0 * size**3 / best)
