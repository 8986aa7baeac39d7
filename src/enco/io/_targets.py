"""Reading and writing the cells that say which variables were intervened on."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.data.meanings import Meaning, Meanings
from enco.data.variables import Condition
from enco.errors import DataError
from enco.io._record import Notation

__all__ = [
    "check_notation",
    "meanings_of",
    "notation_of",
    "parse_targets",
    "relabelled",
    "resolve_targets",
    "target_labels",
]

_DEFAULT_CONTROL = ("", "control")
_SHOWN_NAMES = 5


def parse_targets(
    cells: NDArray[Any], names: Sequence[str], notation: Notation
) -> tuple[NDArray[np.intp], list[Condition]]:
    """Turn target cells into regimes.

    Parameters
    ----------
    cells : ndarray of object, shape (rows,)
        Text, numbers or missing values (None, nan), which read as empty cells.
    names : sequence of str
        The variables.
    notation : Notation

    Returns
    -------
    regime_of_row : ndarray of int, shape (rows,)
        Index into the conditions.
    conditions : list of Condition
        Targets are positions in `names`.

    Examples
    --------
    >>> cells = np.array(["control", "B+A", None, "A + B"], dtype=object)
    >>> rows, conditions = parse_targets(cells, ["A", "B"], Notation())
    >>> rows.tolist(), [condition.targets for condition in conditions]
    ([0, 1, 0, 1], [(), (0, 1)])
    """
    check_notation(names, notation)
    positions = {name: position for position, name in enumerate(names)}
    which, distinct = _distinct(cells, notation)
    conditions: dict[Condition, int] = {}
    regime_of_cell = np.empty(len(distinct), dtype=np.intp)
    unknown: dict[str, int] = {}
    labels = []
    for index, cell in enumerate(distinct):
        text = _text(cell)
        mapped, label = _mapped(text, positions, notation)
        labels.append(label)
        if mapped is not None:
            regime_of_cell[index] = conditions.setdefault(mapped, len(conditions))
            continue
        found, strange = _parse_cell(text, positions, notation)
        for name in strange:
            unknown.setdefault(name, index)
        regime_of_cell[index] = conditions.setdefault(Condition(found), len(conditions))
    if notation.meanings is not None:
        notation.meanings.check_used(labels)
    if unknown:
        name, index = next(iter(unknown.items()))
        row = int(np.flatnonzero(which == index)[0])
        raise DataError(_unknown_message(name, row, list(unknown), notation))
    return regime_of_cell[which], list(conditions)


def check_notation(names: Sequence[str], notation: Notation) -> None:
    """Refuse names that the notation cannot tell from a control label or from two names.

    Examples
    --------
    >>> check_notation(["A", "A+B"], Notation(separator="|"))
    """
    control = _control(notation)
    for name in names:
        if notation.separator in name:
            raise DataError(
                f"the variable name {name!r} contains the separator {notation.separator!r}: choose another "
                "separator, for example separator='|'"
            )
        if name in control or name.strip() in control:
            raise DataError(
                f"the variable name {name!r} is also the label of observational rows: rename the column or "
                "pass another label as control="
            )
    for label in control:
        if notation.separator in label:
            raise DataError(
                f"the control label {label!r} contains the separator {notation.separator!r}: choose another separator"
            )
    if notation.target is not None and notation.target in names:
        raise DataError(
            f"the column {notation.target!r} cannot hold both targets and a variable: pass another name as target="
        )


def target_labels(conditions: Sequence[Condition], names: Sequence[str], notation: Notation) -> list[str]:
    """Write what each regime intervenes on as a cell: its label, or the names of its targets.

    Examples
    --------
    >>> target_labels([Condition(), Condition((0, 1)), Condition((0,), "drug")], ["A", "B"], Notation(control=("NT",)))
    ['NT', 'A+B', 'drug']
    """
    check_notation(names, notation)
    control = notation.control[0] if notation.control else _DEFAULT_CONTROL[-1]
    cells = [
        it.label if it.label is not None else notation.separator.join(names[j] for j in it.targets) or control
        for it in conditions
    ]
    for cell in cells:
        if cells.count(cell) > 1:
            raise DataError(f"the label {cell!r} also names a regime by its targets: give it another label")
    return cells


def meanings_of(conditions: Sequence[Condition], names: Sequence[str]) -> Meanings | None:
    """Say what the labels of regimes mean; None if none has a label.

    Examples
    --------
    >>> meanings_of([Condition((0,), "drug")], ["A", "B"]).known["drug"].targets
    ('A',)
    """
    known = {
        it.label: Meaning(tuple(names[j] for j in it.targets), it.unknown, it.claim)
        for it in conditions
        if it.label is not None
    }
    return Meanings(known) if known else None


def resolve_targets(entry: Any, positions: Mapping[str, int], where: str) -> tuple[int, ...]:
    """Turn None, a name, a position or a collection of them into sorted positions.

    Examples
    --------
    >>> resolve_targets(["B", 0], {"A": 0, "B": 1}, "environment 1")
    (0, 1)
    """
    if entry is None:
        return ()
    members = [entry] if isinstance(entry, str | int | np.integer) else list(entry)
    found = set()
    for member in members:
        if isinstance(member, str):
            if member not in positions:
                raise DataError(f"{where} targets the unknown variable {member!r}: known are {_some(list(positions))}")
            found.add(positions[member])
        elif isinstance(member, int | np.integer) and not isinstance(member, bool):
            if not 0 <= member < len(positions):
                raise DataError(
                    f"{where} targets position {member}, but there are {len(positions)} variables: "
                    f"positions go from 0 to {len(positions) - 1}"
                )
            found.add(int(member))
        else:
            raise DataError(f"{where} has the target {member!r}: give a name or a position")
    return tuple(sorted(found))


def _distinct(cells: NDArray[Any], notation: Notation) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Find the different cells, in the order of first appearance; lists and records cannot be told apart."""
    try:
        return pd.factorize(cells, use_na_sentinel=False)
    except TypeError:
        row = next(row for row, cell in enumerate(cells) if not isinstance(cell, Hashable))
        raise DataError(
            f"column {notation.target!r}, row {row}, counting from 0: a target cell is of type "
            f"{type(cells[row]).__name__}: write names as text, with {notation.separator!r} between several"
        ) from None


