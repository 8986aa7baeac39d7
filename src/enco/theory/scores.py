"""How well a variable is predicted from every subset of some others, in every regime.

The score of a set T for the variable X_j in a regime is E[log p(X_j | T)], in nats per row: the expectation is
over the regime, the conditional is the observational one, as in all conditions of the theorem. The gain of an edge
i -> j beside the parents S is a difference of two scores, score(S + i) - score(S).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLOOR", "SubsetScores", "log_conditional", "subset_scores"]

FLOOR = 1e-9
"""No prediction gives less than this to a level: keeps the loss of an impossible event finite."""


@dataclass(frozen=True)
class SubsetScores:
    """Scores of all subsets of a scope; a subset is a bit mask over the positions in the scope.

    Attributes
    ----------
    scope : tuple of int
        Variables, bit b of a mask standing for scope[b].
    scores, unseen : ndarray [rows, 2 ** len(scope)]
        E[log p(X_j | T)], and the share of rows whose configuration of T has observational probability zero.
    row_of : mapping from target to int
        Row of each intervention, as in `RegimeTable`.
    """

    scope: tuple[int, ...]
    scores: NDArray[np.float64]
    unseen: NDArray[np.float64]
    row_of: Mapping[int, int]


def log_conditional(
    observational: NDArray[np.float64], pseudo_weight: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Observational log p(x_j | t), and which configurations t never occur.

    Parameters
    ----------
    observational : ndarray [..., levels of X_j]
        The joint distribution of a set and X_j; X_j is the last axis.
    pseudo_weight : float
        w in (p(x_j, t) + w p(x_j)) / (p(t) + w). In the limit w = 0, a configuration that never occurs gets the
        marginal p(x_j): somebody who never saw it can do no better.

    Returns
    -------
    log_p : ndarray [..., levels of X_j]
    unseen : ndarray of bool [..., 1]

    Examples
    --------
    >>> log_p, unseen = log_conditional(np.array([[0.1, 0.3], [0.6, 0.0], [0.0, 0.0]]))
    >>> np.exp(log_p).round(2).tolist(), unseen.ravel().tolist()
    ([[0.25, 0.75], [1.0, 0.0], [0.7, 0.3]], [False, False, True])
    """
    share = observational.sum(axis=-1, keepdims=True)
    own = observational.reshape(-1, observational.shape[-1]).sum(axis=0)
    unseen = share == 0
    if pseudo_weight > 0:
        conditional = (observational + pseudo_weight * own) / (share + pseudo_weight)
        unseen = np.zeros_like(unseen)
    else:
        conditional = np.where(unseen, own, observational / np.where(unseen, 1.0, share))
    return np.log(np.maximum(conditional, FLOOR)), unseen


def subset_scores(
    values: NDArray[np.float64], scope: tuple[int, ...], row_of: Mapping[int, int], *, pseudo_weight: float = 0.0
) -> SubsetScores:
    """Score every subset of the scope.

    Parameters
    ----------
    values : ndarray [rows, levels of each variable of the scope, levels of X_j]
        Joint distributions; row 0 is observational.
    scope, row_of
        As in `SubsetScores`.
    pseudo_weight : float
        As in `log_conditional`.

    Examples
    --------
    >>> joint = np.array([[[0.4, 0.1], [0.1, 0.4]]])
    >>> subset_scores(joint, (0,), {}).scores.round(3)
    array([[-0.693, -0.5  ]])
    """
    n_rows, n_sets = len(values), 2 ** len(scope)
    scores, unseen = np.empty((n_rows, n_sets)), np.zeros((n_rows, n_sets))

    def visit(table: NDArray[np.float64], members: list[int], mask: int) -> None:
        """Score one subset, then those that lack more of its members, each from the smallest table at hand."""
        flat = table.reshape(n_rows, -1)
        log_p, never = log_conditional(table[0], pseudo_weight)
        scores[:, mask] = flat @ log_p.ravel()
        if never.any():
            unseen[:, mask] = flat @ np.broadcast_to(never, log_p.shape).ravel().astype(np.float64)
        # A subset is reached only from the one that has its smallest missing member in addition: once.
        smallest_missing = next((bit for bit in range(len(scope)) if not mask >> bit & 1), len(scope))
        for axis, bit in enumerate(members):
            if bit >= smallest_missing:
                break
            visit(table.sum(axis=1 + axis), members[:axis] + members[axis + 1 :], mask & ~(1 << bit))

    visit(values, list(range(len(scope))), n_sets - 1)
    return SubsetScores(scope, scores, unseen, row_of)
