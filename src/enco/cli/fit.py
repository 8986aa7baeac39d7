"""`enco fit`: from a data file to a causal graph."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from enco.cli._options import Control, DataArgument, Pairs, ResultFolder, Separator, TargetColumn, Threads, load_data
from enco.cli._signals import held_back, stopped_like_ctrl_c

if TYPE_CHECKING:
    from enco.data import InterventionalData
    from enco.fitting.checkpoint import Identity
    from enco.fitting.loop import Discovery
    from enco.knowledge import Knowledge
    from enco.result import Result
    from enco.settings import Settings

__all__ = ["fit"]

CHECKPOINT = "checkpoint.npz"
PAGE = "report.html"
INTERRUPTED = 130


def fit(
    data: DataArgument,
    out: ResultFolder,
    target_column: TargetColumn = "perturbation",
    control: Control = None,
    separator: Separator = "+",
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same graph, for any number of threads.")] = 0,
    threads: Threads = None,
    knowledge: Annotated[
        Path | None, typer.Option(help="TOML file with required and forbidden edges, tiers, roots, leaves.")
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="Pairs to consider: all, screen (those that a test of dependence leaves) or auto.",
            show_default="auto: screen above 75 variables",
        ),
    ] = None,
    latent: Annotated[bool, typer.Option("--latent", help="Look for latent confounders of two variables.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a fit that was interrupted.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the result, or unfinished fit, in the folder.")
    ] = False,
    set_: Pairs = None,
    report: Annotated[bool, typer.Option("--report", help="Also write the page report.html to the folder.")] = False,
    bootstrap: Annotated[
        int, typer.Option(min=0, metavar="B", help="Then refit B times on part of the rows: how stable is every edge?")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end instead of text.")] = False,
) -> None:
    """Learn the causal graph behind a data file.

    Writes graph.json, edges.csv, history.csv and parameters.npz to the folder; --report adds a page for the browser,
    --bootstrap stability.csv and stability.json, which say how often each edge was found again. A checkpoint is kept
    there while the fit runs: after Ctrl-C, or a crash, the same command with --resume continues to the same result.

    \b
    A file of background knowledge may look like this:
      required = [["smoking", "cancer"]]
      forbidden = [["cancer", "age"]]
      tiers = [["age", "sex"], ["smoking"]]
      roots = ["age"]
      leaves = ["cancer"]

    \b
    For example:
      enco fit data.npz --out result
      enco fit data.npz --out result --report
      enco fit screen.csv --target-column guide --control non-targeting --knowledge known.toml --out result
      enco fit data.npz --latent --out result
      enco fit data.npz --set sparsity=0.01 --set max_epochs=50 --seed 3 --out result
      enco fit data.npz --out result --resume
      enco fit data.npz --out result --bootstrap 20
      enco fit thousand.npz --candidates screen --out result
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco._result_files import STABILITY, is_complete

    given = [*(["latent=true"] if latent else []), *([] if candidates is None else [f"candidates={candidates}"])]
    settings = _settings([*(set_ or []), *given])
    check_folder(out, resume=resume, force=force, report=report)
    from enco.result import Result

    if resume and is_complete(out) and (not bootstrap or (out / STABILITY).exists()):
        if report:
            _write_page(Result.load(out), load_data(data, target_column, control, separator), out)
        _report_finished(out, as_json=as_json)
        return

    from enco._threads import count_threads
    from enco.cli._stability import add_stability, report_stability
    from enco.fitting.checkpoint import Identity
    from enco.fitting.loop import Discovery
    from enco.knowledge import Knowledge

    read = load_data(data, target_column, control, separator)
    known = None if knowledge is None else Knowledge.from_toml(knowledge)
    n_jobs = count_threads(threads)
    discovery = Discovery(read, settings=settings, knowledge=known, seed=seed, n_jobs=n_jobs)
    if not as_json:
        _show_plan(discovery, read, n_jobs)

    identity = Identity.of(read, settings, knowledge=known, seed=seed)
    with stopped_like_ctrl_c():
        result = _run(discovery, read, out, identity=identity, resume=resume, seed=seed, knowledge=known)
        result.save(out, overwrite=True)
        if report:
            _write_page(result, read, out)
        stable = add_stability((discovery, result), read, out, known, n_jobs, bootstrap) if bootstrap else None
        (out / CHECKPOINT).unlink(missing_ok=True)
    _report(result, out, as_json=as_json, page=report)
    if stable is not None and not as_json:
        report_stability(stable, out)


