"""Simulated problems with latent confounders, as in the paper's Appendix C.3."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from enco.bench.problem import Problem
from enco.fitting.loop import Discovery
from enco.settings import Settings
from enco.simulate import SCM, categorical

__all__ = ["PAPER_LATENTS", "LatentProblem", "scores_over_epochs"]

# (rows, interventional rows) -> mean ± deviation over 25 graphs; recall and precision of confounded pairs in percent.
PAPER_LATENTS: dict[tuple[int, int], dict[str, str]] = {
    (100_000, 10_000): {"shd": "0.00 ± 0.00", "recall": "96.8 ± 9.5", "precision": "100.0 ± 0.0"},
    (5000, 512): {"shd": "1.24 ± 1.33", "recall": "93.6 ± 13.8", "precision": "96.5 ± 7.1"},
    (5000, 200): {"shd": "4.12 ± 1.86", "recall": "92.0 ± 11.5", "precision": "83.8 ± 16.4"},
}


@dataclass(frozen=True, kw_only=True)
class LatentProblem(Problem):
    """A categorical problem in which some pairs of variables share a cause that the data do not show.

    Attributes
    ----------
    seed, variables, rows, interventional_rows, interventions, structure, categories, mechanism
        See `Problem`.
    latents : int
        Number of confounders, each of two variables without a direct edge.

    Examples
    --------
    >>> len(LatentProblem(seed=0).model().confounded_pairs)
    5
    """

    structure: str = "random"
    interventional_rows: int = 512
    latents: int = 5

    def model(self) -> SCM:
        """Build the model behind the data."""
        rng = np.random.default_rng([self.seed, 0])
        kind: Literal["neural", "product"] = "neural" if self.mechanism == "neural" else "product"
        return categorical(
            self.structure, self.variables, rng, categories=self.categories, mechanism=kind, latents=self.latents
        )

    @property
    def label(self) -> str:
        """The sample sizes."""
        return f"{self.rows:,} + {self.interventional_rows:,}"

    @property
    def title(self) -> str:
        """Size, confounders and mechanisms, in words."""
        return (
            f"{self.variables} variables of {self.categories} categories, {self.structure} graphs, "
            f"{self.latents} latent confounders, interventions on {self.interventions} variables, "
            f"{self.mechanism} mechanisms"
        )

    def tiny(self) -> "LatentProblem":
        """Return a problem of the same kind that is learned in no time; it is too small for confounders."""
        return replace(self, variables=4, rows=200, interventional_rows=20, interventions=4, latents=0)


def scores_over_epochs(
    problem: LatentProblem, settings: Settings, *, n_jobs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Follow the paper's score lc through a fit: it shows how much depends on the threshold.

    Parameters
    ----------
    problem : LatentProblem
    settings : Settings
        With ``latent``.
    n_jobs : int
        Threads.

    Returns
    -------
    confounded : float64 [epochs, pairs]
        Score of each confounded pair.
    others : float64 [epochs]
        The highest score of any other pair.

    Examples
    --------
    >>> quick = Settings(latent=True, max_epochs=2, first_fit_steps=50, fit_steps=20)
    >>> small = LatentProblem(seed=0, variables=4, rows=100, interventional_rows=10, interventions=4, latents=1)
    >>> confounded, others = scores_over_epochs(small, quick, n_jobs=1)
    >>> confounded.shape, others.shape
    ((2, 1), (2,))
    """
    data, _ = problem.draw()
    discovery = Discovery(data, settings=settings, seed=problem.seed, n_jobs=n_jobs)
    place = np.argsort(discovery.column)
    truth = np.zeros((problem.variables, problem.variables), bool)
    for one, other in problem.model().confounded_pairs:
        truth[place[one], place[other]] = truth[place[other], place[one]] = True
    pairs = discovery.candidates
    once = pairs.cause < pairs.effect
    true = truth[pairs.cause, pairs.effect]
    history: list[NDArray[np.float64]] = []
    discovery.run(on_epoch=lambda fit: history.append(fit.lc_scores()))
    scores = np.array(history)
    return scores[:, once & true], np.nanmax(scores[:, once & ~true], axis=1)
