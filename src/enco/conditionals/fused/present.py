"""The part of a network that training can move: bias, outputs, and the tables of parents that may be present."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["PresentPart"]

I64 = NDArray[np.int64]


@dataclass(frozen=True)
class PresentPart:
    """Where a smaller network is found in the block of a larger one (see `layout`).

    Networks that answer a question about one set of parents have few parents out of many candidates. To read the others
    and to move their tables would take most of the time.

    Attributes
    ----------
    place : int64
        Positions in the block, in the order of the smaller block.
    table_row : int64
        Row of the smaller block where the table of each of its parents starts.
    out_row : int
        Row of the smaller block where its output weights start.
    """

    place: I64
    table_row: I64
    out_row: int

    @classmethod
    def of(cls, possible: NDArray[np.bool_], table_row: I64, out_row: int, n_rows: int, hidden: int) -> "PresentPart":
        """Choose some of the parents of a network whose block has `n_rows` rows.

        Examples
        --------
        >>> part = PresentPart.of(np.array([False, True]), np.array([1, 3]), out_row=5, n_rows=7, hidden=1)
        >>> part.place.tolist(), part.table_row.tolist(), part.out_row  # bias, second table, output weight and its bias
        ([0, 3, 4, 5, 6], [1], 3)
        """
        ends = np.append(table_row[1:], out_row)
        tables = [np.arange(begin, end) for begin, end in zip(table_row[possible], ends[possible], strict=True)]
        rows = np.concatenate([np.zeros(1, np.int64), *tables, np.arange(out_row, n_rows)])
        widths = (ends - table_row)[possible]
        place = (rows[:, None] * hidden + np.arange(hidden)).ravel()
        return cls(place, 1 + np.cumsum(widths) - widths, len(rows) - (n_rows - out_row))
