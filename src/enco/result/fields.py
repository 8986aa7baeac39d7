"""Whether the files of a result hold what `Result.save` writes: every field has its type and its range.

What passes can be drawn, exported, evaluated and continued without a look at types; what does not is refused in one
sentence that names the file and the field.
"""

import math
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.data.variables import Variable
from enco.errors import EncoError, FileFormatError
from enco.knowledge import Knowledge

__all__ = [
    "CONFIDENCE",
    "FREQUENCY",
    "LATENT",
    "check_graph",
    "check_history",
    "check_parameters",
    "is_number",
    "is_whole",
    "names_in",
    "shares_in",
]

_COUNTS = ("epoch", "edges", "undecided", "changed")  # columns of a history that count
_DEEPEST = 4  # lists in a setting
LATENT = ("confounder_scores", "lc_scores")  # there if the fit was asked for confounders
CONFIDENCE = (  # there after a search
    "existence",
    "orientation",
    "nearby",
    "doubt",
    "gain",
    "gain_error",
    "turn",
    "turn_error",
    "told",
    "slope",
)
FREQUENCY = "frequency"  # there after refits
_EVIDENCE = ("regimes", "rows", "orientation_rows")


def is_number(value: object, least: float = -math.inf) -> bool:
    """Whether a value from a JSON file is a finite number from `least`.

    Examples
    --------
    >>> [is_number(value) for value in (1, 2.5, True, float("nan"), 10**400, "1")]
    [True, True, False, False, False, False]
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return math.isfinite(value) and value >= least
    except OverflowError:  # no float is as large
        return False


def is_whole(value: object, least: int = 0) -> bool:
    """Whether a value from a JSON file is a whole number from `least`.

    Examples
    --------
    >>> [is_whole(value) for value in (0, 2.0, True, -1)]
    [True, False, False, False]
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def names_in(value: object) -> tuple[str, ...] | None:
    """Return a list of different names of variables, or None if it is something else.

    Examples
    --------
    >>> names_in(["A", "B"]), names_in(["A", "A"]), names_in("AB"), names_in([1])
    (('A', 'B'), None, None, None)
    """
    if not isinstance(value, list) or not all(_is_name(name) for name in value) or len(set(value)) < len(value):
        return None
    return tuple(value)


def shares_in(value: object) -> NDArray[np.float64] | None:
    """Return nested lists of numbers from 0 to 1 as an array, or None if they are something else.

    Examples
    --------
    >>> shares_in([[0, 0.5]]), shares_in([["0.5"]]), shares_in([[1.5]]), shares_in([[0], [0, 1]])
    (array([[0. , 0.5]]), None, None, None)
    """
    try:
        array = np.array(value)
    except (ValueError, RecursionError):  # lists of unequal length
        return None
    if array.dtype.kind not in "iuf" or not ((array >= 0) & (array <= 1)).all():
        return None
    return array.astype(np.float64)


def check_graph(source: Path, graph: Mapping[str, Any], *, latent: bool = False) -> None:
    """Refuse a `graph.json` whose fields, other than its matrices, are not what a result consists of.

    Parameters
    ----------
    source : Path
        The file, for messages.
    graph : mapping
    latent : bool
        Whether the result has scores of confounders, for which the settings must hold a threshold.

    Examples
    --------
    >>> check_graph(Path("graph.json"), {"variables": ["A"], "order": ["B"], "order_report": {"removed": []}})
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: graph.json: 'order' must list every variable once
    """
    names = names_in(graph["variables"])
    order, report, settings = graph["order"], graph["order_report"], graph.get("settings", {})
    if names is None:
        raise FileFormatError(f"{source}: 'variables' must be a list of different names")
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(names):
        raise FileFormatError(f"{source}: 'order' must list every variable once")
    if not isinstance(report, dict) or not isinstance(report.get("removed"), list):
        raise FileFormatError(f"{source}: 'order_report' must be an object with the list 'removed'")
    fine = {
        "variables": len(names) > 0,
        "order_report": _is_report(report, set(names)),
        "settings": isinstance(settings, dict) and _is_plain(settings),
        "knowledge": _is_knowledge(graph.get("knowledge", {})),
        "seed": is_whole(graph.get("seed", 0)),
        "seconds": is_number(graph.get("seconds", 0.0), 0.0),
        "version": _is_text(graph.get("version", "")),
        "data_digest": _is_text(graph.get("data_digest", "")),
    }
    wrong = [key for key, right in fine.items() if not right]
    if wrong:
        raise FileFormatError(f"{source}: {wrong[0]!r} is not what Result.save writes; fit again")
    if latent and not is_number(settings.get("confounder_threshold")):
        raise FileFormatError(f"{source}: 'settings' must hold the number 'confounder_threshold'; fit again")


