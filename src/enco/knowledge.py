"""Background knowledge: edges that must or cannot exist, tiers, roots and leaves.

What is known enters a fit in three ways. An edge that cannot exist is no candidate. An edge that must exist has both of
its parameters fixed. A pair with only one possible direction has its orientation fixed; its existence is learned.

From a file, knowledge is written in TOML, every key optional::

    required = [["smoking", "cancer"]]       # pairs: cause, effect
    forbidden = [["cancer", "age"]]
    tiers = [["age", "sex"], ["smoking"]]    # nothing in a later tier causes anything in an earlier one
    roots = ["age"]                          # without causes
    leaves = ["cancer"]                      # without effects
"""

import difflib
import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.errors import FileFormatError, SettingsError
from enco.graphs.dag import ancestors
from enco.io._paths import existing_file

__all__ = ["ORIENTED", "REQUIRED", "Constraints", "Knowledge"]

ORIENTED = 20.0
"""theta of a pair whose direction is known: beyond what any fit learns."""
REQUIRED = 100.0
"""gamma and theta of a required edge: its probability is 1 in floating point."""

NamedEdge = tuple[str, str]


class _EdgeParameters(Protocol):
    """What `Constraints.apply` needs of `enco.parameters.EdgeParameters`."""

    candidates: Candidates
    theta: NDArray[np.float64]

    def reconsider(self, pairs: NDArray[np.int64], gamma: float) -> None:
        """Set gamma of some pairs."""


