"""What a fit has found out about the regimes, as tables of a result: names instead of places in the search."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from enco.data import InterventionalData, Regime
from enco.errors import DataError
from enco.fitting.loop import Discovery
from enco.interventions.shifts import Shifts, unexplained
from enco.interventions.verdicts import EVEN
from enco.result.interventions import SHIFT_COLUMNS, Outcome, with_inferred_targets
from enco.result.result import Result
from enco.score.objective import CLEAR_HARM
from enco.score.suspects import chance
from enco.search.dag import Path

__all__ = ["accounts", "doubt_of_directions", "shift_table", "shifts_in_data", "target_probability"]

LEAST_P = 1e-300  # smaller ones say nothing more
LEAST_DOUBT = 0.001  # of an intervention


def accounts(discovery: Discovery, paths: Sequence[Path], regimes: Sequence[Regime]) -> list[Outcome]:
    """Say of every intervention regime of the data what it has acted on, and how strongly.

    Parameters
    ----------
    discovery : Discovery
    paths : sequence of Path
        All searches, in order.
    regimes : sequence of Regime
        Those of the search, with the targets that they have in the last one.
    """
    labelled, column = discovery.labelled, discovery.column
    # Of the first search that looked at it: where an intervention is known to be soft, its rows count.
    strengths = {(it.regime, it.variable): it for path in reversed(paths) for it in path.strengths}
    last = paths[-1].suspects if paths else []
    found = []
    for k in labelled.place:
        named, targets = labelled.regimes[k].targets, regimes[k].targets
        inferred = k in labelled.unknown
        more = [*set(targets).difference(() if inferred else named), *(it.variable for it in last if it.regime == k)]
        acted_on = targets if inferred else named
        found.append(
            Outcome(
                tuple(sorted(int(column[j]) for j in acted_on)),
                inferred,
                {int(column[j]): strengths[k, j] for j in acted_on if (k, j) in strengths},
                tuple(sorted({discovery.given.names[column[j]] for j in more} if not inferred else ())),
            )
        )
    return found


def doubt_of_directions(discovery: Discovery, paths: Sequence[Path], regimes: Sequence[Regime]) -> NDArray[np.float64]:
    """Return the probability that no intervention that tells two variables apart had an effect, [N, N] by name.

    1 where there is no such intervention that is believed: nothing then rests on a label. One that was believed only
    once there was a graph is doubted by what that look has found, against the share of all that seem to have had none.

    Parameters
    ----------
    discovery : Discovery
    paths : sequence of Path
        All searches, in order.
    regimes : sequence of Regime
        See `accounts`.
    """
    known, n = dict(discovery.labelled.doubt), len(discovery.column)
    usual = float(np.clip(np.mean([*known.values()]), LEAST_DOUBT, 1 - LEAST_DOUBT)) if known else EVEN
    for it in paths[-1].strengths if paths else []:
        at = it.regime, it.variable
        if known.get(at, 0.0) > EVEN and it.effect > CLEAR_HARM:
            known[at] = float(expit(logit(usual) - it.effect))
    log_doubt = np.zeros((n, n))
    for k, regime in enumerate(regimes):
        for target in regime.targets:
            if (doubt := known.get((k, target), 0.0)) <= EVEN:
                log_doubt[target, regime.free(np.arange(n))] += np.log(max(LEAST_DOUBT, doubt))
    both: NDArray[np.float64] = np.exp(log_doubt + log_doubt.T)
    return both


def shift_table(
    discovery: Discovery, graph: NDArray[np.bool_], outcomes: Sequence[Outcome], data: InterventionalData
) -> pd.DataFrame:
    """List variables that shift in regimes although the graph says that they cannot, the clearest first.

    Parameters
    ----------
    discovery : Discovery
    graph : bool [N, N]
        In the order of the names.
    outcomes : sequence of Outcome
    data : InterventionalData
        As it was given.
    """
    given, shifts = discovery.given, discovery.shifts
    hit = shifts.clear & given.is_context  # rows of a regime may come from other batches than those of the rest
    for acted, outcome in zip(hit, outcomes, strict=True):
        acted[[*outcome.targets, *map(given.position, outcome.suspects)]] = True
    rank = np.argsort(discovery.column)
    found = unexplained(shifts, hit, graph[np.ix_(rank, rank)])
    return _listed(shifts, found, [data.regime_name(regime) for regime in data.interventional], given.names)


def shifts_in_data(result: Result, data: InterventionalData) -> pd.DataFrame:
    """List variables that shift in regimes of some data although the graph of a result says that they cannot.

    Parameters
    ----------
    result : Result
    data : InterventionalData
        The same variables, without context. Its labels name the targets, and where they do not, the result does.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 3))
    >>> data = InterventionalData.from_environments([rows, rows + [2.0, 0.0, 2.0]], [None, "B"], names=["A", "B", "C"])
    >>> shifts_in_data(small_result(), data)[["regime", "variable"]].values.tolist()
    [['B', 'A']]
    """
    if set(data.names) != set(result.variables):
        other = min(set(data.names) ^ set(result.variables))
        raise DataError(
            f"the data and the result have different variables ({other!r}): give the data of this fit, with the "
            "same context columns"
        )
    data = with_inferred_targets(data.select(result.variables), result.interventions)
    shifts = Shifts.of(data)
    hit, table = np.zeros_like(shifts.clear), result.interventions
    names = [data.regime_name(regime) for regime in data.interventional]
    for acted, name, regime in zip(hit, names, data.interventional, strict=True):
        known = [] if table is None else [it for listed in table["suspects"][table["regime"] == name] for it in listed]
        acted[[*regime.targets, *map(data.position, known)]] = True
    return _listed(shifts, unexplained(shifts, hit, result.adjacency.astype(bool)), names, data.names)


def _listed(shifts: Shifts, found: NDArray[np.bool_], regimes: Sequence[str], variables: Sequence[str]) -> pd.DataFrame:
    records = [
        {
            "regime": regimes[k],
            "variable": variables[j],
            "p_value": max(LEAST_P, float(np.exp(shifts.log_p[k, j]))),
            "size": float(shifts.size[k, j]),
        }
        for k, j in sorted(np.argwhere(found).tolist(), key=lambda at: (shifts.log_p[at[0], at[1]], at))
    ]
    return pd.DataFrame(records, columns=list(SHIFT_COLUMNS)).astype({"p_value": float, "size": float})


def target_probability(
    discovery: Discovery, paths: Sequence[Path], regimes: Sequence[Regime], data: InterventionalData
) -> pd.DataFrame | None:
    """Return how probable it is that each regime of unknown targets acts on each variable; None if there is none.

    That is sigmoid(gain - log n), with the nats that a hit explains better than no hit, and n possible hits.
    """
    labelled = discovery.labelled
    if not labelled.unknown or not paths:
        return None
    gains = paths[-1].gains.copy()
    for it in paths[-1].strengths:
        gains[it.regime, it.variable] = it.effect
    rank = np.argsort(discovery.column)[~discovery.given.is_context]
    unknown = [k for k, place in enumerate(labelled.place) if place in labelled.unknown]
    rows = [expit(gains[labelled.place[k]][rank] - chance(gains)) for k in unknown]
    index = [data.regime_name(data.interventional[k]) for k in unknown]
    return pd.DataFrame(rows, index=index, columns=list(data.without_context().names))
