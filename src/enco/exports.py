"""The graph of a result in the words of other tools.

================  ================================================================================
`to_graphml`      GraphML: Cytoscape, Gephi, igraph, networkx
`to_gml`          GML: the same tools
`to_dot`          DOT: Graphviz
`to_edge_list`    CSV with one line per edge, as `edges.csv` of a result
`to_dowhy`        the text that `dowhy.CausalModel(graph=...)` takes
`to_bif`          Bayesian Interchange Format: bnlearn, pgmpy and others; the structure only
`to_causallearn`  a `GeneralGraph` of causal-learn
`to_pgmpy`        a `DAG` of pgmpy
================  ================================================================================

`Result.to_networkx` and `Result.to_frame` give a `networkx.DiGraph` and a `pandas.DataFrame`. Edges carry what is known
about them (probability, rows of evidence, ...) wherever the format has a place for it; variables without edges are kept
everywhere but in an edge list.
"""

import os
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from enco.errors import GraphError, MissingPackageError, SettingsError
from enco.io._atomic import atomic_file
from enco.io._cells import table_as_csv
from enco.result import Result

__all__ = [
    "FORMATS", "export", "to_bif", "to_causallearn", "to_dot", "to_dowhy", "to_edge_list", "to_gml", "to_graphml",
    "to_pgmpy",
]  # fmt: skip

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_MOST_BIF_PARENTS = 12  # their table has 2 ** 12 lines


def to_graphml(result: Result) -> str:
    """Write the graph as GraphML.

    Examples
    --------
    >>> from enco import InterventionalData, Knowledge, Settings
    >>> from enco.discover import conclude
    >>> from enco.fitting.loop import Discovery
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
    >>> result = conclude(fit, data, seconds=0.0, seed=0)
    >>> '<edge source="X1" target="X2">' in to_graphml(result)
    True
    """
    for name in result.variables:
        if _NOT_IN_XML.search(name):
            raise GraphError(f"GraphML cannot hold the control character in the variable name {name!r}: use gml")
    return "\n".join(nx.generate_graphml(_plain(result))) + "\n"


def to_gml(result: Result) -> str:
    """Write the graph as GML.

    Examples
    --------
    >>> from enco import InterventionalData, Knowledge, Settings
    >>> from enco.discover import conclude
    >>> from enco.fitting.loop import Discovery
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
    >>> result = conclude(fit, data, seconds=0.0, seed=0)
    >>> nx.parse_gml(to_gml(result)).edges
    OutEdgeView([('X1', 'X2')])
    """
    return "\n".join(nx.generate_gml(_plain(result))) + "\n"


def to_dot(result: Result) -> str:
    """Write the graph in the language of Graphviz.

    Examples
    --------
    >>> from enco import InterventionalData, Knowledge, Settings
    >>> from enco.discover import conclude
    >>> from enco.fitting.loop import Discovery
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
    >>> result = conclude(fit, data, seconds=0.0, seed=0)
    >>> print(to_dot(result))
    digraph {
      "X1";
      "X2";
      "X1" -> "X2" [probability=1.000];
    }
    <BLANKLINE>
    """
    lines = [f"  {_dot_name(name)};" for name in result.variables]
    for cause, effect, probability in result.to_frame()[["cause", "effect", "probability"]].itertuples(index=False):
        lines.append(f"  {_dot_name(cause)} -> {_dot_name(effect)} [probability={probability:.3f}];")
    return "\n".join(["digraph {", *lines, "}"]) + "\n"


def to_edge_list(result: Result) -> str:
    """Write one line per edge, with everything that `Result.to_frame` has.

    Names that a spreadsheet would run as a formula begin with an apostrophe, which `enco.io.read_graph` takes off.

    Examples
    --------
    >>> from enco import InterventionalData, Knowledge, Settings
    >>> from enco.discover import conclude
    >>> from enco.fitting.loop import Discovery
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
    >>> result = conclude(fit, data, seconds=0.0, seed=0)
    >>> to_edge_list(result).splitlines()[1][:6]
    'X1,X2,'
    """
    return table_as_csv(result.to_frame())


def to_dowhy(result: Result) -> str:
    """Write the graph as dowhy wants it: GML on one line.

    Examples
    --------
    >>> from enco import InterventionalData, Knowledge, Settings
    >>> from enco.discover import conclude
    >>> from enco.fitting.loop import Discovery
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
    >>> result = conclude(fit, data, seconds=0.0, seed=0)
    >>> to_dowhy(result)
    'graph [ directed 1 node [ id 0 label "X1" ] ... edge [ source 0 target 1 ] ]'
    """
    bare = nx.DiGraph()
    bare.add_nodes_from(result.variables)
    bare.add_edges_from(result.to_networkx().edges)
    return " ".join(line.strip() for line in nx.generate_gml(bare))


