"""What an edge adds to the prediction of its effect, and how sure a statement about all parent sets is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

__all__ = ["TOLERANCE", "Gain", "GainRange", "Status", "worst_status"]

TOLERANCE = 1e-9
"""Gains within this of zero count as zero."""

Status = Literal["holds", "sampled", "assumed", "open", "missing", "fails"]
"""How sure a condition is, from best to worst.

- holds: every parent set was examined;
- sampled: no violation among the sets that were examined;
- assumed: as before, but some sets meet configurations that observational data never show, where the marginal is
  taken as the prediction;
- open: violated, but only under that assumption, or not shown by the sets that were examined;
- missing: nothing was intervened on that could decide it;
- fails: violated.
"""

STATUS_ORDER: tuple[Status, ...] = ("holds", "sampled", "assumed", "open", "missing", "fails")


@dataclass(frozen=True)
class Gain:
    """What an edge adds to the prediction of its effect, beside some other parents.

    Attributes
    ----------
    parents : tuple of str
        The other parents.
    value : float
        Expected log-likelihood with the edge minus without it, in nats per row.
    unseen : float
        Share of the rows whose configuration has observational probability zero.
    by_intervention : mapping from name to float
        For condition 3: the same under each intervention; the value is their mean.
    """

    parents: tuple[str, ...]
    value: float
    unseen: float = 0.0
    by_intervention: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.value:.3f} given {{{', '.join(self.parents)}}}"


@dataclass(frozen=True)
class GainRange:
    """Smallest and largest gain over the parent sets that were examined.

    Attributes
    ----------
    smallest, largest : Gain or None
        Over the sets whose configurations all occur in observational data.
    smallest_unseen, largest_unseen : Gain or None
        Over the other sets.
    examined, possible : int
        Number of sets.
    """

    smallest: Gain | None
    largest: Gain | None
    smallest_unseen: Gain | None
    largest_unseen: Gain | None
    examined: int
    possible: int

    @property
    def exhaustive(self) -> bool:
        """Whether every set was examined."""
        return self.examined >= self.possible

    @property
    def minimum(self) -> float:
        """Smallest gain over all sets."""
        return min((gain.value for gain in (self.smallest, self.smallest_unseen) if gain), default=inf)

    @property
    def maximum(self) -> float:
        """Largest gain over all sets."""
        return max((gain.value for gain in (self.largest, self.largest_unseen) if gain), default=-inf)

    def all_at_least(self, bound: float) -> Status:
        """Whether no set is below the bound."""
        return self._all(
            self.smallest is not None and self.smallest.value < bound,
            self.smallest_unseen is not None and self.smallest_unseen.value < bound,
        )

    def all_at_most(self, bound: float) -> Status:
        """Whether no set is above the bound."""
        return self._all(
            self.largest is not None and self.largest.value > bound,
            self.largest_unseen is not None and self.largest_unseen.value > bound,
        )

    def some_above(self, bound: float) -> Status:
        """Whether a set is above the bound."""
        return self._some(
            self.largest is not None and self.largest.value > bound,
            self.largest_unseen is not None and self.largest_unseen.value > bound,
        )

    def some_below(self, bound: float) -> Status:
        """Whether a set is below the bound."""
        return self._some(
            self.smallest is not None and self.smallest.value < bound,
            self.smallest_unseen is not None and self.smallest_unseen.value < bound,
        )

    def _all(self, violated: bool, violated_unseen: bool) -> Status:
        if violated:
            return "fails"
        if violated_unseen:
            return "open"
        if self.smallest_unseen is not None:
            return "assumed"
        if not self.examined:
            return "open"
        return "holds" if self.exhaustive else "sampled"

    def _some(self, shown: bool, shown_unseen: bool) -> Status:
        if shown:
            return "holds"
        if shown_unseen:
            return "assumed"
        return "fails" if self.exhaustive and self.largest_unseen is None else "open"


def worst_status(statuses: list[Status]) -> Status:
    """Return the least sure of several statuses; "holds" if there are none.

    Examples
    --------
    >>> worst_status(["holds", "sampled", "holds"])
    'sampled'
    """
    return max(statuses, key=STATUS_ORDER.index, default="holds")
