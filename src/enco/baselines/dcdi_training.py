"""The training loop of DCDI: networks and edge logits together, under the augmented Lagrangian."""

from math import log
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.special import expit

from enco.baselines.lagrangian import Lagrangian
from enco.candidates import Candidates
from enco.parameters import Adam

if TYPE_CHECKING:
    from enco.baselines.dcdi import DCDISettings

__all__ = ["Look", "MaskedNetworks", "acyclicity", "train"]

Floats = NDArray[np.float64]
Look = tuple[int, int, float, float, float]  # step, edges, held-out loss, h, mu

LARGEST_START = 0.6  # probability of an edge in the beginning


class MaskedNetworks(Protocol):
    """Networks of all variables, which see the parents that a mask drawn for each row lets through.

    The loss is a mean over variables, of the rows that leave them free.
    """

    def step(self, logits: Floats) -> Floats:
        """Take a step on a batch of rows; the gradient of its loss by the logits of the edges, [P]."""

    def held_out_loss(self, logits: Floats) -> float:
        """Loss of rows that networks do not learn from."""

    def restart(self) -> None:
        """Forget the optimiser's moments."""


def train(networks: MaskedNetworks, candidates: Candidates, settings: "DCDISettings") -> tuple[Floats, list[Look]]:
    """Train until the constraint holds.

    Returns
    -------
    probability : float64 [N, N]
        Of every edge.
    history : list of (step, edges, loss, h, mu)
        One entry per look.
    """
    n_variables, every = candidates.n_variables, np.arange(candidates.n_pairs)
    start = min(LARGEST_START, settings.parents / max(1, n_variables - 1))
    logits = np.full(candidates.n_pairs, log(start / (1 - start)))
    sparsity = settings.sparsity / n_variables**2
    lagrangian, adam = Lagrangian(mu=settings.mu, tolerance=settings.tolerance), Adam(len(logits), 0.9, 0.999)
    history: list[Look] = []
    for step in range(1, settings.max_steps + 1):
        probability = expit(logits)
        h, slope = acyclicity(candidates.dense(probability))
        price = sparsity + lagrangian.slope(h) * slope[candidates.cause, candidates.effect]
        gradient = networks.step(logits) + price * probability * (1 - probability)
        adam.move(logits, every, gradient, settings.logit_rate)
        if step % settings.window:
            continue
        probability = expit(logits)
        h, _ = acyclicity(candidates.dense(probability))
        loss = networks.held_out_loss(logits) + sparsity * float(probability.sum())
        history.append((step, int((probability > 0.5).sum()), loss, h, lagrangian.mu))
        if h < settings.constraint:
            break
        if lagrangian.look(loss, h):
            adam = Adam(len(logits), 0.9, 0.999)
            networks.restart()
    return candidates.dense(expit(logits)), history


def acyclicity(probability: Floats) -> tuple[float, Floats]:
    """H = trace(exp(A)) - N and its gradient exp(A)^T.

    Examples
    --------
    >>> h, _ = acyclicity(np.array([[0.0, 1.0], [0.0, 0.0]]))
    >>> h
    0.0
    >>> h, _ = acyclicity(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> round(h, 3)  # e + 1/e - 2
    1.086
    """
    exponential: Floats = expm(probability)
    return max(float(np.trace(exponential)) - len(probability), 0.0), exponential.T
