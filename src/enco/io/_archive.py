"""Reading npz files with suspicion: every claim of a header is checked before memory is set aside.

An npz file is a zip archive of npy members. numpy's own loader trusts the shape in a member's header and
reads whole members; here members are read in blocks of rows or mapped into memory where they lie in the file.
"""

from __future__ import annotations

import lzma
import math
import os
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from enco.errors import EncoError, FileFormatError
from enco.io._paths import existing_file
from enco.system.process_memory import shortage

__all__ = ["LARGEST_RATIO", "LONGEST_TEXT", "Archive", "Member"]

LONGEST_TEXT = 1 << 16
"""Characters of one entry of an array of texts, such as a name."""

_BLOCK_BYTES = 1 << 23
LARGEST_RATIO = 1_100  # deflate cannot shrink anything by more than a factor of about 1,032
_END_SIGNATURE = b"PK\x05\x06"
_LONGEST_END = 22 + 65_535  # bytes of the end record with the longest comment
_IN_ZIP64 = 0xFFFF  # the number of members stands in another record
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    SyntaxError,
    TokenError,  # from the header reader, which tokenizes what Python 2 may have written
    NotImplementedError,
    RuntimeError,
    MemoryError,
    OverflowError,
)


@dataclass(frozen=True)
class Member:
    """One array of an npz file, as its header describes it."""

    key: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    header_bytes: int
    entry: zipfile.ZipInfo

    @property
    def n_bytes(self) -> int:
        """Size of the array in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def text_length(self) -> int:
        """Characters of one entry, 0 if these are no texts."""
        return self.dtype.itemsize // {"U": 4, "S": 1}[self.dtype.kind] if self.dtype.kind in "US" else 0


class Archive:
    """An open npz file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/a.npz", data_obs=np.arange(6).reshape(3, 2))
    ...     with Archive(f"{folder}/a.npz") as archive:
    ...         archive.member("data_obs").shape, archive.array("data_obs")[2].tolist()
    ((3, 2), [4, 5])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = existing_file(path)
        with self._naming():
            self._zip = zipfile.ZipFile(self.path)
            self._check_directory()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in self._zip.infolist()}
        self._file_bytes = self.path.stat().st_size

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def member(self, key: str) -> Member:
        """Read and check the header of one array."""
        if key not in self._entries:
            found = ", ".join(sorted(self._entries)[:8]) or "none"
            raise FileFormatError(f"{self.path}: there is no array {key!r}; the file has: {found}")
        entry = self._entries[key]
        with self._naming(key):
            self._check_entry(entry)
            with self._zip.open(entry) as stream:
                shape, fortran, dtype = _read_header(stream)
                header_bytes = stream.tell()
        member = Member(key, shape, dtype, fortran, header_bytes, entry)
        if dtype.hasobject:
            raise FileFormatError(
                f"{self.path}: the array {key!r} holds Python objects, which are never unpickled; "
                "save it as numbers or text"
            )
        if min(shape, default=0) < 0 or member.n_bytes != entry.file_size - header_bytes:
            raise FileFormatError(
                f"{self.path}: the array {key!r} claims the shape {shape} of {dtype} ({member.n_bytes:,} "
                f"bytes) but holds {entry.file_size - header_bytes:,} bytes; the file is damaged, write it "
                "again"
            )
        return member

    def array(self, key: str, *, longest_text: int = LONGEST_TEXT) -> NDArray[Any]:
        """Read one small array whole; what its shape must be, the caller has asked of `member`.

        Parameters
        ----------
        key : str
        longest_text : int
            Most characters of an entry.
        """
        member = self.member(key)
        if member.text_length > longest_text:
            raise FileFormatError(
                f"{self.path}: the array {key!r} has texts of {member.text_length:,} characters, there can be at most "
                f"{longest_text:,}; the file is damaged, write it again"
            )
        lacking = shortage(member.n_bytes)
        if lacking is not None:
            raise FileFormatError(f"{self.path}: the array {key!r} {lacking}: write a smaller one")
        with self._stream(member) as stream, self._naming(key):
            content = stream.read()
            flat = np.frombuffer(content, dtype=member.dtype)
            if member.dtype.kind == "U":  # NumPy takes any number for a character; Python then fails in odd places
                letters = np.frombuffer(content, dtype=np.dtype(np.uint32).newbyteorder(member.dtype.byteorder))
                if letters.max(initial=0) > sys.maxunicode:
                    raise ValueError("a text holds numbers that are no characters")
            return flat.reshape(member.shape, order="F" if member.fortran else "C")

    def row_blocks(self, member: Member) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield (first row, block [rows, columns]); leading axes are flattened into rows.

        Reading through the stream, not through a map, checks the checksum and leaves nothing in memory.
        """
        columns = member.shape[-1]
        if member.fortran:
            yield 0, np.ascontiguousarray(self.array(member.key)).reshape(-1, columns)
            return
        row_bytes = columns * member.dtype.itemsize
        step = max(1, _BLOCK_BYTES // max(1, row_bytes))
        rows = math.prod(member.shape[:-1])
        with self._stream(member) as stream:
            for start in range(0, rows, step):
                count = min(step, rows - start)
                with self._naming(member.key):
                    content = stream.read(count * row_bytes)
                    block = np.frombuffer(content, dtype=member.dtype).reshape(count, columns)
                yield start, block

    def can_map(self, member: Member) -> bool:
        """Whether the bytes of a member lie in the file as they would lie in memory."""
        stored = member.entry.compress_type == zipfile.ZIP_STORED
        return stored and not member.fortran and member.dtype.isnative and member.n_bytes > 0

    def map(self, member: Member) -> NDArray[Any]:
        """Map a member read-only where it lies in the file."""
        with self._naming(member.key), self.path.open("rb") as file:
            file.seek(member.entry.header_offset)
            signature, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            if signature != b"PK\x03\x04":
                raise zipfile.BadZipFile("bad local header")
        start = member.entry.header_offset + _LOCAL_HEADER.size + name_bytes + extra_bytes + member.header_bytes
        if start + member.n_bytes > self._file_bytes:
            raise FileFormatError(f"{self.path}: the array {member.key!r} is cut off; copy the file again")
        mapped = np.memmap(self.path, dtype=member.dtype, mode="r", offset=start, shape=member.shape)
        return mapped.view(np.ndarray)

    @contextmanager
    def _stream(self, member: Member) -> Iterator[IO[bytes]]:
        with self._naming(member.key):
            stream = self._zip.open(member.entry)
            stream.read(member.header_bytes)
        with stream:
            yield stream

    @contextmanager
    def _naming(self, key: str | None = None) -> Iterator[None]:
        """Turn whatever a damaged file provokes into one error that names it."""
        try:
            yield
        except EncoError:
            raise
        except _DAMAGE as error:
            what = f"the array {key!r} cannot be read" if key else "this is not a readable npz file"
            reason = " ".join(str(error).split()) or type(error).__name__
            raise FileFormatError(f"{self.path}: {what} ({reason[:200]}); damaged or another format?") from error

    def _check_directory(self) -> None:
        """Refuse a damaged directory, whose hidden or renamed members would silently be missing."""
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - _LONGEST_END))
            tail = file.read()
        end = tail.rindex(_END_SIGNATURE)
        announced = int.from_bytes(tail[end + 10 : end + 12], "little")
        found = len(self._zip.infolist())
        if announced not in (found, _IN_ZIP64):
            raise zipfile.BadZipFile(f"its directory lists {found} of {announced} arrays")
        for entry in self._zip.infolist():
            self._zip.open(entry).close()  # compares the two places that name a member

    def _check_entry(self, entry: zipfile.ZipInfo) -> None:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise zipfile.BadZipFile("it is neither stored nor deflated")
        limit = entry.compress_size
        if entry.compress_type == zipfile.ZIP_DEFLATED:
            limit = LARGEST_RATIO * entry.compress_size + 1_024
        if entry.compress_size > self._file_bytes or entry.file_size > limit:
            raise zipfile.BadZipFile(f"it claims {entry.file_size:,} bytes, more than the file can hold")


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"npy version {version} describes a structured array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # headers written by Python 2 are fine
        shape, fortran, dtype = readers[version](stream)
    return tuple(int(length) for length in shape), bool(fortran), dtype
