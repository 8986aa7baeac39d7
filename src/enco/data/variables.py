"""What a data set is made of: variables (columns) and regimes (experimental conditions with their rows).

Both are small immutable values; `enco.data.dataset` puts them together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from enco.errors import DataError

__all__ = [
    "CLAIMS",
    "MAX_LEVELS",
    "AnyKind",
    "Claim",
    "Codes",
    "Condition",
    "Kind",
    "Level",
    "Regime",
    "Variable",
    "code_dtype",
    "regime_label",
]

Level: TypeAlias = bool | int | str
Codes: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16]
Claim: TypeAlias = Literal["auto", "perfect", "soft"]
"""What an intervention is said to have done to its targets; "auto" leaves it to the data."""

CLAIMS: tuple[str, ...] = get_args(Claim)

MAX_LEVELS = 65_535
"""The largest number of levels of one categorical variable; codes are at most two bytes."""

_INT64 = np.iinfo(np.int64)


class Kind(StrEnum):
    """What the values of a variable are. A kind equals its name: ``Kind.CONTINUOUS == "continuous"``.

    Examples
    --------
    >>> Kind.CATEGORICAL.is_categorical, Kind.CONTINUOUS.block, Kind("continuous")
    (True, 'reals', 'continuous')
    """

    CATEGORICAL = "categorical"
    CONTINUOUS = "continuous"

    @property
    def is_categorical(self) -> bool:
        """Whether the values are indices of levels."""
        return self is Kind.CATEGORICAL

    @property
    def is_continuous(self) -> bool:
        """Whether the values are real numbers."""
        return self is Kind.CONTINUOUS

    @property
    def block(self) -> Literal["codes", "reals"]:
        """The array of a `Regime` that holds the values."""
        return "codes" if self.is_categorical else "reals"

    def __repr__(self) -> str:
        return repr(self.value)


AnyKind: TypeAlias = Kind | Literal["categorical", "continuous"]
"""A kind or its name, as callers may write it."""


@dataclass(frozen=True, init=False)
class Variable:
    """One column: its name, its kind and, for a categorical one, its levels in order.

    Parameters
    ----------
    name : str
        The identity of the variable, unique within a data set.
    kind : Kind, or its name: {"categorical", "continuous"}
        Whether the values are level indices or real numbers.
    levels : tuple of bool, int or str, optional
        The distinct values of a categorical variable, all of one type; None exactly for a continuous one.
    context : bool
        Whether it describes the circumstances of a row, such as a batch: it may influence every variable and is
        influenced by none, and no graph shows it.

    Examples
    --------
    >>> Variable("dose", "categorical", ("low", "high")).n_levels
    2
    >>> weight = Variable("weight", "continuous")
    >>> weight.is_continuous, weight.n_levels
    (True, 0)
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] | None = None
    context: bool = field(default=False, repr=False)

    def __init__(
        self, name: str, kind: AnyKind, levels: tuple[Level, ...] | None = None, *, context: bool = False
    ) -> None:
        _check_name(name)
        if kind not in tuple(Kind):
            raise DataError(f"variable {name!r} has the kind {kind!r}: use 'categorical' or 'continuous'")
        known = Kind(kind)
        if not known.is_categorical and levels is not None:
            raise DataError(f"variable {name!r} is continuous but has levels: leave the levels out")
        if known.is_categorical and not levels:
            raise DataError(f"variable {name!r} is categorical but has no levels: give at least one")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "kind", known)
        object.__setattr__(self, "levels", _checked_levels(name, levels) if levels is not None else None)
        object.__setattr__(self, "context", bool(context))

    @property
    def is_categorical(self) -> bool:
        """Whether the values are indices of levels."""
        return self.kind.is_categorical

    @property
    def is_continuous(self) -> bool:
        """Whether the values are real numbers."""
        return self.kind.is_continuous

    @property
    def n_levels(self) -> int:
        """Number of levels; 0 for a continuous variable."""
        return 0 if self.levels is None else len(self.levels)


