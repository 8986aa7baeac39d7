"""Counts of configurations, smoothed by another prediction: the kernels."""

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.vector_math import FAST, fast_exp, fast_log
from enco.system.compilation import njit

__all__ = ["STRENGTHS", "corrected", "renumbered"]

I64 = NDArray[np.int64]
Block = NDArray[np.float32]
f32 = np.float32

STRENGTHS = (4.0 ** np.arange(-5, 11)).astype(np.float32)  # for functions, to where counts know nothing


@njit(cache=True, nogil=True)
def corrected(
    loss: Block, configuration: I64, n_configurations: int, y: I64, n_values: int, strengths: Block, copies: Block
) -> None:
    """Replace the loss of each row by that of counts of all others, smoothed by what the loss says, [rows].

    A row that was drawn several times is there in `copies`, itself included, none of which is another row.
    """
    rows = len(y)
    cell, n_cells = renumbered(configuration * n_values + y, n_configurations * n_values)
    count, among = np.zeros(n_cells, f32), np.zeros(n_configurations, f32)
    for row in range(rows):
        count[cell[row]] += f32(1.0)
        among[configuration[row]] += f32(1.0)
    alike, others, base = np.empty(rows, f32), np.empty(rows, f32), np.empty(rows, f32)
    for row in range(rows):
        alike[row] = count[cell[row]] - copies[row]
        others[row] = among[configuration[row]] - copies[row]
    for row in range(rows):
        base[row] = fast_exp(-loss[row])
    place = len(strengths) - 1  # the network alone, nearly
    best = smoothed(alike, others, base, strengths[place], loss)
    while place > 0:
        other = smoothed(alike, others, base, strengths[place - 1], loss)
        if other >= best:
            break
        best, place = other, place - 1
    smoothed(alike, others, base, strengths[place], loss)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def smoothed(alike: Block, others: Block, base: Block, strength: np.float32, loss: Block) -> float:
    """Write the loss of every row for one strength, and return the sum."""
    summed = 0.0
    for row in range(len(base)):
        loss[row] = -fast_log((alike[row] + strength * base[row]) / (others[row] + strength))
        summed += loss[row]
    return summed


@njit(cache=True, nogil=True)
def renumbered(number: I64, span: int) -> tuple[I64, int]:
    """Give distinct values numbers from 0, in the order in which they occur; all are below `span`."""
    n = len(number)
    which, count = np.empty(n, np.int64), 0
    if span <= 16 * n + 1024:
        place = np.full(span, -1, np.int64)
        for row in range(n):
            if place[number[row]] < 0:
                place[number[row]] = count
                count += 1
            which[row] = place[number[row]]
        return which, count
    order = np.argsort(number)
    for k in range(n):
        if k > 0 and number[order[k]] != number[order[k - 1]]:
            count += 1
        which[order[k]] = count
    return which, count + 1
