"""Smallest and largest gains of every possible cause of one effect, over the parent sets that are examined."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from enco.errors import SettingsError
from enco.theory.elimination import TableTooLargeError
from enco.theory.gains import TOLERANCE, Gain, GainRange
from enco.theory.regime_tables import Tables
from enco.theory.scopes import Scope, ScopePlan
from enco.theory.scores import SubsetScores, subset_scores

__all__ = ["EffectSearch"]


@dataclass
class Extreme:
    """The smallest (sign 1) or largest (sign -1) gain so far; of equal ones, that of the smallest set."""

    sign: int
    key: float = np.inf
    parents: tuple[int, ...] = ()
    unseen: float = 0.0
    by_row: dict[int, float] = field(default_factory=dict)

    def offer(
        self, gains: NDArray[np.float64], sets: NDArray[np.int64], unseen: NDArray[np.float64], scope: Sequence[int]
    ) -> int | None:
        """Take in the gains of some sets, given as bit masks; return the index of the new extreme, if any."""
        if not len(gains):
            return None
        keys = self.sign * gains
        ties = np.flatnonzero(keys <= keys.min() + TOLERANCE)
        sizes = np.bitwise_count(sets[ties])
        index = int(ties[int(np.argmin(sizes))])
        is_tie = keys[index] <= self.key + TOLERANCE and int(sizes.min()) < len(self.parents)
        if keys[index] >= self.key - TOLERANCE and not (is_tie and np.isfinite(self.key)):
            return None
        self.key = float(keys[index])
        self.parents = tuple(variable for bit, variable in enumerate(scope) if int(sets[index]) >> bit & 1)
        self.unseen = float(unseen[index])
        return index

    def gain(self, tables: Tables) -> Gain | None:
        """Name the parents."""
        if not np.isfinite(self.key):
            return None
        return Gain(
            tuple(tables.names[parent] for parent in self.parents),
            self.sign * self.key + 0.0,
            self.unseen,
            {tables.names[target]: value for target, value in self.by_row.items()},
        )


@dataclass
class Extremes:
    """Both extremes, apart for sets with and without configurations that observational data never show."""

    smallest: Extreme = field(default_factory=lambda: Extreme(1))
    largest: Extreme = field(default_factory=lambda: Extreme(-1))
    smallest_unseen: Extreme = field(default_factory=lambda: Extreme(1))
    largest_unseen: Extreme = field(default_factory=lambda: Extreme(-1))

    def offer(
        self, gains: NDArray[np.float64], sets: NDArray[np.int64], unseen: NDArray[np.float64], scope: Sequence[int]
    ) -> Iterable[tuple[Extreme, int]]:
        """Take in the gains of some sets; yield the extremes that changed and the bit mask of their sets."""
        seen = unseen <= 0
        for chosen, extremes in (
            (seen, (self.smallest, self.largest)),
            (~seen, (self.smallest_unseen, self.largest_unseen)),
        ):
            for extreme in extremes:
                index = extreme.offer(gains[chosen], sets[chosen], unseen[chosen], scope)
                if index is not None:
                    yield extreme, int(sets[chosen][index])

    def worst(self) -> tuple[int, ...]:
        """Return the parent set with the smallest gain."""
        return min(self.smallest, self.smallest_unseen, key=lambda extreme: extreme.key).parents

    def range(self, tables: Tables, examined: int, possible: int) -> GainRange:
        """Freeze."""
        return GainRange(
            self.smallest.gain(tables),
            self.largest.gain(tables),
            self.smallest_unseen.gain(tables),
            self.largest_unseen.gain(tables),
            examined,
            possible,
        )


class EffectSearch:
    """Examine parent sets of one effect.

    Parameters
    ----------
    tables : Tables
        Where probabilities come from.
    plan : ScopePlan
        Which parent sets to examine.
    spurious : sequence of int
        Non-parents whose mean gain beside the true parents is wanted (Appendix B.2.3).

    Attributes
    ----------
    own, existence, spurious : dict from cause to Extremes
        Gains under do(cause); mean gains over interventions among non-descendants; the same beside all true parents.
    rival : Extreme
        The smaller parent set that loses least for each parent it saves (Appendix B.2.5).
    """

    def __init__(self, tables: Tables, plan: ScopePlan, *, spurious: Sequence[int] = ()) -> None:
        self._tables, self._plan = tables, plan
        self.own = {cause: Extremes() for cause in plan.causes if cause in tables.targets}
        self.parents = frozenset(np.flatnonzero(tables.adjacency[:, plan.effect]).tolist())
        self.existence = {cause: Extremes() for cause in sorted(self.parents)}
        self.spurious = {cause: Extremes() for cause in spurious}
        self.rival = Extreme(1)
        self.exhaustive = self.upstream_exhaustive = False
        self._others = [target for target in tables.targets if target != plan.effect]
        self._upstream = frozenset(plan.upstream)
        self._examined: set[int] = set()  # sets as bit masks over all variables
        self._true_score: float | None = None

    def run(self, rng: np.random.Generator) -> None:
        """Examine every scope of the plan."""
        if self._others and self.parents:
            self._true_score = self._mean_score_of(sorted(self.parents))
        for scope in self._plan.scopes(rng, self._worst):
            members = scope.members
            scored = self._score(members, shrink=not (scope.everything or scope.all_upstream))
            self.exhaustive |= scope.everything
            self.upstream_exhaustive |= scope.all_upstream
            self._take_in(scored, scope)

    def counts(self, cause: int, *, upstream: bool, beside: frozenset[int] = frozenset()) -> tuple[int, int]:
        """How many parent sets (without the cause) were examined, and how many there are."""
        pool = self._upstream if upstream else frozenset(range(len(self._tables.names))) - {self._plan.effect}
        possible = 2 ** len(pool - beside - {cause})
        if self.exhaustive or (upstream and self.upstream_exhaustive):
            return possible, possible
        allowed = sum(1 << variable for variable in pool)
        required = sum(1 << variable for variable in beside | {cause})
        # The set itself was examined whenever the set with the cause was.
        examined = sum((mask & required) == required and not mask & ~allowed for mask in self._examined)
        return examined, possible

    def _worst(self, cause: int, upstream: bool) -> Sequence[int]:
        extremes = (self.existence if upstream else self.own).get(cause)
        return () if extremes is None else extremes.worst()

    def _score(self, members: tuple[int, ...], *, shrink: bool) -> SubsetScores:
        """Score all subsets; if elimination needs too large a table, drop members until it does not."""
        while True:
            try:
                table = self._tables.table([*members, self._plan.effect])
                break
            except TableTooLargeError as error:
                if not shrink or len(members) <= 1:
                    name = self._tables.names[self._plan.effect]
                    raise SettingsError(
                        f"an exact check of {name!r} needs a table of {error.cells:,} cells: the graph is too densely "
                        "connected; check a smaller model, or data drawn from this one"
                    ) from None
                members = members[: len(members) // 2]
        weight = self._tables.pseudo_weight
        return subset_scores(table.values, members, table.row_of, pseudo_weight=weight)

    def _mean_score_of(self, parents: list[int]) -> float | None:
        """Mean score of one set over the interventions on other variables; None if its table is too large."""
        try:
            table = self._tables.table([*parents, self._plan.effect])
        except TableTooLargeError:
            return None
        flat = table.values.reshape([len(table.values), -1, table.values.shape[-1]])
        scored = subset_scores(flat, (0,), table.row_of, pseudo_weight=self._tables.pseudo_weight)
        rows = [scored.row_of[target] for target in self._others]
        return float(scored.scores[rows, 1].mean())

    def _take_in(self, scored: SubsetScores, scope: Scope) -> None:
        members = scored.scope
        sets = np.arange(2 ** len(members), dtype=np.int64)
        if not scope.everything:
            place = [1 << variable for variable in members]
            masks = [0]
            for bit in place:  # the order of the bit masks over the scope
                masks += [mask | bit for mask in masks]
            self._examined.update(masks)
        upstream_bits = sum(1 << bit for bit, variable in enumerate(members) if variable in self._upstream)
        parent_bits = sum(1 << bit for bit, variable in enumerate(members) if variable in self.parents)
        inside = (sets & ~upstream_bits) == 0
        rows = [scored.row_of[target] for target in self._others]
        mean_scores = scored.scores[rows].mean(axis=0) if rows else None
        mean_unseen = scored.unseen[rows].mean(axis=0) if rows else None
        for bit, cause in enumerate(members):
            without = sets[(sets >> bit & 1) == 0]
            if cause in self.own:
                row = scored.row_of[cause]
                gains = scored.scores[row, without | 1 << bit] - scored.scores[row, without]
                list(self.own[cause].offer(gains, without, scored.unseen[row, without | 1 << bit], members))
            if mean_scores is None or mean_unseen is None:
                continue
            among = without[inside[without | 1 << bit]]
            if cause in self.spurious and len(self.parents & set(members)) == len(self.parents):
                found = self.spurious[cause]
                among = among[(among & parent_bits) == parent_bits]
            elif cause in self.existence:
                found = self.existence[cause]
            else:
                continue
            if not len(among):
                continue
            gains = mean_scores[among | 1 << bit] - mean_scores[among]
            for extreme, mask in found.offer(gains, among, mean_unseen[among | 1 << bit], members):
                by_row = scored.scores[:, mask | 1 << bit] - scored.scores[:, mask]
                extreme.by_row = {target: float(by_row[scored.row_of[target]]) for target in self._others}
        if mean_scores is not None and mean_unseen is not None and self._true_score is not None:
            sizes = np.bitwise_count(sets).astype(np.int64)
            smaller = sets[inside & (sizes < len(self.parents))]
            losses = (self._true_score - mean_scores[smaller]) / (len(self.parents) - sizes[smaller])
            self.rival.offer(losses, smaller, mean_unseen[smaller], members)
