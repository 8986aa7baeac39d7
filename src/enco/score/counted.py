"""Losses of categorical variables by networks that are corrected by counts.

A network that must know many sets of parents is exact for none of them, and whatever is correlated with a parent then
seems to help. Counts know what it has missed. With q(x | row) what a network says that has not learned from the row,
and n(x, c) the other rows of value x whose parents have the same configuration c, of n(c) in all,

    p(x | row) = (n(x, c) + s q(x | row)) / (n(c) + s).

The strength s is the one that predicts best: nothing but counts where configurations are few, or the variable is a
function of its parents; the network alone where every configuration is rare.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.vector_math import FAST, fast_exp, fast_log
from enco.data import Codes
from enco.score.base import Parents
from enco.score.networks import NetworkPredictor, Networks
from enco.system.compilation import njit

__all__ = ["STRENGTHS", "CountedPredictor", "corrected", "renumbered"]

I64 = NDArray[np.int64]
Block = NDArray[np.float32]
f32 = np.float32

STRENGTHS = (4.0 ** np.arange(-5, 11)).astype(np.float32)  # for functions, to where counts know nothing


class CountedPredictor(NetworkPredictor):
    """What networks and counts of one variable say together; see `enco.score.base.Predictor`.

    Parameters
    ----------
    networks : Networks
    effect : int
        A categorical variable all of whose candidate parents are categorical.
    n_levels, slot : int64 [N]
        Categories of each variable, and its column of the codes.
    """

    def __init__(self, networks: Networks, effect: int, n_levels: I64, slot: I64) -> None:
        super().__init__(networks, effect)
        self._levels = n_levels
        self._slot = slot
        # Rows that the regime has hit in part are no example of the variable's usual mechanism, and are not counted.
        self._free = np.flatnonzero(networks.sample.free[effect][networks.sample.origin[self._order]])
        self._y = self._column(effect).astype(np.int64)

    def _row_losses(self, parents: Parents, causes: Sequence[int]) -> NDArray[np.float32]:
        losses = super()._row_losses(parents, causes)
        free = self._free
        numbers: dict[Parents, tuple[I64, int]] = {}
        for loss, cause in zip(losses, (None, *causes), strict=True):
            family = parents if cause is None else parents ^ {cause}
            begun = parents if cause not in parents else family
            if begun not in numbers:
                numbers[begun] = self._numbered(np.zeros(len(self._y), np.int64), 1, sorted(begun))
            configuration, n = self._numbered(*numbers[begun], sorted(family - begun))
            counted = loss[free]
            corrected(counted, configuration, n, self._y, int(self._levels[self._effect]), STRENGTHS)
            loss[free] = counted
        return losses

    def _numbered(self, configuration: I64, n: int, parents: Sequence[int]) -> tuple[I64, int]:
        """Tell configurations that occur apart once some parents join, by their numbers, [rows]."""
        for parent in parents:
            levels = int(self._levels[parent])
            configuration, n = renumbered(configuration * levels + self._column(parent), n * levels)
        return configuration, n

    def _column(self, variable: int) -> Codes:
        codes: Codes = self._networks.table.codes[self._order[self._free], self._slot[variable]]
        return codes


@njit(cache=True, nogil=True)
def corrected(loss: Block, configuration: I64, n_configurations: int, y: I64, n_values: int, strengths: Block) -> None:
    """Replace the loss of each row by that of counts of all others, smoothed by what the loss says, [rows]."""
    rows = len(y)
    cell, n_cells = renumbered(configuration * n_values + y, n_configurations * n_values)
    count, among = np.full(n_cells, f32(-1.0)), np.full(n_configurations, f32(-1.0))  # besides the row itself
    for row in range(rows):
        count[cell[row]] += f32(1.0)
        among[configuration[row]] += f32(1.0)
    alike, others, base = np.empty(rows, f32), np.empty(rows, f32), np.empty(rows, f32)
    for row in range(rows):
        alike[row] = count[cell[row]]
        others[row] = among[configuration[row]]
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
