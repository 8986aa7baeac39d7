"""What `enco report` and `enco plot` read: a result, and the data and the true graph that go with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from enco.result import Result

__all__ = ["DataFile", "Truth", "load_result", "load_truth"]

Truth = Annotated[Path | None, typer.Option(help="The true graph: .json, .npz (adj_matrix) or .csv.")]
DataFile = Annotated[Path | None, typer.Option(help="The data of the fit: a .npz, .csv, .parquet or .h5ad file.")]


def load_result(folder: Path) -> Result:
    """Read a result folder, and refuse one whose `graph.json` somebody has damaged by hand."""
    from enco.errors import FileFormatError
    from enco.graphs.dag import topological_order
    from enco.result import Result

    result = Result.load(folder)
    fine = {
        "variables": all(isinstance(name, str) for name in result.variables) and len(result.variables) > 0,
        "order": _is_order(result.order, result.variables),
        "order_report": _is_report(result.order_report, set(result.variables)),
        "settings": isinstance(result.settings, dict),
        "knowledge": isinstance(result.knowledge, dict),
        "seconds": isinstance(result.seconds, int | float),
    }
    wrong = [key for key, right in fine.items() if not right]
    if wrong:
        raise FileFormatError(f"{folder / 'graph.json'}: {wrong[0]!r} is not what Result.save writes; fit again")
    topological_order(result.adjacency)  # names a cycle, if there is one
    return result


def load_truth(path: Path | None, result: Result) -> NDArray[np.bool_] | None:
    """Read the true graph in the order of the variables of a result."""
    from enco.io import read_graph

    return None if path is None else read_graph(path, names=result.variables)[1]


def _is_order(order: tuple[Any, ...], variables: tuple[str, ...]) -> bool:
    return len(order) == len(variables) and set(map(str, order)) == set(variables)


def _is_report(report: Any, variables: set[str]) -> bool:
    if not isinstance(report, dict) or not isinstance(report.get("gap", 0.0), int | float):
        return False
    steps = report.get("refined", [])
    return (
        isinstance(report.get("removed", []), list)
        and isinstance(steps, list)
        and all(
            isinstance(step, dict)
            and {step.get("cause"), step.get("effect")} <= variables
            and step.get("move") in ("add", "delete", "reverse")
            for step in steps
        )
    )
