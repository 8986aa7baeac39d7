"""Which parent sets are examined: all of them if they are few enough, else those of chosen small scopes.

A scope is a set of variables of which every subset is scored. If the scope of all other variables fits the budget,
the check is exhaustive. If not, scopes of a few variables are drawn: each holds some of the causes in question; the
first round adds their neighbours in the graph, where violations come from (shared causes, Appendix B.2.2), later
rounds the worst parent set found so far and random variables.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scope", "ScopePlan"]

MOST_MEMBERS = 8
"""Variables in a drawn scope: 256 parent sets."""

SAMPLED_CELLS = 2**18
"""Cells of the table of a drawn scope, regimes included; more would cost more time than they bring sets."""


LEAST_COST = 64
"""What a drawn scope takes from the budget at least: few sets of variables with many levels take as long."""


@dataclass(frozen=True)
class Scope:
    """Variables of which every subset is examined."""

    members: tuple[int, ...]
    everything: bool
    """Whether these are all other variables."""
    all_upstream: bool
    """Whether these include all variables that are not descendants of the effect."""


@dataclass(frozen=True)
class ScopePlan:
    """How the parent sets of one effect are chosen.

    Attributes
    ----------
    effect : int
        The variable whose parent sets are examined.
    causes, upstream_causes : tuple of int
        Each must occur in a scope: among any variables (conditions 1 and 2), among non-descendants (condition 3).
    upstream : tuple of int
        Non-descendants of the effect.
    adjacency : ndarray of bool [N, N]
        The true graph.
    n_levels : tuple of int
        Levels of every variable.
    n_regimes : int
        Regimes in a table.
    budget, max_cells : int
        Parent sets to examine, and the largest table.
    """

    effect: int
    causes: tuple[int, ...]
    upstream_causes: tuple[int, ...]
    upstream: tuple[int, ...]
    adjacency: NDArray[np.bool_]
    n_levels: tuple[int, ...]
    n_regimes: int
    budget: int
    max_cells: int

    def scopes(self, rng: np.random.Generator, worst: Callable[[int, bool], Sequence[int]]) -> Iterator[Scope]:
        """Yield scopes until everything is covered or the budget is spent.

        Parameters
        ----------
        rng : numpy.random.Generator
            Decides which variables join a drawn scope.
        worst : callable
            Given a cause and whether condition 3 is meant, the worst parent set found so far.
        """
        others = tuple(variable for variable in range(len(self.n_levels)) if variable != self.effect)
        if self._fits(others):
            yield Scope(others, everything=True, all_upstream=True)
            return
        left = self.budget
        exact_upstream = self._fits(self.upstream)
        if exact_upstream:
            yield Scope(self.upstream, everything=False, all_upstream=True)
            left -= 2 ** len(self.upstream)
        jobs = [(self.causes, others, False)]
        if self.upstream_causes and not exact_upstream:
            jobs.append((self.upstream_causes, self.upstream, True))
        jobs = [job for job in jobs if job[0]]
        first = True
        while jobs and (first or left > 0):
            for causes, pool, is_upstream in jobs:
                for group in self._groups(rng.permutation(causes).tolist()):
                    if not first and left <= 0:
                        return
                    filler = self._neighbours(group, pool) if first else [*worst(group[0], is_upstream)]
                    if is_upstream:  # absent edges are judged beside all true parents (Appendix B.2.3)
                        filler = [*np.flatnonzero(self.adjacency[:, self.effect]).tolist(), *filler]
                    members = self._fill(group, [*filler, *rng.permutation(pool).tolist()])
                    yield Scope(members, everything=False, all_upstream=False)
                    left -= max(2 ** len(members), LEAST_COST)
            first = False

    @property
    def _most(self) -> int:
        """Members of a drawn scope: at least a cause and another, at most what the budget allows in one go."""
        return max(2, min(MOST_MEMBERS, self.budget.bit_length() - 1))

    def _fits(self, members: Sequence[int]) -> bool:
        return 2 ** len(members) <= self.budget and self._cells(members) <= self.max_cells

    def _cells(self, members: Sequence[int]) -> int:
        return self.n_regimes * self.n_levels[self.effect] * prod(self.n_levels[member] for member in members)

    def _groups(self, causes: Sequence[int]) -> Iterator[list[int]]:
        """Split causes into groups of which a table can be made, leaving half of the scope for others."""
        group: list[int] = []
        for cause in causes:
            if group and (len(group) >= max(1, self._most // 2) or self._cells([*group, cause]) > SAMPLED_CELLS):
                yield group
                group = []
            group.append(cause)
        if group:
            yield group

    def _fill(self, group: Sequence[int], filler: Sequence[int]) -> tuple[int, ...]:
        """Add filler to a group while the table stays small; the group itself is always in."""
        members = list(group)
        for variable in dict.fromkeys(filler):
            if len(members) >= self._most:
                break
            if variable not in members and self._cells([*members, variable]) <= SAMPLED_CELLS:
                members.append(variable)
        return tuple(sorted(members))

    def _neighbours(self, group: Sequence[int], pool: Sequence[int]) -> list[int]:
        """Parents, children and co-parents of the effect, then the same of the causes."""
        near: list[int] = []
        for variable in (self.effect, *group):
            children = np.flatnonzero(self.adjacency[variable])
            near += np.flatnonzero(self.adjacency[:, variable]).tolist()
            near += children.tolist()
            near += np.flatnonzero(self.adjacency[:, children].any(axis=1)).tolist()
        allowed = set(pool)
        return [variable for variable in dict.fromkeys(near) if variable in allowed]
