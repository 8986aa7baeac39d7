"""The JSON record of kinds, levels and notation inside files that cannot express them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from enco.data.meanings import Meaning, Meanings
from enco.data.variables import AnyKind, Kind, Level, Variable
from enco.errors import DataError, FileFormatError

__all__ = ["DEFAULT_SEPARATOR", "DEFAULT_TARGET", "Notation", "Record"]

DEFAULT_TARGET = "perturbation"
DEFAULT_SEPARATOR = "+"


@dataclass(frozen=True)
class Notation:
    """How a table writes targets: the column, the labels of observational rows, the separator between names.

    `control` None stands for the default labels: an empty cell or ``control``. `meanings` says what labels mean that
    are not names of variables.
    """

    target: str | None = DEFAULT_TARGET
    control: tuple[str, ...] | None = None
    separator: str = DEFAULT_SEPARATOR
    meanings: Meanings | None = None

    @classmethod
    def of(
        cls, target: str | None, control: str | Iterable[str] | None, separator: str, targets: Any = None
    ) -> Notation:
        """Build from what a caller passes, where one label may stand alone.

        Examples
        --------
        >>> Notation.of("guide", "NT", "|").control
        ('NT',)
        """
        labels = (control,) if isinstance(control, str) else None if control is None else tuple(map(str, control))
        if not separator or separator.isspace():
            raise DataError(f"the separator {separator!r} is empty: use a character such as '+' or '|'")
        return cls(target, labels, separator, Meanings.of(targets))


@dataclass(frozen=True)
class Record:
    """Everything about a table that its cells do not say.

    Examples
    --------
    >>> pair = (Variable("A", "categorical", (False, True)), Variable("B", "continuous"))
    >>> record = Record(pair, Notation(), rows=7)
    >>> Record.from_json(record.to_json(), "a.csv") == record
    True
    """

    variables: tuple[Variable, ...]
    notation: Notation
    rows: int

    def to_json(self) -> str:
        """Return one line of text."""
        record: dict[str, Any] = {
            "version": 1,
            "rows": self.rows,
            "target": self.notation.target,
            "control": self.notation.control,
            "separator": self.notation.separator,
            "variables": variables_to_json(self.variables),
        }
        if self.notation.meanings is not None:
            record["labels"] = {
                label: {"targets": meaning.targets, "unknown": meaning.unknown, "interventions": meaning.claim}
                for label, meaning in self.notation.meanings.known.items()
            }
        return json.dumps(record, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes, source: str) -> Record:
        """Read it back; `source` names the file in the message when it is damaged."""
        try:
            raw = json.loads(text)
            if raw["version"] != 1:
                raise ValueError(f"its version is {raw['version']!r}, not 1")
            control = raw["control"]
            meanings = {
                label: Meaning(tuple(entry["targets"]), bool(entry["unknown"]), entry["interventions"])
                for label, entry in raw.get("labels", {}).items()
            }
            notation = Notation(
                raw["target"],
                None if control is None else tuple(map(str, control)),
                str(raw["separator"]),
                Meanings(meanings) if meanings else None,
            )
            if type(raw["rows"]) is not int:
                raise ValueError(f"'rows' is {raw['rows']!r}")
            return cls(variables_from_json(raw["variables"]), notation, raw["rows"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FileFormatError(
                f"{source}: the record of kinds and levels is damaged ({error}); remove it"
            ) from error

    def notation_for(self, asked: Notation) -> Notation:
        """Combine what a caller asked for with what the file records: defaults take the recorded value."""
        return replace(
            asked,
            target=self.notation.target if asked.target in (DEFAULT_TARGET, None) else asked.target,
            control=self.notation.control if asked.control is None else asked.control,
            separator=self.notation.separator if asked.separator == DEFAULT_SEPARATOR else asked.separator,
            meanings=self.notation.meanings if asked.meanings is None else asked.meanings,
        )

    def context(self) -> list[str]:
        """Return the columns that are context."""
        return [variable.name for variable in self.variables if variable.context]

    def kinds_and_levels(
        self, asked: Mapping[str, AnyKind] | None
    ) -> tuple[dict[str, AnyKind], dict[str, tuple[Level, ...]]]:
        """Return the recorded kinds, overridden by those asked for, and the levels of what is categorical then."""
        kinds: dict[str, AnyKind] = {v.name: v.kind for v in self.variables}
        kinds |= dict(asked or {})
        levels = {v.name: v.levels for v in self.variables if v.levels and kinds[v.name] == Kind.CATEGORICAL}
        return kinds, levels


def variables_to_json(variables: Sequence[Variable]) -> list[dict[str, Any]]:
    """Return plain lists and dictionaries; JSON keeps bool, int and str levels apart."""
    return [
        {"name": variable.name, "kind": variable.kind, "levels": variable.levels}
        | ({"context": True} if variable.context else {})
        for variable in variables
    ]


def variables_from_json(raw: Any) -> tuple[Variable, ...]:
    """Invert `variables_to_json`."""
    return tuple(
        Variable(
            entry["name"],
            entry["kind"],
            None if entry["levels"] is None else tuple(entry["levels"]),
            context=bool(entry.get("context", False)),
        )
        for entry in raw
    )
