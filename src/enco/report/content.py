"""What the scripts of the page get: names, positions, edges and matrices, as values that JSON can hold."""

from __future__ import annotations

import base64
from dataclasses import replace
from math import ceil, isfinite, sqrt
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.graphs.layered_layout import layered_layout
from enco.result import Result

__all__ = ["confounders", "edge_table", "interventions", "null_control", "page_content", "shifts"]

Graph = NDArray[np.bool_]

_STEPS = 254  # shades of a probability in one byte; 255 says that there is none
_NO_VALUE = 255


def page_content(result: Result, truth: Graph | None = None) -> dict[str, Any]:
    """Collect what is drawn on the page.

    Parameters
    ----------
    result : Result
    truth : bool [N, N], optional
        The true graph, row = cause.

    Returns
    -------
    dict
        ``names``; ``order``, ``x``, ``y``: place in the causal order and in the drawing; ``edges``: one list per column
        of `edge_table`, ``cause`` and ``effect`` as positions, None where there is no number, and ``bends`` of the
        drawn line; ``columns``: what a file of the edges holds, names with the types of GraphML; ``refits``: whether
        there are frequencies; ``confounders``; ``matrices``: one byte per pair, base64, in the order of the names.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> content = page_content(small_result())
    >>> content["names"], content["edges"]["cause"], content["edges"]["effect"]
    (['A', 'B', 'C'], [0, 1], [1, 2])
    """
    position = {name: place for place, name in enumerate(result.variables)}
    layout = layered_layout(result.adjacency, widest=max(10, ceil(1.6 * sqrt(len(position)))))
    table = edge_table(result, truth)
    edges = {str(column): _values(table[column]) for column in table}
    for end in ("cause", "effect"):
        edges[end] = [position[name] for name in edges[end]]
    pairs = zip(edges["cause"], edges["effect"], strict=True)
    bends = [layout.bends.get(pair, []) for pair in pairs]
    edges["bends"] = [[[round(x, 3), round(y, 3)] for x, y in points] for points in bends]
    matrices = {"existence": _bytes(result.existence), "orientation": _bytes(result.orientation)}
    if result.frequency is not None:
        matrices["frequency"] = _bytes(result.frequency)
    scores = getattr(result, "confounder_scores", None)
    if scores is not None:
        matrices["confounders"] = _bytes(scores)
    return {
        "names": list(result.variables),
        "order": [position[name] for name in result.order],
        "x": layout.x.round(3).tolist(),
        "y": layout.y.round(3).tolist(),
        "edges": edges,
        "columns": [[name, _graphml_type(column)] for name, column in result.to_frame().iloc[:, 2:].items()],
        "refits": result.frequency is not None,
        "compared": truth is not None,
        "confounders": [[position[one], position[other], float(score)] for one, other, score in confounders(result)],
        "matrices": matrices,
    }


def edge_table(result: Result, truth: Graph | None = None) -> pd.DataFrame:
    """Return `Result.to_frame` and, given the true graph, what is right.

    Returns
    -------
    DataFrame
        With the column ``status`` (``"found"``, ``"false"`` or ``"missed"``); missed edges come last, without a
        ``source``.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> truth = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool)
    >>> edge_table(small_result(), truth)[["cause", "effect", "status"]]
      cause effect  status
    0     A      B   found
    1     B      C   false
    2     A      C  missed
    """
    found = result.adjacency.astype(bool)
    table = result.to_frame().assign(status="found")
    if truth is not None:
        place = {name: number for number, name in enumerate(result.variables)}
        cause, effect = ([place[name] for name in table[end].tolist()] for end in ("cause", "effect"))
        table["status"] = np.where(truth[cause, effect], "found", "false")
        missed = replace(result, adjacency=(truth & ~found).astype(np.uint8)).to_frame()
        if len(missed):
            missed = missed.assign(status="missed", source="")
            table = pd.concat([table, missed], ignore_index=True) if len(table) else missed
    return table


def interventions(result: Result) -> list[dict[str, str]]:
    """Return the rows of the table of interventions, as texts.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> interventions(small_result())
    []
    """
    if result.interventions is None:
        return []
    return [
        {
            "regime": str(it["regime"]),
            "target": (it["target"] or "none") + (" (inferred)" if it["inferred"] and it["target"] else ""),
            "rows": f"{it['rows']:,}",
            "verdict": str(it["verdict"]),
            "share": _number(it["share"], ".0%"),
            "evidence": _number(it["evidence"], ",.1f"),
            "effect_size": _number(it["effect_size"], ".2f"),
            "suspects": ", ".join(it["suspects"]),
        }
        for it in result.interventions.to_dict("records")
    ]


def shifts(result: Result) -> list[dict[str, str]]:
    """Return the rows of the table of shifts that the graph does not explain, as texts.

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> shifts(small_result())
    []
    """
    if result.shifts is None:
        return []
    return [
        {
            "regime": it["regime"],
            "variable": it["variable"],
            "size": _number(it["size"], ".2f"),
            "p_value": _number(it["p_value"], ".2g"),
        }
        for it in result.shifts.to_dict("records")
    ]


def null_control(result: Result) -> list[dict[str, str]]:
    """Return the rows of the table of a negative control, as texts.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from enco.result.example import small_result
    >>> from enco.result.null_table import NULL_COLUMNS
    >>> counts = pd.DataFrame([[5, 0.9, 12, 1.2, 10.8, 0.1]], columns=NULL_COLUMNS)
    >>> null_control(replace(small_result(), null_control=counts))
    [{'probability': '0.9 and more', 'edges': '12', 'by_chance': '1.2', 'beyond_chance': '10.8', 'fdr': '0.10'}]
    """
    if result.null_control is None:
        return []
    return [
        {
            "probability": f"{it['probability']:g} and more",
            "edges": f"{it['edges']:,.0f}",
            "by_chance": _number(it["by_chance"], ",.1f", "-"),
            "beyond_chance": _number(it["beyond_chance"], ",.1f", "-"),
            "fdr": _number(it["fdr"], ".2f", "-"),
        }
        for it in result.null_control.to_dict("records")
    ]


def _number(value: float, form: str, missing: str = "") -> str:
    return missing if value != value else format(value, form)


def confounders(result: Result) -> list[tuple[str, str, float]]:
    """Return pairs with an unmeasured common cause; none if the fit did not look for them."""
    return list(getattr(result, "confounders", None) or [])


def _values(column: pd.Series) -> list[Any]:
    """Return what JSON can hold: None for numbers that are not finite."""
    values: list[Any] = column.tolist()
    return [None if isinstance(value, float) and not isfinite(value) else value for value in values]


def _graphml_type(column: pd.Series) -> str:
    return {"b": "boolean", "i": "long", "f": "double"}.get(column.dtype.kind, "string")


def _bytes(matrix: NDArray[np.float64]) -> str:
    known = np.isfinite(matrix)
    levels = np.where(known, np.rint(np.clip(np.where(known, matrix, 0.0), 0.0, 1.0) * _STEPS), _NO_VALUE)
    return base64.b64encode(levels.astype(np.uint8).tobytes()).decode("ascii")
