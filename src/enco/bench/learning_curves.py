"""Precision and recall of the edges while ENCO learns (the figure of the paper's Appendix C.1)."""

from collections.abc import Callable

from enco.bench.problem import Simulation
from enco.bench.records import Record
from enco.fitting.loop import Discovery
from enco.metrics import edge_scores
from enco.settings import Settings

__all__ = ["measure_curve"]


def measure_curve(
    problem: Simulation, settings: Settings, *, n_jobs: int, on_start: Callable[[], None] = lambda: None
) -> list[Record]:
    """Fit, and judge after every epoch what gamma and theta say; the order step and the search come later.

    Parameters
    ----------
    problem : Simulation
    settings : Settings
    n_jobs : int
        Threads.
    on_start : callable, optional
        Called when the data are there.

    Returns
    -------
    list of dict
        ``epoch``, ``recall`` and ``precision``, one for each epoch.

    Examples
    --------
    >>> from enco.bench.problem import Problem
    >>> measure_curve(Problem(structure="chain", seed=0).tiny(), Settings(max_epochs=2), n_jobs=1)
    [{'epoch': 1, 'recall': ..., 'precision': ...}, {'epoch': 2, ...}]
    """
    data, truth = problem.draw()
    on_start()
    discovery = Discovery(data, settings=settings, seed=problem.seed, n_jobs=n_jobs)
    true = truth[discovery.column][:, discovery.column]  # a fit sees its variables by name, in alphabetical order
    curve: list[Record] = []

    def judge(fit: Discovery) -> None:
        found = fit.candidates.dense(fit.decisions().astype(float)) > 0
        scores = edge_scores(found, true)
        curve.append({"epoch": fit.epoch, "recall": scores.recall, "precision": scores.precision})

    discovery.run(on_epoch=judge)
    return curve
