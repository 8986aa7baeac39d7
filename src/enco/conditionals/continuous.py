"""How continuous columns enter the networks: standardised, clipped, and with a density that outliers cannot break.

Both engines share these choices:

* A column is centred and scaled by the mean and standard deviation of its observational rows, computed after pulling
  the outermost 0.5 % on each side in to their quantiles, and whatever is further from the quartiles than five times
  their distance in to there, so that wild values do not decide the unit.
* Standardised values are clipped to +-`LARGEST_VALUE`: a parent cannot shout, a target cannot be infinitely surprising.
* The density of a target given its parents is a mixture of what the network says and of a broad normal,

      p(y) = (1 - TAIL_SHARE) p_network(y) + TAIL_SHARE Normal(y; 0, TAIL_SCALE^2),

  so that the loss of one row is bounded, whatever the network extrapolates to under an intervention.
* The log-variance of the Gaussian head is kept inside `LOG_VARIANCE_RANGE`: an exact copy of another column has a
  finite density.

Multiplying a column by a positive constant or shifting it changes nothing but rounding.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData

__all__ = ["LARGEST_VALUE", "LOG_VARIANCE_RANGE", "TAIL_SCALE", "TAIL_SHARE", "Standardisation"]

LARGEST_VALUE = 10.0
TAIL_SHARE = 0.01
TAIL_SCALE = 5.0
LOG_VARIANCE_RANGE = (-9.0, 4.0)

_OUTERMOST = 0.005
_MOST_ROWS = 20_000  # rows that decide the unit; more would not change it


@dataclass(frozen=True)
class Standardisation:
    """Centre and scale of each continuous column, in the order of the columns of `Regime.reals`.

    Attributes
    ----------
    center, scale : float64 [number of continuous columns]
        A constant column has scale 0 and stays at value 0.

    Examples
    --------
    >>> rows = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0]])
    >>> unit = Standardisation.of(InterventionalData.from_environments([rows], [None]))
    >>> unit.center.round(2), (unit.scale > 0).tolist()
    (array([3., 7.]), [True, False])
    """

    center: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, data: InterventionalData) -> "Standardisation":
        """Centre and scale from the observational rows; from all rows for a column that never varies there."""
        observed = data.observational.reals
        step = max(1, -(-len(observed) // _MOST_ROWS))
        center, scale = np.zeros(observed.shape[1]), np.zeros(observed.shape[1])
        for slot in range(observed.shape[1]):
            column = observed[::step, slot].astype(np.float64)
            center[slot], scale[slot] = _unit(column)
            if scale[slot] == 0:
                pooled = np.concatenate([regime.reals[:, slot] for regime in data.regimes]).astype(np.float64)
                center[slot], scale[slot] = _unit(pooled)
        return cls(center, scale)

    def of_columns(self, slots: NDArray[np.int64]) -> "Standardisation":
        """Centre and scale of some of the columns."""
        return Standardisation(self.center[slots], self.scale[slots])

    def apply(self, reals: NDArray[np.float32]) -> NDArray[np.float32]:
        """Standardised and clipped values of a block of rows, float32 of the same shape."""
        safe = np.where(self.scale > 0, self.scale, 1.0)
        return np.clip((reals - self.center) / safe, -LARGEST_VALUE, LARGEST_VALUE).astype(np.float32)


def _unit(column: NDArray[np.float64]) -> tuple[float, float]:
    lowest, lower, upper, highest = np.quantile(column, [_OUTERMOST, 0.25, 0.75, 1 - _OUTERMOST])
    if upper > lower:
        reach = 5.0 * (upper - lower)
        lowest, highest = max(lowest, lower - reach), min(highest, upper + reach)
    pulled_in = np.clip(column, lowest, highest)
    # Nearly all rows alike (a zero-inflated count): the rare other values are then the information, not outliers.
    values = pulled_in if pulled_in.min() < pulled_in.max() else column
    constant = values.min() == values.max()  # the standard deviation of equal numbers need not round to zero
    return float(values.mean()), 0.0 if constant else float(values.std())
