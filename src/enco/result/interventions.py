"""The table of interventions: what each did to its target, and what it seems to have hit besides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from enco.data import InterventionalData, Regime
from enco.errors import DataError, FileFormatError
from enco.interventions.verdicts import Verdict
from enco.result.fields import is_number, shares_in
from enco.score.objective import CLEAR_HARM
from enco.score.strength import Strength

__all__ = [
    "BATCHES",
    "COLUMNS",
    "NO_EFFECT",
    "PERFECT",
    "REASONS",
    "SHIFT_COLUMNS",
    "SOFT",
    "UNKNOWN",
    "Outcome",
    "in_words",
    "intervention_table",
    "probabilities_in",
    "shifts_in",
    "table_of_records",
    "trust_in",
    "with_inferred_targets",
]

PERFECT, SOFT, NO_EFFECT, UNKNOWN = "perfect", "soft", "no effect", "unknown target"
COLUMNS = {
    "regime": str,  # its label, or its targets joined by +
    "target": str,  # empty if it is not known
    "inferred": bool,  # whether the fit has found the target, and no label names it
    "rows": int,
    "verdict": str,
    "share": float,  # of the rows in which it took hold, nan if that is not known
    "evidence": float,  # nats by which that explains the rows better than no effect does, nan without a search
    "p_value": float,  # of a test that nothing was done, nan if it was not tested
    "effect_size": float,  # of the target by itself: total variation, or standard deviations
    "suspects": list,  # variables that it seems to have hit besides its targets
}
SHIFT_COLUMNS = {"regime": str, "variable": str, "p_value": float, "size": float}
_MAYBE_MISSING = ("share", "evidence", "p_value", "effect_size")
LEAST_SHARE = 0.05  # of the rows, with less an intervention counts as one without effect
MOST_SHIFTED = 0.5  # share of the variables beyond which a regime differs in more than an intervention
MANY_SHIFTED = 0.25  # share of all variables in all regimes from which the regimes do ...
LEAST_REGIMES = 2  # ... if there are so many of them

BATCHES = (
    "variables shift in most regimes in ways no graph explains: are the regimes batches? name the column of the batch "
    "as context, or use regime_shift"
)
REASONS = (
    "feedback: an effect acts back on its cause",
    "a batch: the rows differ from observational ones in more than the intervention",
    "off target: the intervention acts on a variable that no label names",
    "a wrong edge: the graph lacks a path from the target to the variable",
)
"""Why a variable may shift in a regime although the graph says that it cannot."""


@dataclass(frozen=True)
class Outcome:
    """What a fit has found out about one intervention regime.

    Attributes
    ----------
    targets : tuple of int
        Columns of the data: those of the label, or those that were inferred.
    inferred : bool
        Whether the label names none.
    strengths : mapping
        By target.
    suspects : tuple of str
        Variables that it seems to have hit besides.
    """

    targets: tuple[int, ...]
    inferred: bool = False
    strengths: Mapping[int, Strength] = field(default_factory=dict)
    suspects: tuple[str, ...] = ()


def trust_in(table: pd.DataFrame) -> float:
    """Return the share of the interventions that are believed to have had an effect; 0 if there is none.

    Examples
    --------
    >>> trust_in(pd.DataFrame({"verdict": ["perfect", "no effect"]}))
    0.5
    """
    return float((table["verdict"] != NO_EFFECT).mean()) if len(table) else 0.0


def intervention_table(
    data: InterventionalData, verdicts: Sequence[Verdict], outcomes: Sequence[Outcome] | None = None
) -> pd.DataFrame:
    """List every target of every intervention regime of the data.

    Parameters
    ----------
    data : InterventionalData
        With the labels as they were given.
    verdicts : sequence of Verdict
    outcomes : sequence of Outcome, optional
        What a fit has found out, one for each intervention regime.

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> table = intervention_table(data, [Verdict(0, 0, 2, 0.7, 0.9)])
    >>> table[["regime", "target", "rows", "verdict", "p_value"]].values.tolist()
    [['X1', 'X1', 2, 'no effect', 0.7]]
    """
    judged = {(verdict.regime, verdict.target): verdict for verdict in verdicts}
    known = outcomes or [Outcome(regime.targets, regime.unknown) for regime in data.interventional]
    records = []
    for k, (regime, outcome) in enumerate(zip(data.interventional, known, strict=True)):
        shared = {"regime": data.regime_name(regime), "inferred": outcome.inferred, "rows": regime.n_rows}
        if not outcome.targets:
            said = NO_EFFECT if outcomes else UNKNOWN
            records.append(shared | {"target": "", "verdict": said, "suspects": sorted(outcome.suspects)})
        for target in outcome.targets:
            verdict, strength = judged.get((k, target)), outcome.strengths.get(target)
            in_vain = verdict is not None and not verdict.has_effect
            if in_vain and (strength is None or strength.effect <= CLEAR_HARM):
                share, nothing = 0.0, True
            else:
                share = np.nan if strength is None else strength.share
                nothing = share < LEAST_SHARE
            soft = strength is not None and max(strength.evidence, strength.kept) > CLEAR_HARM
            records.append(
                shared
                | {
                    "target": data.names[target],
                    "verdict": NO_EFFECT if nothing else SOFT if soft else PERFECT,
                    "share": share,
                    "evidence": np.nan if strength is None else strength.effect,
                    "p_value": np.nan if verdict is None else verdict.p_value,
                    "effect_size": _effect_size(data, regime, target),
                    "suspects": sorted(outcome.suspects),
                }
            )
    table = pd.DataFrame(records, columns=list(COLUMNS))
    return table.astype(dict.fromkeys(_MAYBE_MISSING, float) | {"rows": int, "inferred": bool})


def table_of_records(source: Path, records: Any) -> pd.DataFrame | None:
    """Build the table from what a file holds, or say that it is damaged.

    Examples
    --------
    >>> table_of_records(Path("graph.json"), [{"regime": "A"}])
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: graph.json: 'interventions' must be a list of objects with regime, target, ...
    """
    if records is None:
        return None
    kinds: dict[str, Any] = {**COLUMNS} | dict.fromkeys(_MAYBE_MISSING, (int, float, type(None)))
    records = [_UNTIL_0_1 | record for record in records] if _listed(records) else records
    valid = _listed(records) and all(
        record.keys() == COLUMNS.keys()
        and all(isinstance(record[name], kind) for name, kind in kinds.items())
        and all(isinstance(name, str) for name in record["suspects"])
        for record in records
    )
    if not valid:
        raise FileFormatError(f"{source}: 'interventions' must be a list of objects with {', '.join(COLUMNS)}")
    table = pd.DataFrame(records, columns=list(COLUMNS))
    return table.astype(dict.fromkeys(_MAYBE_MISSING, float) | {"rows": int, "inferred": bool})


def shifts_in(source: Path, records: Any) -> pd.DataFrame | None:
    """Build the table of shifts that the graph does not explain from what a file holds.

    Examples
    --------
    >>> shifts_in(Path("graph.json"), [{"regime": "A"}])
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: graph.json: 'shifts' must be a list of objects with regime, variable, p_value, size
    """
    if records is None:
        return None
    valid = _listed(records) and all(
        record.keys() == SHIFT_COLUMNS.keys()
        and all(isinstance(record[name], str) for name in ("regime", "variable"))
        and all(is_number(record[name], 0.0) and record[name] <= 1 for name in ("p_value", "size"))
        for record in records
    )
    if not valid:
        raise FileFormatError(f"{source}: 'shifts' must be a list of objects with {', '.join(SHIFT_COLUMNS)}")
    return pd.DataFrame(records, columns=list(SHIFT_COLUMNS)).astype({"p_value": float, "size": float})


def probabilities_in(source: Path, content: Any, variables: Sequence[str]) -> pd.DataFrame | None:
    """Build the table of target probabilities from what a file holds.

    Examples
    --------
    >>> probabilities_in(Path("graph.json"), {"drug X": [0.5, 1.0]}, ["A", "B"]).loc["drug X", "B"]
    np.float64(1.0)
    """
    if content is None:
        return None
    rows = shares_in(list(content.values())) if isinstance(content, dict) and content else None
    if rows is None or rows.shape != (len(content), len(variables)):
        raise FileFormatError(f"{source}: 'target_probability' must map regimes to a number for each variable")
    return pd.DataFrame(rows, index=list(content), columns=list(variables))


_UNTIL_0_1 = {"inferred": False, "evidence": None}  # what earlier versions did not write


def _listed(records: Any) -> bool:
    return isinstance(records, list) and all(isinstance(record, dict) for record in records)


def in_words(table: pd.DataFrame, n_variables: int, shifts: pd.DataFrame | None = None) -> list[str]:
    """Say what is remarkable about interventions, one sentence each.

    Parameters
    ----------
    table : DataFrame
        See `intervention_table`.
    n_variables : int
    shifts : DataFrame, optional
        That the graph does not explain, see `Result.shifts`.

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> in_words(intervention_table(data, [Verdict(0, 0, 2, 0.7, 0.9)]), 2)
    ['no intervention had an effect: directions rest on observational rows alone']
    """
    return [*_about_verdicts(table), *_about_shifts(table, n_variables, shifts)]


def _about_verdicts(table: pd.DataFrame) -> list[str]:
    found = []
    unknown = table[table["verdict"] == UNKNOWN]
    if len(unknown):
        whose = "the targets of 1 regime are" if len(unknown) == 1 else f"the targets of {len(unknown)} regimes are"
        found.append(f"{whose} not known and will be inferred: {_some(unknown['regime'])}")
    inferred = table[table["inferred"] & (table["target"] != "")]
    if len(inferred):
        listed = [
            f"{regime}: {' and '.join(group['target'])}" for regime, group in inferred.groupby("regime", sort=False)
        ]
        found.append(f"inferred targets: {_some(listed)}")
    in_vain = table[table["verdict"] == NO_EFFECT]
    if len(in_vain) and len(in_vain) == len(table):
        found.append("no intervention had an effect: directions rest on observational rows alone")
    elif len(in_vain):
        found.append(f"{len(in_vain)} of {len(table)} interventions had no effect: {_some(in_vain['regime'])}")
    soft = table[table["verdict"] == SOFT]
    if len(soft):
        listed = [
            f"{target} ({share:.0%} of the rows)" for target, share in zip(soft["target"], soft["share"], strict=True)
        ]
        found.append(f"{len(soft)} of {len(table)} interventions took hold in part: {_some(listed)}")
    return found


def _about_shifts(table: pd.DataFrame, n_variables: int, shifts: pd.DataFrame | None) -> list[str]:
    """Say which regimes differ in more than their interventions, and in what."""
    suspects: dict[str, list[str]] = {}
    moved: dict[str, set[str]] = {}  # by regime, what the intervention or the graph does not explain
    batches = set()
    for regime in dict.fromkeys(map(str, table["regime"])):
        group = table[table["regime"] == regime]
        odd = set() if shifts is None else set(shifts["variable"][shifts["regime"] == regime])
        suspects[regime] = list(group["suspects"].iloc[0])
        moved[regime] = odd | set(suspects[regime])
        inferred = set(group["target"][group["inferred"] & (group["target"] != "")])
        if len(moved[regime] | inferred) > MOST_SHIFTED * n_variables:
            batches.add(regime)
    cells, concerned = sum(map(len, moved.values())), sum(map(bool, moved.values()))
    if 2 * concerned > len(moved) >= LEAST_REGIMES and cells >= MANY_SHIFTED * n_variables * len(moved):
        return [BATCHES]
    found = []
    for regime, names in suspects.items():
        if regime in batches:
            found.append(f"most variables shift in the rows of {regime}: is it another batch?")
        elif names:
            found.append(f"the intervention on {regime} seems to have hit {_some(names)} as well")
    if shifts is not None and len(rest := shifts[~shifts["regime"].isin(batches)]):
        listed = [f"{variable} in {regime}" for regime, variable in zip(rest["regime"], rest["variable"], strict=True)]
        what = "1 shift is" if len(rest) == 1 else f"{len(rest)} shifts are"
        why = "feedback, a batch, off target or a wrong edge"
        found.append(f"{what} not explained by the graph ({why}): {_some(listed)}")
    return found


def with_inferred_targets(data: InterventionalData, table: pd.DataFrame | None) -> InterventionalData:
    """Return the data with the targets that a fit has inferred for regimes whose labels name none.

    Parameters
    ----------
    data : InterventionalData
        Without context.
    table : DataFrame or None
        See `Result.interventions`.

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "unknown"], labels=[None, "drug X"])
    >>> table = intervention_table(data, [], [Outcome((1,), inferred=True)])
    >>> with_inferred_targets(data, table).interventional[0].targets
    (1,)
    """
    regimes = []
    for regime in data.regimes:
        condition = regime.condition
        if regime.unknown:
            rows = None if table is None else table[table["regime"] == regime.label]
            if rows is None or not len(rows):
                raise DataError(
                    f"the targets of the regime {regime.label!r} are not known, and the fit has not seen it: name "
                    "them, or leave its rows out"
                )
            targets = tuple(sorted(data.position(name) for name in rows["target"] if name))
            targets = targets if len(targets) < data.n_variables else ()  # some variable must be left to predict
            condition = condition._replace(targets=targets, unknown=not targets)
        regimes.append(regime.under(condition))
    return InterventionalData._from_checked(data.variables, regimes)


def _some(names: Sequence[str] | pd.Series, most: int = 5) -> str:
    listed = [str(name) for name in names]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def _effect_size(data: InterventionalData, regime: Regime, target: int) -> float:
    """Return the total variation between a target's distributions with and without the intervention, or its shift."""
    slot, n_levels, observed = data.slots[target], int(data.n_levels[target]), data.observational
    if n_levels:
        here, there = (
            np.bincount(rows.codes[:, slot], minlength=n_levels) / max(1, rows.n_rows) for rows in (regime, observed)
        )
        return float(0.5 * np.abs(here - there).sum())
    usual = observed.reals[:, slot].astype(np.float64)
    shift = regime.reals[:, slot].astype(np.float64).mean() - usual.mean()
    return float(shift / max(usual.std(), np.finfo(np.float32).tiny))
