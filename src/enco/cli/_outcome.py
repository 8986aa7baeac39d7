"""What `enco fit` says about a result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from enco.result import Result

__all__ = ["print_edges", "print_json", "report_result"]

SHOWN = 12  # edges on the screen; all of them are in edges.csv


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
    print_edges(result, SHOWN)
    for what in result.order_report.get("unlike", []):
        typer.echo(f"unlike  {what}: no data that the probabilities were calibrated on are like this")
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


def print_edges(result: Result, most: int | None = None) -> None:
    """Print the edges, the surest first, with what makes them sure, and what the numbers mean."""
    from enco.report.words import meaning

    table = result.to_frame()
    if not len(table):
        return
    shown = table if most is None else table.head(most)
    columns: dict[str, list[str]] = {
        "edge": [f"{cause} -> {effect}" for cause, effect in zip(shown["cause"], shown["effect"], strict=True)],
        "probability": [f"{probability:.3f}" for probability in shown["probability"]],
    }
    if result.frequency is not None:
        columns["frequency"] = [f"{frequency:.2f}" for frequency in shown["frequency"]]
    if result.confidence is not None:
        gains = zip(shown["gain"], shown["gain_error"], strict=True)
        columns["gain (nats)"] = [f"{gain:,.0f} ± {error:,.0f}" for gain, error in gains]
        columns["slope"] = ["" if slope != slope else f"{slope:+.2f}" for slope in shown["slope"]]
    columns["source"] = shown["source"].tolist()
    texts = {name: [name, *cells] for name, cells in columns.items()}
    for row in zip(*texts.values(), strict=True):
        cells = [
            cell.ljust(max(map(len, column))) if name in ("edge", "source") else cell.rjust(max(map(len, column)))
            for cell, (name, column) in zip(row, texts.items(), strict=True)
        ]
        typer.echo("  " + "  ".join(cells).rstrip())
    if len(shown) < len(table):
        typer.echo(f"  and {len(table) - len(shown):,} more in edges.csv")
    typer.echo(meaning(result))


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
