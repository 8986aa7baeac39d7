"""`enco evaluate`: compare a predicted graph with the true one."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from enco.cli._options import GRAPH_FILE
from enco.io.formats import suffixes_in_words

__all__ = ["evaluate"]


def evaluate(
    prediction: Annotated[
        Path, typer.Argument(help=f"Predicted graph: {suffixes_in_words('graph_reader')}, or a folder with graph.json.")
    ],
    truth: Annotated[Path, typer.Argument(help=f"True graph: {GRAPH_FILE}.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Compare a predicted graph with the true one.

    Prints SHD, SID, precision, recall and more. Graphs with names are matched by name. SID and the
    adjustment distances need acyclic graphs; edge probabilities and confounded pairs are scored when the
    files hold them. Of the table of refits (stability.csv), the edges of the graph count, and frequencies are scored.

    \b
    For example:
      enco evaluate prediction.csv data.npz
      enco evaluate prediction.json truth.json --json
      enco evaluate result/stability.csv data.npz
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco import metrics
    from enco.cli._graph_files import load_graphs

    predicted, true = load_graphs(prediction, truth)
    scores = metrics.evaluate(
        predicted.adjacency,
        true.adjacency,
        probabilities=predicted.probabilities,
        confounders=predicted.confounded,
        true_confounders=true.confounded,
    )
    if as_json:
        typer.echo(json.dumps({name: _jsonable(value) for name, value in scores.items()}, indent=2))
    else:
        show_scores(scores)


def show_scores(scores: dict[str, bool | int | float]) -> None:
    """Print scores as a table of two columns."""
    from rich.console import Console
    from rich.table import Table

    table = Table("score", "value", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for name, value in scores.items():
        table.add_row(_label(name), _readable(value))
    console = Console()
    console.print(table)
    if not scores["acyclic"]:
        console.print("The prediction has a cycle, so SID and the adjustment distances do not apply.")


def _label(name: str) -> str:
    short_forms = {"shd", "sid", "aid", "f1"}
    return " ".join(word.upper() if word in short_forms else word for word in name.split("_"))


def _readable(value: bool | int | float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.3f}"


def _jsonable(value: bool | int | float) -> bool | int | float | None:
    return None if isinstance(value, float) and math.isnan(value) else value
