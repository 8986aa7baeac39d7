"""Which pairs of a graph share a latent confounder, judged on all rows (not in the paper).

The score lc of the paper (`enco.confounders`) asks whether an edge pays in *prediction*, row by row. A confounder of
two variables with many other causes is weak: one needs many rows to learn what it is good for, and far fewer to see
that it is there. So once there is a graph, the same three questions are asked of it by tests:

    score(i, j) = dependence(i, j) * s(c + harm[i, j]) * s(c + harm[j, i]),     s = sigmoid, c = edge_evidence

dependence   Where neither is a target, are i and j dependent given their parents? If not, the residuals of both, from
             cross-fitted networks for exactly these parents, are uncorrelated (the generalised covariance measure, Shah
             and Peters 2020). With p the p-value of that, it is s(-log p - log(number of pairs) - c), or 0 if the
             dependence is no more than what networks that are not quite right leave.
harm         Under interventions on i, how much worse is X_j explained with the edge i -> j than without, in nats? A
             cause helps. A confounded variable harms: it promises what interventions on it do not keep.

An edge of the graph has dependence 1 and must be harmful beyond doubt to be questioned: s(harm[i, j] - c) for i -> j.
Questioned edges are taken out, and the first line then decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chi2

from enco.conditionals.base import ConditionalModel
from enco.data import Regime
from enco.score.journal import Journal
from enco.score.networks import Networks, presence_near
from enco.score.objective import families_of
from enco.score.rows import N_FOLDS, Sample
from enco.settings import Settings

__all__ = ["Dependence", "confounding", "harm"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Residuals of networks that are not quite right are a little correlated, and with enough rows that shows. So much of
# the statistic per row is not counted: in simulated graphs of 25 variables with many rows, pairs without a confounder
# showed up to 7e-6; confounded ones that left a trace at all showed 5e-5 and more. Less than twice as much for each row
# is no dependence, however significant.
_UNCOUNTED = 1e-5


def confounding(
    model: ConditionalModel,
    regimes: Sequence[Regime],
    graph: Mask,
    scorable: Mask,
    settings: Settings,
    journal: Journal | None = None,
) -> tuple[Floats, Mask]:
    """Score every pair of variables of an acyclic graph.

    Parameters
    ----------
    model : ConditionalModel
        Networks like these are trained.
    regimes : sequence of Regime
        The observational one and all others.
    graph : bool [N, N]
    scorable : bool [P]
        Pairs to score, see `enco.confounders.scorable`.
    settings : Settings
        With c, `edge_evidence`, and the score beyond which an edge is questioned, `confounder_threshold`.
    journal : Journal, optional
        Of what was computed before an interruption.

    Returns
    -------
    score : float64 [P]
        The same for (i, j) and (j, i); NaN where not scorable.
    graph : bool [N, N]
        Without the edges between pairs beyond the threshold.
    """
    pairs, evidence, threshold = model.candidates, settings.edge_evidence, settings.confounder_threshold
    cause, effect, reverse = pairs.cause, pairs.effect, pairs.reverse
    sample = Sample.of(regimes, len(graph))

    def harm_of(near: Mask) -> Floats:
        presence = presence_near(near, near, np.ones_like(near))
        return harm(Networks(model, sample, presence, settings, journal=journal), near)

    harmful = harm_of(graph)
    present = graph[cause, effect]
    as_edge = expit(harmful - evidence) * expit(harmful[reverse] + evidence)
    questioned = present & scorable & (as_edge > threshold)
    without = graph.copy()
    without[cause[questioned], effect[questioned]] = False
    if questioned.any():
        harmful = harm_of(without)
    doubt = evidence + np.log(1 + np.count_nonzero(scorable) // 2)
    test = Dependence.of(Networks(model, sample, without.astype(np.float64), settings, journal=journal), without)
    dependence = test.large()[cause, effect] * expit(-test.log_p()[cause, effect] - doubt)
    score = dependence * expit(harmful + evidence) * expit(harmful[reverse] + evidence)
    kept = present & ~questioned
    score = np.where(kept, as_edge, np.where((reverse >= 0) & kept[reverse], as_edge[reverse], score))
    score = np.where(cause < effect, score, score[reverse])  # sums of the two directions round differently
    score = np.where(scorable, score, np.nan)
    found = score > threshold
    cleared = graph.copy()
    cleared[cause[found], effect[found]] = False
    return score, cleared


def harm(networks: Networks, graph: Mask) -> Floats:
    """Change of the summed loss by having each edge rather than not, where its cause was a target, nats, [P]."""
    pairs, sample = networks.pairs, networks.sample
    targeted = ~sample.free  # [N, regimes]
    total = np.zeros(pairs.n_pairs)
    for effect, parents in families_of(graph):
        into = pairs.pairs_into(effect)
        causes = pairs.cause[into]
        now, *changed = networks.of(effect).regime_changes(parents, causes.tolist())
        sign = np.where(np.isin(causes, list(parents)), -1.0, 1.0)
        where = targeted[causes] & sample.free[effect]
        total[into] = sign * ((np.array(changed).reshape(len(causes), -1) - now) * where).sum(axis=1)
    return total


@dataclass(frozen=True)
class Dependence:
    """Test of the independence of every two variables given their parents in a graph.

    With residuals u_i and u_j, the statistic is the squared norm of the sum over rows of u_i u_j', divided by its mean
    under independence, the sum of |u_i|^2 |u_j|^2, which holds even where the spread of both depends on the same
    parents. It is then distributed like a weighted sum of squared normal variables, the weights being products of the
    variances of u_i and u_j in their principal directions; its first three moments decide the p-value.

    Attributes
    ----------
    ratio : float64 [N, N]
        The statistic; its mean is 1 under independence.
    rows : float64 [N, N]
        Rows where neither was a target.
    second, third : float64 [N, N]
        Sums of the squares, and of the cubes, of the weights, which sum to 1.
    """

    ratio: Floats
    rows: Floats
    second: Floats
    third: Floats

    @classmethod
    def of(cls, networks: Networks, graph: Mask) -> "Dependence":
        """Test on the rows where neither of the two was intervened on, by networks trained for exactly this graph."""
        return cls.of_residuals([networks.residuals(graph, fold) for fold in range(N_FOLDS)], len(graph))

    @classmethod
    def of_residuals(cls, blocks: list[list[Floats]], n_variables: int) -> "Dependence":
        """Test residuals of all variables, [rows, K_j] each, in several blocks of rows; zero where one was a target."""
        scaling, weights = _scaling(blocks, n_variables)
        start = np.cumsum([0, *map(len, weights)])
        products, (norms, rows) = np.zeros((start[-1], start[-1])), np.zeros((2, n_variables, n_variables))
        for residuals in blocks:
            scaled = [residual @ matrix for residual, matrix in zip(residuals, scaling, strict=True)]
            stacked = np.concatenate(scaled, axis=1)
            products += stacked.T @ stacked
            squares = np.stack([(part**2).sum(axis=1) for part in scaled], axis=1)
            norms += squares.T @ squares
            free = (squares > 0).astype(np.float64)
            rows += free.T @ free
        summed = np.add.reduceat(np.add.reduceat(products**2, start[:-1], axis=0), start[:-1], axis=1)
        second, third = (np.array([(weight**power).sum() for weight in weights]) for power in (2, 3))
        ratio = summed / np.where(norms > 0, norms, np.inf)
        return cls(ratio, rows, np.outer(second, second), np.outer(third, third))

    def log_p(self) -> Floats:
        """Log of the p-value of more dependence than networks that are not quite right would show, [N, N].

        Examples
        --------
        >>> one = np.ones((1, 1))
        >>> Dependence(3.84 * one, one, one, one).log_p().round(2)  # one squared normal variable: p = 0.05
        array([[-2.99]])
        """
        freedom = self.second**3 / self.third**2
        excess = self.ratio - 1.0 - _UNCOUNTED * self.rows
        log_p: Floats = chi2.logsf(freedom + excess * np.sqrt(freedom / self.second), freedom)
        return log_p

    def large(self) -> Mask:
        """Whether the dependence is more than networks that are not quite right have shown, [N, N].

        Examples
        --------
        >>> one = np.ones((1, 1))
        >>> Dependence(11 * one, 100_000 * one, one, one).large(), Dependence(11 * one, 1e6 * one, one, one).large()
        (array([[ True]]), array([[False]]))
        """
        mask: Mask = self.ratio - 1.0 > 2 * _UNCOUNTED * self.rows
        return mask


def _scaling(blocks: list[list[Floats]], n_variables: int) -> tuple[list[Floats], list[Floats]]:
    """Matrices [K_j, directions] that scale the residuals of each variable, and the shares of variance afterwards.

    Halfway between residuals as they are, of which few directions would count, and unit variance in all directions, of
    which most would be noise.
    """
    matrices, weights = [], []
    for variable in range(n_variables):
        parts = [residuals[variable] for residuals in blocks]
        value, vector = np.linalg.eigh(np.sum([part.T @ part for part in parts], axis=0))
        real = value > np.finfo(np.float32).eps * value[-1]  # below it there is none
        real[-1] = True  # a variable without any residual keeps one direction, in which nothing happens
        deviation = np.sqrt(np.maximum(value[real], np.finfo(float).tiny))
        matrices.append(vector[:, real] / np.sqrt(deviation))
        weights.append(deviation / deviation.sum())
    return matrices, weights
