"""Where probabilities come from: an exact model, or the rows of a data set.

Both offer one method, `table(scope)`: the joint distribution of a few variables in every regime, row 0 being the
observational one. Everything else in this package works on such tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.errors import DataError, SettingsError
from enco.graphs.dag import ancestors
from enco.simulate import SCM, CategoricalMechanism
from enco.simulate.distributions import as_distribution, exact_probabilities
from enco.theory.elimination import Factor, TableTooLargeError, marginal

__all__ = ["DataTables", "ModelTables", "RegimeTable", "Tables"]

MAX_CELLS = 2**22
"""Largest table that is ever built, regimes included: 32 MB."""


@dataclass(frozen=True)
class RegimeTable:
    """The joint distribution of some variables in every regime.

    Attributes
    ----------
    values : ndarray [rows, levels of each variable of the scope]
        Row 0 is observational.
    row_of : mapping from target to int
        Row of the intervention on that target; 0 if it does not change these variables.
    """

    values: NDArray[np.float64]
    row_of: Mapping[int, int]


class Tables(Protocol):
    """What the conditions are computed from.

    Attributes
    ----------
    names, n_levels
        Of every variable.
    adjacency : ndarray of bool [N, N]
        The true graph, row = cause.
    targets : tuple of int
        Variables with an intervention.
    pseudo_weight : float
        How much the marginal of a variable counts beside the share of a configuration, see `enco.theory.scores`.
    """

    names: tuple[str, ...]
    n_levels: tuple[int, ...]
    adjacency: NDArray[np.bool_]
    targets: tuple[int, ...]
    pseudo_weight: float

    def table(self, scope: Sequence[int]) -> RegimeTable:
        """Return the joint distribution of the scope in every regime."""
        ...


class ModelTables:
    """Exact tables of a model whose variables are all categorical and observed.

    Parameters
    ----------
    model : SCM
        The model.
    interventions : "uniform" or mapping
        What targets follow: uniform over their levels, or for single names what `SCM.sample` takes.
    targets : sequence of str, optional
        Variables with an intervention; all by default.

    Examples
    --------
    >>> from enco.simulate import from_cpts
    >>> model = from_cpts({"a": ([], [0.9, 0.1]), "b": (["a"], [[0.8, 0.2], [0.3, 0.7]])})
    >>> tables = ModelTables(model)
    >>> table = tables.table([1])
    >>> table.values[[0, table.row_of[0]]].round(2)
    array([[0.75, 0.25],
           [0.55, 0.45]])
    """

    pseudo_weight = 0.0

    def __init__(
        self,
        model: SCM,
        *,
        interventions: Literal["uniform"] | Mapping[str, Any] = "uniform",
        targets: Sequence[str] | None = None,
    ) -> None:
        self._check(model)
        if isinstance(interventions, str) and interventions != "uniform":
            raise SettingsError(f"interventions must be 'uniform' or a mapping from names, not {interventions!r}")
        self.names = model.observed_names
        self.n_levels = tuple(variable.n_levels for variable in model.variables)
        self.adjacency = model.adjacency
        chosen = model.observed_names if targets is None else targets
        self.targets = tuple(sorted({model.position(name) for name in chosen}))
        given = {} if isinstance(interventions, str) else dict(interventions)
        follows = {model.position(name): value for name, value in given.items()}
        self._interventions = {}
        for target in self.targets:
            variable = model.variables[target]
            distribution = as_distribution(follows.get(target), variable)
            self._interventions[target] = exact_probabilities(distribution, variable)
        reaches = ancestors(model.adjacency)
        self._upstream = [
            frozenset([*np.flatnonzero(reaches[:, position]).tolist(), position]) for position in range(len(self.names))
        ]
        self._parents = [np.flatnonzero(model.adjacency[:, position]) for position in range(len(self.names))]
        self._mechanisms = [self._mechanism(model, position) for position in range(len(self.names))]

    def table(self, scope: Sequence[int]) -> RegimeTable:
        """Return the joint distribution of the scope in every regime that changes it."""
        # Only ancestors of the scope matter: other variables sum to one, and intervening on them changes nothing.
        relevant: frozenset[int] = frozenset().union(*(self._upstream[variable] for variable in scope))
        moving = [target for target in self.targets if target in relevant]
        factors = [self._factor(position, moving) for position in sorted(relevant)]
        values = marginal(factors, scope, self.n_levels, max_cells=MAX_CELLS)
        row_of = dict.fromkeys(self.targets, 0) | {target: 1 + row for row, target in enumerate(moving)}
        return RegimeTable(values, row_of)

    def _factor(self, position: int, moving: Sequence[int]) -> Factor:
        """Give the mechanism of a variable a regime axis if one of the regimes replaces it."""
        natural = self._mechanisms[position]
        if position not in moving:
            return natural
        values = np.repeat(natural.values, 1 + len(moving), axis=0)
        axis = natural.variables.index(position)
        shape = [1] * len(natural.variables)
        shape[axis] = -1
        values[1 + moving.index(position)] = self._interventions[position].reshape(shape)
        return Factor(natural.variables, values)

    def _mechanism(self, model: SCM, position: int) -> Factor:
        parents = [int(parent) for parent in self._parents[position]]
        sizes = [self.n_levels[parent] for parent in parents]
        if prod(sizes) * self.n_levels[position] > MAX_CELLS:
            raise SettingsError(
                f"variable {self.names[position]!r} has {len(parents)} parents with {prod(sizes):,} configurations: "
                f"too many for an exact check, which allows {MAX_CELLS:,} probabilities in a table"
            )
        mechanism = model.mechanisms[position]
        assert isinstance(mechanism, CategoricalMechanism)
        grid = np.indices(sizes).reshape(len(parents), prod(sizes)).T
        values = mechanism.probabilities(grid if parents else None)
        axes = [*parents, position]
        ordered = values.reshape([self.n_levels[axis] for axis in axes]).transpose(np.argsort(axes))
        return Factor(tuple(sorted(axes)), ordered[None])

    @staticmethod
    def _check(model: SCM) -> None:
        if not isinstance(model, SCM):
            raise SettingsError(f"the model must be an SCM, such as enco.simulate.from_bif('asia'), not {model!r}")
        if model.latent:
            names = ", ".join(model.variables[position].name for position in model.latent[:5])
            raise SettingsError(f"the conditions assume that every variable is observed, but {names} is latent")
        for variable in model.variables:
            if variable.is_continuous:
                raise SettingsError(f"variable {variable.name!r} is continuous: only categorical models can be checked")


class DataTables:
    """Tables of relative frequencies: the limited-data conditions of Appendix B.2.3.

    Parameters
    ----------
    data : InterventionalData
        Categorical variables. Regimes with several targets are left out: the theorem is about single ones.
    adjacency : ndarray of bool [N, N]
        The true graph, in the order of the columns.
    pseudo_count : float
        Rows' worth of the marginal that is added to every configuration; 0 for plain frequencies.

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    >>> data = InterventionalData.from_environments([rows, rows[:2]], [None, ["X2"]])
    >>> DataTables(data, np.array([[0, 1], [0, 0]], dtype=bool)).table([1]).values
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """

    def __init__(self, data: InterventionalData, adjacency: NDArray[np.bool_], *, pseudo_count: float = 1.0) -> None:
        for variable in data.variables:
            if variable.is_continuous:
                raise DataError(f"column {variable.name!r} is continuous: the conditions need categorical columns")
        if not data.observational.n_rows:
            raise DataError("the data have no observational rows, from which the conditionals are learned")
        self.names = data.names
        self.n_levels = tuple(data.n_levels.tolist())
        self.adjacency = adjacency
        self._regimes = [
            data.observational,
            *(regime for regime in data.interventional if len(regime.targets) == 1 and regime.n_rows),
        ]
        self.targets = tuple(regime.targets[0] for regime in self._regimes[1:])
        self.pseudo_weight = pseudo_count / data.observational.n_rows

    def table(self, scope: Sequence[int]) -> RegimeTable:
        """Return the frequencies of the configurations of the scope in every regime."""
        shape = [self.n_levels[variable] for variable in scope]
        cells = prod(shape)
        if cells * len(self._regimes) > MAX_CELLS:
            raise TableTooLargeError(cells * len(self._regimes))
        values = np.zeros((len(self._regimes), cells))
        for row, regime in enumerate(self._regimes):
            index = np.zeros(regime.n_rows, dtype=np.int64)
            for variable, levels in zip(scope, shape, strict=True):
                index = index * levels + regime.codes[:, variable]
            values[row] = np.bincount(index, minlength=cells) / regime.n_rows
        row_of = {target: 1 + row for row, target in enumerate(self.targets)}
        return RegimeTable(values.reshape([-1, *shape]), row_of)