@dataclass(frozen=True)
class Knowledge:
    """What is known about a graph before a fit, by the names of the variables.

    Contradictions are refused at once; names are checked when the variables are known (`constraints`).

    Parameters
    ----------
    required, forbidden : iterable of (cause, effect)
        Edges that must, or cannot, exist.
    tiers : sequence of groups of names
        A variable in a later tier does not cause one in an earlier tier; variables in no tier are unconstrained.
    roots : iterable of str
        Variables without causes.
    leaves : iterable of str
        Variables without effects.

    Examples
    --------
    >>> known = Knowledge(required=[("smoking", "cancer")], tiers=[["age"], ["smoking", "cancer"]])
    >>> known.constraints(["age", "cancer", "smoking"]).allowed.astype(int)
    array([[0, 1, 1],
           [0, 0, 0],
           [0, 1, 0]])
    >>> Knowledge(required=[("smoking", "cancer")], roots=["cancer"])
    Traceback (most recent call last):
        ...
    enco.errors.SettingsError: the edge 'smoking' -> 'cancer' is required, but 'cancer' is a root: remove one of the two
    """

    required: Sequence[NamedEdge] = ()
    forbidden: Sequence[NamedEdge] = ()
    tiers: Sequence[Sequence[str]] = ()
    roots: Sequence[str] = ()
    leaves: Sequence[str] = ()

    def __post_init__(self) -> None:
        for key in ("required", "forbidden"):
            object.__setattr__(self, key, _edges(key, getattr(self, key)))
        tiers = (_names("tiers", group) for group in _listed("tiers", self.tiers))
        object.__setattr__(self, "tiers", tuple(tiers))
        for key in ("roots", "leaves"):
            object.__setattr__(self, key, _names(key, getattr(self, key)))
        _refuse_contradictions(self)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "Knowledge":
        """Read a TOML file; the module describes its keys.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "known.toml")
        ...     _ = file.write_text('required = [["A", "B"]]')
        ...     Knowledge.from_toml(file).required
        (('A', 'B'),)
        """
        source = existing_file(path)
        try:
            content = tomllib.loads(source.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:  # also that of a whole number of thousands of digits
            raise FileFormatError(f"{source}: this is not a TOML file ({' '.join(str(error).split())})") from error
        keys = [entry.name for entry in fields(cls)]
        for key in content:
            if key not in keys:
                raise FileFormatError(f"{source}: unknown key {key!r}{_close(key, keys)}; use {', '.join(keys)}")
        try:
            return cls(**content)
        except SettingsError as error:
            raise SettingsError(f"{source}: {error}") from error

    def constraints(self, names: Sequence[str]) -> "Constraints":
        """Translate names into positions.

        Parameters
        ----------
        names : sequence of str [N]
            The variables of a data set.

        Raises
        ------
        SettingsError
            If the knowledge mentions a variable that is not there.

        Examples
        --------
        >>> Knowledge(leaves=["B"]).constraints(["A", "B"]).allowed
        array([[False,  True],
               [False, False]])
        """
        position = {name: place for place, name in enumerate(names)}
        for name in self._mentioned():
            if name not in position:
                raise SettingsError(
                    f"background knowledge mentions {name!r}, which is no variable of the data"
                    f"{_close(name, names)}; correct the name or leave it out"
                )
        n = len(names)
        required = np.zeros((n, n), bool)
        allowed = ~np.eye(n, dtype=bool)
        for cause, effect in self.required:
            required[position[cause], position[effect]] = True
        for cause, effect in self.forbidden:
            allowed[position[cause], position[effect]] = False
        tier = np.full(n, -1)
        for rank, group in enumerate(self.tiers):
            tier[[position[name] for name in group]] = rank
        in_tiers = tier >= 0
        allowed &= ~(in_tiers[:, None] & in_tiers[None, :] & (tier[:, None] > tier[None, :]))
        allowed[:, [position[name] for name in self.roots]] = False
        allowed[[position[name] for name in self.leaves], :] = False
        allowed &= ~ancestors(required).T  # these would close a cycle with required edges
        return Constraints(allowed, required)

    def _mentioned(self) -> list[str]:
        edges = [name for edge in (*self.required, *self.forbidden) for name in edge]
        return [*edges, *(name for group in self.tiers for name in group), *self.roots, *self.leaves]


@dataclass(frozen=True, eq=False)
class Constraints:
    """Background knowledge about variables at known positions; row = cause, column = effect.

    Attributes
    ----------
    allowed : bool [N, N]
        Edges that may exist.
    required : bool [N, N]
        Edges that must exist.
    """

    allowed: NDArray[np.bool_]
    required: NDArray[np.bool_] = field(repr=False)

    def with_context(
        self, context: NDArray[np.bool_], plausible: NDArray[np.bool_], names: Sequence[str]
    ) -> "Constraints":
        """Let context influence every variable where that is plausible, and nothing influence context.

        What is known is known within every context: also a variable without causes may differ between batches.

        Parameters
        ----------
        context : bool [N]
        plausible : bool [N, N]
        names : sequence of str [N]

        Examples
        --------
        >>> names = ["A", "B", "batch"]
        >>> known = Knowledge(roots=["B"]).constraints(names)
        >>> told = known.with_context(np.array([False, False, True]), np.ones((3, 3), bool), names)
        >>> told.allowed.astype(int).tolist(), told.required.astype(int).tolist()
        ([[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [0, 0, 0], [1, 1, 0]])
        """
        wrong = np.argwhere(self.required & context)
        if len(wrong):
            cause, effect = (names[position] for position in wrong[0])
            raise SettingsError(
                f"the edge {cause!r} -> {effect!r} is required, but {effect!r} is context, which nothing influences: "
                "leave it out of one of the two"
            )
        into_others = np.outer(context, ~context) & plausible
        return Constraints((self.allowed & ~context) | into_others, (self.required & ~context) | into_others)

    def apply(self, parameters: _EdgeParameters) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Set the edge parameters that are known, and say which they are.

        Parameters
        ----------
        parameters : EdgeParameters
            Over candidates that are all allowed; gamma and theta are changed in place.

        Returns
        -------
        fixed : bool [P]
            Pairs whose gamma is known: required edges.
        oriented : bool [P]
            Pairs whose theta is known: required edges, and pairs of which the reverse is impossible.

        Examples
        --------
        >>> from enco.parameters import EdgeParameters
        >>> known = Knowledge(forbidden=[("B", "A")]).constraints(["A", "B"])
        >>> parameters = EdgeParameters(Candidates.from_mask(known.allowed))
        >>> known.apply(parameters)
        (array([False]), array([ True]))
        >>> parameters.theta
        array([20.])
        """
        cause, effect = parameters.candidates.cause, parameters.candidates.effect
        fixed = self.required[cause, effect]
        oriented = fixed | ~self.allowed[effect, cause]
        parameters.theta[oriented] = ORIENTED
        parameters.theta[fixed] = REQUIRED
        parameters.reconsider(np.flatnonzero(fixed), REQUIRED)
        return fixed, oriented


def _listed(key: str, value: Any) -> list[Any]:
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise SettingsError(f"{key} must be a list, not {value!r}")
    return list(value)


def _names(key: str, value: Any) -> tuple[str, ...]:
    names = _listed(key, value)
    for name in names:
        if not isinstance(name, str):
            raise SettingsError(f"{key} must hold names of variables, not {name!r}")
    return tuple(dict.fromkeys(names))


def _edges(key: str, value: Any) -> tuple[NamedEdge, ...]:
    edges = []
    for edge in _listed(key, value):
        ends = edge if isinstance(edge, tuple | list) else ()
        if len(ends) != 2 or not all(isinstance(end, str) for end in ends):
            raise SettingsError(f"{key} must hold pairs of names [cause, effect], not {edge!r}")
        if ends[0] == ends[1]:
            raise SettingsError(f"{key} holds the edge {_arrow(ends)} of a variable to itself: remove it")
        edges.append((ends[0], ends[1]))
    return tuple(dict.fromkeys(edges))


def _refuse_contradictions(known: Knowledge) -> None:
    tier: dict[str, int] = {}
    for rank, group in enumerate(known.tiers, start=1):
        for name in group:
            if name in tier:
                raise SettingsError(f"{name!r} is in tier {tier[name]} and in tier {rank}: keep one of them")
            tier[name] = rank
    forbidden, roots, leaves = set(known.forbidden), set(known.roots), set(known.leaves)
    for edge in known.required:
        conflicts = {
            "the same edge is forbidden": edge in forbidden,
            f"{edge[1]!r} is a root": edge[1] in roots,
            f"{edge[0]!r} is a leaf": edge[0] in leaves,
        }
        for conflict, present in conflicts.items():
            if present:
                raise SettingsError(f"the edge {_arrow(edge)} is required, but {conflict}: remove one of the two")
    graph = nx.DiGraph(known.required)
    if not nx.is_directed_acyclic_graph(graph):
        cycle = [cause for cause, _ in nx.find_cycle(graph)]
        raise SettingsError(f"the required edges form a cycle, {_arrow([*cycle, cycle[0]])}: remove one of them")
    _refuse_paths_to_earlier_tiers(graph, tier)


def _refuse_paths_to_earlier_tiers(required: Any, tier: dict[str, int]) -> None:
    """Causes are indirect too: required edges must not lead from a later tier to an earlier one by any path."""
    latest: dict[str, tuple[str, ...]] = {}  # the required path into each variable that starts in the latest tier
    for name in nx.topological_sort(required):
        paths = [(*latest[cause], name) for cause in required.predecessors(name)] + [(name,)]
        latest[name] = max(paths, key=lambda path: (tier.get(path[0], 0), -len(path)))
        start = latest[name][0]
        if name in tier and tier.get(start, 0) > tier[name]:
            what = "edge" if len(latest[name]) == 2 else "path"
            raise SettingsError(
                f"the {what} {_arrow(latest[name])} is required, but {start!r} is in tier {tier[start]} and {name!r} "
                f"in the earlier tier {tier[name]}: remove one of the two"
            )


def _arrow(names: Iterable[str]) -> str:
    return " -> ".join(map(repr, names))


def _close(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
