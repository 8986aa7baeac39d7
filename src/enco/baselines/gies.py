"""GIES: greedy interventional equivalence search (Hauser and Bühlmann 2012), by the package `gies`.

The score is that of linear Gaussian models with a penalty on every edge, `GaussIntL0Pen`; categorical variables enter
by the index of their level, as in the paper.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from enco.baselines.base import Method, MethodSettings, require_packages
from enco.baselines.numbers import spread, varying_columns, widen
from enco.data import InterventionalData
from enco.errors import DataError
from enco.result import Result

__all__ = ["GIES", "GIESSettings"]


@dataclass(frozen=True, kw_only=True)
class GIESSettings(MethodSettings):
    """How much an edge has to improve the log-likelihood (nats over all rows)."""

    penalty: float = 1.0  # of continuous data, times the 1/2 log(rows) of BIC
    categorical_penalty: float = 20.0  # lambda if any variable is categorical (the paper's)


class GIES(Method):
    """Greedy interventional equivalence search.

    If the data leave a direction open, the graph is one member of the class that was found.

    Examples
    --------
    >>> GIES().make_settings().categorical_penalty
    20.0
    """

    name = "gies"
    settings_type = GIESSettings

    def learn(self, data: InterventionalData, settings: Any, *, seed: int, n_jobs: int) -> Result:
        """Run the search; it is deterministic and has one thread."""
        require_packages(f"method {self.name!r}", "baselines", "gies")
        import gies
        from gies.scores import GaussIntL0Pen
        from gies.utils import pdag_to_dag

        columns = varying_columns(data)
        place = {int(column): position for position, column in enumerate(columns)}
        rows = [spread(data, regime)[:, columns] for regime in data.regimes]
        targets = [[place[target] for target in regime.targets if target in place] for regime in data.regimes]
        penalty = (
            settings.categorical_penalty if data.is_categorical.any() else settings.penalty * 0.5 * np.log(data.n_rows)
        )
        found = np.zeros((len(columns), len(columns)))
        if len(columns):
            try:
                # The logarithm of a variance that is zero should stop the search rather than win it.
                with np.errstate(divide="raise", invalid="raise"):
                    found, _ = gies.fit(GaussIntL0Pen(rows, targets, lmbda=penalty))
            except (np.linalg.LinAlgError, FloatingPointError) as error:
                raise DataError(
                    f"method {self.name!r} found columns that determine each other ({error}): leave out copies"
                ) from error
        return Result.from_graph(widen(pdag_to_dag(found), columns, data.n_variables), data)
