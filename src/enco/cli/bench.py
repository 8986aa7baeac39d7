"""`enco bench`: the paper's tables for simulated graphs, the speed of a fit, and the noise of its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from enco.bench.continuous import ContinuousProblem
    from enco.bench.problem import Simulation
    from enco.bench.records import Record
    from enco.settings import Settings

__all__ = ["bench"]

SomeProblem = TypeVar("SomeProblem", bound="Simulation")

bench = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})

Variables = Annotated[int, typer.Option("--variables", "-n", min=2, help="Number of variables.")]
Rows = Annotated[int, typer.Option(min=2, help="Observational rows.")]
InterventionalRows = Annotated[int, typer.Option(min=1, help="Rows for each intervention.")]
Graphs = Annotated[int, typer.Option(min=1, help="Graphs for each line of the table.")]
FirstSeed = Annotated[int, typer.Option(min=0, help="Seed of the first graph; the others follow.")]
Interventions = Annotated[int | None, typer.Option(min=1, help="Variables that are intervened on.", show_default="all")]
EdgesPerVariable = Annotated[float, typer.Option(min=0.0, help="Edges per variable, on average over graphs.")]
Mechanisms = Annotated[
    list[str] | None,
    typer.Option(
        help="How continuous effects follow from causes; names, separated by commas; may be repeated.",
        show_default="linear,additive,nonadditive",
    ),
]
Density = Annotated[
    str | None,
    typer.Option(help="Of continuous variables: gaussian, dsf or spline.", show_default="that of the settings"),
]
Records = Annotated[
    Path | None, typer.Option("--out", "-o", help="File of records (JSON lines); what it holds is not redone.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the problem and of its fit.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads to use; they change seconds, not results.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
]

SUMMARIES = {
    "structures": "errors of learned graphs beside the paper's tables: sample sizes, fewer interventions, simulators",
    "continuous": "the same for continuous variables, beside the paper's Appendix D.6 and D.7 and other methods",
    "mixed": "the same for graphs of categorical and continuous variables",
    "latents": "graphs with latent confounders, beside the paper's Appendix C.3: errors, confounded pairs found",
    "deterministic": "deterministic variables and unfaithful graphs of the paper's Appendix B and D.4",
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
      enco bench continuous --out continuous.jsonl
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
    graphs: Graphs = 10,
    first_seed: FirstSeed = 1000,
    structures: Annotated[
        list[str] | None,
        typer.Option(help="Names, separated by commas; may be repeated.", show_default="the paper's six"),
    ] = None,
    variables: Variables = 25,
    rows: Rows = 5000,
    interventional_rows: InterventionalRows = 200,
    interventions: Interventions = None,
    mechanism: Annotated[str, typer.Option(help="How effects follow from causes: neural or product.")] = "neural",
    set_: Set = None,
    threads: Threads = 2,
    out: Records = None,
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
    from enco.bench.tables import structures_table
    from enco.cli.fit import _settings

    settings = _settings(set_ or [])
    problems = _problems(
        Problem,
        {"structure": _names(structures) or PAPER_STRUCTURES, "seed": range(first_seed, first_seed + graphs)},
        variables=variables,
        rows=rows,
        interventional_rows=interventional_rows,
        interventions=interventions,
        mechanism=mechanism,
    )
    typer.echo(structures_table(problems[0], _learn(problems, settings, threads=threads, out=out)))


@bench.command()
def continuous(
    mechanisms: Mechanisms = None,
    variables: Variables = 10,
    edges_per_variable: EdgesPerVariable = 1.0,
    rows: Rows = 909,
    interventional_rows: InterventionalRows = 909,
    interventions: Interventions = None,
    graphs: Graphs = 10,
    first_seed: FirstSeed = 1000,
    density: Density = None,
    set_: Set = None,
    threads: Threads = 2,
    out: Records = None,
) -> None:
    """Learn graphs of continuous variables and compare the errors with published ones.

    Prints a Markdown table and keeps records as "enco bench structures" does.

    \b
    For example, the paper's Appendix D.6, with flows, small samples of D.7, and dense graphs:
      enco bench continuous --out continuous.jsonl
      enco bench continuous --density dsf --out continuous.jsonl
      enco bench continuous --rows 100 --interventional-rows 100 --out continuous.jsonl
      enco bench continuous --variables 20 --edges-per-variable 4 --out continuous.jsonl
    """  # noqa: D301
    from enco.bench.continuous import CONTINUOUS_MECHANISMS, ContinuousProblem

    problems = _problems(
        ContinuousProblem,
        {"mechanism": _names(mechanisms) or CONTINUOUS_MECHANISMS, "seed": range(first_seed, first_seed + graphs)},
        variables=variables,
        edges_per_variable=edges_per_variable,
        rows=rows,
        interventional_rows=interventional_rows,
        interventions=interventions,
    )
    _learn_continuous(problems, density, set_, threads=threads, out=out)


@bench.command()
def mixed(
    mechanisms: Mechanisms = None,
    variables: Variables = 20,
    categories: Annotated[int, typer.Option(min=2, help="Levels of each categorical variable.")] = 10,
    categorical_share: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of categorical variables.")] = 0.5,
    edges_per_variable: EdgesPerVariable = 1.0,
    rows: Rows = 5000,
    interventional_rows: InterventionalRows = 200,
    interventions: Interventions = None,
    graphs: Graphs = 10,
    first_seed: FirstSeed = 1000,
    density: Density = None,
    set_: Set = None,
    threads: Threads = 2,
    out: Records = None,
) -> None:
    """Learn graphs of categorical and continuous variables.

    Prints a Markdown table and keeps records as "enco bench structures" does.

    \b
    For example:
      enco bench mixed --out mixed.jsonl
      enco bench mixed --categories 3 --edges-per-variable 2 --mechanisms additive --out mixed.jsonl
    """  # noqa: D301
    from enco.bench.continuous import CONTINUOUS_MECHANISMS, MixedProblem

    problems = _problems(
        MixedProblem,
        {"mechanism": _names(mechanisms) or CONTINUOUS_MECHANISMS, "seed": range(first_seed, first_seed + graphs)},
        variables=variables,
        categories=categories,
        categorical_share=categorical_share,
        edges_per_variable=edges_per_variable,
        rows=rows,
        interventional_rows=interventional_rows,
        interventions=interventions,
    )
    _learn_continuous(problems, density, set_, threads=threads, out=out)


@bench.command()
def latents(
    variables: Variables = 25,
    latents: Annotated[int, typer.Option(min=0, help="Latent confounders of each graph.")] = 5,
    rows: Rows = 5000,
    interventional_rows: Annotated[
        list[str] | None,
        typer.Option(help="Rows for each intervention, separated by commas; may be repeated.", show_default="512,200"),
    ] = None,
    graphs: Graphs = 10,
    first_seed: FirstSeed = 1000,
    set_: Set = None,
    threads: Threads = 2,
    out: Records = None,
    figure: Annotated[Path | None, typer.Option(help="PNG file: scores lc of the first graph over its epochs.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing figure.")] = False,
) -> None:
    """Learn graphs with latent confounders: errors, and how many confounded pairs are found.

    Prints a Markdown table and keeps records as "enco bench structures" does.

    \b
    For example, the paper's three sample sizes, and the figure of its Appendix C.3:
      enco bench latents --out latents.jsonl
      enco bench latents --rows 100000 --interventional-rows 10000 --out latents.jsonl
      enco bench latents --graphs 1 --interventional-rows 512 --figure scores.png
    """  # noqa: D301
    from dataclasses import replace

    from enco.bench.latents import LatentProblem
    from enco.bench.tables import latents_table
    from enco.cli.fit import _settings

    settings = replace(_settings(set_ or []), latent=True)
    _check_picture(figure, force=force)
    problems = _problems(
        LatentProblem,
        {"interventional_rows": _counts(interventional_rows) or [512, 200],
         "seed": range(first_seed, first_seed + graphs)},
        variables=variables,
        interventions=None,
        rows=rows,
        latents=latents,
    )  # fmt: skip
    typer.echo(latents_table(problems[0], _learn(problems, settings, threads=threads, out=out)))
    if figure is not None:
        from enco.bench.figures import draw_scores
        from enco.bench.latents import scores_over_epochs

        draw_scores(scores_over_epochs(problems[0], settings, n_jobs=threads), figure, settings, overwrite=force)
        typer.echo(f"\nfigure  {figure}")


@bench.command()
def deterministic(
    graphs: Annotated[int, typer.Option(min=1, help="Graphs of random functions; the other models are fixed.")] = 10,
    first_seed: FirstSeed = 1000,
    set_: Set = None,
    threads: Threads = 2,
    out: Records = None,
) -> None:
    """Learn graphs that are not faithful: functions, copies, cancelling paths, exclusive or.

    Prints a Markdown table and keeps records as "enco bench structures" does. The setting sparsity is the paper's for
    each model, whatever --set says.

    \b
    For example:
      enco bench deterministic --out deterministic.jsonl
    """  # noqa: D301
    from enco.bench.deterministic import unfaithful_problems
    from enco.bench.tables import deterministic_table
    from enco.cli.fit import _settings

    settings = _settings(set_ or [])
    problems = unfaithful_problems(graphs, first_seed)
    typer.echo(deterministic_table(problems[0], _learn(problems, settings, threads=threads, out=out)))


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
    compilation = _warm_up(problem, settings, threads)
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


def _names(texts: list[str] | None) -> list[str]:
    """Take comma-separated names apart; each counts once."""
    return list(dict.fromkeys(name.strip() for text in texts or [] for name in text.split(",") if name.strip()))


def _counts(texts: list[str] | None) -> list[int]:
    """Take comma-separated numbers apart."""
    from enco.errors import SettingsError

    names = _names(texts)
    for name in names:
        if not name.isdecimal():
            raise SettingsError(f"rows must be whole numbers, separated by commas, got {name!r}")
    return [int(name) for name in names]


def _problems(
    kind: Callable[..., SomeProblem],
    axes: Mapping[str, Iterable[Any]],
    *,
    variables: int,
    interventions: int | None,
    **shared: Any,
) -> list[SomeProblem]:
    """Combine what the problems of a benchmark differ in; interventions are on all variables unless said otherwise."""
    shared |= {"variables": variables, "interventions": variables if interventions is None else interventions}
    return [kind(**dict(zip(axes, values, strict=True)), **shared) for values in product(*axes.values())]


def _learn_continuous(
    problems: Sequence[ContinuousProblem],
    density: str | None,
    set_: list[str] | None,
    *,
    threads: int,
    out: Path | None,
) -> None:
    from enco.bench.tables import continuous_table
    from enco.cli.fit import _settings

    settings = _settings([*(set_ or []), *([] if density is None else [f"density={density}"])])
    typer.echo(continuous_table(problems[0], _learn(problems, settings, threads=threads, out=out)))


def _learn(problems: Sequence[Simulation], settings: Settings, *, threads: int, out: Path | None) -> list[Record]:
    """Learn the problems that the file has no record of; return the records of all."""
    from enco.bench.jobs import Job, run_jobs, unfinished
    from enco.bench.records import Store
    from enco.cli._bench_progress import watch_jobs

    jobs = [Job(problem, problem.adapted(settings)) for problem in problems]
    store = Store(out)
    to_do = len(unfinished(jobs, store))
    if to_do < len(jobs):
        typer.echo(f"{out} holds {len(jobs) - to_do} of {len(jobs)} graphs already", err=True)
    if to_do:
        _warm_up(problems[0], settings, threads)
    try:
        with watch_jobs(to_do) as watcher:
            return run_jobs(jobs, store, n_jobs=threads, **watcher._asdict())
    except KeyboardInterrupt:
        if out is not None:
            typer.echo(f"stopped; {out} holds what is done, and the same command continues", err=True)
        raise


def _warm_up(problem: Simulation, settings: Settings, threads: int) -> float:
    from enco.bench.warmup import warm_up

    seconds = warm_up(settings, n_jobs=threads, problem=problem.tiny())
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
