"""What rows can be expected to say about an edge: exact mean and spread of the loss difference of one row."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from enco.theory.regime_tables import Tables
from enco.theory.scores import log_conditional

__all__ = ["EdgeEvidence", "edge_evidence", "mutual_information"]


@dataclass(frozen=True)
class EdgeEvidence:
    """What one row says about an edge once the other true parents are in the graph.

    Attributes
    ----------
    parents : tuple of str
        The other true parents.
    own_mean, own_sd : float
        Gain of a row under the intervention on the cause: what orients the edge. NaN without that intervention.
    mean : float
        Mean gain over all interventions that inform the edge: what decides its existence.
    noise : float
        Standard error of `mean` for one row in each of them; for n rows each, divide by sqrt(n).
    unseen : float
        Share of those rows whose configuration never occurs without intervention: what a network predicts there is
        anybody's guess, and so are the numbers above.
    """

    parents: tuple[str, ...]
    own_mean: float
    own_sd: float
    mean: float
    noise: float
    unseen: float = 0.0

    def orientation_z(self, rows: int) -> float:
        """Return the evidence for the orientation, in standard errors, to expect from so many rows."""
        return _ratio(self.own_mean * sqrt(rows), self.own_sd)

    def existence_z(self, rows: int, sparsity: float) -> float:
        """Return the margin over the sparsity, in standard errors, to expect from so many rows."""
        return _ratio((self.mean - sparsity) * sqrt(rows), self.noise)

    def rows_needed(self, sparsity: float, z: float = 3.0) -> float:
        """Return the rows per intervention at which both are expected to reach z; inf if they never do."""
        needed = [(self.mean - sparsity, self.noise), (self.own_mean, self.own_sd)]
        return max((inf if mean <= 0 else (z * sd / mean) ** 2) for mean, sd in needed if mean == mean)


def _ratio(mean: float, sd: float) -> float:
    if mean != mean:
        return nan
    if sd == 0:
        return 0.0 if mean == 0 else inf if mean > 0 else -inf
    return mean / sd


def edge_evidence(tables: Tables, cause: int, effect: int, parents: Sequence[int]) -> EdgeEvidence:
    """Compute mean and spread of the gain of a row, beside given other parents.

    Parameters
    ----------
    tables : Tables
        Where probabilities come from.
    cause, effect : int
        The edge.
    parents : sequence of int
        Other parents of the effect.

    Examples
    --------
    >>> from enco.simulate import from_cpts
    >>> from enco.theory.regime_tables import ModelTables
    >>> model = from_cpts({"a": ([], [0.5, 0.5]), "b": (["a"], [[0.9, 0.1], [0.1, 0.9]])})
    >>> evidence = edge_evidence(ModelTables(model), 0, 1, [])
    >>> round(evidence.own_mean, 3), round(evidence.own_sd, 3), round(evidence.rows_needed(0.004))
    (0.368, 0.659, 30)
    """
    table = tables.table([*parents, cause, effect])
    values = table.values
    with_edge, never = log_conditional(values[0], tables.pseudo_weight)
    without, _ = log_conditional(values[0].sum(axis=-2), tables.pseudo_weight)
    difference = (with_edge - without[..., None, :]).ravel()
    flat = values.reshape(len(values), -1)
    mean = flat @ difference
    variance = np.maximum(flat @ difference**2 - mean**2, 0.0)
    rows = [table.row_of[target] for target in tables.targets if target != effect]
    own = table.row_of.get(cause) if cause in tables.targets else None
    return EdgeEvidence(
        parents=tuple(tables.names[parent] for parent in parents),
        own_mean=nan if own is None else float(mean[own]),
        own_sd=nan if own is None else sqrt(variance[own]),
        mean=float(mean[rows].mean()) if rows else nan,
        noise=sqrt(variance[rows].sum()) / len(rows) if rows else nan,
        unseen=float((flat[rows] @ np.broadcast_to(never, with_edge.shape).ravel()).mean()) if rows else 0.0,
    )


def mutual_information(joint: NDArray[np.float64]) -> float:
    """Compute the information, in nats, between the last two axes, given the axes before them.

    Parameters
    ----------
    joint : ndarray
        A joint distribution; axes [conditions..., one, other].

    Examples
    --------
    >>> round(mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]])), 3)
    0.693
    """
    one = joint.sum(axis=-1, keepdims=True)
    other = joint.sum(axis=-2, keepdims=True)
    given = one.sum(axis=-2, keepdims=True)
    occurs = joint > 0
    product = np.broadcast_to(one * other, joint.shape)[occurs]
    ratio = joint[occurs] * np.broadcast_to(given, joint.shape)[occurs] / product
    return max(0.0, float(joint[occurs] @ np.log(ratio)))
