"""What the fields of a record must be for tables and figures to show them; a field may be left out."""

from collections.abc import Callable, Mapping
from typing import Any

from enco.bench.plain_values import odd_value
from enco.bench.table_metrics import METRICS, SECONDS
from enco.system.units import in_short

__all__ = ["wrong_field"]

LARGEST_RECORDED = 2.0**63
"""Of any number in a record."""

Test = Callable[[Any], bool]


def wrong_field(record: Mapping[str, Any]) -> str | None:
    """Say which field of a record is not what it must be; None if all are.

    Examples
    --------
    >>> wrong_field({"key": "k", "rows": float("inf")})
    "'rows' is inf"
    >>> wrong_field({"key": "k", "shd": "3"})
    "'shd' is '3'"
    >>> wrong_field({"key": "k", "shd": 3, "machine": {"cpu": "fast"}})
    """
    odd = odd_value(dict(record), LARGEST_RECORDED)
    if odd is not None:
        return f"{odd[0]!r} is {in_short(odd[1])}"
    wrong = next((name for name, fine in FIELDS.items() if name in record and not fine(record[name])), None)
    return None if wrong is None else f"{wrong!r} is {in_short(record[wrong])}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_number_or_none(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_machine(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("cpu"))


def _is_curve(value: Any) -> bool:
    """One point after each epoch."""
    keys = ("epoch", "recall", "precision")
    return _is_list(value, lambda point: isinstance(point, dict) and all(_is_number(point.get(key, 0)) for key in keys))


def _is_noise(value: Any) -> bool:
    """Curves of the noise of gradients."""
    return _is_list(
        value,
        lambda curve: (
            isinstance(curve, dict) and _is_text(curve.get("rows")) and _is_list(curve.get("points"), _is_noise_point)
        ),
    )


def _is_noise_point(point: Any) -> bool:
    if not isinstance(point, dict) or not isinstance(point.get("deviation"), dict):
        return False
    counts = [point.get(key) for key in ("evaluations", "graphs", "rows")]
    return all(map(_is_number, [*counts, *point["deviation"].values()]))


def _is_pairs(value: Any) -> bool:
    """Directed pairs of a fit with their probabilities, see `enco.bench.calibration.as_record`."""
    names = ("probability", "learned", "right")
    if not isinstance(value, dict) or not all(isinstance(value.get(name), list) for name in names):
        return False
    columns = [column for column in value.values() if isinstance(column, list)]
    same = len(columns) == len(value) and len({len(column) for column in columns}) == 1
    return same and all(_is_number(number) and 0 <= number <= 1 for column in columns for number in column)


def _is_list(value: Any, fine: Test) -> bool:
    return isinstance(value, list) and bool(value) and all(map(fine, value))


FIELDS: dict[str, Test] = {
    **dict.fromkeys(("task", "method", "kind", "status", "error", "code", "finished"), _is_text),
    **dict.fromkeys((*METRICS, SECONDS.field, "missing", "extra", "peak_memory_mb"), _is_number_or_none),
    "threads": _is_number,
    "settings": lambda value: isinstance(value, dict),
    "machine": _is_machine,
    "curve": _is_curve,
    "curves": _is_noise,
    "pairs": _is_pairs,
    "setting": _is_text,
}
