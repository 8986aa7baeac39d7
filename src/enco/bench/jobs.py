"""Simulate, fit and evaluate many problems, and keep one record of each."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from enco._version import __version__
from enco.bench.machine import code_fingerprint, machine, peak_memory_mb, versions
from enco.bench.problem import Simulation
from enco.bench.records import Record, Store, key_of
from enco.fitting.loop import Discovery
from enco.metrics import confounder_scores, shd, sid
from enco.result import Result
from enco.settings import Settings

__all__ = ["Job", "run_jobs", "unfinished"]

LARGEST_FOR_SID = 200  # beyond, counting wrong adjustment sets takes longer than it is worth


@dataclass(frozen=True)
class Job:
    """One problem to fit.

    Examples
    --------
    >>> from enco.bench.problem import Problem
    >>> job = Job(Problem(structure="chain", seed=1), Settings())
    >>> job.key == Job(Problem(structure="chain", seed=1), Settings(sparsity=0.1)).key
    False
    """

    problem: Simulation
    settings: Settings

    @cached_property
    def key(self) -> str:
        """Identity of the job: problem, settings and version, but not the threads, which change no result."""
        return key_of({"problem": asdict(self.problem), "settings": asdict(self.settings), "enco": __version__})


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    *,
    n_jobs: int,
    on_start: Callable[[Job], None] = lambda job: None,
    on_epoch: Callable[[Discovery], None] = lambda discovery: None,
    on_record: Callable[[Job, Record], None] = lambda job, record: None,
) -> list[Record]:
    """Do the jobs that the store has no record of; each record is stored as soon as it is there.

    Parameters
    ----------
    jobs : sequence of Job
    store : Store
    n_jobs : int
        Threads.
    on_start, on_epoch, on_record : callable, optional
        Called before a fit, after each of its epochs, and after its record is stored.

    Returns
    -------
    list of dict
        One record per job, in order, old and new.

    Examples
    --------
    >>> from enco.bench.problem import Problem
    >>> tiny = Problem(structure="chain", seed=1, variables=3, rows=50, interventional_rows=10, interventions=3)
    >>> [record] = run_jobs([Job(tiny, Settings(max_epochs=1))], Store(), n_jobs=1)
    >>> record["structure"], record["epochs"], record["true_edges"]
    ('chain', 1, 2)
    """
    for job in unfinished(jobs, store):
        on_start(job)
        record = _run(job, n_jobs, on_epoch)
        store.add(record)
        on_record(job, record)
    return [store.records[job.key] for job in jobs]


def unfinished(jobs: Iterable[Job], store: Store) -> list[Job]:
    """List the jobs without a record."""
    return [job for job in jobs if job.key not in store.records]


def _run(job: Job, n_jobs: int, on_epoch: Callable[[Discovery], None]) -> Record:
    data, truth = job.problem.draw()
    started = time.perf_counter()
    discovery = Discovery(data, settings=job.settings, seed=job.problem.seed, n_jobs=n_jobs)
    discovery.run(on_epoch=on_epoch)
    result = Result.from_discovery(discovery, data, seconds=0.0, seed=job.problem.seed)
    seconds = time.perf_counter() - started
    return {
        "key": job.key,
        **asdict(job.problem),
        **_scores(result, truth),
        **_confounder_scores(result, job.problem),
        "epochs": discovery.epoch,
        "settled": discovery.settled(),
        "seconds": round(seconds, 3),
        "peak_memory_mb": peak_memory_mb(),  # of this process so far
        "threads": n_jobs,
        "settings": asdict(job.settings),
        "versions": versions(),
        "code": code_fingerprint(),
        "machine": machine(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _scores(result: Result, truth: NDArray[np.bool_]) -> Record:
    found = result.adjacency.astype(bool)
    return {
        "edges": int(found.sum()),
        "true_edges": int(truth.sum()),
        "shd_raw": shd(result.adjacency_raw, truth),
        "shd": shd(found, truth),
        "sid": sid(found, truth) if len(truth) <= LARGEST_FOR_SID else None,
        "missing": int((truth & ~found).sum()),
        "extra": int((found & ~truth).sum()),
    }


def _confounder_scores(result: Result, problem: Simulation) -> Record:
    """Score the pairs found confounded, and those by the paper's score alone."""
    if result.confounder_scores is None or result.lc_scores is None:
        return {}
    model = problem.model()
    truth = [(model.observed_names[one], model.observed_names[other]) for one, other in model.confounded_pairs]
    threshold = result.settings["confounder_threshold"]
    by_lc = [
        (result.variables[one], result.variables[other])
        for one, other in np.argwhere(np.triu(result.lc_scores, k=1) > threshold)
    ]
    found = confounder_scores([pair[:2] for pair in result.confounders], truth)
    paper = confounder_scores(by_lc, truth)
    return {
        "confounders": len(result.confounders),
        "true_confounders": len(truth),
        "confounder_recall": 100 * found.recall,
        "confounder_precision": 100 * found.precision,
        "lc_recall": 100 * paper.recall,
        "lc_precision": 100 * paper.precision,
    }
