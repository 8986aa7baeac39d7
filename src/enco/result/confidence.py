"""How sure a result is of every edge: numbers that are right as often as they say, on simulated data.

The search says which graph is best, and by how much each pair prefers to be as it is (`enco.score.support`). How often
such a preference is right was counted in fits of simulated data, and is written down in `calibration.toml` as the
coefficients of two logistic curves, one for whether two variables are joined and one for the direction:

    logit P(joined)  = a + b ln(1 + |l|) sign(l) + c min(z, 6)      l: log-odds among graphs nearby, z: gain / error
    logit P(i -> j)  = b' ln(1 + |l'|) sign(l')                      given that the two are joined

All slopes are positive, so that more evidence never means less confidence. Other coefficients hold where no
intervention tells the two variables apart, and others again where none is believed at all: directions then rest on what
the networks can say about the form of mechanisms, and none has a probability of 0.9. A direction is not surer than the
labels that tell it: with the probability that none of their interventions had an effect, both directions are alike.

The graph with the lowest total is one of many that are nearly as good, and some of its edges are in few of the others,
or rest on one regime alone. So an edge stays only if its variables are more likely joined than not. An edge of the
final graph has at least one half, and every other pair less.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from enco.score.support import Support

__all__ = [
    "Confidence",
    "Curves",
    "Verdict",
    "ahead",
    "confidence_of",
    "curves",
    "is_blind",
    "joined_features",
    "tempered",
]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

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
    gain, gain_error : float64
        What the rows lose without the edge, in nats, and the standard error with regimes as clusters; NaN where there
        is no edge.
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
    slope: Floats
    nearby: Floats
    doubt: Floats


@dataclass(frozen=True)
class Curves:
    """Coefficients of the two curves.

    Attributes
    ----------
    edges, others : (float, float, float)
        a, b and c for edges of the graph, and for other pairs (whose c is 0).
    told, untold, blind : float
        b' where an intervention tells the two variables apart, where only others do, and where there is none at all.
    """

    edges: tuple[float, float, float]
    others: tuple[float, float, float]
    told: float
    untold: float
    blind: float

    @classmethod
    def of(cls, content: Mapping[str, Mapping[str, float]]) -> "Curves":
        """Read a table like `calibration.toml`."""
        joined, direction = content["joined"], content["direction"]
        rows = [tuple(float(number) for number in joined[name]) for name in ("edges", "others")]  # type: ignore[attr-defined]
        slopes = [float(direction[name]) for name in ("told", "untold", "blind")]
        return cls(rows[0], rows[1], *slopes)  # type: ignore[arg-type]


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


def is_blind(doubt: Floats) -> bool:
    """Whether there is no intervention at all that tells two variables apart.

    Examples
    --------
    >>> is_blind(np.ones((2, 2))), is_blind(np.array([[1.0, 0.2], [0.2, 1.0]]))
    (True, False)
    """
    return bool((doubt >= 1).all())


def tempered(log_odds: Floats) -> Floats:
    """ln(1 + |l|) sign(l): log-odds of a model that is not quite right say less, the larger they are.

    Examples
    --------
    >>> tempered(np.array([-1.0, 0.0, 1.0, 100.0])).round(1)
    array([-0.7,  0. ,  0.7,  4.6])
    """
    return np.asarray(np.sign(log_odds) * np.log1p(np.abs(log_odds)))


def joined_features(probability: Floats, gain: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Return l, tempered, and min(z, 6) of each pair, [N, N]; both are symmetric.

    Parameters
    ----------
    probability : float64 [N, N]
        Of every edge among graphs nearby.
    gain, error : float64 [N, N]
        NaN where there is no edge.
    """
    joined = np.clip(probability + probability.T, SMALLEST, 1 - SMALLEST)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.nan_to_num(gain / np.where(error > 0, error, np.nan))
    z = np.clip(z, -MOST_Z, MOST_Z)
    return tempered(np.log(joined) - np.log1p(-joined)), z + z.T


def ahead(probability: Floats) -> Floats:
    """Log-odds of each direction against its reverse, tempered, [N, N].

    Examples
    --------
    >>> ahead(np.array([[0.0, 0.75], [0.25, 0.0]])).round(2).tolist()
    [[0.0, 0.74], [-0.74, 0.0]]
    """
    log = np.log(np.maximum(probability, SMALLEST))
    return tempered(log - log.T)


def confidence_of(
    support: Support,
    graph: Mask,
    doubt: Floats,
    curves: Curves,
    *,
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
        Probability that no intervention that tells the two variables apart had an effect; 1 if there is none.
    curves : Curves
    required : bool [N, N], optional
        Edges that stay, whatever the data say.
    confounded : float64 [N, N]
        Probability that a latent confounder joins the two instead.

    Examples
    --------
    >>> graph = np.array([[False, True], [False, False]])
    >>> gain = np.where(graph, 50.0, np.nan)
    >>> support = Support(np.array([[0.0, 0.99], [1e-9, 0.0]]), gain, gain / 5)
    >>> some = Curves((0.0, 1.0, 0.5), (0.0, 1.0, 0.0), 1.0, 0.5, 0.25)
    >>> told, untold = (
    ...     confidence_of(support, graph, np.full((2, 2), doubt), some).orientation[0, 1] for doubt in (0, 1)
    ... )
    >>> bool(told > 0.9 > untold > 0.5)
    True
    """
    probability, joined = support.probability, graph | graph.T
    log_odds, z = joined_features(*support)
    a, b, c = (np.where(joined, edge, other) for edge, other in zip(curves.edges, curves.others, strict=True))
    considered = probability + probability.T > 0
    existence = np.where(considered | joined, expit(a + b * log_odds + c * z), 0.0)
    kept = graph & ((existence >= EVEN) | (False if required is None else required))

    untold = doubt >= 1
    toward = expit(
        np.where(untold, curves.blind if is_blind(doubt) else curves.untold, curves.told) * ahead(probability)
    )
    orientation = np.where(untold, toward, (1 - doubt) * toward + doubt * EVEN)
    # The graph has the last word on which side of one half a pair is.
    orientation = np.where(kept, np.maximum(orientation, EVEN + EDGE), orientation)
    orientation = np.where(kept.T, 1 - orientation.T, orientation)
    existence, still_joined = existence * (1 - confounded), kept | kept.T
    existence = np.where(still_joined, np.maximum(existence, _least(kept, orientation)), existence)
    existence = np.where(still_joined, existence, np.minimum(existence, _most(orientation)))
    np.fill_diagonal(existence, 0.0)
    return Verdict(kept, existence, orientation)


def _least(graph: Mask, orientation: Floats) -> Floats:
    """Least existence of an edge that has a probability of one half, [N, N]."""
    forward = np.where(graph, orientation, np.where(graph.T, orientation.T, 1.0))
    return np.minimum(1.0, EVEN / forward)


def _most(orientation: Floats) -> Floats:
    """Largest existence of a pair both of whose directions have less than one half, [N, N]."""
    return np.asarray((EVEN - EDGE) / np.maximum(orientation, orientation.T))
