"""The constructors and writers of `InterventionalData`, as thin methods over `enco.io`.

They are methods so that a user finds them by completion; the work is done, and tested, in `enco.io`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike

from enco.data.variables import AnyKind, Level

if TYPE_CHECKING:
    import pandas as pd

    from enco.data import InterventionalData

__all__ = ["FormatMethods"]

Kinds = Mapping[str, AnyKind] | None
Levels = Mapping[str, Sequence[Level]] | None
ControlCells = str | Iterable[str] | None


class FormatMethods:
    """Ways into and out of a data set; `InterventionalData` inherits them."""

    @classmethod
    def from_environments(
        cls,
        environments: Sequence[Any],
        targets: Sequence[Any],
        *,
        names: Sequence[str] | None = None,
        labels: Sequence[str | None] | None = None,
        context: Iterable[str] = (),
        kinds: Kinds = None,
        levels: Levels = None,
    ) -> InterventionalData:
        """Build from one array or data frame per environment.

        Parameters
        ----------
        environments : sequence of array-like, shape (rows, variables), or data frames
            Integer, boolean and text columns are categorical, floats are continuous. Columns of data frames
            are matched by name.
        targets : sequence
            One entry per environment: None or an empty collection for observational rows, a name, a
            position, or a collection of them; "unknown" for an intervention whose targets are not known.
        names : sequence of str, optional
            Names of array columns; ``X1``, ``X2``, ... by default.
        labels : sequence of str or None, optional
            What each environment is called, if that is not the names of its targets: two reagents with the same
            target stay two regimes.
        context : collection of str
            Columns that describe the circumstances of a row, see `with_context`.
        kinds, levels : mapping from name, optional
            Override the kind, or fix the levels and their order, of single columns.

        Examples
        --------
        >>> import numpy as np
        >>> from enco.data import InterventionalData
        >>> x = np.array([[0, 1], [1, 0]])
        >>> InterventionalData.from_environments([x, x], [None, "A"], names=["A", "B"])
        InterventionalData(2 variables, 4 rows: 2 observational, 1 intervention regime)
        """
        from enco.io.arrays import data_from_environments

        return data_from_environments(
            environments, targets, names=names, labels=labels, context=context, kinds=kinds, levels=levels
        )

    @classmethod
    def from_mask(
        cls,
        x: Any,
        mask: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        kinds: Kinds = None,
        levels: Levels = None,
    ) -> InterventionalData:
        """Build from one table and a mask of the same shape that marks the cells set by an intervention.

        Parameters
        ----------
        x : array-like, shape (rows, variables), or data frame
        mask : array-like of bool, shape (rows, variables)
            True where the variable was an intervention target in that row.

        Examples
        --------
        >>> import numpy as np
        >>> from enco.data import InterventionalData
        >>> mask = np.array([[False, False], [True, False]])
        >>> InterventionalData.from_mask(np.array([[0.1, 0.2], [5.0, 0.3]]), mask)
        InterventionalData(2 variables, 2 rows: 1 observational, 1 intervention regime)
        """
        from enco.io.arrays import data_from_mask

        return data_from_mask(x, mask, names=names, kinds=kinds, levels=levels)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str | None = "perturbation",
        *,
        control: ControlCells = None,
        separator: str = "+",
        targets: Any = None,
        context: Iterable[str] = (),
        kinds: Kinds = None,
        levels: Levels = None,
    ) -> InterventionalData:
        """Build from one table with a column that says what was intervened on in each row.

        Parameters
        ----------
        frame : pandas, polars or any other data frame that narwhals reads
        target : str or None
            The column that holds the targets; None if all rows are observational.
        control : str or collection of str, optional
            Cells that mark observational rows; by default an empty cell or ``control``.
        separator : str
            What stands between the names when a row has several targets.
        targets : mapping, "unknown" or None
            What the cells of that column mean where they are not names of variables: for each label a name, a list of
            names, "observational", or None (also "unknown") for an intervention whose targets are not known. A
            mapping with ``targets`` and ``interventions`` also says that it is "perfect" or "soft". The word
            "unknown" stands for all labels but those of observational rows.
        context : collection of str
            Columns that describe the circumstances of a row, see `with_context`.
        kinds, levels : mapping from name, optional
            Override the kind, or fix the levels and their order, of single columns.

        Examples
        --------
        >>> import pandas as pd
        >>> from enco.data import InterventionalData
        >>> table = pd.DataFrame({"A": [0, 1, 1], "B": [0.5, 0.1, 0.9], "perturbation": ["", "", "A"]})
        >>> InterventionalData.from_frame(table)
        InterventionalData(2 variables, 3 rows: 2 observational, 1 intervention regime)
        >>> table["perturbation"] = ["control", "control", "drug X"]
        >>> InterventionalData.from_frame(table, targets={"drug X": ["A"]}).interventional[0].label
        'drug X'
        """
        from enco.io.frames import data_from_frame

        return data_from_frame(
            frame,
            target,
            control=control,
            separator=separator,
            targets=targets,
            context=context,
            kinds=kinds,
            levels=levels,
        )

    def to_frame(self, target: str = "perturbation", *, control: str = "control", separator: str = "+") -> pd.DataFrame:
        """Return one pandas table: the variables, categorical ones as categoricals, and the target column.

        Examples
        --------
        >>> import numpy as np
        >>> from enco.data import InterventionalData
        >>> x = np.array([[0, 1], [1, 0]])
        >>> InterventionalData.from_environments([x, x[:1]], [None, "X2"]).to_frame()
          X1 X2 perturbation
        0  0  1      control
        1  1  0      control
        2  0  1           X2
        """
        from enco.io.frames import frame_from_data

        return frame_from_data(cast("InterventionalData", self), target, control=control, separator=separator)

    @classmethod
    def from_anndata(
        cls,
        adata: Any,
        target: str | None = "perturbation",
        *,
        control: ControlCells = None,
        separator: str = "+",
        targets: Any = None,
        layer: str | None = None,
        kinds: Kinds = None,
    ) -> InterventionalData:
        """Build from an AnnData object: ``var_names`` are the variables, ``obs[target]`` holds the targets.

        Parameters
        ----------
        adata : anndata.AnnData
            Its matrix may be sparse.
        layer : str, optional
            Read ``adata.layers[layer]`` instead of ``adata.X``.

        Examples
        --------
        >>> import anndata, numpy as np, pandas as pd
        >>> from enco.data import InterventionalData
        >>> obs = pd.DataFrame({"perturbation": ["control", "G1"]}, index=["c1", "c2"])
        >>> cells = anndata.AnnData(np.ones((2, 2), np.float32), obs, pd.DataFrame(index=["G1", "G2"]))
        >>> InterventionalData.from_anndata(cells)
        InterventionalData(2 variables, 2 rows: 1 observational, 1 intervention regime)
        """
        from enco.io.anndata import data_from_anndata

        return data_from_anndata(
            adata, target, control=control, separator=separator, targets=targets, layer=layer, kinds=kinds
        )

    def to_anndata(self, target: str = "perturbation", *, control: str = "control", separator: str = "+") -> Any:
        """Return an AnnData object; categorical columns hold level indices, ``uns`` their levels.

        Examples
        --------
        >>> import numpy as np
        >>> from enco.data import InterventionalData
        >>> InterventionalData.from_environments([np.eye(2)], [None]).to_anndata().shape
        (2, 2)
        """
        from enco.io.anndata import anndata_from_data

        return anndata_from_data(cast("InterventionalData", self), target, control=control, separator=separator)

    @classmethod
    def from_npz(
        cls, path: str | PathLike[str], *, kinds: Kinds = None, memory_map: bool | None = None
    ) -> InterventionalData:
        """Read an npz file; `enco.io.npz` describes its keys.

        Parameters
        ----------
        memory_map : bool, optional
            Leave the rows on disk; by default for arrays above 256 MiB that the file stores uncompressed in
            the type used in memory.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> from enco.data import InterventionalData
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/pair.npz", data_obs=np.array([[0, 1], [1, 2]]))
        ...     InterventionalData.from_npz(f"{folder}/pair.npz").n_levels.tolist()
        [2, 3]
        """
        from enco.io.formats import FILE_FORMATS

        return FILE_FORMATS[".npz"].read(path, kinds=kinds, memory_map=memory_map)

    def to_npz(self, path: str | PathLike[str], *, adjacency: ArrayLike | None = None, overwrite: bool = False) -> None:
        """Write an npz file, atomically; `adjacency` (row = cause) is stored as the truth ``adj_matrix``.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> from enco.data import InterventionalData
        >>> data = InterventionalData.from_environments([np.eye(2)], [None])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     data.to_npz(f"{folder}/pair.npz")
        ...     InterventionalData.from_npz(f"{folder}/pair.npz") == data
        True
        """
        from enco.io.formats import FILE_FORMATS

        FILE_FORMATS[".npz"].write(cast("InterventionalData", self), path, adjacency=adjacency, overwrite=overwrite)

    @classmethod
    def from_csv(
        cls,
        path: str | PathLike[str],
        target: str | None = "perturbation",
        *,
        control: ControlCells = None,
        separator: str = "+",
        targets: Any = None,
        context: Iterable[str] = (),
        kinds: Kinds = None,
        delimiter: str = ",",
    ) -> InterventionalData:
        r"""Read a CSV file with a header line; the other arguments are those of `from_frame`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from enco.data import InterventionalData
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "pair.csv")
        ...     _ = path.write_text("A,B,perturbation\n0,low,\n1,high,\n1,low,A\n")
        ...     InterventionalData.from_csv(path)
        InterventionalData(2 variables, 3 rows: 2 observational, 1 intervention regime)
        """
        from enco.io.formats import FILE_FORMATS

        return FILE_FORMATS[".csv"].read(
            path,
            target=target,
            control=control,
            separator=separator,
            targets=targets,
            context=context,
            kinds=kinds,
            delimiter=delimiter,
        )

    def to_csv(
        self,
        path: str | PathLike[str],
        *,
        target: str = "perturbation",
        control: str = "control",
        separator: str = "+",
        overwrite: bool = False,
    ) -> None:
        """Write a CSV file, atomically; its first line, a comment, records kinds and levels.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> from enco.data import InterventionalData
        >>> data = InterventionalData.from_environments([np.eye(2)], [None])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     data.to_csv(f"{folder}/pair.csv")
        ...     InterventionalData.from_csv(f"{folder}/pair.csv") == data
        True
        """
        from enco.io.formats import FILE_FORMATS

        data = cast("InterventionalData", self)
        FILE_FORMATS[".csv"].write(data, path, target=target, control=control, separator=separator, overwrite=overwrite)

    @classmethod
    def from_parquet(
        cls,
        path: str | PathLike[str],
        target: str | None = "perturbation",
        *,
        control: ControlCells = None,
        separator: str = "+",
        targets: Any = None,
        context: Iterable[str] = (),
        kinds: Kinds = None,
    ) -> InterventionalData:
        """Read a Parquet file; the arguments are those of `from_frame`.

        Examples
        --------
        >>> import pandas as pd, tempfile
        >>> from enco.data import InterventionalData
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pd.DataFrame({"A": [0, 1], "B": [1.5, 2.5]}).to_parquet(f"{folder}/pair.parquet")
        ...     InterventionalData.from_parquet(f"{folder}/pair.parquet", target=None).kinds
        ('categorical', 'continuous')
        """
        from enco.io.formats import FILE_FORMATS

        return FILE_FORMATS[".parquet"].read(
            path,
            target=target,
            control=control,
            separator=separator,
            targets=targets,
            context=context,
            kinds=kinds,
        )

    def to_parquet(
        self,
        path: str | PathLike[str],
        *,
        target: str = "perturbation",
        control: str = "control",
        separator: str = "+",
        overwrite: bool = False,
    ) -> None:
        """Write a Parquet file, atomically; its metadata record kinds and levels.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> from enco.data import InterventionalData
        >>> data = InterventionalData.from_environments([np.eye(2)], [None])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     data.to_parquet(f"{folder}/pair.parquet")
        ...     InterventionalData.from_parquet(f"{folder}/pair.parquet") == data
        True
        """
        from enco.io.formats import FILE_FORMATS

        data = cast("InterventionalData", self)
        FILE_FORMATS[".parquet"].write(
            data, path, target=target, control=control, separator=separator, overwrite=overwrite
        )
