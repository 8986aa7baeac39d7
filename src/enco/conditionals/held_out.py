"""Which rows a conditional model trains on, how often, and which decide when it stops."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_HELD_OUT", "repeats", "split_rows"]

MOST_HELD_OUT = 2000  # more rows would make a look at them slower than the training between two looks


def split_rows(n_rows: int, held_out: float, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Random split into training and held-out rows, both sorted; a single row is both.

    With a share of 0, all rows train, and some of them say how far training has come.

    Examples
    --------
    >>> train, held = split_rows(20, 0.1, np.random.default_rng(0))
    >>> len(train), len(held), len(np.union1d(train, held))
    (18, 2, 20)
    >>> [len(rows) for rows in split_rows(5000, 0.0, np.random.default_rng(0))]
    [5000, 2000]
    """
    order = rng.permutation(n_rows)
    if not held_out:
        return np.arange(n_rows), np.sort(order[:MOST_HELD_OUT])
    n_held = min(max(round(n_rows * held_out), 1), n_rows - 1, MOST_HELD_OUT) if n_rows > 1 else 0
    held = np.sort(order[:n_held])
    return np.sort(order[n_held:]), held if n_held else np.arange(n_rows)


def repeats(n_rows: int, n_more: int) -> int:
    """How often each of some more rows counts, so that they are about a third of all or more.

    Interventional rows can be few beside observational ones, and yet the only ones in which causes part that otherwise
    go together.

    Examples
    --------
    >>> repeats(100_000, 10_000), repeats(5000, 2500)
    (5, 1)
    """
    return max(1, n_rows // max(1, 2 * n_more))
