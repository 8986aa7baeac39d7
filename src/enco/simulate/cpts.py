"""Models from given conditional probability tables."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from enco.data import Kind, Level, Variable
from enco.errors import DataError, SettingsError
from enco.simulate.categorical_mechanisms import TableCategorical
from enco.simulate.scm import SCM

__all__ = ["from_cpts"]


def from_cpts(
    cpts: Mapping[str, tuple[Sequence[str], ArrayLike]],
    *,
    levels: Mapping[str, Sequence[Level]] | None = None,
    latent: Sequence[str] = (),
) -> SCM:
    """Make a model from conditional probability tables.

    Parameters
    ----------
    cpts : mapping from name to (parent names, table)
        Table [configurations of the parents, levels], in which the last parent changes fastest, or an array
        with one axis per parent and a last axis for the levels; a plain list of probabilities without
        parents. Columns of the data follow the order of the mapping.
    levels : mapping from name to sequence, optional
        What the levels are called; 0, 1, ... by default.
    latent : sequence of str
        Names of the variables that are not shown.

    Returns
    -------
    SCM

    Examples
    --------
    >>> model = from_cpts(
    ...     {"rain": ([], [0.8, 0.2]), "wet": (["rain"], [[0.9, 0.1], [0.0, 1.0]])},
    ...     levels={"rain": ("no", "yes")},
    ... )
    >>> model.joint_probabilities().round(2)
    array([[0.72, 0.08],
           [0.  , 0.2 ]])
    """
    names = list(cpts)
    position = {name: index for index, name in enumerate(names)}
    tables = {name: np.asarray(table, dtype=np.float64) for name, (_, table) in cpts.items()}
    for name in [*(levels or {}), *latent]:
        if name not in position:
            raise DataError(f"{name!r} has no table; the variables with tables are {', '.join(names[:10])}")
    n_levels = {name: table.shape[-1] if table.ndim else 0 for name, table in tables.items()}
    graph = np.zeros((len(names), len(names)), dtype=np.bool_)
    variables, mechanisms = [], []
    for name, (parents, _) in cpts.items():
        for parent in parents:
            if parent not in position:
                raise DataError(f"{name!r} has the parent {parent!r}, which has no table")
            graph[position[parent], position[name]] = True
        if len(set(parents)) < len(parents):
            raise DataError(f"{name!r} names a parent twice: {', '.join(parents)}")
        own_levels = (levels or {}).get(name, range(n_levels[name]))
        if len(own_levels) != n_levels[name]:
            raise DataError(f"{name!r} has {len(own_levels)} levels, but its table has {n_levels[name]} columns")
        variables.append(Variable(name, Kind.CATEGORICAL, tuple(own_levels)))
        # The mechanism wants its parents by position, so the axes of the table may have to move.
        shape = [n_levels[parent] for parent in parents]
        axes = [int(axis) for axis in np.argsort([position[parent] for parent in parents])]
        if tables[name].size != int(np.prod([*shape, n_levels[name]])):
            raise DataError(
                f"the table of {name!r} has the shape {list(tables[name].shape)}, but its parents have "
                f"{shape} "
                f"levels: [{int(np.prod(shape))}, {n_levels[name]}] is needed"
            )
        ordered = tables[name].reshape([*shape, n_levels[name]]).transpose([*axes, len(shape)])
        try:
            made = TableCategorical(ordered.reshape(-1, n_levels[name]), [shape[axis] for axis in axes])
        except SettingsError as error:
            raise DataError(f"variable {name!r}: {error}") from None
        mechanisms.append(made)
    return SCM(variables, graph, mechanisms, latent=[position[name] for name in latent])
