"""`njit` for the kernels of this package: Numba's, except that its cache is a convenience and never a condition.

Numba keeps compiled kernels beside the package, or in the user's cache folder, so that only the first run compiles.
Where neither can be written (a read-only installation without a home, a full disk), `numba.njit(cache=True)` raises.
Kernels made by this `njit` then compile in every process, and the log says so once.

Numba compiles a kernel again when its own file changes. These kernels also do so when a file changes that holds a
kernel they call, or when they call other kernels: a head that is new must not be missing from machine code on disk.
"""

import logging
import os
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numba

__all__ = ["njit"]

_log = logging.getLogger(__name__)


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function like `numba.njit`; `cache` keeps the machine code wherever that is possible.

    Examples
    --------
    >>> @njit(nogil=True)
    ... def twice(number):
    ...     return 2 * number
    >>> twice(4)
    8
    """

    def compiled(function: Callable[..., Any]) -> Any:
        if not cache:
            return numba.njit(**options)(function)
        try:
            kernel = numba.njit(cache=True, **options)(function)
        except RuntimeError as error:
            if not str(error).startswith("cannot cache function"):
                raise
            _say_once()
            return numba.njit(**options)(function)
        _watch_callees(kernel)
        _tolerate_failures(kernel)
        return kernel

    return compiled


def _callees(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Kernels that a function calls, and those that they call, by file and name."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    found: dict[str, Callable[..., Any]] = {}
    for name in (*function.__code__.co_names, *cells):
        called = cells[name].cell_contents if name in cells else function.__globals__.get(name)
        callee = getattr(called, "py_func", None)
        if callee is not None:
            found |= {f"{callee.__code__.co_filename}:{callee.__qualname__}": callee, **_callees(callee)}
    return found


def _watch_callees(kernel: Any) -> None:
    """Make compiled code on disk out of date as soon as a kernel that it contains is."""
    file: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if not hasattr(file, "_source_stamp"):  # compiling is switched off, or another version of Numba
        return
    stamps = [file._source_stamp]
    for name, callee in _callees(kernel.py_func).items():
        try:
            status = os.stat(callee.__code__.co_filename)
        except OSError:  # not a file of its own, for example in an archive
            continue
        stamps.append((name, status.st_mtime_ns, status.st_size))
    file._source_stamp = tuple(stamps)


def _tolerate_failures(kernel: Any) -> None:
    """Let a kernel work although its cache cannot be read or written any more, for example on a full disk."""
    stored = getattr(kernel, "_cache", None)  # there is none when compiling is switched off (NUMBA_DISABLE_JIT)
    for name in ("load_overload", "save_overload"):
        if hasattr(stored, name):
            setattr(stored, name, _without_failing(getattr(stored, name), stored))


def _without_failing(access: Callable[..., Any], stored: Any) -> Callable[..., Any]:
    @wraps(access)
    def attempt(*arguments: Any) -> Any:
        try:
            try:
                return access(*arguments)
            except (AttributeError, ImportError, EOFError) as error:
                # Kept by another version of this package, in which some named tuple had another name or place.
                _log.debug("cache of kernels, started afresh: %s", error)
                stored._cache_file.flush()
                return access(*arguments)
        except OSError as error:
            _log.debug("cache of kernels: %s", error)
            _say_once()
            return None

    return attempt


@cache
def _say_once() -> None:
    _log.warning(
        "compiled kernels cannot be kept on disk, so that every run compiles anew: "
        "set NUMBA_CACHE_DIR to a folder that can be written"
    )
