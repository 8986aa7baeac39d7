"""`enco export`: the graph of a result in a format of other tools."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["export"]


def export(
    result: Annotated[Path, typer.Argument(help="Folder that enco fit has written.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", help="graphml, gml, dot, csv (edge list), dowhy or bif.", show_default="the suffix of the file"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the graph of a result for other tools.

    GraphML and GML are read by Cytoscape, Gephi and igraph, DOT by Graphviz, BIF by bnlearn and pgmpy (structure only:
    probabilities in it are placeholders). For dowhy, pass the text of the file as graph=.

    \b
    For example:
      enco export result --out graph.graphml
      enco export result --format dowhy --out graph.txt
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.errors import EncoError
    from enco.exports import export as write
    from enco.result import Result

    if out.exists() and not force:
        raise EncoError(f"{out} exists already: choose another name, or replace it with --force")
    loaded = Result.load(result)
    write(loaded, out, format=format_, overwrite=force)
    typer.echo(f"wrote   {out} ({len(loaded.variables)} variables, {loaded.n_edges} edges)")
