"""What one fit does per second, where its time goes, and how near that is to the machine's arithmetic peak."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from enco.bench.machine import machine, peak_memory_mb, single_precision_peak, versions
from enco.bench.markup import markdown
from enco.bench.metering import STAGES, Metered
from enco.bench.problem import Problem
from enco.discover import conclude
from enco.fitting.loop import Discovery
from enco.settings import Settings

__all__ = ["Speed", "measure_speed", "speed_table"]

BYTES = 4  # of a single-precision number
NOTHING = "-"


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What a fit did and how long it took.

    Attributes
    ----------
    problem : Problem
    threads, epochs : int
    compilation : float
        Seconds before the fit, not part of `total`.
    total : float
        Seconds of the whole fit.
    stages : dict
        Seconds of each stage; what is missing to the total is edge parameters and bookkeeping.
    refinement : float
        Seconds after the last epoch, from edge parameters to the final graph: orientation evidence, order step, and
        the search with networks of its own.
    operations, toggles : dict
        By stage; floating-point operations as `enco.bench.metering` counts them.
    rows_trained, rows_scored : int
    peak : float
        Single-precision operations per second of one thread, by matrix products.
    memory_mb : float or None
        Peak of the process.
    pairs, weights : int
        Candidate pairs, and weights of all networks.
    """

    problem: Problem
    threads: int
    epochs: int
    compilation: float
    total: float
    stages: dict[str, float]
    refinement: float
    operations: dict[str, float]
    toggles: dict[str, int]
    rows_trained: int
    rows_scored: int
    peak: float
    memory_mb: float | None
    pairs: int
    weights: int


def measure_speed(
    problem: Problem,
    settings: Settings,
    *,
    n_jobs: int,
    compilation: float = 0.0,
    on_epoch: Callable[[Discovery], None] = lambda discovery: None,
) -> Speed:
    """Fit one problem with a meter on its conditional model; warm up first.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    n_jobs : int
        Threads.
    compilation : float
        Seconds to report, from `enco.bench.warmup.warm_up`.
    on_epoch : callable, optional

    Examples
    --------
    >>> tiny = Problem(structure="chain", seed=1, variables=3, rows=50, interventional_rows=10, interventions=3)
    >>> measure_speed(tiny, Settings(max_epochs=1), n_jobs=1).pairs
    6
    """
    data, _ = problem.draw()
    peak = single_precision_peak()
    started = time.perf_counter()
    discovery = Discovery(data, settings=settings, seed=problem.seed, n_jobs=n_jobs)
    meter = Metered.attach(discovery, rows=data.observational.n_rows)
    discovery.run(on_epoch=on_epoch)
    meter.detach(discovery)
    learned = time.perf_counter()
    conclude(discovery, data, seconds=0.0, seed=problem.seed)
    ended = time.perf_counter()
    return Speed(
        problem=problem,
        threads=n_jobs,
        epochs=discovery.epoch,
        compilation=compilation,
        total=ended - started,
        stages=meter.seconds,
        refinement=ended - learned,
        operations=meter.operations,
        toggles=meter.toggles,
        rows_trained=meter.rows_trained,
        rows_scored=meter.rows_scored,
        peak=peak,
        memory_mb=peak_memory_mb(),
        pairs=discovery.candidates.n_pairs,
        weights=meter.model.layout.size,
    )


def speed_table(speed: Speed) -> str:
    """Write a measurement as a Markdown table.

    Examples
    --------
    >>> tiny = Problem(structure="chain", seed=1, variables=3, rows=50, interventional_rows=10, interventions=3)
    >>> print(speed_table(measure_speed(tiny, Settings(max_epochs=1), n_jobs=1)))
    | what | figure |
    ...
    """
    problem, stages = speed.problem, speed.stages
    toggling = stages["orientations"] + stages["graph"]
    rest = max(0.0, speed.total - speed.refinement - sum(stages.values()))
    rows = [
        ["problem", f"{problem.structure}, {problem.variables} variables, {problem.rows:,} + "
         f"{problem.interventions} x {problem.interventional_rows:,} rows, seed {problem.seed}"],
        ["whole fit, kernels compiled", f"{speed.total:.2f} s, {speed.epochs} epochs"],
        *[[_STAGE_NAMES[stage], _share(stages[stage], speed.total)] for stage in STAGES],
        ["search (with evidence and order step)", _share(speed.refinement, speed.total)],
        ["edge parameters, the rest", _share(rest, speed.total)],
        ["compilation, or reading the cache, before", f"{speed.compilation:.2f} s"],
        ["rows x networks trained per second", _rate(speed.rows_trained, stages["distributions"])],
        ["toggles per second, orientations", _rate(speed.toggles["orientations"], stages["orientations"])],
        ["toggles per second, graph steps", _rate(speed.toggles["graph"], stages["graph"])],
        ["rows x networks x graphs scored per second", _rate(speed.rows_scored, toggling)],
        ["single-precision peak of one thread", f"{speed.peak / 1e9:.1f} GFLOP/s (float32 matrix product, NumPy's "
         "BLAS)"],
        *[[f"fraction of the peak of {_threads(speed.threads)}: {_STAGE_NAMES[stage]}", _fraction(speed, stage)]
          for stage in STAGES],
        ["peak memory of the process", NOTHING if speed.memory_mb is None else f"{speed.memory_mb:.0f} MB"],
        ["bytes of weights per candidate pair", f"{BYTES * speed.weights / max(speed.pairs, 1):,.0f} (with Adam's "
         f"moments {3 * BYTES * speed.weights / max(speed.pairs, 1):,.0f})"],
        ["candidate pairs", f"{speed.pairs:,}"],
        ["machine", f"{machine()['cpu']}, {_threads(speed.threads)}"],
        ["versions", ", ".join(f"{name} {number}" for name, number in versions().items())],
    ]  # fmt: skip
    return markdown(["what", "figure"], [row for row in rows if row[1] != NOTHING])


_STAGE_NAMES = {
    "distributions": "distribution fitting",
    "orientations": "orientations (theta-only passes)",
    "graph": "graph steps",
}


def _share(seconds: float, total: float) -> str:
    return f"{seconds:.2f} s, {100 * seconds / total:.0f} %"


def _rate(number: int, seconds: float) -> str:
    return f"{number / seconds / 1e6:.2f} million" if number and seconds else NOTHING


def _fraction(speed: Speed, stage: str) -> str:
    if not speed.stages[stage]:
        return NOTHING
    rate = speed.operations[stage] / speed.stages[stage]
    return f"{100 * rate / (speed.peak * speed.threads):.0f} % ({rate / 1e9:.1f} GFLOP/s)"


def _threads(number: int) -> str:
    return f"{number} thread{'s' if number != 1 else ''}"
