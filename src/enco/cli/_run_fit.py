"""What `enco fit` does once it knows what it was asked for, in a folder that it has for itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from enco.cli._options import load_data
from enco.cli._signals import held_back

if TYPE_CHECKING:
    from enco.data import InterventionalData
    from enco.fitting.checkpoint import Identity
    from enco.fitting.loop import Discovery
    from enco.knowledge import Knowledge
    from enco.result import Result
    from enco.settings import Settings

__all__ = ["FitRequest", "run_fit"]


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """What `enco fit` was asked for."""

    data: Path
    out: Path
    changes: dict[str, Any]
    """Settings that differ from the preset's, and the preset itself."""
    target_column: str = "perturbation"
    control: list[str] | None = None
    separator: str = "+"
    targets: Path | None = None
    unknown_targets: bool = False
    context: list[str] | None = None
    seed: int = 0
    threads: int | None = None
    knowledge: Path | None = None
    resume: bool = False
    force: bool = False
    report: bool = False
    bootstrap: int = 0
    resample: str = "subsample"
    null: int = 0
    fdr: float | None = None
    as_json: bool = False

    def load_data(self) -> InterventionalData:
        """Read the data file."""
        return load_data(
            self.data,
            self.target_column,
            self.control,
            self.separator,
            targets=self.targets,
            unknown_targets=self.unknown_targets,
            context=self.context,
        )


@dataclass(frozen=True)
class _Problem:
    """What determines a fit, read from the files."""

    data: InterventionalData
    settings: Settings
    knowledge: Knowledge | None
    identity: Identity
    n_jobs: int


def run_fit(request: FitRequest) -> None:
    """Do what was asked for, in a folder whose lock the caller holds."""
    from enco.cli._fit_folder import check_folder, finished_result
    from enco.result.folder import recover

    recover(request.out)
    check_folder(request.out, resume=request.resume, force=request.force, report=request.report)
    problem = _read(request)
    finished = finished_result(request.out, problem.identity) if request.resume else None
    if finished is None:
        _fit_anew(request, problem)
    else:
        _add_to(finished, request, problem)


def _read(request: FitRequest) -> _Problem:
    from enco.executors.threads import count_threads
    from enco.fitting.checkpoint import Identity
    from enco.knowledge import Knowledge
    from enco.settings import Settings

    data = request.load_data()
    known = None if request.knowledge is None else Knowledge.from_toml(request.knowledge)
    settings = Settings.of_preset(int((~data.is_context).sum()), partial=data.partial, **request.changes)
    identity = Identity.of(data, settings, knowledge=known, seed=request.seed)
    return _Problem(data, settings, known, identity, count_threads(request.threads))


def _discovery(request: FitRequest, problem: _Problem) -> Discovery:
    from enco.fitting.loop import Discovery

    return Discovery(
        problem.data,
        settings=problem.settings,
        knowledge=problem.knowledge,
        seed=request.seed,
        n_jobs=problem.n_jobs,
    )


def _fit_anew(request: FitRequest, problem: _Problem) -> None:
    """Fit from the beginning, or from a checkpoint; the result replaces what was in the folder."""
    from enco.cli._outcome import print_json, report_result
    from enco.fitting.networks import write_networks
    from enco.result.folder import NETWORKS, REFITS, forget_checkpoint, replacing
    from enco.system.process_memory import peak_memory

    out = request.out
    discovery = _discovery(request, problem)
    if not request.as_json:
        _show_plan(discovery, problem.data, problem.n_jobs)
    result = _run(discovery, problem, out, resume=request.resume)
    if request.fdr is not None:
        result = result.at_fdr(request.fdr)
    with replacing(out) as new:
        result.save(new)
        write_networks(new / NETWORKS, discovery.model)
        if request.report:
            _write_page(result, problem.data, new)
    forget_checkpoint(out)
    (out / REFITS).unlink(missing_ok=True)  # of an earlier fit
    result = _with_additions(discovery if request.bootstrap else None, result, request, problem)
    if request.as_json:
        print_json(result, out, peak_memory())
        return
    report_result(result, out, page=request.report)
    _report_additions(result, request)


def _add_to(result: Result, request: FitRequest, problem: _Problem) -> None:
    """Add to a finished fit what was asked for and is not there yet; the fit itself is not repeated."""
    from enco.cli._fit_folder import drop_checkpoint
    from enco.cli._outcome import print_json
    from enco.fitting.networks import read_networks
    from enco.result.folder import NETWORKS, PAGE

    out = request.out
    drop_checkpoint(out, problem.identity)  # left by a process that was killed in its last moment
    if request.report and not (out / PAGE).exists():
        _write_page(result, problem.data, out)
    discovery = None
    if _lacks_refits(request):
        discovery = _discovery(request, problem)
        read_networks(out / NETWORKS, discovery.model)
    lacking = discovery is not None or _lacks_control(result, request)
    if lacking:
        result = _with_additions(discovery, result, request, problem)
    if request.as_json:
        print_json(result, out, None)
    elif lacking:
        typer.echo(f"{out} holds a finished fit: only what was missing was added")
        _report_additions(result, request)
    else:
        typer.echo(f"{out} holds a finished fit: there is nothing to resume")


