"""Regimes as the search sees them: by the names of their targets, with what is known of their labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData, Regime
from enco.interventions.verdicts import EVEN, Verdict

__all__ = ["Labelled", "by_name", "named"]


def named(regime: Regime, column: NDArray[np.int64]) -> Regime:
    """Return a regime whose targets are positions among variables in the order of their names.

    Parameters
    ----------
    regime : Regime
        Its targets are columns of the data.
    column : int64 [N]
        Column of the data that holds each variable.

    Examples
    --------
    >>> rows = np.zeros((1, 2), np.float32)
    >>> named(Regime((0,), np.zeros((1, 0), np.uint8), rows), np.array([1, 0])).targets
    (1,)
    """
    targets = tuple(sorted(np.argsort(column)[list(regime.targets)].tolist()))
    return regime.under(regime.condition._replace(targets=targets))


def by_name(regimes: Sequence[Regime], column: NDArray[np.int64]) -> list[Regime]:
    """Return the same of all regimes, in the order of their targets."""
    return sorted(
        (named(regime, column) for regime in regimes), key=lambda regime: (regime.targets, regime.label or "")
    )


@dataclass(frozen=True)
class Labelled:
    """All regimes of the data, believed or not.

    Attributes
    ----------
    regimes : list of Regime
        The observational one first.
    place : list of int
        Of each intervention regime of the data among them.
    unknown : set of int
        Those whose targets nobody has named.
    doubt : mapping
        Regimes and targets of them that were judged, with the probability that nothing was done.
    """

    regimes: list[Regime]
    place: list[int]
    unknown: frozenset[int]
    doubt: Mapping[tuple[int, int], float]

    @property
    def in_vain(self) -> frozenset[tuple[int, int]]:
        """Regimes and targets of them that seem to be without effect."""
        return frozenset(at for at, probability in self.doubt.items() if probability > EVEN)

    @classmethod
    def of(
        cls, data: InterventionalData, column: NDArray[np.int64], verdicts: Sequence[Verdict], unknown: frozenset[int]
    ) -> "Labelled":
        """Put together what is known; regimes of verdicts, and unknown ones, are counted as in the data.

        Examples
        --------
        >>> x = np.array([[0, 1, 0], [1, 0, 0]])
        >>> data = InterventionalData.from_environments([x, x, x], [None, "X3", "X1"])
        >>> labelled = Labelled.of(data, np.arange(3), [Verdict(0, 2, 2, 0.9, 0.9)], frozenset({0}))
        >>> labelled.place, labelled.unknown, labelled.in_vain
        ([2, 1], frozenset({2}), frozenset({(2, 2)}))
        """
        regimes, rank = by_name(data.interventional, column), np.argsort(column)
        found = {regime.condition: 1 + k for k, regime in enumerate(regimes)}
        place = [found[named(regime, column).condition] for regime in data.interventional]
        return cls(
            [data.observational, *regimes],
            place,
            frozenset(place[k] for k in unknown),
            {(place[verdict.regime], int(rank[verdict.target])): verdict.without_effect for verdict in verdicts},
        )