class Condition(NamedTuple):
    """What is said of the rows of a regime; rows of equal conditions are one regime.

    Attributes
    ----------
    targets : tuple of int
        Sorted positions of the variables that were intervened on; empty if none were, or nobody knows which.
    label : str or None
        What the data call it, where that is not the names of its targets: a reagent, a guide. Two reagents that
        intervene on the same variable are two regimes.
    unknown : bool
        Whether it is an intervention whose targets are not known.
    claim : {"auto", "perfect", "soft"} or None
        What the intervention is said to have done to its targets; None if that is the same for all of them.

    Examples
    --------
    >>> Condition().is_observational, Condition((), "drug X", unknown=True).is_observational
    (True, False)
    """

    targets: tuple[int, ...] = ()
    label: str | None = None
    unknown: bool = False
    claim: str | None = None

    @property
    def is_observational(self) -> bool:
        """Whether nothing was intervened on."""
        return not self.targets and not self.unknown


@dataclass(frozen=True, eq=False)
class Regime:
    """The rows collected under one experimental condition.

    The two blocks are kept as read-only, C-contiguous views: they are copied only when their memory layout
    requires it, so a block may be part of a memory-mapped file.

    Parameters
    ----------
    targets : tuple of int
        Sorted positions of the variables that were intervened on; empty for the observational regime.
    codes : ndarray of uint8 or uint16, shape (rows, number of categorical variables)
        Index into the levels, for each categorical variable in the order of the variables.
    reals : ndarray of float32, shape (rows, number of continuous variables)
        Values of the continuous variables in the order of the variables.
    label, unknown, claim
        See `Condition`.
    source : ndarray of int64 [rows], optional
        Where rows are drawn from others: the number of the row that each is a copy of. Copies of one row are never on
        both sides of a split of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([[0, 1], [1, 1], [0, 0]], dtype=np.uint8)
    >>> regime = Regime(targets=(1,), codes=codes, reals=np.zeros((3, 0), dtype=np.float32))
    >>> regime.n_rows, regime.free(np.arange(2)).tolist()
    (3, [True, False])
    """

    targets: tuple[int, ...]
    codes: Codes
    reals: NDArray[np.float32]
    label: str | None = None
    unknown: bool = False
    claim: str | None = None
    source: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        condition: Condition,
        codes: Codes,
        reals: NDArray[np.float32],
        source: NDArray[np.int64] | None = None,
    ) -> Regime:
        """Put a condition and its rows together."""
        return cls(condition.targets, codes, reals, condition.label, condition.unknown, condition.claim, source)

    def __post_init__(self) -> None:
        targets = tuple(sorted(int(position) for position in self.targets))
        if len(set(targets)) < len(targets) or (targets and targets[0] < 0):
            raise DataError(f"the targets {targets} of a regime must be distinct positions, 0 or larger")
        codes = _block(self.codes, "codes", (np.uint8, np.uint16))
        reals = _block(self.reals, "reals", (np.float32,))
        if len(codes) != len(reals):
            raise DataError(
                f"a regime has {len(codes)} rows of codes but {len(reals)} rows of reals: pass as many of "
                "each, with zero columns for a kind that does not occur"
            )
        if self.label is not None:
            _check_text(self.label, f"the label {self.label!r} of a regime")
        if self.unknown and (targets or not self.label):
            raise DataError("a regime whose targets are unknown needs a label and has no targets")
        if self.claim is not None and self.claim not in CLAIMS:
            raise DataError(f"an intervention cannot be {self.claim!r}: choose from {', '.join(CLAIMS)}")
        object.__setattr__(self, "targets", targets)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "reals", reals)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def condition(self) -> Condition:
        """What is said of the rows."""
        return Condition(self.targets, self.label, self.unknown, self.claim)

    @property
    def is_observational(self) -> bool:
        """Whether nothing was intervened on."""
        return self.condition.is_observational

    def free(self, variables: Any) -> Any:
        """Whether the regime leaves each of some variables to its usual mechanism, as far as its targets say."""
        return ~np.isin(variables, self.targets)

    def mechanism(self, variable: int, otherwise: str = "auto") -> str:
        """Say what a variable follows here: "usual", or what an intervention is said to have done to it.

        Parameters
        ----------
        variable : int
        otherwise : str
            What is said of interventions of which nothing is said here.

        Examples
        --------
        >>> rows = np.zeros((1, 2), np.float32)
        >>> regime = Regime((1,), np.zeros((1, 0), np.uint8), rows, claim="soft")
        >>> regime.mechanism(0), regime.mechanism(1)
        ('usual', 'soft')
        """
        return "usual" if self.free(variable) else self.claim or otherwise

    def taking(self, rows: Any) -> Regime:
        """Return the same regime with some of its rows."""
        source = None if self.source is None else self.source[rows]
        return Regime.of(self.condition, self.codes[rows], self.reals[rows], source)

    def under(self, condition: Condition) -> Regime:
        """Return the same rows under another condition."""
        return Regime.of(condition, self.codes, self.reals, self.source)

    def drawn(self, rows: NDArray[np.int64]) -> Regime:
        """Return the same regime with rows drawn from its own, which may repeat and are known as copies.

        Examples
        --------
        >>> regime = Regime((), np.array([[7], [8]], np.uint8), np.zeros((2, 0), np.float32))
        >>> twice = regime.drawn(np.array([1, 1]))
        >>> twice.codes[:, 0].tolist(), twice.source.tolist()
        ([8, 8], [1, 1])
        """
        source = np.arange(self.n_rows) if self.source is None else self.source
        return Regime.of(self.condition, self.codes[rows], self.reals[rows], source[rows])


