"""Draw the path of one fit through its graphs: python docs/path_of_a_fit.py path.png."""

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray

import enco.search.stage as stage
from enco import ENCO, metrics, simulate
from enco.search.dag import Path as SearchPath
from enco.search.dag import search
from enco.search.state import State

MARKS = {"add": "^", "delete": "v", "reverse": "o", "exchange": "s", "place": "D", "root": "P"}


def searches_of_a_fit() -> tuple[list[tuple[State, SearchPath]], NDArray[np.bool_]]:
    """Fit 20 variables with few rows; return the start and the path of every search, and the true graph."""
    found: list[tuple[State, SearchPath]] = []

    def recorded(objective: Any, start: Any, *others: Any, **options: Any) -> SearchPath:
        path = search(objective, start, *others, **options)
        found.append((State.of(start), path))
        return path

    rng = np.random.default_rng(1)
    model = simulate.categorical("random", 20, rng, edge_probability=0.25)
    stage.search, usual = recorded, stage.search
    try:
        ENCO(random_state=0).fit(model.dataset(1000, 20, rng=rng))
    finally:
        stage.search = usual
    by_name = np.argsort(model.observed_names)  # the order of the variables in a fit
    return found, model.observed_adjacency[np.ix_(by_name, by_name)]


def main(picture: Path) -> None:
    """Draw the total of the objective, the number of edges and the errors after every move."""
    found, truth = searches_of_a_fit()
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, height_ratios=(3, 2), layout="constrained")
    position, labelled = 0, set[str]()
    for number, (state, path) in enumerate(found):
        totals, graphs = [path.before], [state]
        for move in path.moves:
            totals.append(totals[-1] - move.gain)
            graphs.append(graphs[-1].changed(move.families))
        places = np.arange(position, position + len(totals))
        upper.step(places, totals, where="post", color="0.6", linewidth=1)
        upper.plot(places[0], totals[0], "k|", markersize=12)
        for place, total, move in zip(places[1:], totals[1:], path.moves, strict=True):
            label = None if move.kind in labelled else move.kind
            labelled.add(move.kind)
            upper.plot(place, total, MARKS[move.kind], color=f"C{list(MARKS).index(move.kind)}", label=label)
        edges = [int(graph.graph.sum()) for graph in graphs]
        errors = [metrics.evaluate(graph.graph, truth)["shd"] for graph in graphs]
        lower.step(places, edges, where="post", color="C0", label="edges" if number == 0 else None)
        lower.step(places, errors, where="post", color="C3", label="errors (SHD)" if number == 0 else None)
        what = "round 1, networks alone" if number == 0 else f"round {number},\nbest\npredictors"
        upper.annotate(
            what, (position, 1.0), (0, -2), xycoords=("data", "axes fraction"), textcoords="offset points", va="top"
        )
        for axes in (upper, lower):
            axes.axvline(position, color="0.85", linewidth=1, zorder=0)
        position = int(places[-1]) + 4
    lower.axhline(int(truth.sum()), color="C0", linestyle=":", linewidth=1, label="edges of the true graph")
    upper.margins(y=0.15)
    upper.set_ylabel("total of the objective, nats")
    upper.legend(title="move", loc="lower left")
    upper.set_xlim(-1, position)
    lower.set_xlabel("moves, from left to right")
    lower.set_xticks([])
    lower.set_ylabel("edges")
    lower.set_ylim(bottom=0)
    lower.legend(loc="center left")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
