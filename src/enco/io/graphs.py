"""Graphs from files: the truth of a simulation or somebody's prediction; A[i, j] = 1 means i -> j.

=========  ===================================================================================================
suffix     content
=========  ===================================================================================================
``.npz``   ``adj_matrix`` [N, N] and, optionally, ``names`` [N]
``.json``  an object with ``variables`` (names) and ``adjacency`` (N lists of N zeros or ones)
``.csv``   a square matrix with names in the first row and the first column, or a list of edges with the
           columns ``cause`` and ``effect``; where there is a column ``in_graph``, as in the table of refits,
           those that it marks
=========  ===================================================================================================
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.errors import FileFormatError, GraphError
from enco.graphs.dag import MOST_VARIABLES
from enco.io._archive import Archive
from enco.io._cells import from_plain_text
from enco.io._paths import existing_file
from enco.io.formats import find_format, suffixes_in_words

__all__ = ["frequencies_from_csv", "graph_from_csv", "graph_from_json", "graph_from_npz", "read_graph"]

IN_GRAPH, FREQUENCY = "in_graph", "frequency"  # columns of the table of refits


def read_graph(
    path: str | os.PathLike[str], *, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...] | None, NDArray[np.bool_]]:
    r"""Read a directed graph.

    Parameters
    ----------
    path : path-like
        A file ending in .npz, .json or .csv.
    names : sequence of str, optional
        Return the variables in this order; a list of edges may then leave variables without edges out.

    Returns
    -------
    names : tuple of str, or None if the file has none
    adjacency : ndarray of bool, shape (N, N)
        ``adjacency[i, j]`` means i -> j.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "edges.csv").write_text("cause,effect\nA,B\nB,C\n")
    ...     found, adjacency = read_graph(f"{folder}/edges.csv")
    >>> found, adjacency.astype(int).tolist()
    (('A', 'B', 'C'), [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    """
    source = existing_file(path)
    form = find_format(source, "graph_reader")
    if form is None:
        suffixes = suffixes_in_words("graph_reader")
        raise FileFormatError(f"{source}: cannot read a graph from a {source.suffix!r} file; use {suffixes}")
    found, matrix, complete = form.read_graph(source)
    adjacency = _checked(source, found, matrix)
    if names is None or found is None:
        if names is not None and len(names) != len(adjacency):
            raise GraphError(f"{source}: the graph has {len(adjacency)} variables, not {len(names)}")
        return (None if found is None else tuple(found)), adjacency
    return tuple(names), _in_order(source, found, adjacency, names, complete)


_Found = tuple[list[str] | None, NDArray[Any], bool]  # names, matrix, whether all variables are listed


def graph_from_npz(source: Path) -> _Found:
    """Read a graph from the key ``adj_matrix`` of an npz file."""
    with Archive(source) as archive:
        shape = archive.member("adj_matrix").shape
        _check_shape(source, shape)
        names = None
        if "names" in archive:
            member = archive.member("names")
            if member.dtype.kind != "U" or member.shape != shape[:1]:
                raise FileFormatError(
                    f"{source}: names has the shape {member.shape} of {member.dtype}, it must be {shape[0]} texts, one "
                    "per row of adj_matrix"
                )
            names = archive.array("names").tolist()
        return names, archive.array("adj_matrix"), True


def graph_from_json(source: Path) -> _Found:
    """Read a graph from a JSON object."""
    try:
        content = json.loads(source.read_text(encoding="utf-8"))
        names = [str(name) for name in content["variables"]]
        matrix = np.array(content["adjacency"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"key {error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())[:200]
        raise FileFormatError(
            f"{source}: expected JSON with the keys 'variables' and 'adjacency' ({reason})"
        ) from error
    return names, matrix, True


def graph_from_csv(source: Path) -> _Found:
    """Read a graph from a CSV file, a matrix or a list of edges."""
    rows = _rows(source)
    header = [cell.strip() for cell in rows[0]]
    if "cause" in header and "effect" in header:
        names, edges = _edges(source, rows, header)
        return names, _matrix(edges, [not edge.left_out for edge in edges], len(names)) > 0, False
    names = rows[0][1:]
    body = rows[1:]
    if len(body) != len(names) or any(len(row) != len(names) + 1 for row in body):
        raise FileFormatError(
            f"{source}: expected a square matrix with names in the first row and column, or the columns "
            "cause and effect"
        )
    if [row[0] for row in body] != names:
        raise FileFormatError(f"{source}: the names in the first column are not those in the first row, in that order")
    try:
        return names, np.array([[float(cell) for cell in row[1:]] for row in body]), True
    except ValueError as error:
        raise FileFormatError(f"{source}: the matrix holds something else than 0 and 1 ({error})") from None


def frequencies_from_csv(source: Path, names: Sequence[str]) -> NDArray[np.float64] | None:
    """Return how often refits found each edge, [N, N], if the file is the table of refits; else None."""
    rows = _rows(source)
    header = [cell.strip() for cell in rows[0]]
    if not {"cause", "effect", IN_GRAPH, FREQUENCY} <= set(header):
        return None
    found, edges = _edges(source, rows, header)
    place = header.index(FREQUENCY)
    try:
        shares = [float(row[place]) for row in rows[1:]]
    except (ValueError, IndexError):
        shares = [-1.0]
    if not all(0 <= share <= 1 for share in shares):
        raise FileFormatError(f"{source}: the column {FREQUENCY!r} holds something else than numbers from 0 to 1")
    column = [names.index(name) for name in found]
    matrix = np.zeros((len(names), len(names)))
    matrix[np.ix_(column, column)] = _matrix(edges, shares, len(found))
    return matrix


class _Edge(NamedTuple):
    cause: int
    effect: int
    left_out: bool


def _rows(source: Path) -> list[list[str]]:
    try:
        with source.open(newline="", encoding="utf-8-sig") as file:
            rows = [[from_plain_text(cell) for cell in row] for row in csv.reader(file, strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"{source}: this is not a readable CSV file ({error})") from error
    if not rows:
        raise FileFormatError(f"{source}: the file is empty; it needs a matrix with names or a list of edges")
    return rows


def _edges(source: Path, rows: list[list[str]], header: list[str]) -> tuple[list[str], list[_Edge]]:
    """List the edges of a table; that of refits has some that are not in the graph, and says so."""
    cause, effect = header.index("cause"), header.index("effect")
    told = header.index(IN_GRAPH) if IN_GRAPH in header else None
    position: dict[str, int] = {}
    edges = []
    for number, row in enumerate(rows[1:], start=1):
        if len(row) <= max(cause, effect) or not row[cause].strip() or not row[effect].strip():
            raise FileFormatError(f"{source}: edge {number} lacks its cause or its effect; fill it in")
        said = "" if told is None or len(row) <= told else row[told].strip().lower()
        if told is not None and said not in ("true", "false"):
            raise FileFormatError(f"{source}: edge {number} has {IN_GRAPH} {said!r}; write True or False")
        start, end = (position.setdefault(row[column], len(position)) for column in (cause, effect))
        edges.append(_Edge(start, end, said == "false"))
    _check_shape(source, (len(position), len(position)))
    return list(position), edges


def _matrix(edges: Sequence[_Edge], values: Sequence[float], n: int) -> NDArray[np.float64]:
    matrix = np.zeros((n, n))
    for edge, value in zip(edges, values, strict=True):
        matrix[edge.cause, edge.effect] = max(matrix[edge.cause, edge.effect], value)
    return matrix


def _check_shape(source: Path, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"{source}: the adjacency matrix has the shape {shape}, it must be square")
    if shape[0] > MOST_VARIABLES:
        raise GraphError(
            f"{source}: the graph has {shape[0]:,} variables, there can be {MOST_VARIABLES:,}; leave some out"
        )


def _checked(source: Path, names: list[str] | None, matrix: NDArray[Any]) -> NDArray[np.bool_]:
    _check_shape(source, matrix.shape)
    if names is not None and len(names) != len(matrix):
        raise GraphError(f"{source}: there are {len(names)} names but {len(matrix)} rows in the adjacency matrix")
    if names is not None and len(set(names)) < len(names):
        raise GraphError(f"{source}: variable names must be unique")
    if matrix.dtype.kind not in "biuf" or not np.isin(matrix, (0, 1)).all():
        raise GraphError(f"{source}: the adjacency matrix holds something else than 0 and 1; apply a threshold first")
    loops = np.flatnonzero(np.diag(matrix))
    if len(loops):
        name = repr(names[loops[0]]) if names is not None else str(loops[0])
        raise GraphError(f"{source}: variable {name} points at itself; remove that edge")
    return matrix.astype(np.bool_)


def _in_order(
    source: Path, found: Sequence[str], adjacency: NDArray[np.bool_], names: Sequence[str], complete: bool
) -> NDArray[np.bool_]:
    position = {name: index for index, name in enumerate(names)}
    unknown = [name for name in found if name not in position]
    lacking = [name for name in names if name not in set(found)] if complete else []
    if unknown or lacking:
        raise GraphError(
            f"{source}: the variables differ from those expected (unknown {unknown[:5]}, missing {lacking[:5]})"
        )
    ordered = np.zeros((len(names), len(names)), dtype=np.bool_)
    columns = [position[name] for name in found]
    ordered[np.ix_(columns, columns)] = adjacency
    return ordered
