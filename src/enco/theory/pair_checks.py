"""What a check finds, pair by pair."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal

from enco.theory.edge_evidence import EdgeEvidence
from enco.theory.gains import TOLERANCE, Gain, GainRange, Status, worst_status

__all__ = ["PairCheck", "ParentSetCheck", "SpuriousCheck"]


@dataclass(frozen=True)
class PairCheck:
    """The conditions of Theorem 3.1 for an edge, or for an ancestor and its descendant.

    Attributes
    ----------
    cause, effect : str
        The pair.
    edge : bool
        Whether it is an edge of the true graph; condition 3 applies to edges only.
    decided_by : {"cause", "effect", "none"}
        Whose intervention orients the pair; the effect's if there is none on the cause (Appendix B.4).
    own : GainRange or None
        Gains of cause -> effect under do(cause): conditions 1 and 2.
    reverse : GainRange or None
        Gains of effect -> cause under do(effect); with limited data or without an intervention on the cause.
    existence : GainRange or None
        Mean gains over interventions, among possible parents of the effect: condition 3.
    evidence : EdgeEvidence or None
        For edges.
    limited : bool
        Whether the numbers come from data, so that the reverse must be checked too (Appendix B.2.3).
    """

    cause: str
    effect: str
    edge: bool
    decided_by: Literal["cause", "effect", "none"]
    own: GainRange | None
    reverse: GainRange | None
    existence: GainRange | None
    evidence: EdgeEvidence | None
    limited: bool = False

    @property
    def condition_1(self) -> Status:
        """No parent set makes the true orientation look worse than no edge."""
        if self.own is not None and self.decided_by == "cause":
            return self.own.all_at_least(-TOLERANCE)
        return "missing" if self.reverse is None else self.reverse.all_at_most(TOLERANCE)

    @property
    def condition_2(self) -> Status:
        """Some parent set makes it look strictly better."""
        if self.own is not None and self.decided_by == "cause":
            return self.own.some_above(TOLERANCE)
        return "missing" if self.reverse is None else self.reverse.some_below(-TOLERANCE)

    @property
    def reverse_condition(self) -> Status:
        """With limited data: no parent set makes the reversed edge look better than none (Appendix B.2.3)."""
        if not self.limited or self.decided_by == "effect":
            return "holds"
        return "missing" if self.reverse is None else self.reverse.all_at_most(TOLERANCE)

    def condition_3(self, sparsity: float) -> Status:
        """Whatever other parents are present, the edge is worth more than lambda_sparse.

        Parameters
        ----------
        sparsity : float
            lambda_sparse.
        """
        if not self.edge:
            return "holds"
        if self.existence is None:
            return "missing"
        # The inequality is strict: a gain of exactly lambda_sparse is not enough.
        return self.existence.all_at_least(sparsity + TOLERANCE)

    @property
    def orientation(self) -> Status:
        """The worst of the conditions on the orientation."""
        return worst_status([self.condition_1, self.condition_2, self.reverse_condition])

    @property
    def largest_sparsity(self) -> float:
        """The edge is worth more than any lambda_sparse below this; infinite for a pair without edge."""
        if not self.edge:
            return inf
        return 0.0 if self.existence is None else max(0.0, self.existence.minimum)


@dataclass(frozen=True)
class SpuriousCheck:
    """With limited data: what an absent edge seems to add beside the true parents (Appendix B.2.3).

    Attributes
    ----------
    cause, effect : str
        No edge between them, and the effect is not an ancestor of the cause.
    gains : GainRange
        Over sets that contain the true parents of the effect; the largest must stay below lambda_sparse.
    """

    cause: str
    effect: str
    gains: GainRange

    def condition(self, sparsity: float) -> Status:
        """No parent set makes the absent edge worth lambda_sparse.

        Parameters
        ----------
        sparsity : float
            lambda_sparse.
        """
        return self.gains.all_at_most(sparsity - TOLERANCE)


@dataclass(frozen=True)
class ParentSetCheck:
    """The global optimum (Appendix B.2.5) for one variable.

    Attributes
    ----------
    effect : str
        The variable.
    parents : tuple of str
        Its true parents.
    observational : mapping from parent to float
        Mutual information with the effect without intervention, in nats; must be above zero.
    interventional : mapping from parent to float
        The same under do(parent), given the other parents; must be above zero. Parents without intervention are
        left out.
    rival : Gain
        The smaller parent set that comes closest; its value is what it loses per parent that it saves.
    exhaustive : bool
        Whether all smaller sets were examined.
    """

    effect: str
    parents: tuple[str, ...]
    observational: Mapping[str, float]
    interventional: Mapping[str, float]
    rival: Gain
    exhaustive: bool

    @property
    def largest_sparsity(self) -> float:
        """No smaller parent set wins for any lambda_sparse below this."""
        return max(0.0, self.rival.value)

    @property
    def dependent(self) -> bool:
        """Whether every parent leaves the traces that its orientation needs."""
        found = [*self.observational.values(), *self.interventional.values()]
        return len(self.interventional) == len(self.parents) and all(value > TOLERANCE for value in found)
