"""Parents of categorical variables, decided by counting (`enco.fitting.counts`) where tables can be learned.

An edge is worth having if it earns its price, `sparsity` per row and `evidence` in all, on the interventional rows, as
everywhere in the refinement. It may also earn it on all rows together: where interventional rows are few, a weak cause
shows in the observational ones only. They cannot tell a cause from an effect, though, so interventional rows must not
speak against an edge; for a new one, those that intervene on the cause must speak for it.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.fitting.counts import Counts, Family
from enco.fitting.moves import Move
from enco.fitting.tables import ROWS_PER_CELL
from enco.graphs.dag import has_path

__all__ = ["Recount"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_LOOKS = 300_000_000  # rows times pairs; beyond this, no edges are added


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
    """

    def __init__(self, graph: Mask, pairs: Candidates, counts: Counts, *, sparsity: float, evidence: float) -> None:
        self._graph = graph
        self._pairs = pairs
        self._counts = counts
        self._sparsity = sparsity
        self._evidence = evidence

    def delete(self, doubtful: Mask) -> Iterator[Move]:
        """Leave out edges [P] that are not worth having, the least worthy of every variable first."""
        for effect in np.unique(self._pairs.effect[doubtful & self._present()]):
            parents = np.flatnonzero(self._graph[:, effect]).tolist()
            family = self._counts.family(parents, effect)
            into = np.flatnonzero(doubtful & self._present() & (self._pairs.effect == effect))
            open_pairs = {parents.index(self._pairs.cause[pair]): int(pair) for pair in into}
            left = set(range(len(parents)))
            while open_pairs:
                worth = {k: self._worth(family, family.gain(left - {k}, k)) for k in open_pairs}
                worst = min(open_pairs, key=lambda k: worth[k])
                if worth[worst] > 0:
                    break
                left.remove(worst)
                self._graph[parents[worst], effect] = False
                yield Move(worth[worst], "delete", open_pairs.pop(worst))

    def add(self, movable: Mask, effects: Mask) -> Iterator[Move]:
        """Add edges [P] into some variables [N] that are worth having, the worthiest first, and close no cycle.

        Causes must have been a target somewhere: else nothing says which of two variables is the cause.
        """
        pairs = self._pairs
        known = self._counts.targeted.any(axis=0) & (self._counts.n_levels > 0)
        open_pairs = movable & effects[pairs.effect] & known[pairs.cause]
        if np.count_nonzero(open_pairs) * len(self._counts.regime) > MOST_LOOKS:
            return
        moves = dict[int, Move]()  # what adding each pair would bring
        stale = effects.copy()
        while True:
            absent = open_pairs & ~self._present() & ~self._graph[pairs.effect, pairs.cause]
            for pair in np.flatnonzero(absent & stale[pairs.effect]):
                moves[int(pair)] = Move(-self._worth_adding(int(pair)), "add", int(pair))
            stale[:] = False
            better = (moves[int(pair)] for pair in np.flatnonzero(absent) if moves[int(pair)].cost < 0)
            best = next((move for move in sorted(better) if not self._closes_cycle(move.pair)), None)
            if best is None:
                return
            self._graph[pairs.cause[best.pair], pairs.effect[best.pair]] = True
            stale[pairs.effect[best.pair]] = True
            yield best

    def _worth_adding(self, pair: int) -> float:
        cause, effect = int(self._pairs.cause[pair]), int(self._pairs.effect[pair])
        parents = np.flatnonzero(self._graph[:, effect]).tolist()
        levels = self._counts.n_levels
        cells = float(np.prod(levels[[*parents, cause]], dtype=np.float64)) * (levels[effect] - 1)
        if ROWS_PER_CELL * cells > len(self._counts.regime):
            return -np.inf
        family = self._counts.family([*parents, cause], effect)
        gain = family.gain(range(len(parents)), len(parents))
        return self._worth(family, gain) if gain[2] > 0 else -np.inf

    def _worth(self, family: Family, gain: Floats) -> float:
        """Nats beyond its price that an edge earns, given its gain on the rows of each kind."""
        earned = gain - self._sparsity * family.rows
        everywhere = earned.sum() if gain[1:].sum() > 0 else -np.inf
        return float(max(earned[1:].sum(), everywhere)) - self._evidence

    def _closes_cycle(self, pair: int) -> bool:
        return has_path(self._graph, int(self._pairs.effect[pair]), int(self._pairs.cause[pair]))

    def _present(self) -> Mask:
        mask: Mask = self._graph[self._pairs.cause, self._pairs.effect]
        return mask
