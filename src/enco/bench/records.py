"""Records of finished work as JSON lines: one line per job, found again by the job's key."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from enco.errors import EncoError, FileFormatError
from enco.io._atomic import naming_output

__all__ = ["Record", "Store", "key_of"]

Record = dict[str, Any]
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

    A line that was cut off when its writer was killed is ignored: its job counts as not done.

    Parameters
    ----------
    path : path-like, optional
        Is created when the first record is added.

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

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.records: dict[str, Record] = {}
        if self.path is None:
            return
        if self.path.is_dir():
            raise EncoError(f"cannot write {self.path}: it is a folder, give a file name")
        if not self.path.parent.is_dir():
            raise EncoError(f"cannot write {self.path}: the folder {self.path.parent} does not exist, create it first")
        if self.path.exists():
            self.records = _read(self.path)

    def add(self, record: Record) -> None:
        """Append a record, which has a ``key``, and flush it to disk."""
        line = json.dumps({"key": record["key"], **record}, allow_nan=False)
        self.records[record["key"]] = record
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


def _read(path: Path) -> dict[str, Record]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: this is not a file of benchmark records; choose another --out") from None
    records = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            record = None
        if isinstance(record, dict) and isinstance(record.get("key"), str):
            records[record["key"]] = record
        elif not line.startswith(_OPENING) and not _OPENING.startswith(line):
            raise FileFormatError(f"{path}: line {number} is no benchmark record; choose another --out")
    return records
