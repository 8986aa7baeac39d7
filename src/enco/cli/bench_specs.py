"""`enco bench list | run | table | plot | docs`: the paper's tables and figures, and specs of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from enco.bench.records import Store
    from enco.bench.spec import Planned, Spec

__all__ = ["COMMANDS", "check_picture"]

SpecName = Annotated[str, typer.Argument(metavar="SPEC", help="Name (see enco bench list), or path of a .toml file.")]
Folder = Annotated[Path, typer.Option("--out", "-o", help="Folder of records; what it holds is not redone.")]
Results = Annotated[Path, typer.Option("--results", help="Folder of records.")]
Graphs = Annotated[int | None, typer.Option(min=1, help="Graphs of each cell.", show_default="those of the spec")]
FirstSeed = Annotated[int | None, typer.Option(min=0, help="Seed of the first graph.", show_default="that of the spec")]
Methods = Annotated[
    list[str] | None,
    typer.Option(help="Names, separated by commas; may be repeated.", show_default="all but the optional ones"),
]
CellChoice = Annotated[
    list[str] | None,
    typer.Option(metavar="AXIS=LABELS", help="Only these labels, separated by semicolons; may be repeated."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]

RESULTS = Path("results")


def list_() -> None:
    """List the benchmarks.

    \b
    For example:
      enco bench list
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.bench.spec import builtin_specs, load_spec

    summaries = {name: load_spec(name).summary for name in builtin_specs()} | OTHERS
    width = max(map(len, summaries))
    for name, summary in summaries.items():
        typer.echo(f"{name:{width}}  {summary}")


OTHERS = {
    "speed": "enco bench speed: rates, share of the machine's arithmetic peak, time by stage, memory",
    "confounder-scores": "enco bench confounder-scores: the score of confounded pairs while ENCO learns, Appendix C.3",
}


def run(
    spec: SpecName,
    graphs: Graphs = None,
    first_seed: FirstSeed = None,
    methods: Methods = None,
    cells: CellChoice = None,
    jobs: Annotated[int, typer.Option(min=1, help="Jobs at a time; 1 for seconds worth reading.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of each job.", show_default="cores shared out among jobs")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(min=0.1, help="Seconds for each job.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed, was killed or took too long.")] = False,
    renew: Annotated[bool, typer.Option("--renew", help="Redo what was done by other code than the present.")] = False,
    plugins: Annotated[
        list[Path] | None, typer.Option("--plugin", help="Python file that registers a method; may be repeated.")
    ] = None,
    out: Folder = RESULTS,
) -> None:
    """Run a benchmark, or what is missing of it, and print its table.

    Every job adds one line to OUT/SPEC.jsonl as soon as it is done; the same command continues after an interruption.
    A job is known by its content, so specs share what they have in common. The exit code is 1 if jobs failed.

    \b
    For example:
      enco bench run table1 --methods enco --graphs 10
      enco bench run table1 --methods sdi,dcdi --graphs 5 --time-limit 3600
      enco bench run partial --cells "structure=random;jungle" --cells interventions=4
      enco bench run mine.toml --plugin my_method.py --jobs 4
    """  # noqa: D301
    from enco.bench.plugins import load_plugins
    from enco.bench.records import open_folder
    from enco.bench.runner import run_jobs, to_do
    from enco.bench.spec import load_spec
    from enco.cli._bench_progress import watch_jobs

    loaded = load_spec(spec)
    files = [*loaded.plugins, *(plugins or [])]
    load_plugins(files)
    plan = _plan(loaded, graphs, first_seed, methods, cells)
    loaded.check(plan)
    store = open_folder(out, loaded.name)
    missing = to_do([planned.job for planned in plan], store, retry=retry, renew=renew)
    _say_how_many(plan, store, len(missing), out)
    try:
        with watch_jobs(len(missing)) as watcher:
            run_jobs(
                missing,
                store,
                n_jobs=jobs,
                threads=threads,
                time_limit=time_limit,
                plugins=files,
                **watcher._asdict(),
            )
    except KeyboardInterrupt:
        typer.echo(f"stopped; {out} holds what is done, and the same command continues", err=True)
        raise
    _print_table(loaded, plan, store, as_latex=False)
    if any(not store.done(planned.job.key) for planned in plan):
        raise typer.Exit(1)


def table(
    spec: SpecName,
    graphs: Graphs = None,
    first_seed: FirstSeed = None,
    methods: Methods = None,
    cells: CellChoice = None,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX instead of Markdown.")] = False,
    results: Results = RESULTS,
) -> None:
    """Print the table of a benchmark from its records, ours beside the paper's.

    \b
    For example:
      enco bench table table1
      enco bench table continuous --latex
    """  # noqa: D301
    loaded, plan, store = _recorded(spec, graphs, first_seed, methods, cells, results)
    _print_table(loaded, plan, store, as_latex=latex)


