"""Tables of data frames that no file of numbers and texts can be: repeated names, cells that are lists or records."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from enco import ENCO
from enco.data import InterventionalData
from enco.errors import DataError
from enco.io import read_parquet

X = np.array([[0, 1], [1, 0], [1, 1]])
PANDAS = pd.DataFrame(X, columns=["A", "A"])
ARROW = pa.table([pa.array(X[:, 0]), pa.array(X[:, 1])], names=["A", "A"])

NESTED = {
    "list": pa.array([["A"], ["B"], []]),
    "fixed list": pa.array([[1, 2]] * 3, pa.list_(pa.int64(), 2)),
    "record": pa.array([{"a": 1}] * 3),
    "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("frame", [PANDAS, ARROW], ids=["pandas", "pyarrow"])
@pytest.mark.parametrize(
    "read",
    [
        lambda frame: InterventionalData.from_frame(frame, None),
        lambda frame: InterventionalData.from_environments([frame, frame], [None, "A"]),
        lambda frame: InterventionalData.from_mask(frame, 0 * X),
        lambda frame: InterventionalData.from_mask(pd.DataFrame(X, columns=["A", "B"]), frame),
        lambda frame: ENCO().fit(frame),
    ],
    ids=["frame", "environments", "mask", "frame as a mask", "estimator"],
)
def test_repeated_names(read, frame):
    with pytest.raises(DataError, match=r"'A' (occurs )?2 times.*: .*rename the columns"):
        read(frame)


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("frame", [pl.from_arrow, pa.Table.to_pandas, lambda table: table])
def test_columns_of_lists_and_records(kind, frame, tmp_path):
    names, numbers = {"perturbation": NESTED[kind]}, {"A": [0, 1, 1], "B": [1, 0, 1]}
    with pytest.raises(DataError, match=r"column 'perturbation'.* (holds|a target cell is) .*: .*names?"):
        InterventionalData.from_frame(frame(pa.table(numbers | names)))
    with pytest.raises(DataError, match=r"'C' (holds|is of type) .*: (turn|make) "):
        InterventionalData.from_frame(frame(pa.table(numbers | {"C": NESTED[kind]})), None)
    pq.write_table(pa.table(numbers | names), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: .*column 'perturbation'"):
        read_parquet(tmp_path / "a.parquet")
