"""How strong an intervention was: in which share of its rows its target has left its usual mechanism.

In a regime that intervenes on i, a share s of the rows may follow a distribution q of their own, and the others what
X_i follows everywhere else, given its parents in the graph that was found:

    p(x) = s q(x) + (1 - s) p(x | parents).

s = 1 is a perfect intervention, s = 0 one without effect, and anything between one that took hold in some of the rows,
as guides do. A target that follows a mechanism of its own, but still one of its parents (`enco.score.own`), has kept
them: such an intervention is soft, although it took hold in all rows.

Whether targets keep their parents can be seen only where the graph gives them the right ones, and a graph that was
found in the belief that they do not may have others. So all interventions are judged together: where most targets that
have parents have clearly kept them, none is believed to be perfect but those that have clearly lost theirs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.score.base import Parents, Predictor
from enco.score.objective import CLEAR_HARM
from enco.score.own import OwnMechanism

__all__ = ["Strength", "beyond_misfit", "keeping", "log_ratio", "mixture", "strengths"]

Floats = NDArray[np.float64]

HALF = 0.5  # of the rows: with less, an intervention says little about what its targets have lost


class Strength(NamedTuple):
    """How strong an intervention on a variable was.

    Attributes
    ----------
    regime, variable : int
    share : float
        Of the rows, that are better explained by a distribution of their own.
    evidence : float
        Nats by which the mixture of that share explains the rows better than a perfect intervention does.
    effect : float
        Evidence that the usual mechanism was left, in nats: what the best explanation gains, but not more than rows
        differ by from those that nothing was done to.
    kept : float
        Nats by which a mechanism of the parents, of the regime's own, explains the rows better than any mixture does;
        negative where that is worse, -inf without parents.
    own : float
        Loss by one distribution: where it is hardly above 0, the target was set to one value.
    """

    regime: int
    variable: int
    share: float
    evidence: float
    effect: float
    kept: float = -np.inf
    own: float = np.inf


def strengths(
    predictors: Sequence[Predictor],
    families: Sequence[Parents],
    mechanisms: Mapping[tuple[int, int], OwnMechanism],
    untouched: Callable[[int], OwnMechanism],
) -> list[Strength]:
    """Estimate the strength of every intervention, given parents of all variables.

    Parameters
    ----------
    predictors : sequence of Predictor
        Those without ``target_losses`` are left out.
    families : sequence of frozenset
        Parents of each variable.
    mechanisms : mapping
        By regime and target.
    untouched : callable
        Target -> observational rows, which are asked the same to see what the usual mechanism is wrong by.
    """
    found = []
    for (k, target), mechanism in mechanisms.items():
        ask, parents = getattr(predictors[target], "target_losses", None), families[target]
        if ask is None or not len(mechanism.marginal):
            continue
        usual, log_usual = ask(parents, mechanism)
        share, evidence, gain = mixture(usual, mechanism.marginal)
        kept = min((float(loss.sum()) for loss in mechanism.of_parents(parents, log_usual)), default=np.inf)
        kept = float(usual.sum()) - gain - kept  # as a gain over the best mixture
        other = untouched(target)
        elsewhere = log_ratio(ask(parents, other)[0], mechanism.marginal_of(other.columns[target]), share)
        effect = min(gain, beyond_misfit(log_ratio(usual, mechanism.marginal, share), elsewhere))
        if effect > CLEAR_HARM:
            effect += max(0.0, kept)
        found.append(Strength(k, target, share, evidence, effect, kept, float(mechanism.marginal.sum())))
    return found


def beyond_misfit(here: Floats, elsewhere: Floats) -> float:
    """Return the evidence that rows differ from untouched ones, in nats, whatever is wrong with the usual mechanism.

    Where a mechanism does not fit, a mixture explains any rows better. Rows that nothing was done to then have the same
    log-likelihood ratios as untouched ones, so that their means differ by z standard errors at random, and z^2 / 2 is
    to z what a log-likelihood ratio would be.

    Parameters
    ----------
    here, elsewhere : float64 [rows]
        Log-likelihood ratios, see `log_ratio`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> misfit = rng.normal(1.0, 2.0, size=2000)
    >>> beyond_misfit(misfit[:500], misfit[500:]) < 4, beyond_misfit(misfit[:500] + 1.0, misfit[500:]) > 30
    (True, True)
    """
    if len(here) < 2 or not len(elsewhere):
        return np.inf
    error = float(here.std(ddof=1)) * np.sqrt(1 / len(here) + 1 / len(elsewhere))
    z = float(here.mean() - elsewhere.mean()) / max(error, 1e-12)
    return float(0.5 * max(0.0, z) ** 2)


def log_ratio(usual: Floats, own: Floats, share: float) -> Floats:
    """Log-likelihood ratio of the mixture and the usual mechanism, from the losses by both of its parts, [rows]."""
    with np.errstate(divide="ignore"):  # log 0
        ratio: Floats = usual + np.logaddexp(np.log(share) - own, np.log1p(-share) - usual)
    return ratio


def keeping(found: Iterable[Strength]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return where targets have clearly kept parents, and where they have clearly lost them, by regime and variable.

    None has kept them unless most have: a few may as well have edges that point the wrong way.

    Examples
    --------
    >>> perfect = [Strength(k, k, 1.0, 0.0, 50.0, kept=-1.0) for k in range(1, 5)]
    >>> soft = [Strength(k, k, 1.0, 0.0, 50.0, kept=20.0) for k in range(5, 11)]
    >>> keeping([*perfect, *soft])[0] == {(k, k) for k in range(5, 11)}, keeping([*perfect, *soft[:4]])[0]
    (True, set())
    """
    asked = list(found)
    kept = {(it.regime, it.variable) for it in asked if it.kept > CLEAR_HARM}
    lost = {
        (it.regime, it.variable)
        for it in asked
        if it.own <= CLEAR_HARM or (-np.inf < it.kept < -CLEAR_HARM and it.share > HALF)
    }
    with_parents = sum(it.kept > -np.inf for it in asked)
    return (kept, lost) if 2 * len(kept) > with_parents else (set(), lost)


def mixture(usual: Floats, own: Floats) -> tuple[float, float, float]:
    """Return the share s that explains rows best, and by how many nats better than s = 1, and than s = 0.

    Parameters
    ----------
    usual, own : float64 [rows]
        Losses by the usual mechanism and by a distribution of the regime's own.

    Examples
    --------
    >>> usual, own = np.array([0.1] * 60 + [9.0] * 40), np.full(100, 1.5)  # four rows of ten look unusual
    >>> share, evidence, effect = mixture(usual, own)
    >>> 0.4 < share < 0.6, evidence > 20, effect > 200
    (True, True, True)
    """
    shares = np.arange(41) / 40
    with np.errstate(divide="ignore"):  # log 0
        both = np.logaddexp(np.log(shares)[:, None] - own, np.log1p(-shares)[:, None] - usual)
    total = both.sum(axis=1)
    best = int(np.argmax(total))
    return float(shares[best]), float(total[best] - total[-1]), float(total[best] - total[0])
