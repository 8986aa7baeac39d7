"""`enco describe`: what is in a data file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enco.cli._options import (
    Context,
    Control,
    DataArgument,
    LabelMap,
    Separator,
    TargetColumn,
    UnknownTargets,
    load_data,
)

if TYPE_CHECKING:
    from enco.data import InterventionalData

__all__ = ["describe"]


def describe(
    data: DataArgument,
    target_column: TargetColumn = "perturbation",
    control: Control = None,
    separator: Separator = "+",
    targets: LabelMap = None,
    unknown_targets: UnknownTargets = False,
    context: Context = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Show what is in a data file.

    Prints the variables, the rows of each regime, and whatever looks suspicious: interventions that seem to have had no
    effect among it.

    \b
    For example:
      enco describe data.npz
      enco describe screen.csv --target-column guide --control non-targeting
      enco describe screen.csv --targets map.toml --context plate
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.interventions.shifts import Shifts, are_batches
    from enco.interventions.verdicts import judged
    from enco.result.interventions import BATCHES, in_words, intervention_table

    content = load_data(
        data, target_column, control, separator, targets=targets, unknown_targets=unknown_targets, context=context
    )
    table = intervention_table(content, judged(content))
    sentences = in_words(table, int((~content.is_context).sum()))
    if not content.is_context.any() and are_batches(Shifts.of(content), content):
        sentences.append(BATCHES)
    if as_json:
        typer.echo(json.dumps(_as_dict(content) | {"interventions": sentences}, indent=2))
        return
    typer.echo(content.describe())
    for sentence in sentences:
        typer.echo(f"labels         {sentence}")


def _as_dict(data: InterventionalData) -> dict[str, Any]:
    return {
        "variables": [
            {
                "name": variable.name,
                "kind": variable.kind,
                "levels": variable.n_levels if variable.is_categorical else None,
                "context": variable.context,
            }
            for variable in data.variables
        ],
        "rows": data.n_rows,
        "regimes": [
            {
                "label": regime.label,
                "targets": [data.names[target] for target in regime.targets],
                "unknown": regime.unknown,
                "rows": regime.n_rows,
            }
            for regime in data.regimes
        ],
        "warnings": data.warnings(),
    }
