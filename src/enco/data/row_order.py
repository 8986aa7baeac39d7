"""One order of the rows for every order in which they may come: a graph is a function of the set of rows.

Rows of a regime are sorted by their values, the variables taken in the order of their names, and then shuffled in a way
that depends on their number only, so that the first rows, or every fourth, are as good a sample as any.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.data.dataset import InterventionalData
from enco.data.variables import Regime

__all__ = ["in_canonical_order"]


def in_canonical_order(data: InterventionalData) -> InterventionalData:
    """Return the same rows, those in memory in an order that does not depend on the one they are in.

    Rows on disk stay where they are.

    Examples
    --------
    >>> rows = np.array([[0, 1], [1, 0], [1, 1]])
    >>> one, other = (InterventionalData.from_environments([x], [None]) for x in (rows, rows[::-1]))
    >>> one == other, in_canonical_order(one) == in_canonical_order(other)
    (False, True)
    """
    by_name = np.argsort(np.array(data.names, dtype=object), kind="stable")
    slots, continuous = data.slots[by_name], data.is_continuous[by_name]

    def ordered(regime: Regime) -> Regime:
        if isinstance(regime.codes, np.memmap) or isinstance(regime.reals, np.memmap):
            return regime
        keys = [_sortable(block[:, columns]) for block, columns in (
            (regime.codes, slots[~continuous]), (regime.reals, slots[continuous])
        )]  # fmt: skip
        key = np.ascontiguousarray(np.concatenate(keys, axis=1))
        order = np.argsort(key.view(f"V{key.shape[1]}")[:, 0], kind="stable")
        order = order[np.random.default_rng(0).permutation(len(order))]
        return regime.taking(order)

    return InterventionalData._from_checked(data.variables, [ordered(regime) for regime in data.regimes])


def _sortable(block: NDArray[Any]) -> NDArray[np.uint8]:
    """Bytes of each row that compare as its values do, one after the other, [rows, bytes]."""
    if block.dtype.kind == "f":
        bits = np.ascontiguousarray(block, np.float32).view(np.uint32)
        negative = bits >> np.uint32(31) == 1
        numbers = np.where(negative, ~bits, bits | np.uint32(1 << 31)).astype(">u4")
    else:
        numbers = block.astype(block.dtype.newbyteorder(">"))
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(len(block), -1)
