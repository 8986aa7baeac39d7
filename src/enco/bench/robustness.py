"""How far rounding, the order of the rows and the seed reach into the final graph.

Each case, a small simulated problem, is fitted as it is and again under every variation:

* rows in another order, columns in another order, continuous values times 1 + 1e-7 noise;
* another processor, as far as one processor can play it: matrix products of OpenBLAS (`OPENBLAS_CORETYPE`) and the
  instructions that Numba compiles for (`NUMBA_CPU_NAME`). Both are read when a process starts, so that every variation
  has a process of its own;
* other seeds of the fit, which are allowed to matter: their measure is the Jaccard index of the edge sets.

    |A and B| / |A or B|      1 for equal sets of edges, 0 for disjoint ones
"""

import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from enco.bench.markup import markdown
from enco.bench.robustness_cases import Case, cases
from enco.data import InterventionalData, Regime
from enco.discover import conclude
from enco.errors import EncoError
from enco.executors.threads import run_threads
from enco.fitting.loop import Discovery

__all__ = [
    "Report",
    "Variation",
    "jaccard",
    "measure_robustness",
    "robustness_table",
    "variations",
]

NamedEdges = frozenset[tuple[str, str]]

AS_IT_IS = "as it is"
SEEDS = 5
NOISE = 1e-7


@dataclass(frozen=True)
class Variation:
    """What is different from the fit that others are compared with.

    Attributes
    ----------
    name : str
    change : {"", "rows", "columns", "values"}
        Of the data.
    seed : int
        Of the fit.
    environment : dict
        Variables of the process.
    """

    name: str
    change: str = ""
    seed: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Edges of every case under every variation.

    Attributes
    ----------
    edges : dict
        By the name of the variation, then by the name of the case.
    """

    edges: Mapping[str, Mapping[str, NamedEdges]]

    def differing(self, variation: str) -> dict[str, int]:
        """Count the edges that only one of two graphs has, for each case whose graph a variation has changed."""
        before = self.edges[AS_IT_IS]
        counts = {case: len(before[case] ^ edges) for case, edges in self.edges[variation].items()}
        return {case: count for case, count in counts.items() if count}

    def agreement_of_seeds(self) -> dict[str, float]:
        """Mean Jaccard index over all pairs of seeds, for each case."""
        seeds = [self.edges[AS_IT_IS], *(edges for name, edges in self.edges.items() if name.startswith("seed "))]
        return {
            case: float(np.mean([jaccard(one[case], other[case]) for one, other in combinations(seeds, 2)]))
            for case in self.edges[AS_IT_IS]
        }


def jaccard(one: NamedEdges, other: NamedEdges) -> float:
    """Compare two sets of edges: |A and B| / |A or B|; two empty sets are equal.

    Examples
    --------
    >>> jaccard(frozenset({("a", "b"), ("b", "c")}), frozenset({("a", "b")})), jaccard(frozenset(), frozenset())
    (0.5, 1.0)
    """
    union = one | other
    return len(one & other) / len(union) if union else 1.0


def variations() -> list[Variation]:
    """List what is varied, as far as this processor allows.

    Examples
    --------
    >>> [variation.name for variation in variations()][:4]
    ['as it is', 'rows in another order', 'columns in another order', 'values times 1 + 1e-7 noise']
    """
    data = [
        Variation(AS_IT_IS),
        Variation("rows in another order", change="rows"),
        Variation("columns in another order", change="columns"),
        Variation(f"values times 1 + {NOISE:.0e} noise".replace("e-0", "e-"), change="values"),
    ]
    seeds = [Variation(f"seed {seed}", seed=seed) for seed in range(1, SEEDS)]
    return [*data, *_processors(), *seeds]


def _processors() -> list[Variation]:
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return []
    from llvmlite.binding import get_host_cpu_features

    wide, long = (get_host_cpu_features().get(name, False) for name in ("avx2", "avx512f"))
    products = ["Prescott", "Nehalem", *(["Haswell", "SkylakeX" if long else "Zen"] if wide else [])]
    kernels = ["generic", *(["haswell"] if wide else []), *(["skylake-avx512"] if long else [])]
    chosen = [("OPENBLAS_CORETYPE", name) for name in products] + [("NUMBA_CPU_NAME", name) for name in kernels]
    return [Variation(f"{key}={name}", environment={key: name}) for key, name in chosen]


def measure_robustness(
    chosen: Sequence[Case],
    varied: Sequence[Variation],
    *,
    n_jobs: int = 1,
    on_fit: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Fit all cases under all variations, each variation in a process of its own.

    Parameters
    ----------
    chosen : sequence of Case
        Some of `cases`.
    varied : sequence of Variation
        Some of `variations`; the first is the one that others are compared with.
    n_jobs : int
        Processes at a time, of one thread each.
    on_fit : callable, optional
        Called with the number of fits that are done, and of all.
    """
    names = [case.name for case in chosen]
    total, done = len(names) * len(varied), 0
    lock = threading.Lock()

    def count(line: str) -> dict[str, list[list[str]]]:
        nonlocal done
        with lock:
            done += 1
            on_fit(done, total)
        return dict(json.loads(line))

    def process(number: int) -> dict[str, NamedEdges]:
        variation = varied[number]
        request = {"cases": names, "change": variation.change, "seed": variation.seed}
        with subprocess.Popen(
            [sys.executable, "-c", "from enco.bench.robustness import serve; serve()", json.dumps(request)],
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, **variation.environment},
        ) as worker:
            try:
                assert worker.stdout is not None
                lines = [count(line) for line in worker.stdout]
            except BaseException:
                worker.kill()
                raise
        if worker.returncode:
            raise EncoError(f"the process for {variation.name!r} ended with code {worker.returncode}")
        return {
            case: frozenset((cause, effect) for cause, effect in pairs)
            for line in lines
            for case, pairs in line.items()
        }

    found = run_threads(process, len(varied), n_jobs, lambda finished: None)
    return Report({variation.name: edges for variation, edges in zip(varied, found, strict=True)})


