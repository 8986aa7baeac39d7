"""Scores for the refinement: networks that learn from interventional rows too, judged on rows they never saw.

While orientations are open, the networks of a fit must not see interventions: what an anticausal network would learn
from them is exactly what gives it away. Once there is a graph to refine, the question is another one, how well does
each variable's own mechanism explain *all* rows in which the variable was left free, and interventional rows are the
best to learn that from: they reach where observational rows do not (continuous variables pushed to the edge of their
range), and there are often more of them. So the rows of every regime are split in halves; one set of networks learns
from all observational rows and one half, and is judged on the other half, and a second set the other way round.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.base import ConditionalModel
from enco.data import Regime
from enco.settings import Settings

__all__ = ["CrossFit", "part_of", "unusual_presence"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

MOST_TOGGLES = 200_000_000  # of one look at all pairs; beyond this, fewer rows of each regime are judged
CLOSE = 3.0  # a decision is close if the edge earns or costs less than this many times `sparsity`
MOST_ROWS = 50_000  # interventional rows that one set of networks learns from

ANNEALING = (1.0, 0.2, 0.04)  # learning rates of dedicated networks, one after the other, relative to `refine_rate`
USUAL = 0.9  # presence of the edges of the graph in the training of networks that must also answer "what if not?"
UNUSUAL = 0.15  # least presence of all other candidates


class CrossFit:
    """Two sets of networks, each judged on the half of the interventional rows that the other learned from.

    Parameters
    ----------
    model : ConditionalModel
        Its weights are where both sets begin.
    regimes : sequence of Regime
    settings : Settings
    """

    def __init__(self, model: ConditionalModel, regimes: Sequence[Regime], settings: Settings) -> None:
        self.pairs = model.candidates
        self._regimes = regimes
        self._settings = settings
        n_rows = sum(regime.n_rows for regime in regimes)
        rng = np.random.default_rng(0)  # which half a row is in is no part of the fit's randomness
        halves = [np.array_split(rng.permutation(regime.n_rows), 2) for regime in regimes]
        self._models = []
        self._halves = [[half[other] for half in halves] for other in (1, 0)]
        for mine in (0, 1):
            learned = [_some(half[mine], 2 * MOST_ROWS / n_rows) for half in halves]
            more = list(zip(regimes, learned, strict=True))
            self._models.append(model.extended(more, settings.refine_rate, settings.patience))
        self._share = MOST_TOGGLES / max(1, self.pairs.n_pairs * n_rows)
        self._rows, self._weight = self._judged(self._share)
        targeted = np.array([np.isin(np.arange(self.pairs.n_variables), regime.targets) for regime in regimes])
        # Rows that leave each variable free, [N].
        self.free_rows = (~targeted).T @ np.array([float(regime.n_rows) for regime in regimes])

    def train(self, graph: Mask, on_progress: Callable[[float], None] = lambda fraction: None) -> None:
        """Train around a graph: its edges are usually there, other candidates now and then."""
        present = graph[self.pairs.cause, self.pairs.effect]
        probability = np.where(present, USUAL, unusual_presence(self.pairs.n_variables))
        for k, model in enumerate(self._models):
            model.fit(probability, self._settings.refine_steps, on_progress=part_of(on_progress, k, len(self._models)))

    def toggles(self, graph: Mask, variables: Mask) -> Floats:
        """Change of the summed loss by having each edge into some variables rather than not, nats, [P]."""
        wanted = variables[self.pairs.effect]
        total = self._summed_effects(graph, lambda regime: wanted)
        if self._share >= 1.0:
            return total
        # Judged on some of the rows. Where the decision is close, all that time allows have a say.
        per_row = total / np.maximum(1.0, self.free_rows[self.pairs.effect])
        close = wanted & (np.abs(per_row + self._settings.sparsity) < CLOSE * self._settings.sparsity)
        share = self._share * self.pairs.n_pairs / max(1, int(np.count_nonzero(close)))
        if close.any() and share > 2 * self._share:
            rows, weight = self._judged(share)
            total[close] = self._summed_effects(graph, lambda regime: close, rows, weight)[close]
        return total

    def harm(self, graph: Mask, asked: Mask | None = None) -> Floats:
        """Change of the summed loss by having each edge rather than not, where its cause was a target, nats, [P].

        Of all pairs, or of those asked for [P].
        """
        pairs = np.ones(self.pairs.n_pairs, bool) if asked is None else asked
        # These are few pairs in each regime, so that there is time for more of its rows.
        judged = (None, None) if self._share >= 1.0 else self._judged(self._share * len(self._regimes))
        return self._summed_effects(graph, lambda regime: pairs & np.isin(self.pairs.cause, regime.targets), *judged)

    def residual_blocks(self, graph: Mask, observational: Regime) -> Iterator[list[Floats]]:
        """Yield what the graph leaves unexplained of every variable, [rows, K_j] each, zero where it was a target.

        Interventional rows as they are judged; observational rows, from which both sets of networks learned, by turns.
        """
        present = graph[self.pairs.cause, self.pairs.effect]
        experts = self._experts(present)
        each = _some(np.random.default_rng(0).permutation(observational.n_rows), MOST_ROWS / observational.n_rows)
        for turn, (model, halves) in enumerate(zip(experts, self._rows, strict=True)):
            parts = [(observational, each[turn :: len(self._models)]), *zip(self._regimes, halves, strict=True)]
            for regime, rows in parts:
                residuals = model.residuals(regime, rows, present)
                for target in regime.targets:
                    residuals[target][:] = 0.0
                yield residuals

    def losses(self, graph: Mask) -> Floats:
        """Mean loss of every variable in rows that leave it free, by its parents in a graph, nats, [N]."""
        present = graph[self.pairs.cause, self.pairs.effect]
        total = self._summed_losses(self._models, present)
        mean: Floats = total / np.maximum(1.0, self.free_rows)
        return mean

    def dedicated(self, graph: Mask, variables: NDArray[np.int64]) -> Floats:
        """Sum the losses of some variables by networks first trained for exactly these parents, nats, [N]."""
        present = graph[self.pairs.cause, self.pairs.effect]
        return self._summed_losses(self._experts(present, variables), present)

    def _summed_losses(self, models: Iterable[ConditionalModel], present: Mask) -> Floats:
        total = np.zeros(self.pairs.n_variables)
        for model, halves in zip(models, self._rows, strict=True):
            for regime, rows, weight in zip(self._regimes, halves, self._weight, strict=True):
                if len(rows):
                    loss = model.graph_losses(regime, rows, present[None])[0] * len(rows) * weight
                    loss[list(regime.targets)] = 0.0
                    total += loss
        return total

    def _experts(self, present: Mask, variables: NDArray[np.int64] | None = None) -> Iterator[ConditionalModel]:
        """Yield copies of both sets of networks, trained for exactly these parents.

        With more patience and in the end with ever smaller steps: each answers one question, and that one well. Where
        noise is small beside what causes explain, anything less than precise would make every hint at the true parents
        seem useful.
        """
        for expert in self._models:
            for share in ANNEALING:
                expert = expert.extended([], share * self._settings.refine_rate, self._settings.refine_patience)
                expert.fit(present.astype(np.float64), self._settings.refine_steps, variables)
            yield expert

    def _judged(self, share: float) -> tuple[list[list[Rows]], list[float]]:
        """Rows that each set of networks is judged on, a share of each regime's, and the weight of one of them."""
        judged = [[_some(rows, share) for rows in halves] for halves in self._halves]
        counts = [sum(len(rows[k]) for rows in judged) for k in range(len(self._regimes))]
        return judged, [regime.n_rows / (n or 1) for regime, n in zip(self._regimes, counts, strict=True)]

    def _summed_effects(
        self,
        graph: Mask,
        wanted: Callable[[Regime], Mask],
        judged: list[list[Rows]] | None = None,
        weights: list[float] | None = None,
    ) -> Floats:
        present = graph[self.pairs.cause, self.pairs.effect].astype(np.float64)
        total = np.zeros(self.pairs.n_pairs)
        for model, halves in zip(self._models, judged or self._rows, strict=True):
            for regime, rows, weight in zip(self._regimes, halves, weights or self._weight, strict=True):
                if len(rows) and (pairs := wanted(regime)).any():
                    delta = model.edge_effects(regime, rows, present, pairs)
                    total += np.nan_to_num(delta) * len(rows) * weight
        return total


def unusual_presence(n_variables: int) -> float:
    """Presence of candidates outside the graph in training: about one at a time in a small graph, more in a large one.

    Examples
    --------
    >>> unusual_presence(3), unusual_presence(25)
    (0.5, 0.15)
    """
    return max(UNUSUAL, 1.0 / max(2, n_variables - 1))


def part_of(on_progress: Callable[[float], None], done: int, parts: int) -> Callable[[float], None]:
    """Turn progress of one part of the work into progress of the whole.

    Examples
    --------
    >>> part_of(print, 1, 4)(0.5)
    0.375
    """
    return lambda fraction: on_progress((done + fraction) / parts)


def _some(rows: Rows, share: float) -> Rows:
    """At most a share of the rows, but at least one; sorted, so that reading stays sequential."""
    count = min(len(rows), max(1, int(len(rows) * share)))
    return np.sort(rows[:count]).astype(np.int64)