def code_dtype(most_levels: int) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest integer type whose values index `most_levels` levels.

    Examples
    --------
    >>> code_dtype(256).__name__, code_dtype(257).__name__
    ('uint8', 'uint16')
    """
    return np.uint8 if most_levels <= 256 else np.uint16


def regime_label(variables: Sequence[Variable], targets: Sequence[int], label: str | None = None) -> str:
    """Name a regime in messages: ``observational``, ``do(A, B)``, or as its label says.

    Examples
    --------
    >>> pair = (Variable("A", "continuous"), Variable("B", "continuous"))
    >>> regime_label(pair, (1,)), regime_label(pair, ()), regime_label(pair, (), "drug X")
    ('do(B)', 'observational', 'drug X')
    """
    if label is not None:
        return label
    if not targets:
        return "observational"
    return f"do({', '.join(variables[position].name for position in targets)})"


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise DataError(f"the variable name {name!r} is not text: name every column with a string")
    if not name.strip():
        raise DataError(f"a variable has the empty name {name!r}: give every column a name")
    _check_text(name, f"the variable name {name!r}")


def _check_text(text: str, what: str) -> None:
    """No file format here can hold a NUL or half of a surrogate pair, so they are refused at the door."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(f"{what} contains a NUL or an unpaired surrogate: replace that character")


def _checked_levels(name: str, levels: Sequence[Any]) -> tuple[Level, ...]:
    plain = tuple(level.item() if isinstance(level, np.generic) else level for level in levels)
    if len(plain) > MAX_LEVELS:
        raise DataError(f"variable {name!r} has {len(plain):,} levels, more than {MAX_LEVELS:,}: merge rare levels")
    kinds = {type(level) for level in plain}
    if len(kinds) > 1 or not kinds <= {bool, int, str}:
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"the levels of variable {name!r} are of type {found}: use only bool, only int or only str")
    if len(set(plain)) < len(plain):
        repeated = Counter(plain).most_common(1)[0][0]
        raise DataError(f"variable {name!r} lists the level {repeated!r} twice: list every level once")
    for level in plain:
        if isinstance(level, str):
            _check_text(level, f"the level {level!r} of variable {name!r}")
        elif not _INT64.min <= level <= _INT64.max:
            raise DataError(f"the level {level} of variable {name!r} does not fit 64 bits: use text levels instead")
    return plain


def _block(values: Any, what: str, allowed: tuple[type[np.generic], ...]) -> Any:
    block = np.asarray(values)
    if block.dtype not in [np.dtype(kind) for kind in allowed] or block.ndim != 2:
        names = " or ".join(kind.__name__ for kind in allowed)
        raise DataError(
            f"the {what} of a regime must be a 2-d array of {names}, not a {block.ndim}-d array of {block.dtype}"
        )
    view = np.ascontiguousarray(block).view()
    view.flags.writeable = False
    return view
