"""Records of finished work as JSON lines: one line per job, found again by the job's key."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from enco.bench.record_fields import wrong_field
from enco.errors import EncoError, FileFormatError
from enco.io._atomic import naming_output

__all__ = ["DONE", "Record", "Store", "key_of", "open_folder", "read_folder"]

Record = dict[str, Any]
DONE = "done"  # the status of a record that has results
_OPENING = '{"key": '  # how every line begins


def key_of(content: Record) -> str:
    """Name a job by its content: the same inputs have the same key, whatever their order.

    Examples
    --------
    >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Store:
    """A file of records that only grows; without a path, records are kept in memory only.

    A line that was cut off when its writer was killed is ignored: its job counts as not done. Of several records of one
    job, the newest with results counts.

    Parameters
    ----------
    path : path-like, optional
        Is created when the first record is added.
    known : iterable of path-like
        Other files of records that count as well.

    Attributes
    ----------
    records : dict
        By key.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Store(f"{folder}/a.jsonl").add({"key": "k", "shd": 0})
    ...     Store(f"{folder}/a.jsonl").records
    {'k': {'key': 'k', 'shd': 0}}
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, known: Iterable[str | os.PathLike[str]] = ()
    ) -> None:
        self.path = None if path is None else Path(path)
        self.records: dict[str, Record] = {}
        for other in known:
            self._keep(_read(Path(other)))
        if self.path is None:
            return
        if self.path.is_dir():
            raise EncoError(f"cannot write {self.path}: it is a folder, give a file name")
        if not self.path.parent.is_dir():
            raise EncoError(f"cannot write {self.path}: the folder {self.path.parent} does not exist, create it first")
        if self.path.exists():
            self._keep(_read(self.path))

    def done(self, key: str) -> bool:
        """Tell whether there are results of a job."""
        return key in self.records and _has_results(self.records[key])

    def add(self, record: Record) -> None:
        """Append a record, which has a ``key``, and flush it to disk."""
        line = json.dumps({"key": record["key"], **record}, allow_nan=False)
        self._keep([record])
        if self.path is None:
            return
        with naming_output(self.path), self.path.open("ab+") as file:
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # after a line that was cut off
                    file.write(b"\n")
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _keep(self, records: Iterable[Record]) -> None:
        for record in records:
            old = self.records.get(record["key"])
            if old is None or _rank(record) >= _rank(old):
                self.records[record["key"]] = record


def open_folder(folder: str | os.PathLike[str], name: str) -> Store:
    """Open the records of a folder, which is created if needed: all files count, new records go to ``NAME.jsonl``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_folder(f"{folder}/results", "table1").add({"key": "k", "status": "done"})
    ...     open_folder(f"{folder}/results", "partial").done("k")
    True
    """
    place = Path(folder)
    with naming_output(place):
        place.mkdir(parents=True, exist_ok=True)
    return Store(place / f"{name}.jsonl", known=sorted(place.glob("*.jsonl")))


def read_folder(folder: str | os.PathLike[str]) -> Store:
    """Read the records of a folder; new ones would not be written.

    Examples
    --------
    >>> read_folder("nowhere")
    Traceback (most recent call last):
    ...
    enco.errors.EncoError: nowhere: there is no such folder; "enco bench run" makes records
    """
    place = Path(folder)
    if not place.is_dir():
        raise EncoError(f'{place}: there is no such folder; "enco bench run" makes records')
    return Store(known=sorted(place.glob("*.jsonl")))


def _has_results(record: Record) -> bool:
    return bool(record.get("status", DONE) == DONE)


def _rank(record: Record) -> tuple[bool, str]:
    return _has_results(record), str(record.get("finished", ""))


def _read(path: Path) -> list[Record]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: this is not a file of benchmark records; choose another --out") from None
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and isinstance(record.get("key"), str):
            wrong = wrong_field(record)
            if wrong is not None:
                raise FileFormatError(
                    f"{path}: line {number}: the field {wrong}; remove that line and run its job again"
                )
            records.append(record)
        elif not line.startswith(_OPENING) and not _OPENING.startswith(line):
            raise FileFormatError(f"{path}: line {number} is no benchmark record; choose another --out")
    return records
