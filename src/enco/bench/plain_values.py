"""Values of files: text, truth values, lists, tables and numbers, which are finite and not beyond all sense."""

from collections.abc import Iterator
from math import isfinite
from typing import Any

__all__ = ["odd_value"]


def odd_value(content: Any, largest: float) -> tuple[str, Any] | None:
    """Find a value that is none of these: where it is, and what; None if all are fine.

    Parameters
    ----------
    content : dict
        As a TOML file or a line of JSON has it.
    largest : float
        Of any number.

    Examples
    --------
    >>> odd_value({"problem": {"rows": [5, float("inf")]}}, largest=1e9)
    ('problem.rows[1]', inf)
    >>> odd_value({"problem": {"rows": [5, 6]}}, largest=1e9)
    """
    return next(((place, value) for place, value in _leaves(content, "") if not _is_plain(value, largest)), None)


def _leaves(content: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _leaves(value, f"{place}.{key}" if place else str(key))
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield from _leaves(value, f"{place}[{index}]")
    else:
        yield place, content


def _is_plain(value: Any, largest: float) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return -largest <= value <= largest and isfinite(value)
    return value is None or isinstance(value, str | bool)  # and no date, which TOML knows
