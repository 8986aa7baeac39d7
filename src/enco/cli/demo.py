"""`enco demo`: the commands in a row, on data of a realistic size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from enco.cli._signals import stopped_like_ctrl_c

if TYPE_CHECKING:
    from enco.result import Result

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to; it is created.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same demo.")] = 0,
) -> None:
    """Learn a causal graph from simulated data.

    Simulates 25 variables, learns their graph, compares it with the true one, draws it, and writes a page to explore.

    \b
    For example:
      enco demo --out demo
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.cli._fit_folder import check_place
    from enco.io._lock import locked

    check_place(out, resume=False, force=True)
    with stopped_like_ctrl_c(), locked(out):
        _show(out, seed)


def _show(out: Path, seed: int) -> None:
    from enco.cli._outcome import print_edges
    from enco.cli._run_fit import FitRequest, run_fit
    from enco.cli.evaluate import evaluate
    from enco.cli.report import report
    from enco.cli.simulate import simulate
    from enco.result import Result

    data, picture = out / "data.npz", out / "graph.png"
    for path in (data, picture):
        if path.is_symlink():  # the commands would write to where it points, which nobody has asked for
            path.unlink()

    _title("Simulated data")
    simulate(out=data, edge_probability=0.15, seed=seed, force=True)
    _title("Learning the graph")
    run_fit(FitRequest(data=data, out=out, changes={}, seed=seed, force=True))
    _title("The edges")
    result = Result.load(out)
    print_edges(result)
    _title("Compared with the true graph")
    evaluate(out, data)
    _draw(result, data, picture)
    typer.echo(f"\ngraph   {picture}")
    report(out, truth=data, data=data, title="enco demo", force=True)


def _title(text: str) -> None:
    typer.secho(f"\n{text}", bold=True)


def _draw(result: Result, data: Path, picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")  # no display is needed
    from enco.cli.plot import save_figure
    from enco.io import read_graph
    from enco.plotting import draw_graph

    _, truth = read_graph(data, names=result.variables)
    save_figure(draw_graph(result, truth), picture, overwrite=True)
