"""`enco simulate`: data with a known causal graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enco.io.formats import suffixes, suffixes_in_words

if TYPE_CHECKING:
    from enco.data import InterventionalData
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
        str | None, typer.Option(help="categorical, continuous or mixed variables.", show_default="categorical")
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="neural, product, deterministic (categorical); linear, additive, nonadditive (other).",
            show_default="that of the kind",
        ),
    ] = None,
    bif: Annotated[
        str | None, typer.Option(help="A known network (asia, sachs, alarm, ...) or a .bif file, instead of the above.")
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
    effect: Annotated[
        str,
        typer.Option(
            help="What an intervention does to its target: perfect (cuts it from its causes), soft (gives it another "
            "function of the same causes) or shift (moves it and keeps the function)."
        ),
    ] = "perfect",
    hold: Annotated[float, typer.Option(help="Share of the rows in which an intervention takes hold.")] = 1.0,
    failed: Annotated[float, typer.Option(help="Share of the interventions that do nothing.")] = 0.0,
    off_target: Annotated[
        float, typer.Option(help="Share of the interventions that hit one more variable, which no label names.")
    ] = 0.0,
    regimes: Annotated[
        int | None,
        typer.Option(help="Number of interventions, on targets drawn at random.", show_default="one for each variable"),
    ] = None,
    targets_per_regime: Annotated[
        int, typer.Option(help="Targets of each intervention; several are drawn at random.")
    ] = 1,
    unknown_targets: Annotated[
        bool,
        typer.Option(
            "--unknown-targets",
            help="Call the interventions condition 1, 2, ... and leave their targets out of the data.",
        ),
    ] = False,
    batches: Annotated[
        int,
        typer.Option(
            help="Spread the rows at random over so many batches; with 0, every intervention is a batch of its own."
        ),
    ] = 0,
    batch_offset: Annotated[
        float,
        typer.Option(help="How far a batch moves every variable, in standard deviations; 0.5 is a strong effect."),
    ] = 0.0,
    batch_scale: Annotated[
        float,
        typer.Option(help="Typical factor, from 1 on, by which a batch changes the noise of continuous variables."),
    ] = 1.0,
    context: Annotated[bool, typer.Option("--context", help="Add a context column that names the batch.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same file.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Simulate data from a known causal graph.

    Draws observational rows and rows for an intervention on each variable in turn.

    An .npz file also holds the true graph (adj_matrix), unless it has a context column; beside any other file, the
    true graph is written to NAME.graph.json. Positions and names of the variables say nothing about their causal order.

    Interventions do what their labels say, unless the options from --effect to --unknown-targets say otherwise; the
    options from --batches to --context are about batches. With any of these, what every intervention really did is
    written to NAME.interventions.json, and all rows are held in memory.

    \b
    For example:
      enco simulate --structure random --variables 25 --out data.npz
      enco simulate --bif alarm --rows 10000 --interventional-rows 500 --seed 3 --out alarm.csv
      enco simulate -n 100 --edge-probability 0.08 --max-parents 10 --latents 5 --out large.npz
      enco simulate --kind continuous --mechanism additive --structure jungle --out jungle.parquet
      enco simulate --kind continuous --effect soft --failed 0.2 --off-target 0.1 --out screen.npz
      enco simulate --bif sachs --unknown-targets --batches 3 --batch-offset 0.3 --context --out sachs.csv
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    import numpy as np

    from enco.cli._graph_files import truth_path

    special = _special(
        {
            "effect": effect,
            "hold": hold,
            "failed": failed,
            "off_target": off_target,
            "regimes": regimes,
            "targets_per_regime": targets_per_regime,
            "unknown": unknown_targets,
            "batches": batches,
            "batch_offset": batch_offset,
            "batch_scale": batch_scale,
            "context": context,
        }
    )
    truth = None if out.suffix.lower() == ".npz" and not context else truth_path(out)
    account = out.with_name(f"{out.stem}.interventions.json") if special else None
    _check_outputs([out, *(path for path in (truth, account) if path is not None)], force=force)
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

    if account is not None:
        interventions = _write_experiment(model, rows, interventional_rows, rng, special, out, truth, account, force)
    else:
        interventions = len(model.observed_names) if interventional_rows else 0
        if truth is None:
            with _progress() as progress:
                model.write_npz(out, rows, interventional_rows, rng=rng, overwrite=force, progress=progress)
        else:
            _write_table(model, model.dataset(rows, interventional_rows, rng=rng), out, truth, force)
    _summarise(model, rows, interventional_rows, interventions, out, truth, account)


def _special(chosen: dict[str, Any]) -> dict[str, Any]:
    """Check what is said of interventions and batches, and return what differs from the defaults."""
    from enco.simulate.experiments import check_options, experiment

    check_options(**{name: value for name, value in chosen.items() if name not in ("unknown", "context")})
    usual = {name: parameter.default for name, parameter in signature(experiment).parameters.items()}
    return {name: value for name, value in chosen.items() if value != usual[name]}


def _write_experiment(
    model: SCM,
    rows: int,
    interventional_rows: int,
    rng: Any,
    special: dict[str, Any],
    out: Path,
    truth: Path | None,
    account: Path,
    force: bool,
) -> int:
    """Write the data, the graph and what the interventions did; return how many there are."""
    import numpy as np

    from enco.io import write_npz
    from enco.io._atomic import atomic_file
    from enco.simulate.experiments import experiment

    with _spinner():
        drawn = experiment(model, rows, interventional_rows, rng, **special)
    if truth is not None:
        _write_table(model, drawn.data, out, truth, force)
    else:
        pairs = np.array(model.confounded_pairs, dtype=np.int64).reshape(-1, 2)
        extra = {"confounded_pairs": pairs} if model.latent else None
        write_npz(drawn.data, out, adjacency=model.observed_adjacency, extra=extra, overwrite=force)
    told = {
        "options": special,
        "regimes": [
            {
                "regime": done.target,
                "rows": regime.n_rows,
                "intended": list(done.intended),
                "hit": list(done.targets),
                "share_of_rows": done.hold,
                "off_target": done.also,
            }
            for done, regime in zip(drawn.done, drawn.data.interventional, strict=True)
        ],
    }
    with atomic_file(account, overwrite=force) as temporary:
        temporary.write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")
    return len(drawn.done)


def _write_table(model: SCM, data: InterventionalData, out: Path, truth: Path, force: bool) -> None:
    """Write a file without a place for the true graph, and that graph beside it."""
    from enco.cli._graph_files import write_graph
    from enco.io import write_data

    with _spinner():
        write_data(data, out, overwrite=force)
    write_graph(
        truth,
        names=model.observed_names,
        adjacency=model.observed_adjacency,
        confounded=model.confounded_pairs if model.latent else None,
        overwrite=force,
    )


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


def _summarise(
    model: SCM,
    rows: int,
    interventional_rows: int,
    interventions: int,
    out: Path,
    truth: Path | None,
    account: Path | None,
) -> None:
    n_variables, n_edges = len(model.observed_names), int(model.observed_adjacency.sum())
    hidden = f", {_count(len(model.confounded_pairs), 'confounded pair')}" if model.latent else ""
    drawn = "no interventions"
    if interventions:
        drawn = f"{_count(interventions, 'intervention')} with {_count(interventional_rows, 'row')} each"
    typer.echo(f"graph  {n_variables} variables, {_count(n_edges, 'edge')}{hidden}")
    typer.echo(f"rows   {rows} observational, {drawn}")
    typer.echo(f"data   {out}")
    typer.echo(f"truth  {f'{out} (adj_matrix)' if truth is None else truth}")
    if account is not None:
        typer.echo(f"       {account} (what the interventions did)")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
