"""A conditional model that counts what it is asked to do and how long that takes.

Arithmetic is counted as the mathematics needs it, with H hidden units, K levels of the effect and q present parents:

====================  ========================================================================
training a row        6 H K + 2 H q    output layer forward and twice backward, sums of tables
an Adam step          14 per weight
a toggle              2 H K + 2 H      output layer, and the parent added or removed
scoring a row         2 H K + H q
====================  ========================================================================

Exponentials, random draws, activations and looks at held-out rows are left out, so rates of arithmetic are on the low
side.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.base import FitReport, Floats
from enco.conditionals.fused import FusedConditionals
from enco.data import Regime
from enco.errors import SettingsError
from enco.fitting.loop import Discovery

__all__ = ["STAGES", "Metered"]

STAGES = ("distributions", "orientations", "graph")
ADAM = 14


class Metered:
    """Stands in for the conditional model of a fit and counts by stage, between `attach` and `detach`.

    Parameters
    ----------
    model : FusedConditionals
    rows : int
        Observational rows.

    Attributes
    ----------
    seconds, operations, toggles : dict
        By stage: "distributions", "orientations" (only some pairs wanted: theta-only passes) and "graph".
    rows_trained : int
        Rows times networks, at every step.
    rows_scored : int
        Rows times networks times graphs, where graphs are scored as a whole.

    Examples
    --------
    >>> from enco.bench.problem import Problem
    >>> from enco.candidates import Candidates
    >>> from enco.conditionals.fused import NetworkSettings
    >>> data, _ = Problem(structure="chain", seed=0, variables=3, rows=100, interventions=1).draw()
    >>> settings = NetworkSettings(batch=10)
    >>> model = FusedConditionals(data, Candidates.all_pairs(3), settings=settings, seed=0, n_jobs=1)
    >>> metered = Metered(model, rows=100)
    >>> _ = metered.fit(np.full(6, 0.5), 5)
    >>> metered.rows_trained
    150
    """

    def __init__(self, model: FusedConditionals, *, rows: int) -> None:
        self.model = model
        self.candidates = model.candidates
        self.batch = min(model.settings.batch, rows)
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.operations = dict.fromkeys(STAGES, 0.0)
        self.toggles = dict.fromkeys(STAGES, 0)
        self.rows_trained = 0
        self.rows_scored = 0

    @classmethod
    def attach(cls, discovery: Discovery, *, rows: int) -> "Metered":
        """Put a meter on the model of a fit."""
        model = discovery.model
        if not isinstance(model, FusedConditionals):
            raise SettingsError("only fits by the fused engine are metered: leave out settings that need PyTorch")
        meter = cls(model, rows=rows)
        discovery.model = discovery.graph_fitting.model = meter  # type: ignore[assignment] # offers all they ask for
        return meter

    def detach(self, discovery: Discovery) -> None:
        """Give the fit its own model back; what is asked of it then, such as by the search, is not counted."""
        discovery.model = discovery.graph_fitting.model = self.model

    def fit(
        self, edge_probability: Floats, steps: int, on_progress: Callable[[float], None] = lambda fraction: None
    ) -> FitReport:
        """Train, as the model does."""
        started = time.perf_counter()
        report = self.model.fit(edge_probability, steps, on_progress=on_progress)
        layout = self.model.layout
        per_row = 6 * layout.hidden * layout.n_outputs + 2 * layout.hidden * self._present(edge_probability)
        per_step = self.batch * per_row + ADAM * np.diff(layout.start)
        self._count("distributions", started, float((report.steps * per_step).sum()))
        self.rows_trained += int(report.steps.sum()) * self.batch
        return report

    def edge_effects(
        self, regime: Regime, rows: NDArray[np.int64], edge_probability: Floats, wanted: NDArray[np.bool_]
    ) -> Floats:
        """Evaluate paired edge effects, as the model does."""
        started = time.perf_counter()
        effect = self.model.edge_effects(regime, rows, edge_probability, wanted)
        stage = "graph" if wanted.all() else "orientations"
        layout, pairs = self.model.layout, self.candidates
        toggles = np.bincount(pairs.effect[~np.isnan(effect)], minlength=pairs.n_variables)
        per_row = 2 * layout.hidden * (layout.n_outputs + 1) * toggles
        per_row = per_row + np.where(toggles > 0, self._scoring(self._present(edge_probability)), 0.0)
        self._count(stage, started, len(rows) * float(per_row.sum()))
        self.toggles[stage] += len(rows) * int(toggles.sum())
        return effect

    def graph_losses(self, regime: Regime, rows: NDArray[np.int64], graphs: NDArray[np.bool_]) -> Floats:
        """Score whole graphs, as the model does."""
        started = time.perf_counter()
        losses = self.model.graph_losses(regime, rows, graphs)
        per_row = self._scoring(self._present(graphs.sum(axis=0).astype(np.float64)) / max(len(graphs), 1))
        self._count("graph", started, len(rows) * len(graphs) * float(per_row.sum()))
        self.rows_scored += len(rows) * losses.size
        return losses

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def _present(self, weights: Floats) -> Floats:
        """Sum of something over the candidate parents of each variable, [N]."""
        return np.bincount(self.candidates.effect, weights, minlength=self.candidates.n_variables).astype(np.float64)

    def _scoring(self, present: Floats) -> Floats:
        layout = self.model.layout
        return 2.0 * layout.hidden * layout.n_outputs + layout.hidden * present

    def _count(self, stage: str, started: float, operations: float) -> None:
        self.seconds[stage] += time.perf_counter() - started
        self.operations[stage] += operations
