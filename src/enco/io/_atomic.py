"""Writing a file so that a reader sees either nothing or all of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from enco.errors import EncoError

__all__ = ["AtomicFile", "atomic_file", "flush_folder", "naming_output"]


class AtomicFile:
    """A temporary file beside `path` that takes its place when it is complete.

    The temporary file lies in the same folder, because a rename is atomic only within one file system; it is
    flushed to disk before the rename, so that a power cut leaves the old file or the new one.

    Parameters
    ----------
    path : path-like
        Where the finished file goes.
    overwrite : bool
        Whether an existing file may be replaced.
    follow_links : bool
        What to do if there is a symbolic link in that place. It is followed where a user names the file himself: he may
        want to write where it points. It must be replaced where this package chooses the name within a folder
        (False): nobody who says "write to this folder" means a file elsewhere. Links to folders on the way are
        always followed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = AtomicFile(f"{folder}/notes.txt")
    ...     _ = file.temporary.write_text("done")
    ...     before = file.path.exists()
    ...     file.commit()
    ...     before, file.path.read_text()
    (False, 'done')
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False, follow_links: bool = True) -> None:
        given = Path(path)
        self.path = Path(os.path.realpath(given if follow_links else given.parent))
        if not follow_links:
            self.path /= given.name
        self.overwrite = overwrite
        self._refuse_existing()
        if not self.path.parent.is_dir():
            raise EncoError(f"cannot write {self.path}: the folder {self.path.parent} does not exist, create it first")
        self.temporary = self.path.with_name(f".{self.path.name[:100]}.{secrets.token_hex(6)}.tmp")
        with naming_output(self.path):
            # Created here, with the permissions that the user's umask gives to any new file.
            os.close(os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))

    def commit(self) -> None:
        """Flush the temporary file to disk and move it to its place."""
        self._refuse_existing()
        with naming_output(self.path):
            _flush(self.temporary)
            os.replace(self.temporary, self.path)
            flush_folder(self.path.parent)

    def discard(self) -> None:
        """Remove the temporary file."""
        self.temporary.unlink(missing_ok=True)

    def _refuse_existing(self) -> None:
        with naming_output(self.path):  # a name may be too long even to ask
            is_folder = self.path.is_dir() and not self.path.is_symlink()
            exists = os.path.lexists(self.path)
        if is_folder:
            raise EncoError(f"cannot write {self.path}: it is a folder, give a file name")
        if exists and not self.overwrite:
            raise EncoError(f"{self.path} exists already: choose another name or allow overwriting (overwrite=True)")


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, overwrite: bool = False, follow_links: bool = True) -> Iterator[Path]:
    """Yield the path of a temporary file that becomes `path` if the block succeeds; arguments as of `AtomicFile`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(f"{folder}/notes.txt") as temporary:
    ...         _ = temporary.write_text("done")
    ...     [entry.name for entry in pathlib.Path(folder).iterdir()]
    ['notes.txt']
    """
    file = AtomicFile(path, overwrite=overwrite, follow_links=follow_links)
    try:
        with naming_output(file.path):
            yield file.temporary
        file.commit()
    finally:
        file.discard()


@contextmanager
def naming_output(path: Path) -> Iterator[None]:
    """Turn a failure of the system (no space, no permission) into an error that names the file.

    Examples
    --------
    >>> with naming_output(Path("a.npz")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
        ...
    enco.errors.EncoError: cannot write a.npz: No space left on device
    """
    try:
        yield
    except OSError as error:
        raise EncoError(f"cannot write {path}: {error.strerror or error}") from error


def flush_folder(folder: Path) -> None:
    """Wait until the list of the files in a folder is on the disk.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     flush_folder(Path(folder))
    """
    with suppress(OSError):  # some file systems cannot flush a folder; the data themselves are safe
        _flush(folder)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
