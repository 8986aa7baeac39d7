"""`enco bench`: the paper's tables for simulated graphs, the speed of a fit, and the noise of its gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["bench"]

bench = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})

Variables = Annotated[int, typer.Option("--variables", "-n", min=2, help="Number of variables.")]
Rows = Annotated[int, typer.Option(min=2, help="Observational rows.")]
InterventionalRows = Annotated[int, typer.Option(min=1, help="Rows for each intervention.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the problem and of its fit.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads to use; they change seconds, not results.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
]

SUMMARIES = {
    "structures": "errors of learned graphs beside the paper's tables: sample sizes, fewer interventions, simulators",
    "speed": "one fit: rates, share of the machine's arithmetic peak, time by stage, memory",
    "gradient-variance": "noise of the three gradient estimators at equal cost, the paper's Figure 2",
}


@bench.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Measure how good and how fast fits are.

    \b
    For example:
      enco bench list
      enco bench structures --out structures.jsonl
      enco bench speed
      enco bench gradient-variance --out variance.png
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@bench.command("list")
def list_() -> None:
    """List the benchmarks.

    \b
    For example:
      enco bench list
    """  # noqa: D301
    width = max(map(len, SUMMARIES))
    for name, summary in SUMMARIES.items():
        typer.echo(f"{name:{width}}  {summary}")


@bench.command()
def structures(
    graphs: Annotated[int, typer.Option(min=1, help="Graphs per structure.")] = 10,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first graph; the others follow.")] = 1000,
    structures: Annotated[
        list[str] | None,
        typer.Option(help="Names, separated by commas; may be repeated.", show_default="the paper's six"),
    ] = None,
    variables: Variables = 25,
    rows: Rows = 5000,
    interventional_rows: InterventionalRows = 200,
    interventions: Annotated[
        int | None, typer.Option(min=1, help="Variables that are intervened on.", show_default="all")
    ] = None,
    mechanism: Annotated[str, typer.Option(help="How effects follow from causes: neural or product.")] = "neural",
    set_: Set = None,
    threads: Threads = 2,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of records (JSON lines); what it holds is not redone.")
    ] = None,
) -> None:
    """Learn simulated graphs and compare the errors with the paper's.

    Prints a Markdown table. With --out, every graph adds one line to the file as soon as it is done, and the same
    command continues after an interruption.

    \b
    For example, the paper's Table 1, large and very small samples, few interventions, another simulator:
      enco bench structures --out structures.jsonl
      enco bench structures --rows 100000 --interventional-rows 10000 --out structures.jsonl
      enco bench structures --rows 1000 --interventional-rows 20 --out structures.jsonl
      enco bench structures --interventions 4 --structures random,jungle,bidiag --out structures.jsonl
      enco bench structures --mechanism product --out structures.jsonl
    """  # noqa: D301
    from enco.bench.paper import PAPER_STRUCTURES
    from enco.bench.problem import Problem
    from enco.bench.records import Store
    from enco.bench.structures import Job, run_jobs, unfinished
    from enco.bench.tables import structures_table
    from enco.cli._bench_progress import watch_jobs
    from enco.cli.fit import _settings

    settings = _settings(set_ or [])
    given = [name.strip() for text in structures or [] for name in text.split(",") if name.strip()]
    jobs = [
        Job(
            Problem(
                structure=structure,
                seed=seed,
                variables=variables,
                rows=rows,
                interventional_rows=interventional_rows,
                interventions=variables if interventions is None else interventions,
                mechanism=mechanism,
            ),
            settings,
        )
        for structure in dict.fromkeys(given or PAPER_STRUCTURES)
        for seed in range(first_seed, first_seed + graphs)
    ]
    store = Store(out)
    to_do = len(unfinished(jobs, store))
    if to_do < len(jobs):
        typer.echo(f"{out} holds {len(jobs) - to_do} of {len(jobs)} graphs already", err=True)
    if to_do:
        _warm_up(set_, threads)
    try:
        with watch_jobs(to_do) as watcher:
            records = run_jobs(jobs, store, n_jobs=threads, **watcher._asdict())
    except KeyboardInterrupt:
        if out is not None:
            typer.echo(f"stopped; {out} holds what is done, and the same command continues", err=True)
        raise
    typer.echo(structures_table(jobs[0].problem, records))


@bench.command()
def speed(
    structure: Annotated[str, typer.Option(help="Structure of the graph.")] = "random",
    variables: Variables = 25,
    rows: Rows = 5000,
    interventional_rows: InterventionalRows = 200,
    seed: Seed = 1000,
    set_: Set = None,
    threads: Threads = 2,
) -> None:
    """Measure what one fit does per second and where its time goes.

    Prints a Markdown table. Compilation comes before the fit and is listed on its own line. Keep the machine quiet
    meanwhile.

    \b
    For example:
      enco bench speed
      enco bench speed --variables 100 --threads 1
    """  # noqa: D301
    from enco.bench.problem import Problem
    from enco.bench.speed import measure_speed, speed_table
    from enco.cli._progress import watch
    from enco.cli.fit import _settings

    settings = _settings(set_ or [])
    problem = Problem(
        structure=structure,
        seed=seed,
        variables=variables,
        rows=rows,
        interventional_rows=interventional_rows,
        interventions=variables,
    )
    compilation = _warm_up(set_, threads)
    with watch(0, settings.max_epochs) as watcher:
        measured = measure_speed(problem, settings, n_jobs=threads, compilation=compilation, on_epoch=watcher.on_epoch)
    typer.echo(speed_table(measured))


@bench.command()
def gradient_variance(
    variables: Variables = 25,
    rows: Rows = 5000,
    batch: Annotated[int, typer.Option(min=1, help="Rows that the sampled graphs share.")] = 128,
    points: Annotated[int, typer.Option(min=1, max=12, help="Costs to measure at, each twice the one before.")] = 8,
    repeats: Annotated[int, typer.Option(min=2, help="Estimates behind each deviation.")] = 16,
    seed: Seed = 1000,
    set_: Set = None,
    threads: Threads = 2,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="PNG file for the figure.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Measure the noise of the gradient of gamma for the three estimators, at equal cost.

    A random graph, after the first distribution fitting. Prints Markdown tables, and draws them with --out.

    \b
    For example:
      enco bench gradient-variance
      enco bench gradient-variance --out variance.png --repeats 32
    """  # noqa: D301
    from enco.bench.gradient_variance import measure_variance, variance_table
    from enco.bench.problem import Problem
    from enco.cli._bench_progress import watch_share
    from enco.cli.fit import _settings

    settings = _settings(set_ or [])
    problem = Problem(structure="random", seed=seed, variables=variables, rows=rows, interventions=1)
    _check_picture(out, force=force)
    with watch_share("estimates") as on_progress:
        curves = measure_variance(
            problem,
            settings,
            batch=batch,
            multiples=[2**power for power in range(points)],
            repeats=repeats,
            n_jobs=threads,
            on_progress=on_progress,
        )
    typer.echo(variance_table(curves))
    if out is not None:
        from enco.bench.figures import draw_variance

        draw_variance(curves, out, overwrite=force)
        typer.echo(f"\nfigure  {out}")


def _warm_up(set_: list[str] | None, threads: int) -> float:
    from enco.bench.warmup import warm_up
    from enco.cli.fit import _settings

    seconds = warm_up(_settings(set_ or []), n_jobs=threads)
    typer.echo(f"compilation, or reading compiled kernels from the cache: {seconds:.1f} s", err=True)
    return seconds


def _check_picture(out: Path | None, *, force: bool) -> None:
    """Refuse before the work rather than after it."""
    from enco.errors import EncoError

    if out is None:
        return
    if out.suffix.lower() != ".png":
        raise EncoError(f"cannot write {out}: the name must end in .png")
    if out.exists() and not force:
        raise EncoError(f"{out} exists already: choose another name, or replace it with --force")
    if not out.parent.is_dir():
        raise EncoError(f"cannot write {out}: the folder {out.parent} does not exist, create it first")
