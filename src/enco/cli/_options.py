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
    "Control",
    "DataArgument",
    "ResultFolder",
    "Separator",
    "SettingPairs",
    "TargetColumn",
    "Threads",
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
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use.", show_default="one per core")]
SettingPairs = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
]


def load_data(path: Path, target_column: str, control: list[str] | None, separator: str) -> InterventionalData:
    """Read a data file as these options say."""
    from enco.io import read_data

    return read_data(path, target_column, control=control or None, separator=separator)
