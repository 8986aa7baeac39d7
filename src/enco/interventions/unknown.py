"""Interventions whose targets nobody knows: what they seem to have hit, before there is a graph.

Descendants of a target shift less than the target itself does, because their own noise does not: so the first guess is
the variable whose distribution is the least likely to be the observational one. Given a graph, the search then asks of
every variable whether the regime has hit it, and takes back what its parents explain (`enco.score.suspects`).
"""

from enco.data import InterventionalData
from enco.interventions.shifts import Shifts

__all__ = ["with_guessed_targets"]


def with_guessed_targets(data: InterventionalData, shifts: Shifts) -> InterventionalData:
    """Name the variable that shifts most as the target of each regime of unknown targets.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> blocks = [rng.normal(size=(500, 3)), rng.normal(size=(100, 3)) + [0.0, 2.0, 0.0]]
    >>> data = InterventionalData.from_environments(blocks, [None, "unknown"], labels=[None, "drug X"])
    >>> with_guessed_targets(data, Shifts.of(data)).interventional[0].condition
    Condition(targets=(1,), label='drug X', unknown=False, claim=None)
    """
    regimes = list(data.regimes)
    for k, regime in enumerate(data.interventional):
        if regime.unknown:
            free = [j for j in range(data.n_variables) if not data.is_context[j]]
            first = min(free, key=lambda j: (shifts.log_p[k, j], -shifts.size[k, j], data.names[j]))
            known = regime.condition._replace(targets=(first,), unknown=False)
            regimes[1 + k] = regime.under(known)
    return InterventionalData._from_checked(data.variables, regimes)
