"""Algorithm 1: alternate distribution fitting and graph fitting until the graph has settled.

    initialise gamma = 0, theta = 0
    repeat
        distribution fitting   for every variable, F steps on observational rows, parents drawn from the edge
                               probabilities (Eq. 1)
        graph fitting          passes that move theta only, then G steps on intervention regimes that move both
                               (Eq. 3, Eq. 4); the first epochs move theta only
    until the decisions have settled

Map of what is used here:

=========================  =============================================================================
`enco.parameters`          gamma, theta and their Adam states
`enco.conditionals`        the networks: `fit`, `edge_effects`
`enco.gradients`           edge effects to gradients: Eq. 3, Eq. 4, and their alternatives
`enco.fitting.graph`       the graph-fitting stage
`enco.knowledge`           what the user knows beforehand
=========================  =============================================================================

The loop never sees a true graph. All of its state is explicit (`Discovery.state`): continuing from a saved state
gives the same bits as never having stopped.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.base import FitReport
from enco.conditionals.heads import VariableHeads
from enco.conditionals.torch import NetworkFactory
from enco.confounders import SplitEdgeParameters, confounder_scores
from enco.data import InterventionalData, Kind
from enco.data.context import in_known_circumstances, with_regimes_as_context
from enco.data.describe import constant_columns
from enco.data.row_order import in_canonical_order
from enco.errors import DataError
from enco.fitting.engines import make_model
from enco.fitting.graph import GraphFitting
from enco.fitting.memory import check_memory
from enco.interventions.labelled import Labelled, by_name
from enco.interventions.shifts import Shifts
from enco.interventions.unknown import with_guessed_targets
from enco.interventions.verdicts import Verdict, believed, judged
from enco.knowledge import Knowledge
from enco.parameters import EdgeParameters
from enco.screening import Screening, rule_for, screen
from enco.settings import Settings

__all__ = ["Discovery", "EpochRecord", "Progress"]

State = dict[str, NDArray[Any]]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EpochRecord:
    """One line of the history of a fit."""

    epoch: int
    edges: int  # pairs with existence and orientation both above one half
    undecided: int  # pairs whose edge probability is neither near 0 nor near 1
    changed: int  # decisions that differ from the epoch before
    held_out_loss: float  # mean over variables, nats
    fit_steps: float  # mean training steps per variable


@dataclass(frozen=True)
class Progress:
    """Where a fit stands, for whoever draws it."""

    epoch: int
    max_epochs: int
    stage: str  # "distributions", "orientations", "graph" or "search"
    fraction: float  # of the stage
    last: EpochRecord | None


class Discovery:
    """A fit in progress: parameters, networks, history, and the two stages.

    Variables are handled in the order of their names, and rows in an order of their own, so that the result does not
    depend on the order of either; `column` maps back.

    Parameters
    ----------
    data : InterventionalData
    settings : Settings
    knowledge : Knowledge, optional
    seed : int
    n_jobs : int
        Threads; the result does not depend on it.
    network : callable, optional
        A network of the user's own, called with (n_inputs, n_outputs) for every variable; needs PyTorch.
    candidates : bool [N, N], optional
        Pairs to consider, row = cause, in the order of the columns; overrides the setting `candidates`.

    Attributes
    ----------
    data : InterventionalData
        The rows in that order.
    given : InterventionalData
        The rows with all their labels; `data` has only those that are believed.
    labelled : Labelled
        The regimes of `given`; the targets of unknown ones are a first guess.
    shifts : Shifts
        Of every variable in every regime.
    verdicts : list of Verdict
        Of the interventions, if they were judged.
    screening : Screening or None
        How the candidate pairs were chosen, if they were screened.
    """

    def __init__(
        self,
        data: InterventionalData,
        *,
        settings: Settings,
        knowledge: Knowledge | None = None,
        seed: int = 0,
        n_jobs: int = 1,
        network: NetworkFactory | None = None,
        candidates: NDArray[np.bool_] | None = None,
    ) -> None:
        _check(data)
        if settings.regime_shift:
            data = with_regimes_as_context(data)
        given = in_canonical_order(data)
        unknown = frozenset(k for k, regime in enumerate(given.interventional) if regime.unknown)
        self.shifts = Shifts.of(given)
        self.given = given = with_guessed_targets(given, self.shifts)
        self.verdicts: list[Verdict] = judged(given, settings.interventions)
        self.data = data = believed(given, self.verdicts)
        if data is not given:
            self.data = data = in_canonical_order(data)
        self.settings = settings
        self.column = np.argsort(np.array(data.names, dtype=object), kind="stable")
        self.labelled = Labelled.of(given, self.column, self.verdicts, unknown)
        names = tuple(data.names[column] for column in self.column)
        constraints = (knowledge or Knowledge()).constraints(names)
        # A constant column neither explains nor can be explained.
        varies = ~constant_columns(data)[self.column]
        plausible = np.outer(varies, varies)
        context = data.is_context[self.column]
        if settings.regime_shift:  # an intercept of its own is for numbers
            plausible[np.ix_(self.column == data.n_variables - 1, data.is_categorical[self.column])] = False
        self.screening: Screening | None = None
        if candidates is None and rule_for(settings.candidates, data.n_variables, latent=settings.latent) == "screen":
            self.screening = screen(data, n_jobs=n_jobs)
            candidates = self.screening.keep
        if candidates is not None:
            plausible &= candidates[np.ix_(self.column, self.column)]
        constraints = constraints.with_context(context, plausible, names)
        self.candidates = Candidates.from_mask(constraints.allowed & (plausible | constraints.required))
        check_memory(data, self.candidates, settings, n_jobs)
        self.parameters: EdgeParameters
        if settings.latent:
            # After a search every pair is tested for confounding; without one, the halves of gamma have to tell.
            decides = not settings.refine_rounds
            self.parameters = SplitEdgeParameters(self.candidates, coasts=settings.gamma_coasts, decides=decides)
        else:
            self.parameters = EdgeParameters(self.candidates, coasts=settings.gamma_coasts)
        fixed, oriented = constraints.apply(self.parameters)
        self.n_jobs = n_jobs
        head = VariableHeads.of([Kind.CONTINUOUS], np.zeros(1, np.int64))[0]  # another one may have been registered
        self.gaussian = settings.density == head.name == "gaussian" and network is None
        regimes = by_name(data.interventional, self.column)
        if (
            not regimes
        ):  # no label is believed: what observational rows say about the existence of edges is all there is
            regimes = [data.observational]
        self.rng = np.random.default_rng([seed, 0])
        self.model = make_model(
            data, self.candidates, column=self.column, settings=settings, network=network, seed=seed, n_jobs=n_jobs
        )
        if not all(in_known_circumstances(data, regime) for regime in regimes):
            # Networks must learn of circumstances that observational rows do not know, and score other rows than those.
            halves = [(regime, np.arange(regime.n_rows) % 2 == 0) for regime in regimes]
            learned = [(regime, np.flatnonzero(half)) for regime, half in halves]
            observed = (data.observational, np.arange(data.observational.n_rows))
            self.model = self.model.anew(self.candidates, [observed, *learned], seed)
            regimes = [regime.taking(~half) for regime, half in halves]
        self.graph_fitting = GraphFitting(
            self.model,
            self.parameters,
            regimes=regimes,
            fixed=fixed,
            oriented=oriented,
            settings=settings,
            rng=self.rng,
        )
        self.history: list[EpochRecord] = []
        # Which pairs were edges after each epoch, [epochs / 8, P]: bit e % 8 of row e // 8 for epoch e, from 0.
        self.edge_epochs = np.zeros((-(-settings.max_epochs // 8), self.candidates.n_pairs), np.uint8)
        _log.info("%s, %d candidate pairs, seed %d", type(self.model).__name__, self.candidates.n_pairs, seed)
        _log.debug("%s", settings)

    @property
    def epoch(self) -> int:
        """Epochs completed."""
        return len(self.history)

    def run(
        self,
        on_epoch: Callable[["Discovery"], None] = lambda discovery: None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        """Algorithm 1, from the current state to the end."""
        while self.epoch < self.settings.max_epochs and not self.settled():
            if self.epoch and self.epoch == self.settings.second_look_epoch:
                self.graph_fitting.second_look()
            before = self.decisions()
            report = self._fit_distributions(on_progress)
            self._fit_graph(on_progress)
            self.edge_epochs[self.epoch // 8] |= self.decisions().astype(np.uint8) << np.uint8(self.epoch % 8)
            self.history.append(self._record(before, report))
            _log.info("%s", self.history[-1])
            on_epoch(self)

    def decisions(self) -> NDArray[np.bool_]:
        """Return the prediction so far: sigmoid(gamma) > 0.5 and sigmoid(theta) > 0.5, [P]."""
        return (self.parameters.gamma > 0) & (self.parameters.theta > 0)

    def orientation_evidence(self) -> NDArray[np.float64]:
        """Return the evidence for each orientation, in nats, [P]; see `GraphFitting.orientation_evidence`."""
        state = self.state()  # sampling graphs moves the random streams; put them back
        try:
            return self.graph_fitting.orientation_evidence()
        finally:
            self.restore(state)

    def lc_scores(self) -> NDArray[np.float64]:
        """Return the paper's score of every pair by gamma_I and gamma_O, [P]; NaN where it cannot be."""
        assert isinstance(self.parameters, SplitEdgeParameters)
        return np.where(self.graph_fitting.scorable(), confounder_scores(self.parameters), np.nan)

    def settled(self) -> bool:
        """Whether hardly any decision has changed for some epochs and nearly all edge probabilities are near 0 or 1."""
        if self.epoch < self.settings.second_look_epoch + self.settings.settled_epochs:
            return False
        recent = self.history[-self.settings.settled_epochs :]
        rest = 1.0 - self.settings.settled_share
        quiet = len(recent) == self.settings.settled_epochs and all(r.changed <= rest * r.edges for r in recent)
        return quiet and recent[-1].undecided <= rest * self.candidates.n_pairs

    def state(self) -> State:
        """Everything that changes, as named arrays; `restore` continues from it to the same bits."""
        return {
            **{f"parameters.{name}": value for name, value in self.parameters.state().items()},
            **{f"model.{name}": value for name, value in self.model.state().items()},
            "edge_epochs": self.edge_epochs.copy(),
            "rng": np.array(json.dumps(self.rng.bit_generator.state)),
            "history": np.array(json.dumps([asdict(record) for record in self.history])),
        }

    def restore(self, state: State) -> None:
        """Continue from what `state` returned for the same data, settings, knowledge and seed."""
        self.parameters.restore(_part(state, "parameters."))
        self.model.restore(_part(state, "model."))
        self.edge_epochs[:] = state["edge_epochs"]
        self.rng.bit_generator.state = json.loads(str(state["rng"]))
        self.history[:] = [EpochRecord(**record) for record in json.loads(str(state["history"]))]

    def _fit_distributions(self, on_progress: Callable[[Progress], None]) -> FitReport:
        steps = self.settings.fit_steps if self.epoch else self.settings.first_fit_steps
        return self.model.fit(
            self.parameters.edge_probability(),
            steps,
            on_progress=lambda fraction: on_progress(self.progress("distributions", fraction)),
        )

    def _fit_graph(self, on_progress: Callable[[Progress], None]) -> None:
        orienting = self.epoch < self.settings.orientation_epochs
        passes = self.settings.first_orientation_passes if orienting else self.settings.orientation_passes
        frozen = self.settings.freezing_steps > 0 and self.epoch % 2 == 1
        step = self.graph_fitting.step_frozen if frozen else self.graph_fitting.step
        steps = self.settings.freezing_steps if frozen else self.settings.graph_steps
        steps = 0 if orienting else steps
        for done in range(passes):
            self.graph_fitting.orient(halves=not orienting)
            on_progress(self.progress("orientations", (done + 1) / passes))
        for done, regime in enumerate(self.graph_fitting.sequence(steps)):
            step(regime)
            on_progress(self.progress("graph", (done + 1) / steps))

    def _record(self, before: NDArray[np.bool_], report: FitReport) -> EpochRecord:
        after = self.decisions()
        probability = self.parameters.edge_probability()
        margin = self.settings.settled_margin
        return EpochRecord(
            epoch=self.epoch + 1,
            edges=int(after.sum()),
            undecided=int(((probability > margin) & (probability < 1 - margin)).sum()),
            changed=int((before != after).sum()),
            held_out_loss=float(report.held_out_loss.mean()),
            fit_steps=float(report.steps.mean()),
        )

    def progress(self, stage: str, fraction: float) -> Progress:
        """Say where the fit stands."""
        last = self.history[-1] if self.history else None
        return Progress(self.epoch, self.settings.max_epochs, stage, fraction, last)


def _check(data: InterventionalData) -> None:
    if not data.interventional:
        raise DataError(
            "there is no intervention regime: orientations are learned from interventions, so at least one is needed; "
            "name the targets of each row or environment"
        )


def _part(state: State, prefix: str) -> State:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
