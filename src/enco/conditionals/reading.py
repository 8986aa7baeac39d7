"""How both engines read the value of a variable: as its head wants it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.continuous import LARGEST_VALUE, Standardisation
from enco.conditionals.heads import VariableHeads
from enco.data import InterventionalData, Regime

__all__ = ["Reading"]


@dataclass(frozen=True)
class Reading:
    """Where each of N variables is found in the blocks of a regime, and what becomes of a number.

    A level is read as it is. A number is first replaced by its logarithm, log(1 + value), if its head is `logarithmic`;
    then centred and scaled by what it is in observational rows, if its head is `standardised`; then clipped.

    Attributes
    ----------
    heads : VariableHeads
    slot : int64 [N]
        Column in `Regime.reals` if the variable is a number, else in `Regime.codes`.
    center, scale : float64 [N]
        0 and 1 where nothing is to be done; a constant column has scale 0.

    Examples
    --------
    >>> rows = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0]])
    >>> reading = Reading.of(InterventionalData.from_environments([rows], [None]), np.arange(2))
    >>> reading.center.round(2), reading.log_scale.round(2)
    (array([3., 7.]), array([0.48, 0.  ]))
    """

    heads: VariableHeads
    slot: NDArray[np.int64]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, data: InterventionalData, column: NDArray[np.int64]) -> "Reading":
        """Read the variables that these columns of the data hold."""
        heads = VariableHeads.of([data.kinds[c] for c in column], data.n_levels[column])
        slot, unit = data.slots[column], Standardisation.of(data)
        center, scale = np.zeros(len(column)), np.ones(len(column))
        own = heads.standardised
        center[own], scale[own] = unit.center[slot[own]], unit.scale[slot[own]]
        return cls(heads, slot, center, scale)

    @property
    def inverse_scale(self) -> NDArray[np.float64]:
        """1 / scale; 0 for a constant column, which then stays at value 0."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    @property
    def log_scale(self) -> NDArray[np.float64]:
        """Log of a unit of what is read, in units of the data: what a density in the unit of the data costs more."""
        return np.log(np.where(self.scale > 0, self.scale, 1.0))

    def numbers(self, regime: Regime, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Rows of `Regime.reals`, every column as it is read, float32."""
        reals = regime.reals[rows]
        number = self.heads.numeric.view(bool)
        slot = self.slot[number]
        logarithmic = self.heads.logarithmic.view(bool)[number]
        if logarithmic.any():
            reals = reals.copy()
            reals[:, slot[logarithmic]] = np.log1p(reals[:, slot[logarithmic]])
        center, scale = np.zeros(reals.shape[1]), np.ones(reals.shape[1])
        center[slot] = self.center[number]
        scale[slot] = np.where(self.scale > 0, self.scale, 1.0)[number]
        return np.clip((reals - center) / scale, -LARGEST_VALUE, LARGEST_VALUE).astype(np.float32)
