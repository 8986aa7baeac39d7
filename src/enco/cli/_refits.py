"""The part of `enco fit --bootstrap`: refits with progress on standard error, and what they say."""

from pathlib import Path

import typer

from enco.data import InterventionalData
from enco.fitting.loop import Discovery
from enco.knowledge import Knowledge
from enco.result import Result
from enco.result.folder import STABILITY, STABILITY_TABLE
from enco.stability import Stability, stability

__all__ = ["add_stability", "report_stability"]


def add_stability(
    fit: tuple[Discovery, Result],
    data: InterventionalData,
    out: Path,
    knowledge: Knowledge | None,
    n_jobs: int,
    n_resamples: int,
) -> Stability:
    """Make the refits that the folder of a finished fit lacks, and write there what comes back."""
    from rich.console import Console
    from rich.progress import Progress

    discovery, result = fit
    earlier = Stability.load(out) if (out / STABILITY).exists() else None
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("refits", total=n_resamples)

        def on_resample(done: int) -> None:
            bar.update(task, completed=done)
            if not console.is_terminal:
                typer.echo(f"refit {done:{len(str(n_resamples))}}/{n_resamples}", err=True)

        found = stability(
            data,
            n_resamples,
            settings=discovery.settings,
            knowledge=knowledge,
            seed=result.seed,
            n_jobs=n_jobs,
            fit=fit,
            earlier=earlier,
            on_resample=on_resample,
        )
    found.save(out, overwrite=True)
    return found


def report_stability(found: Stability, out: Path) -> None:
    """Print how many edges came back."""
    from enco.system.units import in_time

    again = found.frequency[found.adjacency > 0]
    typer.echo(
        f"stable  {int((again > 0.9).sum())} of {len(again)} edges in more than 90 % of {found.n_resamples} refits, "
        f"{int((again <= 0.5).sum())} in half or fewer ({in_time(found.seconds)})"
    )
    typer.echo(f"        {out / STABILITY_TABLE}")
