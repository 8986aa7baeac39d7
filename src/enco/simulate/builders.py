"""Random ground-truth models in one call.

Each builder takes the name of a structure (see `enco.graphs.structures`) and a number of variables, or an
adjacency matrix. The variables are shuffled by default and named X1, X2, ... afterwards, so neither position
nor name says anything about the causal order. Latent confounders come last and are named L1, L2, ...
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.data import Kind, Variable
from enco.data.variables import MAX_LEVELS
from enco.errors import SettingsError
from enco.graphs.dag import check_adjacency, topological_order
from enco.graphs.structures import add_latent_confounders, make_structure, shuffle_columns
from enco.simulate._sampling import check_finite
from enco.simulate.categorical_mechanisms import NeuralCategorical, ProductCategorical, TableCategorical
from enco.simulate.continuous_mechanisms import AdditiveNetwork, LinearGaussian, NonadditiveNetwork
from enco.simulate.mechanisms import Mechanism
from enco.simulate.scm import SCM
from enco.system.units import in_short

__all__ = ["categorical", "continuous", "mixed"]

CategoricalKind = Literal["neural", "product", "deterministic"]
ContinuousKind = Literal["linear", "additive", "nonadditive"]

_PILOT_ROWS = 2048
"""Rows drawn while a mixed model is built, to learn the mean and spread of continuous parents."""


def categorical(
    structure: str | ArrayLike,
    n: int | None = None,
    rng: np.random.Generator | None = None,
    *,
    categories: int | Sequence[int] = 10,
    mechanism: CategoricalKind = "neural",
    deterministic: Literal["all but leaves", "all"] = "all but leaves",
    latents: int = 0,
    shuffle: bool = True,
    edge_probability: float | None = None,
    max_parents: int | None = None,
    parents: int | None = None,
) -> SCM:
    """Make a model of categorical variables.

    Parameters
    ----------
    structure : str or array_like [n, n]
        Name of a structure, or an adjacency matrix (``adjacency[i, j]`` means i -> j).
    n : int
        Number of observed variables; may be left out with an adjacency matrix.
    rng : numpy.random.Generator
        The only source of randomness; required.
    categories : int or sequence of int
        Number of levels of every variable, or of each one in the order of the structure; latents use the
        largest.
    mechanism : {"neural", "product", "deterministic"}
        The paper's random networks (Appendix C.1); the product of single conditionals (last section); or
        random functions of the parents (Appendix D.4), where variables without parents keep a random
        distribution.
    deterministic : {"all but leaves", "all"}
        For the deterministic mechanism: whether variables without children are networks or functions as well.
    latents : int
        Number of latent confounders to add.
    shuffle : bool
        Whether the variables are put into a random order.
    edge_probability, max_parents, parents
        Options of the structures "random" and "regular".

    Returns
    -------
    SCM

    Examples
    --------
    >>> model = categorical("random", 8, np.random.default_rng(0), edge_probability=0.5, latents=2)
    >>> model.observed_names, model.latent
    (('X1', 'X2', 'X3', 'X4', 'X5', 'X6', 'X7', 'X8'), (8, 9))
    """
    options = {"edge_probability": edge_probability, "max_parents": max_parents, "parents": parents}
    generator = _check_rng(rng)
    graph, permutation, latent = _make_graph(structure, n, generator, latents, shuffle, options)
    if mechanism not in ("neural", "product", "deterministic"):
        raise SettingsError(f"unknown mechanism {mechanism!r}; choose 'neural', 'product' or 'deterministic'")
    if deterministic not in ("all but leaves", "all"):
        raise SettingsError(f"deterministic is {deterministic!r}; choose 'all but leaves' or 'all'")
    n_levels = _spread_categories(categories, permutation, len(latent))
    variables = _name_variables(n_levels, len(latent))
    is_leaf = graph.sum(axis=1) == 0

    def make(position: int, levels: list[int]) -> Mechanism:
        if mechanism == "product":
            return ProductCategorical.random(levels, n_levels[position], generator)
        if mechanism == "deterministic" and levels and (deterministic == "all" or not is_leaf[position]):
            return TableCategorical.random_deterministic(levels, n_levels[position], generator)
        return NeuralCategorical.random(levels, n_levels[position], generator)

    return SCM(variables, graph, _make_mechanisms(graph, n_levels, make), latent=latent.tolist())


def continuous(
    structure: str | ArrayLike,
    n: int | None = None,
    rng: np.random.Generator | None = None,
    *,
    mechanism: ContinuousKind = "linear",
    noise_scale: float = 0.4,
    activation: Literal["leaky_relu", "tanh"] | None = None,
    latents: int = 0,
    shuffle: bool = True,
    edge_probability: float | None = None,
    max_parents: int | None = None,
    parents: int | None = None,
) -> SCM:
    """Make a model of continuous variables as in Brouillard et al. (2020).

    What is drawn, in detail: `enco.simulate.continuous_mechanisms`.

    Parameters
    ----------
    structure, n, rng, latents, shuffle, edge_probability, max_parents, parents
        As for `categorical`.
    mechanism : {"linear", "additive", "nonadditive"}
        Linear Gaussian; network plus noise; network that takes the noise as an input.
    noise_scale : float
        Factor of the noise of variables with parents.
    activation : {"leaky_relu", "tanh"}, optional
        Nonlinearity of the networks; LeakyReLU for "additive" and tanh for "nonadditive" by default.

    Returns
    -------
    SCM

    Examples
    --------
    >>> model = continuous("chain", 4, np.random.default_rng(0), mechanism="additive")
    >>> model.sample(3, rng=np.random.default_rng(1)).reals.shape
    (3, 4)
    """
    options = {"edge_probability": edge_probability, "max_parents": max_parents, "parents": parents}
    generator = _check_rng(rng)
    graph, permutation, latent = _make_graph(structure, n, generator, latents, shuffle, options)
    n_levels = [0] * (len(permutation) + len(latent))

    def make(position: int, levels: list[int]) -> Mechanism:
        return _continuous_mechanism(mechanism, levels, generator, noise_scale, activation)

    mechanisms = _make_mechanisms(graph, n_levels, make)
    return SCM(_name_variables(n_levels, len(latent)), graph, mechanisms, latent=latent.tolist())


def mixed(
    structure: str | ArrayLike,
    n: int | None = None,
    rng: np.random.Generator | None = None,
    *,
    categories: int | Sequence[int] = 10,
    categorical_share: float = 0.5,
    mechanism: ContinuousKind = "additive",
    noise_scale: float = 0.4,
    activation: Literal["leaky_relu", "tanh"] | None = "tanh",
    latents: int = 0,
    shuffle: bool = True,
    edge_probability: float | None = None,
    max_parents: int | None = None,
    parents: int | None = None,
) -> SCM:
    """Make a model with categorical and continuous variables in the same graph.

    A categorical variable is a random network as in `categorical`, to which a continuous parent contributes
    its standardised value times a random vector; mean and spread for that are estimated from rows drawn while
    the model is built. A continuous variable is as in `continuous`, with one weight (or one row of weights)
    per level of a categorical parent.

    Parameters
    ----------
    structure, n, rng, latents, shuffle, edge_probability, max_parents, parents
        As for `categorical`.
    categories : int or sequence of int
        Number of levels of the categorical variables, as for `categorical`; ignored for the others.
    categorical_share : float
        Share of categorical variables among the observed, rounded to a whole number and placed at random;
        also the probability that a latent variable is categorical.
    mechanism, noise_scale, activation
        Of the continuous variables, as for `continuous`; the default activation is tanh.

    Returns
    -------
    SCM

    Examples
    --------
    >>> model = mixed("chain", 6, np.random.default_rng(0), categories=3)
    >>> regime = model.sample(4, rng=np.random.default_rng(1))
    >>> regime.codes.shape, regime.reals.shape
    ((4, 3), (4, 3))
    """
    options = {"edge_probability": edge_probability, "max_parents": max_parents, "parents": parents}
    generator = _check_rng(rng)
    if not 0.0 <= categorical_share <= 1.0:
        raise SettingsError(f"categorical_share must be between 0 and 1, but it is {categorical_share}")
    graph, permutation, latent = _make_graph(structure, n, generator, latents, shuffle, options)
    n_levels = np.zeros(len(graph), dtype=np.int64)
    chosen = generator.permutation(len(permutation))[: round(categorical_share * len(permutation))]
    chosen = np.concatenate([chosen, latent[generator.random(len(latent)) < categorical_share]])
    is_categorical = np.isin(np.arange(len(graph)), chosen)
    n_levels[chosen] = np.array(_spread_categories(categories, permutation, len(latent)))[chosen]
    variables = _name_variables(n_levels.tolist(), len(latent))
    pilot_codes = np.zeros((_PILOT_ROWS, len(graph)), dtype=np.uint16)
    pilot_reals = np.zeros((_PILOT_ROWS, len(graph)), dtype=np.float32)

    def make(position: int, levels: list[int]) -> Mechanism:
        causes = np.flatnonzero(graph[:, position])
        codes = pilot_codes[:, causes[is_categorical[causes]]]
        reals = pilot_reals[:, causes[~is_categorical[causes]]]
        made: Mechanism
        if is_categorical[position]:
            means, sds = reals.mean(axis=0, dtype=np.float64), reals.std(axis=0, dtype=np.float64)
            made = NeuralCategorical.random(levels, int(n_levels[position]), generator, real_means=means, real_sds=sds)
            pilot_codes[:, position] = made.sample(codes, reals, generator)
        else:
            made = _continuous_mechanism(mechanism, levels, generator, noise_scale, activation)
            with np.errstate(over="ignore", invalid="ignore"):
                pilot_reals[:, position] = made.sample(codes, reals, generator)
            check_finite(pilot_reals[:, position], variables[position])
        return made

    mechanisms = _make_mechanisms(graph, n_levels.tolist(), make)
    return SCM(variables, graph, mechanisms, latent=latent.tolist())


def _check_rng(rng: np.random.Generator | None) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise SettingsError(f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(0), not {rng!r}")
    return rng


def _make_graph(
    structure: str | ArrayLike,
    n: int | None,
    rng: np.random.Generator,
    latents: int,
    shuffle: bool,
    options: Mapping[str, Any],
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Return the graph with latents, the shuffle of the others, and the positions of the latents."""
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(structure, str):
        if n is None:
            raise SettingsError(f"the structure {structure!r} needs a number of variables n")
        graph = make_structure(structure, n, rng, **given)
    else:
        graph = check_adjacency(structure)
        topological_order(graph)  # raises for a cyclic graph
        if n is not None and n != len(graph):
            raise SettingsError(f"n is {n}, but the adjacency matrix has {len(graph)} variables; leave n out")
        if given:
            raise SettingsError(f"{next(iter(given))} is an option of named structures, not of an adjacency matrix")
    permutation = np.arange(len(graph), dtype=np.int64)
    if shuffle:
        graph, permutation = shuffle_columns(graph, rng)
    graph, latent = add_latent_confounders(graph, latents, rng)
    return graph, permutation, latent


