"""Whether a file that is about to be written has room."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from enco.errors import EncoError
from enco.system.units import in_bytes

__all__ = ["check_disk"]


def check_disk(path: str | os.PathLike[str], needed: int, content: str) -> None:
    """Refuse to begin with a file that the disk has no room for.

    Parameters
    ----------
    path : path-like
        The file.
    needed : int
        Bytes it will have, about.
    content : str
        What is to be written, for the message.

    Examples
    --------
    >>> check_disk("a.npz", 10**30, "1,000 rows")
    Traceback (most recent call last):
        ...
    enco.errors.EncoError: cannot write a.npz: 1,000 rows take about 10^12 GB or more on disk and ... are free: ...
    """
    try:
        free = shutil.disk_usage(Path(path).absolute().parent).free
    except OSError:  # no such folder, which is said elsewhere, or a system that does not tell
        return
    if needed > free:
        raise EncoError(
            f"cannot write {path}: {content} take about {in_bytes(needed)} on disk and {in_bytes(free)} are free: "
            "write fewer rows, or to another disk"
        )
