"""The part of a network that training can move: bias, outputs, and the tables of parents that may be present."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.fused.network import F32, I64, Network, like

__all__ = ["PresentPart"]


@dataclass(frozen=True)
class PresentPart:
    """Where a smaller network is found in the block of a larger one (see `layout`).

    Networks that answer a question about one set of parents have few parents out of many candidates. To read the others
    and to move their tables would take most of the time.

    Attributes
    ----------
    place : int64
        Positions in the block, in the order of the smaller block.
    network : Network
        The smaller one, over a copy of its numbers.
    """

    place: I64
    network: Network

    @classmethod
    def of(cls, network: Network, possible: NDArray[np.bool_]) -> "PresentPart":
        """Choose some of the parents of a network.

        Examples
        --------
        >>> block = np.arange(7, dtype=np.float32)  # bias, two tables of two rows, output weight and its bias
        >>> rows = block.reshape(-1, 1)
        >>> network = Network(rows, 5, rows[5:6], block[6:], 0, np.array([1, 3]), np.zeros(2, np.uint8))
        >>> part = PresentPart.of(network, np.array([False, True]))
        >>> part.place.tolist(), part.network.table_row.tolist(), part.network.out_row
        ([0, 3, 4, 5, 6], [1], 3)
        """
        n_rows, hidden = network.weights.shape
        ends = np.append(network.table_row[1:], network.out_row)
        begins, ends = network.table_row[possible], ends[possible]
        tables = [np.arange(begin, end) for begin, end in zip(begins, ends, strict=True)]
        rows = np.concatenate([np.zeros(1, np.int64), *tables, np.arange(network.out_row, n_rows)])
        place = (rows[:, None] * hidden + np.arange(hidden)).ravel()
        widths = ends - begins
        smaller = network._replace(
            out_row=len(rows) - (n_rows - int(network.out_row)),
            table_row=1 + np.cumsum(widths) - widths,
            numeric=network.numeric[possible],
        )
        return cls(place, like(smaller, network.weights.reshape(-1)[place]))

    def write_back(self, block: F32, part: F32) -> None:
        """Put the numbers of the smaller network where the larger one has them."""
        block[self.place] = part
