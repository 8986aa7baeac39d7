"""Small models with a name: the worked example of the convergence proof, and graphs that are not faithful.

Each returns an `SCM`, from which data can be drawn and whose convergence conditions `enco.theory` can check.
"""

from collections.abc import Callable

import numpy as np

from enco.errors import SettingsError
from enco.simulate.builders import categorical
from enco.simulate.cpts import from_cpts
from enco.simulate.scm import SCM

__all__ = [
    "EXAMPLES",
    "cancelling_paths",
    "deterministic_chain",
    "deterministic_random",
    "fully_connected",
    "noisy_xor",
    "worked_chain",
]


def worked_chain() -> SCM:
    """Return the chain X1 -> X2 -> X3 on which Appendix B.2.1 works out every condition by hand.

    X1 is 1 with probability 0.7; X2 equals X1 with probability 0.6; X3 equals X2 with probability 0.2.

    Examples
    --------
    >>> worked_chain().joint_probabilities()[1, 1, 0].round(3)  # the most frequent row
    np.float64(0.336)
    """
    return from_cpts(
        {
            "X1": ([], [0.3, 0.7]),
            "X2": (["X1"], [[0.6, 0.4], [0.4, 0.6]]),
            "X3": (["X2"], [[0.2, 0.8], [0.8, 0.2]]),
        }
    )


def noisy_xor(epsilon: float = 0.1) -> SCM:
    """Return two independent coins X1, X2 and their noisy exclusive or X3 (the fork of Appendix B.2.4).

    X3 = 1 with probability 1 - epsilon if the coins differ, else with probability epsilon. Neither coin alone says
    anything about X3, so condition 3 fails with the empty parent set; the paper recovers the graph all the same. The
    table printed in the paper lists a copy of X1; the text around it, which this follows, describes the exclusive or.

    Parameters
    ----------
    epsilon : float
        Noise, from 0 to 1; the closer to 0.5, the weaker the effect.

    Examples
    --------
    >>> noisy_xor(0.1).joint_probabilities()[0, 1].round(3)
    array([0.025, 0.225])
    """
    _check_probability("epsilon", epsilon)
    same, differ = [1 - epsilon, epsilon], [epsilon, 1 - epsilon]
    return from_cpts(
        {
            "X1": ([], [0.5, 0.5]),
            "X2": ([], [0.5, 0.5]),
            "X3": (["X1", "X2"], [same, differ, differ, same]),
        }
    )


def fully_connected(copy: float = 0.95, epsilon: tuple[float, float] = (0.05, 0.1)) -> SCM:
    """Return X1 -> X2, X1 -> X3, X2 -> X3 where X2 tells more about X1 than about X3 (Appendix B.2.4).

    X2 is nearly a copy of X1, and X3 depends on X1 much more than on X2. Under an intervention on X2, predicting X3
    from X2 alone is then worse than not using X2 at all: condition 1 fails for X2 -> X3 with the empty parent set.

    Parameters
    ----------
    copy : float
        Probability that X2 equals X1.
    epsilon : pair of float
        Probability that X3 differs from X1, for X2 = 0 and for X2 = 1.

    Examples
    --------
    >>> fully_connected()
    SCM(3 variables, 3 edges)
    """
    _check_probability("copy", copy)
    for value in epsilon:
        _check_probability("epsilon", value)
    first, second = epsilon
    return from_cpts(
        {
            "X1": ([], [0.5, 0.5]),
            "X2": (["X1"], [[copy, 1 - copy], [1 - copy, copy]]),
            "X3": (
                ["X1", "X2"],
                [[1 - first, first], [1 - second, second], [first, 1 - first], [second, 1 - second]],
            ),
        }
    )


def cancelling_paths(seed: int = 0) -> SCM:
    """Return X1 -> X2, X1 -> X3, X2 -> X3 with X2 = X1, so that either path explains X3 (Appendix D.4).

    Without intervention, X3 is independent of X1 given X2 and of X2 given X1; interventions tell them apart.

    Parameters
    ----------
    seed : int
        Decides the distributions of X1 and of X3 given both.

    Examples
    --------
    >>> joint = cancelling_paths().joint_probabilities()
    >>> float(joint[0, 1].sum() + joint[1, 0].sum())
    0.0
    """
    rng = np.random.default_rng(seed)
    # Away from 0, 1 and from each other by construction: a draw without any effect would be no example.
    first = rng.uniform(0.3, 0.7)
    chances = rng.permutation([0.1, 0.35, 0.6, 0.9]) + rng.uniform(-0.05, 0.05, size=4)
    return from_cpts(
        {
            "X1": ([], [1 - first, first]),
            "X2": (["X1"], np.eye(2)),
            "X3": (["X1", "X2"], np.stack([1 - chances, chances], axis=1)),
        }
    )


def deterministic_chain(probability: float = 0.5) -> SCM:
    """Return X1 -> X2 -> X3 where X2 copies X1 and X3 copies X2 (Appendix B.5).

    Parameters
    ----------
    probability : float
        Of X1 = 1, strictly between 0 and 1.

    Examples
    --------
    >>> deterministic_chain(0.25).joint_probabilities()[[0, 1], [0, 1], [0, 1]]
    array([0.75, 0.25])
    """
    if not 0 < probability < 1:
        raise SettingsError(f"probability must lie strictly between 0 and 1, but it is {probability}")
    return from_cpts(
        {
            "X1": ([], [1 - probability, probability]),
            "X2": (["X1"], np.eye(2)),
            "X3": (["X2"], np.eye(2)),
        }
    )


def deterministic_random(n: int = 25, seed: int = 0, *, categories: int = 10) -> SCM:
    """Return a random graph of which all variables with parents and children are functions (Appendix D.4).

    Edges have probability 0.1 and variables at most 3 parents. Variables without parents are random, and so are
    those without children, which follow a network of their parents.

    Parameters
    ----------
    n : int
        Number of variables.
    seed : int
        Decides graph, functions and order of the variables.
    categories : int
        Levels of each variable.

    Examples
    --------
    >>> int(deterministic_random(25, 1).adjacency.sum(axis=0).max())
    3
    """
    return categorical(
        "random",
        n,
        np.random.default_rng(seed),
        categories=categories,
        mechanism="deterministic",
        edge_probability=0.1,
        max_parents=3,
    )


EXAMPLES: dict[str, Callable[[], SCM]] = {
    "worked-chain": worked_chain,
    "noisy-xor": noisy_xor,
    "fully-connected": fully_connected,
    "cancelling-paths": cancelling_paths,
    "deterministic-chain": deterministic_chain,
    "deterministic-random": deterministic_random,
}
"""The examples with their default parameters, by the name that the command line uses."""


def _check_probability(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise SettingsError(f"{name} must be a probability, but it is {value}")
