"""The table of a negative control in a result: edges of each confidence, with the real and with permuted labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from enco.errors import FileFormatError
from enco.result.fields import is_number

__all__ = ["NULL_COLUMNS", "null_control_in"]

NULL_COLUMNS = ("permutations", "probability", "edges", "by_chance", "beyond_chance", "fdr")


def null_control_in(source: Path, records: Any) -> pd.DataFrame | None:
    """Build the table of a negative control from what a file holds.

    Examples
    --------
    >>> null_control_in(Path("graph.json"), {"probability": 0.5})
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: graph.json: 'null_control' must be a list of objects with permutations, ...
    """
    if records is None:
        return None
    numbers = NULL_COLUMNS[:-1]
    valid = isinstance(records, list) and all(
        isinstance(record, dict)
        and record.keys() == set(NULL_COLUMNS)
        and all(is_number(record[name], 0.0) for name in numbers)
        and record["probability"] <= 1
        and (record["fdr"] is None or (is_number(record["fdr"], 0.0) and record["fdr"] <= 1))
        for record in records
    )
    if not valid:
        raise FileFormatError(f"{source}: 'null_control' must be a list of objects with {', '.join(NULL_COLUMNS)}")
    table = pd.DataFrame(records, columns=list(NULL_COLUMNS)).astype(float)
    return table.astype({"permutations": np.int64, "edges": np.int64})
