"""The table of interventions: what each did to its target, and what it seems to have hit besides."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from enco.data import InterventionalData, Regime
from enco.errors import FileFormatError
from enco.interventions.verdicts import Verdict
from enco.score.objective import CLEAR_HARM
from enco.score.strength import Strength

__all__ = ["COLUMNS", "NO_EFFECT", "PERFECT", "SOFT", "in_words", "intervention_table", "table_of_records"]

PERFECT, SOFT, NO_EFFECT = "perfect", "soft", "no effect"
COLUMNS = {
    "regime": str,  # its targets, joined by +
    "target": str,
    "rows": int,
    "verdict": str,
    "share": float,  # of the rows in which it took hold, nan if that is not known
    "p_value": float,  # of a test that nothing was done, nan if it was not tested
    "effect_size": float,  # of the target by itself: total variation, or standard deviations
    "suspects": list,  # variables that it seems to have hit besides its targets
}
LEAST_SHARE = 0.05  # of the rows, with less an intervention counts as one without effect
MOST_SUSPECTS = 0.5  # share of the variables beyond which a regime differs in more than an intervention


def intervention_table(
    data: InterventionalData,
    verdicts: Sequence[Verdict],
    strengths: Mapping[tuple[frozenset[str], str], Strength],
    suspects: Mapping[frozenset[str], Sequence[str]],
) -> pd.DataFrame:
    """List every target of every intervention regime of the data, as they were given.

    Parameters
    ----------
    data : InterventionalData
    verdicts : sequence of Verdict
    strengths : mapping
        By the targets of a regime, and the target.
    suspects : mapping
        By the targets of a regime.

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> table = intervention_table(data, [Verdict(0, 0, 2, 0.7, 0.9)], {}, {})
    >>> table[["regime", "target", "rows", "verdict", "p_value"]].values.tolist()
    [['X1', 'X1', 2, 'no effect', 0.7]]
    """
    judged = {(verdict.regime, verdict.target): verdict for verdict in verdicts}
    records = []
    for k, regime in enumerate(data.interventional):
        targets = frozenset(data.names[j] for j in regime.targets)
        for target in regime.targets:
            name, verdict = data.names[target], judged.get((k, target))
            strength = strengths.get((targets, name))
            in_vain = verdict is not None and not verdict.has_effect
            if in_vain and (strength is None or strength.effect <= CLEAR_HARM):
                share, nothing = 0.0, True
            else:
                share = np.nan if strength is None else strength.share
                nothing = share < LEAST_SHARE
            soft = strength is not None and strength.evidence > CLEAR_HARM
            records.append(
                {
                    "regime": "+".join(data.names[j] for j in regime.targets),
                    "target": name,
                    "rows": regime.n_rows,
                    "verdict": NO_EFFECT if nothing else SOFT if soft else PERFECT,
                    "share": share,
                    "p_value": np.nan if verdict is None else verdict.p_value,
                    "effect_size": _effect_size(data, regime, target),
                    "suspects": sorted(suspects.get(targets, ())),
                }
            )
    return pd.DataFrame(records, columns=list(COLUMNS))


def table_of_records(source: Path, records: Any) -> pd.DataFrame | None:
    """Build the table from what a file holds, or say that it is damaged.

    Examples
    --------
    >>> table_of_records(Path("graph.json"), [{"regime": "A"}])
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: graph.json: 'interventions' must be a list of objects with regime, target, rows, ...
    """
    if records is None:
        return None
    kinds = {
        **COLUMNS,
        "share": (int, float, type(None)),
        "p_value": (int, float, type(None)),
        "effect_size": (int, float),
    }
    valid = isinstance(records, list) and all(
        isinstance(record, dict)
        and record.keys() == COLUMNS.keys()
        and all(isinstance(record[name], kind) for name, kind in kinds.items())  # type: ignore[arg-type]
        and all(isinstance(name, str) for name in record["suspects"])
        for record in records
    )
    if not valid:
        raise FileFormatError(f"{source}: 'interventions' must be a list of objects with {', '.join(COLUMNS)}")
    table = pd.DataFrame(records, columns=list(COLUMNS))
    return table.astype({"share": float, "p_value": float, "effect_size": float, "rows": int})


def in_words(table: pd.DataFrame, n_variables: int) -> list[str]:
    """Say what is remarkable about interventions, one sentence each.

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> in_words(intervention_table(data, [Verdict(0, 0, 2, 0.7, 0.9)], {}, {}), 2)
    ['no intervention had an effect: directions rest on observational rows alone']
    """
    found = []
    in_vain = table[table["verdict"] == NO_EFFECT]
    if len(in_vain) and len(in_vain) == len(table):
        found.append("no intervention had an effect: directions rest on observational rows alone")
    elif len(in_vain):
        found.append(f"{len(in_vain)} of {len(table)} interventions had no effect: {_some(in_vain['target'])}")
    soft = table[table["verdict"] == SOFT]
    if len(soft):
        listed = [
            f"{target} ({share:.0%} of the rows)" for target, share in zip(soft["target"], soft["share"], strict=True)
        ]
        found.append(f"{len(soft)} of {len(table)} interventions took hold in part: {_some(listed)}")
    for regime, group in table.groupby("regime", sort=False):
        suspects = group["suspects"].iloc[0]
        if len(suspects) > MOST_SUSPECTS * n_variables:
            found.append(f"most variables shift in the rows of {regime}: is it another batch?")
        elif suspects:
            found.append(f"the intervention on {regime} seems to have hit {_some(suspects)} as well")
    return found


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
