"""One piece of work of a benchmark, known by its content, and what is recorded of it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from enco.baselines import find_method
from enco.bench.calibration import as_record, pairs_of
from enco.bench.gradient_variance import measure_variance
from enco.bench.learning_curves import measure_curve
from enco.bench.machine import code_fingerprint, machine, peak_memory_mb, reset_peak_memory, versions
from enco.bench.problem import Problem, Simulation
from enco.bench.problem_kinds import make_problem, told_apart
from enco.bench.records import DONE, Record, key_of
from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.metrics import confounder_scores, edge_scores, shd, sid
from enco.result import Result
from enco.settings import Settings

__all__ = ["TASKS", "Job", "run_job"]

SURE = 0.9  # probability of an edge from which on a result counts as sure of it
LARGEST_FOR_SID = 200  # beyond, counting wrong adjustment sets takes longer than it is worth


@dataclass(frozen=True, kw_only=True)
class Job:
    """One problem for one method.

    Attributes
    ----------
    problem : Simulation
    method : str
        See `enco.baselines.METHODS`.
    settings : dict
        Of the method, where they differ from its defaults.
    task : str
        See `TASKS`.

    Examples
    --------
    >>> job = Job(problem=Problem(structure="chain", seed=1), method="enco")
    >>> job.key == Job(problem=Problem(structure="chain", seed=1), method="enco", settings={"sparsity": 0.1}).key
    False
    >>> Job.from_content(job.content) == job
    True
    """

    problem: Simulation
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    task: str = "fit"

    @property
    def content(self) -> Record:
        """Everything that decides the outcome, but not the threads, which change no result."""
        return {
            "task": self.task,
            "problem": told_apart(self.problem),
            "method": self.method,
            "settings": dict(self.settings),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> "Job":
        """Build the job that has this content."""
        problem = dict(content["problem"])
        return cls(
            problem=make_problem(problem.pop("kind"), problem),
            method=content["method"],
            settings=content["settings"],
            task=content["task"],
        )

    @cached_property
    def key(self) -> str:
        """Identity of the job."""
        return key_of(self.content)

    def check(self) -> None:
        """Raise an `EncoError` unless there are such a method and such settings."""
        find_method(self.method).make_settings(**self.settings)

    def describe(self) -> Record:
        """Return the part of a record that is known beforehand."""
        given = {"task": self.task, "method": self.method, "kind": told_apart(self.problem)["kind"]}
        return {"key": self.key, **given, **asdict(self.problem), "settings": dict(self.settings)}


def run_job(job: Job, *, n_jobs: int, on_start: Callable[[], None] = lambda: None) -> Record:
    """Do a job and return its record.

    Parameters
    ----------
    job : Job
    n_jobs : int
        Threads.
    on_start : callable, optional
        Called when the data are there and the work begins.

    Examples
    --------
    >>> tiny = Problem(structure="chain", seed=1, variables=3, rows=50, interventional_rows=10, interventions=3)
    >>> record = run_job(Job(problem=tiny, method="enco", settings={"max_epochs": 1}), n_jobs=1)
    >>> record["structure"], record["epochs"], record["true_edges"], record["status"]
    ('chain', 1, 2, 'done')
    """
    reset_peak_memory()
    outcome = TASKS[job.task](job, n_jobs, on_start)
    return {
        **job.describe(),
        "status": DONE,
        **outcome,
        "peak_memory_mb": peak_memory_mb(),
        "threads": n_jobs,
        **circumstances(),
    }


def circumstances() -> Record:
    """Return what a record says about where and when it was made."""
    return {
        "versions": versions(),
        "code": code_fingerprint(),
        "machine": machine(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _fit(job: Job, n_jobs: int, on_start: Callable[[], None]) -> Record:
    data, truth = job.problem.draw()
    on_start()
    result = find_method(job.method).fit(data, seed=job.problem.seed, n_jobs=n_jobs, **job.settings)
    return {
        **_scores(result, truth, graph := _graph_part(result, data)),
        **_sureness(result.edge_probability[graph], truth),
        **_confounders(result, job.problem),
        **job.problem.judge(result),
        "epochs": len(result.history),
        "seconds": round(result.seconds, 3),
        "settings": result.settings,
    }


def _learning_curve(job: Job, n_jobs: int, on_start: Callable[[], None]) -> Record:
    return {"curve": measure_curve(job.problem, _enco_settings(job), n_jobs=n_jobs, on_start=on_start)}


def _gradient_variance(job: Job, n_jobs: int, on_start: Callable[[], None]) -> Record:
    if not isinstance(job.problem, Problem):
        raise SettingsError("the noise of gradients is measured on problems of kind 'categorical'")
    on_start()
    curves = measure_variance(job.problem, _enco_settings(job), n_jobs=n_jobs)
    return {"curves": [asdict(curve) for curve in curves]}


def _calibration(job: Job, n_jobs: int, on_start: Callable[[], None]) -> Record:
    _enco_settings(job)
    data, truth = job.problem.draw()
    on_start()
    result = find_method(job.method).fit(data, seed=job.problem.seed, n_jobs=n_jobs, **job.settings)
    return {
        **_scores(result, truth, _graph_part(result, data)),
        "pairs": as_record(pairs_of(result, truth)),
        "seconds": round(result.seconds, 3),
        "settings": result.settings,
    }


TASKS: dict[str, Callable[[Job, int, Callable[[], None]], Record]] = {
    "fit": _fit,
    "learning-curve": _learning_curve,
    "gradient-variance": _gradient_variance,
    "calibration": _calibration,
}
"""What a job can be: learn a graph, follow ENCO while it does, measure the noise of its gradients, or judge how often
its probabilities are right."""


def _enco_settings(job: Job) -> Settings:
    settings = find_method(job.method).make_settings(**job.settings)
    if not isinstance(settings, Settings):
        raise SettingsError(f"task {job.task!r} looks inside ENCO: choose method 'enco', not {job.method!r}")
    return settings


def _graph_part(result: Result, data: InterventionalData) -> tuple[NDArray[np.intp], ...]:
    """Select the entries of a matrix that are about variables: some methods have context columns in their graph."""
    names = data.without_context().names
    return np.ix_(*[[result.variables.index(name) for name in names]] * 2)


def _scores(result: Result, truth: NDArray[np.bool_], graph: tuple[NDArray[np.intp], ...]) -> Record:
    found = result.adjacency[graph].astype(bool)
    edges = edge_scores(found, truth)
    return {
        "edges": int(found.sum()),
        "true_edges": int(truth.sum()),
        "shd_raw": shd(result.adjacency_raw[graph], truth),
        "shd_ordered": shd(result.adjacency_ordered[graph], truth),
        "shd": shd(found, truth),
        "sid": sid(found, truth) if len(truth) <= LARGEST_FOR_SID else None,
        "precision": edges.precision,
        "recall": edges.recall,
        "f1": edges.f1,
        "missing": int((truth & ~found).sum()),
        "extra": int((found & ~truth).sum()),
    }


def _sureness(probability: NDArray[np.float64], truth: NDArray[np.bool_]) -> Record:
    """Judge the probabilities of edges: all of them, and the pairs that the result is sure of."""
    pairs = ~np.eye(len(truth), dtype=bool)
    true, sure = truth[pairs], probability[pairs] >= SURE
    return {
        "edge_auprc": float(average_precision_score(true, probability[pairs])) if true.any() else None,
        "confident": int(sure.sum()),
        "confident_wrong": int((sure & ~true).sum()),
    }


def _confounders(result: Result, problem: Simulation) -> Record:
    """Judge the pairs that were found confounded, and those by the paper's score alone."""
    true = problem.confounded()
    if not true or result.lc_scores is None:
        return {}
    high = np.triu(result.lc_scores, k=1) > result.settings["confounder_threshold"]
    found = confounder_scores([(one, other) for one, other, _ in result.confounders], true)
    by_score = confounder_scores(
        [(result.variables[one], result.variables[other]) for one, other in np.argwhere(high)], true
    )
    return {
        "confounder_recall": found.recall,
        "confounder_precision": found.precision,
        "lc_recall": by_score.recall,
        "lc_precision": by_score.precision,
    }
