"""What a benchmark shows while it runs, on standard error: a bar on a terminal, a line per job elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import typer

from enco.bench.jobs import Job
from enco.bench.records import DONE, Record

__all__ = ["JobWatcher", "watch_jobs", "watch_share"]


class JobWatcher(NamedTuple):
    """The callbacks of `enco.bench.runner.run_jobs`."""

    on_start: Callable[[Job], None]
    on_record: Callable[[Job, Record], None]


@contextmanager
def watch_jobs(total: int) -> Iterator[JobWatcher]:
    """Show what is running, and what came out of each job, until the block ends.

    Parameters
    ----------
    total : int
        Jobs to do.

    Examples
    --------
    >>> with watch_jobs(0) as watcher:
    ...     callable(watcher.on_start)
    True
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    running: dict[str, str] = {}
    finished = 0
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("jobs", total=total)

        def on_start(job: Job) -> None:
            running[job.key] = _name(job)
            bar.update(task, description="; ".join(running.values()))

        def on_record(job: Job, record: Record) -> None:
            nonlocal finished
            finished += 1
            running.pop(job.key, None)
            line = f"{finished}/{total}  {_name(job)}  {_outcome(record)}"
            if console.is_terminal:
                bar.console.print(line, highlight=False, markup=False)
            else:
                typer.echo(line, err=True)
            bar.update(task, advance=1, description="; ".join(running.values()))

        yield JobWatcher(on_start, on_record)


@contextmanager
def watch_share(what: str) -> Iterator[Callable[[float], None]]:
    """Show the share that is done until the block ends; only on a terminal.

    Examples
    --------
    >>> with watch_share("estimates") as on_progress:
    ...     on_progress(0.5)
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _name(job: Job) -> str:
    problem = job.problem
    size = (
        f"{problem.variables} variables, {problem.rows:,} + {problem.interventions} x {problem.interventional_rows:,}"
    )
    return f"{job.method}  {problem.label}, seed {problem.seed}, {size}"


def _outcome(record: Record) -> str:
    if record["status"] != DONE:
        return f"{record['status'].upper()}: {record['error']}"
    if "shd" not in record:
        return DONE
    wrong = f"{record['missing']} missing, {record['extra']} extra"
    return f"SHD {record['shd_raw']} -> {record['shd']}  ({wrong})  {record['seconds']:.1f} s"
