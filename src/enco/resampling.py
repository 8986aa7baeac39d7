"""What a refit sees of the data: a part of the rows, rows drawn anew, or all regimes but one."""

from collections.abc import Callable
from math import exp
from numbers import Real
from typing import Any

import numpy as np

from enco.data import InterventionalData
from enco.errors import SettingsError

__all__ = ["SCHEMES", "SHARE", "bootstrapped", "check_scheme", "resample", "share_of", "without_regime"]

SHARE = 1.0 - exp(-1.0)
"""Share of the rows of every regime in a subsample: that of the distinct rows in a bootstrap sample."""

Draw = Callable[[InterventionalData, float, int, np.random.Generator], InterventionalData]


def resample(data: InterventionalData, share: float, rng: np.random.Generator) -> InterventionalData:
    """Draw a share of the rows of every regime, at least one, without replacement.

    Examples
    --------
    >>> x = np.arange(20).reshape(10, 2) % 3
    >>> data = InterventionalData.from_environments([x, x[:1]], [None, "X1"])
    >>> [regime.n_rows for regime in resample(data, 0.5, np.random.default_rng(0)).regimes]
    [5, 1]
    """
    regimes = []
    for regime in data.regimes:
        kept = max(1, round(share * regime.n_rows))
        rows = np.sort(rng.permutation(regime.n_rows)[:kept])
        regimes.append(regime.taking(rows))
    return InterventionalData._from_checked(data.variables, regimes)


def bootstrapped(data: InterventionalData, rng: np.random.Generator) -> InterventionalData:
    """Draw as many rows of every regime as there are, with replacement; copies of one row are known as such.

    Examples
    --------
    >>> x = np.arange(20).reshape(10, 2) % 3
    >>> data = InterventionalData.from_environments([x, x[:1]], [None, "X1"])
    >>> drawn = bootstrapped(data, np.random.default_rng(0)).observational
    >>> drawn.n_rows, len(np.unique(drawn.source)) < 10
    (10, True)
    """
    regimes = [regime.drawn(np.sort(rng.integers(regime.n_rows, size=regime.n_rows))) for regime in data.regimes]
    return InterventionalData._from_checked(data.variables, regimes)


def without_regime(data: InterventionalData, number: int) -> InterventionalData:
    """Leave one intervention regime out.

    Examples
    --------
    >>> x = np.arange(20).reshape(10, 2) % 3
    >>> data = InterventionalData.from_environments([x, x, x], [None, "X1", "X2"])
    >>> [regime.targets for regime in without_regime(data, 0).regimes]
    [(), (1,)]
    """
    kept = [regime for k, regime in enumerate(data.interventional) if k != number]
    return InterventionalData._from_checked(data.variables, [data.observational, *kept])


SCHEMES: dict[str, Draw] = {
    "subsample": lambda data, share, number, rng: resample(data, share, rng),
    "half": lambda data, share, number, rng: resample(data, share, rng),
    "bootstrap": lambda data, share, number, rng: bootstrapped(data, rng),
    "regimes": lambda data, share, number, rng: without_regime(data, number),
}
"""How the rows of a refit are chosen, by name."""


def share_of(scheme: str, share: float | None = None) -> float:
    """Return the share of the rows of every regime that a refit sees.

    Examples
    --------
    >>> share_of("half"), share_of("bootstrap"), share_of("subsample", 0.8)
    (0.5, 1.0, 0.8)
    """
    if scheme == "subsample":
        return SHARE if share is None else float(share)
    return 0.5 if scheme == "half" else 1.0


def check_scheme(data: InterventionalData, scheme: Any, share: Any, n_resamples: int) -> None:
    """Refuse a scheme that does not exist or that these data do not allow.

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> check_scheme(InterventionalData.from_environments([x, x], [None, "X1"]), "regimes", None, 1)
    Traceback (most recent call last):
        ...
    enco.errors.SettingsError: to leave a regime out, at least two intervention regimes are needed; there is 1
    """
    if scheme not in SCHEMES:
        raise SettingsError(f"there is no way of resampling called {scheme!r}: choose from {', '.join(SCHEMES)}")
    if share is not None:
        if scheme != "subsample":
            raise SettingsError(f"the share of rows belongs to subsample; with {scheme} leave it out")
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
            raise SettingsError(f"the share of rows in a resample must lie between 0 and 1, got {share!r}")
    n = len(data.interventional)
    if scheme == "regimes" and n < 2:
        raise SettingsError(f"to leave a regime out, at least two intervention regimes are needed; there is {n}")
    if scheme == "regimes" and n_resamples > n:
        raise SettingsError(
            f"there are {n} intervention regimes to leave out, so that {n_resamples:,} refits are too many: ask for "
            f"{n} or fewer"
        )
