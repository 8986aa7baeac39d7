"""`njit` for the kernels of this package: Numba's, except that its cache is a convenience and never a condition.

Numba keeps compiled kernels beside the package, or in the user's cache folder, so that only the first run compiles.
Where neither can be written (a read-only installation without a home, a full disk), `numba.njit(cache=True)` raises.
Kernels made by this `njit` then compile in every process, and the log says so once.
"""

import logging
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
        _tolerate_failures(kernel)
        return kernel

    return compiled


def _tolerate_failures(kernel: Any) -> None:
    """Let a kernel work although its cache cannot be read or written any more, for example on a full disk."""
    stored = getattr(kernel, "_cache", None)  # there is none when compiling is switched off (NUMBA_DISABLE_JIT)
    for name in ("load_overload", "save_overload"):
        if hasattr(stored, name):
            setattr(stored, name, _without_failing(getattr(stored, name)))


def _without_failing(access: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(access)
    def attempt(*arguments: Any) -> Any:
        try:
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
