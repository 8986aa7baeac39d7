"""Noise of the gamma gradient by estimator, at equal numbers of network evaluations (the paper's Figure 2).

The state is that of a fit after its first distribution fitting: gamma = 0, theta = 0. One network evaluation is one
variable's network on one row. With N variables that all have N - 1 candidate parents and a batch of B rows,

    K graphs on the batch cost           K * B * N
    paired effects on R rows cost        R * (1 + (N - 1)) * N

so that K = m N graphs and R = m B rows cost the same, m B N^2, for every m. Two questions are asked of each estimator:

=============  ======================================================================================
same rows      all estimates see one batch, only graphs are drawn anew: what the paper's figure shows
fresh rows     every estimate draws its rows too: what training sees. More graphs on one batch do not help against
               the noise of its rows, whereas paired effects spend more evaluations on more rows
=============  ======================================================================================
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from enco.bench.markup import markdown
from enco.bench.problem import Problem
from enco.fitting.loop import Discovery
from enco.gradients import ESTIMATORS, edge_cost, gamma_gradient, reinforce
from enco.settings import EstimatorName, Settings

__all__ = ["Point", "VarianceCurve", "measure_variance", "variance_layout", "variance_table", "variance_title"]

POOL = 20_000  # rows of the intervention that batches are drawn from, with replacement
ESTIMATOR_NAMES: tuple[EstimatorName, ...] = ("reinforce", "independent", "paired")
ESTIMATOR_TITLES = {"reinforce": "REINFORCE", "independent": "paper's ENCO", "paired": "paired (ours)"}


@dataclass(frozen=True)
class Point:
    """Deviations at one cost: the square root of the variance of an estimate, averaged over pairs.

    Attributes
    ----------
    evaluations : int
        Network evaluations of one estimate, the same for all estimators.
    graphs : int
        K, for the estimators that score whole graphs.
    rows : int
        Rows of the paired estimator.
    deviation : dict
        By estimator.
    """

    evaluations: int
    graphs: int
    rows: int
    deviation: dict[EstimatorName, float]


@dataclass(frozen=True)
class VarianceCurve:
    """Points of growing cost; `rows` says whether all estimates see the "same rows" or "fresh rows"."""

    rows: str
    points: tuple[Point, ...]


def measure_variance(
    problem: Problem,
    settings: Settings,
    *,
    batch: int = 128,
    multiples: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128),
    repeats: int = 16,
    n_jobs: int = 1,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> tuple[VarianceCurve, VarianceCurve]:
    """Fit the distributions once, then estimate the same gradient many times.

    Parameters
    ----------
    problem : Problem
        Its interventional rows and interventions do not matter: many rows of one intervention are drawn.
    settings : Settings
    batch : int
        B, rows that the K graphs share.
    multiples : sequence of int
        The values of m: K = m N graphs, m B rows.
    repeats : int
        Estimates behind each deviation; they are pooled over all pairs, so a few suffice.
    n_jobs : int
        Threads.
    on_progress : callable, optional
        Called with the share that is done.

    Examples
    --------
    >>> tiny = Problem(structure="chain", seed=1, variables=3, rows=100, interventions=1)
    >>> same, fresh = measure_variance(tiny, Settings(), batch=8, multiples=(1, 2), repeats=3)
    >>> [(point.evaluations, point.graphs, point.rows) for point in same.points]
    [(72, 3, 8), (144, 6, 16)]
    """
    rng = np.random.default_rng([problem.seed, 3])
    data, _ = replace(problem, interventional_rows=POOL, interventions=1).draw()
    discovery = Discovery(data, settings=settings, seed=problem.seed, n_jobs=n_jobs)
    probability = discovery.parameters.edge_probability()
    discovery.model.fit(probability, settings.first_fit_steps)

    n = problem.variables
    shared = rng.integers(POOL, size=batch)
    total, done = 2 * sum(multiples) * repeats * len(ESTIMATOR_NAMES), 0
    curves: list[VarianceCurve] = []
    for rows in ("same rows", "fresh rows"):
        points = []
        for multiple in multiples:
            estimates: dict[EstimatorName, list[NDArray[np.float64]]] = {name: [] for name in ESTIMATOR_NAMES}
            for _ in range(repeats):
                for name in ESTIMATOR_NAMES:
                    size = batch * multiple if name == "paired" else batch
                    drawn = np.resize(shared, size) if rows == "same rows" else rng.integers(POOL, size=size)
                    estimates[name].append(_gradient(discovery, name, drawn, multiple * n, rng))
                    done += multiple
                    on_progress(done / total)
            deviation = {name: _deviation(np.array(estimates[name])) for name in ESTIMATOR_NAMES}
            points.append(Point(multiple * batch * n * n, multiple * n, multiple * batch, deviation))
        curves.append(VarianceCurve(rows, tuple(points)))
    return curves[0], curves[1]


def variance_table(curves: Sequence[VarianceCurve]) -> str:
    """Write deviations as Markdown tables, one per curve.

    Examples
    --------
    >>> point = Point(1000, 10, 50, {"reinforce": 0.2, "independent": 0.02, "paired": 0.01})
    >>> print(variance_table([VarianceCurve("same rows", (point,))]))
    Standard deviation of the gamma gradient, same rows
    <BLANKLINE>
    | network evaluations | K graphs | rows, paired | REINFORCE | paper's ENCO | paired (ours) | REINFORCE / paper's ...
    |---|---:|---:|---:|---:|---:|---:|---:|
    | 1,000 | 10 | 50 | 2.00e-01 | 2.00e-02 | 1.00e-02 | 10.0 | 2.0 |
    """
    return "\n\n".join(f"{variance_title(curve)}\n\n{variance_layout(curve, markdown)}" for curve in curves)


def variance_title(curve: VarianceCurve) -> str:
    """Say what the table of a curve shows."""
    return f"Standard deviation of the gamma gradient, {curve.rows}"


def variance_layout(curve: VarianceCurve, layout: Callable[[Sequence[str], Sequence[Sequence[str]]], str]) -> str:
    """Lay out the deviations of one curve, one line for each cost."""
    header = ["network evaluations", "K graphs", "rows, paired", *(ESTIMATOR_TITLES[name] for name in ESTIMATOR_NAMES),
              "REINFORCE / paper's ENCO", "paper's ENCO / paired"]  # fmt: skip
    rows = [
        [
            f"{point.evaluations:,}",
            f"{point.graphs:,}",
            f"{point.rows:,}",
            *(f"{point.deviation[name]:.2e}" for name in ESTIMATOR_NAMES),
            f"{point.deviation['reinforce'] / point.deviation['independent']:.1f}",
            f"{point.deviation['independent'] / point.deviation['paired']:.1f}",
        ]
        for point in curve.points
    ]
    return layout(header, rows)


def _gradient(
    discovery: Discovery, name: EstimatorName, rows: NDArray[np.int64], graphs: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    [regime] = discovery.graph_fitting.regimes
    parameters = discovery.parameters
    everything = np.ones(discovery.candidates.n_pairs, bool)
    probability = parameters.edge_probability()
    # Weighed by the likelihood of one row, Eq. 5 has the expectation of Eq. 3 to first order.
    estimate = partial(reinforce, likelihood_rows=1.0) if name == "reinforce" else ESTIMATORS[name]
    delta = estimate(discovery.model, regime, rows, probability, everything, rng, graphs)
    return gamma_gradient(parameters, delta, edge_cost(name, parameters, discovery.settings.sparsity))


def _deviation(estimates: NDArray[np.float64]) -> float:
    """Root of the mean variance over pairs; a pair that an estimate leaves out (NaN) is judged by the others."""
    count = (~np.isnan(estimates)).sum(axis=0)
    judged = estimates[:, count >= 2]
    return float(np.sqrt(np.nanvar(judged, axis=0, ddof=1).mean()))
