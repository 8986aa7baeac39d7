"""Structural causal models: a graph, a mechanism per variable, and data under any intervention."""

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.data import InterventionalData, Regime, Variable
from enco.errors import DataError, GraphError, SettingsError
from enco.graphs.dag import check_adjacency
from enco.simulate._sampling import Sampler, SampleRequest
from enco.simulate.distributions import Distribution, as_distribution, exact_probabilities
from enco.simulate.mechanisms import CategoricalMechanism, Mechanism

__all__ = ["SCM", "Targets"]

Targets = Literal["all"] | Sequence[str | Sequence[str]]
"""Which interventions a data set has: every observed variable, or a list of names and groups of names."""

_MAX_JOINT = 50_000_000


class SCM:
    """A structural causal model from which data can be drawn under any intervention.

    Parameters
    ----------
    variables : sequence of Variable
        All variables, latent ones included.
    adjacency : array_like [N, N]
        The true graph over all of them; ``adjacency[i, j]`` means i -> j; acyclic.
    mechanisms : sequence of Mechanism
        One per variable, for its parents in ascending order of position.
    latent : sequence of int
        Positions of the variables that are drawn but never shown.

    Attributes
    ----------
    variables, adjacency, mechanisms, latent
        As given, checked.
    observed : tuple of int
        Positions of the other variables: the columns of the data, in this order.

    Examples
    --------
    >>> from enco.simulate import SCM, TableCategorical
    >>> rain = Variable("rain", "categorical", ("no", "yes"))
    >>> wet = Variable("wet", "categorical", ("no", "yes"))
    >>> model = SCM(
    ...     [rain, wet],
    ...     [[0, 1], [0, 0]],
    ...     [TableCategorical([[0.8, 0.2]]), TableCategorical([[0.9, 0.1], [0.0, 1.0]], [2])],
    ... )
    >>> regime = model.sample(1000, do={"rain": "yes"}, rng=np.random.default_rng(0))
    >>> regime.targets, bool((regime.codes == 1).all())
    ((0,), True)
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        adjacency: ArrayLike,
        mechanisms: Sequence[Mechanism],
        *,
        latent: Sequence[int] = (),
    ) -> None:
        self.variables = tuple(variables)
        self.adjacency = check_adjacency(adjacency).copy()
        self.adjacency.flags.writeable = False
        self.mechanisms = tuple(mechanisms)
        self.latent = tuple(sorted({int(position) for position in latent}))
        size = len(self.variables)
        if len(self.adjacency) != size or len(self.mechanisms) != size:
            raise GraphError(
                f"{size} variables need an adjacency matrix [{size}, {size}] and {size} mechanisms, but got "
                f"{list(self.adjacency.shape)} and {len(self.mechanisms)}"
            )
        names = [variable.name for variable in self.variables]
        if len(set(names)) < size:
            repeated = next(name for name in names if names.count(name) > 1)
            raise DataError(f"two variables are called {repeated!r}; every variable needs its own name")
        if any(not 0 <= position < size for position in self.latent):
            raise GraphError(f"the latent positions {list(self.latent)} must lie between 0 and {size - 1}")
        self.observed = tuple(position for position in range(size) if position not in set(self.latent))
        self._sampler = Sampler(self.variables, self.adjacency, self.mechanisms, self.observed)

    def __repr__(self) -> str:
        hidden = f", {len(self.latent)} latent" if self.latent else ""
        return f"SCM({len(self.observed)} variables{hidden}, {int(self.adjacency.sum())} edges)"

    @property
    def observed_variables(self) -> tuple[Variable, ...]:
        """The variables that appear in the data, in order."""
        return tuple(self.variables[position] for position in self.observed)

    @property
    def observed_names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(variable.name for variable in self.observed_variables)

    @property
    def observed_adjacency(self) -> NDArray[np.bool_]:
        """The true graph among the observed variables [observed, observed]; row = cause.

        An edge i -> j stands for an edge in the model or for a directed path whose inner variables are all
        latent.
        """
        through = self._through_latents()
        columns = np.array(self.observed, dtype=np.intp)
        return through[np.ix_(columns, columns)]

    @property
    def confounded_pairs(self) -> list[tuple[int, int]]:
        """Pairs i < j of positions among the observed that share a latent cause (reached through latents)."""
        through = self._through_latents()[:, np.array(self.observed, dtype=np.intp)]
        pairs = set()
        for position in self.latent:
            reached = [int(child) for child in np.flatnonzero(through[position])]
            pairs |= {(one, other) for one in reached for other in reached if one < other}
        return sorted(pairs)

    def _through_latents(self) -> NDArray[np.bool_]:
        """Entry [i, j]: an edge, or a directed path from i to j whose inner variables are all latent."""
        through = self.adjacency.copy()
        for position in self.latent:
            through |= np.outer(through[:, position], through[position])
        return through

    def position(self, name: str) -> int:
        """Position of a variable among all variables, latent ones included.

        Parameters
        ----------
        name : str
            Name of the variable; an unknown one is an error.
        """
        for position, variable in enumerate(self.variables):
            if variable.name == name:
                return position
        raise DataError(f"the model has no variable {name!r}; its variables are {_shorten(self.observed_names)}")

    def with_mechanisms(self, mechanisms: Mapping[int, Mechanism]) -> "SCM":
        """Return the same model with other mechanisms of some variables, for the same parents.

        Parameters
        ----------
        mechanisms : mapping from position to Mechanism
            Positions are those of `variables`.

        Examples
        --------
        >>> from enco import simulate
        >>> model = simulate.continuous("chain", 3, np.random.default_rng(0))
        >>> changed = model.with_mechanisms({0: simulate.Shifted(model.mechanisms[0], 100.0)})
        >>> bool(changed.sample(9, rng=np.random.default_rng(1)).reals[:, 0].min() > 50)
        True
        """
        changed = copy(self)
        changed._sampler = self._sampler.with_mechanisms(mechanisms)  # checks only these: there may be many variables
        chosen = [mechanisms.get(position, usual) for position, usual in enumerate(self.mechanisms)]
        changed.mechanisms = tuple(chosen)
        return changed

    def sample(self, rows: int, *, do: Mapping[str, Any] | None = None, rng: np.random.Generator) -> Regime:
        """Draw rows of the observed variables, under an intervention if `do` names targets.

        Parameters
        ----------
        rows : int
            Number of rows.
        do : mapping from name to None, Distribution, level or number, optional
            Perfect interventions: each target ignores its parents and follows what is given instead. None
            stands for the default: uniform over the levels, or N(2, 1) for a continuous variable.
        rng : numpy.random.Generator
            The only source of randomness.

        Returns
        -------
        Regime
            Its targets are positions among the observed variables.

        Examples
        --------
        >>> from enco import simulate
        >>> model = simulate.categorical("chain", 3, np.random.default_rng(0), categories=4)
        >>> model.sample(5, do={"X2": None}, rng=np.random.default_rng(1)).codes.shape
        (5, 3)
        """
        return next(self._sampler.regimes([SampleRequest(rows, self._interventions(do or {}))], rng))

    def dataset(
        self,
        observational_rows: int,
        interventional_rows: int,
        *,
        targets: Targets = "all",
        rng: np.random.Generator,
    ) -> InterventionalData:
        """Draw an observational regime and one regime per intervention.

        Parameters
        ----------
        observational_rows : int
            Rows without intervention.
        interventional_rows : int
            Rows of each interventional regime; 0 for no interventions at all.
        targets : "all" or sequence of names
            Which variables are intervened on; a group of names is one intervention on all of them at once.
        rng : numpy.random.Generator
            The only source of randomness.

        Returns
        -------
        InterventionalData

        Examples
        --------
        >>> from enco import simulate
        >>> model = simulate.categorical("chain", 3, np.random.default_rng(0), categories=4)
        >>> data = model.dataset(100, 20, targets=["X1", ("X2", "X3")], rng=np.random.default_rng(1))
        >>> [regime.targets for regime in data.regimes]
        [(), (0,), (1, 2)]
        """
        requests = self._requests(observational_rows, interventional_rows, targets)
        return InterventionalData(self.observed_variables, list(self._sampler.regimes(requests, rng)))

    def write_npz(
        self,
        path: str | os.PathLike[str],
        observational_rows: int,
        interventional_rows: int,
        *,
        targets: Targets = "all",
        rng: np.random.Generator,
        overwrite: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Draw the same data as `dataset` straight into an npz file, holding only a few blocks in memory.

        The file also contains the true graph among the observed variables (``adj_matrix``) and, if the model
        has latent variables, the pairs they confound (``confounded_pairs [pairs, 2]``, positions among the
        observed).

        Parameters
        ----------
        path : path-like
            The file; it appears only when everything is written.
        observational_rows, interventional_rows, targets, rng
            As for `dataset`.
        overwrite : bool
            Whether an existing file may be replaced.
        progress : callable, optional
            Called with (rows written, rows in total) after each block.

        Examples
        --------
        >>> import tempfile
        >>> from enco import simulate
        >>> from enco.data import InterventionalData
        >>> model = simulate.categorical("chain", 3, np.random.default_rng(0), categories=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.write_npz(f"{folder}/chain.npz", 100, 20, rng=np.random.default_rng(1))
        ...     written = InterventionalData.from_npz(f"{folder}/chain.npz")
        >>> written == model.dataset(100, 20, rng=np.random.default_rng(1))
        True
        """
        from enco.io.stream import NpzStream  # the reader and writer of files is not needed to draw data

        requests = self._requests(observational_rows, interventional_rows, targets)
        column = {position: index for index, position in enumerate(self.observed)}
        groups = [tuple(sorted(column[position] for position in request.interventions)) for request in requests]
        pairs = np.array(self.confounded_pairs, dtype=np.int64).reshape(-1, 2)
        total, done = sum(request.rows for request in requests), 0
        with NpzStream(
            path,
            self.observed_variables,
            observational_rows=observational_rows,
            interventional_rows=interventional_rows,
            targets=groups[1:],
            adjacency=self.observed_adjacency,
            extra={"confounded_pairs": pairs} if self.latent else None,
            overwrite=overwrite,
        ) as stream:
            for block in self._sampler.blocks(requests, rng):
                stream.write(block)
                done += block.n_rows
                if progress is not None:
                    progress(done, total)

    def joint_probabilities(
        self, *, do: Mapping[str, Any] | None = None, include_latent: bool = False
    ) -> NDArray[np.float64]:
        """Exact joint distribution of a small model whose variables are all categorical.

        Parameters
        ----------
        do : mapping, optional
            Interventions as in `sample`; each needs exact probabilities.
        include_latent : bool
            Whether latent variables get an axis too, instead of being summed out.

        Returns
        -------
        ndarray of float64
            One axis per variable, in order; entry [a, b, ...] is the probability of those level indices.

        Examples
        --------
        >>> from enco import simulate
        >>> model = simulate.from_cpts({"a": ([], [0.5, 0.5]), "b": (["a"], [[1.0, 0.0], [0.5, 0.5]])})
        >>> model.joint_probabilities()
        array([[0.5 , 0.  ],
               [0.25, 0.25]])
        """
        shape = tuple(variable.n_levels for variable in self.variables)
        if 0 in shape:
            name = self.variables[shape.index(0)].name
            raise SettingsError(f"variable {name!r} is continuous: only categorical models have a joint table")
        if prod(shape) > _MAX_JOINT:
            raise SettingsError(f"the joint table of {len(shape)} variables is too large; use sample instead")
        interventions = self._interventions(do or {})
        joint = np.ones(shape)
        for position, variable in enumerate(self.variables):
            parents = [int(parent) for parent in np.flatnonzero(self.adjacency[:, position])]
            if position in interventions:
                parents, values = [], exact_probabilities(interventions[position], variable)
            else:
                mechanism = self.mechanisms[position]
                assert isinstance(mechanism, CategoricalMechanism)
                sizes = [shape[parent] for parent in parents]
                grid = np.indices(sizes).reshape(len(parents), prod(sizes)).T
                values = mechanism.probabilities(grid if parents else None)
            axes = [*parents, position]
            values = values.reshape([shape[axis] for axis in axes]).transpose(np.argsort(axes))
            joint *= values.reshape([shape[axis] if axis in axes else 1 for axis in range(len(shape))])
        return joint if include_latent else joint.sum(axis=self.latent)

    def _interventions(self, do: Mapping[str, Any]) -> dict[int, Distribution]:
        """Positions of the targets and what they follow."""
        result = {}
        for name, value in do.items():
            position = self.position(name)
            if position in self.latent:
                raise DataError(f"variable {name!r} is latent: nobody can intervene on it; choose an observed one")
            result[position] = as_distribution(value, self.variables[position])
        return result

    def _requests(self, observational_rows: int, interventional_rows: int, targets: Targets) -> list[SampleRequest]:
        """List the regimes of a data set: the observational one, then one per group of targets."""
        groups = self._target_groups(targets) if interventional_rows else []
        interventions = [self._interventions(dict.fromkeys(group)) for group in groups]
        return [
            SampleRequest(observational_rows, {}),
            *(SampleRequest(interventional_rows, targeted) for targeted in interventions),
        ]

    def _target_groups(self, targets: Targets) -> list[tuple[str, ...]]:
        if targets == "all":
            return [(name,) for name in self.observed_names]
        if isinstance(targets, str):
            raise SettingsError(f"targets is {targets!r}; use 'all' or a list of names, such as [{targets!r}]")
        groups = [(group,) if isinstance(group, str) else tuple(group) for group in targets]
        if any(len(group) == 0 for group in groups):
            raise SettingsError("targets has an empty group; name at least one variable in each")
        return groups


def _shorten(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
