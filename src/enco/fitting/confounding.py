"""Which pairs of a graph share a latent confounder, judged on all rows (not in the paper).

The score lc of the paper (`enco.confounders`) asks whether an edge pays in *prediction*, row by row. A confounder of
two variables with many other causes is weak: one needs many rows to learn what it is good for, and far fewer to see
that it is there. So once there is a graph, the same three questions are asked of it by tests:

    score(i, j) = dependence(i, j) * s(c + harm[i, j]) * s(c + harm[j, i]),     s = sigmoid, c = edge_evidence

dependence   Where neither is a target, are i and j dependent given their parents? If not, the residuals of both, from
             the cross-fitted networks, are uncorrelated (the generalised covariance measure, Shah and Peters 2020).
             With p the p-value of that, it is s(-log p - log(number of pairs) - c).
harm         Under interventions on i, how much worse is X_j explained with the edge i -> j than without, in nats? A
             cause helps. A confounded variable harms: it promises what interventions on it do not keep.

An edge of the graph has dependence 1 and must be harmful beyond doubt to be questioned: s(harm[i, j] - c) for i -> j.
Questioned edges are taken out, and the first line then decides.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chi2

from enco.data import Regime
from enco.fitting.scoring import CrossFit

__all__ = ["Dependence", "confounding"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_SMALLEST = 1e-6  # of the variance of residuals in some direction, relative to the largest; below it there is none


def confounding(
    scores: CrossFit, graph: Mask, *, observational: Regime, scorable: Mask, evidence: float, threshold: float
) -> tuple[Floats, Mask]:
    """Score every pair of variables of an acyclic graph.

    Parameters
    ----------
    scores : CrossFit
        Is trained here.
    graph : bool [N, N]
    observational : Regime
    scorable : bool [P]
        Pairs to score, see `enco.confounders.scorable`.
    evidence : float
        c, in nats.
    threshold : float
        Of the score, beyond which an edge is questioned.

    Returns
    -------
    score : float64 [P]
        The same for (i, j) and (j, i); NaN where not scorable.
    graph : bool [N, N]
        Without the edges between pairs beyond the threshold.
    """
    pairs = scores.pairs
    cause, effect, reverse = pairs.cause, pairs.effect, pairs.reverse
    scores.train(graph)
    harm = scores.harm(graph)
    present = graph[cause, effect]
    as_edge = expit(harm - evidence) * expit(harm[reverse] + evidence)
    questioned = present & scorable & (as_edge > threshold)
    without = graph.copy()
    without[cause[questioned], effect[questioned]] = False
    if questioned.any():
        scores.train(without)
        harm = scores.harm(without)
    doubt = evidence + np.log(1 + np.count_nonzero(scorable) // 2)
    dependence = expit(-Dependence.of(scores, without, observational).log_p()[cause, effect] - doubt)
    score = dependence * expit(harm + evidence) * expit(harm[reverse] + evidence)
    kept = present & ~questioned
    score = np.where(kept, as_edge, np.where((reverse >= 0) & kept[reverse], as_edge[reverse], score))
    score = np.where(scorable, score, np.nan)
    found = score > threshold
    cleared = graph.copy()
    cleared[cause[found], effect[found]] = False
    return score, cleared


@dataclass(frozen=True)
class Dependence:
    """Test of the independence of every two variables given their parents in a graph.

    With residuals of unit covariance u_i and u_j, the statistic is the squared norm of the sum over rows of u_i u_j',
    divided by its mean under independence, the sum of |u_i|^2 |u_j|^2, and multiplied by the degrees of freedom: about
    chi-squared, even where the spread of both residuals depends on the same parents.

    Attributes
    ----------
    statistic, freedom : float64 [N, N]
    """

    statistic: Floats
    freedom: Floats

    @classmethod
    def of(cls, scores: CrossFit, graph: Mask, observational: Regime) -> "Dependence":
        """Test on the rows where neither of the two was intervened on, observational rows included."""
        blocks = list(scores.residual_blocks(graph, observational))
        unit = _whitening(blocks, len(graph))
        start = np.cumsum([0, *(matrix.shape[1] for matrix in unit)])[:-1]
        width = np.array([matrix.shape[1] for matrix in unit], np.float64)
        total = int(width.sum())
        products, norms = np.zeros((total, total)), np.zeros((len(graph), len(graph)))
        for residuals in blocks:
            units = [residual @ matrix for residual, matrix in zip(residuals, unit, strict=True)]
            stacked = np.concatenate(units, axis=1)
            products += stacked.T @ stacked
            squares = np.stack([(u**2).sum(axis=1) for u in units], axis=1)
            norms += squares.T @ squares
        summed = np.add.reduceat(np.add.reduceat(products**2, start, axis=0), start, axis=1)
        freedom = np.outer(width, width)
        return cls(summed * freedom / np.where(norms > 0, norms, np.inf), freedom)

    def log_p(self) -> Floats:
        """Log of the p-value, [N, N].

        Examples
        --------
        >>> Dependence(np.array([[3.84]]), np.array([[1.0]])).log_p().round(2)  # p = 0.05
        array([[-2.99]])
        """
        return chi2.logsf(self.statistic, self.freedom)  # type: ignore[no-any-return]


def _whitening(blocks: list[list[Floats]], n_variables: int) -> list[Floats]:
    """Matrices [K_j, rank] that turn residuals of each variable into ones of unit covariance."""
    matrices = []
    for variable in range(n_variables):
        parts = [residuals[variable] for residuals in blocks]
        rows = sum(int(part.any(axis=1).sum()) for part in parts)  # residuals of targets are zero
        covariance = np.sum([part.T @ part for part in parts], axis=0) / max(rows, 1)
        value, vector = np.linalg.eigh(covariance)
        real = value > _SMALLEST * value[-1]
        real[-1] = True  # a variable without any residual keeps one direction, in which nothing happens
        matrices.append(vector[:, real] / np.sqrt(np.maximum(value[real], _SMALLEST)))
    return matrices
