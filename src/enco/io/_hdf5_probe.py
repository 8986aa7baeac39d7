"""Read every attribute and every text of an HDF5 file: python _hdf5_probe.py FILE.

The HDF5 library can end the process on a damaged file, most of all where texts of varying length point to places
outside of it. `enco.io.anndata` therefore lets a process of its own look first. This file imports nothing of the
package, so that it starts quickly.
"""

import contextlib
import sys

import h5py

MOST_BYTES = 1 << 29  # of pointers to texts; a damaged file can claim any number


def main(path: str) -> None:
    """Look at everything but the numbers; errors do not matter here, only whether the process survives."""
    with contextlib.suppress(Exception), h5py.File(path) as file:
        look(file)
        file.visititems(lambda name, entry: look(entry))


def look(entry: h5py.HLObject) -> None:
    """Read the attributes of an object, and its content if that is text."""
    for name in entry.attrs:
        with contextlib.suppress(Exception):
            entry.attrs[name]
    with contextlib.suppress(Exception):
        if isinstance(entry, h5py.Dataset) and entry.dtype.kind == "O" and entry.nbytes < MOST_BYTES:
            entry[()]


if __name__ == "__main__":
    main(sys.argv[1])
