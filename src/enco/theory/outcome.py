"""The outcome of a check of the convergence conditions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from enco.errors import DataError
from enco.theory.gains import Gain, GainRange, Status, worst_status
from enco.theory.pair_checks import PairCheck, ParentSetCheck, SpuriousCheck

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Failure", "TheoryReport"]


@dataclass(frozen=True)
class Failure:
    """A condition that is violated, or that nothing can decide.

    Attributes
    ----------
    condition : str
        "1", "2", "3", "reverse" or "absent edge" (both Appendix B.2.3).
    cause, effect : str
        The pair.
    gain : Gain or None
        The parent set that violates it and the gain there; None if no intervention decides.
    """

    condition: str
    cause: str
    effect: str
    gain: Gain | None


@dataclass(frozen=True)
class TheoryReport:
    """Whether ENCO is guaranteed to recover a graph, and up to which lambda_sparse.

    Attributes
    ----------
    names : tuple of str
        The variables.
    pairs : tuple of PairCheck
        Edges first, then other pairs of ancestor and descendant.
    spurious : tuple of SpuriousCheck
        Absent edges; only with data.
    parent_sets : tuple of ParentSetCheck
        The conditions for the global optimum (Appendix B.2.5); not with data.
    sparsity : float
        lambda_sparse.
    rows : int
        Rows per intervention for the rule of thumb.
    untargeted : tuple of str
        Variables without intervention.
    limited : bool
        Whether probabilities are those of a data set.
    budget, seed : int
        How parent sets were chosen where they are too many.

    Examples
    --------
    >>> from enco.simulate import examples
    >>> from enco.theory import check_conditions
    >>> report = check_conditions(examples.noisy_xor(0.1))
    >>> report.guaranteed, [(failure.condition, failure.cause) for failure in report.failures]
    (False, [('3', 'X1'), ('3', 'X2')])
    """

    names: tuple[str, ...]
    pairs: tuple[PairCheck, ...]
    spurious: tuple[SpuriousCheck, ...]
    parent_sets: tuple[ParentSetCheck, ...]
    sparsity: float
    rows: int
    untargeted: tuple[str, ...]
    limited: bool
    budget: int
    seed: int

    @property
    def edges(self) -> tuple[PairCheck, ...]:
        """The pairs that are edges."""
        return tuple(pair for pair in self.pairs if pair.edge)

    @property
    def orientation(self) -> Status:
        """How sure conditions 1 and 2 are over all pairs."""
        return worst_status([pair.orientation for pair in self.pairs])

    @property
    def status(self) -> Status:
        """How sure all conditions are together."""
        existence = [pair.condition_3(self.sparsity) for pair in self.edges]
        absent = [check.condition(self.sparsity) for check in self.spurious]
        return worst_status([self.orientation, *existence, *absent])

    @property
    def guaranteed(self) -> bool:
        """Whether every condition holds, with every parent set examined, and lambda_sparse is above zero."""
        return self.status == "holds" and self.sparsity > 0

    @property
    def largest_sparsity(self) -> float:
        """Recovery is guaranteed for lambda_sparse between 0 and this; 0 if conditions 1 or 2 fail.

        Where parent sets were drawn, a set that was not examined might lower it.
        """
        if self.orientation in ("fails", "missing"):
            return 0.0
        return min((pair.largest_sparsity for pair in self.edges), default=inf)

    @property
    def smallest_sparsity(self) -> float:
        """With data: lambda_sparse must be above this to keep absent edges out; 0 otherwise."""
        return max([0.0, *(check.gains.maximum for check in self.spurious)])

    @property
    def global_sparsity(self) -> float:
        """The true graph is the global optimum for lambda_sparse between 0 and this (Appendix B.2.5); 0 if not."""
        if not all(check.dependent for check in self.parent_sets):
            return 0.0
        return min((check.largest_sparsity for check in self.parent_sets), default=inf)

    @property
    def exhaustive(self) -> bool:
        """Whether every parent set of every pair was examined."""
        return all(gains.exhaustive for gains in self._ranges())

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Every condition that is violated (also "open" ones, see `Status`) or that nothing decides."""
        found = []
        for pair in self.pairs:
            forward = pair.own if pair.decided_by == "cause" else None
            found += self._failure(pair, "1", pair.condition_1, forward or pair.reverse, smallest=forward is not None)
            found += self._failure(pair, "2", pair.condition_2, forward or pair.reverse, smallest=forward is None)
            found += self._failure(pair, "reverse", pair.reverse_condition, pair.reverse, smallest=False)
            found += self._failure(pair, "3", pair.condition_3(self.sparsity), pair.existence, smallest=True)
        for check in self.spurious:
            status = check.condition(self.sparsity)
            found += self._failure(check, "absent edge", status, check.gains, smallest=False)
        return tuple(found)

    def pair(self, cause: str, effect: str) -> PairCheck:
        """Return the record of one pair.

        Parameters
        ----------
        cause, effect : str
            An ancestor and its descendant.

        Examples
        --------
        >>> from enco.simulate import examples
        >>> from enco.theory import check_conditions
        >>> pair = check_conditions(examples.worked_chain()).pair("X2", "X3")
        >>> print(pair.existence.smallest)
        0.193 given {X1}
        """
        for pair in self.pairs:
            if (pair.cause, pair.effect) == (cause, effect):
                return pair
        raise DataError(f"{cause!r} is not an ancestor of {effect!r} in the graph: there is nothing to check")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: gains, the parent sets where they occur, and the status of each condition.

        Examples
        --------
        >>> from enco.simulate import examples
        >>> from enco.theory import check_conditions
        >>> frame = check_conditions(examples.worked_chain()).to_frame()
        >>> frame[["cause", "effect", "smallest_gain", "largest_gain"]].round(3).values.tolist()
        [['X1', 'X2', 0.015, 0.023], ['X2', 'X3', 0.194, 0.2], ['X1', 'X3', 0.0, 0.008]]
        """
        import pandas as pd

        return pd.DataFrame([self._row(pair) for pair in self.pairs])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, numbers and texts, for JSON; infinite numbers become None.

        Examples
        --------
        >>> from enco.simulate import examples
        >>> from enco.theory import check_conditions
        >>> check_conditions(examples.worked_chain()).to_dict()["status"]
        'holds'
        """
        content = {
            "guaranteed": self.guaranteed,
            "status": self.status,
            "sparsity": self.sparsity,
            "largest_sparsity": self.largest_sparsity,
            "smallest_sparsity": self.smallest_sparsity,
            "global_sparsity": None if self.limited else self.global_sparsity,
            "exhaustive": self.exhaustive,
            "limited_data": self.limited,
            "rows": self.rows,
            "budget": self.budget,
            "seed": self.seed,
            "without_intervention": list(self.untargeted),
            "pairs": [self._row(pair) for pair in self.pairs],
            "absent_edges": [asdict(check) for check in self.spurious],
            "parent_sets": [asdict(check) for check in self.parent_sets],
            "failures": [asdict(failure) for failure in self.failures],
        }
        plain = _plain(content)
        assert isinstance(plain, dict)
        return plain

    def __str__(self) -> str:
        from enco.theory.text import describe

        return describe(self)

    def _ranges(self) -> list[GainRange]:
        found = [gains for pair in self.pairs for gains in (pair.own, pair.reverse, pair.existence)]
        return [gains for gains in [*found, *(check.gains for check in self.spurious)] if gains is not None]

    @staticmethod
    def _failure(
        pair: PairCheck | SpuriousCheck, condition: str, status: Status, gains: GainRange | None, *, smallest: bool
    ) -> list[Failure]:
        if status not in ("fails", "open", "missing"):
            return []
        gain = None
        if gains is not None and status != "missing":
            seen, unseen = (
                (gains.smallest, gains.smallest_unseen) if smallest else (gains.largest, gains.largest_unseen)
            )
            gain = seen if status == "fails" or unseen is None else unseen
        return [Failure(condition, pair.cause, pair.effect, gain)]

    def _row(self, pair: PairCheck) -> dict[str, Any]:
        smallest = largest = None
        if pair.own is not None:
            smallest, largest = pair.own.smallest or pair.own.smallest_unseen, pair.own.largest
        edge = None if pair.existence is None else pair.existence.smallest or pair.existence.smallest_unseen
        evidence = pair.evidence
        return {
            "cause": pair.cause,
            "effect": pair.effect,
            "edge": pair.edge,
            "decided_by": pair.decided_by,
            "smallest_gain": smallest and smallest.value,
            "smallest_gain_given": smallest and smallest.parents,
            "largest_gain": largest and largest.value,
            "largest_gain_given": largest and largest.parents,
            "edge_gain": edge and edge.value,
            "edge_gain_given": edge and edge.parents,
            "largest_sparsity": pair.largest_sparsity if pair.edge else None,
            "condition_1": pair.condition_1,
            "condition_2": pair.condition_2,
            "condition_3": pair.condition_3(self.sparsity) if pair.edge else None,
            "reverse": pair.reverse_condition if self.limited else None,
            "sets_examined": pair.own.examined if pair.own else None,
            "sets_possible": pair.own.possible if pair.own else None,
            "rows_needed": evidence and evidence.rows_needed(self.sparsity),
            "orientation_z": evidence and evidence.orientation_z(self.rows),
            "existence_z": evidence and evidence.existence_z(self.rows, self.sparsity),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