def to_bif(result: Result) -> str:
    """Write the structure in the Bayesian Interchange Format.

    The format demands states and probabilities, which a graph does not have: every variable gets the two states
    ``unknown0`` and ``unknown1``, equally likely whatever the parents. Readers then have the right structure, into
    which they can learn tables from data.

    Examples
    --------
    >>> from enco import InterventionalData, Knowledge, Settings
    >>> from enco.discover import conclude
    >>> from enco.fitting.loop import Discovery
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
    >>> result = conclude(fit, data, seconds=0.0, seed=0)
    >>> from enco.simulate import parse_bif
    >>> parse_bif(to_bif(result)).adjacency.astype(int).tolist()
    [[0, 1], [0, 0]]
    """
    names = [_bif_name(name) for name in result.variables]
    lines = ["network enco {", "}"]
    for name in names:
        lines += [f"variable {name} {{", "  type discrete [ 2 ] { unknown0, unknown1 };", "}"]
    for effect, name in enumerate(names):
        parents = [names[cause] for cause in np.flatnonzero(result.adjacency[:, effect])]
        if len(parents) > _MOST_BIF_PARENTS:
            raise GraphError(
                f"variable {result.variables[effect]!r} has {len(parents)} parents, whose table would have "
                f"2^{len(parents)} lines: BIF is for at most {_MOST_BIF_PARENTS} parents, use another format"
            )
        if parents:
            lines.append(f"probability ( {name} | {', '.join(parents)} ) {{")
            lines += [
                f"  ({', '.join(states)}) 0.5, 0.5;"
                for states in product(("unknown0", "unknown1"), repeat=len(parents))
            ]
        else:
            lines += [f"probability ( {name} ) {{", "  table 0.5, 0.5;"]
        lines.append("}")
    return "\n".join(lines) + "\n"


def to_causallearn(result: Result) -> Any:
    """Return the graph as a `causallearn.graph.GeneralGraph`; needs the package causal-learn."""
    try:
        from causallearn.graph.Edge import Edge
        from causallearn.graph.Endpoint import Endpoint
        from causallearn.graph.GeneralGraph import GeneralGraph
        from causallearn.graph.GraphNode import GraphNode
    except ImportError as error:
        raise MissingPackageError("causal-learn", "packages", "a graph of causal-learn") from error
    nodes = [GraphNode(name) for name in result.variables]
    graph = GeneralGraph(nodes)
    for cause, effect in np.argwhere(result.adjacency):
        graph.add_edge(Edge(nodes[cause], nodes[effect], Endpoint.TAIL, Endpoint.ARROW))
    return graph


def to_pgmpy(result: Result) -> Any:
    """Return the graph as a `pgmpy.base.DAG`; needs the package pgmpy."""
    try:
        from pgmpy.base import DAG
    except ImportError as error:
        raise MissingPackageError("pgmpy", "bif", "a graph of pgmpy") from error
    graph = DAG()
    graph.add_nodes_from(result.variables)
    graph.add_edges_from(result.to_networkx().edges)
    return graph


FORMATS: dict[str, Callable[[Result], str]] = {
    "graphml": to_graphml,
    "gml": to_gml,
    "dot": to_dot,
    "csv": to_edge_list,
    "dowhy": to_dowhy,
    "bif": to_bif,
}
"""Formats of `export` and of ``enco export``."""


def export(result: Result, path: str | os.PathLike[str], *, format: str | None = None, overwrite: bool = False) -> None:
    """Write the graph to a file, atomically.

    Parameters
    ----------
    result : Result
    path : path-like
    format : {"graphml", "gml", "dot", "csv", "dowhy", "bif"}, optional
        By default what the suffix of the file says.
    overwrite : bool
        Whether a file that is already there may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> from enco import InterventionalData, Knowledge, Settings
    >>> from enco.discover import conclude
    >>> from enco.fitting.loop import Discovery
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings(), knowledge=Knowledge(required=[("X1", "X2")]))
    >>> result = conclude(fit, data, seconds=0.0, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(result, f"{folder}/graph.graphml")
    ...     nx.read_graphml(f"{folder}/graph.graphml").number_of_nodes()
    2
    """
    chosen = Path(path).suffix.lower().removeprefix(".") if format is None else format
    if chosen not in FORMATS:
        what = f"the format {format!r}" if format is not None else f"a format for the file {Path(path).name!r}"
        raise SettingsError(f"there is no such thing as {what}: choose from {', '.join(FORMATS)}")
    text = FORMATS[chosen](result)
    with atomic_file(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(text.encode())  # with the line ends that are in the text


def _plain(result: Result) -> nx.DiGraph:
    """Give the graph attributes of Python's own types, which is what writers of files know."""
    graph = nx.DiGraph()
    graph.add_nodes_from(result.variables)
    for cause, effect, known in result.to_networkx().edges(data=True):
        values = {name: value.item() if isinstance(value, np.generic) else value for name, value in known.items()}
        graph.add_edge(cause, effect, **values)
    return graph


def _dot_name(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _bif_name(name: str) -> str:
    """Quote what is not a plain word; the format has no way to write a quote or a line break within quotes."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name):
        return name
    if re.search(r'["\r\n]|//|/\*', name):
        raise GraphError(f"BIF cannot hold the variable name {name!r}: rename it, or use another format")
    return f'"{name}"'
