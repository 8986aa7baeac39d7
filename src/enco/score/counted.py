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

from enco.data import Codes
from enco.score.base import Parents
from enco.score.counts import STRENGTHS, corrected, renumbered
from enco.score.networks import NetworkPredictor, Networks

__all__ = ["CountedPredictor"]

I64 = NDArray[np.int64]
Floats = NDArray[np.float64]


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
        self._copies = networks.sample.copies[self._order[self._free]]

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
            corrected(counted, configuration, n, self._y, int(self._levels[self._effect]), STRENGTHS, self._copies)
            loss[free] = counted
        return losses

    def log_probabilities(self, parents: Parents, rows: I64, n_levels: int, slot: int) -> Floats:
        """Log-probabilities of all levels in some rows that leave the variable free, [rows, levels]."""
        base = np.exp(super().log_probabilities(parents, rows, n_levels, slot))
        configuration, n = self._numbered(np.zeros(len(self._y), np.int64), 1, sorted(parents))
        count = np.zeros((n, n_levels))
        np.add.at(count, (configuration, self._y), 1.0)
        sample_rows = self._order[self._free]
        order = np.argsort(sample_rows)
        place = order[np.searchsorted(sample_rows, rows, sorter=order)]
        y = self._y[place]
        here = count[configuration[place]]
        here[np.arange(len(rows)), y] -= self._copies[place]  # the row itself is none of the others
        among = here.sum(axis=1, keepdims=True)
        tried = (np.log((here + s * base) / (among + s)) for s in STRENGTHS.astype(np.float64))
        return max(tried, key=lambda told: float(told[np.arange(len(rows)), y].sum()))

    def _numbered(self, configuration: I64, n: int, parents: Sequence[int]) -> tuple[I64, int]:
        """Tell configurations that occur apart once some parents join, by their numbers, [rows]."""
        for parent in parents:
            levels = int(self._levels[parent])
            configuration, n = renumbered(configuration * levels + self._column(parent), n * levels)
        return configuration, n

    def _column(self, variable: int) -> Codes:
        codes: Codes = self._networks.table.codes[self._order[self._free], self._slot[variable]]
        return codes
