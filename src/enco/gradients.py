"""From losses of sampled graphs to gradients of gamma and theta.

Every estimator answers one question: the *edge effect* of each candidate pair on a batch of one regime,

    delta[i, j] = E_{C_-ij} [ L_{X_i -> X_j}(X_j) - L_{X_i -/-> X_j}(X_j) ],

the bracket that Eq. 3 and Eq. 4 of the paper share. They differ in variance and cost:

============  ==========================================================================================
paired        one graph per row, every edge toggled in it: common random numbers on both sides (default)
independent   the paper's: K graphs shared by all rows, split by whether they contain the edge
reinforce     K graphs, score function weighted by their likelihoods, as in Bengio et al. (Eq. 5); for the ablation
toggled       few graphs, each scored with and without the edges out of the targets; for steps that move theta only
============  ==========================================================================================

A further one is a function and a call of `register`. The gradients follow from delta in `gamma_gradient` (Eq. 3, with
the cost of an edge from `edge_cost`) and `theta_gradient` (Eq. 4).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from enco.conditionals.base import ConditionalModel
from enco.data import Regime
from enco.parameters import EdgeParameters
from enco.settings import ADDED_ESTIMATORS

__all__ = [
    "ESTIMATORS",
    "LIKELIHOOD_ROWS",
    "edge_cost",
    "gamma_gradient",
    "independent",
    "paired",
    "register",
    "reinforce",
    "theta_gradient",
    "toggled",
    "weighted_presence",
]

LIKELIHOOD_ROWS = 4.0
"""Rows whose likelihood weighs a graph in Eq. 5, which does not say how many.

