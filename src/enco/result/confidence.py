"""How sure a result is of every edge: numbers that are right as often as they say, on simulated data.

The search says which graph is best, and by how much each pair prefers to be as it is (`enco.score.support`). How often
such a preference is right was counted in fits of simulated data, and is written down in `calibration.toml` as the
coefficients of two logistic curves, one for whether two variables are joined and one for the direction:

    logit P(joined) = a + b s(l) + c z         l: log-odds among graphs nearby, z: gain / error of the edge
    logit P(i -> j) = b s(l') + c z' + d s(t)   l': of the direction, z': turn / error, t: by rows that intervene on one

with s(x) = ln(1 + |x|) sign(x), and z between -6 and 6. No slope is negative, so that more evidence never means less
confidence. Other coefficients hold where no regime intervenes on one of the two variables alone, and others again where
no intervention is believed at all: directions then rest on what the networks can say about the form of mechanisms, and
none has a probability of 0.9. A direction is not surer than the labels that tell it: with the probability that none of
their interventions had an effect, both directions are alike.

The graph with the lowest total is one of many that are nearly as good, and some of its edges are in few of the others,
or rest on one regime alone. So an edge stays only if its variables are more likely joined than not. An edge of the
final graph has at least one half, and every other pair less.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from enco.score.support import Gains, Support

__all__ = [
    "Confidence",
    "Curves",
    "Verdict",
    "confidence_of",
    "count_at_fdr",
    "curves",
    "direction_features",
    "direction_probability",
    "joined_features",
    "tempered",
    "triple",
]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Triple = tuple[float, float, float]

EVEN = 0.5
EDGE = 1e-3  # by which an edge is surer than one half, and what is no edge less sure
MOST_Z = 6.0  # standard errors: more say no more
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Confidence:
    """How sure a result is, [N, N] each, row = cause.

    Attributes
    ----------
    existence : float64
        Probability that the two variables are joined by an edge, in either direction; symmetric.
    orientation : float64
        Probability that the edge goes from the row to the column if they are; 1 minus that of the reverse.
    gain, gain_error, turn, turn_error, told : float64
        What the rows say, see `enco.score.support.Gains`; NaN where there is no edge.
    slope : float64
        Of the effect by the cause, see `enco.result.slopes`; NaN where there is none.
    nearby : float64
        Share of i -> j among graphs nearby, which the curves turn into these probabilities.
    doubt : float64
        Probability that no intervention that tells the two apart had an effect; 1 where there is none.
    """

    existence: Floats
    orientation: Floats
    gain: Floats
    gain_error: Floats
    turn: Floats
    turn_error: Floats
    told: Floats
    slope: Floats
    nearby: Floats
    doubt: Floats

    @property
    def support(self) -> Support:
        """What the search has said."""
        return Support(self.nearby, Gains(self.gain, self.gain_error, self.turn, self.turn_error, self.told))


@dataclass(frozen=True)
class Curves:
    """Coefficients of the two curves, (number, number, number) each.

    Attributes
    ----------
    edges, others
        a, b and c of existence, for edges of the graph and for other pairs (whose c is 0).
    told, untold, blind
        b, c and d of the direction where an intervention tells the two variables apart, where only others do, and
        where there is none at all.
    """

    edges: Triple
    others: Triple
    told: Triple
    untold: Triple
    blind: Triple

    @classmethod
    def of(cls, content: Mapping[str, Mapping[str, Iterable[float]]]) -> "Curves":
        """Read a table like `calibration.toml`."""
        rows = {**content["joined"], **content["direction"]}
        return cls(**{field.name: triple(rows[field.name]) for field in fields(cls)})


def triple(numbers: Iterable[float]) -> Triple:
    """Take three numbers as a row of coefficients.

    Examples
    --------
    >>> triple([1, 2, 3])
    (1.0, 2.0, 3.0)
    """
    first, second, third = (float(number) for number in numbers)
    return first, second, third


class Verdict(NamedTuple):
    """What the curves say, [N, N] each.

    Attributes
    ----------
    graph : bool
        Without the edges of variables that are less likely joined than not.
    existence, orientation : float64
        See `Confidence`.
    """

    graph: Mask
    existence: Floats
    orientation: Floats


@cache
def curves() -> Curves:
    """Return the curves that come with the package.

    Examples
    --------
    >>> curves().edges[1] > 0
    True
    """
    return Curves.of(tomllib.loads(files("enco.result").joinpath("calibration.toml").read_text(encoding="utf-8")))


def tempered(number: Floats) -> Floats:
    """ln(1 + |x|) sign(x): numbers of a model that is not quite right say less, the larger they are.

    Examples
    --------
    >>> tempered(np.array([-1.0, 0.0, 1.0, 100.0])).round(1)
    array([-0.7,  0. ,  0.7,  4.6])
    """
    return np.asarray(np.sign(number) * np.log1p(np.abs(number)))


def joined_features(support: Support) -> tuple[Floats, Floats]:
    """Return s(l) and z of each pair, [N, N]; both are symmetric.

    Examples
    --------
    >>> none = np.full((2, 2), np.nan)
    >>> support = Support(np.array([[0.0, 0.75], [0.0, 0.0]]), Gains(none, none, none, none, none))
    >>> [float(feature[1, 0].round(2)) for feature in joined_features(support)]
    [0.74, 0.0]
    """
    joined = np.clip(support.probability + support.probability.T, SMALLEST, 1 - SMALLEST)
    z = _errors(support.gains.gain, support.gains.gain_error)
    return tempered(np.log(joined) - np.log1p(-joined)), z + z.T


def direction_features(support: Support) -> tuple[Floats, Floats, Floats]:
    """Return s(l'), z' and s(t) of each direction, [N, N]; that of the reverse is minus that.

    Examples
    --------
    >>> none = np.full((2, 2), np.nan)
    >>> support = Support(np.array([[0.0, 0.75], [0.25, 0.0]]), Gains(none, none, none, none, none))
    >>> direction_features(support)[0].round(2).tolist()
    [[0.0, 0.74], [-0.74, 0.0]]
    """
    log = np.log(np.maximum(support.probability, SMALLEST))
    z, told = _errors(support.gains.turn, support.gains.turn_error), tempered(np.nan_to_num(support.gains.told))
    return tempered(log - log.T), z - z.T, told - told.T


def _errors(gain: Floats, error: Floats) -> Floats:
    """Count standard errors, between -6 and 6; 0 where there is no edge."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(np.nan_to_num(gain / np.where(error > 0, error, np.nan)), -MOST_Z, MOST_Z)


def direction_probability(
    features: tuple[Floats, Floats, Floats], doubt: Floats, trust: Floats | float, curves: Curves
) -> Floats:
    """Return the probability of each direction of a pair that is joined.

    Parameters
    ----------
    features : three float64 [...]
        See `direction_features`.
    doubt : float64 [...]
        Probability that no intervention that tells the two variables apart had an effect; 1 if there is none.
    trust : float64, or [...]
        Share of the interventions that are believed to have had an effect.
    curves : Curves
    """

    def by(row: Triple) -> Floats:
        return np.asarray(expit(sum(weight * feature for weight, feature in zip(row, features, strict=True))))

    untold = trust * by(curves.untold) + (1 - trust) * by(curves.blind)
    return np.where(doubt >= 1, untold, (1 - doubt) * by(curves.told) + doubt * EVEN)


def confidence_of(
    support: Support,
    graph: Mask,
    doubt: Floats,
    curves: Curves,
    *,
    trust: float = 1.0,
    required: Mask | None = None,
    confounded: Floats | float = 0.0,
) -> Verdict:
    """Say how sure the search is that pairs are joined, and of each direction if they are.

    Parameters
    ----------
    support : Support
    graph : bool [N, N]
        What the search has found: acyclic.
    doubt : float64 [N, N]
        See `direction_probability`.
    curves : Curves
    trust : float
        See `direction_probability`.
    required : bool [N, N], optional
        Edges that stay, whatever the data say.
    confounded : float64 [N, N]
        Probability that a latent confounder joins the two instead.

    Examples
    --------
    >>> graph = np.array([[False, True], [False, False]])
    >>> gain = np.where(graph, 50.0, np.nan)
    >>> support = Support(np.array([[0.0, 0.99], [1e-9, 0.0]]), Gains(gain, gain / 5, gain, gain / 5, gain))
    >>> told, blind = (
    ...     confidence_of(support, graph, np.full((2, 2), doubt), curves(), trust=1 - doubt).orientation[0, 1]
    ...     for doubt in (0.0, 1.0)
    ... )
    >>> bool(told > 0.9 > blind > 0.5)
    True
    """
    joined = graph | graph.T
    log_odds, z = joined_features(support)
    a, b, c = (np.where(joined, edge, other) for edge, other in zip(curves.edges, curves.others, strict=True))
    considered = support.probability + support.probability.T > 0
    existence = np.where(considered | joined, expit(a + b * log_odds + c * z), 0.0)
    kept = graph & ((existence >= EVEN) | (False if required is None else required))

    orientation = direction_probability(direction_features(support), doubt, trust, curves)
    # The graph has the last word on which side of one half a pair is.
    orientation = np.where(kept, np.maximum(orientation, EVEN + EDGE), orientation)
    orientation = np.where(kept.T, 1 - orientation.T, orientation)
    existence, still_joined = existence * (1 - confounded), kept | kept.T
    existence = np.where(still_joined, np.maximum(existence, _least(kept, orientation)), existence)
    existence = np.where(still_joined, existence, np.minimum(existence, _most(orientation)))
    np.fill_diagonal(existence, 0.0)
    return Verdict(kept, existence, orientation)


def count_at_fdr(probability: Floats, share: float) -> int:
    """Count the surest edges whose expected share of false ones, the mean of 1 - probability, is at most `share`.

    Parameters
    ----------
    probability : float64 [edges]
        The largest first.
    share : float

    Examples
    --------
    >>> count_at_fdr(np.array([0.99, 0.95, 0.6, 0.5]), 0.1)
    2
    """
    expected = np.cumsum(1 - probability) / np.arange(1, len(probability) + 1)
    return int(np.count_nonzero(expected <= share))


def _least(graph: Mask, orientation: Floats) -> Floats:
    """Least existence of an edge that has a probability of one half, [N, N]."""
    forward = np.where(graph, orientation, np.where(graph.T, orientation.T, 1.0))
    return np.minimum(1.0, EVEN / forward)


def _most(orientation: Floats) -> Floats:
    """Largest existence of a pair both of whose directions have less than one half, [N, N]."""
    return np.asarray((EVEN - EDGE) / np.maximum(orientation, orientation.T))
