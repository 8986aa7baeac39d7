"""What `enco fit` adds to a finished result: frequencies of refits, and a negative control."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from enco.data import InterventionalData
    from enco.fitting.loop import Discovery
    from enco.knowledge import Knowledge
    from enco.null_control import NullControl
    from enco.result import Result
    from enco.settings import Settings
    from enco.stability import Stability

__all__ = ["add_null_control", "add_refits", "replace_result", "report_null_control", "report_stability", "watch_fits"]


def add_refits(
    fit: tuple[Discovery, Result],
    data: InterventionalData,
    out: Path,
    knowledge: Knowledge | None,
    n_jobs: int,
    n_resamples: int,
    scheme: str,
) -> Stability:
    """Make the refits that the folder of a finished fit lacks; those that are done are kept after an interruption."""
    from enco.errors import EncoError
    from enco.result.folder import REFITS, STABILITY
    from enco.score.journal import FileJournal
    from enco.stability import Stability, stability

    discovery, result = fit
    earlier = Stability.load(out) if (out / STABILITY).exists() else None
    what = f"{result.data_digest} {result.settings} {result.knowledge} {result.seed} {scheme} {result.version}"
    try:
        with watch_fits("refit", n_resamples) as on_fit, FileJournal(out / REFITS, what) as journal:
            return stability(
                data,
                n_resamples,
                scheme=scheme,
                settings=discovery.settings,
                knowledge=knowledge,
                seed=result.seed,
                n_jobs=n_jobs,
                fit=fit,
                earlier=earlier,
                journal=journal,
                on_resample=on_fit,
            )
    except EncoError:  # nothing was begun
        (out / REFITS).unlink(missing_ok=True)
        raise


def add_null_control(
    result: Result,
    data: InterventionalData,
    n_permutations: int,
    settings: Settings,
    knowledge: Knowledge | None,
    n_jobs: int | None,
) -> NullControl:
    """Fit with permuted labels."""
    from enco.null_control import null_control

    with watch_fits("permutation", n_permutations) as on_fit:
        return null_control(
            data,
            n_permutations,
            result=result,
            settings=settings,
            knowledge=knowledge,
            seed=result.seed,
            n_jobs=n_jobs,
            on_fit=lambda done: on_fit(done - 1) if done > 1 else None,  # the first is the result itself
        )


def replace_result(out: Path, result: Result, stability: Stability | None, data: InterventionalData) -> None:
    """Put a result to which something was added in the place of the one in the folder.

    Its networks stay, and so do earlier refits; its page, if there is one, is written anew.
    """
    from enco.report import write_report
    from enco.result.folder import NETWORKS, PAGE, REFITS, STABILITY, replacing
    from enco.stability import Stability

    if stability is None and (out / STABILITY).exists():
        stability = Stability.load(out)
    with replacing(out) as new:
        result.save(new)
        if (out / NETWORKS).exists():
            shutil.copyfile(out / NETWORKS, new / NETWORKS)
        if stability is not None:
            stability.save(new)
        if (out / PAGE).exists():
            write_report(new / PAGE, result, data=data)
    (out / REFITS).unlink(missing_ok=True)


def report_stability(found: Stability, out: Path) -> None:
    """Print how many edges came back."""
    from enco.result.folder import STABILITY_TABLE
    from enco.system.units import in_time

    again = found.frequency[found.adjacency > 0]
    typer.echo(
        f"stable  {int((again > 0.9).sum())} of {len(again)} edges in more than 90 % of {found.n_resamples} refits, "
        f"{int((again <= 0.5).sum())} in half or fewer ({in_time(found.seconds)})"
    )
    typer.echo(f"        {out / STABILITY_TABLE}")


def report_null_control(result: Result) -> None:
    """Print the table of a negative control."""
    table = result.null_control
    if table is None:
        return
    n = int(table["permutations"].iloc[0])
    typer.echo(f"edges with the real labels, and on average with {n} permutation{'s' if n != 1 else ''} of them:")
    typer.echo("  probability   edges   by chance   beyond chance   false discovery rate")
    for row in table.to_dict("records"):
        rate = "-" if row["fdr"] != row["fdr"] else f"{row['fdr']:.2f}"
        least = f"{row['probability']} and more"
        typer.echo(
            f"  {least:<13} {row['edges']:>5}   {row['by_chance']:>9.1f}   {row['beyond_chance']:>13.1f}   {rate:>20}"
        )
    typer.echo(
        "dependence does not need labels, directions do: an edge that is as sure with permuted labels does not rest on "
        "what was done"
    )


@contextmanager
def watch_fits(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show on standard error how many fits are done: a bar in a terminal, else a line for each."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{what}s", total=total)

        def on_fit(done: int) -> None:
            bar.update(task, completed=done)
            if not console.is_terminal:
                typer.echo(f"{what} {done:{len(str(total))}}/{total}", err=True)

        yield on_fit
