"""AnnData objects and h5ad files to and from `InterventionalData`; needs anndata.

Cells are rows, ``var_names`` are the variables, one column of ``obs`` holds the targets. Objects written
here hold level indices in the columns of categorical variables, and a JSON record of kinds and levels in
``uns["enco"]``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from enco.data import InterventionalData
from enco.data.checks import check_names
from enco.data.variables import AnyKind, Condition, Variable
from enco.errors import DataError, FileFormatError
from enco.io._archive import LARGEST_RATIO
from enco.io._atomic import atomic_file
from enco.io._build import build
from enco.io._disk import check_disk
from enco.io._encode import Cells, as_categorical
from enco.io._paths import existing_file, naming_file
from enco.io._record import DEFAULT_SEPARATOR, DEFAULT_TARGET, Notation, Record
from enco.io._targets import notation_of, parse_targets, target_labels
from enco.io.formats import missing_package
from enco.system.process_memory import shortage

__all__ = ["anndata_from_data", "data_from_anndata", "read_h5ad", "write_h5ad"]

_KEY = "enco"
_PROBE_SECONDS, _PROBE_BYTES_PER_SECOND = 15.0, 1e7  # far more than reading the texts of an intact file takes
_DENSE_BYTES = 8  # of a value of sparse data: in its column, and in the rows of all columns
_SMALL_BYTES = 1 << 26  # an array may claim so much in any file


def data_from_anndata(
    adata: Any,
    target: str | None = DEFAULT_TARGET,
    *,
    control: str | Iterable[str] | None = None,
    separator: str = DEFAULT_SEPARATOR,
    targets: Any = None,
    layer: str | None = None,
    kinds: Mapping[str, AnyKind] | None = None,
) -> InterventionalData:
    """Build from an AnnData object; see `InterventionalData.from_anndata`.

    Examples
    --------
    >>> import anndata
    >>> obs = pd.DataFrame({"guide": ["NT", "NT", "G2"]}, index=["c1", "c2", "c3"])
    >>> counts = sparse.csr_matrix(np.array([[0.0, 2.0], [1.0, 0.0], [3.0, 1.0]]))
    >>> cells = anndata.AnnData(counts, obs, pd.DataFrame(index=["G1", "G2"]))
    >>> data_from_anndata(cells, "guide", control="NT").column("G1").tolist()
    [0.0, 1.0]
    """
    if getattr(adata, "isbacked", False):
        adata = adata.to_memory()
    notation = Notation.of(target, control, separator, targets)
    record = None
    if layer is None and _KEY in adata.uns:
        record = Record.from_json(str(adata.uns[_KEY]), f"uns[{_KEY!r}]")
        notation = record.notation_for(notation)
    names = [str(name) for name in adata.var_names]
    check_names(names)
    if record is not None and [variable.name for variable in record.variables] != names:
        raise DataError(f"var_names are not those that uns[{_KEY!r}] records: delete that entry of a changed object")
    if notation.target is not None and notation.target not in adata.obs:
        raise DataError(
            f"there is no column {notation.target!r} in obs, which has {list(adata.obs.columns[:8])}: "
            "pass its name as target=, or target=None if all rows are observational"
        )
    regime_of_row: NDArray[np.intp] = np.zeros(adata.n_obs, dtype=np.intp)
    conditions = [Condition()]
    if notation.target is not None:
        cells = np.asarray(adata.obs[notation.target], dtype=object)
        regime_of_row, conditions = parse_targets(cells, names, notation)
    declared = {variable.name: variable.kind for variable in record.variables} if record else {}
    return build(
        names,
        _columns(_matrix(adata, layer), record.variables if record else None),
        regime_of_row=regime_of_row,
        conditions=conditions,
        kinds=declared | dict(kinds or {}),
        context=record.context() if record else (),
    )


def anndata_from_data(
    data: InterventionalData,
    target: str = DEFAULT_TARGET,
    *,
    control: str = "control",
    separator: str = DEFAULT_SEPARATOR,
) -> Any:
    """Return an AnnData object; see `InterventionalData.to_anndata`.

    Examples
    --------
    >>> data = InterventionalData.from_environments([np.array([[5, 7], [6, 7]])], [None])
    >>> anndata_from_data(data).X.tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    anndata = _anndata("writing AnnData objects")
    notation = notation_of(data, target, control, separator)
    labels = target_labels([regime.condition for regime in data.regimes], data.names, notation)
    rows = [regime.n_rows for regime in data.regimes]
    matrix = np.empty((data.n_rows, data.n_variables), dtype=np.float32)
    matrix[:, data.is_categorical] = np.concatenate([regime.codes for regime in data.regimes])
    matrix[:, ~data.is_categorical] = np.concatenate([regime.reals for regime in data.regimes])
    which = np.repeat(np.arange(len(labels)), rows)
    obs = pd.DataFrame(
        {target: as_categorical(which, labels)},
        index=np.arange(data.n_rows).astype(str),
    )
    var = pd.DataFrame({"kind": [kind.value for kind in data.kinds]}, index=pd.Index(list(data.names), dtype=object))
    record = Record(data.variables, notation, data.n_rows)
    return anndata.AnnData(matrix, obs, var, uns={_KEY: record.to_json()})


