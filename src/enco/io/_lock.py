"""One writer per folder: a file in it says which process that is.

The lock is one that the kernel keeps for an open file (`flock`): it ends with the process that holds it, however that
ends, so that the file of a process that was killed is in nobody's way and numbers of processes that are used again
mislead nobody. It is advisory, which is enough, because all our writers ask for it. Where there is no such lock
(Windows; some network file systems), the existence of another file (`NAMED`) is the lock, and whether the process that
it names still lives decides.
"""

from __future__ import annotations

import os
import secrets
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from enco.errors import EncoError
from enco.io._atomic import naming_output

__all__ = ["LOCK", "NAMED", "locked"]

LOCK, NAMED = ".enco-lock", ".enco-lock-pid"

kernel_lock: Callable[[int, int], object] | None = None
with suppress(ImportError):  # on Windows
    import fcntl

    kernel_lock = fcntl.flock

_MODE = 0o666  # as the user's umask has it
_LONGEST_NOTE = 1_000
_ATTEMPTS = 100  # others may create and remove the file, or the folder, meanwhile


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a folder, which is created; refuse if another process, or another thread, holds it.

    The file of the lock goes at the end, and so does the folder if it was created here and is empty.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(folder), locked(folder):
    ...     pass
    Traceback (most recent call last):
        ...
    enco.errors.EncoError: ... is in use by process ..., which writes to it: wait for it to end, or choose another ...
    """
    place = Path(folder)
    created = _missing_folders(place)
    try:
        release = _acquire(place)
        try:
            yield
        finally:
            release()
    finally:
        with suppress(OSError):  # not empty, and that is well
            for each in created:
                each.rmdir()


def _acquire(folder: Path) -> Callable[[], None]:
    for _ in range(_ATTEMPTS):
        with naming_output(folder):
            _create(folder)
        with suppress(FileNotFoundError), naming_lock(folder):
            release = _try_to_lock(folder)
            if release is not None:
                return release
    raise EncoError(f"cannot write to {folder}: other processes create and remove {LOCK} in it all the time")


def _create(folder: Path) -> None:
    """Create a folder; if another process removes it at the same moment, the caller notices and tries again."""
    with suppress(FileNotFoundError):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:  # a file, or a folder that went before it could be looked at
            if not stat.S_ISDIR(os.stat(folder).st_mode):
                raise


@contextmanager
def naming_lock(folder: Path) -> Iterator[None]:
    """Name the file of the lock in a failure of the system, except that it has gone meanwhile.

    Examples
    --------
    >>> with naming_lock(Path("out")):
    ...     raise OSError(30, "Read-only file system")
    Traceback (most recent call last):
        ...
    enco.errors.EncoError: cannot write out/.enco-lock: Read-only file system
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise EncoError(f"cannot write {folder / LOCK}: {error.strerror or error}") from error


def _try_to_lock(folder: Path) -> Callable[[], None] | None:
    """Take the lock and return what releases it; None if the file was removed meanwhile: try again."""
    if kernel_lock is None:
        return _try_to_create(folder)
    path = folder / LOCK
    if path.is_symlink():
        path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), _MODE)
    try:
        try:
            kernel_lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refusal(folder, _Holder.read(descriptor)) from None
        except OSError:  # this file system knows no such locks
            path.unlink(missing_ok=True)
            return _try_to_create(folder)
        # A holder removes the file and only then lets go: what we have locked may be a file without a name.
        if not _is_the_file(path, descriptor):
            return None
        with suppress(OSError):  # the name is a courtesy, which a full disk may deny
            os.ftruncate(descriptor, 0)
            os.write(descriptor, _Holder.this().note())
        held, descriptor = descriptor, -1
    finally:
        if descriptor >= 0:
            os.close(descriptor)

    def release() -> None:
        path.unlink(missing_ok=True)
        os.close(held)

    return release


def _try_to_create(folder: Path) -> Callable[[], None] | None:
    """Take the lock by creating a file; None if one was there of a process that is no more: try again."""
    path = folder / NAMED
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    except FileExistsError:
        holder = _Holder.read_file(path)
        if not _is_stale(path, holder):
            raise _refusal(folder, holder, remedy=f"; if there is no such process, remove {path}") from None
        # Two may find the same stale file. Only one of them can rename it, and it looks whether it got what it meant.
        aside = path.with_name(f"{NAMED}.{secrets.token_hex(6)}.tmp")
        path.rename(aside)
        if _Holder.read_file(aside) != holder:
            with suppress(OSError):
                os.link(aside, path)
        aside.unlink(missing_ok=True)
        return None
    try:
        os.write(descriptor, _Holder.this().note())
    except OSError:  # without a name, the file would be in the way for ever
        os.close(descriptor)
        path.unlink(missing_ok=True)
        raise

    def release() -> None:
        os.close(descriptor)  # Windows removes no file that is open
        path.unlink(missing_ok=True)

    return release


@dataclass(frozen=True)
class _Holder:
    """The process that a lock file names; 0 if it does not say."""

    process: int = 0
    host: str = ""

    @classmethod
    def this(cls) -> _Holder:
        return cls(os.getpid(), socket.gethostname())

    def note(self) -> bytes:
        return f"{self.process} {self.host}\n".encode()

    @classmethod
    def of_note(cls, note: bytes) -> _Holder:
        process, _, host = note.decode("utf-8", "replace").strip().partition(" ")
        return cls(int(process), host) if process.isdecimal() and len(process) < 20 else cls()

    @classmethod
    def read(cls, descriptor: int) -> _Holder:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return cls.of_note(os.read(descriptor, _LONGEST_NOTE))

    @classmethod
    def read_file(cls, path: Path) -> _Holder:
        with path.open("rb") as file:
            return cls.of_note(file.read(_LONGEST_NOTE))

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    def __str__(self) -> str:
        if not self.process:
            return "another process"
        return f"process {self.process}" + ("" if self.is_here else f" on {self.host}")


def _is_stale(path: Path, holder: _Holder) -> bool:
    if not holder.process or not holder.is_here:
        return False  # a moment after its creation the file is still empty
    if os.name == "nt":
        # There, a file that its process still has open cannot be renamed (and os.kill would end the process).
        try:
            path.rename(path)
        except PermissionError:
            return False
        return True
    try:
        os.kill(holder.process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _is_the_file(path: Path, descriptor: int) -> bool:
    try:
        named = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(descriptor))


def _refusal(folder: Path, holder: _Holder, remedy: str = "") -> EncoError:
    return EncoError(
        f"{folder} is in use by {holder}, which writes to it: wait for it to end, or choose another folder{remedy}"
    )


def _missing_folders(folder: Path) -> list[Path]:
    """Return which folders on the way to this one do not exist yet, the innermost first."""
    missing = []
    with suppress(OSError):
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
    return missing
