"""`InterventionalData`: variables and regimes put together, in one canonical form."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.data.checks import canonical_regimes, check_values, check_variables
from enco.data.conversions import FormatMethods
from enco.data.variables import CLAIMS, Kind, Regime, Variable, regime_label
from enco.errors import DataError

__all__ = ["InterventionalData"]

TargetSet = str | int | Iterable[str | int]


class InterventionalData(FormatMethods):
    """A data set in canonical form: one observational regime first, then one regime per intervention.

    Rows of regimes with the same targets, and the same label if they have one, are joined. Blocks of rows are read-only
    and may be memory maps; they are copied only if that cannot be avoided.

    Parameters
    ----------
    variables : sequence of Variable
        The columns, at least two, with distinct names.
    regimes : sequence of Regime
        The rows; at least one observational row, and no regime that targets every variable.

    Attributes
    ----------
    variables : tuple of Variable
    regimes : tuple of Regime
        The observational regime, then the others in order of first appearance.
    names : tuple of str
    kinds : tuple of Kind
        Each equals its name, ``"categorical"`` or ``"continuous"``.
    is_categorical, is_continuous : ndarray of bool, shape (n_variables,)
        Which variables are of these kinds.
    is_context : ndarray of bool, shape (n_variables,)
        Which describe the circumstances of a row and are no part of the graph, see `with_context`.
    n_variables, n_rows : int
    n_levels : ndarray of int64, shape (n_variables,)
        Number of levels of each variable; 0 for a continuous one.
    slots : ndarray of int64, shape (n_variables,)
        Position of each variable inside the block of its kind, `Regime.codes` or `Regime.reals`.

    Examples
    --------
    >>> import numpy as np
    >>> pair = [Variable("dose", "categorical", ("low", "high")), Variable("weight", "continuous")]
    >>> observed = Regime((), np.array([[0], [1]], np.uint8), np.array([[0.5], [1.5]], np.float32))
    >>> data = InterventionalData(pair, [observed])
    >>> data.names, data.n_rows, data.column("dose").tolist()
    (('dose', 'weight'), 2, ['low', 'high'])
    """

    variables: tuple[Variable, ...]
    regimes: tuple[Regime, ...]
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    is_categorical: NDArray[np.bool_]
    is_continuous: NDArray[np.bool_]
    is_context: NDArray[np.bool_]
    n_variables: int
    n_rows: int
    n_levels: NDArray[np.int64]
    slots: NDArray[np.int64]

    def __init__(self, variables: Sequence[Variable], regimes: Sequence[Regime]) -> None:
        self._assemble(variables, regimes)
        for regime in self.regimes:
            check_values(self.variables, regime)

    @classmethod
    def _from_checked(cls, variables: Sequence[Variable], regimes: Sequence[Regime]) -> InterventionalData:
        """Build from values that were checked before, without another pass over (possibly mapped) rows."""
        data = cls.__new__(cls)
        data._assemble(variables, regimes)
        return data

    def _assemble(self, variables: Sequence[Variable], regimes: Sequence[Regime]) -> None:
        self.variables = tuple(variables)
        check_variables(self.variables)
        self.regimes = canonical_regimes(self.variables, regimes)
        self.names = tuple(variable.name for variable in self.variables)
        self.kinds = tuple(variable.kind for variable in self.variables)
        self.n_variables = len(self.variables)
        self.n_rows = sum(regime.n_rows for regime in self.regimes)
        self.is_categorical = np.array([kind.is_categorical for kind in self.kinds])
        self.is_continuous = np.array([kind.is_continuous for kind in self.kinds])
        self.is_context = np.array([variable.context for variable in self.variables])
        self.n_levels = np.array([variable.n_levels for variable in self.variables], dtype=np.int64)
        self._positions = {name: position for position, name in enumerate(self.names)}
        in_codes = np.array([kind.block == "codes" for kind in self.kinds])
        self.slots = np.where(in_codes, np.cumsum(in_codes), np.cumsum(~in_codes)) - 1

    @property
    def observational(self) -> Regime:
        """The regime without intervention."""
        return self.regimes[0]

    @property
    def interventional(self) -> tuple[Regime, ...]:
        """The regimes with at least one target."""
        return self.regimes[1:]

    @property
    def partial(self) -> bool:
        """Whether some variable is never a target of an intervention."""
        targets = {target for regime in self.regimes for target in regime.targets}
        return len(targets) < int((~self.is_context).sum())

    def position(self, name: str) -> int:
        """Return the column position of a variable.

        Examples
        --------
        >>> import numpy as np
        >>> InterventionalData.from_environments([np.eye(2, dtype=int)], [None]).position("X2")
        1
        """
        if name in self._positions:
            return self._positions[name]
        close = difflib.get_close_matches(str(name), self.names, n=3)
        hint = f"did you mean {', '.join(map(repr, close))}?" if close else f"names start with {self.names[:5]}"
        raise DataError(f"there is no variable {name!r}: {hint}")

    def column(self, variable: str | int, regime: Regime | int = 0) -> NDArray[Any]:
        """Return one column of one regime in its original levels or units.

        Parameters
        ----------
        variable : str or int
            Name or position.
        regime : Regime or int
            A member of `regimes` or its index; the observational one by default.

        Returns
        -------
        ndarray, shape (rows,)

        Examples
        --------
        >>> import numpy as np
        >>> data = InterventionalData.from_environments([np.array([[3, 9], [7, 9]])], [None])
        >>> data.column("X1").tolist()
        [3, 7]
        """
        rows = regime if isinstance(regime, Regime) else self.regimes[regime]
        position = self._resolve(variable)
        levels = self.variables[position].levels
        if levels is None:
            return rows.reals[:, self.slots[position]]
        return np.array(levels)[rows.codes[:, self.slots[position]]]

    def regime_label(self, regime: Regime) -> str:
        """Name a regime for people: ``observational`` or ``do(A, B)``.

        Examples
        --------
        >>> import numpy as np
        >>> data = InterventionalData.from_environments([np.eye(2, dtype=int)], [None])
        >>> data.regime_label(data.observational)
        'observational'
        """
        return regime_label(self.variables, regime.targets, regime.label)

    def __repr__(self) -> str:
        count = len(self.interventional)
        return (
            f"InterventionalData({self.n_variables} variables, {self.n_rows:,} rows: "
            f"{self.observational.n_rows:,} observational, {count} intervention "
            f"regime{'s' if count != 1 else ''})"
        )

    def __eq__(self, other: object) -> bool:
        """Compare by content: variables, target sets and rows; the order of the regimes does not matter."""
        if not isinstance(other, InterventionalData):
            return NotImplemented
        theirs = {regime.condition: regime for regime in other.regimes}
        if self.variables != other.variables or len(theirs) != len(self.regimes):
            return False
        return all(
            regime.condition in theirs
            and np.array_equal(regime.codes, theirs[regime.condition].codes)
            and np.array_equal(regime.reals, theirs[regime.condition].reals)
            for regime in self.regimes
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares large arrays

    def describe(self) -> str:
        """Return a short text: variables by kind, rows per regime, what was never targeted, warnings.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.arange(20).reshape(10, 2) % 2
        >>> print(InterventionalData.from_environments([x, 1 - x], [None, ["X1"]]).describe())
        variables      2 (2 categorical)
        levels         2 each
        ...
        """
        from enco.data.describe import describe

        return describe(self)

    def warnings(self) -> list[str]:
        """Return what looks suspicious, one sentence each: see `enco.data.describe.find_warnings` for the rules.

        Examples
        --------
        >>> import numpy as np
        >>> InterventionalData.from_environments([np.array([[0, 1], [0, 0]])], [None]).warnings()[0]
        "constant in every row: 'X1'"
        """
        from enco.data.describe import find_warnings

        return find_warnings(self)

    def select(self, names: Sequence[str]) -> InterventionalData:
        """Return the same rows with only these columns, in this order.

        A regime whose targets would lose a member is an error, because its rows would then claim to be
        something they are not; drop such regimes first with `without_regimes`.

        Examples
        --------
        >>> import numpy as np
        >>> data = InterventionalData.from_environments([np.array([[1, 2, 3], [4, 5, 6]])], [None])
        >>> data.select(["X3", "X1"]).names
        ('X3', 'X1')
        """
        chosen = [self.position(name) for name in names]
        moved = {old: new for new, old in enumerate(chosen)}
        lost = sorted({position for regime in self.regimes for position in regime.targets} - set(moved))
        if lost:
            raise DataError(
                f"cannot drop {', '.join(repr(self.names[position]) for position in lost)}: rows were "
                "collected under interventions on them; keep them or drop those regimes with without_regimes"
            )
        codes = [int(self.slots[position]) for position in chosen if self.kinds[position].block == "codes"]
        reals = [int(self.slots[position]) for position in chosen if self.kinds[position].block == "reals"]
        regimes = [
            Regime.of(
                regime.condition._replace(targets=tuple(moved[position] for position in regime.targets)),
                _take_columns(regime.codes, codes),
                _take_columns(regime.reals, reals),
                regime.source,
            )
            for regime in self.regimes
        ]
        return self._from_checked([self.variables[position] for position in chosen], regimes)

    def with_context(self, names: Iterable[str]) -> InterventionalData:
        """Return the same rows with these columns as context, besides those that are context already.

        Context, such as a batch or a donor, may influence every variable, is influenced by none, and is no part of the
        graph.

        Examples
        --------
        >>> import numpy as np
        >>> data = InterventionalData.from_environments([np.array([[1, 2, 3], [4, 5, 6]])], [None])
        >>> data.with_context(["X3"]).is_context.tolist()
        [False, False, True]
        """
        if isinstance(names, str):
            raise DataError(f"context is the text {names!r}: pass a list of columns, for example [{names!r}]")
        chosen = {self.position(str(name)) for name in names}
        variables = [
            Variable(it.name, it.kind, it.levels, context=it.context or position in chosen)
            for position, it in enumerate(self.variables)
        ]
        return self._from_checked(variables, self.regimes) if chosen else self

    def without_context(self) -> InterventionalData:
        """Return the same rows without the columns that are context.

        Examples
        --------
        >>> import numpy as np
        >>> data = InterventionalData.from_environments([np.array([[1, 2, 3], [4, 5, 6]])], [None])
        >>> data.with_context(["X3"]).without_context().names
        ('X1', 'X2')
        """
        if not self.is_context.any():
            return self
        return self.select([variable.name for variable in self.variables if not variable.context])

    def claiming(self, claims: Mapping[str, str]) -> InterventionalData:
        """Return the same data, where the interventions of some regimes are said to be "perfect" or "soft".

        Parameters
        ----------
        claims : mapping from the label of a regime, or the names of its targets joined by "+", to a claim

        Examples
        --------
        >>> import numpy as np
        >>> x = np.array([[0, 1], [1, 0]])
        >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
        >>> data.claiming({"X1": "soft"}).interventional[0].claim
        'soft'
        """
        named = {self.regime_name(regime): regime for regime in self.interventional}
        for name, claim in claims.items():
            if name not in named:
                close = difflib.get_close_matches(str(name), named, n=3) or list(named)[:5]
                raise DataError(f"interventions names the regime {name!r}, which is not there: there is {close}")
            if claim not in CLAIMS:
                raise DataError(f"the intervention {name!r} cannot be {claim!r}: choose from {', '.join(CLAIMS)}")
        regimes = [
            it.under(it.condition._replace(label=name, claim=claims[name]))
            if (name := self.regime_name(it)) in claims
            else it
            for it in self.interventional
        ]
        return self._from_checked(self.variables, [self.observational, *regimes])

    def regime_name(self, regime: Regime) -> str:
        """Name a regime by its label, or by its targets.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.array([[0, 1, 0], [1, 0, 0]])
        >>> data = InterventionalData.from_environments([x, x], [None, ["X1", "X2"]])
        >>> data.regime_name(data.interventional[0])
        'X1+X2'
        """
        return regime.label or "+".join(self.names[position] for position in regime.targets)

    def keep_regimes(self, targets: Iterable[TargetSet]) -> InterventionalData:
        """Return the observational rows and only these intervention regimes.

        Parameters
        ----------
        targets : iterable
            Each entry is one regime: its label, a name, a position, or a collection of them for several targets at
            once, which stands for all regimes of these targets.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.array([[0, 1], [1, 0]])
        >>> data = InterventionalData.from_environments([x, x, x], [None, "X1", "X2"])
        >>> [data.regime_label(regime) for regime in data.keep_regimes(["X2"]).regimes]
        ['observational', 'do(X2)']
        """
        wanted = self._chosen(targets)
        return self._from_checked(
            self.variables, [regime for regime in self.regimes if regime.is_observational or regime in wanted]
        )

    def without_regimes(self, targets: Iterable[TargetSet]) -> InterventionalData:
        """Return everything but these intervention regimes; the arguments are those of `keep_regimes`.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.array([[0, 1], [1, 0]])
        >>> data = InterventionalData.from_environments([x, x, x], [None, "X1", "X2"])
        >>> [data.regime_label(regime) for regime in data.without_regimes(["X2"]).regimes]
        ['observational', 'do(X1)']
        """
        unwanted = self._chosen(targets)
        return self._from_checked(self.variables, [regime for regime in self.regimes if regime not in unwanted])

    def _chosen(self, targets: Iterable[TargetSet]) -> list[Regime]:
        """Intervention regimes by their labels or targets."""
        if isinstance(targets, str):
            raise DataError(f"pass a list of regimes, not the single text {targets!r}: for example [{targets!r}]")
        found: list[Regime] = []
        for entry in targets:
            labelled = [regime for regime in self.interventional if regime.label == entry]
            if labelled:
                found += labelled
                continue
            members = [entry] if isinstance(entry, str | int | np.integer) else list(entry)
            target_set = tuple(sorted({self._resolve(member) for member in members}))
            alike = [regime for regime in self.interventional if regime.targets == target_set and not regime.unknown]
            if not alike and target_set:
                raise DataError(
                    f"there is no regime {regime_label(self.variables, target_set)}: "
                    f"there are {len(self.regimes)}, see describe()"
                )
            found += alike
        return found

    def _resolve(self, variable: str | int) -> int:
        if isinstance(variable, str):
            return self.position(variable)
        if not 0 <= variable < self.n_variables:
            raise DataError(f"there is no variable at position {variable}: there are {self.n_variables} variables")
        return int(variable)


def _take_columns(block: NDArray[Any], slots: Sequence[int]) -> NDArray[Any]:
    return block if list(slots) == list(range(block.shape[1])) else block[:, list(slots)]
