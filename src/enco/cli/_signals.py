"""Signals that end a fit: both like Ctrl-C, and never in the middle of a file."""

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["held_back", "never_ignored", "stopped_like_ctrl_c"]

REPEAT_AFTER = 0.05  # seconds: by then Python has left the callback that ignored the interruption


@contextmanager
def stopped_like_ctrl_c() -> Iterator[None]:
    """Treat the signal by which systems end a job (SIGTERM) like Ctrl-C.

    Examples
    --------
    >>> try:
    ...     with stopped_like_ctrl_c():
    ...         signal.raise_signal(signal.SIGTERM)
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    """
    if not _can_handle_signals():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def held_back() -> Iterator[None]:
    """Let signals that would interrupt the block take effect after it.

    Examples
    --------
    >>> try:
    ...     with held_back():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("written")
    ... except KeyboardInterrupt:
    ...     print("stopped")
    written
    stopped
    """
    if not _can_handle_signals():
        yield
        return
    arrived: list[signal.Signals] = []
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in previous.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, frame: arrived.append(signal.Signals(number)))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in arrived:
        handlers[number](number, None)


@contextmanager
def never_ignored() -> Iterator[None]:
    """Repeat an interruption that Python ignores.

    Python drops exceptions inside callbacks of weak references, finalizers and C libraries. A Ctrl-C that
    arrives there, as it may during an import, would have no effect; here it arrives once more a moment later.

    Examples
    --------
    >>> import time, weakref
    >>> class Thing: ...
    >>> thing = Thing()
    >>> watcher = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    >>> try:
    ...     with never_ignored():
    ...         del thing
    ...         time.sleep(10)
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    """
    if not _can_handle_signals():
        yield
        return
    previous = sys.unraisablehook

    def repeat(ignored: "sys.UnraisableHookArgs") -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            timer = threading.Timer(REPEAT_AFTER, _interrupt_main_thread)
            timer.daemon = True
            timer.start()
        else:
            previous(ignored)

    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = previous


def _interrupt_main_thread() -> None:
    """Send Ctrl-C to the main thread; a real signal, where there are any, also ends a wait."""
    if hasattr(signal, "pthread_kill"):
        main = threading.main_thread().ident
        assert main is not None, "the main thread has started"
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _can_handle_signals() -> bool:
    return threading.current_thread() is threading.main_thread()
