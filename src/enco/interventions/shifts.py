"""Which variables are distributed differently in a regime, each by itself, and which of them the graph cannot explain.

Only the targets of a regime and their descendants can shift. What shifts besides them has another reason: a batch, a
hit that no label names, feedback, or a wrong edge. In particular no graph allows that X_i shifts where X_j is
intervened on and X_j where X_i is, so that batches cannot hide behind a dense graph.

Categories are compared by a chi-squared test, numbers by that of Kolmogorov and Smirnov. P-values are kept as
logarithms, since those of strong interventions are far below what a number can hold.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln

from enco.data import InterventionalData, Regime

__all__ = ["Shifts", "are_batches", "mutual_shifts", "unexplained"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_ROWS = 4_000  # of either sample: more change no verdict
LEAST_EXPECTED = 5.0  # rows of the regime at a level; rarer levels are merged
LEVEL = 0.01  # of all tests together
MUTUAL_SHARE, LEAST_MUTUAL = (
    0.25,
    3,
)  # of the pairs of targets, that no acyclic graph explains: hits off target are fewer


@dataclass(frozen=True)
class Shifts:
    """Tests of every variable in every intervention regime against observational rows.

    Attributes
    ----------
    log_p : float64 [R, N]
        Logarithm of the p-value.
    size : float64 [R, N]
        Total variation between categories, or the largest difference between distribution functions.
    """

    log_p: Floats
    size: Floats

    @classmethod
    def of(cls, data: InterventionalData) -> "Shifts":
        """Compare every intervention regime with the observational one.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> blocks = [rng.normal(size=(500, 3)), rng.normal(size=(100, 3)) + [2.0, 0.0, 0.0]]
        >>> shifts = Shifts.of(InterventionalData.from_environments(blocks, [None, "X1"]))
        >>> shifts.clear.tolist()
        [[True, False, False]]
        """
        shape = (len(data.interventional), data.n_variables)
        log_p, size = np.zeros(shape), np.zeros(shape)
        for j in range(data.n_variables):
            compare = _Levels(data, j) if data.n_levels[j] else _Numbers(data, j)
            for k, regime in enumerate(data.interventional):
                log_p[k, j], size[k, j] = compare.to(regime)
        return cls(log_p, size)

    @property
    def clear(self) -> Mask:
        """Shifts beyond chance, whatever is tested besides, [R, N]."""
        clear: Mask = self.log_p < np.log(LEVEL / max(1, self.log_p.size))
        return clear


def unexplained(shifts: Shifts, hit: Mask, graph: Mask) -> Mask:
    """Return the shifts that a graph does not allow, [R, N].

    Parameters
    ----------
    shifts : Shifts
    hit : bool [R, N]
        What each regime acts on.
    graph : bool [N, N]
        Acyclic, row = cause.

    Examples
    --------
    >>> everything = Shifts(np.full((2, 3), -99.0), np.ones((2, 3)))
    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    >>> unexplained(everything, np.array([[1, 0, 0], [0, 1, 0]], bool), chain).tolist()
    [[False, False, False], [True, False, False]]
    """
    reached = hit
    for _ in range(len(graph)):
        further = reached | (reached @ graph)
        if (further == reached).all():
            break
        reached = further
    return shifts.clear & ~reached


def mutual_shifts(shifts: Shifts, data: InterventionalData) -> tuple[int, int]:
    """Count pairs of targets each of which shifts where the other is intervened on, and pairs of which any does.

    An acyclic graph allows none of the first: they mean batches, or feedback.

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x, x], [None, "X1", "X2"])
    >>> mutual_shifts(Shifts(np.full((2, 2), -99.0), np.ones((2, 2))), data)
    (1, 1)
    """
    moves = np.zeros((data.n_variables, data.n_variables), bool)
    for clear, regime in zip(shifts.clear, data.interventional, strict=True):
        if len(regime.targets) == 1:
            moves[regime.targets[0]] |= clear
    moved = np.flatnonzero(moves.any(axis=1))
    among = moves[np.ix_(moved, moved)]
    np.fill_diagonal(among, False)
    return int(np.triu(among & among.T).sum()), int(np.triu(among | among.T).sum())


def are_batches(shifts: Shifts, data: InterventionalData) -> bool:
    """Whether the regimes seem to differ in more than their interventions."""
    both, either = mutual_shifts(shifts, data)
    return both >= LEAST_MUTUAL and both >= MUTUAL_SHARE * either


class _Levels:
    """Counts of a categorical variable."""

    def __init__(self, data: InterventionalData, variable: int) -> None:
        self._slot, self._n = data.slots[variable], int(data.n_levels[variable])
        self._observed = self._count(data.observational)

    def to(self, regime: Regime) -> tuple[float, float]:
        """Return the log of the p-value, and the total variation."""
        here, there = self._count(regime), self._observed
        n, total = here.sum(), here + there
        rare = n * total / total.sum() < LEAST_EXPECTED
        size = 0.5 * float(np.abs(here / max(1, n) - there / max(1, there.sum())).sum())
        if rare.any():  # one cell for all of them
            here, total = np.append(here[~rare], here[rare].sum()), np.append(total[~rare], total[rare].sum())
        here, total = here[total > 0], total[total > 0]
        if len(total) < 2 or not n:
            return 0.0, size
        share = total / total.sum()
        statistic = float(((here - n * share) ** 2 / (n * share * (1 - n / total.sum()))).sum())
        return _log_chi_square_p(statistic, len(total) - 1), size

    def _count(self, regime: Regime) -> NDArray[np.int64]:
        return np.bincount(regime.codes[:MOST_ROWS, self._slot], minlength=self._n)


class _Numbers:
    """Order statistics of a continuous variable."""

    def __init__(self, data: InterventionalData, variable: int) -> None:
        self._slot = data.slots[variable]
        self._observed = np.sort(data.observational.reals[:MOST_ROWS, self._slot])

    def to(self, regime: Regime) -> tuple[float, float]:
        """Return the log of the p-value, and the largest difference between the distribution functions."""
        values = np.sort(regime.reals[:MOST_ROWS, self._slot])
        n, m = len(values), len(self._observed)
        # Between two values of the regime only the other function rises: the largest difference is beside one of them.
        apart = [
            np.abs(np.searchsorted(values, values, side) / n - np.searchsorted(self._observed, values, side) / m).max()
            for side in ("left", "right")
        ]
        size = float(max(apart))
        return min(0.0, float(np.log(2.0) - 2.0 * n * m / (n + m) * size**2)), size


def _log_chi_square_p(statistic: float, freedom: int) -> float:
    p = float(gammaincc(freedom / 2, statistic / 2))
    if p > 1e-290:
        return float(np.log(p))
    return float((freedom / 2 - 1) * np.log(statistic / 2) - statistic / 2 - gammaln(freedom / 2))
