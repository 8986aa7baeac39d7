"""How well a graph explains rows it was not learned from: the likelihood of mechanisms trained for exactly its parents.

No true graph is needed: a missing edge leaves variation unexplained, and under interventions a wrongly oriented edge
predicts what does not happen.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.conditionals.torch import NetworkFactory
from enco.data import InterventionalData, Regime
from enco.data.variables import Variable, code_dtype
from enco.errors import DataError
from enco.fitting.engines import make_model
from enco.graphs.dag import check_adjacency
from enco.settings import Settings

__all__ = ["Mechanisms", "aligned"]

Floats = NDArray[np.float64]


RATE = 5e-3  # learning rate
PATIENCE = 6  # looks at rows held out without improvement before a network stops: it answers one question, and well


class Mechanisms:
    """The distribution of every variable given its parents in one graph, learned from all rows that leave it free.

    Parameters
    ----------
    data : InterventionalData
    adjacency : array [N, N]
        The graph, row = cause, in the order of the columns.
    settings : Settings, optional
        Of the networks; they train as many steps as those of the search, at most.
    network : callable, optional
        A network of the user's own, see `ENCO`.
    seed, n_jobs : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=(500, 1))
    >>> rows = np.hstack([cause, cause + rng.normal(size=(500, 1))])
    >>> data = InterventionalData.from_environments([rows, rows[:50]], [None, "X1"])
    >>> joined, apart = (Mechanisms(data, graph).log_likelihood(data.interventional)
    ...                  for graph in ([[0, 1], [0, 0]], [[0, 0], [0, 0]]))
    >>> joined > apart
    True
    """

    def __init__(
        self,
        data: InterventionalData,
        adjacency: ArrayLike,
        *,
        settings: Settings | None = None,
        network: NetworkFactory | None = None,
        seed: int = 0,
        n_jobs: int = 1,
    ) -> None:
        chosen = settings or Settings()
        pairs = Candidates.from_mask(check_adjacency(adjacency))
        column = np.arange(data.n_variables)
        start = make_model(data, pairs, column=column, settings=chosen, network=network, seed=seed, n_jobs=n_jobs)
        rows = [(regime, np.arange(regime.n_rows)) for regime in data.interventional]
        self._model = start.extended(rows, RATE, PATIENCE)
        self._all = np.ones(pairs.n_pairs, bool)
        self._model.fit(self._all.astype(np.float64), chosen.refine_steps)
        # Densities of continuous variables are per unit of the column, not per standard deviation.
        self._log_scale = np.zeros(data.n_variables)
        scale = Standardisation.of(data).scale
        self._log_scale[data.is_continuous] = np.log(np.where(scale > 0, scale, 1.0))

    def losses(self, regime: Regime) -> Floats:
        """Mean negative log-likelihood of each variable over the rows of a regime, nats, [N]; NaN for its targets."""
        loss: Floats = self._model.graph_losses(regime, np.arange(regime.n_rows), self._all[None])[0] + self._log_scale
        loss[list(regime.targets)] = np.nan
        return loss

    def log_likelihood(self, regimes: Sequence[Regime]) -> float:
        """Mean log-likelihood of a value that was not set by an intervention, over all rows, in nats."""
        losses = np.stack([self.losses(regime) for regime in regimes])
        weights = np.array([regime.n_rows for regime in regimes])[:, None] * ~np.isnan(losses)
        return -float(np.nansum(losses * weights) / weights.sum())


def aligned(data: InterventionalData, variables: Sequence[Variable]) -> InterventionalData:
    """Return the same rows with these variables: columns in this order, levels numbered in this way.

    Examples
    --------
    >>> train = InterventionalData.from_environments([np.array([[0, 5], [1, 7], [0, 9]])], [None])
    >>> test = InterventionalData.from_environments([np.array([[1, 9]])], [None])
    >>> aligned(test, train.variables).observational.codes.tolist()
    [[1, 2]]
    """
    moved = data.select([variable.name for variable in variables])
    if moved.variables == tuple(variables):
        return moved
    index, dtype = [], code_dtype(max((variable.n_levels for variable in variables), default=0))
    for given, wanted in zip(moved.variables, variables, strict=True):
        if given.kind != wanted.kind:
            raise DataError(
                f"variable {wanted.name!r} was {wanted.kind} in the fit and is {given.kind} here: convert it"
            )
        if given.levels is None or wanted.levels is None:
            continue
        unknown = [level for level in given.levels if level not in wanted.levels]
        if unknown:
            raise DataError(
                f"variable {wanted.name!r} has the level {unknown[0]!r}, which the fit has not seen: leave its rows out"
            )
        index.append(np.array([wanted.levels.index(level) for level in given.levels], dtype))
    regimes = []
    for regime in moved.regimes:
        codes: NDArray[Any] = np.empty(regime.codes.shape, dtype)
        for slot, new in enumerate(index):
            codes[:, slot] = new[regime.codes[:, slot]]
        regimes.append(Regime.of(regime.condition, codes, regime.reals))
    return InterventionalData(variables, regimes)
