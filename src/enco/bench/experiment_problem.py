"""Problems whose labels are not all true, or not known: what interventions do there is known, and so is the graph."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from enco.bench.continuous_problem import CONTINUOUS_MECHANISMS
from enco.bench.experiment_scores import experiment_scores
from enco.bench.problem import MECHANISMS, Simulation
from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.result import Result
from enco.simulate import SCM, categorical, continuous
from enco.simulate.builders import CategoricalKind, ContinuousKind
from enco.simulate.experiments import Effect, Experiment, check_options, experiment

__all__ = ["ExperimentProblem"]

EDGES_PER_VARIABLE = 1.5
_MECHANISMS = {"categorical": MECHANISMS, "continuous": CONTINUOUS_MECHANISMS}


@dataclass(frozen=True, kw_only=True)
class ExperimentProblem(Simulation):
    """A random graph, and interventions not all of which do what they should.

    Attributes
    ----------
    seed, variables, rows, interventional_rows, interventions : int
        See `Simulation`; every variable is intervened on unless `regimes` says otherwise.
    values : {"categorical", "continuous"}
    mechanism : str, optional
        "neural", "product" or "deterministic" for categorical variables; "linear", "additive" or "nonadditive" for
        continuous ones. By default the first of them.
    expected_edges : int, optional
        On average over graphs; by default 1.5 for each variable.
    hold, failed, off_target, effect, targets_per_regime, regimes, unknown, batches, batch_offset, batch_scale, context
        See `enco.simulate.experiments.experiment`.

    Examples
    --------
    >>> problem = ExperimentProblem(values="categorical", seed=0, variables=4, interventions=4, rows=50, failed=0.5)
    >>> data, truth = problem.draw()
    >>> len(data.interventional), problem.title
    (4, '4 categorical variables, 50 observational rows, 200 for each of 4 interventions, 50% without effect')
    """

    values: str
    variables: int = 15
    rows: int = 5000
    interventional_rows: int = 200
    interventions: int = 15
    hold: float = 1.0
    failed: float = 0.0
    off_target: float = 0.0
    effect: str = "perfect"
    targets_per_regime: int = 1
    regimes: int | None = None
    unknown: bool = False
    batches: int = 0
    batch_offset: float = 0.0
    batch_scale: float = 1.0
    context: bool = False
    expected_edges: int | None = None
    mechanism: str | None = None

    def __post_init__(self) -> None:
        if self.values not in _MECHANISMS:
            raise SettingsError(f"values must be categorical or continuous, got {self.values!r}")
        known = _MECHANISMS[self.values]
        if self.mechanism is not None and self.mechanism not in known:
            raise SettingsError(f"unknown mechanism {self.mechanism!r}; choose from {', '.join(known)}")
        check_options(
            hold=self.hold,
            failed=self.failed,
            off_target=self.off_target,
            effect=self.effect,
            targets_per_regime=self.targets_per_regime,
            regimes=self.regimes,
            batches=self.batches,
            batch_offset=self.batch_offset,
            batch_scale=self.batch_scale,
        )
        super().__post_init__()
        if self.targets_per_regime >= self.variables:
            raise SettingsError(
                f"targets_per_regime must be below the number of variables, {self.variables}, got "
                f"{self.targets_per_regime}"
            )
        if self.expected_edges is not None and not 0 <= self.expected_edges <= self._most_edges:
            raise SettingsError(
                f"expected_edges must be between 0 and {self._most_edges}, the most that {self.variables} variables "
                f"can have, got {self.expected_edges}"
            )

    @property
    def _most_edges(self) -> int:
        return self.variables * (self.variables - 1) // 2

    def model(self) -> SCM:
        """Build the model behind the data."""
        rng = np.random.default_rng([self.seed, 0])
        if self.expected_edges is None:
            density = min(1.0, 2 * EDGES_PER_VARIABLE / (self.variables - 1))
        else:
            density = self.expected_edges / self._most_edges
        if self.values == "categorical":
            mechanism = cast(CategoricalKind, self.mechanism or "neural")
            return categorical("random", self.variables, rng, mechanism=mechanism, edge_probability=density)
        shape = cast(ContinuousKind, self.mechanism or "linear")
        return continuous("random", self.variables, rng, mechanism=shape, edge_probability=density)

    def experiment(self, model: SCM | None = None) -> Experiment:
        """Draw the data, and what the interventions really did."""
        return experiment(
            model or self.model(),
            self.rows,
            self.interventional_rows,
            np.random.default_rng([self.seed, 1]),
            hold=self.hold,
            failed=self.failed,
            off_target=self.off_target,
            effect=cast(Effect, self.effect),
            targets_per_regime=self.targets_per_regime,
            regimes=self.regimes,
            unknown=self.unknown,
            batches=self.batches,
            batch_offset=self.batch_offset,
            batch_scale=self.batch_scale,
            context=self.context,
        )

    def draw(self) -> tuple[InterventionalData, NDArray[np.bool_]]:
        """Draw the data, and the true graph, of which a context column is no part."""
        model = self.model()
        return self.experiment(model).data, model.observed_adjacency

    def judge(self, result: Result) -> dict[str, float | None]:
        """Compare what a fit says of the interventions with what they really did."""
        return experiment_scores(result, self.experiment().done)

    def tiny(self) -> "ExperimentProblem":
        """Return a problem of the same kind that is learned in no time."""
        return replace(
            self,
            variables=4,
            rows=200,
            interventional_rows=20,
            interventions=4,
            targets_per_regime=min(self.targets_per_regime, 2),
            regimes=None if self.regimes is None else 4,
            expected_edges=None,
        )

    @property
    def label(self) -> str:
        """The kind of the variables."""
        return self.values

    @property
    def title(self) -> str:
        """Size, samples and what is special, in words."""
        batch = (
            (f"{self.batches} batches" if self.batches > 1 else "one batch") if self.batches else "a batch per regime"
        )
        has_batches = self.batches > 0 or self.batch_offset > 0 or self.batch_scale > 1
        special = [
            f"{self.mechanism} mechanisms" if self.mechanism else "",
            f"{self.expected_edges} edges on average" if self.expected_edges is not None else "",
            f"{self.targets_per_regime} targets each" if self.targets_per_regime > 1 else "",
            "unknown targets" if self.unknown else "",
            {"perfect": "", "soft": "soft interventions", "shift": "shifts"}[self.effect],
            f"{self.hold:.0%} of the rows hit" if self.hold < 1 else "",
            f"{self.failed:.0%} without effect" if self.failed else "",
            f"{self.off_target:.0%} off target" if self.off_target else "",
            batch if has_batches else "",
            f"offsets of {self.batch_offset:g} sd" if self.batch_offset else "",
            f"noise times up to {self.batch_scale:g}" if self.batch_scale > 1 else "",
            "context given" if self.context else "",
        ]
        size = f"{self.variables} {self.values} variables"
        return ", ".join([size, self._sampling(), *(text for text in special if text)])

    def _sampling(self) -> str:
        regimes = self.interventions if self.regimes is None else self.regimes
        return (
            f"{self.rows:,} observational rows, {self.interventional_rows:,} for each of {regimes} "
            f"intervention{'' if regimes == 1 else 's'}"
        )
