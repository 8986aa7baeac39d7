"""What `enco fit` says about a result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from enco.result import Result

__all__ = ["print_json", "report_result"]


def report_result(result: Result, out: Path, *, page: bool) -> None:
    """Print what was found, what it took, and where it is."""
    from enco.result.folder import GRAPH, PAGE
    from enco.result.interventions import in_words
    from enco.system.process_memory import peak_memory
    from enco.system.units import in_bytes, in_time

    peak = peak_memory()
    removed = len(result.order_report["removed"])
    typer.echo(f"edges   {result.n_edges}{f', {removed} more removed to break cycles' if removed else ''}")
    if unsure := result.order_report.get("unsure"):
        typer.echo(f"        {len(unsure)} more left out: their variables are less likely joined than not")
    if left_out := result.order_report.get("left_out"):
        typer.echo(f"fdr     {len(left_out)} more left out, the least sure ones")
    if result.confounder_scores is not None:
        scored, all_pairs = _scored_pairs(result)
        typer.echo(f"hidden  {len(result.confounders)} confounded pairs; {scored} of {all_pairs} pairs could be scored")
    if result.interventions is not None:
        for sentence in in_words(result.interventions, len(result.variables), result.shifts):
            typer.echo(f"labels  {sentence}")
    typer.echo(f"time    {in_time(result.seconds)}, {len(result.history)} epochs")
    if peak is not None:
        typer.echo(f"memory  {in_bytes(peak)} at most")
    typer.echo(f"result  {out / GRAPH}")
    if page:
        typer.echo(f"report  {out / PAGE}")


def print_json(result: Result, out: Path, peak: int | None) -> None:
    """Print the same as one JSON object."""
    content = {
        "variables": len(result.variables),
        "edges": result.n_edges,
        "edges_raw": int(result.adjacency_raw.sum()),
        **_confounder_counts(result),
        **_of_interventions(result),
        "epochs": len(result.history),
        "seconds": result.seconds,
        "peak_memory": peak,
        "result": str(out),
    }
    typer.echo(json.dumps(content, indent=2))


def _of_interventions(result: Result) -> dict[str, Any]:
    from enco.result.interventions import in_words

    if result.interventions is None:
        return {}
    unexplained = {} if result.shifts is None else {"unexplained_shifts": len(result.shifts)}
    return {"interventions": in_words(result.interventions, len(result.variables), result.shifts), **unexplained}


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
