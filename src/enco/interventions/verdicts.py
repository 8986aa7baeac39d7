"""Which interventions to believe: those that did something, as far as the data can tell.

A single p-value does not decide: with few rows, many interventions that work are not significant, and with many regimes
some that failed are. So all regimes are judged together. Their p-values p are a mixture of two kinds,

    f(p) = w + (1 - w) a p^(a - 1),     a = 1 / (1 + d n),

uniform where nothing was done, and small where something was: the more rows n a regime has, the smaller, by d nats for
each row (the mean of -log p is 1 + d n). With hundreds of rows an intervention that is hardly significant is not
believed; with twenty it may be. The share w of regimes without effect and the effect d are averaged over a grid,
weighted by the likelihood. The verdict is "no effect" where that is the more probable.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.data.variables import Condition
from enco.interventions.two_sample import effect_p_values

__all__ = ["Verdict", "believed", "judged", "probability_without_effect"]

Floats = NDArray[np.float64]

SHARES = np.linspace(0.0, 0.98, 50)  # of regimes without effect
PRIOR = 1.0  # of the density (1 - w)^PRIOR: one regime in three is expected to fail, before any data
EVEN = 0.5  # probability of no effect above which an intervention is not believed
EFFECTS = np.geomspace(0.02, 1.0, 14)  # nats for each row


@dataclass(frozen=True)
class Verdict:
    """What one intervention did to one of its targets.

    Attributes
    ----------
    regime : int
        Place among the intervention regimes of the data.
    target : int
        Position of the variable.
    rows : int
    p_value : float
        Of a test that nothing was done.
    without_effect : float
        Probability that nothing was done.
    """

    regime: int
    target: int
    rows: int
    p_value: float
    without_effect: float

    @property
    def has_effect(self) -> bool:
        """Whether the intervention is believed."""
        return self.without_effect <= EVEN


def judged(data: InterventionalData, claim: str = "auto") -> list[Verdict]:
    """Judge every target of every intervention regime of which nobody claims to know what it did.

    Parameters
    ----------
    data : InterventionalData
    claim : {"auto", "perfect", "soft"}
        What is said of regimes of which nothing is said in particular.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> blocks = [rng.integers(2, size=(500, 3)), rng.integers(2, size=(100, 3)), np.zeros((100, 3), int)]
    >>> data = InterventionalData.from_environments(blocks, [None, "X1", "X2"])
    >>> [verdict.has_effect for verdict in judged(data)]
    [False, True]
    """
    open_ = [(regime.claim or claim) == "auto" for regime in data.interventional]
    if not any(open_):
        return []
    p_values = effect_p_values(data)
    places = [(k, target, p) for k, found in enumerate(p_values) if open_[k] for target, p in found.items()]
    rows = [data.interventional[k].n_rows for k, _, _ in places]
    without = probability_without_effect([p for _, _, p in places], rows)
    return [
        Verdict(k, target, n, p, float(share)) for (k, target, p), n, share in zip(places, rows, without, strict=True)
    ]


def probability_without_effect(p_values: Sequence[float], rows: Sequence[int]) -> Floats:
    """Probability of each intervention to have had no effect, given the p-values and numbers of rows of all.

    Examples
    --------
    >>> (probability_without_effect([1e-9, 1e-12, 1e-20, 0.7, 0.1], [200] * 5) > 0.5).tolist()
    [False, False, False, True, True]
    >>> (probability_without_effect([0.04, 0.001, 0.01, 0.2, 0.08], [20] * 5) > 0.5).tolist()
    [False, False, False, False, False]
    """
    p = np.asarray(p_values, np.float64)[:, None, None]
    power = 1.0 / (1.0 + EFFECTS * np.asarray(rows, np.float64)[:, None, None])  # [p, 1, effects]
    small = power * p ** (power - 1.0)
    nothing = SHARES[:, None]  # [shares, 1]
    density = nothing + (1.0 - nothing) * small  # [p, shares, effects]
    log_weight = PRIOR * np.log1p(-SHARES)[:, None] + np.log(density).sum(axis=0)
    weight = np.exp(log_weight - log_weight.max())
    mean: Floats = (weight * nothing / density).sum(axis=(1, 2)) / weight.sum()
    return mean


def believed(data: InterventionalData, verdicts: Sequence[Verdict]) -> InterventionalData:
    """Return the data with targets on which nothing was done left out of the labels.

    A regime without any target left is joined to the observational rows.

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> believed(data, [Verdict(0, 0, 2, 0.9, 0.9)]).observational.n_rows
    4
    """
    if all(verdict.has_effect for verdict in verdicts):
        return data
    in_vain = {(verdict.regime, verdict.target) for verdict in verdicts if not verdict.has_effect}
    regimes = [data.observational]
    for k, regime in enumerate(data.interventional):
        targets = tuple(target for target in regime.targets if (k, target) not in in_vain)
        condition = regime.condition._replace(targets=targets) if targets else Condition()
        regimes.append(regime.under(condition))
    return InterventionalData._from_checked(data.variables, regimes)