It decides what lambda_sparse weighs there: sigmoid'(gamma) m delta + lambda_sparse. With m = 4 an edge must have the
same effect as in Eq. 3 where learning begins, sigmoid'(0) = 1/4. With one row only effects above 4 lambda_sparse can
grow; with all rows of a batch the best of the K graphs has all the weight.
"""

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


def gamma_gradient(parameters: EdgeParameters, delta: Floats, cost: float | Floats) -> Floats:
    """Eq. 3: sigmoid'(gamma) sigmoid(theta) (delta + cost), [P]; NaN where delta is. The cost is lambda_sparse.

    Examples
    --------
    >>> from enco.candidates import Candidates
    >>> gamma_gradient(EdgeParameters(Candidates.all_pairs(2)), np.array([-0.1, 0.1]), 0.02)
    array([-0.01 ,  0.015])
    """
    existence = parameters.existence()
    return existence * (1.0 - existence) * parameters.orientation() * (delta + cost)


def theta_gradient(parameters: EdgeParameters, delta: Floats) -> Floats:
    """One term of Eq. 4: sigmoid'(theta) sigmoid(gamma) delta, [P]; NaN where delta is.

    The caller picks the pairs: those whose cause is a target of the regime, or, for pairs never adjacent to an
    intervention (Eq. 28), both directions, whose difference is the gradient.
    """
    orientation = parameters.orientation()
    return orientation * (1.0 - orientation) * parameters.existence() * delta


def paired(
    model: ConditionalModel, regime: Regime, rows: Rows, probability: Floats, wanted: Mask, rng: np.random.Generator,
    n_graphs: int,
) -> Floats:  # fmt: skip
    """Edge effects with every row bringing its own graph and toggling each wanted edge in it.

    No edge is ever left without a sample, however small its probability. The model draws the graphs from its own
    streams.

    Returns
    -------
    delta : float64 [P], NaN for pairs not wanted and pairs into an intervention target
    """
    return model.edge_effects(regime, rows, probability, wanted)


def independent(
    model: ConditionalModel, regime: Regime, rows: Rows, probability: Floats, wanted: Mask, rng: np.random.Generator,
    n_graphs: int,
) -> Floats:  # fmt: skip
    """Edge effects by the paper's estimator (Algorithm 1): mean loss of graphs with the edge minus of those without.

    Pairs that all K graphs agree on are NaN: they receive no gradient in this step.
    """
    graphs, losses = _score_graphs(model, regime, rows, probability, rng, n_graphs)
    losses = losses[:, model.candidates.effect]
    with_edge = graphs.sum(axis=0)
    sum_with = np.einsum("gp,gp->p", graphs, losses)
    with np.errstate(invalid="ignore", divide="ignore"):
        delta = sum_with / with_edge - (losses.sum(axis=0) - sum_with) / (n_graphs - with_edge)
    return np.where(wanted & _free(model, regime), delta, np.nan)


def reinforce(
    model: ConditionalModel, regime: Regime, rows: Rows, probability: Floats, wanted: Mask, rng: np.random.Generator,
    n_graphs: int, likelihood_rows: float = LIKELIHOOD_ROWS,
) -> Floats:  # fmt: skip
    """Edge effects by weighing graphs with their likelihood (Bengio et al., Eq. 5).

    With the weights w_k of `weighted_presence` for m = `likelihood_rows` rows,

        delta = (p_ij - sum_k w_k C_ij^k) / (p_ij (1 - p_ij)).

    To first order in the losses w_k = (1 - m L_k + m mean L) / K, and E[(C - p) L] = p (1 - p) delta: m times the edge
    effect. Biased, but less so the more alike the graphs are. Eq. 5 itself does not divide by p (1 - p). For theta that
    is a matter of scale; for gamma, `edge_cost` puts lambda_sparse where Eq. 5 has it.
    """
    spread = probability * (1.0 - probability)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = weighted_presence(model, regime, rows, probability, rng, n_graphs, likelihood_rows)
        delta = (probability - share) / spread
    return np.where(wanted & _free(model, regime) & (spread > 0), delta, np.nan)


def toggled(
    model: ConditionalModel, regime: Regime, rows: Rows, probability: Floats, wanted: Mask, rng: np.random.Generator,
    n_graphs: int,
) -> Floats:  # fmt: skip
    """Edge effects by graphs that differ in the wanted edges only (gamma-freezing, Appendix C.2).

    X_j's loss depends on the edges into X_j alone. So if at most one edge into each variable is wanted, as with those
    out of a single target, all of them can be switched at once: K graphs with all, and the same K with none.
    """
    graphs = rng.random((n_graphs, len(probability))) < probability
    losses = model.graph_losses(regime, rows, np.concatenate([graphs | wanted, graphs & ~wanted]))
    delta: Floats = (losses[:n_graphs] - losses[n_graphs:]).mean(axis=0)[model.candidates.effect]
    return np.where(wanted & _free(model, regime), delta, np.nan)


def weighted_presence(
    model: ConditionalModel, regime: Regime, rows: Rows, probability: Floats, rng: np.random.Generator, n_graphs: int,
    likelihood_rows: float = 1.0,
) -> Floats:  # fmt: skip
    """Share of K sampled graphs that contain each pair, graphs weighted by their likelihood, [P].

    For the pairs into X_j, graph k has the weight w_k = exp(-m L_k(X_j)) / sum_l exp(-m L_l(X_j)): the likelihood of
    m = `likelihood_rows` rows that lose as much as a row of the batch does on average.
    """
    graphs, losses = _score_graphs(model, regime, rows, probability, rng, n_graphs)
    weights = softmax(-likelihood_rows * losses, axis=0)[:, model.candidates.effect]
    share: Floats = np.einsum("gp,gp->p", weights, graphs)
    return share


def edge_cost(name: str, parameters: EdgeParameters, sparsity: float) -> float | Floats:
    """lambda_sparse on the scale of delta, for Eq. 3.

    Eq. 5 adds lambda_sparse to what sigmoid'(gamma) multiplies in Eq. 3. That keeps it above the noise of unlikely
    edges, which falls with their probability; at the scale of Eq. 3 they would wander for ever.
    """
    if name != "reinforce":
        return sparsity
    existence = parameters.existence()
    with np.errstate(divide="ignore"):
        return sparsity / (existence * (1.0 - existence))


Estimator = Callable[[ConditionalModel, Regime, Rows, Floats, Mask, np.random.Generator, int], Floats]
ESTIMATORS: dict[str, Estimator] = {"paired": paired, "independent": independent, "reinforce": reinforce}


def register(name: str, estimator: Estimator) -> None:
    """Add an estimator of edge effects, so that the setting `estimator` can name it.

    Examples
    --------
    >>> from enco.settings import Settings
    >>> register("again", paired)
    >>> Settings(estimator="again").estimator
    'again'
    >>> del ESTIMATORS["again"]
    >>> ADDED_ESTIMATORS.remove("again")
    """
    if name not in ESTIMATORS:
        ADDED_ESTIMATORS.append(name)
    ESTIMATORS[name] = estimator


def _score_graphs(
    model: ConditionalModel, regime: Regime, rows: Rows, probability: Floats, rng: np.random.Generator, n_graphs: int
) -> tuple[Mask, Floats]:
    """K sampled graphs [K, P], and the loss of each variable under each of them [K, N]."""
    graphs = rng.random((n_graphs, len(probability))) < probability
    return graphs, model.graph_losses(regime, rows, graphs)


def _free(model: ConditionalModel, regime: Regime) -> Mask:
    """Pairs whose effect is not a target: an intervention cuts the edges into its targets."""
    free: Mask = regime.free(model.candidates.effect)
    return free