def notation_of(data: InterventionalData, target: str, control: str, separator: str) -> Notation:
    """Return how a table of some data writes targets."""
    meanings = meanings_of([regime.condition for regime in data.regimes], data.names)
    return Notation(target, (control,), separator, meanings)


def relabelled(data: InterventionalData, meanings: Meanings) -> InterventionalData:
    """Return data of a format without a column of labels, with what a mapping says of its regimes.

    The label of a regime is the one that it has, or the names of its targets joined by "+".

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> relabelled(data, Meanings.of("unknown")).interventional[0].condition
    Condition(targets=(), label='X1', unknown=True, claim=None)
    """
    positions = {name: position for position, name in enumerate(data.names)}
    names = [data.regime_name(regime) for regime in data.interventional]
    meanings.check_used(names)
    regimes = [data.observational]
    for name, regime in zip(names, data.interventional, strict=True):
        condition = meanings.condition(name, positions)
        regimes.append(regime if condition is None else regime.under(condition))
    return InterventionalData._from_checked(data.variables, regimes)


def _mapped(text: str, positions: Mapping[str, int], notation: Notation) -> tuple[Condition | None, str]:
    """Return what a mapping says of a cell, if anything, and the cell as a label."""
    control, stripped = _control(notation), text.strip()
    known = () if notation.meanings is None else notation.meanings.known
    label = text if text in known else stripped
    if notation.meanings is None or (label not in known and (text in control or stripped in control)):
        return None, label
    return notation.meanings.condition(label, positions), label


def _parse_cell(text: str, positions: Mapping[str, int], notation: Notation) -> tuple[tuple[int, ...], list[str]]:
    """Return the positions in one cell and the names in it that are unknown."""
    control = _control(notation)
    if text in control or text.strip() in control:
        return (), []
    found: set[int] = set()
    strange: list[str] = []
    for part in text.split(notation.separator):
        name = part if part in positions else part.strip()
        if name in positions:
            found.add(positions[name])
        elif not name or name not in control:  # 'A+control' is a common way to write a single target
            strange.append(name)
    return tuple(sorted(found)), strange


def _control(notation: Notation) -> tuple[str, ...]:
    return _DEFAULT_CONTROL if notation.control is None else notation.control


def _text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    if cell is None or cell is pd.NA or cell != cell:
        return ""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))  # a column of positions that became floats because of missing cells
    return str(cell)


def _unknown_message(name: str, row: int, unknown: Sequence[str], notation: Notation) -> str:
    column = f"column {notation.target!r}, row {row}, counting from 0"
    if not name:
        return f"{column}: a target cell is empty or has an empty name; fill it in or add '' to control="
    others = f" ({len(unknown)} unknown targets in all: {_some(unknown)})" if len(unknown) > 1 else ""
    return (
        f"{column}: there is no variable {name!r}{others}; correct the name, remove those rows, pass "
        f"control={name!r} if it marks rows without intervention, or say in targets= what it means"
    )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN_NAMES])
    return shown if len(names) <= _SHOWN_NAMES else f"{shown} and {len(names) - _SHOWN_NAMES} more"
