"""Typed access to a TOML table, with errors that name the file, the key and the remedy."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from enco.errors import SettingsError

__all__ = ["Fields"]


class Fields:
    """A table of a file; every key that is asked for counts as known, and `finish` refuses the others.

    Parameters
    ----------
    content : dict
    place : str
        What errors call the table: the file, and the path of keys.
    name : str
        Its own key.

    Examples
    --------
    >>> fields = Fields({"graphs": 3, "colour": "red"}, "mine.toml")
    >>> fields.number("graphs", least=1)
    3
    >>> fields.finish()
    Traceback (most recent call last):
    ...
    enco.errors.SettingsError: mine.toml: unknown key 'colour'; remove it, or choose from graphs
    """

    def __init__(self, content: Mapping[str, Any], place: str, name: str = "") -> None:
        self.content = content
        self.place = place
        self.name = name
        self._asked: dict[str, None] = {}

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        return value

    def texts(self, key: str, default: list[str] | None = None) -> list[str]:
        """Return a list of texts."""
        value = self._get(key, default)
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self.wrong(key, "a list of texts")
        return value

    def number(self, key: str, default: int | None = None, *, least: int) -> int:
        """Return a whole number."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(key, f"a whole number from {least} on")
        return value

    def flag(self, key: str) -> bool:
        """Return a truth value, which is false if left out."""
        value = self._get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def choice(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        """Return one of the known names."""
        value = self.text(key, default)
        if value not in known:
            raise self.wrong(key, f"one of {', '.join(known)}")
        return value

    def choices(self, key: str, known: Iterable[str], default: list[str]) -> list[str]:
        """Return some of the known names."""
        values = self.texts(key, default)
        if not values or not set(values) <= set(known):
            raise self.wrong(key, f"a list of names out of {', '.join(known)}")
        return values

    def table(self, key: str) -> "Fields":
        """Return a table, which is empty if left out."""
        value = self._get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "a table")
        return Fields(value, self._below(key), key)

    def tables_by_name(self, key: str | None = None) -> Iterator["Fields"]:
        """Go through the tables in a table: that of a key, or this one."""
        outer = self if key is None else self.table(key)
        for name in outer.content:
            yield outer.table(name)

    def list_of_tables(self, key: str) -> Iterator["Fields"]:
        """Go through the tables of a list, ``[[key]]``, which is empty if left out."""
        value = self._get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise self.wrong(key, f"a list of tables, each under [[{key}]]")
        for number, entry in enumerate(value, start=1):
            yield Fields(entry, f"{self._below(key)}[{number}]", key)

    def wrong(self, key: str, wanted: str) -> SettingsError:
        """Make the error of a value that is not what is wanted."""
        return SettingsError(f"{self.place}: key {key!r} must be {wanted}, got {self.content.get(key)!r}")

    def finish(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.content:
            if key not in self._asked:
                choice = ", ".join(self._asked)
                raise SettingsError(f"{self.place}: unknown key {key!r}; remove it, or choose from {choice}")

    def _get(self, key: str, default: Any) -> Any:
        self._asked[key] = None
        if key not in self.content and default is None:
            raise SettingsError(f"{self.place}: key {key!r} is missing; add it")
        return self.content.get(key, default)

    def _below(self, key: str) -> str:
        return f"{self.place}: {key}" if self.name == "" else f"{self.place}.{key}"