def _make_mechanisms(
    graph: NDArray[np.bool_], n_levels: Sequence[int], make: Callable[[int, list[int]], Mechanism]
) -> list[Mechanism]:
    """Call make(position, levels of its parents) in causal order; return the mechanisms by position."""
    made: dict[int, Mechanism] = {}
    for position in topological_order(graph):
        made[int(position)] = make(
            int(position), [n_levels[int(parent)] for parent in np.flatnonzero(graph[:, position])]
        )
    return [made[position] for position in range(len(graph))]


def _continuous_mechanism(
    kind: str, levels: list[int], rng: np.random.Generator, noise_scale: float, activation: str | None
) -> Mechanism:
    if not noise_scale > 0:
        raise SettingsError(f"noise_scale must be above 0, but it is {noise_scale}")
    if kind == "linear":
        return LinearGaussian.random(levels, rng, noise_scale=noise_scale)
    if kind == "additive":
        return AdditiveNetwork.random(levels, rng, noise_scale=noise_scale, activation=activation or "leaky_relu")
    if kind == "nonadditive":
        return NonadditiveNetwork.random(levels, rng, noise_scale=noise_scale, activation=activation or "tanh")
    raise SettingsError(f"unknown mechanism {kind!r}; choose 'linear', 'additive' or 'nonadditive'")


def _spread_categories(categories: int | Sequence[int], permutation: NDArray[np.int64], n_latent: int) -> list[int]:
    """List the number of levels of each variable, after the shuffle, latents last."""
    counts = np.asarray(categories)
    if counts.ndim == 0:
        counts = np.full(len(permutation), counts)
    if counts.shape != (len(permutation),):
        raise SettingsError(f"categories has {counts.size} entries for {len(permutation)} variables")
    if not np.issubdtype(counts.dtype, np.integer) or (counts < 2).any() or (counts > MAX_LEVELS).any():
        raise SettingsError(
            f"every variable needs a whole number of categories, from 2 to {MAX_LEVELS:,}, but got "
            f"{in_short(categories)}"
        )
    return [*counts[permutation].tolist(), *[int(counts.max())] * n_latent]


def _name_variables(n_levels: Sequence[int], n_latent: int) -> list[Variable]:
    n_observed = len(n_levels) - n_latent
    names = [f"X{k + 1}" for k in range(n_observed)] + [f"L{k + 1}" for k in range(n_latent)]
    return [
        Variable(name, Kind.CATEGORICAL, tuple(range(levels))) if levels else Variable(name, Kind.CONTINUOUS)
        for name, levels in zip(names, n_levels, strict=True)
    ]