def _edge(pair: list[str]) -> tuple[str, str]:
    cause, effect = pair
    return cause, effect


def robustness_table(report: Report) -> str:
    """Write what differs as Markdown tables: in numbers, and which cases.

    Examples
    --------
    >>> same, other = {"a": frozenset({("X1", "X2")})}, {"a": frozenset()}
    >>> print(robustness_table(Report({AS_IT_IS: same, "rows": other, "seed 1": other})))
    | what is varied | graphs | that differ | edges that differ |
    |---|---:|---:|---:|
    | rows | 1 | 1 | 1 |
    <BLANKLINE>
    mean Jaccard index of the edge sets of 2 seeds: 0.000
    <BLANKLINE>
    | case | differs under | edges | that differ, at most | Jaccard index of seeds |
    |---|---|---:|---:|---:|
    | a | rows | 1 | 1 | 0.000 |
    """
    before = report.edges[AS_IT_IS]
    compared = [name for name in report.edges if name != AS_IT_IS and not name.startswith("seed ")]
    differing = {name: report.differing(name) for name in compared}
    seeds = report.agreement_of_seeds()
    number = 1 + sum(name.startswith("seed ") for name in report.edges)
    totals = [
        [name, str(len(report.edges[name])), str(len(differing[name])), str(sum(differing[name].values()))]
        for name in compared
    ]
    concerned = [
        [
            case,
            ", ".join(name for name in compared if case in differing[name]) or "-",
            str(len(before[case])),
            str(max((differing[name].get(case, 0) for name in compared), default=0)),
            f"{seeds[case]:.3f}",
        ]
        for case in before
        if seeds[case] < 1 or any(case in differing[name] for name in compared)
    ]
    header = ["case", "differs under", "edges", "that differ, at most", "Jaccard index of seeds"]
    return "\n\n".join(
        [
            markdown(["what is varied", "graphs", "that differ", "edges that differ"], totals),
            f"mean Jaccard index of the edge sets of {number} seeds: {np.mean(list(seeds.values())):.3f}",
            markdown(header, concerned, left=2),
        ]
    )


def serve() -> None:
    """Fit the cases of the request on the command line; print a line for each: its name and the edges found."""
    request = json.loads(sys.argv[1])
    by_name = {case.name: case for case in cases()}
    for name in request["cases"]:
        edges = sorted(fitted_edges(by_name[name], request["change"], request["seed"]))
        sys.stdout.write(json.dumps({name: edges}) + "\n")
        sys.stdout.flush()


def fitted_edges(case: Case, change: str = "", seed: int = 0) -> NamedEdges:
    """Fit one case to changed data.

    Examples
    --------
    >>> from enco.bench.problem import Problem
    >>> from enco.settings import Settings
    >>> tiny = Case("tiny", Problem(structure="chain", seed=0).tiny(), Settings(max_epochs=1))
    >>> fitted_edges(tiny) == fitted_edges(tiny, "columns")
    True
    """
    data = changed(case.problem.draw()[0], change)
    discovery = Discovery(data, settings=case.settings, seed=seed)
    discovery.run()
    result = conclude(discovery, data, seconds=0.0, seed=seed)
    return frozenset((result.variables[i], result.variables[j]) for i, j in np.argwhere(result.adjacency).tolist())


def changed(data: InterventionalData, change: str) -> InterventionalData:
    """Return the same data with rows or columns in another order, or with values that differ by rounding.

    Examples
    --------
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> data = InterventionalData.from_environments([x], [None])
    >>> changed(data, "columns").names, np.allclose(changed(data, "values").observational.reals, x)
    (('X2', 'X1'), True)
    """
    rng = np.random.default_rng(1)
    if change == "columns":
        return data.select([data.names[position] for position in reversed(range(data.n_variables))])
    regimes = []
    for regime in data.regimes:
        codes, reals = regime.codes, regime.reals
        if change == "rows":
            order = rng.permutation(regime.n_rows)
            codes, reals = codes[order], reals[order]
        if change == "values":
            # Single precision has steps of this size: some values stay, others move by one step.
            reals = (reals * (1.0 + NOISE * rng.standard_normal(reals.shape))).astype(np.float32)
        regimes.append(Regime.of(regime.condition, codes, reals))
    return InterventionalData(data.variables, regimes)
