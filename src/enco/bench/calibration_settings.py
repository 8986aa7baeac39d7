"""The kinds of data on which probabilities of edges are calibrated and judged.

Sizes, densities, kinds of variables, numbers of rows, all or some targets, and interventions that work, fail, take hold
in part of the rows, keep parents or hit more. Each kind is a *setting*.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco import simulate
from enco.bench.problem import Problem, Simulation
from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.simulate import SCM
from enco.simulate.experiments import experiment

__all__ = ["SETTINGS", "Setting", "SettingProblem"]

Mask = NDArray[np.bool_]
Options = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """A kind of data.

    Attributes
    ----------
    kind : str
        "categorical", "continuous", "mixed", or the name of a known network.
    variables : int
        About so many: between 0.8 and 1.25 times as many.
    density : float
        Edges for each variable.
    rows, interventional_rows : int
        Between 0.7 and 1.4 times as many, these of each regime.
    targets : float
        Number of variables that are intervened on, or a share of them.
    mechanism : str, optional
        Of continuous variables.
    experiment : dict
        Options of `enco.simulate.experiments.experiment`.
    """

    kind: str = "categorical"
    variables: int = 15
    density: float = 1.3
    rows: int = 3000
    interventional_rows: int = 200
    targets: float = 1.0
    mechanism: str | None = None
    experiment: Mapping[str, Any] = field(default_factory=dict)

    def draw(self, rng: np.random.Generator) -> tuple[InterventionalData, Mask]:
        """Draw data and the true graph."""
        if self.kind in ("categorical", "continuous", "mixed"):
            n = max(8, round(self.variables * rng.uniform(0.8, 1.25)))
            options: dict[str, Any] = {} if self.mechanism is None else {"mechanism": self.mechanism}
            make: Callable[..., simulate.SCM] = getattr(simulate, self.kind)
            model = make("random", n, rng, edge_probability=min(1.0, 2 * self.density / (n - 1)), **options)
        else:
            model = simulate.from_bif(self.kind, shuffle=rng)
            n = len(model.observed_names)
        scale = rng.uniform(0.7, 1.4)
        rows, interventional = round(self.rows * scale), round(self.interventional_rows * scale)
        data = experiment(model, rows, interventional, rng, **self.experiment).data
        count = round(self.targets * n) if self.targets <= 1 else round(self.targets)
        if count < n:
            chosen = np.sort(rng.choice(n, count, replace=False))
            data = InterventionalData(data.variables, [data.observational, *(data.interventional[k] for k in chosen)])
        return data, model.observed_adjacency.astype(bool)


def _settings() -> dict[str, Setting]:
    linear: Options = {"kind": "continuous", "mechanism": "linear", "variables": 10, "rows": 1500}
    additive: Options = {"kind": "continuous", "mechanism": "additive", "variables": 11, "rows": 1500}
    nonadditive: Options = {"kind": "continuous", "mechanism": "nonadditive", "variables": 12, "rows": 1500}
    mixed: Options = {"kind": "mixed", "variables": 11, "rows": 1500}
    few: Options = {"rows": 800, "interventional_rows": 60}
    tiny: Options = {"rows": 250, "interventional_rows": 50}
    return {
        "categorical": Setting(),
        "categorical, 30 variables": Setting(variables=30, rows=2000, interventional_rows=100),
        "categorical, dense": Setting(variables=12, density=2.5),
        "categorical, 40 variables, half of the targets": Setting(variables=36, targets=0.5, interventional_rows=100),
        "categorical, many rows": Setting(variables=12, density=2.0, rows=8000, interventional_rows=1000),
        "categorical, few rows": Setting(variables=14, **few),
        "categorical, fewest rows": Setting(variables=12, **tiny),
        "categorical, half of the targets": Setting(variables=18, targets=0.5, interventional_rows=100),
        "categorical, 2 targets": Setting(variables=18, targets=2, interventional_rows=300),
        "categorical, 30 % fail": Setting(experiment={"failed": 0.3}),
        "categorical, all fail": Setting(variables=12, rows=2000, experiment={"failed": 1.0}),
        "categorical, half of the rows": Setting(experiment={"hold": 0.5}),
        "categorical, a fifth of the rows": Setting(experiment={"hold": 0.2}),
        "categorical, soft": Setting(experiment={"effect": "soft"}),
        "categorical, shifts": Setting(experiment={"effect": "shift"}),
        "categorical, off target": Setting(experiment={"off_target": 0.3}),
        "linear": Setting(**linear),
        "linear, few rows, dense": Setting(**{**linear, **few, "density": 3.0, "variables": 14}),
        "linear, 3 targets": Setting(**{**linear, "targets": 3}),
        "linear, all fail": Setting(**{**linear, "experiment": {"failed": 1.0}}),
        "linear, shifts": Setting(**{**linear, "experiment": {"effect": "shift"}}),
        "additive": Setting(**additive),
        "additive, dense": Setting(**{**additive, "density": 3.0}),
        "additive, many rows": Setting(**{**additive, "rows": 5000, "interventional_rows": 800}),
        "additive, few rows": Setting(**{**additive, **few}),
        "additive, 30 % fail": Setting(**{**additive, "experiment": {"failed": 0.3}}),
        "additive, all fail": Setting(**{**additive, "experiment": {"failed": 1.0}}),
        "additive, soft": Setting(**{**additive, "experiment": {"effect": "soft"}}),
        "additive, off target": Setting(**{**additive, "experiment": {"off_target": 0.3}}),
        "nonadditive": Setting(**nonadditive),
        "nonadditive, fewest rows": Setting(**{**nonadditive, **tiny}),
        "nonadditive, 3 targets": Setting(**{**nonadditive, "targets": 3}),
        "mixed": Setting(**mixed),
        "mixed, dense": Setting(**{**mixed, "density": 2.5}),
        "mixed, 25 variables": Setting(**{**mixed, "variables": 25}),
        "mixed, few rows": Setting(**{**mixed, **few}),
        "mixed, 3 targets": Setting(**{**mixed, "targets": 3}),
        "mixed, shifts": Setting(**{**mixed, "experiment": {"effect": "shift"}}),
        "asia": Setting(kind="asia", rows=1000, interventional_rows=100),
        "sachs": Setting(kind="sachs", rows=1000, interventional_rows=100),
        "child": Setting(kind="child", rows=1000, interventional_rows=100),
        "child, 5 targets": Setting(kind="child", rows=1000, interventional_rows=100, targets=5),
        "alarm": Setting(kind="alarm", rows=1500, interventional_rows=60),
    }


SETTINGS: dict[str, Setting] = _settings()


@dataclass(frozen=True, kw_only=True)
class SettingProblem(Simulation):
    """Data of a setting; the seed decides everything that the setting leaves open.

    Attributes
    ----------
    setting : str
        A key of `SETTINGS`.
    seed : int
    variables, rows, interventional_rows, interventions : int
        Are those of the setting, about.

    Examples
    --------
    >>> data, truth = SettingProblem(setting="asia", seed=0).draw()
    >>> data.n_variables, int(truth.sum())
    (8, 8)
    """

    setting: str
    variables: int = 0
    rows: int = 0
    interventional_rows: int = 0
    interventions: int = 0

    def __post_init__(self) -> None:
        if self.setting not in SETTINGS:
            raise SettingsError(f"there is no setting {self.setting!r}; choose from {'; '.join(SETTINGS)}")

    def draw(self) -> tuple[InterventionalData, Mask]:
        """Draw the data and the true graph."""
        return SETTINGS[self.setting].draw(np.random.default_rng([self.seed, zlib.crc32(self.setting.encode())]))

    def model(self) -> SCM:
        """Refuse: the model of a setting is drawn together with its data."""
        raise SettingsError("a problem of a setting has its model and its data from one stream: use draw")

    @property
    def label(self) -> str:
        """The setting."""
        return self.setting

    @property
    def title(self) -> str:
        """What they share."""
        return "settings on which probabilities are judged"

    def tiny(self) -> Problem:
        """Return a problem that is learned in no time."""
        return Problem(structure="chain", seed=self.seed).tiny()
