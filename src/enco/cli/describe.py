"""`enco describe`: what is in a data file."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["describe"]


def describe(
    data: Annotated[Path, typer.Argument(help="A .npz, .csv, .parquet or .h5ad file.")],
    target_column: Annotated[
        str, typer.Option(help="Column (of a table) that says what was perturbed in each row.")
    ] = "perturbation",
    control: Annotated[
        str | None, typer.Option(help="Value of that column in observational rows; empty cells always are.")
    ] = None,
) -> None:
    """Show what is in a data file.

    Prints the variables, the rows of each regime, and whatever looks suspicious.

    \b
    For example:
      enco describe data.npz
      enco describe screen.csv --target-column guide --control non-targeting
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.io import read_data

    typer.echo(read_data(data, target_column, control=control).describe())
