"""What a fit shows while it runs, on standard error: a bar on a terminal, a line per epoch elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import typer

from enco.fitting.loop import Discovery, EpochRecord, Progress

__all__ = ["Watcher", "watch"]

_STAGE_STARTS = {"distributions": 0.0, "graph": 0.5}  # share of an epoch that lies before each stage


class Watcher(NamedTuple):
    """The two callbacks of `Discovery.run`."""

    on_epoch: Callable[[Discovery], None]
    on_progress: Callable[[Progress], None]


@contextmanager
def watch(first_epoch: int, max_epochs: int) -> Iterator[Watcher]:
    """Show epoch, edges and held-out loss until the block ends.

    Parameters
    ----------
    first_epoch : int
        Epochs completed before.
    max_epochs : int

    Examples
    --------
    >>> with watch(0, 30) as watcher:
    ...     watcher.on_progress(Progress(0, 30, "graph", 0.5, None))
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Watcher(_write_line, _announce_search())
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(_epoch(first_epoch + 1, max_epochs), total=max_epochs, completed=first_epoch, state="")

        def on_progress(progress: Progress) -> None:
            if progress.stage == "search":
                bar.update(task, completed=progress.fraction, total=1.0, description="search")
                return
            done = progress.epoch + _STAGE_STARTS.get(progress.stage, 0.0) + 0.5 * progress.fraction
            bar.update(task, completed=done, description=_epoch(progress.epoch + 1, max_epochs))

        def on_epoch(discovery: Discovery) -> None:
            bar.update(task, completed=discovery.epoch, state=_state(discovery.history[-1]))

        yield Watcher(on_epoch, on_progress)


def _write_line(discovery: Discovery) -> None:
    last = discovery.history[-1]
    typer.echo(f"{_epoch(last.epoch, discovery.settings.max_epochs)}  {_state(last)}", err=True)


def _announce_search() -> Callable[[Progress], None]:
    """One line when the search begins, and none after it."""
    announced: list[str] = []

    def on_progress(progress: Progress) -> None:
        if progress.stage == "search" and not announced:
            announced.append(progress.stage)
            typer.echo("searching for a better graph", err=True)

    return on_progress


def _epoch(epoch: int, max_epochs: int) -> str:
    return f"epoch {epoch:{len(str(max_epochs))}}/{max_epochs}"


def _state(record: EpochRecord) -> str:
    return f"{record.edges} edges, {record.undecided} undecided, held-out loss {record.held_out_loss:.4f}"
