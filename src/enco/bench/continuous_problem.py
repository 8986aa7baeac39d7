"""Simulated problems with continuous variables, as in the paper's Appendix D.5, or with both kinds.

Graphs are random: each pair of variables is joined with probability 2 e / (N - 1), which makes e edges per variable on
average (e = 1 in the paper). Mechanisms and interventions are those of Brouillard et al. (2020); see
`enco.simulate.continuous_mechanisms`.
"""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from enco.bench.problem import Simulation
from enco.errors import SettingsError
from enco.simulate import SCM, continuous, mixed
from enco.simulate.builders import ContinuousKind

__all__ = ["CONTINUOUS_MECHANISMS", "ContinuousProblem", "MixedProblem"]

CONTINUOUS_MECHANISMS = ("linear", "additive", "nonadditive")


@dataclass(frozen=True, kw_only=True)
class ContinuousProblem(Simulation):
    """A problem of continuous variables; the defaults are the paper's.

    Attributes
    ----------
    seed, variables, rows, interventional_rows, interventions : int
        See `enco.bench.problem.Simulation`.
    mechanism : {"linear", "additive", "nonadditive"}
    edges_per_variable : float
        On average over graphs.

    Examples
    --------
    >>> problem = ContinuousProblem(mechanism="linear", seed=0, rows=50, interventional_rows=5)
    >>> data, truth = problem.draw()
    >>> data.n_rows, truth.shape
    (100, (10, 10))
    """

    mechanism: str
    variables: int = 10
    edges_per_variable: float = 1.0
    rows: int = 909
    interventional_rows: int = 909
    interventions: int = 10

    def __post_init__(self) -> None:
        if self.mechanism not in CONTINUOUS_MECHANISMS:
            raise SettingsError(f"unknown mechanism {self.mechanism!r}; choose from {', '.join(CONTINUOUS_MECHANISMS)}")
        super().__post_init__()
        most = (self.variables - 1) / 2
        if not 0 <= self.edges_per_variable <= most:
            raise SettingsError(f"edges per variable must be between 0 and {most:g}, the most that {self.variables} "
                                f"variables can have, got {self.edges_per_variable:g}")  # fmt: skip

    @property
    def edge_probability(self) -> float:
        """Probability that two variables are joined."""
        return 2 * self.edges_per_variable / (self.variables - 1)

    def model(self) -> SCM:
        """Build the model behind the data."""
        return continuous(
            "random",
            self.variables,
            np.random.default_rng([self.seed, 0]),
            mechanism=cast(ContinuousKind, self.mechanism),
            edge_probability=self.edge_probability,
        )

    @property
    def label(self) -> str:
        """The mechanism."""
        return self.mechanism

    @property
    def title(self) -> str:
        """Size and samples, in words."""
        return f"{self.variables} continuous variables, {self._density()}, {self._sampling()}"

    def tiny(self) -> "ContinuousProblem":
        """Return a problem of the same kind that is learned in no time."""
        return replace(self, variables=4, edges_per_variable=1.0, rows=200, interventional_rows=20, interventions=4)

    def _density(self) -> str:
        edges = f"{self.edges_per_variable:g}"
        return f"{edges} edge{'' if edges == '1' else 's'} per variable on average"


@dataclass(frozen=True, kw_only=True)
class MixedProblem(ContinuousProblem):
    """A problem of categorical and continuous variables; the paper has none.

    Attributes
    ----------
    seed, variables, rows, interventional_rows, interventions, mechanism, edges_per_variable
        See `ContinuousProblem`; the mechanism is that of the continuous variables.
    categories : int
        Of each categorical variable.
    categorical_share : float
        Share of categorical variables.

    Examples
    --------
    >>> data, _ = MixedProblem(mechanism="additive", seed=0, rows=50, interventional_rows=5).draw()
    >>> sum(variable.kind == "categorical" for variable in data.variables)
    10
    """

    variables: int = 20
    rows: int = 5000
    interventional_rows: int = 200
    interventions: int = 20
    categories: int = 10
    categorical_share: float = 0.5

    def model(self) -> SCM:
        """Build the model behind the data."""
        return mixed(
            "random",
            self.variables,
            np.random.default_rng([self.seed, 0]),
            categories=self.categories,
            categorical_share=self.categorical_share,
            mechanism=cast(ContinuousKind, self.mechanism),
            edge_probability=self.edge_probability,
        )

    @property
    def title(self) -> str:
        """Size, kinds and samples, in words."""
        categorical = round(self.categorical_share * self.variables)
        return (
            f"{self.variables} variables, {categorical} of {self.categories} categories and "
            f"{self.variables - categorical} continuous, {self._density()}, {self._sampling()}"
        )
