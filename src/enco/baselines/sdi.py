"""SDI: structure discovery from interventions (Ke et al. 2019), on the conditional networks of this package.

As ENCO, it alternates distribution fitting and graph fitting, but an edge i -> j has one parameter gamma[i, j] only,
for its existence and its direction at once, with probability sigmoid(gamma[i, j]). A graph step draws K graphs, scores
them on rows of one intervention, and moves gamma along

    g[i, j] = sum_k w[k, j] (sigmoid(gamma[i, j]) - C_k[i, j]),    w[k, j] = softmax over k of -m L_k(X_j),

which weighs the graphs by their likelihood (Eq. 5 of the paper), of m rows that lose as much as a row of the batch does
on average, plus the gradients of two regularisers:

    lambda_sparse sum of sigmoid(gamma[i, j])   and   lambda_DAG sum of cosh(sigmoid(gamma[i, j]) sigmoid(gamma[j, i])).

The second one speaks against edges in both directions; longer cycles are left to the data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from enco.baselines.base import Method, MethodSettings
from enco.candidates import Candidates
from enco.conditionals.base import ConditionalModel
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.data import InterventionalData, Regime
from enco.errors import DataError
from enco.fitting.memory import check_memory
from enco.gradients import weighted_presence
from enco.parameters import Adam
from enco.result import Result
from enco.settings import Settings

__all__ = ["SDI", "GraphStep", "SDISettings"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SDISettings(MethodSettings):
    """The paper's choice (Appendix C.1), but for `graph_batch`: half the rows, for half the time.

    The paper does not say how many rows m stands for.
    """

    sparsity: float = 0.02  # lambda_sparse
    dag_penalty: float = 0.5  # lambda_DAG
    max_epochs: int = 50
    fit_steps: int = 1000  # F; a network stops earlier once its held-out loss does not improve
    graph_steps: int = 100  # G
    graph_samples: int = 100  # K
    graph_batch: int = 64  # rows per graph step
    likelihood_rows: float = 1.7  # m: the more, the more weak parents are found, and the more wrong edges
    gamma_rate: float = 5e-3  # Adam
    hidden: int = 64
    batch: int = 128
    learning_rate: float = 5e-3
    weight_decay: float = 1e-4


class SDI(Method):
    """Structure discovery from interventions.

    Examples
    --------
    >>> SDI().make_settings().dag_penalty
    0.5
    """

    name = "sdi"
    settings_type = SDISettings

    def learn(self, data: InterventionalData, settings: Any, *, seed: int, n_jobs: int) -> Result:
        """Alternate the two stages for all epochs."""
        if not data.interventional:
            raise DataError(f"method {self.name!r} needs an intervention regime: name the targets of the rows")
        pairs = Candidates.all_pairs(data.n_variables)
        shared = {name: getattr(settings, name) for name in ("hidden", "batch", "graph_batch", "graph_samples")}
        check_memory(data, pairs, Settings(**shared, estimator="reinforce", max_epochs=1), n_jobs)
        networks = NetworkSettings(
            hidden=settings.hidden,
            batch=settings.batch,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
        )
        model = FusedConditionals(data, pairs, settings=networks, seed=seed, n_jobs=n_jobs)
        rng = np.random.default_rng([seed, 3])
        graph = GraphStep(model, settings=settings, rng=rng)
        history = []
        for epoch in range(settings.max_epochs):
            report = model.fit(expit(graph.gamma), settings.fit_steps)
            for _ in range(settings.graph_steps):
                graph.step(data.interventional[rng.integers(len(data.interventional))])
            history.append((epoch + 1, int((graph.gamma > 0).sum()), float(report.held_out_loss.mean())))
        gamma = pairs.dense(graph.gamma, fill=-np.inf)
        table = pd.DataFrame(history, columns=["epoch", "edges", "held_out_loss"])
        return Result.from_graph(gamma > 0, data, probability=expit(gamma), history=table)


class GraphStep:
    """gamma, its Adam state, and one step of graph fitting.

    Parameters
    ----------
    model : ConditionalModel
    settings : SDISettings
    rng : numpy.random.Generator

    Attributes
    ----------
    gamma : float64 [P]
    """

    def __init__(self, model: ConditionalModel, *, settings: SDISettings, rng: np.random.Generator) -> None:
        self.model = model
        self.settings = settings
        self.gamma: Floats = np.zeros(model.candidates.n_pairs)
        self._adam = Adam(model.candidates.n_pairs, 0.9, 0.999)
        self._rng = rng

    def step(self, regime: Regime) -> None:
        """Move gamma of all pairs whose effect is not a target of the regime."""
        gradient = self.likelihood_gradient(regime) + self.regulariser_gradient()
        free = np.flatnonzero(regime.free(self.model.candidates.effect))
        self._adam.move(self.gamma, free, gradient[free], self.settings.gamma_rate)

    def likelihood_gradient(self, regime: Regime) -> Floats:
        """Estimate the first part of the gradient on some rows of a regime, [P]."""
        rows = np.sort(self._rng.permutation(regime.n_rows)[: self.settings.graph_batch])
        probability: Floats = expit(self.gamma)
        return probability - weighted_presence(
            self.model, regime, rows, probability, self._rng, self.settings.graph_samples, self.settings.likelihood_rows
        )

    def regulariser_gradient(self) -> Floats:
        """Gradient of the two regularisers, [P]."""
        probability = expit(self.gamma)
        back = probability[self.model.candidates.reverse]
        penalty = self.settings.sparsity + self.settings.dag_penalty * np.sinh(probability * back) * back
        return probability * (1.0 - probability) * penalty  # type: ignore[no-any-return]
