"""What has been computed after Algorithm 1, so that a fit that was stopped there goes on instead of starting over.

These stages have no randomness: begun again, each variable asks the same expensive questions in the same order. So the
answers are kept in that order, one sequence for each asker, and a stage that begins again takes them from the journal
until they are used up. What it computes from then on is what it would have computed without the interruption.
"""

import hashlib
import io
import json
import os
import struct
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import read_array, write_array
from numpy.typing import NDArray

from enco.conditionals.base import ConditionalModel
from enco.io._atomic import naming_output

__all__ = ["FileJournal", "Journal"]

Arrays = Sequence[NDArray[Any]]

_HEADER = struct.Struct("<8sQ16s")  # mark, bytes of the record, digest of the record
_MARK = b"enco-ans"


class Journal:
    """A journal that keeps nothing: every answer is computed.

    Examples
    --------
    >>> Journal().ask("X1", lambda: [np.arange(2)])
    [array([0, 1])]
    """

    def ask(self, asker: str, compute: Callable[[], Arrays]) -> Arrays:
        """Return the next answer to an asker, known or computed now.

        Parameters
        ----------
        asker : str
            Whoever asks one question after the other, always the same ones; no two threads may be one asker.
        compute : callable
            Answers the question: arrays of numbers.
        """
        return compute()

    def train(self, asker: str, model: ConditionalModel, fit: Callable[[], object]) -> None:
        """Let a model learn, or take over what it has learned before."""
        fit()


class FileJournal(Journal):
    """A journal in a file, to which every answer is added as soon as it is known.

    A record that a killed process has left unfinished ends the file; it is cut off.

    Parameters
    ----------
    path : path-like
    identity : str
        What the answers depend on. A file of another identity is begun anew.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number in range(3):
    ...         with FileJournal(f"{folder}/journal", "this fit") as journal:
    ...             first = journal.ask("X1", lambda: [np.array(0)])
    ...             second = journal.ask("X1", lambda: [np.array(number)])
    ...         print(second)
    [array(0)]
    [array(0)]
    [array(0)]
    """

    def __init__(self, path: str | os.PathLike[str], identity: str) -> None:
        self._path = Path(path)
        self._known: dict[str, deque[Arrays]] = {}
        self._lock = threading.Lock()
        with naming_output(self._path):
            end = self._read(identity)
            if self._path.is_symlink():  # nobody who names a folder means a file elsewhere
                self._path.unlink()
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o666)
            os.ftruncate(self._file, end)
            os.lseek(self._file, end, os.SEEK_SET)
        if not end:
            self._write("identity", [np.array(identity)])

    def __enter__(self) -> "FileJournal":
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            os.close(self._file)
            self._file = -1

    def ask(self, asker: str, compute: Callable[[], Arrays]) -> Arrays:
        """Return the next answer to an asker, known or computed now."""
        waiting = self._known.get(asker)
        if waiting:
            return waiting.popleft()
        answer = compute()
        self._write(asker, answer)
        return answer

    def train(self, asker: str, model: ConditionalModel, fit: Callable[[], object]) -> None:
        """Let a model learn, or take over what it has learned before."""
        names = list(model.state())
        if self._known.get(asker):
            model.restore(dict(zip(names, self.ask(asker, list), strict=True)))
        else:
            fit()
            self._write(asker, list(model.state().values()))

    def _write(self, asker: str, answer: Arrays) -> None:
        with io.BytesIO() as content:
            write_array(content, np.array(json.dumps([asker, len(answer)])), allow_pickle=False)
            for array in answer:
                write_array(content, np.asarray(array), allow_pickle=False)
            record = content.getvalue()
        whole = _HEADER.pack(_MARK, len(record), _digest(record)) + record
        with self._lock, naming_output(self._path):
            if self._file >= 0:
                _write_all(self._file, whole)

    def _read(self, identity: str) -> int:
        """Take over the answers of a journal of this identity; return where its last whole record ends."""
        end = 0
        if self._path.is_symlink():
            return end
        try:
            with self._path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                while len(header := file.read(_HEADER.size)) == _HEADER.size:
                    mark, length, digest = _HEADER.unpack(header)
                    if mark != _MARK or length > size - file.tell():
                        break
                    record = file.read(length)
                    if _digest(record) != digest:
                        break
                    asker, answer = _parsed(record)
                    if end == 0 and (asker, str(answer[0])) != ("identity", identity):
                        return 0
                    self._known.setdefault(asker, deque()).append(answer)
                    end = file.tell()
        except FileNotFoundError:
            return 0
        except (ValueError, TypeError, EOFError):  # of another program, or another version of this one
            self._known.clear()
            return 0
        return end


def _digest(record: bytes) -> bytes:
    return hashlib.blake2b(record, digest_size=16).digest()


def _parsed(record: bytes) -> tuple[str, Arrays]:
    with io.BytesIO(record) as content:
        asker, count = json.loads(str(read_array(content, allow_pickle=False)))
        return str(asker), [read_array(content, allow_pickle=False) for _ in range(count)]


def _write_all(file: int, data: bytes) -> None:
    """Write in one piece where the system allows it: Python handles a Ctrl-C between two calls only."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
