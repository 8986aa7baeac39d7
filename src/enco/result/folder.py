"""The folder of a result, and how a new result takes the place of an old one in it.

A result is several files, and no file system exchanges several files at once. So the new files are written into a
folder of their own inside the folder (`NEW`); when they are complete, one rename makes it `NEXT`. That rename is the
exchange: before it the folder holds the old result, after it the new one, because whoever reads looks into `NEXT` first
(`result_in`). Then the files are put in their places, as links to those in `NEXT`, and `NEXT` goes. A process that is
killed on the way leaves `NEXT` complete, and the next one that writes to the folder ends its work (`recover`).

Only one process writes to a folder at a time (`enco.io._lock`); reading needs no lock.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enco.errors import EncoError
from enco.io._atomic import atomic_file, flush_folder, naming_output

__all__ = [
    "CHECKPOINT",
    "EDGES",
    "GRAPH",
    "HISTORY",
    "JOURNAL",
    "NETWORKS",
    "PAGE",
    "PARAMETERS",
    "REFITS",
    "STABILITY",
    "STABILITY_TABLE",
    "forget_checkpoint",
    "is_complete",
    "recover",
    "refuse_existing",
    "replacing",
    "result_in",
]

GRAPH, EDGES, HISTORY, PARAMETERS = "graph.json", "edges.csv", "history.csv", "parameters.npz"
NETWORKS = "networks.npz"  # beside them if `enco fit` wrote them: refits begin with these
STABILITY, STABILITY_TABLE = "stability.json", "stability.csv"  # if the fit was asked for it
PAGE = "report.html"  # likewise
REFITS = "refits.journal"  # those that are done, until all are
CHECKPOINT = "checkpoint.npz"  # of a fit that is not finished: Algorithm 1 ...
JOURNAL = "checkpoint.journal"  # ... and what follows it

NEW, NEXT = ".enco-new", ".enco-next"

_OWN = (EDGES, HISTORY, PARAMETERS, NETWORKS, STABILITY, STABILITY_TABLE)  # all that come and go with GRAPH


def result_in(folder: Path) -> Path:
    """Return where the files of a folder's result are: in the folder, unless an exchange was cut short.

    Examples
    --------
    >>> result_in(Path("nowhere")) == Path("nowhere")
    True
    """
    following = folder / NEXT
    return following if _is_folder(following) and (following / GRAPH).exists() else folder


def is_complete(folder: Path) -> bool:
    """Whether a folder holds a finished result.

    Examples
    --------
    >>> is_complete(Path("nowhere"))
    False
    """
    return (result_in(folder) / GRAPH).exists()


def forget_checkpoint(folder: Path) -> None:
    """Remove what a fit would need to go on, once it is finished.

    Examples
    --------
    >>> forget_checkpoint(Path("nowhere"))
    """
    for name in (JOURNAL, CHECKPOINT):  # a journal alone is of no use to anybody
        (folder / name).unlink(missing_ok=True)


def refuse_existing(folder: Path, *, overwrite: bool) -> None:
    """Refuse to replace a result unless that is allowed.

    Examples
    --------
    >>> refuse_existing(Path("nowhere"), overwrite=False)
    """
    if is_complete(folder) and not overwrite:
        raise EncoError(f"{folder} holds a result already: choose another folder or allow overwriting (overwrite=True)")


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield an empty folder for the files of a new result, which replaces the old one if the block succeeds.

    Files of the old result that the new one lacks go with it; files that are no part of a result stay.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     with replacing(folder) as new:
    ...         _ = (new / "graph.json").write_text("{}")
    ...         before = is_complete(folder)
    ...     before, is_complete(folder), [path.name for path in folder.iterdir()]
    (False, True, ['graph.json'])
    """
    recover(folder)
    new = folder / NEW
    try:
        with naming_output(new):
            new.mkdir()
        yield new
        with naming_output(folder):
            flush_folder(new)
            os.rename(new, folder / NEXT)  # from here on the new result is the one that counts
            flush_folder(folder)
    finally:
        _remove(new)
    _put_in_place(folder)


def recover(folder: Path) -> None:
    """End an exchange that was cut short, and remove what killed processes left half written.

    Examples
    --------
    >>> recover(Path("nowhere"))
    """
    _put_in_place(folder)
    _remove(folder / NEW)
    for name in (CHECKPOINT, GRAPH, PAGE, *_OWN):
        for leftover in folder.glob(f".{name}.*.tmp"):
            with naming_output(leftover):
                leftover.unlink(missing_ok=True)


def _put_in_place(folder: Path) -> None:
    """Move the result in `NEXT` to its place; begun again after any interruption, it ends the same."""
    source = folder / NEXT
    if result_in(folder) != source:
        _remove(source)
        return
    # A page without a result beside it is somebody else's. GRAPH comes last, so that this is known to the end.
    replaced = [*_OWN, PAGE] if os.path.lexists(folder / GRAPH) else _OWN
    for name in (*replaced, PAGE, GRAPH):
        with naming_output(folder / name):
            if (source / name).exists():
                _link(source / name, folder / name)
            elif name in replaced:
                (folder / name).unlink(missing_ok=True)
    with naming_output(folder):
        flush_folder(folder)
        os.rename(source, folder / NEW)  # a folder is not removed at once, and half of NEXT must never count
    _remove(folder / NEW)


def _link(source: Path, place: Path) -> None:
    """Let `place` be the file that `source` is, which stays; a copy where the file system knows no links."""
    temporary = place.with_name(f".{place.name}.link.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:
        with atomic_file(place, overwrite=True, follow_links=False) as copy:
            shutil.copyfile(source, copy)
        return
    os.replace(temporary, place)
    temporary.unlink(missing_ok=True)  # a rename between two links to one file does nothing


def _remove(folder: Path) -> None:
    if _is_folder(folder):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        with naming_output(folder):
            folder.unlink(missing_ok=True)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
