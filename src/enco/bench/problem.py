"""One simulated problem: data to learn from and the graph to find, both fixed by a seed.

`Simulation` is what all problems share, `Problem` the categorical one; `enco.bench.continuous_problem` and
`enco.bench.known_networks` have the others, and `enco.bench.problem_kinds` lists them all.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.graphs.structures import STRUCTURES
from enco.result import Result
from enco.simulate import SCM, categorical
from enco.simulate.builders import CategoricalKind

__all__ = ["MECHANISMS", "Problem", "Simulation"]

MECHANISMS = ("neural", "product", "deterministic")


@dataclass(frozen=True, kw_only=True)
class Simulation(ABC):
    """A problem with its columns shuffled: the model comes from the seed, and the data from the model and the seed.

    Attributes
    ----------
    seed : int
        Problems that differ in their rows or interventions only have the same graph and mechanisms.
    variables : int
    rows, interventional_rows : int
        Observational rows, and rows for each intervention.
    interventions : int
        Number of variables that are intervened on; fewer ones are a subset of more ones.
    """

    seed: int
    variables: int
    rows: int
    interventional_rows: int
    interventions: int

    def __post_init__(self) -> None:
        for name, least in (("variables", 2), ("rows", 2), ("interventional_rows", 1), ("interventions", 1)):
            if getattr(self, name) < least:
                raise SettingsError(f"{name.replace('_', ' ')} must be at least {least}, got {getattr(self, name)}")
        if self.interventions > self.variables:
            raise SettingsError(f"{self.interventions} interventions need as many variables, but there are only "
                                f"{self.variables}")  # fmt: skip

    @abstractmethod
    def model(self) -> SCM:
        """Build the model behind the data."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What tells this problem from the others of its table, apart from the seed."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What all problems of a table share, in words."""

    def tiny(self) -> "Simulation":
        """Return a problem of the same kind that is learned in no time."""
        return replace(self, variables=4, rows=200, interventional_rows=20, interventions=4)

    def confounded(self) -> list[tuple[str, str]]:
        """Name the pairs of variables that share a latent cause; most problems have none."""
        return []

    def judge(self, result: Result) -> dict[str, float | None]:
        """Return figures of a result that only this kind of problem has; most kinds have none."""
        return {}

    def targets(self) -> list[str]:
        """Name the variables that are intervened on."""
        order = np.random.default_rng([self.seed, 2]).permutation(self.variables)
        names = self.model().observed_names
        return [names[position] for position in order[: self.interventions]]

    def draw(self) -> tuple[InterventionalData, NDArray[np.bool_]]:
        """Draw the data; the true graph [N, N] (row = cause) comes with them, for judging what was found."""
        model = self.model()
        rng = np.random.default_rng([self.seed, 1])
        data = model.dataset(self.rows, self.interventional_rows, targets=self.targets(), rng=rng)
        return data, model.observed_adjacency

    def _sampling(self) -> str:
        return (
            f"{self.rows:,} observational rows, {self.interventional_rows:,} for each of {self.interventions} "
            "interventions"
        )


@dataclass(frozen=True, kw_only=True)
class Problem(Simulation):
    """A categorical problem of the paper's kind.

    Attributes
    ----------
    seed, variables, rows, interventional_rows, interventions : int
        See `Simulation`.
    structure : str
        See `enco.graphs.structures`.
    categories : int
    mechanism : {"neural", "product", "deterministic"}
    edge_probability : float, optional
    max_parents : int, optional
        Of the structure "random"; see `enco.graphs.structures.random`.
    latents : int
        Latent confounders.

    Examples
    --------
    >>> problem = Problem(structure="chain", seed=0, variables=4, rows=50, interventional_rows=5, interventions=2)
    >>> data, truth = problem.draw()
    >>> data.n_rows, int(truth.sum())
    (60, 3)
    """

    structure: str
    variables: int = 25
    categories: int = 10
    rows: int = 5000
    interventional_rows: int = 200
    interventions: int = 25
    mechanism: str = "neural"
    edge_probability: float | None = None
    max_parents: int | None = None
    latents: int = 0

    def __post_init__(self) -> None:
        if self.structure not in STRUCTURES:
            raise SettingsError(f"unknown structure {self.structure!r}; choose from {', '.join(STRUCTURES)}")
        if self.mechanism not in MECHANISMS:
            raise SettingsError(f"unknown mechanism {self.mechanism!r}; choose from {', '.join(MECHANISMS)}")
        super().__post_init__()

    def model(self) -> SCM:
        """Build the model behind the data."""
        rng = np.random.default_rng([self.seed, 0])
        return categorical(
            self.structure,
            self.variables,
            rng,
            categories=self.categories,
            mechanism=cast(CategoricalKind, self.mechanism),
            latents=self.latents,
            edge_probability=self.edge_probability,
            max_parents=self.max_parents,
        )

    def confounded(self) -> list[tuple[str, str]]:
        """Name the pairs of variables that share a latent cause."""
        if self.latents == 0:
            return []
        model = self.model()
        names = model.observed_names
        return [(names[one], names[other]) for one, other in model.confounded_pairs]

    def tiny(self) -> "Problem":
        """Return a problem of the same kind that is learned in no time."""
        return replace(
            self,
            structure="chain",
            variables=4,
            rows=200,
            interventional_rows=20,
            interventions=4,
            edge_probability=None,
            max_parents=None,
            latents=0,
        )

    @property
    def label(self) -> str:
        """The structure."""
        return self.structure

    @property
    def title(self) -> str:
        """Size, samples and mechanisms, in words."""
        kinds = f"{self.variables} variables of {self.categories} categories"
        hidden = f", {self.latents} latent confounders" if self.latents else ""
        return f"{kinds}, {self._sampling()}, {self.mechanism} mechanisms{hidden}"
