"""`FusedConditionals`: the fused engine behind the `ConditionalModel` interface."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.base import FitReport, Floats
from enco.conditionals.fused.effects import gather, graph_losses, paired_effects_of
from enco.conditionals.fused.layout import Layout
from enco.conditionals.fused.random import new_streams
from enco.conditionals.fused.training import center_tables, fit_variable
from enco.data import InterventionalData, Regime

__all__ = ["FusedConditionals", "NetworkSettings"]


@dataclass(frozen=True)
class NetworkSettings:
    """How the conditional networks look and train (paper, Table 6 unless said otherwise)."""

    hidden: int = 64  # units of the hidden layer
    batch: int = 128  # rows per step
    learning_rate: float = 5e-3
    weight_decay: float = 1e-4
    held_out: float = 0.1  # share of observational rows that decides when to stop
    check_every: int = 50  # steps between looks at the held-out rows
    patience: int = 4  # looks without improvement before a variable stops


class FusedConditionals:
    """One network per variable, trained and evaluated by Numba kernels on threads.

    Parameters
    ----------
    data : InterventionalData
        Categorical variables.
    candidates : Candidates
        The pairs (cause, effect) to model.
    settings : NetworkSettings
    seed : int
        Fixes initial weights, the held-out rows and all sampling; results do not depend on `n_jobs`.
    n_jobs : int
        Threads.
    column : int64 [N], optional
        Column of `data` that holds each variable of `candidates`; the same order by default.
    """

    def __init__(
        self,
        data: InterventionalData,
        candidates: Candidates,
        *,
        settings: NetworkSettings,
        seed: int,
        n_jobs: int,
        column: NDArray[np.int64] | None = None,
    ) -> None:
        self.candidates = candidates
        self.settings = settings
        self.n_jobs = n_jobs
        self._pool = ThreadPoolExecutor(n_jobs)
        self._column = np.arange(candidates.n_variables) if column is None else column
        self._cause_column = self._column[candidates.cause]
        self.layout = Layout.build(candidates, data.n_levels[self._column], settings.hidden)
        rng = np.random.default_rng([seed, 1])
        self._codes = data.observational.codes
        self._train_rows, self._held_rows = _split(len(self._codes), settings.held_out, rng)
        self.weights = _initial_weights(self.layout, candidates, rng)
        self.first = np.zeros_like(self.weights)
        self.second = np.zeros_like(self.weights)
        self.counters = np.zeros(candidates.n_variables, np.int64)
        self.streams = new_streams(seed, candidates.n_variables)

    def fit(self, edge_probability: Floats, steps: int) -> FitReport:
        """Train every variable for at most `steps` steps (Eq. 1).

        Parameters
        ----------
        edge_probability : float64 [P]
        steps : int
        """
        held_out_loss = np.zeros(self.candidates.n_variables)
        taken = np.zeros(self.candidates.n_variables, np.int64)
        threshold = _thresholds(edge_probability)

        def fit_one(j: int) -> None:
            held_out_loss[j], taken[j] = self._fit_variable(j, threshold, steps)

        # Largest networks first, so that no thread is left with a long one at the end.
        by_size = np.argsort(-np.diff(self.candidates.start), kind="stable")
        self._run(fit_one, by_size.tolist())
        return FitReport(held_out_loss, taken)

    def edge_effects(
        self, regime: Regime, rows: NDArray[np.int64], edge_probability: Floats, wanted: NDArray[np.bool_]
    ) -> Floats:
        """Paired edge effects on rows of a regime, float64 [P]; NaN where not wanted or the effect is a target."""
        effect = np.full(self.candidates.n_pairs, np.nan)
        base = np.zeros(self.candidates.n_variables)
        threshold = _thresholds(edge_probability)
        layout, pairs = self.layout, self.candidates

        def run(variables: NDArray[np.int64]) -> None:
            paired_effects_of(
                variables, self.weights, layout.start, layout.hidden, layout.output_row, layout.n_outputs,
                layout.table_row, pairs.start, self._cause_column, self._column, regime.codes, rows, threshold,
                self.streams,
                wanted.view(np.uint8), effect, base,
            )  # fmt: skip

        free = np.setdiff1d(np.arange(pairs.n_variables), regime.targets)
        self._run(run, [free[k :: self.n_jobs] for k in range(self.n_jobs)])
        return effect

    def graph_losses(self, regime: Regime, rows: NDArray[np.int64], graphs: NDArray[np.bool_]) -> Floats:
        """Mean loss of each variable under G graphs shared by all rows, float64 [G, N]."""
        result = np.zeros((self.candidates.n_variables, len(graphs)), np.float32)

        def run(j: int) -> None:
            pairs = self.candidates.pairs_into(j)
            x, y = self._gather(regime.codes, rows, j)
            graph_losses(*self._network(j), x, y, np.ascontiguousarray(graphs[:, pairs].view(np.uint8)), result[j])

        self._run(run, range(self.candidates.n_variables))
        return result.T.astype(np.float64)

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Weights, Adam moments, step counters and random streams (copies)."""
        return {name: getattr(self, name).copy() for name in _STATE}

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state`."""
        for name in _STATE:
            getattr(self, name)[...] = state[name]

    def _fit_variable(self, j: int, threshold: NDArray[np.uint64], steps: int) -> tuple[float, int]:
        settings = self.settings
        block, hidden, out_row, n_out, table_row = self._network(j)
        segment = slice(self.layout.start[j], self.layout.start[j + 1])
        x, y = self._gather(self._codes, self._train_rows, j)
        x_held, y_held = self._gather(self._codes, self._held_rows, j)
        batch = min(settings.batch, len(x))
        pairs = threshold[self.candidates.pairs_into(j)]
        report: tuple[float, int] = fit_variable(
            block, self.first[segment], self.second[segment], np.empty_like(block), np.zeros_like(block), hidden,
            out_row, n_out, table_row, x, y, x_held, y_held, pairs, self.streams[j : j + 1], self.counters[j : j + 1],
            steps, batch, settings.learning_rate, settings.weight_decay, settings.check_every, settings.patience,
        )  # fmt: skip
        center_tables(block.reshape(-1, hidden), out_row, table_row, x, pairs)
        return report

    def _network(self, j: int) -> tuple[NDArray[np.float32], int, int, int, NDArray[np.int64]]:
        layout = self.layout
        block = self.weights[layout.start[j] : layout.start[j + 1]]
        table_row = layout.table_row[self.candidates.pairs_into(j)]
        return block, layout.hidden, int(layout.output_row[j]), int(layout.n_outputs[j]), table_row

    def _gather(
        self, codes: NDArray[Any], rows: NDArray[np.int64], j: int
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        parents = self._cause_column[self.candidates.pairs_into(j)]
        x = np.empty((len(rows), len(parents)), np.uint16)
        y = np.empty((len(rows), 1), np.uint16)
        gather(codes, rows, parents, x)
        gather(codes, rows, self._column[j : j + 1], y)
        return x, y[:, 0]

    def _run(self, task: Callable[[Any], None], items: Iterable[Any]) -> None:
        if self.n_jobs == 1:
            for item in items:
                task(item)
        else:
            list(self._pool.map(task, items))


_STATE = ("weights", "first", "second", "counters", "streams")


def _thresholds(probability: Floats) -> NDArray[np.uint64]:
    """Probabilities as 32-bit thresholds for the sampler; 0 is never and 1 is always."""
    return np.rint(np.clip(probability, 0.0, 1.0) * 2.0**32).astype(np.uint64)


def _split(rows: int, held_out: float, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Random split into training and held-out rows; both sorted, so that reading stays sequential."""
    order = rng.permutation(rows)
    n_held = min(max(round(rows * held_out), 1), rows - 1) if rows > 1 else 0
    held = np.sort(order[:n_held])
    return np.sort(order[n_held:]), held if n_held else np.arange(rows)


def _initial_weights(layout: Layout, candidates: Candidates, rng: np.random.Generator) -> NDArray[np.float32]:
    """Weights uniform in ±1/sqrt(H), output biases zero: every network starts near the uniform distribution."""
    weights = rng.uniform(-1.0, 1.0, layout.size).astype(np.float32)
    weights *= np.float32(1.0 / np.sqrt(layout.hidden))
    for j in range(candidates.n_variables):
        end = layout.start[j + 1]
        first_bias = layout.start[j] + (layout.output_row[j] + layout.n_outputs[j]) * layout.hidden
        weights[first_bias:end] = 0.0
    return weights