def read_h5ad(
    path: str | os.PathLike[str],
    target: str | None = DEFAULT_TARGET,
    *,
    control: str | Iterable[str] | None = None,
    separator: str = DEFAULT_SEPARATOR,
    targets: Any = None,
    layer: str | None = None,
    kinds: Mapping[str, AnyKind] | None = None,
) -> InterventionalData:
    """Read an h5ad file; the arguments are those of `InterventionalData.from_anndata`.

    Examples
    --------
    >>> import tempfile
    >>> data = InterventionalData.from_environments([np.eye(2)], [None])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_h5ad(data, f"{folder}/a.h5ad")
    ...     read_h5ad(f"{folder}/a.h5ad") == data
    True
    """
    source = existing_file(path)
    anndata = _anndata("reading h5ad files")
    _check_sizes(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old file versions and repeated names, which are checked here
            adata = anndata.read_h5ad(source)
    except Exception as error:  # h5py and anndata raise anything from KeyError to their own types on a bad file
        reason = " ".join(str(error).split())[:200]
        raise FileFormatError(f"{source}: this is not a readable h5ad file ({reason})") from error
    with naming_file(source):
        return data_from_anndata(
            adata, target, control=control, separator=separator, targets=targets, layer=layer, kinds=kinds
        )


def write_h5ad(
    data: InterventionalData,
    path: str | os.PathLike[str],
    *,
    target: str = DEFAULT_TARGET,
    control: str = "control",
    separator: str = DEFAULT_SEPARATOR,
    overwrite: bool = False,
) -> None:
    """Write an h5ad file, atomically; reading it back gives the same data, bit for bit.

    Examples
    --------
    >>> import tempfile
    >>> data = InterventionalData.from_environments([np.eye(2, dtype=int)], [None])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_h5ad(data, f"{folder}/a.h5ad")
    ...     read_h5ad(f"{folder}/a.h5ad").kinds
    ('categorical', 'categorical')
    """
    check_disk(path, 4 * data.n_rows * data.n_variables, f"{data.n_rows:,} rows of {data.n_variables:,} variables")
    adata = anndata_from_data(data, target, control=control, separator=separator)
    with atomic_file(path, overwrite=overwrite) as temporary:
        adata.write_h5ad(temporary)


def _check_sizes(source: Path) -> None:
    """Refuse a file that claims or takes more memory than it can hold or than there is, before it is read."""
    in_file = source.stat().st_size
    most = max(LARGEST_RATIO * in_file, _SMALL_BYTES)
    report = _probe(source, in_file, most)
    for name, claimed in report["arrays"].items():
        if claimed > most:
            raise FileFormatError(
                f"{source}: the array {name!r} claims {claimed:,} bytes, more than the file can hold; copy it again"
            )
    if report["excessive"] is not None:
        raise FileFormatError(
            f"{source}: {report['excessive']!r} cannot be read in the memory that its size asks for: the file is "
            "damaged, copy it again"
        )
    lacking = shortage(sum(report["arrays"].values()) + report["texts"])
    if lacking is not None:
        raise DataError(f"{source}: reading all of it {lacking}: leave out layers, cells or genes that you do not need")


def _probe(source: Path, in_file: int, most: int) -> dict[str, Any]:
    """Let another process look, which a damaged file may end or hold up: HDF5 does not check where texts point to."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("_hdf5_probe.py")), str(source), str(most)]
    seconds = _PROBE_SECONDS + in_file / _PROBE_BYTES_PER_SECOND
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
        report: dict[str, Any] = json.loads(done.stdout)
        return report
    except (subprocess.TimeoutExpired, ValueError):  # it hangs, or ended without a report
        raise FileFormatError(f"{source}: this h5ad file is damaged: copy it again") from None


def _matrix(adata: Any, layer: str | None) -> Any:
    if layer is not None and layer not in adata.layers:
        raise DataError(
            f"there is no layer {layer!r}, only {sorted(adata.layers)}: pass one of them or leave layer= out"
        )
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise DataError("the object has no matrix X: pass layer=")
    if not sparse.issparse(matrix):
        return np.asarray(matrix)
    lacking = shortage(_DENSE_BYTES * matrix.shape[0] * matrix.shape[1])
    if lacking is not None:
        raise DataError(
            f"{matrix.shape[0]:,} cells of {matrix.shape[1]:,} variables, no longer sparse, {lacking}: choose some of "
            "the cells or variables first"
        )
    return matrix.tocsc()


def _columns(matrix: Any, variables: Sequence[Variable] | None) -> Iterator[Cells]:
    """Yield one dense column at a time; those of recorded categorical variables hold level indices."""
    for position in range(matrix.shape[1]):
        column = matrix[:, [position]].toarray().ravel() if sparse.issparse(matrix) else matrix[:, position]
        variable = variables[position] if variables is not None else None
        if variable is None or variable.levels is None:
            yield column
            continue
        wrong = ~np.isin(column, np.arange(variable.n_levels))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise DataError(
                f"variable {variable.name!r} holds {column[row]} in row {row}, which is no index of its "
                f"{variable.n_levels} levels: delete uns[{_KEY!r}] of a changed object"
            )
        yield as_categorical(np.asarray(column).astype(np.int64), variable.levels)


def _anndata(purpose: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import anndata
    except ImportError as error:
        raise missing_package(".h5ad", purpose) from error
    return anndata
