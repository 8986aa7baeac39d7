"""Render the pictures of the pages, and an example of the report: python docs/gallery.py docs/_gallery."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import path_of_a_fit
from matplotlib import pyplot as plt

from enco import ENCO, simulate
from enco.null_control import null_control
from enco.stability import stability
from enco.stability_plot import draw_reliability

FIGURES = {
    "graph": [],
    "frequency": [],
    "probabilities": [],
    "orientation-matrix": [],
    "orientation": [],
    "learning": ["truth"],
    "precision-recall": ["truth"],
    "interventions": ["data"],
}


def main(folder: Path) -> None:
    """Fit a small graph, with interventions on some variables only, and draw everything."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    model = simulate.categorical("random", 12, rng, edge_probability=0.3)
    # Few rows, so that the pictures have some doubt and some mistakes in them.
    data = model.dataset(1500, 40, targets=[f"X{position}" for position in range(1, 9)], rng=rng)
    given = {"truth": model.observed_adjacency, "data": data}
    result = ENCO(random_state=0).fit(data).result_
    # Few refits and permutations, so that this takes half a minute.
    result = null_control(data, 2, result=stability(data, 6).added_to(result)).added_to_result()
    for kind, names in FIGURES.items():
        result.plot(kind, **{name: given[name] for name in names}).figure.savefig(folder / f"{kind}.png", dpi=110)
        plt.close("all")
    for name, options in {"compared": {"truth": given["truth"]}, "by-frequency": {"by": "frequency"}}.items():
        result.plot("graph", **options).figure.savefig(folder / f"graph-{name}.png", dpi=110)
        plt.close("all")
    result.report(folder / "report.html", overwrite=True, title="An example", **given)
    confounded(folder / "confounders.png")
    reliable(folder / "reliability.png")
    path_of_a_fit.main(folder / "path_of_a_fit.png")


def confounded(picture: Path) -> None:
    """Draw the scores of a graph with two latent confounders."""
    rng = np.random.default_rng(2)
    data = simulate.categorical("random", 10, rng, edge_probability=0.2, latents=2).dataset(3000, 200, rng=rng)
    ENCO(random_state=0, latent=True).fit(data).result_.plot("confounders").figure.savefig(picture, dpi=110)
    plt.close("all")


def reliable(picture: Path, graphs: int = 16) -> None:
    """Draw how often probabilities are right: small graphs, few rows, interventions on half of the variables."""
    probabilities, truths = [], []
    for seed in range(graphs):
        rng = np.random.default_rng(seed)
        model = simulate.categorical("random", 8, rng, edge_probability=0.35, categories=4)
        data = model.dataset(600, 30, targets=["X1", "X2", "X3", "X4"], rng=rng)
        probabilities.append(ENCO(random_state=0).fit(data).result_.edge_probability)
        truths.append(model.observed_adjacency)
    ax = draw_reliability(np.stack(probabilities), np.stack(truths), n_bins=5)
    ax.set_xlabel("probability of the edge")
    ax.figure.savefig(picture, dpi=110)
    plt.close("all")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