def check_history(source: Path, history: pd.DataFrame) -> None:
    """Refuse a table of epochs with cells that are no numbers, or counts that are not whole.

    Examples
    --------
    >>> check_history(Path("history.csv"), pd.DataFrame({"epoch": [1, 2], "undecided": [3, "many"]}))
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: history.csv: 'undecided' holds 'many' in row 1, where a number must be; fit again
    """
    if not isinstance(history.index, pd.RangeIndex):  # the reader takes cells in excess for the names of rows
        raise FileFormatError(f"{source}: the rows have more cells than the header; fit again")
    for name in history:
        column = history[name]
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
        if column.dtype.kind not in "iuf" and len(column):
            wrong, what = np.isnan(numbers) | (column.dtype.kind == "b"), "a number"
            if not wrong.any():  # numbers beyond all types
                wrong[:] = True
        elif name in _COUNTS:
            wrong, what = ~(np.isfinite(numbers) & (numbers >= 0) & (numbers == np.floor(numbers))), "a count"
        else:
            continue
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise FileFormatError(
                f"{source}: {str(name)!r} holds {_shown(column.iloc[row])} in row {row}, where {what} must be; "
                "fit again"
            )


def check_parameters(source: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse arrays of another type, or with values that no fit produces.

    Examples
    --------
    >>> check_parameters(Path("parameters.npz"), {"theta": np.array([[np.nan]])})
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: parameters.npz: 'theta' must hold finite numbers; fit again
    """
    rules: dict[str, tuple[str, str, Callable[[NDArray[Any]], Any]]] = {
        "gamma": ("f", "numbers, or -inf for edges that were not considered", lambda x: x < np.inf),
        "theta": ("f", "finite numbers", np.isfinite),
        **{name: ("iu", "counts", lambda x: x >= 0) for name in _EVIDENCE},
        **{name: ("f", "numbers from 0 to 1", lambda x: (x >= 0) & (x <= 1)) for name in (*CONFIDENCE[:4], FREQUENCY)},
        **dict.fromkeys(CONFIDENCE[4:], ("f", "finite numbers, or nan for pairs without an edge", _not_infinite)),
        **dict.fromkeys(LATENT, ("f", "finite numbers, or nan for pairs without a score", _not_infinite)),
    }
    missing = [name for name in CONFIDENCE if name not in arrays]
    if 0 < len(missing) < len(CONFIDENCE):
        raise FileFormatError(f"{source}: {missing[0]!r} is missing beside the other numbers of the search; fit again")
    for name, values in arrays.items():
        if name not in rules:
            continue
        kinds, what, holds = rules[name]
        if values.dtype.kind not in kinds or not np.all(holds(values)):
            raise FileFormatError(f"{source}: {name!r} must hold {what}; fit again")


def _not_infinite(values: NDArray[Any]) -> Any:
    return ~np.isinf(values)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value)


def _is_name(value: object) -> bool:
    try:
        Variable(value, "continuous")  # type: ignore[arg-type]
    except EncoError:
        return False
    return True


def _is_plain(value: object, depth: int = _DEEPEST) -> bool:
    """Whether a value consists of what settings are: text, finite numbers, truth values, none; or lists of them."""
    if isinstance(value, dict):
        return depth == _DEEPEST and all(_is_text(name) and _is_plain(each, depth - 1) for name, each in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_is_plain(each, depth - 1) for each in value)
    return value is None or isinstance(value, bool) or is_number(value) or _is_text(value)


def _is_knowledge(value: object) -> bool:
    try:
        Knowledge(**value)  # type: ignore[arg-type]
    except (TypeError, EncoError):
        return False
    return True


def _is_report(report: Mapping[str, Any], variables: Set[str]) -> bool:
    def known(names: object) -> bool:
        return isinstance(names, list) and all(isinstance(name, str) and name in variables for name in names)

    def is_component(part: object) -> bool:
        return (
            isinstance(part, dict)
            and known(part.get("variables"))
            and _is_text(part.get("method"))
            and all(is_number(part.get(key)) for key in ("score", "gap"))
        )

    def is_edge(edge: object) -> bool:
        return isinstance(edge, list) and len(edge) == 2 and known(edge)

    def is_edges(edges: object) -> bool:
        return isinstance(edges, list) and all(
            known(edge) and isinstance(edge, list) and len(edge) == 2 for edge in edges
        )

    def is_step(step: object) -> bool:
        return (
            isinstance(step, dict)
            and _is_text(step.get("move"))
            and all(is_edges(step.get(key)) for key in ("added", "removed"))
            and is_number(step.get("gain"))
        )

    def lists(key: str, is_part: Callable[[object], bool]) -> bool:
        parts = report.get(key, [])
        return isinstance(parts, list) and all(is_part(part) for part in parts)

    return (
        is_number(report.get("gap", 0.0))
        and is_edges(report.get("removed", []))
        and all(is_edges(report.get(key, [])) for key in ("unsure", "left_out"))
        and lists("unlike", lambda text: isinstance(text, str))
        and lists("totals", lambda pair: isinstance(pair, list) and len(pair) == 2 and all(map(is_number, pair)))
        and lists("components", is_component)
        and lists("refined", is_step)
    )


def _shown(value: object) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)[:60]
