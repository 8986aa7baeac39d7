"""The paper's score of confounded pairs while ENCO learns (the figure of its Appendix C.3)."""

import numpy as np
from numpy.typing import NDArray

from enco.bench.problem import Problem
from enco.fitting.loop import Discovery
from enco.settings import Settings

__all__ = ["scores_over_epochs"]


def scores_over_epochs(
    problem: Problem, settings: Settings, *, n_jobs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Follow the paper's score lc through a fit: it shows how much depends on the threshold.

    Parameters
    ----------
    problem : Problem
        With latent confounders.
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
    >>> size = {"variables": 4, "rows": 100, "interventional_rows": 10, "interventions": 4}
    >>> small = Problem(structure="random", seed=0, latents=1, **size)
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
