"""Turning the rows of an npz member into codes and reals, block by block, or checking them where they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.data.checks import not_finite
from enco.data.variables import MAX_LEVELS, Codes, Kind, Level, Variable
from enco.errors import DataError, FileFormatError
from enco.io._archive import Archive, Member
from enco.io._encode import MAX_FLOAT_LEVELS

__all__ = ["BlockReader"]


class BlockReader:
    """Read the members of one file under one set of kinds, and learn the number of levels on the way.

    Parameters
    ----------
    archive : Archive
    names : sequence of str
    categorical : ndarray of bool, shape (N,)
    levels : sequence of tuple or None
        Known levels of each column.
    map_above : float
        Map members of at least this many bytes if their bytes can be used as they are.
    """

    def __init__(
        self,
        archive: Archive,
        names: Sequence[str],
        *,
        categorical: NDArray[np.bool_],
        levels: Sequence[tuple[Level, ...] | None],
        map_above: float,
    ) -> None:
        self._archive = archive
        self._names = names
        self._categorical = categorical
        self._levels = levels
        self._map_above = map_above
        self._largest = np.zeros(int(categorical.sum()), dtype=np.int64)  # largest code of each categorical column
        limits = [len(levels[column] or ()) or MAX_LEVELS for column in np.flatnonzero(categorical).tolist()]
        self._limits = np.array(limits, dtype=np.int64)
        self._from_floats = False
        self._missing = 0
        self._first_missing = ""

    def needed_bytes(self, member: Member) -> int:
        """Bytes of memory that the rows of a member will take."""
        whole = 2 * member.n_bytes if member.fortran else 0  # columns after columns are read at once, and turned
        if self._is_mapped(member):
            return whole
        code = 1 if member.dtype.itemsize == 1 else 2
        categorical = len(self._largest)
        per_row = code * categorical + 4 * (len(self._names) - categorical)
        return whole + math.prod(member.shape[:-1]) * per_row

    def read(self, member: Member) -> tuple[Codes, NDArray[np.float32]]:
        """Return codes [rows, categorical columns] and reals [rows, continuous columns]."""
        if member.dtype.kind not in "biuf":
            raise FileFormatError(
                f"{self._archive.path}: {member.key} holds {member.dtype}; save level indices as integers or "
                "values as floats"
            )
        self._from_floats |= member.dtype.kind == "f"
        rows = math.prod(member.shape[:-1])
        mapped = self._is_mapped(member)
        kept = 0 if mapped else rows
        codes: Codes = np.empty((kept, len(self._largest)), dtype=np.uint8)
        reals = np.empty((kept, len(self._names) - len(self._largest)), dtype=np.float32)
        for start, block in self._archive.row_blocks(member):
            part = slice(start, start + len(block))
            if len(self._largest):
                found = self._codes(block, member, start)
                if not mapped:
                    if codes.dtype == np.uint8 and self._largest.max() > 255:
                        codes = codes.astype(np.uint16)
                    codes[part] = found
            if reals.shape[1]:
                numbers = self._reals(block, member, start)
                if not mapped:
                    reals[part] = numbers
        if not mapped:
            return codes, reals
        whole = self._archive.map(member).reshape(rows, -1)
        if len(self._largest):
            return whole.view(np.uint8) if whole.dtype.kind == "b" else whole, np.empty((rows, 0), np.float32)
        return np.empty((rows, 0), np.uint8), whole

    def variables(self) -> list[Variable]:
        """Return the variables, once all members have been read."""
        if self._missing:
            raise DataError(f"{self._archive.path}: {self._first_missing.format(total=self._missing)}")
        largest = iter(self._largest.tolist())
        return [
            Variable(name, Kind.CATEGORICAL, self._levels_of(column, next(largest)))
            if self._categorical[column]
            else Variable(name, Kind.CONTINUOUS)
            for column, name in enumerate(self._names)
        ]

    def _levels_of(self, column: int, largest: int) -> tuple[Level, ...]:
        known = self._levels[column]
        if known is not None:
            return known
        if self._from_floats and largest >= MAX_FLOAT_LEVELS:
            raise DataError(
                f"{self._archive.path}: the float column {self._names[column]!r} is declared categorical "
                f"with level indices up to {largest}, more than {MAX_FLOAT_LEVELS} levels; leave it "
                "continuous or save integers"
            )
        return tuple(range(largest + 1))

    def _is_mapped(self, member: Member) -> bool:
        return self._as_it_is(member) and self._archive.can_map(member) and member.n_bytes >= self._map_above

    def _as_it_is(self, member: Member) -> bool:
        if self._categorical.all():
            return member.dtype in (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.bool_))
        return not self._categorical.any() and member.dtype == np.dtype(np.float32)

    def _codes(self, block: NDArray[Any], member: Member, start: int) -> NDArray[Any]:
        """Check the categorical columns of a block and note their largest codes."""
        part = block if self._categorical.all() else block[:, self._categorical]
        if part.dtype.kind == "b":
            part = part.view(np.uint8)
        if part.dtype.kind == "f":
            wrong = ~(np.isfinite(part) & (part == np.floor(part)))
            self._refuse(wrong, part, member, start, "which is no level index: save whole numbers")
        if part.dtype.kind != "u" and part.size and (part.min(axis=0) < 0).any():
            self._refuse(part < 0, part, member, start, "which is negative: number the levels 0, 1, 2, ...")
        largest = part.max(axis=0) if len(part) else self._largest
        if (largest >= self._limits).any():
            why = f"beyond its levels (there can be {MAX_LEVELS:,}): list all levels, or merge rare ones"
            self._refuse(part >= self._limits, part, member, start, why)
        self._largest = np.maximum(self._largest, largest.astype(np.int64))
        return part

    def _reals(self, block: NDArray[Any], member: Member, start: int) -> NDArray[np.float32]:
        """Convert the continuous columns of a block and count what is not finite."""
        part = block[:, ~self._categorical] if self._categorical.any() else block
        with np.errstate(over="ignore"):
            reals = part.astype(np.float32, copy=False)
        wrong = ~np.isfinite(reals)
        if wrong.any():
            row, slot = (int(index) for index in np.argwhere(wrong)[0])
            name = self._names[np.flatnonzero(~self._categorical)[slot]]
            where = self._where(member, start + row)
            if np.isfinite(part[row, slot]):
                raise DataError(
                    f"{self._archive.path}: variable {name!r} holds {part[row, slot]} in {where}, too large "
                    "for single precision; rescale it"
                )
            self._first_missing = self._first_missing or not_finite(name, where, part[row, slot])
            self._missing += int(wrong.sum())
        return reals

    def _refuse(self, wrong: NDArray[np.bool_], part: NDArray[Any], member: Member, start: int, why: str) -> None:
        if not wrong.any():
            return
        row, slot = (int(index) for index in np.argwhere(wrong)[0])
        name = self._names[np.flatnonzero(self._categorical)[slot]]
        raise DataError(
            f"{self._archive.path}: variable {name!r} holds {part[row, slot]} in "
            f"{self._where(member, start + row)}, {why}"
        )

    @staticmethod
    def _where(member: Member, row: int) -> str:
        if len(member.shape) < 3:
            return f"row {row} of {member.key}"
        return f"row {row % member.shape[1]} of {member.key}[{row // member.shape[1]}]"
