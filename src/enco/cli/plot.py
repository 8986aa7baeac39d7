"""`enco plot`: figures of a result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from enco.cli._options import Context, Control, LabelMap, Separator, TargetColumn, UnknownTargets, load_data
from enco.cli._results import DataFile, Truth, load_truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from enco.plotting.graph import EdgeNumber

__all__ = ["plot", "save_figure"]

_PICTURES = (".png", ".svg", ".pdf")


def plot(
    folder: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder that enco fit has written.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture to write: .png, .svg or .pdf.")],
    kind: Annotated[
        str,
        typer.Option(
            help="graph, probabilities, existence, orientation-matrix, frequency, learning, precision-recall, "
            "orientation, confounders or interventions."
        ),
    ] = "graph",
    by: Annotated[
        str | None,
        typer.Option(
            help="Width and colour of the edges of a graph: probability, or frequency over refits.",
            show_default="probability",
        ),
    ] = None,
    truth: Truth = None,
    data: DataFile = None,
    target_column: TargetColumn = "perturbation",
    control: Control = None,
    separator: Separator = "+",
    targets: LabelMap = None,
    unknown_targets: UnknownTargets = False,
    context: Context = None,
    dpi: Annotated[int, typer.Option(min=30, max=1200, help="Dots per inch of a .png.")] = 150,
    force: Annotated[bool, typer.Option("--force", help="Replace the picture if it is there.")] = False,
) -> None:
    """Draw a figure of a result.

    \b
    For example:
      enco plot result --out graph.png
      enco plot result --truth data.npz --out compared.svg
      enco plot result --by frequency --out stable.png
      enco plot result --kind probabilities --out probabilities.png
      enco plot result --kind learning --truth data.npz --out learning.png
      enco plot result --kind interventions --data data.npz --out effects.pdf
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.errors import EncoError

    if out.suffix.lower() not in _PICTURES:
        raise EncoError(f"cannot write {out}: the name of a picture ends in {', '.join(_PICTURES)}")
    if out.exists() and not force:
        raise EncoError(f"{out} exists already: choose another name with --out, or replace it with --force")
    import matplotlib

    matplotlib.use("Agg")  # no display is needed
    from enco.plotting import draw
    from enco.result import Result

    result = Result.load(folder)
    ax = draw(
        result,
        kind,
        by=cast("EdgeNumber | None", by),
        truth=load_truth(truth, result),
        data=None
        if data is None
        else load_data(
            data, target_column, control, separator, targets=targets, unknown_targets=unknown_targets, context=context
        ),
    )
    save_figure(ax, out, dpi=dpi, overwrite=force)
    typer.echo(f"figure  {out}")


def save_figure(ax: Axes, path: Path, *, dpi: int = 150, overwrite: bool = False) -> None:
    """Write the figure of some axes in the format of the file name, atomically, and close it."""
    from matplotlib import pyplot as plt

    from enco.io._atomic import atomic_file

    figure = cast("Figure", ax.figure)
    with atomic_file(path, overwrite=overwrite) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=dpi)
    plt.close(figure)
