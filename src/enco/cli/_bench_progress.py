"""What a benchmark shows while it runs, on standard error: a bar on a terminal, a line per graph elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import typer

from enco.bench.jobs import Job
from enco.bench.records import Record
from enco.fitting.loop import Discovery

__all__ = ["JobWatcher", "watch_jobs", "watch_share"]


class JobWatcher(NamedTuple):
    """The callbacks of `enco.bench.jobs.run_jobs`."""

    on_start: Callable[[Job], None]
    on_epoch: Callable[[Discovery], None]
    on_record: Callable[[Job, Record], None]


@contextmanager
def watch_jobs(total: int) -> Iterator[JobWatcher]:
    """Show which graph is being learned, and what came out of each, until the block ends.

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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("graphs", total=total, state="")

        def on_start(job: Job) -> None:
            bar.update(task, description=_name(job), state="")

        def on_epoch(discovery: Discovery) -> None:
            bar.update(task, state=f"epoch {discovery.epoch}, {discovery.history[-1].edges} edges")

        def on_record(job: Job, record: Record) -> None:
            line = (
                f"{_name(job)}  SHD {record['shd_raw']} -> {record['shd']}  ({record['missing']} missing, "
                f"{record['extra']} extra)  {record['epochs']} epochs  {record['seconds']:.1f} s"
            )
            if console.is_terminal:
                bar.console.print(line, highlight=False, markup=False)
            else:
                typer.echo(line, err=True)
            bar.update(task, advance=1)

        yield JobWatcher(on_start, on_epoch, on_record)


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
    return f"{job.problem.label}, seed {job.problem.seed}"
