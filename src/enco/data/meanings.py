"""What labels of rows mean: the variables that a reagent or a guide acts on, unknown targets, or no intervention."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from enco.data.variables import Claim, Condition
from enco.errors import DataError

__all__ = ["OBSERVATIONAL", "UNKNOWN", "Meaning", "Meanings"]

UNKNOWN = "unknown"
OBSERVATIONAL = "observational"


@dataclass(frozen=True)
class Meaning:
    """What one label means.

    Attributes
    ----------
    targets : tuple of str
        Names of the variables that were intervened on.
    unknown : bool
        Whether it is an intervention whose targets are not known.
    claim : {"auto", "perfect", "soft"} or None
        What it is said to have done to its targets.
    """

    targets: tuple[str, ...] = ()
    unknown: bool = False
    claim: str | None = None

    @classmethod
    def of(cls, label: str, entry: Any) -> Meaning:
        """Read the entry of a label in a mapping.

        Examples
        --------
        >>> Meaning.of("drug", None), Meaning.of("guide", ["A", "B"]).targets
        (Meaning(targets=(), unknown=True, claim=None), ('A', 'B'))
        >>> Meaning.of("weak drug", {"targets": "A", "interventions": "soft"}).claim
        'soft'
        """
        if isinstance(entry, Meaning):
            return entry
        claim = None
        if isinstance(entry, Mapping):
            strange = [key for key in entry if key not in ("targets", "interventions")]
            if strange or "targets" not in entry:
                raise DataError(
                    f"the label {label!r} is described by {sorted(map(str, entry))}: give 'targets', and perhaps "
                    "'interventions'"
                )
            claim, entry = entry.get("interventions"), entry["targets"]
            if claim is not None and claim not in get_args(Claim):
                raise DataError(
                    f"the label {label!r} has interventions = {claim!r}: choose from {', '.join(get_args(Claim))}"
                )
        if entry is None or entry == UNKNOWN:
            return cls(unknown=True, claim=claim)
        if isinstance(entry, str):
            return cls((), claim=claim) if entry == OBSERVATIONAL else cls((entry,), claim=claim)
        if not isinstance(entry, list | tuple | set | frozenset) or not all(isinstance(name, str) for name in entry):
            raise DataError(
                f"the label {label!r} is mapped to {entry!r}: give a name, a list of names, {UNKNOWN!r} or "
                f"{OBSERVATIONAL!r}"
            )
        return cls(tuple(dict.fromkeys(entry)), claim=claim)

    def condition(self, label: str, positions: Mapping[str, int]) -> Condition:
        """Return the condition of rows with this label, given the positions of all variables."""
        if not self.targets and not self.unknown:
            return Condition()
        for name in self.targets:
            if name not in positions:
                known = ", ".join(map(repr, list(positions)[:5]))
                raise DataError(
                    f"the label {label!r} is mapped to {name!r}, and there is no such variable: names start with "
                    f"{known}; correct the mapping"
                )
        targets = tuple(sorted(positions[name] for name in self.targets))
        return Condition(targets, label, self.unknown, self.claim)


@dataclass(frozen=True)
class Meanings:
    """What the labels of a data set mean.

    Attributes
    ----------
    known : mapping from label to Meaning
        All others are names of variables, or mark observational rows.
    rest_unknown : bool
        Whether all other labels, except those of observational rows, are interventions with unknown targets.

    Examples
    --------
    >>> Meanings.of({"drug X": ["A"], "vehicle": "observational", "drug Y": None}).known["drug Y"].unknown
    True
    >>> Meanings.of("unknown").rest_unknown
    True
    """

    known: Mapping[str, Meaning]
    rest_unknown: bool = False

    @classmethod
    def of(cls, given: Any) -> Meanings | None:
        """Read what a caller passes as ``targets``: a mapping, the word "unknown", or nothing."""
        if given is None or isinstance(given, Meanings):
            return given
        if given == UNKNOWN:
            return cls({}, rest_unknown=True)
        if not isinstance(given, Mapping):
            raise DataError(
                f"targets must be {UNKNOWN!r} or a mapping from labels to variables, got {type(given).__name__}: "
                "the column of labels is named by target="
            )
        return cls({str(label): Meaning.of(str(label), entry) for label, entry in given.items()})

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Meanings:
        r"""Read a TOML file: one line for each label.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "map.toml")
        ...     _ = path.write_text('"drug X" = ["A", "B"]\n"drug Y" = "unknown"\n')
        ...     Meanings.from_toml(path).known["drug X"].targets
        ('A', 'B')
        """
        source = Path(path)
        try:
            content = tomllib.loads(source.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"{source}: there is no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{source}: the file cannot be read ({error})") from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise DataError(f"{source}: this is no valid TOML, or it maps a label twice ({error})") from None
        try:
            found = cls.of(content)
        except DataError as error:
            raise DataError(f"{source}: {error}") from None
        assert found is not None
        return found

    def condition(self, label: str, positions: Mapping[str, int]) -> Condition | None:
        """Return the condition of rows with a label; None if nothing is said of it here."""
        if label in self.known:
            return self.known[label].condition(label, positions)
        return Condition((), label, unknown=True) if self.rest_unknown else None

    def check_used(self, labels: Iterable[str]) -> None:
        """Refuse a label that does not occur."""
        found = set(labels)
        for label in self.known:
            if label not in found:
                listed = ", ".join(map(repr, sorted(found)[:5]))
                raise DataError(
                    f"the label {label!r} is mapped and does not occur in the data, which has {listed}: correct the "
                    "mapping, or leave it out"
                )

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)
