"""npz files to and from `InterventionalData`.

Keys of a file, all plain arrays (objects are never unpickled):

===============  ===========  ================================================================================
key              shape        meaning
===============  ===========  ================================================================================
``data_obs``     [M, N]       observational rows
``data_int``     [T, K, N]    K rows of each of T intervention regimes (optional)
``targets``      [T]          the column, or the name, that regime t intervenes on (default: column t)
``names``        [N]          names of the columns (default: X1, X2, ...)
``adj_matrix``   [N, N]       the true graph, row = cause (optional, read by `enco.io.read_graph`)
===============  ===========  ================================================================================

Integers are level indices (the levels are 0 to the largest index anywhere in the column, over all regimes),
truth values have two levels, floats are continuous. What this cannot say is said by further keys, which
`write_npz` adds:

===============  ===========  ================================================================================
key              shape        meaning
===============  ===========  ================================================================================
``kinds``        [N]          ``categorical`` or ``continuous``; mixed data are stored as floats, with level
                              indices in the categorical columns
``levels``       []           JSON text: for each column the list of its levels, or null
``target_mask``  [T, N]       the targets of regimes with several of them, instead of ``targets``
``regime_rows``  [T]          regimes of unequal size: ``data_int`` is [sum of rows, N], one after another
``conditions``   []           JSON text: for each regime its label, whether its targets are unknown, and what is
                              said of the intervention; only if one of them has a label
``context``      [N]          which columns describe the circumstances of a row; only if there are such columns
===============  ===========  ================================================================================
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.data import InterventionalData
from enco.data.checks import check_names
from enco.data.variables import CLAIMS, MAX_LEVELS, AnyKind, Condition, Kind, Level, Regime, Variable
from enco.errors import DataError, FileFormatError
from enco.io._archive import Archive, Member
from enco.io._blocks import BlockReader
from enco.io._build import check_overrides, default_names
from enco.io._paths import naming_file
from enco.io._targets import resolve_targets
from enco.io.stream import NpzStream
from enco.system.process_memory import shortage

__all__ = ["MAP_ABOVE_BYTES", "read_npz", "write_npz"]

MAP_ABOVE_BYTES = 1 << 28
"""Uncompressed arrays above this size (256 MiB) are mapped unless the caller says otherwise."""

_OBJECT_BYTES = 1_000  # of a variable, or of a regime, as Python holds them
_LEVEL_CHARACTERS = 100  # of a level in the text that lists them, more than any usual one has


def read_npz(
    path: str | os.PathLike[str],
    *,
    kinds: Mapping[str, AnyKind] | None = None,
    memory_map: bool | None = None,
) -> InterventionalData:
    """Read an npz file.

    Parameters
    ----------
    path : path-like
    kinds : mapping from name to kind, optional
        Overrides for single columns.
    memory_map : bool, optional
        True maps arrays whenever possible, False never, None only those above 256 MiB. It is possible for
        uncompressed uint8, uint16 and float32 arrays of one kind; others are converted block by block to
        compact arrays in memory.

    Returns
    -------
    InterventionalData

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/a.npz", data_obs=np.eye(3, dtype=int), data_int=np.ones((3, 5, 3), dtype=int))
    ...     read_npz(f"{folder}/a.npz")
    InterventionalData(3 variables, 18 rows: 3 observational, 3 intervention regimes)
    """
    with Archive(path) as archive, naming_file(archive.path):
        layout = _read_layout(archive)
        check_overrides(layout.names, kinds)
        reader = BlockReader(
            archive,
            layout.names,
            categorical=_categorical(archive, layout, kinds or {}),
            levels=_levels(archive, layout, kinds or {}),
            map_above=MAP_ABOVE_BYTES if memory_map is None else 0 if memory_map else math.inf,
        )
        members = [layout.observed, *([layout.intervened] if layout.intervened else [])]
        _check_memory(archive, members, sum(map(reader.needed_bytes, members)))
        parts = [reader.read(member) for member in members]
        regimes = [Regime((), *parts[0])]
        start = 0
        for condition, rows in zip(layout.conditions, layout.rows, strict=True):
            codes, reals = parts[1]
            regimes.append(Regime.of(condition, codes[start : start + rows], reals[start : start + rows]))
            start += rows
        return InterventionalData._from_checked(reader.variables(), regimes).with_context(layout.context)


def write_npz(
    data: InterventionalData,
    path: str | os.PathLike[str],
    *,
    adjacency: ArrayLike | None = None,
    extra: Mapping[str, ArrayLike] | None = None,
    overwrite: bool = False,
) -> None:
    """Write an uncompressed npz file, atomically.

    Parameters
    ----------
    data : InterventionalData
    path : path-like
    adjacency : array-like, shape (N, N), optional
        The true graph, row = cause; stored as ``adj_matrix``.
    extra : mapping from str to array-like, optional
        Further small arrays to store.
    overwrite : bool
        Whether an existing file may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> data = InterventionalData.from_environments([np.eye(2), np.ones((3, 2))], [None, "X2"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(data, f"{folder}/a.npz")
    ...     read_npz(f"{folder}/a.npz") == data
    True
    """
    with NpzStream(
        path,
        data.variables,
        observational_rows=data.observational.n_rows,
        interventional_rows=[regime.n_rows for regime in data.interventional],
        targets=[regime.condition for regime in data.interventional],
        adjacency=adjacency,
        extra=extra,
        overwrite=overwrite,
    ) as stream:
        for regime in data.regimes:
            stream.write(regime)


@dataclass(frozen=True)
class _Layout:
    """What the headers and the small arrays of a file say."""

    names: list[str]
    observed: Member
    intervened: Member | None
    conditions: list[Condition]
    rows: list[int]  # of each intervention regime
    context: list[str]


def _read_layout(archive: Archive) -> _Layout:
    observed = archive.member("data_obs")
    if len(observed.shape) != 2:
        raise FileFormatError(f"{archive.path}: data_obs has the shape {observed.shape}, it must be [rows, variables]")
    intervened = archive.member("data_int") if "data_int" in archive else None
    _check_memory(archive, [observed, *([intervened] if intervened else [])])
    names = _names(archive, observed.shape[1])
    check_names(names)
    if intervened is None:
        orphan = next((key for key in ("targets", "target_mask", "regime_rows") if key in archive), None)
        if orphan is not None:
            raise FileFormatError(f"{archive.path}: there is an array {orphan!r} but no data_int; add it")
        return _Layout(names, observed, None, [], [], _context(archive, names))
    expected = 2 if "regime_rows" in archive else 3
    if len(intervened.shape) != expected or intervened.shape[-1] != len(names):
        raise FileFormatError(
            f"{archive.path}: data_int has the shape {intervened.shape}, it must be [regimes, rows, "
            f"{len(names)}], or [rows, {len(names)}] with regime_rows; every regime needs the columns of "
            "data_obs"
        )
    if (intervened.dtype.kind == "f") != (observed.dtype.kind == "f"):
        raise FileFormatError(
            f"{archive.path}: data_obs holds {observed.dtype} but data_int {intervened.dtype}; use one type for both"
        )
    rows = _regime_rows(archive, intervened)
    conditions = _conditions(archive, _target_sets(archive, names, len(rows)))
    return _Layout(names, observed, intervened, conditions, rows, _context(archive, names))


def _check_memory(archive: Archive, members: Sequence[Member], rows_bytes: int = 0) -> None:
    """Refuse data for which there is not enough memory; every column and every regime takes some, too."""
    lists = [members[0].shape[1:], *(member.shape[:-2] for member in members[1:])]
    if "regime_rows" in archive:
        lists.append(archive.member("regime_rows").shape)
    lacking = shortage(rows_bytes + _OBJECT_BYTES * sum(map(math.prod, lists)))
    if lacking is not None:
        shapes = " and ".join(f"{member.key} {member.shape}" for member in members)
        raise DataError(
            f"reading {shapes} {lacking}: use fewer rows or columns, or write the file uncompressed as uint8, uint16 "
            "or float32, so that rows can stay on disk"
        )


def _names(archive: Archive, count: int) -> list[str]:
    if "names" not in archive:
        return default_names(count)
    member = archive.member("names")
    if member.dtype.kind not in "US" or member.shape != (count,):
        raise FileFormatError(
            f"{archive.path}: names has the shape {member.shape} of {member.dtype}, it must be {count} texts, "
            "one per column of data_obs"
        )
    names = archive.array("names")
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in names.tolist()]


def _regime_rows(archive: Archive, intervened: Member) -> list[int]:
    if "regime_rows" not in archive:
        return [intervened.shape[1]] * intervened.shape[0]
    member = archive.member("regime_rows")
    fine = member.dtype.kind in "iu" and len(member.shape) == 1 and member.shape[0] <= intervened.shape[0]
    rows = [int(count) for count in archive.array("regime_rows")] if fine else []
    if not fine or min(rows, default=1) < 1 or sum(rows) != intervened.shape[0]:
        raise FileFormatError(
            f"{archive.path}: regime_rows must hold positive integers that add up to the "
            f"{intervened.shape[0]} rows of data_int"
        )
    return rows


def _target_sets(archive: Archive, names: list[str], regimes: int) -> list[tuple[int, ...]]:
    if "target_mask" in archive:
        member = archive.member("target_mask")
        if member.dtype.kind not in "biu" or member.shape != (regimes, len(names)):
            raise FileFormatError(
                f"{archive.path}: target_mask has the shape {member.shape} of {member.dtype}, it must be "
                f"[{regimes}, {len(names)}] truth values"
            )
        return [tuple(np.flatnonzero(row).tolist()) for row in archive.array("target_mask")]
    if "targets" not in archive:
        if regimes > len(names):
            raise DataError(
                f"{archive.path}: data_int has {regimes} regimes but there are {len(names)} variables; say "
                "with the key targets which column each regime intervenes on"
            )
        return [(position,) for position in range(regimes)]
    member = archive.member("targets")
    if member.dtype.kind not in "iuU" or member.shape != (regimes,):
        raise FileFormatError(
            f"{archive.path}: targets has the shape {member.shape} of {member.dtype}, it must be {regimes} "
            "column positions or names"
        )
    targets = archive.array("targets")
    positions = {name: position for position, name in enumerate(names)}
    return [
        resolve_targets(entry, positions, f"{archive.path}: regime {regime} of data_int")
        for regime, entry in enumerate(targets.tolist())
    ]


def _conditions(archive: Archive, target_sets: Sequence[tuple[int, ...]]) -> list[Condition]:
    """Return targets with what the file says of labels."""
    if "conditions" not in archive:
        return [Condition(targets) for targets in target_sets]
    text = archive.array("conditions", longest_text=MAX_LEVELS * _LEVEL_CHARACTERS)
    try:
        raw: Any = json.loads(str(text[()])) if text.dtype.kind == "U" and text.shape == () else None
        found = []
        for targets, (label, unknown, claim) in zip(target_sets, raw, strict=True):
            if not isinstance(label, str | None) or not isinstance(unknown, bool) or claim not in (None, *CLAIMS):
                raise ValueError(f"it says {[label, unknown, claim]!r}")
            found.append(Condition(targets, label, unknown, claim))
        return found
    except (ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(
            f"{archive.path}: conditions must be JSON text with [label, unknown, claim] for each of the "
            f"{len(target_sets)} regimes ({error})"
        ) from error


def _context(archive: Archive, names: Sequence[str]) -> list[str]:
    if "context" not in archive:
        return []
    member = archive.member("context")
    if member.dtype.kind != "b" or member.shape != (len(names),):
        raise FileFormatError(f"{archive.path}: context must be {len(names)} truth values, one for each column")
    return [name for name, marked in zip(names, archive.array("context"), strict=True) if marked]


def _categorical(archive: Archive, layout: _Layout, kinds: Mapping[str, AnyKind]) -> NDArray[np.bool_]:
    count = len(layout.names)
    found = np.full(count, layout.observed.dtype.kind != "f")
    if "kinds" in archive:
        member = archive.member("kinds")
        fine = member.dtype.kind == "U" and member.shape == (count,)
        recorded = archive.array("kinds") if fine else np.empty(0)
        if not fine or not np.isin(recorded, [kind.value for kind in Kind]).all():
            raise FileFormatError(
                f"{archive.path}: kinds must say 'categorical' or 'continuous' for each of the {count} columns"
            )
        found = recorded == Kind.CATEGORICAL.value
    for name, kind in kinds.items():
        found[layout.names.index(name)] = kind == Kind.CATEGORICAL
    return found


def _levels(archive: Archive, layout: _Layout, kinds: Mapping[str, AnyKind]) -> list[tuple[Level, ...] | None]:
    """Return the levels of each column as far as the file says."""
    names = layout.names
    if "levels" not in archive:
        both = [layout.observed, *([layout.intervened] if layout.intervened else [])]
        truth = all(member.dtype.kind == "b" for member in both)
        return [(False, True) if truth else None] * len(names)
    text = archive.array("levels", longest_text=MAX_LEVELS * _LEVEL_CHARACTERS * len(names))
    try:
        raw: Any = json.loads(str(text[()])) if text.dtype.kind == "U" and text.shape == () else None
        levels = [None if entry is None else tuple(entry) for entry in raw]
        if len(levels) != len(names):
            raise ValueError(f"{len(levels)} entries")
    except (ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(
            f"{archive.path}: levels must be JSON text with one list or null for each of the {len(names)} "
            f"columns ({error})"
        ) from error
    for name, kind in kinds.items():
        recorded = levels[names.index(name)]
        if kind == Kind.CONTINUOUS and recorded is not None and recorded != tuple(range(len(recorded))):
            raise DataError(
                f"{archive.path}: the column {name!r} has recorded levels {list(recorded[:5])}, which are "
                "not its numbers; read it as categorical"
            )
    return [
        Variable(name, Kind.CATEGORICAL, entry).levels if entry is not None else None
        for name, entry in zip(names, levels, strict=True)
    ]