def plot(
    spec: SpecName,
    out: Annotated[Path, typer.Option("--out", "-o", help="PNG file.")],
    graphs: Graphs = None,
    first_seed: FirstSeed = None,
    methods: Methods = None,
    cells: CellChoice = None,
    results: Results = RESULTS,
    force: Force = False,
) -> None:
    """Draw a benchmark from its records, ours beside the paper's.

    \b
    For example:
      enco bench plot partial --out partial.png
    """  # noqa: D301
    check_picture(out, force=force)
    loaded, plan, store = _recorded(spec, graphs, first_seed, methods, cells, results)

    from enco.bench.spec_figures import draw_spec

    draw_spec(loaded, plan, store, out, overwrite=force)
    typer.echo(f"figure  {out}")


def docs(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Markdown file.", show_default="print")] = None,
    results: Results = RESULTS,
    force: Force = False,
) -> None:
    """Write the page of benchmarks from the records of all specs.

    \b
    For example:
      enco bench docs --out docs/benchmarks.md --force
    """  # noqa: D301
    from enco.bench.benchmarks_page import benchmark_page
    from enco.bench.records import read_folder
    from enco.errors import EncoError
    from enco.io._atomic import atomic_file

    if out is not None and out.exists() and not force:
        raise EncoError(f"{out} exists already: choose another name, or replace it with --force")
    page = benchmark_page(read_folder(results))
    if out is None:
        typer.echo(page)
        return
    with atomic_file(out, overwrite=force) as temporary:
        temporary.write_text(page, encoding="utf-8")
    typer.echo(f"page  {out}")


COMMANDS: dict[str, Callable[..., None]] = {"list": list_, "run": run, "table": table, "plot": plot, "docs": docs}


def check_picture(out: Path | None, *, force: bool) -> None:
    """Refuse a file name before the work rather than after it."""
    from enco.errors import EncoError

    if out is None:
        return
    if out.suffix.lower() != ".png":
        raise EncoError(f"cannot write {out}: the name must end in .png")
    if out.exists() and not force:
        raise EncoError(f"{out} exists already: choose another name, or replace it with --force")
    if not out.parent.is_dir():
        raise EncoError(f"cannot write {out}: the folder {out.parent} does not exist, create it first")


def _recorded(
    spec: str,
    graphs: int | None,
    first_seed: int | None,
    methods: list[str] | None,
    cells: list[str] | None,
    results: Path,
) -> tuple[Spec, list[Planned], Store]:
    from enco.bench.records import read_folder
    from enco.bench.spec import load_spec

    loaded = load_spec(spec)
    plan = _plan(loaded, graphs, first_seed, methods or list(loaded.methods), cells)
    return loaded, plan, read_folder(results)


def _plan(
    spec: Spec, graphs: int | None, first_seed: int | None, methods: list[str] | None, cells: list[str] | None
) -> list[Planned]:
    from enco.errors import SettingsError

    chosen: dict[str, list[str]] = {}
    for text in cells or []:
        axis, equals, labels = text.partition("=")
        if not equals:
            raise SettingsError(f"--cells needs AXIS=LABELS, for example --cells structure=chain, not {text!r}")
        chosen.setdefault(axis.strip(), []).extend(_names([labels], ";"))
    return spec.plan(graphs=graphs, first_seed=first_seed, methods=_names(methods or [], ",") or None, cells=chosen)


def _names(texts: list[str], separator: str) -> list[str]:
    """Take names apart; each counts once."""
    return list(dict.fromkeys(name.strip() for text in texts for name in text.split(separator) if name.strip()))


def _say_how_many(plan: list[Planned], store: Store, to_do: int, out: Path) -> None:
    total = len({planned.job.key for planned in plan})
    done = sum(store.done(key) for key in {planned.job.key for planned in plan})
    failed = sum(key in store.records and not store.done(key) for key in {planned.job.key for planned in plan})
    hint = f", {failed} without a result (--retry tries again)" if failed else ""
    typer.echo(f"{total} jobs: {out} holds {done} with results{hint}; {to_do} to do", err=True)


def _print_table(spec: Spec, plan: list[Planned], store: Store, *, as_latex: bool) -> None:
    from enco.bench.spec_tables import spec_table

    heading = f"% {spec.title}" if as_latex else f"## {spec.title}"
    typer.echo(f"{heading}\n\n{spec_table(spec, plan, store, as_latex=as_latex)}")
