"""Writing npz files block by block, so that simulated data may be larger than memory."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.data.checks import check_variables
from enco.data.variables import Condition, Regime, Variable, code_dtype, regime_label
from enco.errors import DataError
from enco.io._atomic import AtomicFile, naming_output
from enco.io._disk import check_disk
from enco.system.units import in_short

__all__ = ["NpzStream"]

_ALIGNMENT = 64
_ZIP64_EXTRA = 20  # bytes that zipfile adds to the local header of a member that may exceed 4 GiB
_PADDING_ID = 0xD935  # the customary identifier of alignment padding in a zip extra field


class NpzStream:
    """Write ``data_obs`` and ``data_int`` of an npz file as the rows arrive, then move the file into place.

    The sizes are announced first. Rows come as `Regime` blocks of any number of rows: the observational ones
    first, then those of each intervention regime, in the order announced. Members are stored uncompressed and
    aligned, so that `enco.io.read_npz` can map them. If the block ends with an error, or rows are missing, no
    file appears.

    Parameters
    ----------
    path : path-like
    variables : sequence of Variable
    observational_rows : int
    interventional_rows : int or sequence of int
        Rows of each intervention regime, or one number for all of them.
    targets : sequence of tuple of int, or of Condition
        Target positions of each intervention regime; by default regime t targets variable t.
    adjacency : array-like, shape (variables, variables), optional
        The true graph, row = cause; stored as ``adj_matrix``.
    extra : mapping from str to array-like, optional
        Further small arrays to store.
    overwrite : bool
        Whether an existing file may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> from enco.io import read_npz
    >>> pair = [Variable("A", "continuous"), Variable("B", "continuous")]
    >>> rows = Regime((), np.zeros((2, 0), np.uint8), np.ones((2, 2), np.float32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with NpzStream(f"{folder}/a.npz", pair, observational_rows=4, interventional_rows=0) as out:
    ...         out.write(rows)
    ...         out.write(rows)
    ...     read_npz(f"{folder}/a.npz").n_rows
    4
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        variables: Sequence[Variable],
        *,
        observational_rows: int,
        interventional_rows: int | Sequence[int],
        targets: Sequence[Sequence[int] | Condition] | None = None,
        adjacency: ArrayLike | None = None,
        extra: Mapping[str, ArrayLike] | None = None,
        overwrite: bool = False,
    ) -> None:
        check_variables(variables)
        self._variables = tuple(variables)
        if targets is None:  # none at all if there are to be no interventional rows
            none = isinstance(interventional_rows, int) and interventional_rows == 0
            targets = [] if none else [(position,) for position in range(len(variables))]
        self._conditions = [
            Condition(),
            *(it if isinstance(it, Condition) else Condition(tuple(sorted(map(int, it)))) for it in targets),
        ]
        self._targets = [condition.targets for condition in self._conditions]
        self._rows = [observational_rows, *_rows_per_regime(interventional_rows, len(targets))]
        for position, count in enumerate(self._rows):
            if count < 1:
                raise DataError(f"the regime {self._label(position)} is to have {count} rows: give 1 or more")
        self._categorical = np.array([variable.is_categorical for variable in variables])
        mixed = 0 < self._categorical.sum() < len(variables)
        codes = code_dtype(max(variable.n_levels for variable in variables))
        self._dtype: np.dtype[Any] = np.dtype(codes if self._categorical.all() else np.float32)
        self._mixed = bool(mixed)
        self._small = self._small_arrays(adjacency, extra or {})
        self._path, self._overwrite = path, overwrite
        self._current = 0  # the regime that is being written
        self._written = 0  # its rows so far
        self._file: AtomicFile | None = None
        self._zip: zipfile.ZipFile | None = None
        self._member: IO[bytes] | None = None

    def __enter__(self) -> NpzStream:
        rows, columns = sum(self._rows), len(self._variables)
        check_disk(self._path, rows * columns * self._dtype.itemsize, f"{in_short(rows)} rows of {columns:,} variables")
        self._file = AtomicFile(self._path, overwrite=self._overwrite)
        try:
            with naming_output(self._file.path):
                self._zip = zipfile.ZipFile(self._file.temporary, "w", zipfile.ZIP_STORED, allowZip64=True)
                for key, values in self._small.items():
                    with self._open_member(key, values.shape, values.dtype) as member:
                        member.write(np.ascontiguousarray(values).tobytes())
                rows, columns = self._rows[0], len(self._variables)
                self._member = self._open_member("data_obs", (rows, columns), self._dtype)
        except BaseException:
            self._abandon()
            raise
        return self

    def write(self, block: Regime) -> None:
        """Append rows to the regime that is being written; it must be the one that was announced next."""
        if self._member is None:
            raise DataError(
                "this stream is not open for rows: use it in a with statement and write no more than announced"
            )
        label = self._label(self._current)
        if block.targets != self._targets[self._current]:
            raise DataError(
                f"expected rows of the regime {label}, not of "
                f"{regime_label(self._variables, block.targets)}: write regimes in the order announced"
            )
        if self._written + block.n_rows > self._rows[self._current]:
            raise DataError(f"the regime {label} was announced with {self._rows[self._current]:,} rows, not more")
        assert self._file is not None
        with naming_output(self._file.path):
            if block.n_rows:
                self._member.write(self._as_stored(block).data.cast("B"))
            self._written += block.n_rows
            if self._written == self._rows[self._current]:
                self._next_regime()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._abandon()

    def _finish(self) -> None:
        if self._current < len(self._rows):
            label = self._label(self._current)
            raise DataError(
                f"the regime {label} has {self._written:,} of {self._rows[self._current]:,} announced rows: "
                "nothing was written"
            )
        assert self._zip is not None
        assert self._file is not None
        with naming_output(self._file.path):
            self._zip.close()
        self._file.commit()

    def _abandon(self) -> None:
        """Close everything and remove the temporary file; harmless after a successful end."""
        with suppress(OSError, ValueError):  # a full disk also fails to take the end of the archive
            if self._member is not None:
                self._member.close()
        self._member = None
        with suppress(OSError, ValueError):
            if self._zip is not None:
                self._zip.close()
        if self._file is not None:
            self._file.discard()

    def _label(self, position: int) -> str:
        condition = self._conditions[position]
        return regime_label(self._variables, condition.targets, condition.label)

    def _next_regime(self) -> None:
        self._current += 1
        self._written = 0
        if self._current == 1 or self._current == len(self._rows):
            assert self._member is not None
            self._member.close()
            self._member = None
        if self._current == 1 and len(self._rows) > 1:
            columns = len(self._variables)
            rows = self._rows[1:]
            even = len(set(rows)) == 1
            shape = (len(rows), rows[0], columns) if even else (sum(rows), columns)
            self._member = self._open_member("data_int", shape, self._dtype)

    def _as_stored(self, block: Regime) -> NDArray[Any]:
        if not self._mixed:
            values: NDArray[Any] = block.codes if self._categorical.all() else block.reals
        else:
            values = np.empty((block.n_rows, len(self._variables)), dtype=np.float32)
            values[:, self._categorical] = block.codes
            values[:, ~self._categorical] = block.reals
        if values.shape[1] != len(self._variables):
            raise DataError(
                f"a block has {values.shape[1]} columns, but there are {len(self._variables)} variables: "
                "write rows of the variables announced"
            )
        return np.ascontiguousarray(values, dtype=self._dtype)

    def _small_arrays(self, adjacency: ArrayLike | None, extra: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "names": np.array([variable.name for variable in self._variables]),
            "kinds": np.array([variable.kind.value for variable in self._variables]),
            "levels": np.array(json.dumps([variable.levels for variable in self._variables], ensure_ascii=False)),
        }
        sets, rows = self._targets[1:], self._rows[1:]
        if sets and all(len(found) == 1 for found in sets):
            arrays["targets"] = np.array([found[0] for found in sets], dtype=np.int64)
        elif sets:
            mask = np.zeros((len(sets), len(self._variables)), dtype=np.bool_)
            for regime, found in enumerate(sets):
                mask[regime, list(found)] = True
            arrays["target_mask"] = mask
        if any(it.label is not None for it in self._conditions):
            said = [[it.label, it.unknown, it.claim] for it in self._conditions[1:]]
            arrays["conditions"] = np.array(json.dumps(said, ensure_ascii=False))
        if any(variable.context for variable in self._variables):
            arrays["context"] = np.array([variable.context for variable in self._variables])
        if len(set(rows)) > 1:
            arrays["regime_rows"] = np.array(rows, dtype=np.int64)
        if adjacency is not None:
            truth = np.asarray(adjacency).astype(np.uint8)
            if truth.shape != (len(self._variables), len(self._variables)):
                raise DataError(
                    f"the graph has the shape {truth.shape}, but there are {len(self._variables)} variables"
                )
            arrays["adj_matrix"] = truth
        for key, values in extra.items():
            array = np.asarray(values)
            if key in arrays or key in ("data_obs", "data_int") or array.dtype.hasobject:
                raise DataError(f"cannot store {key!r}: the name is taken or the array holds objects")
            arrays[key] = array
        return arrays

    def _open_member(self, key: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> IO[bytes]:
        """Start a member whose array begins at a multiple of 64 bytes, so that it can be mapped aligned."""
        assert self._zip is not None
        entry = zipfile.ZipInfo(f"{key}.npy")  # its fixed date keeps the bytes of a file reproducible
        assert self._zip.fp is not None
        fixed = self._zip.fp.tell() + 30 + len(entry.filename.encode()) + _ZIP64_EXTRA + 4
        padding = -fixed % _ALIGNMENT
        entry.extra = _PADDING_ID.to_bytes(2, "little") + padding.to_bytes(2, "little") + bytes(padding)
        member = self._zip.open(entry, "w", force_zip64=True)
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(member, header)
        return member


def _rows_per_regime(rows: int | Sequence[int], regimes: int) -> list[int]:
    counts = [int(rows)] * regimes if isinstance(rows, int | np.integer) else [int(count) for count in rows]
    if len(counts) != regimes:
        raise DataError(f"there are {regimes} intervention regimes but {len(counts)} numbers of rows: give one each")
    return counts
