"""Problems whose labels are not all true: interventions that fail, take hold in part, or hit more."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from enco.bench.problem import Simulation
from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.simulate import SCM, categorical, continuous
from enco.simulate.experiments import experiment

__all__ = ["ExperimentProblem"]

EDGES_PER_VARIABLE = 1.5


@dataclass(frozen=True, kw_only=True)
class ExperimentProblem(Simulation):
    """A random graph, and one intervention on each variable, not all of which do what they should.

    Attributes
    ----------
    seed, variables, rows, interventional_rows, interventions : int
        See `Simulation`; every variable is intervened on.
    values : {"categorical", "continuous"}
        Continuous mechanisms are additive.
    hold : float
        Share of the rows in which an intervention takes hold.
    failed : float
        Share of the regimes whose intervention does nothing.
    off_target : float
        Share of the regimes that hit one more variable.

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

    def __post_init__(self) -> None:
        if self.values not in ("categorical", "continuous"):
            raise SettingsError(f"values must be categorical or continuous, got {self.values!r}")
        for name in ("hold", "failed", "off_target"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"{name} must be between 0 and 1, got {getattr(self, name):g}")
        super().__post_init__()

    def model(self) -> SCM:
        """Build the model behind the data."""
        rng = np.random.default_rng([self.seed, 0])
        build = categorical if self.values == "categorical" else continuous
        model: SCM = build(
            "random", self.variables, rng, edge_probability=min(1.0, 2 * EDGES_PER_VARIABLE / (self.variables - 1))
        )
        return model

    def draw(self) -> tuple[InterventionalData, NDArray[np.bool_]]:
        """Draw the data, and the true graph."""
        model, rng = self.model(), np.random.default_rng([self.seed, 1])
        shares = {"hold": self.hold, "failed": self.failed, "off_target": self.off_target}
        drawn = experiment(model, self.rows, self.interventional_rows, rng, **shares)
        return drawn.data, model.observed_adjacency

    def tiny(self) -> "ExperimentProblem":
        """Return a problem of the same kind that is learned in no time."""
        return replace(self, variables=4, rows=200, interventional_rows=20, interventions=4)

    @property
    def label(self) -> str:
        """The kind of the variables."""
        return self.values

    @property
    def title(self) -> str:
        """Size, samples and what is wrong, in words."""
        wrong = [
            f"{self.hold:.0%} of the rows hit" if self.hold < 1 else "",
            f"{self.failed:.0%} without effect" if self.failed else "",
            f"{self.off_target:.0%} off target" if self.off_target else "",
        ]
        parts = [f"{self.variables} {self.values} variables", self._sampling(), *(text for text in wrong if text)]
        return ", ".join(parts)