def _settings(pairs: list[str]) -> Settings:
    from enco.settings import Settings

    return Settings.parse(**read_pairs(pairs))


def read_pairs(pairs: list[str]) -> dict[str, str]:
    """Read what --set got.

    Examples
    --------
    >>> read_pairs(["sparsity = 0.01"])
    {'sparsity': '0.01'}
    """
    from enco.errors import SettingsError

    texts = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise SettingsError(f"--set needs NAME=VALUE, for example --set sparsity=0.01, not {pair!r}")
        texts[name.strip()] = text.strip()
    return texts


def check_folder(out: Path, *, resume: bool, force: bool, report: bool = False) -> None:
    """Refuse before the work rather than after it."""
    from enco._result_files import is_complete
    from enco.errors import EncoError

    if resume and force:
        raise EncoError("--resume continues a fit and --force starts it anew: give one of the two")
    if out.exists() and not out.is_dir():
        raise EncoError(f"cannot write to {out}: it is a file, choose a folder with --out")
    if report and (out / PAGE).exists() and not force:
        raise EncoError(f"{out / PAGE} exists already: choose another folder with --out, or replace it with --force")
    if resume or force:
        return
    if is_complete(out):
        raise EncoError(f"{out} holds a finished fit: choose another folder with --out, or replace it with --force")
    if (out / CHECKPOINT).exists():
        raise EncoError(f"{out} holds an unfinished fit: continue it with --resume, or replace it with --force")


def _run(
    discovery: Discovery,
    data: InterventionalData,
    out: Path,
    *,
    identity: Identity,
    resume: bool,
    seed: int,
    knowledge: Knowledge | None,
) -> Result:
    """Run a fit to its end with a checkpoint after every epoch; its seconds exclude interruptions."""
    from enco.cli._progress import watch
    from enco.fitting.checkpoint import read_checkpoint, write_checkpoint
    from enco.result import Result

    before = 0.0
    if resume and (out / CHECKPOINT).exists():
        before = read_checkpoint(out / CHECKPOINT, discovery, identity=identity)
    elif resume:
        typer.echo(f"there is nothing to resume in {out}: starting from the beginning", err=True)
    _prepare_folder(out)
    started = time.perf_counter()

    def seconds() -> float:
        return before + time.perf_counter() - started

    def save() -> None:
        with held_back():
            write_checkpoint(out / CHECKPOINT, discovery, identity=identity, seconds=seconds())

    try:
        save()
        with watch(discovery.epoch, discovery.settings.max_epochs) as watcher:

            def on_epoch(fit: Discovery) -> None:
                save()
                watcher.on_epoch(fit)

            discovery.run(on_epoch, watcher.on_progress)
            return Result.from_discovery(
                discovery,
                data,
                seconds=seconds(),
                seed=seed,
                knowledge=knowledge,
                on_progress=watcher.on_progress,
            )
    except KeyboardInterrupt:
        typer.echo(
            f"stopped after epoch {discovery.epoch}; the same command with --resume (and without --force) continues",
            err=True,
        )
        raise