def _lacks_refits(request: FitRequest) -> bool:
    from enco.result.folder import STABILITY
    from enco.stability import Stability

    there_are = Stability.load(request.out).n_resamples if (request.out / STABILITY).exists() else 0
    return there_are < request.bootstrap


def _lacks_control(result: Result, request: FitRequest) -> bool:
    table = result.null_control
    there_are = 0 if table is None or not len(table) else int(table["permutations"].iloc[0])
    return there_are < request.null


def _with_additions(discovery: Discovery | None, result: Result, request: FitRequest, problem: _Problem) -> Result:
    """Make refits, if there are networks for them to begin with, and the negative control that was asked for."""
    from enco.cli._additions import add_null_control, add_refits, replace_result

    out, data = request.out, problem.data
    try:
        if discovery is not None:
            known, n, scheme = problem.knowledge, request.bootstrap, request.resample
            found = add_refits((discovery, result), data, out, known, problem.n_jobs, n, scheme)
            result = found.added_to(result)
            replace_result(out, result, found, data)
        if _lacks_control(result, request):
            settings, known = problem.settings, problem.knowledge
            control = add_null_control(result, data, request.null, settings, known, problem.n_jobs)
            result = control.added_to_result()
            replace_result(out, result, None, data)
    except KeyboardInterrupt:
        typer.echo(
            "the graph is saved; the same command with --resume (and without --force) makes what is missing", err=True
        )
        raise
    return result


def _run(discovery: Discovery, problem: _Problem, out: Path, *, resume: bool) -> Result:
    """Run a fit to its end with a checkpoint after every epoch; its seconds exclude interruptions."""
    from enco.cli._progress import watch
    from enco.discover import conclude
    from enco.fitting.checkpoint import read_checkpoint, write_checkpoint
    from enco.result.folder import CHECKPOINT, JOURNAL
    from enco.score.journal import FileJournal

    before, identity, where = 0.0, problem.identity, ""
    if resume and (out / CHECKPOINT).exists():
        before = read_checkpoint(out / CHECKPOINT, discovery, identity=identity)
    elif resume:
        typer.echo(f"there is nothing to resume in {out}: starting from the beginning", err=True)
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
            where = "in the search, "
            with FileJournal(out / JOURNAL, identity.after(discovery)) as journal:
                result = conclude(
                    discovery,
                    problem.data,
                    seconds=seconds(),
                    seed=identity.seed,
                    knowledge=problem.knowledge,
                    on_progress=watcher.on_progress,
                    journal=journal,
                )
            return replace(result, data_digest=identity.data)
    except KeyboardInterrupt:
        typer.echo(
            f"stopped {where}after epoch {discovery.epoch}; "
            "the same command with --resume (and without --force) continues",
            err=True,
        )
        raise


def _show_plan(discovery: Discovery, data: InterventionalData, n_jobs: int) -> None:
    from enco.interventions.shifts import are_batches
    from enco.plan import plan
    from enco.result.interventions import BATCHES, in_words, intervention_table
    from enco.system.units import in_bytes, in_time

    n, n_context, n_regimes = int((~data.is_context).sum()), int(data.is_context.sum()), len(data.interventional)
    typer.echo(
        f"data    {n} variables, {_columns(n_context)}{data.n_rows:,} rows: "
        f"{data.observational.n_rows:,} observational, {n_regimes} intervention regime{'s' if n_regimes != 1 else ''}"
    )
    sentences = in_words(intervention_table(data, discovery.verdicts), n)
    if not discovery.given.is_context.any() and are_batches(discovery.shifts, data):
        sentences.append(BATCHES)
    if discovery.settings.regime_shift and not (data.is_continuous & ~data.is_context).any():
        sentences.append(
            "regime_shift does nothing here: all variables are categorical, name the batch as context instead"
        )
    for sentence in sentences:
        typer.echo(f"labels  {sentence}")
    chosen = "screened by tests of dependence" if discovery.screening else "all that knowledge leaves open"
    if discovery.settings.preset != "enco":
        changes = discovery.settings.changes(n, partial=data.partial)
        listed = ", ".join(f"{name}={value}" for name, value in changes.items())
        typer.echo(f"preset  {discovery.settings.preset}{f', changed: {listed}' if listed else ''}")
    in_graph = ~discovery.given.is_context[discovery.column][discovery.candidates.cause]
    typer.echo(f"pairs   {int(in_graph.sum()):,} of {n * (n - 1):,}, {chosen}")
    cost = plan(discovery, data)
    typer.echo(
        f"cost    about {in_time(cost.total)} on {n_jobs} thread{'s' if n_jobs != 1 else ''} "
        f"(less if the graph settles before epoch {discovery.settings.max_epochs}) "
        f"and {in_bytes(cost.n_bytes)} of memory"
    )


def _columns(n_context: int) -> str:
    if not n_context:
        return ""
    return f"{n_context} context column{'s' if n_context != 1 else ''}, "


def _write_page(result: Result, data: InterventionalData, out: Path) -> None:
    from enco.report import write_report
    from enco.result.folder import PAGE

    write_report(out / PAGE, result, data=data, overwrite=True, follow_links=False)


def _report_additions(result: Result, request: FitRequest) -> None:
    from enco.cli._additions import report_null_control, report_stability
    from enco.stability import Stability

    if request.bootstrap:
        report_stability(Stability.load(request.out), request.out)
    if request.null:
        report_null_control(result)
