"""Options that several commands share, and what they read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from enco.io.formats import suffixes_in_words

if TYPE_CHECKING:
    from enco.data import InterventionalData

__all__ = [
    "GRAPH_FILE",
    "Context",
    "Control",
    "DataArgument",
    "LabelMap",
    "ResultFolder",
    "Separator",
    "SettingPairs",
    "TargetColumn",
    "Threads",
    "UnknownTargets",
    "load_data",
]

GRAPH_FILE = f"{suffixes_in_words('graph_reader')} (in .npz: adj_matrix)"
"""What help texts say of the file of a graph."""

DataArgument = Annotated[Path, typer.Argument(help=f"A {suffixes_in_words('reader')} file.")]
ResultFolder = Annotated[Path, typer.Option("--out", "-o", help="Folder for the result; it is created.")]
TargetColumn = Annotated[str, typer.Option(help="Column (of a table) that says what was perturbed in each row.")]
Control = Annotated[
    list[str] | None,
    typer.Option(help="Value of that column in observational rows; may be repeated.", show_default="empty, control"),
]
Separator = Annotated[str, typer.Option(help="What stands between several targets in one cell.")]
LabelMap = Annotated[
    Path | None,
    typer.Option(
        "--targets",
        metavar="MAP.TOML",
        help='TOML file that says what labels mean: "drug X" = ["A", "B"] or "unknown" or "observational".',
    ),
]
UnknownTargets = Annotated[
    bool,
    typer.Option(
        "--unknown-targets", help="Labels are reagents whose targets nobody knows, except those in the --targets file."
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Column that describes the circumstances of a row, such as a batch; may be repeated."
    ),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use.", show_default="one per core")]
SettingPairs = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
]


def load_data(
    path: Path,
    target_column: str,
    control: list[str] | None,
    separator: str,
    *,
    targets: Path | None = None,
    unknown_targets: bool = False,
    context: list[str] | None = None,
) -> InterventionalData:
    """Read a data file as these options say."""
    from dataclasses import replace

    from enco.data.meanings import Meanings
    from enco.io import read_data

    meanings = None if targets is None else Meanings.from_toml(targets)
    if unknown_targets:
        meanings = Meanings({}, rest_unknown=True) if meanings is None else replace(meanings, rest_unknown=True)
    return read_data(
        path,
        target_column,
        control=control or None,
        separator=separator,
        targets=meanings,
        context=context or (),
    )
