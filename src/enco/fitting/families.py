"""What it costs a variable to have given parents: the question that a search over orders asks thousands of times.

A *family* is a variable with a set of parents. Its price is the loss of all rows that leave the variable free, the
observational ones among them, plus what its edges cost. Wherever the parents are right, the mechanism is the same in
every regime, so all rows may be counted together; and where hardly any variable was intervened on, most of what is
known about directions is in the observational rows.

Two predictors answer, each about rows that it has not seen, and the better one counts. Networks (`anew`), trained on
some folds of the rows and judged on the rest, with every neighbour there half of the time, know all subsets of the
neighbours at once. Tables of counts (`enco.fitting.counts`) are more precise where the parents are few.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.fused import FusedConditionals
from enco.data import Regime
from enco.fitting.counts import Counts
from enco.fitting.scoring import ANNEALING, part_of
from enco.settings import Settings

__all__ = ["Families"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

FOLDS = 3
MOST_LEARNED = 30_000  # rows of the observational regime, and of all others together, that networks learn from
MOST_JUDGED = 10_000  # and that they are judged on
CELLS_PER_ROW = 2.0  # beyond this, a table is not worth counting
PRESENCE = 0.5  # of a neighbour in training


class Families:
    """Prices of families, in nats. Threads may ask at the same time.

    Parameters
    ----------
    model : FusedConditionals
        Networks like these are trained.
    regimes : sequence of Regime
        The observational one and all others.
    counts : Counts, optional
        The same rows to count; networks alone decide without it.
    neighbours : bool [N, N]
        Edges that families may have; row = cause.
    evidence : float
        Nats that an edge must earn, besides `sparsity` per row.
    settings : Settings
    """

    def __init__(
        self,
        model: FusedConditionals,
        regimes: Sequence[Regime],
        counts: Counts | None,
        *,
        neighbours: Mask,
        evidence: float,
        settings: Settings,
        on_progress: Callable[[float], None] = lambda fraction: None,
    ) -> None:
        self._pairs = Candidates.from_mask(neighbours)
        self._counts = counts
        free = ~np.array([np.isin(np.arange(self._pairs.n_variables), regime.targets) for regime in regimes]).T
        self._free_rows = free @ np.array([float(regime.n_rows) for regime in regimes])
        self._edge_price = evidence + settings.sparsity * self._free_rows
        self._known: dict[tuple[int, frozenset[int], tuple[int, ...]], list[float]] = {}
        self._counted: dict[tuple[int, frozenset[int]], float] = {}
        rng = np.random.default_rng(0)  # which fold a row is in is no part of the fit's randomness
        folds = [np.array_split(_shuffled(regime, regimes, rng), FOLDS) for regime in regimes]
        self._models, self._judged = list[FusedConditionals](), list[_Judged]()
        for fold in range(FOLDS):
            learned = [np.concatenate([part for k, part in enumerate(parts) if k != fold]) for parts in folds]
            rows = [(regime, np.sort(those)) for regime, those in zip(regimes, learned, strict=True)]
            networks = model.anew(self._pairs, rows, seed=fold)
            for stage, share in enumerate(ANNEALING):
                progress = part_of(on_progress, fold * len(ANNEALING) + stage, FOLDS * len(ANNEALING))
                if stage:
                    networks = networks.extended([], share * settings.learning_rate, settings.patience)
                networks.fit(np.full(self._pairs.n_pairs, PRESENCE), settings.refine_steps, on_progress=progress)
            self._models.append(networks)
            self._judged.append(_Judged(regimes, [parts[fold] for parts in folds], free))

    def prices(self, effect: int, parents: frozenset[int], changes: Sequence[int] = ()) -> list[float]:
        """Price a set of parents of one variable; then each set that has one of the changes more, or less, [1 + C]."""
        question = effect, parents, tuple(changes)
        if question not in self._known:
            sets = [parents, *(parents ^ {cause} for cause in changes)]
            by_counting = [self._by_counting(effect, those) for those in sets]
            loss = np.minimum(self._by_networks(effect, parents, changes), by_counting)
            edges = np.array([len(those) for those in sets])
            self._known[question] = (loss + edges * self._edge_price[effect]).tolist()
        return self._known[question]

    def _by_networks(self, effect: int, parents: frozenset[int], changes: Sequence[int]) -> Floats:
        causes = self._pairs.cause[self._pairs.pairs_into(effect)]
        family = np.isin(causes, list(parents))
        place = np.searchsorted(causes, changes)
        wanted = np.zeros(len(causes), bool)
        wanted[place] = True
        total, count = np.zeros(1 + len(place)), 0
        for model, judged in zip(self._models, self._judged, strict=True):
            rows = judged.free(effect)
            if len(rows):
                loss, changed = model.losses_of_changes(judged.regime, rows, effect, family, wanted)
                total += len(rows) * np.append(loss, changed[place])
                count += len(rows)
        return np.asarray(total * (self._free_rows[effect] / max(1, count)))

    def _by_counting(self, effect: int, parents: frozenset[int]) -> float:
        if (effect, parents) not in self._counted:
            self._counted[effect, parents] = self._count(effect, sorted(parents))
        return self._counted[effect, parents]

    def _count(self, effect: int, parents: list[int]) -> float:
        if self._counts is None or not self._counts.n_levels[[*parents, effect]].all():
            return np.inf
        cells = float(np.prod(self._counts.n_levels[[*parents, effect]], dtype=np.float64))
        if cells > CELLS_PER_ROW * self._free_rows[effect]:
            return np.inf
        family = self._counts.family(parents, effect)
        rows = max(1, int(family.rows.sum()))
        return float(family.loss(range(len(parents))).sum()) * float(self._free_rows[effect]) / rows


class _Judged:
    """Rows of all regimes, one after the other, that one fold's networks are judged on."""

    def __init__(self, regimes: Sequence[Regime], rows: Sequence[NDArray[np.int64]], free: Mask) -> None:
        share = min(1.0, MOST_JUDGED / FOLDS / max(1, sum(map(len, rows))))
        some = [np.sort(those[: int(np.ceil(share * len(those)))]) for those in rows]
        parts = list(zip(regimes, some, strict=True))
        self.regime = Regime(
            (),
            np.concatenate([regime.codes[those] for regime, those in parts]),
            np.concatenate([regime.reals[those] for regime, those in parts]),
        )
        self._free = free
        self._origin = np.repeat(np.arange(len(regimes)), [len(those) for those in some])

    def free(self, variable: int) -> NDArray[np.int64]:
        """Rows that leave a variable free."""
        return np.flatnonzero(self._free[variable][self._origin])


def _shuffled(regime: Regime, regimes: Sequence[Regime], rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows to learn from and to judge on, in random order: of every regime a fair share of what time allows."""
    alike = sum(other.n_rows for other in regimes if bool(other.targets) == bool(regime.targets))
    count = int(np.ceil(regime.n_rows * min(1.0, MOST_LEARNED / max(1, alike))))
    return rng.permutation(regime.n_rows)[:count]
