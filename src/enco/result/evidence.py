"""How much data speaks about each pair of variables."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData

__all__ = ["Evidence"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Intervention regimes and rows behind each edge; row = cause, column = effect.

    Attributes
    ----------
    regimes, rows : int64 [N, N]
        Those that inform the existence of cause -> effect: all whose targets do not include the effect (Eq. 3).
    orientation_rows : int64 [N, N]
        Rows that inform the orientation: of regimes that target one of the two variables and not the other (Eq. 4).
    """

    regimes: Counts
    rows: Counts
    orientation_rows: Counts

    @classmethod
    def of(cls, data: InterventionalData) -> "Evidence":
        """Count the evidence in a data set.

        Examples
        --------
        >>> x = np.array([[0, 1, 0], [1, 0, 1]])
        >>> data = InterventionalData.from_environments([x, x, x], [None, "X1", ["X1", "X2"]])
        >>> evidence = Evidence.of(data)
        >>> evidence.rows[0].tolist()  # of X1 -> X1, X1 -> X2 and X1 -> X3
        [0, 2, 4]
        >>> evidence.orientation_rows[0].tolist()
        [0, 2, 4]
        """
        n = data.n_variables
        targeted = np.zeros((len(data.interventional), n), np.int64)
        size = np.zeros((len(data.interventional), 1), np.int64)
        for place, regime in enumerate(data.interventional):
            targeted[place, list(regime.targets)] = 1
            size[place] = regime.n_rows
        free = 1 - targeted
        into_effect = np.stack([free.sum(axis=0), (size * free).sum(axis=0)])
        one_sided = (size * targeted).T @ free
        counts = [np.tile(count, (n, 1)) for count in into_effect] + [one_sided + one_sided.T]
        for matrix in counts:
            np.fill_diagonal(matrix, 0)
        return cls(*counts)

    @property
    def adjacent_intervention(self) -> NDArray[np.bool_]:
        """Whether some regime targets one of the two variables and not the other, bool [N, N]."""
        return self.orientation_rows > 0
