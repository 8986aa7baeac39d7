"""What speaks for each edge of a graph, row by row.

The gain of an edge i -> j is what the rows lose if i is no longer a parent of j. Its direction gains what they lose if
the edge is turned: i is no longer a parent of j, and j becomes one of i. What of that is lost in rows that intervene on
one of the two is what interventions say about the direction; it is negative where they contradict it.

Rows of one regime have much in common: its reagent, its day, what its targets do to all others. So a gain has a
standard error with regimes as clusters besides that of independent rows, and the larger one counts: an effect that one
regime alone claims is less sure than one that many do. A direction rests on few regimes by nature, those of its two
ends; how far to believe these is another question (`enco.result.account.doubt_of_directions`). Its error is that of
independent rows.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.score.networks import NetworkPredictor
from enco.score.objective import families_of
from enco.score.rows import Sample

__all__ = ["Gains", "Support", "gain_and_error", "gains_of_edges"]

Floats = NDArray[np.float64]
Map = Callable[[Callable[[int], None], Iterable[int]], Iterable[None]]


class Gains(NamedTuple):
    """Nats and their standard errors, [N, N] each, row = cause; NaN where there is no edge, or it cannot be turned.

    Attributes
    ----------
    gain, gain_error : float64
        Of the edge.
    turn, turn_error : float64
        Of its direction.
    told : float64
        The part of `turn` that rows have which intervene on one of the two variables.
    """

    gain: Floats
    gain_error: Floats
    turn: Floats
    turn_error: Floats
    told: Floats


class Support(NamedTuple):
    """What speaks for the edges of a graph.

    Attributes
    ----------
    probability : float64 [N, N]
        By an average over graphs near it, see `enco.search.nearby`.
    gains : Gains
    """

    probability: Floats
    gains: Gains


def gains_of_edges(
    predictor: Callable[[int], NetworkPredictor],
    graph: NDArray[np.bool_],
    candidates: Sequence[frozenset[int]],
    sample: Sample,
    run: Map = map,
) -> Gains:
    """Return the gain of every edge and of its direction.

    Parameters
    ----------
    predictor : callable
        Of a variable.
    graph : bool [N, N]
        Row = cause.
    candidates : sequence of frozenset
        Possible parents of each variable; an edge whose reverse is not possible has no gain of its direction.
    sample : Sample
    run : callable
        Like `map`, over the variables.
    """
    gains = Gains(*np.full((len(Gains._fields), *graph.shape), np.nan))
    families = [parents for _, parents in families_of(graph)]
    each = sample.weight[sample.origin]

    def look(effect: int) -> None:
        if not families[effect]:
            return
        judged, mine = _judged(sample, effect), predictor(effect)
        causes = sorted(families[effect])
        having, *without = mine.row_changes(families[effect], causes)
        for cause, lost in zip(causes, without, strict=True):
            gained = np.where(judged, lost - having, 0.0)
            at = cause, effect
            gains.gain[at], *errors = gain_and_error(gained[judged], sample.origin[judged], sample.weight)
            gains.gain_error[at] = max(errors)
            if effect not in candidates[cause]:
                continue
            before, after = predictor(cause).row_changes(families[cause], [effect])
            other = _judged(sample, cause)
            turned = gained + np.where(other, after - before, 0.0)
            either = judged | other
            gains.turn[at], gains.turn_error[at], _ = gain_and_error(
                turned[either], sample.origin[either], sample.weight
            )
            gains.told[at] = float((turned * each)[judged ^ other].sum())

    for _ in run(look, range(len(graph))):
        pass
    return gains


def _judged(sample: Sample, variable: int) -> NDArray[np.bool_]:
    judged = np.zeros(len(sample.origin), bool)
    judged[sample.judged_rows(variable)] = True
    return judged


def gain_and_error(gained: Floats, regime: NDArray[np.int64], weight: Floats) -> tuple[float, float, float]:
    """Sum what rows have gained, and estimate the standard error of the sum, for rows and for regimes as clusters.

    With g_r the gain of row r, m its mean over all n rows, and G_k and n_k the sum and the number of the rows of regime
    k of K, the errors are the roots of sum (g_r - m)^2 and of K / (K - 1) sum (G_k - m n_k)^2.

    Parameters
    ----------
    gained : float64 [rows]
    regime : int64 [rows]
    weight : float64 [regimes]
        Rows that each row of a regime stands for.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> regime = np.repeat(np.arange(5), 100)
    >>> everywhere = rng.normal(0.2, 1.0, size=500)
    >>> in_one = np.where(regime == 3, 1.0, 0.0) + rng.normal(size=500)
    >>> both = [gain_and_error(gained, regime, np.ones(5)) for gained in (everywhere, in_one)]
    >>> [round(gain / max(errors), 1) for gain, *errors in both]
    [3.8, 0.6]
    """
    each = weight[regime]
    summed = np.bincount(regime, gained * each, minlength=len(weight))
    count = np.bincount(regime, each, minlength=len(weight))
    total, n, k = float(summed.sum()), float(count.sum()), int(np.count_nonzero(count))
    mean = total / n
    rows = float(np.sum((each * (gained - mean)) ** 2))
    regimes = float(np.sum((summed - mean * count) ** 2)) * k / max(1, k - 1)
    return total, float(np.sqrt(rows)), float(np.sqrt(regimes))
