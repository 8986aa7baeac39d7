"""Look at an HDF5 file, and say what reading it takes: python _hdf5_probe.py FILE MOST_BYTES.

The HDF5 library believes whatever sizes a damaged file claims, and can end the process where texts of varying length
point to places outside of it. `enco.io.anndata` therefore lets a process of its own look first. This process limits its
own memory, since a limit holds for all threads and would disturb whoever reads files in several of them.

Printed is one line of JSON: ``arrays``, the bytes that each array claims; ``texts``, the bytes of all texts as Python
holds them; ``excessive``, the name of what did not fit the limit, or null. Nothing but claims is looked at if an array
claims more than MOST_BYTES. This file imports nothing of the package, so that it starts quickly.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py

SPARE_BYTES = 1 << 29  # for the libraries, attributes, and one piece of an array
PIECE = 4096  # rows of texts that are read together
TEXT_BYTES = 64  # of a Python text, besides its characters
DEFLATE_RATIO = 1_032  # of deflate
HARMLESS_BYTES = 1 << 28  # that one chunk may become
FAMILIAR = {  # filters that inflate by no more than DEFLATE_RATIO
    h5py.h5z.FILTER_DEFLATE,
    h5py.h5z.FILTER_SHUFFLE,
    h5py.h5z.FILTER_FLETCHER32,
    h5py.h5z.FILTER_LZF,
}


class ExcessiveError(Exception):
    """Reading something took more memory than it should."""


def main(path: str, most_bytes: int) -> None:
    """Print what there is; other errors than those of memory are left to whoever reads the file in earnest."""
    report: dict[str, Any] = {"arrays": {}, "texts": 0, "excessive": None}
    with contextlib.suppress(OSError, RuntimeError, ValueError, KeyError), h5py.File(path) as file:
        limit_memory(SPARE_BYTES)
        try:
            entries = dict(walk(file))
            arrays = {name: entry for name, entry in entries.items() if isinstance(entry, h5py.Dataset)}
            report["arrays"] = {name: claimed_bytes(array) for name, array in arrays.items()}
            if max(report["arrays"].values(), default=0) <= most_bytes:
                for name, entry in entries.items():
                    read_attributes(name, entry)
                report["texts"] = sum(read_array(name, array) for name, array in arrays.items())
        except ExcessiveError as error:
            report["excessive"] = str(error)
    sys.stdout.write(json.dumps(report))


def limit_memory(more: int) -> None:
    """Let no request of this process reach beyond so many more bytes; without effect except on Linux."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = used + more
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def walk(file: h5py.File) -> Iterator[tuple[str, Any]]:
    """Go through the file, its groups and its arrays."""
    yield "/", file
    entries: dict[str, Any] = {}
    with heeding_memory("/"):
        file.visititems(entries.__setitem__)
    yield from entries.items()


def claimed_bytes(array: h5py.Dataset) -> int:
    """Bytes that an array, or one chunk of it, claims."""
    try:
        return max(int(array.nbytes), chunk_bytes(array))
    except Exception:  # a damaged type or shape, which fails again in earnest
        return 0


def chunk_bytes(array: h5py.Dataset) -> int:
    """Bytes of one chunk."""
    size = array.dtype.itemsize if array.chunks else 0
    for length in array.chunks or ():
        size *= int(length)
    return size


def read_attributes(name: str, entry: h5py.HLObject) -> None:
    """Read all attributes of an object."""
    keys: list[str] = []
    with heeding_memory(name):
        keys += entry.attrs
    for key in keys:
        with heeding_memory(name):
            entry.attrs[key]


def read_array(name: str, array: h5py.Dataset) -> int:
    """Read an array of texts, piece by piece, and what may inflate; return the bytes of the texts."""
    total = 0
    with heeding_memory(name):
        if may_inflate(array):
            inflate(name, array)
        if array.dtype.kind == "O":
            for piece in pieces(array, PIECE):
                total += sum(TEXT_BYTES + len(text) for text in flat(piece) if isinstance(text, bytes))
    return total


def inflate(name: str, array: h5py.Dataset) -> None:
    """Read every chunk; whatever fails, since the HDF5 library does not say why a filter failed."""
    limit_memory(SPARE_BYTES + 3 * chunk_bytes(array))
    try:
        for _ in pieces(array, array.chunks[0]):
            pass
    except Exception:
        raise ExcessiveError(name) from None
    limit_memory(SPARE_BYTES)


def pieces(array: h5py.Dataset, rows: int) -> Iterator[Any]:
    """Read an array some rows at a time."""
    if array.shape == ():
        yield array[()]
    for start in range(0, array.shape[0] if array.shape else 0, rows):
        yield array[start : start + rows]


def flat(piece: Any) -> Any:
    """Return the cells of a piece one after the other."""
    return piece.ravel() if hasattr(piece, "ravel") else [piece]


def may_inflate(array: h5py.Dataset) -> bool:
    """Whether a chunk can become larger than is harmless: small ones cannot, by the nature of the usual filters."""
    filters = array.id.get_create_plist()
    codes = {filters.get_filter(place)[0] for place in range(filters.get_nfilters())}
    if not codes or not all(map(h5py.h5z.filter_avail, codes)):  # one that is not installed cannot be read at all
        return False
    if not codes <= FAMILIAR:
        return True
    sizes = [0]
    array.id.chunk_iter(lambda chunk: sizes.append(chunk.size))
    return max(sizes) * DEFLATE_RATIO > HARMLESS_BYTES


@contextlib.contextmanager
def heeding_memory(name: str) -> Iterator[None]:
    """Turn a refusal of memory into one error with the name of what was read; other errors end the block only."""
    try:
        yield
    except MemoryError:
        raise ExcessiveError(name) from None
    except ExcessiveError:
        raise
    except Exception as error:
        if "alloc" in str(error):  # how the HDF5 library says it
            raise ExcessiveError(name) from None


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
