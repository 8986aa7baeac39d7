"""Every mistake a user can make with data ends in one sentence that names the place and the remedy."""

from collections.abc import Callable
from typing import Any

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest

from enco.data import InterventionalData
from enco.errors import DataError

Data = InterventionalData
X = np.array([[0, 1], [1, 0], [1, 1]])
HOLES = np.array([[0.0, 1.0], [np.nan, np.inf], [1.0, 1.0]])


def frame(target: list[Any] | None = None, **columns: Any) -> pd.DataFrame:
    table = pd.DataFrame(columns)
    if target is not None:
        table["perturbation"] = target
    return table


# name: what is done, what the message must say (as a regular expression)
IN_MEMORY: dict[str, tuple[Callable[[], object], str]] = {
    "nan in a frame": (
        lambda: Data.from_frame(frame(A=[0.5, np.nan, 1.0], B=[1.0, np.inf, np.nan]), None),
        r"'A' holds nan in row 1, counting from 0 \(3 missing or infinite cells in all\): remove those rows",
    ),
    "nan in an environment": (
        lambda: Data.from_environments([X * 1.0, HOLES], [None, "X1"]),
        r"'X1' holds nan in row 1 of environment 1 \(2 missing",
    ),
    "infinity": (lambda: Data.from_environments([-HOLES[:, ::-1]], [None]), "'X1' holds -inf in row 1"),
    "missing text": (
        lambda: Data.from_frame(frame(A=["a", None], B=[0, 1]), None),
        "'A' holds None in row 1",
    ),
    "missing integer": (
        lambda: Data.from_frame(frame(A=pd.array([1, None], dtype="Int64"), B=[0, 1]), None),
        "'A' holds nan in row 1",
    ),
    "missing category": (
        lambda: Data.from_frame(frame(A=pd.Categorical(["a", None]), B=[0, 1]), None),
        "'A' holds a missing value in row 1",
    ),
    "missing in polars": (
        lambda: Data.from_frame(pl.DataFrame({"A": [1, None], "B": [0, 1]}), None),
        "'A' holds nan in row 1",
    ),
    "nan declared categorical": (
        lambda: Data.from_frame(frame(A=[1.0, np.nan], B=[0, 1]), None, kinds={"A": "categorical"}),
        "'A' holds nan in row 1",
    ),
    "no rows": (lambda: Data.from_frame(frame([], A=[], B=[])), "empty: there is not a single row"),
    "no environments": (lambda: Data.from_environments([], []), "empty: pass at least one environment"),
    "no rows in a regime": (
        lambda: Data.from_environments([X, X[:0]], [None, "X1"]),
        r"regime do\(X1\) has no rows: leave it out",
    ),
    "no observational rows": (
        lambda: Data.from_frame(frame(["A", "B"], A=[0, 1], B=[1, 0])),
        "no observational rows: add rows without intervention",
    ),
    "no observational environment": (lambda: Data.from_environments([X], ["X1"]), "no observational rows"),
    "duplicate names": (
        lambda: Data.from_environments([X], [None], names=["A", "A"]),
        "name 'A' occurs 2 times: names must be unique, rename",
    ),
    "duplicate columns": (
        lambda: Data.from_frame(pd.DataFrame([[0, 1, ""]], columns=["A", "A", "perturbation"])),
        "name 'A' occurs 2 times",
    ),
    "duplicate as text": (
        lambda: Data.from_frame(pd.DataFrame([[0, 1]], columns=[1, "1"]), None),
        "name '1' occurs 2 times",
    ),
    "duplicate target column": (
        lambda: Data.from_frame(pd.DataFrame([[0, 1, "", ""]], columns=["A", "B", "T", "T"]), "T"),
        "target column 'T' occurs twice: rename",
    ),
    "empty name": (
        lambda: Data.from_environments([X], [None], names=["A", ""]),
        "empty name '': give every column a name",
    ),
    "too few names": (
        lambda: Data.from_environments([X], [None], names=["A"]),
        "2 columns but there are 1 names: give one per column",
    ),
    "names for a frame": (
        lambda: Data.from_environments([frame(A=[0], B=[1])], [None], names=["C", "D"]),
        "names of its own: leave names= out",
    ),
    "unknown target": (
        lambda: Data.from_frame(frame(["", "A", "Z"], A=[0, 1, 0], B=[1, 0, 0])),
        r"column 'perturbation', row 2, counting from 0: there is no variable 'Z'; .*control='Z'",
    ),
    "several unknown targets": (
        lambda: Data.from_frame(frame(["", "Q", "A+Z"], A=[0, 1, 0], B=[1, 0, 0])),
        "row 1, .*'Q' \\(2 unknown targets in all: 'Q', 'Z'\\)",
    ),
    "unknown target name": (
        lambda: Data.from_environments([X, X], [None, "Z"]),
        "environment 1 targets the unknown variable 'Z': known are 'X1', 'X2'",
    ),
    "unknown target position": (
        lambda: Data.from_environments([X, X], [None, 2]),
        "environment 1 targets position 2, but there are 2 variables: positions go from 0 to 1",
    ),
    "negative target position": (lambda: Data.from_environments([X, X], [None, -1]), "targets position -1"),
    "target of a wrong type": (
        lambda: Data.from_environments([X, X], [None, [1.5]]),
        "environment 1 has the target 1.5: give a name or a position",
    ),
    "target that is a truth value": (
        lambda: Data.from_environments([X, X], [None, [True]]),
        "has the target True: give a name or a position",
    ),
    "one target list too short": (
        lambda: Data.from_environments([X, X], [None]),
        "2 environments but targets=.*one entry per environment",
    ),
    "empty target cell though control is named": (
        lambda: Data.from_frame(frame(["NT", None], A=[0, 1], B=[1, 0]), control="NT"),
        "row 1, counting from 0: a target cell is empty .*add '' to control=",
    ),
    "half a target cell": (
        lambda: Data.from_frame(frame(["", "A+"], A=[0, 1], B=[1, 0])),
        "row 1.*empty name",
    ),
    "all variables targeted": (
        lambda: Data.from_frame(frame(["", "A+B"], A=[0, 1], B=[1, 0])),
        r"regime do\(A, B\) targets every variable.*leave this regime out",
    ),
    "float with too many levels": (
        lambda: Data.from_frame(frame(A=np.arange(257) / 3, B=[0] * 257), None, kinds={"A": "categorical"}),
        "'A' is a float column declared categorical with 257 distinct values, more than 256: leave it",
    ),
    "integers with too many levels": (
        lambda: Data.from_environments([np.arange(140_000).reshape(-1, 2)], [None]),
        "'X1' has 70,000 levels, more than 65,535: declare it continuous with kinds={'X1': 'continuous'}",
    ),
    "spread integers with too many levels": (
        lambda: Data.from_environments([np.arange(140_000).reshape(-1, 2) * 10**9], [None]),
        "'X1' has 70,000 levels, more than 65,535",
    ),
    "text with too many levels": (
        lambda: Data.from_frame(frame(A=[f"cell{i}" for i in range(65_536)], B=[0] * 65_536), None),
        "'A' has 65,536 levels, more than 65,535: drop it, or merge rare levels",
    ),
    "environments of different width": (
        lambda: Data.from_environments([X, np.zeros((2, 3), int)], [None, 0]),
        r"environment 1 has other columns than environment 0 \(missing \[\], additional \['X3'\]\)",
    ),
    "environments of different names": (
        lambda: Data.from_environments([frame(A=[0], B=[1]), frame(A=[0], C=[1])], [None, 0]),
        r"environment 1 has other columns .*missing \['B'\], additional \['C'\].*the same columns",
    ),
    "environments of different types": (
        lambda: Data.from_environments([X, X * 1.0], [None, 0]),
        "'X1' holds integers in environment 0 but floats in environment 1: use one type",
    ),
    "text and numbers in environments": (
        lambda: Data.from_environments([X, X.astype(str)], [None, 0]),
        "'X1' holds integers in environment 0 but text in environment 1",
    ),
    "categories differ": (
        lambda: Data.from_environments(
            [frame(A=pd.Categorical(["a"]), B=[0]), frame(A=pd.Categorical(["b"]), B=[0])], [None, "A"]
        ),
        "'A' has other categories in other environments",
    ),
    "text in a numeric column": (
        lambda: Data.from_frame(frame(A=["0.5", "1.5", "oops"], B=[0, 1, 1]), None),
        "'A' holds the text 'oops' in row 2, .*most of its cells are numbers: correct the cell, or declare",
    ),
    "objects of two types": (
        lambda: Data.from_frame(frame(A=[1.0, "oops", 2.0], B=[0, 1, 1]), None),
        r"'A' holds 'oops' \(str\) in row 1, .*make all cells of the column numbers",
    ),
    "text declared continuous": (
        lambda: Data.from_frame(frame(A=["0.5", "x"], B=[0, 1]), None, kinds={"A": "continuous"}),
        "'A' is continuous but holds the text 'x' in row 1",
    ),
    "dates": (
        lambda: Data.from_frame(frame(A=pd.date_range("2020", periods=2), B=[0, 1]), None),
        "'A' is of type datetime64.*: turn it into numbers, text or categories",
    ),
    "complex numbers": (lambda: Data.from_environments([X * 1j], [None]), "'X1' is of type complex128"),
    "integers beyond 64 bits": (
        lambda: Data.from_frame(frame(A=[10**30, 1], B=[0, 1]), None),
        "'A' holds integers beyond 64 bits",
    ),
    "unsigned beyond 64 bits": (
        lambda: Data.from_environments([np.array([[2**64 - 1, 0], [1, 1]], np.uint64)], [None]),
        "'X1' holds the integer 18446744073709551615, beyond 64 bits with sign",
    ),
    "floats beyond single precision": (
        lambda: Data.from_environments([np.array([[0.0, 0.0], [0.0, 1e300]])], [None]),
        "'X2' holds 1e\\+300 in row 1 of environment 0, too large for single precision: rescale",
    ),
    "one variable": (
        lambda: Data.from_frame(frame(["", ""], A=[1, 0])),
        r"found 1 variable\(s\) \['A'\]: a causal graph needs at least 2 columns",
    ),
    "three dimensions": (
        lambda: Data.from_environments([np.zeros((3, 1, 2))], [None]),
        "environment 0 is a 3-d",
    ),
    "no target column": (
        lambda: Data.from_frame(frame(A=[1, 0], B=[0, 1])),
        r"no target column 'perturbation' .*\['A', 'B'\]: pass its name as target=",
    ),
    "not a frame": (lambda: Data.from_frame([1, 2]), "cannot read a list as a data frame: pass pandas"),
    "a variable called control with spaces": (
        lambda: Data.from_frame(frame(["", ""], **{" control": [1, 0], "B": [0, 1]})),
        "name ' control' is also the label of observational rows",
    ),
    "separator in a name": (
        lambda: Data.from_frame(frame(["", ""], **{"A+B": [1, 0], "B": [0, 1]})),
        "name 'A\\+B' contains the separator '\\+': choose another separator, for example separator='|'",
    ),
    "empty separator": (
        lambda: Data.from_frame(frame(["", ""], A=[1, 0], B=[0, 1]), separator=" "),
        "separator ' ' is empty: use a character",
    ),
    "separator in the control label": (
        lambda: Data.from_frame(frame(["", ""], A=[1, 0], B=[0, 1]), control="non+targeting"),
        "control label 'non\\+targeting' contains the separator",
    ),
    "a variable called control": (
        lambda: Data.from_frame(frame(["", ""], control=[1, 0], B=[0, 1])),
        "name 'control' is also the label of observational rows: rename the column or pass another label",
    ),
    "kinds of an unknown column": (
        lambda: Data.from_environments([X], [None], kinds={"Z": "continuous"}),
        r"kinds names the column 'Z', which does not exist: columns start with \['X1', 'X2'\]",
    ),
    "an unknown kind": (
        lambda: Data.from_environments([X], [None], kinds={"X1": "count"}),  # type: ignore[dict-item]
        "gives 'X1' the kind 'count': use 'categorical' or 'continuous'",
    ),
    "levels of a continuous column": (
        lambda: Data.from_environments([X], [None], kinds={"X1": "continuous"}, levels={"X1": [0, 1]}),
        "'X1' is declared continuous but has levels",
    ),
    "a value that is no level": (
        lambda: Data.from_environments([X], [None], levels={"X1": [0, 2]}),
        r"'X1' holds 1 in row 1 of environment 0, which is not among its levels \[0, 2\]: add the level",
    ),
    "mask of another shape": (
        lambda: Data.from_mask(X, [[0, 1]]),
        r"mask has the shape \(1, 2\) but the table has 3 rows and 2 columns",
    ),
    "mask of other numbers": (
        lambda: Data.from_mask(X, X * 2),
        "mask holds something else than truth values",
    ),
    "mask with other columns": (
        lambda: Data.from_mask(frame(A=[0], B=[1]), frame(A=[0], C=[1])),
        r"lacks the columns \['B'\]",
    ),
    "no such column in obs": (
        lambda: Data.from_anndata(cells(), "guide"),
        r"no column 'guide' in obs, which has \['perturbation'\]: pass its name as target=",
    ),
    "no such layer": (
        lambda: Data.from_anndata(cells(), layer="counts"),
        r"no layer 'counts', only \[\]: pass one of them",
    ),
    "nan in anndata": (lambda: Data.from_anndata(cells(np.nan)), "'G1' holds nan in row 1"),
    "unknown gene": (lambda: Data.from_anndata(cells(target="G9")), "there is no variable 'G9'"),
}


def cells(value: float = 1.0, target: str = "G1") -> anndata.AnnData:
    matrix = np.array([[0.0, 1.0], [value, 0.0]], dtype=np.float32)
    obs = pd.DataFrame({"perturbation": ["control", target]}, index=["c0", "c1"])
    return anndata.AnnData(matrix, obs, pd.DataFrame(index=["G1", "G2"]))


@pytest.mark.parametrize("case", IN_MEMORY)
def test_in_memory(case: str) -> None:
    attempt, message = IN_MEMORY[case]
    with pytest.raises(DataError, match=message) as caught:
        attempt()
    assert "\n" not in str(caught.value)


def test_changed_anndata_with_a_record_is_refused() -> None:
    adata = Data.from_environments([X], [None]).to_anndata()
    adata.X[0, 0] = 7
    with pytest.raises(DataError, match=r"'X1' holds 7.0 in row 0, which is no index of its 2 levels"):
        Data.from_anndata(adata)
    adata.var_names = ["A", "B"]
    with pytest.raises(DataError, match="var_names are not those that uns"):
        Data.from_anndata(adata)
