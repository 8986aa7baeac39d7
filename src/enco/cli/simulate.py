"""`enco simulate`: data with a known causal graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enco.io.formats import suffixes, suffixes_in_words

if TYPE_CHECKING:
    from enco.simulate import SCM

__all__ = ["simulate"]


def simulate(
    out: Annotated[
        Path, typer.Option("--out", "-o", help=f"File to write: {suffixes_in_words('writer', simulated=True)}.")
    ],
    structure: Annotated[
        str | None,
        typer.Option(help="chain, bidiag, collider, full, jungle, random or regular.", show_default="random"),
    ] = None,
    variables: Annotated[
        int | None, typer.Option("--variables", "-n", help="Number of variables.", show_default="25")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="categorical, continuous or mixed variables.", show_default="categorical"),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="neural, product, deterministic (categorical); linear, additive, nonadditive (other).",
            show_default="that of the kind",
        ),
    ] = None,
    bif: Annotated[
        str | None,
        typer.Option(help="A known network (asia, sachs, alarm, ...) or a .bif file, instead of the above."),
    ] = None,
    categories: Annotated[
        int | None, typer.Option(help="Levels of each categorical variable.", show_default="10")
    ] = None,
    edge_probability: Annotated[
        float | None, typer.Option(help="Of the structure 'random'.", show_default="0.3")
    ] = None,
    max_parents: Annotated[int | None, typer.Option(help="Of the structure 'random'.")] = None,
    latents: Annotated[int | None, typer.Option(help="Hidden common causes to add.", show_default="0")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Observational rows.")] = 5000,
    interventional_rows: Annotated[
        int, typer.Option(min=0, help="Rows for each intervention; every variable is intervened on in turn.")
    ] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same file.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Simulate data from a known causal graph.

    Draws observational rows and rows for an intervention on each variable in turn.

    An .npz file also holds the true graph (adj_matrix); beside a .csv or .parquet file, the true graph is
    written to NAME.graph.json. Positions and names of the variables say nothing about their causal order.

    \b
    For example:
      enco simulate --structure random --variables 25 --out data.npz
      enco simulate --bif alarm --rows 10000 --interventional-rows 500 --seed 3 --out alarm.csv
      enco simulate -n 100 --edge-probability 0.08 --max-parents 10 --latents 5 --out large.npz
      enco simulate --kind continuous --mechanism additive --structure jungle --out jungle.parquet
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    import numpy as np

    from enco.cli._graph_files import truth_path, write_graph
    from enco.io import write_data

    truth = None if out.suffix.lower() == ".npz" else truth_path(out)
    _check_outputs([out] if truth is None else [out, truth], force=force)
    rng = np.random.default_rng(seed)
    options = {
        "mechanism": mechanism,
        "categories": categories,
        "latents": latents,
        "edge_probability": edge_probability,
        "max_parents": max_parents,
    }
    if bif is None:
        model = _random_model(structure, variables, kind, rng, options)
    else:
        model = _known_network(bif, rng, {"structure": structure, "variables": variables, "kind": kind, **options})

    if truth is None:
        with _progress() as progress:
            model.write_npz(out, rows, interventional_rows, rng=rng, overwrite=force, progress=progress)
    else:
        with _spinner():
            write_data(model.dataset(rows, interventional_rows, rng=rng), out, overwrite=force)
        write_graph(
            truth,
            names=model.observed_names,
            adjacency=model.observed_adjacency,
            confounded=model.confounded_pairs if model.latent else None,
            overwrite=force,
        )
    _summarise(model, rows, interventional_rows, out, truth)


def _check_outputs(paths: list[Path], *, force: bool) -> None:
    """Refuse before the work rather than after it."""
    from enco.errors import EncoError

    if paths[0].suffix.lower() not in suffixes("writer", simulated=True):
        known = suffixes_in_words("writer", simulated=True)
        raise EncoError(f"cannot write {paths[0]}: the name must end in {known}")
    for path in paths:
        if path.exists() and not force:
            raise EncoError(f"{path} exists already: choose another name, or replace it with --force")
        if not path.parent.is_dir():
            raise EncoError(f"cannot write {path}: the folder {path.parent} does not exist, create it first")


def _random_model(
    structure: str | None, variables: int | None, kind: str | None, rng: Any, options: dict[str, Any]
) -> SCM:
    from enco import simulate as models
    from enco.errors import SettingsError

    builders: dict[str, Callable[..., SCM]] = {
        "categorical": models.categorical,
        "continuous": models.continuous,
        "mixed": models.mixed,
    }
    chosen = kind or "categorical"
    if chosen not in builders:
        raise SettingsError(f"unknown kind {chosen!r}: choose one of {', '.join(builders)}")
    if chosen == "continuous" and options["categories"] is not None:
        raise SettingsError("--categories does not apply to continuous variables: leave it out")
    given = {name: value for name, value in options.items() if value is not None}
    return builders[chosen](structure or "random", 25 if variables is None else variables, rng, **given)


def _known_network(source: str, rng: Any, options: dict[str, Any]) -> SCM:
    from enco.errors import SettingsError
    from enco.simulate import from_bif

    superfluous = [name for name, value in options.items() if value is not None]
    if superfluous:
        raise SettingsError(f"--{superfluous[0].replace('_', '-')} does not apply to --bif: leave one of them out")
    return from_bif(source, shuffle=rng)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error while rows are written; only on a terminal, and gone afterwards."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _spinner() -> AbstractContextManager[object]:
    """Show on standard error, on a terminal only, that something is happening."""
    from rich.console import Console

    return Console(stderr=True).status("drawing and writing rows")


def _summarise(model: SCM, rows: int, interventional_rows: int, out: Path, truth: Path | None) -> None:
    n_variables, n_edges = len(model.observed_names), int(model.observed_adjacency.sum())
    hidden = f", {_count(len(model.confounded_pairs), 'confounded pair')}" if model.latent else ""
    interventions = "no interventions"
    if interventional_rows:
        interventions = f"{n_variables} interventions with {_count(interventional_rows, 'row')} each"
    typer.echo(f"graph  {n_variables} variables, {_count(n_edges, 'edge')}{hidden}")
    typer.echo(f"rows   {rows} observational, {interventions}")
    typer.echo(f"data   {out}")
    typer.echo(f"truth  {f'{out} (adj_matrix)' if truth is None else truth}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
