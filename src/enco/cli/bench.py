"""`enco bench`: the paper's tables and figures (`bench_specs`), the speed of a fit, and the noise of its gradients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from enco.cli.bench_specs import COMMANDS, check_picture

if TYPE_CHECKING:
    from enco.bench.problem import Problem
    from enco.settings import Settings

__all__ = ["bench"]

bench = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})

Variables = Annotated[int, typer.Option("--variables", "-n", min=2, help="Number of variables.")]
RowCount = Annotated[int, typer.Option(min=2, help="Observational rows.")]
InterventionalRows = Annotated[int, typer.Option(min=1, help="Rows for each intervention.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the problem and of its fit.")]
MeasuredThreads = Annotated[int, typer.Option(min=1, help="Threads to use; they change seconds, not results.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
]


@bench.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Measure how good and how fast fits are.

    \b
    For example:
      enco bench list
      enco bench run table1 --methods enco --graphs 10
      enco bench table table1
      enco bench plot table1 --out table1.png
      enco bench speed
      enco bench robustness
      enco bench gradient-variance --out variance.png
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for name, command in COMMANDS.items():
    bench.command(name)(command)


@bench.command()
def speed(
    structure: Annotated[str, typer.Option(help="Structure of the graph.")] = "random",
    variables: Variables = 25,
    rows: RowCount = 5000,
    interventional_rows: InterventionalRows = 200,
    seed: Seed = 1000,
    set_: Set = None,
    threads: MeasuredThreads = 2,
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
    rows: RowCount = 5000,
    batch: Annotated[int, typer.Option(min=1, help="Rows that the sampled graphs share.")] = 128,
    points: Annotated[int, typer.Option(min=1, max=12, help="Costs to measure at, each twice the one before.")] = 8,
    repeats: Annotated[int, typer.Option(min=2, help="Estimates behind each deviation.")] = 16,
    seed: Seed = 1000,
    set_: Set = None,
    threads: MeasuredThreads = 2,
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
    check_picture(out, force=force)
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


@bench.command()
def confounder_scores(
    out: Annotated[Path, typer.Option("--out", "-o", help="PNG file for the figure.")],
    variables: Variables = 25,
    latents: Annotated[int, typer.Option(min=1, help="Latent confounders.")] = 5,
    rows: RowCount = 5000,
    interventional_rows: InterventionalRows = 512,
    seed: Seed = 1000,
    set_: Set = None,
    threads: MeasuredThreads = 2,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Draw the scores of confounded pairs, and the highest of all others, over the epochs of a fit.

    \b
    For example, the figure of the paper's Appendix C.3:
      enco bench confounder-scores --out scores.png
    """  # noqa: D301
    from dataclasses import replace

    from enco.bench.figures import draw_scores
    from enco.bench.latents import scores_over_epochs
    from enco.bench.problem import Problem
    from enco.cli.fit import _settings

    settings = replace(_settings(set_ or []), latent=True)
    check_picture(out, force=force)
    problem = Problem(
        structure="random",
        seed=seed,
        variables=variables,
        rows=rows,
        interventional_rows=interventional_rows,
        interventions=variables,
        latents=latents,
    )
    draw_scores(scores_over_epochs(problem, settings, n_jobs=threads), out, settings, overwrite=force)
    typer.echo(f"figure  {out}")


@bench.command()
def robustness(
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes at a time, of one thread each.")] = 2,
) -> None:
    """Count the graphs that change with rounding, the order of rows or columns, or the seed.

    Fits small problems of all kinds again and again: with rows or columns in another order, with values that differ by
    rounding, as another processor would compute (OPENBLAS_CORETYPE, NUMBA_CPU_NAME), and with other seeds. Prints
    Markdown tables. Takes about ten minutes on two cores.

    \b
    For example:
      enco bench robustness
    """  # noqa: D301
    from enco.bench.machine import machine
    from enco.bench.robustness import measure_robustness, robustness_table, variations
    from enco.bench.robustness_cases import cases
    from enco.cli._bench_progress import watch_share

    with watch_share("fits") as on_progress:
        report = measure_robustness(
            cases(), variations(), n_jobs=jobs, on_fit=lambda done, total: on_progress(done / total)
        )
    typer.echo(robustness_table(report))
    typer.echo(f"\nprocessor: {machine()['cpu']}")


@bench.command()
def calibrate(
    seeds: Annotated[int, typer.Option(min=1, help="Fits of each setting.")] = 4,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first one.")] = 900,
    settings: Annotated[
        str | None,
        typer.Option(help="Only settings whose names contain this, such as 'few rows'.", show_default="(all)"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes at a time, of one thread each.")] = 2,
    curves: Annotated[
        Path | None,
        typer.Option(help="Fit the curves to these fits, and write them to a TOML file.", show_default="no"),
    ] = None,
) -> None:
    """Fit the curves that turn what a search says into probabilities, on simulated data of 43 kinds.

    Prints a Markdown table of the fits that it makes: expected calibration error, edges with a probability of 0.9 and
    more and how many of them are right, and average precision; in brackets, of the probability that Algorithm 1
    learned. `enco bench run calibration` makes the same table of fits that are kept as records. Takes about ten seconds
    for each fit and process.

    \b
    For example:
      enco bench calibrate --settings "few rows"
      enco bench calibrate --seeds 4 --curves calibration.toml   # as the curves of the package were made
    """  # noqa: D301
    from enco.bench.calibration import calibration_table, curves_as_toml, directed, fit_curves, observed_pairs
    from enco.bench.calibration_settings import SETTINGS
    from enco.cli._bench_progress import watch_share
    from enco.errors import SettingsError
    from enco.io._atomic import atomic_file
    from enco.result.circumstances import ranges_of

    names = [name for name in SETTINGS if settings is None or settings in name]
    if not names:
        raise SettingsError(f"no setting contains {settings!r}; choose from {', '.join(SETTINGS)}")
    total = seeds * len(names)
    with watch_share("fits") as on_progress:
        pairs, seen = observed_pairs(
            range(first_seed, first_seed + seeds), names, n_jobs=jobs, on_fit=lambda done: on_progress(done / total)
        )
    typer.echo(calibration_table(directed(pairs)))
    if curves is not None:
        with atomic_file(curves) as file:
            file.write_text(curves_as_toml(fit_curves(pairs), ranges_of(seen), total), encoding="utf-8")
        typer.echo(f"curves  {curves}")


def _warm_up(problem: Problem, settings: Settings, threads: int) -> float:
    from enco.bench.warmup import warm_up

    seconds = warm_up(settings, n_jobs=threads, problem=problem.tiny())
    typer.echo(f"compilation, or reading compiled kernels from the cache: {seconds:.1f} s", err=True)
    return seconds
