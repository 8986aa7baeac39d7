"""Compile every kernel on a tiny problem, so that seconds measured afterwards are seconds of work."""

import time
from dataclasses import replace

import numpy as np

from enco.bench.problem import Problem, Simulation
from enco.discover import conclude
from enco.fitting.loop import Discovery
from enco.graphs.order import EXACT_LIMIT, acyclic
from enco.settings import Settings

__all__ = ["warm_up"]


TINY = Problem(structure="chain", seed=0).tiny()


def warm_up(settings: Settings, *, n_jobs: int, problem: Simulation = TINY) -> float:
    """Return the seconds that compilation took, or reading compiled kernels from the cache.

    A tiny fit runs twice; the second time tells how much of the first was work.

    Parameters
    ----------
    settings : Settings
        Of the fits to come: they decide which kernels are used.
    n_jobs : int
        Threads.
    problem : Simulation, optional
        The tiny problem; of the same kind as those to come.

    Examples
    --------
    >>> warm_up(Settings(max_epochs=1), n_jobs=1) >= 0.0
    True
    """
    quick = replace(
        settings,
        max_epochs=min(settings.max_epochs, settings.orientation_epochs + 1),
        first_fit_steps=min(settings.first_fit_steps, 2 * settings.check_every),  # looks at held-out rows twice
    )
    first = _tiny_fit(problem, quick, n_jobs)
    return max(0.0, first - _tiny_fit(problem, quick, n_jobs))


def _tiny_fit(problem: Simulation, settings: Settings, n_jobs: int) -> float:
    data, _ = problem.draw()
    started = time.perf_counter()
    discovery = Discovery(data, settings=settings, seed=0, n_jobs=n_jobs)
    discovery.run()
    conclude(discovery, data, seconds=0.0, seed=0)
    for size in (3, EXACT_LIMIT + 1):  # cycles that are broken exactly, and by search
        weights = np.random.default_rng(0).standard_normal((size, size))
        acyclic(~np.eye(size, dtype=bool), weights - weights.T, time_limit=0.0)
    return time.perf_counter() - started
