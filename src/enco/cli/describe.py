"""`enco describe`: what is in a data file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from enco.data import InterventionalData

__all__ = ["describe"]


def describe(
    data: Annotated[Path, typer.Argument(help="A .npz, .csv, .parquet or .h5ad file.")],
    target_column: Annotated[
        str, typer.Option(help="Column (of a table) that says what was perturbed in each row.")
    ] = "perturbation",
    control: Annotated[
        str | None, typer.Option(help="Value of that column in observational rows; empty cells always are.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Show what is in a data file.

    Prints the variables, the rows of each regime, and whatever looks suspicious.

    \b
    For example:
      enco describe data.npz
      enco describe screen.csv --target-column guide --control non-targeting
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.io import read_data

    content = read_data(data, target_column, control=control)
    typer.echo(json.dumps(_as_dict(content), indent=2) if as_json else content.describe())


def _as_dict(data: InterventionalData) -> dict[str, Any]:
    return {
        "variables": [
            {"name": variable.name, "kind": variable.kind, "levels": variable.n_levels or None}
            for variable in data.variables
        ],
        "rows": data.n_rows,
        "regimes": [
            {"targets": [data.names[target] for target in regime.targets], "rows": regime.n_rows}
            for regime in data.regimes
        ],
        "warnings": data.warnings(),
    }
