"""What a mechanism is: the conditional distribution of one variable given its parents.

Parents are always in ascending order of their positions in the graph. Their values come in two blocks with
one row per sample: level indices of the categorical parents and values of the continuous ones.
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.data import AnyKind, Kind
from enco.errors import SettingsError

__all__ = ["CategoricalMechanism", "ContinuousMechanism", "Mechanism"]


class Mechanism(ABC):
    """The conditional distribution of one variable given its parents.

    Parameters
    ----------
    parent_levels : sequence of int
        Number of levels of each parent, 0 for a continuous one.

    Examples
    --------
    >>> from enco.simulate import TableCategorical
    >>> isinstance(TableCategorical([[0.5, 0.5]]), Mechanism)
    True
    """

    kind: AnyKind

    def __init__(self, parent_levels: ArrayLike) -> None:
        self.parent_levels = tuple(int(levels) for levels in np.atleast_1d(np.asarray(parent_levels, dtype=int)))

    @property
    def n_categorical_parents(self) -> int:
        """Number of categorical parents."""
        return sum(levels > 0 for levels in self.parent_levels)

    @property
    def n_continuous_parents(self) -> int:
        """Number of continuous parents."""
        return sum(levels == 0 for levels in self.parent_levels)

    @abstractmethod
    def sample(self, codes: NDArray[Any], reals: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        """Draw the variable for every row.

        Parameters
        ----------
        codes : ndarray of uint8 or uint16 [rows, categorical parents]
            Level indices; their number of rows says how many values to draw.
        reals : ndarray of float32 [rows, continuous parents]
            Values of the continuous parents.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        ndarray [rows]
            Level indices, or float32 values of a continuous variable.
        """

    def redrawn(self, rng: np.random.Generator) -> "Mechanism":
        """Return a new random mechanism of the same family, for the same parents; a continuous one keeps its noise.

        Parameters
        ----------
        rng : numpy.random.Generator

        Examples
        --------
        >>> from enco.simulate import LinearGaussian
        >>> usual = LinearGaussian([0], real_weights=[9.0], tables=[], sd=2.0)
        >>> new = usual.redrawn(np.random.default_rng(0))
        >>> new.real_weights.round(2), new.sd
        (array([0.45], dtype=float32), 2.0)
        """
        raise SettingsError(
            f"a {type(self).__name__} cannot be drawn anew, as soft interventions need it: give it a method "
            "redrawn(rng)"
        )

    def _parent_blocks(
        self, codes: ArrayLike | None, reals: ArrayLike | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Check values that a caller typed in, for the exact helpers: integers and floats [rows, parents]."""
        given = [np.asarray(block) for block in (codes, reals) if block is not None]
        rows = len(given[0]) if given else 1
        codes = np.zeros((rows, 0), dtype=np.int64) if codes is None else np.asarray(codes, dtype=np.int64)
        reals = np.zeros((rows, 0)) if reals is None else np.asarray(reals, dtype=np.float64)
        expected = (self.n_categorical_parents, self.n_continuous_parents)
        if codes.ndim != 2 or reals.ndim != 2 or (codes.shape[1], reals.shape[1]) != expected:
            raise SettingsError(
                f"this mechanism has {expected[0]} categorical and {expected[1]} continuous parents, but the "
                f"values have the shapes {list(codes.shape)} and {list(reals.shape)}; give one column per "
                f"parent"
            )
        levels = [n for n in self.parent_levels if n > 0]
        if codes.size and ((codes < 0) | (codes >= levels)).any():
            raise SettingsError(f"a parent code is outside its levels; the parents have {levels} levels")
        return codes, reals


class CategoricalMechanism(Mechanism):
    """A mechanism whose variable is categorical and whose probabilities can be computed exactly.

    Parameters
    ----------
    parent_levels : sequence of int
        Number of levels of each parent, 0 for a continuous one.
    n_levels : int
        Number of levels of the variable itself.

    Examples
    --------
    >>> from enco.simulate import TableCategorical
    >>> TableCategorical([[0.25, 0.75]]).n_levels
    2
    """

    kind = Kind.CATEGORICAL

    def __init__(self, parent_levels: ArrayLike, n_levels: int) -> None:
        super().__init__(parent_levels)
        self.n_levels = int(n_levels)

    @abstractmethod
    def probabilities(self, codes: ArrayLike | None = None, reals: ArrayLike | None = None) -> NDArray[np.float64]:
        """Exact probabilities of the levels for each row of parent values.

        Parameters
        ----------
        codes : array_like of int [rows, categorical parents], optional
            Level indices; may be left out if there is no categorical parent.
        reals : array_like of float [rows, continuous parents], optional
            Values of the continuous parents, likewise.

        Returns
        -------
        ndarray of float64 [rows, levels]
            One row if both are left out.
        """


class ContinuousMechanism(Mechanism):
    """A mechanism whose variable is continuous.

    Parameters
    ----------
    parent_levels : sequence of int
        Number of levels of each parent, 0 for a continuous one.

    Examples
    --------
    >>> from enco.simulate import LinearGaussian
    >>> LinearGaussian([0], real_weights=[0.5], tables=[], sd=1.0).kind
    'continuous'
    """

    kind = Kind.CONTINUOUS
    n_levels = 0

    def with_noise(self, factor: float) -> "ContinuousMechanism":
        """Return the same mechanism with its noise multiplied by a factor.

        Parameters
        ----------
        factor : float
            Above zero.

        Examples
        --------
        >>> from enco.simulate import LinearGaussian
        >>> LinearGaussian([0], real_weights=[0.5], tables=[], sd=1.5).with_noise(2.0).sd
        3.0
        """
        if not hasattr(self, "sd"):
            raise SettingsError(
                f"the noise of a {type(self).__name__} cannot be multiplied, as batches need it: give it an attribute "
                "sd, or a method with_noise(factor)"
            )
        changed = copy(self)
        changed.sd = self.sd * factor
        return changed
