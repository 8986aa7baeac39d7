"""`enco report`: a result as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from enco.cli._options import Context, Control, LabelMap, Separator, TargetColumn, UnknownTargets, load_data
from enco.cli._results import DataFile, Truth, load_truth

__all__ = ["report"]


def report(
    folder: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder that enco fit has written.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page to write.", show_default="RESULT/report.html")
    ] = None,
    truth: Truth = None,
    data: DataFile = None,
    target_column: TargetColumn = "perturbation",
    control: Control = None,
    separator: Separator = "+",
    targets: LabelMap = None,
    unknown_targets: UnknownTargets = False,
    context: Context = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Causal graph",
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it is there.")] = False,
) -> None:
    """Write a result as one HTML page that opens in any browser.

    The page shows the graph to explore, every edge with its evidence, the probabilities of all pairs and what to be
    careful about. It needs no network. With the data, it also says what tests find in them; with the true graph, which
    edges are right.

    \b
    For example:
      enco report result
      enco report result --data data.npz --truth data.npz --out page.html
      enco report result --data screen.csv --target-column guide --control non-targeting --force
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.errors import EncoError
    from enco.result.folder import PAGE

    page = folder / PAGE if out is None else out
    if page.exists() and not force:
        raise EncoError(f"{page} exists already: choose another name with --out, or replace it with --force")
    from enco.report import write_report
    from enco.result import Result

    result = Result.load(folder)
    write_report(
        page,
        result,
        truth=load_truth(truth, result),
        data=None
        if data is None
        else load_data(
            data, target_column, control, separator, targets=targets, unknown_targets=unknown_targets, context=context
        ),
        title=title,
        overwrite=force,
        follow_links=out is not None,
    )
    typer.echo(f"report  {page}")
