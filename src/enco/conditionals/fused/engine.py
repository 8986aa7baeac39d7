"""`FusedConditionals`: the fused engine behind the `ConditionalModel` interface."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.base import FitReport, Floats, Training
from enco.conditionals.fused.effects import (
    Table,
    change_losses,
    gather,
    graph_losses,
    paired_effects_of,
    residuals,
)
from enco.conditionals.fused.layout import Layout
from enco.conditionals.fused.network import Network, Networks, network_of
from enco.conditionals.fused.present import PresentPart
from enco.conditionals.fused.random import new_streams
from enco.conditionals.fused.rows import TrainingRows
from enco.conditionals.fused.training import Optimiser, Sample, Schedule, center_tables, fit_variable
from enco.conditionals.heads import VariableHeads
from enco.conditionals.held_out import repeats
from enco.conditionals.reading import Reading
from enco.data import InterventionalData, Regime

__all__ = ["FusedConditionals", "NetworkSettings"]


@dataclass(frozen=True)
class NetworkSettings:
    """How the conditional networks look and train (paper, Table 6 unless said otherwise)."""

    hidden: int = 64  # units of the hidden layer
    batch: int = 128  # rows per step
    learning_rate: float = 5e-3
    weight_decay: float = 1e-4
    held_out: float = 0.1  # share of observational rows that decides when to stop; 0: all steps on all rows
    check_every: int = 50  # steps between looks at the held-out rows
    patience: int = 4  # looks without improvement before a variable stops
    averaged: int = 1  # steps over which weights are averaged
    centred: bool = True  # whether an absent categorical parent stands for an average one


class FusedConditionals:
    """One network per variable, trained and evaluated by Numba kernels on threads.

    Parameters
    ----------
    data : InterventionalData
        Categorical and continuous variables in any mixture.
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
        self._reading = Reading.of(data, self._column)
        self.layout = Layout.build(candidates, self.heads, settings.hidden)
        rng = np.random.default_rng([seed, 1])
        observational = [(data.observational, np.arange(data.observational.n_rows))]
        self._training = [TrainingRows.of(observational, candidates.n_variables, settings.held_out, rng)]
        reading, rows = self._reading, data.observational
        self._columns = Table(
            rows.codes, rows.reals, reading.slot, self.heads.numeric, self.heads.logarithmic, reading.center,
            reading.inverse_scale,
        )  # fmt: skip
        self._start(rng, seed)

    @property
    def heads(self) -> VariableHeads:
        """The head of each variable."""
        return self._reading.heads

    def _start(self, rng: np.random.Generator, seed: int) -> None:
        self.weights = self.layout.initial_weights(rng)
        self.first = np.zeros_like(self.weights)
        self.second = np.zeros_like(self.weights)
        self.counters = np.zeros(self.candidates.n_variables, np.int64)
        self.streams = new_streams(seed, self.candidates.n_variables)

    def fit(
        self,
        edge_probability: Floats,
        steps: int,
        variables: NDArray[np.int64] | None = None,
        on_progress: Callable[[float], None] = lambda fraction: None,
    ) -> FitReport:
        """Train every variable, or some, for at most `steps` steps (Eq. 1).

        Parameters
        ----------
        edge_probability : float64 [P]
        steps : int
        variables : int64, optional
            Which to train; all by default.
        on_progress : callable, optional
            Called with the share of the variables that are trained.
        """
        held_out_loss = np.zeros(self.candidates.n_variables)
        taken = np.zeros(self.candidates.n_variables, np.int64)
        threshold = _thresholds(edge_probability)

        def fit_one(j: int) -> None:
            held_out_loss[j], taken[j] = self._fit_variable(j, threshold, steps)

        # Largest networks first, so that no thread is left with a long one at the end.
        by_size = np.argsort(-np.diff(self.candidates.start), kind="stable")
        chosen = by_size if variables is None else by_size[np.isin(by_size, variables)]
        self._run(fit_one, chosen.tolist(), on_progress)
        # The density of a continuous variable in its own unit, not in standard deviations.
        return FitReport(held_out_loss + self._reading.log_scale, taken)

    def extended(
        self, rows: Sequence[tuple[Regime, NDArray[np.int64]]], learning_rate: float, patience: int
    ) -> "FusedConditionals":
        """Copy the model, with its weights; the copy trains on these rows too, where they leave a variable free.

        Its Adam moments and step counters start anew, its random streams where the model has them now. Of the new rows,
        too, some are held out; where they are few, each counts several times (`repeats`).
        """
        other = copy(self)
        other.settings = replace(self.settings, learning_rate=learning_rate, patience=patience)
        other.weights = self.weights.copy()
        other.first, other.second = np.zeros_like(self.first), np.zeros_like(self.second)
        other.counters = np.zeros_like(self.counters)
        other.streams = self.streams.copy()
        if rows:
            more = TrainingRows.of(rows, len(self._column), self.settings.held_out, np.random.default_rng(0))
            times = repeats(sum(len(part.train) for part in self._training), len(more.train))
            other._training = [*self._training, more.repeated(times)]
        return other

    def anew(
        self,
        candidates: Candidates,
        rows: Sequence[tuple[Regime, NDArray[np.int64]]],
        seed: int,
        training: Training | None = None,
    ) -> "FusedConditionals":
        """Return new networks over other candidates, trained on these rows only, where they leave a variable free."""
        other = copy(self)
        if training is not None:
            other.settings = replace(self.settings, **training._asdict())
        rng = np.random.default_rng([seed, 1])
        other.candidates = candidates
        other.layout = Layout.build(candidates, self.heads, self.settings.hidden)
        other._training = [TrainingRows.of(rows, candidates.n_variables, self.settings.held_out, rng)]
        other._start(rng, seed)
        return other

    def edge_effects(
        self, regime: Regime, rows: NDArray[np.int64], edge_probability: Floats, wanted: NDArray[np.bool_]
    ) -> Floats:
        """Paired edge effects on rows of a regime, float64 [P]; NaN where not wanted or the effect is a target."""
        effect = np.full(self.candidates.n_pairs, np.nan)
        threshold, networks, table = _thresholds(edge_probability), self._networks(), self._table(regime)

        def run(variables: NDArray[np.int64]) -> None:
            paired_effects_of(variables, networks, table, rows, threshold, self.streams, wanted.view(np.uint8), effect)

        free = np.flatnonzero(regime.free(np.arange(self.candidates.n_variables)))
        self._run(run, [free[k :: self.n_jobs] for k in range(self.n_jobs)])
        return effect

    def graph_losses(self, regime: Regime, rows: NDArray[np.int64], graphs: NDArray[np.bool_]) -> Floats:
        """Mean loss of each variable under G graphs shared by all rows, float64 [G, N].

        Graphs that agree on the parents of a variable share its loss. Most do once edges are decided.
        """
        result = np.zeros((len(graphs), self.candidates.n_variables))

        def run(j: int) -> None:
            families, which = np.unique(graphs[:, self.candidates.pairs_into(j)], axis=0, return_inverse=True)
            result[:, j] = self.family_losses(regime, rows, j, families)[which]

        self._run(run, range(self.candidates.n_variables))
        return result

    def family_losses(
        self, regime: Regime, rows: NDArray[np.int64], effect: int, families: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """Mean loss of one variable given G sets of its candidate parents [G, k], [G]."""
        result = np.zeros(len(families), np.float32)
        x, y = self._gather(self._table(regime), rows, effect)
        graph_losses(self._network(effect), x, y, np.ascontiguousarray(families.view(np.uint8)), result)
        return result

    def row_losses(
        self,
        regime: Regime,
        rows: NDArray[np.int64],
        effect: int,
        family: NDArray[np.bool_],
        changes: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Loss of each row given some candidate parents [k], and with each change, a place among them, in or out.

        Returns
        -------
        float32 [1 + changes, rows]
        """
        loss = np.empty((1 + len(changes), len(rows)), np.float32)
        x, y = self._gather(self._table(regime), rows, effect)
        change_losses(self._network(effect), x, y, np.ascontiguousarray(family.view(np.uint8)), changes, loss)
        return loss

    def expert_losses(
        self, effect: int, family: NDArray[np.bool_], regime: Regime, rows: NDArray[np.int64], steps: int
    ) -> NDArray[np.float32]:
        """Loss of each row by a network that is trained further for exactly these parents [k], [rows].

        The model itself does not change.
        """
        part = PresentPart.of(self._network(effect), family)
        moments = np.zeros((2, len(part.place)), np.float32)
        optimiser = Optimiser(moments[0], moments[1], np.zeros(1, np.int64), new_streams(effect, 1))
        self._train(effect, part.network, optimiser, _thresholds(family.astype(np.float64)), steps)
        loss = np.empty((1, len(rows)), np.float32)
        x, y = self._gather(self._table(regime), rows, effect, family)
        change_losses(part.network, x, y, np.ones(x.shape[1], np.uint8), np.zeros(0, np.int64), loss)
        return loss[0]

    def residuals(self, regime: Regime, rows: NDArray[np.int64], graph: NDArray[np.bool_]) -> list[Floats]:
        """Return what a graph [P] leaves unexplained of each variable, [rows, `Head.n_residuals`]."""
        result = [np.empty((len(rows), k), np.float32) for k in self.heads.n_residuals.tolist()]

        def run(j: int) -> None:
            x, y = self._gather(self._table(regime), rows, j)
            parents = np.ascontiguousarray(graph[self.candidates.pairs_into(j)].view(np.uint8))
            residuals(self._network(j), x, y, parents, result[j])

        self._run(run, range(self.candidates.n_variables))
        return [residual.astype(np.float64) for residual in result]

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Weights, Adam moments, step counters and random streams (copies)."""
        return {name: getattr(self, name).copy() for name in _STATE}

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state`."""
        for name in _STATE:
            getattr(self, name)[...] = state[name]

    def _fit_variable(self, j: int, threshold: NDArray[np.uint64], steps: int) -> tuple[float, int]:
        segment = slice(self.layout.start[j], self.layout.start[j + 1])
        pairs = threshold[self.candidates.pairs_into(j)]
        possible = pairs > 0
        part = PresentPart.of(self._network(j), possible)
        optimiser = Optimiser(
            self.first[segment][part.place],
            self.second[segment][part.place],
            self.counters[j : j + 1],
            self.streams[j : j + 1],
        )
        report = self._train(j, part.network, optimiser, pairs, steps)
        changed = (part.network.weights.reshape(-1), optimiser.first, optimiser.second)
        for state, new in zip((self.weights, self.first, self.second), changed, strict=True):
            part.write_back(state[segment], new)
        return report

    def _train(
        self, j: int, network: Network, optimiser: Optimiser, threshold: NDArray[np.uint64], steps: int
    ) -> tuple[float, int]:
        """Train the network of a variable over those of its candidate parents [k] that can be present, in place."""
        settings, possible = self.settings, threshold > 0
        rows = [(rows.table(self._columns), *rows.free(j)) for rows in self._training]
        x, y = self._gather_all([(table, train) for table, train, _ in rows], j, possible)
        x_held, y_held = self._gather_all([(table, held) for table, _, held in rows], j, possible)
        schedule = Schedule(
            steps,
            min(settings.batch, len(x)),
            settings.learning_rate,
            settings.weight_decay,
            settings.check_every,
            settings.patience if settings.held_out else 0,
            settings.averaged,
        )
        report: tuple[float, int] = fit_variable(
            network, optimiser, Sample(x, y, x_held, y_held), threshold[possible], schedule
        )
        if settings.centred and self.heads[j].centred:
            center_tables(network, x, threshold[possible])
        return report

    def _networks(self) -> Networks:
        """All networks as the kernels read them."""
        layout, pairs = self.layout, self.candidates
        return Networks(
            self.weights, layout.start, layout.hidden, layout.output_row, layout.n_outputs, self.heads.code,
            self._columns.numeric,
            layout.table_row, pairs.start, pairs.cause,
        )  # fmt: skip

    def _network(self, j: int) -> Network:
        return network_of(self._networks(), j)

    def _table(self, regime: Regime) -> Table:
        return self._columns._replace(codes=regime.codes, reals=regime.reals)

    def _gather(
        self, table: Table, rows: NDArray[np.int64], j: int, some: NDArray[np.bool_] | slice = slice(None)
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Values of the candidate parents of j, or of some, and of j itself."""
        parents = self.candidates.cause[self.candidates.pairs_into(j)][some]
        x = np.empty((len(rows), len(parents)), np.float32)
        y = np.empty((len(rows), 1), np.float32)
        gather(table, rows, parents, x)
        gather(table, rows, np.array([j]), y)
        return x, y[:, 0]

    def _gather_all(
        self, parts: list[tuple[Table, NDArray[np.int64]]], j: int, some: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        blocks = [self._gather(table, rows, j, some) for table, rows in parts]
        if len(blocks) == 1:  # observational rows alone, in every stage but the search: no second copy
            return blocks[0]
        return np.concatenate([x for x, _ in blocks]), np.concatenate([y for _, y in blocks])

    def _run(
        self,
        task: Callable[[Any], None],
        items: Sequence[Any],
        on_progress: Callable[[float], None] = lambda fraction: None,
    ) -> None:
        finished = map(task, items) if self.n_jobs == 1 else self._pool.map(task, items)
        for done, _ in enumerate(finished, 1):
            on_progress(done / len(items))


_STATE = ("weights", "first", "second", "counters", "streams")


def _thresholds(probability: Floats) -> NDArray[np.uint64]:
    """Probabilities as 32-bit thresholds for the sampler; 0 is never and 1 is always."""
    return np.rint(np.clip(probability, 0.0, 1.0) * 2.0**32).astype(np.uint64)
