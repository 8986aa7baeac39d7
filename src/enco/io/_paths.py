"""Files to read: they must exist, and what is wrong with them is said with their name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enco.errors import DataError, FileFormatError

__all__ = ["existing_file", "naming_file"]


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a readable file, or say which one is missing.

    Examples
    --------
    >>> existing_file("nowhere.npz")
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: nowhere.npz: there is no such file
    """
    found = Path(path)
    try:
        is_folder, exists = found.is_dir(), found.exists()
    except (OSError, ValueError) as error:  # too long, or not a path at all
        raise FileFormatError(f"{str(found)[:200]!r}: this cannot be the name of a file ({error})") from error
    if is_folder:
        raise FileFormatError(f"{found}: this is a folder, not a file")
    if not exists:
        raise FileFormatError(f"{found}: there is no such file")
    if not os.access(found, os.R_OK):
        raise FileFormatError(f"{found}: no permission to read this file")
    return found


@contextmanager
def naming_file(source: Path) -> Iterator[None]:
    """Put the name of the file in front of every complaint about its content.

    Examples
    --------
    >>> with naming_file(Path("a.csv")):
    ...     raise DataError("the data are empty")
    Traceback (most recent call last):
        ...
    enco.errors.DataError: a.csv: the data are empty
    """
    try:
        yield
    except DataError as error:
        if str(error).startswith(f"{source}: "):
            raise
        raise type(error)(f"{source}: {error}") from error
