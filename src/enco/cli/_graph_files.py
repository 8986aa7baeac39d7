"""Graphs as files: adjacency and, where the file has them, names, edge probabilities and confounded pairs."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.errors import FileFormatError
from enco.io import read_graph
from enco.io._archive import Archive
from enco.io._atomic import atomic_file
from enco.io.graphs import frequencies_from_csv
from enco.result.fields import shares_in
from enco.result.folder import GRAPH, result_in

__all__ = ["GraphFile", "load_graph", "load_graphs", "truth_path", "write_graph"]

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class GraphFile:
    """What a graph file says: matrices [N, N], row = cause, and confounded pairs of positions."""

    path: Path
    names: tuple[str, ...] | None
    adjacency: NDArray[np.bool_]
    probabilities: NDArray[np.float64] | None = None
    confounded: tuple[Pair, ...] | None = None


def load_graphs(prediction: Path, truth: Path) -> tuple[GraphFile, GraphFile]:
    """Read two graphs of the same variables and bring them into one order, by name if both have names."""
    predicted, true = load_graph(prediction), load_graph(truth)
    if predicted.names is None or true.names is None:
        return predicted, true
    # A list of edges leaves out variables without edges, so the longer list of names is the complete one.
    names = predicted.names if len(predicted.names) > len(true.names) else true.names
    return _in_order(predicted, names), _in_order(true, names)


def load_graph(path: Path) -> GraphFile:
    """Read a graph file, or `graph.json` in a folder."""
    file = result_in(path) / GRAPH if path.is_dir() else path
    names, adjacency = read_graph(file)
    graph = GraphFile(file, names, adjacency)
    if file.suffix.lower() == ".json":
        content = json.loads(file.read_text(encoding="utf-8"))
        return replace(
            graph,
            probabilities=_probabilities(content.get("edge_probability"), graph),
            confounded=_confounded(content.get("confounded_pairs"), graph, names or ()),
        )
    if file.suffix.lower() == ".csv" and names is not None:
        return replace(graph, probabilities=frequencies_from_csv(file, names))
    if file.suffix.lower() == ".npz":
        with Archive(file) as archive:
            pairs = _pairs(archive, graph) if "confounded_pairs" in archive else None
        return replace(graph, confounded=_confounded(pairs, graph, range(len(adjacency))))
    return graph


def truth_path(data: Path) -> Path:
    """Where the true graph of a simulated table goes: `<stem>.graph.json` beside it."""
    return data.with_name(f"{data.stem}.graph.json")


def write_graph(
    path: Path,
    *,
    names: Sequence[str],
    adjacency: NDArray[np.bool_],
    confounded: Iterable[Pair] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a graph as JSON, in the format that `load_graph` reads."""
    content: dict[str, Any] = {"variables": list(names), "adjacency": adjacency.astype(int).tolist()}
    if confounded is not None:
        content["confounded_pairs"] = [[names[one], names[other]] for one, other in confounded]
    with atomic_file(path, overwrite=overwrite) as temporary:
        temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _in_order(graph: GraphFile, names: tuple[str, ...]) -> GraphFile:
    _, adjacency = read_graph(graph.path, names=names)  # names what is missing or unknown
    place = {name: position for position, name in enumerate(names)}
    column = [place[name] for name in graph.names or ()]
    probabilities = None
    if graph.probabilities is not None:
        probabilities = np.zeros(adjacency.shape)
        probabilities[np.ix_(column, column)] = graph.probabilities
    confounded = None
    if graph.confounded is not None:
        confounded = tuple((column[one], column[other]) for one, other in graph.confounded)
    return GraphFile(graph.path, names, adjacency, probabilities, confounded)


def _probabilities(value: Any, graph: GraphFile) -> NDArray[np.float64] | None:
    if value is None:
        return None
    probabilities = shares_in(value)
    if probabilities is None or probabilities.shape != graph.adjacency.shape:
        raise FileFormatError(
            f"{graph.path}: 'edge_probability' must be a matrix of numbers from 0 to 1 of the shape of 'adjacency'"
        )
    return probabilities


def _pairs(archive: Archive, graph: GraphFile) -> list[Any]:
    member = archive.member("confounded_pairs")
    if member.dtype.kind not in "iu" or member.shape[1:] != (2,) or member.shape[0] > graph.adjacency.size:
        raise FileFormatError(
            f"{graph.path}: 'confounded_pairs' has the shape {member.shape} of {member.dtype}, it must list pairs of "
            "different variables"
        )
    return list(archive.array("confounded_pairs").tolist())


def _confounded(value: Any, graph: GraphFile, variables: Sequence[str | int]) -> tuple[Pair, ...] | None:
    if value is None:
        return None
    place = {variable: position for position, variable in enumerate(variables)}
    pairs = []
    for pair in value if isinstance(value, list) else [value]:
        ends = pair if isinstance(pair, list) else []
        known = [place[end] for end in ends if isinstance(end, str | int) and end in place]
        if len(ends) != 2 or len(set(known)) != 2:
            raise FileFormatError(
                f"{graph.path}: 'confounded_pairs' must list pairs of different variables, not {pair!r}"
            )
        pairs.append((known[0], known[1]))
    return tuple(pairs)
