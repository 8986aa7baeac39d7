"""What an intervention sets a variable to: perfect interventions, stochastic or fixed.

Anything with a method ``sample(rows, variable, rng)`` can be used; the classes here cover the usual cases.
`Uniform` is the default for categorical variables and `Normal` with mean 2 and standard deviation 1 for
continuous ones, as in the experiments of the paper.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from enco.data import Level, Variable
from enco.errors import SettingsError

__all__ = [
    "Categorical",
    "Distribution",
    "Fixed",
    "Normal",
    "Uniform",
    "as_distribution",
    "exact_probabilities",
]


@runtime_checkable
class Distribution(Protocol):
    """What `SCM.sample` asks of an intervention."""

    def sample(self, rows: int, variable: Variable, rng: np.random.Generator) -> NDArray[Any]:
        """Draw `rows` values: level indices for a categorical variable, real numbers for a continuous one."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Uniform over all levels of a categorical variable, or over an interval for a continuous one.

    Parameters
    ----------
    low, high : float, optional
        The interval; only for continuous variables, which need both.

    Examples
    --------
    >>> coin = Variable("coin", "categorical", ("heads", "tails"))
    >>> sorted(set(Uniform().sample(100, coin, np.random.default_rng(0)).tolist()))
    [0, 1]
    """

    low: float | None = None
    high: float | None = None

    def sample(self, rows: int, variable: Variable, rng: np.random.Generator) -> NDArray[Any]:
        """Draw `rows` values."""
        if variable.is_categorical:
            return rng.integers(self._n_levels(variable), size=rows)
        if self.low is None or self.high is None or not -math.inf < self.low < self.high < math.inf:
            raise SettingsError(
                f"a uniform intervention on the continuous variable {variable.name!r} needs an interval: "
                "Uniform(low, high) with low < high"
            )
        return rng.uniform(self.low, self.high, size=rows)

    def level_probabilities(self, variable: Variable) -> NDArray[np.float64]:
        """Probability of each level of a categorical variable."""
        return np.full(self._n_levels(variable), 1.0 / variable.n_levels)

    def _n_levels(self, variable: Variable) -> int:
        if self.low is not None or self.high is not None:
            raise SettingsError(f"variable {variable.name!r} is categorical: use Uniform() without an interval")
        return variable.n_levels


@dataclass(frozen=True)
class Categorical:
    """Given probabilities of the levels of a categorical variable.

    Parameters
    ----------
    probabilities : sequence of float
        One probability per level, in the order of the levels; they sum to one.

    Examples
    --------
    >>> coin = Variable("coin", "categorical", ("heads", "tails"))
    >>> Categorical((0.0, 1.0)).sample(3, coin, np.random.default_rng(0))
    array([1, 1, 1])
    """

    probabilities: Sequence[float]

    def sample(self, rows: int, variable: Variable, rng: np.random.Generator) -> NDArray[Any]:
        """Draw `rows` level indices."""
        return rng.choice(variable.n_levels, size=rows, p=self.level_probabilities(variable))

    def level_probabilities(self, variable: Variable) -> NDArray[np.float64]:
        """Probability of each level, checked against the variable."""
        if variable.is_continuous:
            raise SettingsError(f"variable {variable.name!r} is continuous: use Normal, Uniform or a fixed value")
        values = np.asarray(self.probabilities, dtype=np.float64)
        if values.shape != (variable.n_levels,):
            raise SettingsError(
                f"variable {variable.name!r} has {variable.n_levels} levels, but the intervention gives "
                f"{values.size} probabilities"
            )
        if not (values >= 0).all() or abs(values.sum() - 1.0) > 1e-6:
            raise SettingsError(
                f"the probabilities of the intervention on {variable.name!r} must be 0 or more and sum to 1, "
                f"but they sum to {values.sum():g}"
            )
        normalised: NDArray[np.float64] = values / values.sum()
        return normalised


@dataclass(frozen=True)
class Normal:
    """A Gaussian for a continuous variable.

    Parameters
    ----------
    mean : float
        Mean.
    sd : float
        Standard deviation, above zero.

    Examples
    --------
    >>> dose = Variable("dose", "continuous")
    >>> Normal(2.0, 1.0).sample(3, dose, np.random.default_rng(0)).round(2)
    array([2.13, 1.87, 2.64])
    """

    mean: float = 0.0
    sd: float = 1.0

    def sample(self, rows: int, variable: Variable, rng: np.random.Generator) -> NDArray[Any]:
        """Draw `rows` values."""
        if variable.is_categorical:
            raise SettingsError(f"variable {variable.name!r} is categorical: use Uniform, Categorical or a level")
        if not (math.isfinite(self.mean) and 0.0 < self.sd < math.inf):
            raise SettingsError(f"Normal needs a finite mean and sd above 0, but got {self.mean} and {self.sd}")
        return rng.normal(self.mean, self.sd, size=rows)


@dataclass(frozen=True)
class Fixed:
    """One value for all rows: a level of a categorical variable, or a real number.

    Parameters
    ----------
    value : bool, int, str or float
        The level itself (not its index), or the number.

    Examples
    --------
    >>> coin = Variable("coin", "categorical", ("heads", "tails"))
    >>> Fixed("tails").sample(3, coin, np.random.default_rng(0))
    array([1, 1, 1])
    """

    value: Level | float

    def sample(self, rows: int, variable: Variable, rng: np.random.Generator) -> NDArray[Any]:
        """Return `rows` copies of the value."""
        if variable.is_categorical:
            return np.full(rows, self._code(variable))
        if isinstance(self.value, str) or not math.isfinite(self.value):
            raise SettingsError(f"variable {variable.name!r} is continuous: {self.value!r} is not a finite number")
        return np.full(rows, float(self.value))

    def level_probabilities(self, variable: Variable) -> NDArray[np.float64]:
        """Probability of each level: one for the value, zero for the others."""
        result = np.zeros(variable.n_levels)
        result[self._code(variable)] = 1.0
        return result

    def _code(self, variable: Variable) -> int:
        for code, level in enumerate(variable.levels or ()):
            if level == self.value and isinstance(level, bool) == isinstance(self.value, bool | np.bool_):
                return code
        shown = ", ".join(repr(level) for level in (variable.levels or ())[:10])
        raise SettingsError(
            f"{self.value!r} is not a level of variable {variable.name!r}; its levels are {shown}"
            + (", ..." if variable.n_levels > 10 else "")
        )


def as_distribution(value: Any, variable: Variable) -> Distribution:
    """Turn what a caller may write for an intervention into a `Distribution`.

    Parameters
    ----------
    value : None, Distribution, bool, int, str or float
        None means the default: uniform over the levels, or N(2, 1) for a continuous variable.
    variable : Variable
        The target.

    Examples
    --------
    >>> as_distribution(None, Variable("dose", "continuous"))
    Normal(mean=2.0, sd=1.0)
    >>> as_distribution("tails", Variable("coin", "categorical", ("heads", "tails")))
    Fixed(value='tails')
    """
    if value is None:
        return Uniform() if variable.is_categorical else Normal(2.0, 1.0)
    if isinstance(value, type):
        raise SettingsError(f"do[{variable.name!r}] is the class {value.__name__}; create an object of it")
    if isinstance(value, Distribution):
        return value
    if isinstance(value, bool | int | str | float | np.generic):
        return Fixed(value.item() if isinstance(value, np.generic) else value)
    raise SettingsError(
        f"do[{variable.name!r}] is {value!r}; use None, a level or number, or an object with a sample method"
    )


def exact_probabilities(distribution: Distribution, variable: Variable) -> NDArray[np.float64]:
    """Exact probabilities of the levels under a distribution that can tell them.

    Parameters
    ----------
    distribution : Distribution
        One with a method ``level_probabilities(variable)``: `Uniform`, `Categorical`, `Fixed` or one's own.
    variable : Variable
        A categorical variable.

    Returns
    -------
    ndarray of float64 [levels]

    Examples
    --------
    >>> exact_probabilities(Uniform(), Variable("coin", "categorical", ("heads", "tails")))
    array([0.5, 0.5])
    """
    tell = getattr(distribution, "level_probabilities", None)
    if tell is None:
        raise SettingsError(
            f"the intervention on {variable.name!r} has no exact probabilities; give it a method "
            "level_probabilities(variable)"
        )
    return np.asarray(tell(variable), dtype=np.float64)
