"""GES + orienting: the observational baseline of the paper's Appendix D.7.

Greedy equivalence search (Chickering 2002, `enco.baselines.equivalence_search`) on the observational rows gives a
skeleton, and on the rows of every regime a graph of that regime. An edge x - y of the skeleton is x -> y if x and y
are joined in the graph of a regime that intervenes on x, since what an intervention sets depends on its effects only;
and y -> x likewise. Where both or neither is the case, the direction whose intervened-on end says more about the other
end wins.

Continuous variables are scored by linear Gaussian models, categorical ones by their tables (see `enco.baselines.bic`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.baselines.base import Method, MethodSettings
from enco.baselines.bic import GaussianScore, Score, TableScore
from enco.baselines.equivalence_search import greedy_equivalence_search
from enco.baselines.numbers import spread
from enco.data import InterventionalData, Regime
from enco.errors import DataError
from enco.result import Result

__all__ = ["GES", "GESSettings", "orient"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class GESSettings(MethodSettings):
    """Penalties of the score, in units of BIC's 1/2 log(rows) for every parameter."""

    penalty: float = 1.0  # of continuous data
    categorical_penalty: float = 0.25  # of categorical data: tables have many parameters that hardly matter


class GES(Method):
    """Greedy equivalence search, edges oriented by the interventions.

    Examples
    --------
    >>> GES().make_settings().penalty
    1.0
    """

    name = "ges"
    settings_type = GESSettings

    def learn(self, data: InterventionalData, settings: Any, *, seed: int, n_jobs: int) -> Result:
        """Search in every regime, then orient; it is deterministic and has one thread."""
        if len(set(data.kinds)) > 1:
            raise DataError(
                f"method {self.name!r} needs variables of one kind, but {data.names[0]!r} is {data.kinds[0]} and "
                "others are not: leave out one kind, or choose another method"
            )
        scores = [_score(data, regime, settings) for regime in data.regimes]
        graphs = [greedy_equivalence_search(score) for score in scores]
        return Result.from_graph(orient(data, graphs, scores), data)


def orient(data: InterventionalData, graphs: list[Mask], scores: list[Score]) -> Mask:
    """Turn the skeleton of the observational regime into a directed graph.

    Parameters
    ----------
    data : InterventionalData
    graphs : list of bool [N, N]
        What the search found in each regime; both directions where it is open.
    scores : list of Score
        That of each regime.
    """
    n = data.n_variables
    joined = np.zeros((n, n), bool)  # cause and effect are joined where the cause, and not the effect, was set
    gain = np.zeros((n, n))  # nats that the cause brings to the effect there
    for regime, graph, score in zip(data.regimes, graphs, scores, strict=True):
        for cause in regime.targets:
            for effect in np.setdiff1d(np.arange(n), regime.targets):
                joined[cause, effect] |= graph[cause, effect] or graph[effect, cause]
                gain[cause, effect] += score.gain(int(cause), int(effect))
    skeleton = graphs[0] | graphs[0].T
    preference = joined.astype(float) - joined.T
    preference[preference == 0] = (1e-6 * (gain - gain.T))[preference == 0]
    # Where no intervention speaks, the direction is what the observational search found.
    forward = np.where(preference == 0, graphs[0] & ~graphs[0].T, preference > 0)
    undecided = (preference == 0) & graphs[0] & graphs[0].T
    directed: Mask = skeleton & (forward | np.triu(undecided))
    return directed


def _score(data: InterventionalData, regime: Regime, settings: GESSettings) -> Score:
    if data.is_categorical[0]:
        return TableScore(regime.codes, data.n_levels, penalty=settings.categorical_penalty)
    return GaussianScore(spread(data, regime), penalty=settings.penalty)