def _prepare_folder(out: Path) -> None:
    """Create the folder, or clear it of an earlier result and of what a killed process may have left half written."""
    from enco._result_files import is_complete, remove_folder_content
    from enco.io._atomic import naming_output

    with naming_output(out):
        out.mkdir(parents=True, exist_ok=True)
    if is_complete(out):  # its page, if there is one, goes with it
        (out / PAGE).unlink(missing_ok=True)
    remove_folder_content(out)
    for leftover in out.glob(f".{CHECKPOINT}.*.tmp"):
        leftover.unlink(missing_ok=True)


def _show_plan(discovery: Discovery, data: InterventionalData, n_jobs: int) -> None:
    from enco._units import in_bytes, in_time
    from enco.cli._cost import seconds_of
    from enco.fitting.memory import needed_memory

    n_regimes = len(data.interventional)
    pairs = discovery.candidates
    memory = needed_memory(data, pairs, discovery.settings, n_jobs)
    typer.echo(
        f"data    {data.n_variables} variables, {data.n_rows:,} rows: {data.observational.n_rows:,} observational, "
        f"{n_regimes} intervention regime{'s' if n_regimes != 1 else ''}"
    )
    chosen = "screened by tests of dependence" if discovery.screening else "all that knowledge leaves open"
    typer.echo(f"pairs   {pairs.n_pairs:,} of {data.n_variables * (data.n_variables - 1):,}, {chosen}")
    typer.echo(
        f"cost    about {in_time(seconds_of(discovery, data, n_jobs))} on {n_jobs} thread{'s' if n_jobs != 1 else ''} "
        f"(less if the graph settles before epoch {discovery.settings.max_epochs}) and {in_bytes(memory)} of memory"
    )


def _report(result: Result, out: Path, *, as_json: bool, page: bool) -> None:
    from enco._memory import peak_memory
    from enco._units import in_bytes, in_time

    peak = peak_memory()
    if as_json:
        _print_json(result, out, peak)
        return
    removed = len(result.order_report["removed"])
    typer.echo(f"edges   {result.n_edges}{f', {removed} more removed to break cycles' if removed else ''}")
    if result.confounder_scores is not None:
        scored, all_pairs = _scored_pairs(result)
        typer.echo(f"hidden  {len(result.confounders)} confounded pairs; {scored} of {all_pairs} pairs could be scored")
    typer.echo(f"time    {in_time(result.seconds)}, {len(result.history)} epochs")
    if peak is not None:
        typer.echo(f"memory  {in_bytes(peak)} at most")
    typer.echo(f"result  {out / 'graph.json'}")
    if page:
        typer.echo(f"report  {out / PAGE}")


def _write_page(result: Result, data: InterventionalData, out: Path) -> None:
    from enco.report import write_report

    write_report(out / PAGE, result, data=data, overwrite=True, follow_links=False)


def _scored_pairs(result: Result) -> tuple[int, int]:
    """Pairs of variables with a confounder score, and all pairs."""
    import numpy as np

    n = len(result.variables)
    scores = result.confounder_scores
    return 0 if scores is None else int((~np.isnan(scores)).sum()) // 2, n * (n - 1) // 2


def _confounder_counts(result: Result) -> dict[str, int]:
    if result.confounder_scores is None:
        return {}
    return {"confounders": len(result.confounders), "scored_pairs": _scored_pairs(result)[0]}


def _report_finished(out: Path, *, as_json: bool) -> None:
    from enco.result import Result

    (out / CHECKPOINT).unlink(missing_ok=True)  # left by a process that was killed in its last moment
    if as_json:
        _print_json(Result.load(out), out, None)
    else:
        typer.echo(f"{out} holds a finished fit: there is nothing to resume")


def _print_json(result: Result, out: Path, peak: int | None) -> None:
    content = {
        "variables": len(result.variables),
        "edges": result.n_edges,
        "edges_raw": int(result.adjacency_raw.sum()),
        **_confounder_counts(result),
        "epochs": len(result.history),
        "seconds": result.seconds,
        "peak_memory": peak,
        "result": str(out),
    }
    typer.echo(json.dumps(content, indent=2))
