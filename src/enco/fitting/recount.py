"""Parents of categorical variables, decided by counting (`enco.fitting.counts`) where tables can be learned.

An edge is worth having if it earns its price, `sparsity` per row and `evidence` in all, on the interventional rows, as
everywhere in the refinement. It may also earn it on all rows together: where interventional rows are few, a weak cause
shows in the observational ones only. They cannot tell a cause from an effect, though, so interventional rows must not
speak against an edge; for a new one, those that intervene on the cause must speak for it, or, if these do not say much,
those that intervene on the effect must clearly speak against the reverse. Of the rows that intervene on the cause, all
are asked, even where only some rows of every regime are counted otherwise: they alone can tell an effect that knows
much of its cause from the cause, in a graph of hundreds of variables as in a small one. A cause that is nearly always
at one level unless it is set says little anywhere else, however strong it is: if what all rows know of it would earn
`sparsity` per row on those that intervene on it, the observational ones must be evidence for the edge but need not pay
for it.
"""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from enco._threads import run_threads
from enco.candidates import Candidates
from enco.fitting.counts import Counts, Family
from enco.fitting.moves import Move
from enco.fitting.scoring import part_of
from enco.fitting.tables import ROWS_PER_CELL
from enco.graphs.dag import has_path

__all__ = ["Recount"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Progress = Callable[[float], None]
T = TypeVar("T")

WELL_LEARNED = 50  # rows per cell of a table
RARE = 0.15  # share of the observational rows in which a rare cause is at another level than usual, at most
MOST_ROUNDS = 3

# Rows times pairs:
ALL_ROWS_UP_TO = 300_000_000  # beyond this, some of the rows say whether to look at an edge to be added ...
MOST_LOOKS = 4_000_000_000  # ... and beyond this, none is added
FIRST_LOOK = 50_000_000  # as many, where an edge might be exchanged, or is not in doubt but might earn nothing


def _silent(fraction: float) -> None:
    pass


def _loss_by(parent: int, effect: int, counts: Counts) -> float:
    """Nats that are left of a variable by one parent alone."""
    return float(counts.family([parent], effect).loss([0]).sum())


class Gain(NamedTuple):
    """What a cause, the last of a family, adds to a variable's other parents, in nats.

    Attributes
    ----------
    seen : float64 [3]
        On the rows of each kind: observational, interventional, and interventional with the cause as a target.
    others : range
        Places of the other parents.
    family : Family
    """

    seen: Floats
    others: range
    family: Family

    def expected(self) -> float:
        """On the last kind, had they the values that all rows with the same parents have on average."""
        return self.family.expected_gain(self.others, len(self.others))


class Exchange(NamedTuple):
    """Edges into a variable that another one is put in the place of."""

    gain: float  # nats
    old: list[int]  # pairs
    new: int


class Recount:
    """Changes of an acyclic graph that tables of counts ask for.

    Parameters
    ----------
    graph : bool [N, N]
        Changed in place.
    pairs : Candidates
    counts : Counts
    sparsity : float
        Nats per row.
    evidence : float
        Nats.
    n_jobs : int
        Threads; the answer does not depend on them.
    """

    def __init__(
        self,
        graph: Mask,
        pairs: Candidates,
        counts: Counts,
        *,
        sparsity: float,
        evidence: float,
        n_jobs: int = 1,
    ) -> None:
        self._graph = graph
        self._pairs = pairs
        self._counts = counts
        self._sparsity = sparsity
        self._evidence = evidence
        self._rare: dict[int, bool] = {}
        self._held_up: set[int] = set()  # variables that a cycle has kept from an exchange
        self._n_jobs = n_jobs

    def revise(self, movable: Mask, effects: Mask, doubtful: Mask, on_progress: Progress = _silent) -> Iterator[Move]:
        """Change movable edges [P] into some variables [N] until counts ask for no more; some [P] are in doubt."""
        countable = movable & effects[self._pairs.effect]
        yield from self.delete(countable, doubtful, part_of(on_progress, 0, 3))
        asked = effects
        for _ in range(MOST_ROUNDS):
            moves = [*self.exchange(movable, asked, part_of(on_progress, 1, 3))]
            moves += self.add(movable, asked, part_of(on_progress, 2, 3))
            moves += self.delete(countable, ~countable)  # what stood for the new parents
            yield from moves
            if not moves:
                break
            changed = [move.pair for move in moves]
            asked = np.zeros_like(effects)
            asked[self._pairs.effect[changed]] = asked[self._pairs.cause[changed]] = True
            asked[list(self._held_up)] = True
            self._held_up.clear()
            asked &= effects
            on_progress = _silent  # what is left concerns a few variables

    def delete(self, countable: Mask, doubtful: Mask, on_progress: Progress = _silent) -> Iterator[Move]:
        """Leave out edges [P] that are not worth having, the least worthy of every variable first.

        Of those that are not in doubt, only edges that earn nothing at all, or do harm where their cause was set:
        networks know more of an edge where tables cannot quite be learned, but some of that shows in tables too.
        """
        open_edges = countable & self._present()
        some = self._thinned(int(np.count_nonzero(open_edges)), FIRST_LOOK)

        def deletions(effect: int) -> list[Move]:
            into = np.flatnonzero(open_edges & (self._pairs.effect == effect))
            return list(
                self._deletions(effect, {int(self._pairs.cause[pair]): int(pair) for pair in into}, doubtful, some)
            )

        for moves in self._of_each(np.unique(self._pairs.effect[open_edges]), deletions, on_progress):
            yield from moves

    def _deletions(self, effect: int, open_pairs: dict[int, int], doubtful: Mask, some: Counts) -> Iterator[Move]:
        """Leave out edges into one variable, given the pair of each cause."""
        while open_pairs:
            worth = {
                cause: self._worth(cause, self._gain(cause, effect))
                if doubtful[pair]
                else self._worth_if_nothing(cause, effect, some)
                for cause, pair in open_pairs.items()
            }
            worst = min(open_pairs, key=lambda cause: worth[cause])
            if worth[worst] > 0:
                break
            self._graph[worst, effect] = False
            yield Move(worth[worst], "delete", open_pairs.pop(worst))

    def exchange(self, movable: Mask, effects: Mask, on_progress: Progress = _silent) -> Iterator[Move]:
        """Put one parent in place of others, of some variables [N], where that explains all rows better.

        What knows much of a missing parent is taken for it, and beside it the true one may have little to add, or the
        table of both be too large to learn.
        """
        open_pairs = self._addable(movable, effects)
        some = self._thinned(int(np.count_nonzero(open_pairs)), FIRST_LOOK)

        def best_of(effect: int) -> Exchange | None:
            return self._best_exchange(effect, movable, open_pairs, some)

        having_parents = np.flatnonzero(effects & self._graph.any(axis=0))
        for effect, best in zip(
            having_parents.tolist(), self._of_each(having_parents, best_of, on_progress), strict=True
        ):
            if best is not None:
                best = best_of(effect)  # exchanges before this one may have made it close a cycle
            while best is not None:
                self._graph[self._pairs.cause[best.old], effect] = False
                self._graph[self._pairs.cause[best.new], effect] = True
                open_pairs[best.old] = False  # two that each seem better than the other would take turns for ever
                yield from (Move(0.0, "delete", pair) for pair in best.old)
                yield Move(-best.gain, "add", best.new)
                best = best_of(effect)

    def add(self, movable: Mask, effects: Mask, on_progress: Progress = _silent) -> Iterator[Move]:
        """Add edges [P] into some variables [N] that are worth having, the worthiest first, and close no cycle."""
        pairs = self._pairs
        open_pairs = self._addable(movable, effects)
        some = self._thinned(int(np.count_nonzero(open_pairs)), ALL_ROWS_UP_TO)
        moves = dict[int, Move]()  # what adding each pair would bring
        stale = effects.copy()
        while True:
            absent = open_pairs & ~self._present() & ~self._graph[pairs.effect, pairs.cause]
            looked_at = np.flatnonzero(absent & stale[pairs.effect])
            worth = self._of_each(looked_at, lambda pair: self._worth_adding(pair, some), on_progress)
            on_progress = _silent
            moves |= {pair: Move(-value, "add", pair) for pair, value in zip(looked_at.tolist(), worth, strict=True)}
            stale[:] = False
            better = (moves[int(pair)] for pair in np.flatnonzero(absent) if moves[int(pair)].cost < 0)
            best = next((move for move in sorted(better) if not self._closes_cycle(move.pair)), None)
            if best is None:
                return
            self._graph[pairs.cause[best.pair], pairs.effect[best.pair]] = True
            stale[pairs.effect[best.pair]] = True
            yield best

    def _of_each(self, numbers: NDArray[np.int64], task: Callable[[int], T], on_progress: Progress) -> list[T]:
        """Call a task with every number, on some threads; results in that order."""
        count = len(numbers)
        return run_threads(
            lambda place: task(int(numbers[place])), count, self._n_jobs, lambda done: on_progress(done / count)
        )

    def _addable(self, movable: Mask, effects: Mask) -> Mask:
        """Edges [P] that may be added, if there is time to look at them.

        Causes must have been a target somewhere: else nothing says which of two variables is the cause.
        """
        known = self._counts.targeted.any(axis=0) & (self._counts.n_levels > 0)
        mask: Mask = movable & effects[self._pairs.effect] & known[self._pairs.cause]
        return mask & (np.count_nonzero(mask) * len(self._counts.regime) <= MOST_LOOKS)

    def _best_exchange(self, effect: int, movable: Mask, open_pairs: Mask, some: Counts) -> Exchange | None:
        """Find the exchange that gains most."""
        into = np.arange(self._pairs.n_pairs)[self._pairs.pairs_into(effect)]
        parents = np.flatnonzero(self._graph[:, effect]).tolist()
        present = self._graph[self._pairs.cause[into], effect]
        old = {int(self._pairs.cause[pair]): int(pair) for pair in into[present & movable[into]]}
        losses = sorted(_loss_by(parent, effect, some) for parent in old)
        best = None
        for pair in into[~present & open_pairs[into]].tolist():
            cause = int(self._pairs.cause[pair])
            if self._graph[effect, cause]:
                continue
            # What two parents know is all known to a cause that they stood for.
            several = len(old) > 1 and _loss_by(cause, effect, some) < losses[-2]
            for gone, gain in self._exchanges(parents, old, cause, effect, some, several=several).items():
                if gain <= (self._evidence if best is None else best.gain):
                    continue
                if self._closes_cycle(pair):
                    self._held_up.add(effect)
                else:
                    best = Exchange(gain, [old[parents[k]] for k in gone], pair)
        return best

    def _exchanges(
        self, parents: list[int], movable: Collection[int], cause: int, effect: int, some: Counts, *, several: bool
    ) -> dict[tuple[int, ...], float]:
        """Gain of putting a cause in the place of some parents, in nats, by their places; where it is a gain.

        In the place of each one that may go and, perhaps, of all that have nothing to add to it.
        """
        new = len(parents)

        def is_learned(gone: tuple[int, ...]) -> bool:
            return self._is_learned([*(parents[k] for k in range(new) if k not in gone), cause], effect)

        places = [k for k in range(new) if parents[k] in movable]
        gains: dict[tuple[int, ...], float] = {(k,): 0.0 for k in places if is_learned((k,))}
        for counts in self._looks(some):
            if not gains and not several:
                break
            family = counts.family([*parents, cause], effect, every_set_row=True)
            if several:
                gone = self._useless(family, new, places)
                gains |= {gone: 0.0} if gone and is_learned(gone) else {}
                several = False
            before = family.loss(range(new)).sum()
            for gone in list(gains):
                others = [k for k in range(new) if k not in gone]
                gains[gone] = float(before - family.loss([*others, new]).sum())
                if gains[gone] <= 0 or family.gain(others, new)[2] < 0:
                    del gains[gone]
        return gains

    def _useless(self, family: Family, last: int, places: list[int]) -> tuple[int, ...]:
        """Find which members of a family, of some places, add less than their price to the others and to its last."""
        gone = list[int]()
        while open_places := [k for k in places if k not in gone]:
            left = [k for k in range(last + 1) if k not in gone]
            worth = {k: float(family.gain([other for other in left if other != k], k).sum()) for k in open_places}
            worst = min(open_places, key=lambda k: worth[k])
            if worth[worst] > self._sparsity * family.rows.sum():
                break
            gone.append(worst)
        return tuple(sorted(gone))

    def _is_learned(self, parents: list[int], effect: int) -> bool:
        return self._rows_per_cell(parents, effect) >= ROWS_PER_CELL

    def _worth_adding(self, pair: int, some: Counts) -> float:
        cause, effect = int(self._pairs.cause[pair]), int(self._pairs.effect[pair])
        parents = np.flatnonzero(self._graph[:, effect]).tolist()
        if not self._is_learned([*parents, cause], effect):
            return -np.inf
        if some is not self._counts and self._gain(cause, effect, some).seen.sum() <= 0:
            return -np.inf
        gain = self._gain(cause, effect)
        worth = self._worth(cause, gain)
        return worth if worth > 0 and self._is_forward(cause, effect, gain) else -np.inf

    def _is_forward(self, cause: int, effect: int, gain: Gain) -> bool:
        """Whether rows that set the cause speak for the edge, or do not say much and its reverse is clearly worse."""
        if gain.seen[2] > 0:
            return True
        if not self._counts.countable(self._graph)[cause]:
            return False
        return bool(gain.seen[2] - self._gain(effect, cause).seen[2] > self._evidence)

    def _worth_if_nothing(self, cause: int, effect: int, some: Counts) -> float:
        """Value an edge that earns nothing at all, or does harm where its cause was set; infinity for any other.

        Where tables are not learned well even without it, nothing can be said.
        """
        if self._rows_per_cell(self._others(cause, effect), effect) < WELL_LEARNED:
            return np.inf
        for counts in self._looks(some):
            gain = self._gain(cause, effect, counts).seen
            least = -self._evidence if counts is self._counts else 0.0
            if gain.sum() > 0 and gain[2] >= least:
                return np.inf
        return float(min(gain.sum(), gain[2]))

    def _rows_per_cell(self, parents: list[int], effect: int) -> float:
        levels = self._counts.n_levels
        cells = float(np.prod(levels[parents], dtype=np.float64)) * (levels[effect] - 1)
        return float(len(self._counts.regime) / max(1.0, cells))

    def _others(self, cause: int, effect: int) -> list[int]:
        return [parent for parent in np.flatnonzero(self._graph[:, effect]).tolist() if parent != cause]

    def _looks(self, some: Counts) -> tuple[Counts, ...]:
        """Look at some rows first, if these are not all, then at all."""
        return (self._counts,) if some is self._counts else (some, self._counts)

    def _thinned(self, n_looks: int, most: int) -> Counts:
        return self._counts.thinned(max(1, n_looks * len(self._counts.regime) // most))

    def _gain(self, cause: int, effect: int, counts: Counts | None = None) -> Gain:
        """Find what a cause adds to a variable's other parents."""
        others = self._others(cause, effect)
        family = (counts or self._counts).family([*others, cause], effect, every_set_row=True)
        known = range(len(others))
        return Gain(family.gain(known, len(others)), known, family)

    def _worth(self, cause: int, gain: Gain) -> float:
        """Nats beyond its price that an edge earns; what it costs where its cause was set, if it clearly does harm."""
        if gain.seen[2] <= -self._evidence:
            return float(gain.seen[2])
        price = self._sparsity * gain.family.rows
        earned = gain.seen - price
        everywhere = earned.sum() if gain.seen[1:].sum() > 0 else -np.inf
        pays_where_set = self._is_rare(cause) and gain.expected() > price[2]
        where_set = gain.seen[0] if pays_where_set else -np.inf
        return float(max(earned[1:].sum(), everywhere, where_set)) - self._evidence

    def _is_rare(self, cause: int) -> bool:
        """Whether a cause is at the same level in nearly all observational rows."""
        if cause not in self._rare:
            count = np.bincount(self._counts.codes[self._counts.regime == 0, self._counts.slot[cause]])
            self._rare[cause] = bool(count.max() >= (1.0 - RARE) * count.sum())
        return self._rare[cause]

    def _closes_cycle(self, pair: int) -> bool:
        return has_path(self._graph, int(self._pairs.effect[pair]), int(self._pairs.cause[pair]))

    def _present(self) -> Mask:
        mask: Mask = self._graph[self._pairs.cause, self._pairs.effect]
        return mask
