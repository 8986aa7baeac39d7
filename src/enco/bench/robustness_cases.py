"""Small problems on which `enco.bench.robustness` measures how far rounding reaches."""

from dataclasses import dataclass, field
from typing import Any

from enco.bench.continuous_problem import ContinuousProblem, MixedProblem
from enco.bench.deterministic import DeterministicProblem
from enco.bench.problem import Problem, Simulation
from enco.settings import Settings

__all__ = ["Case", "cases"]


@dataclass(frozen=True)
class Case:
    """A problem with a name, and the settings of its fit that differ from the defaults."""

    name: str
    problem: Simulation
    settings: Settings = field(default_factory=Settings)


def cases() -> tuple[Case, ...]:
    """List the problems: all kinds of columns, 5 to 15 variables, dense and sparse, few rows and many.

    Examples
    --------
    >>> len(cases()) >= 40, len({case.name for case in cases()}) == len(cases())
    (True, True)
    """
    return (*_categorical(), *_continuous(), *_mixed(), *_deterministic(), *_partial())


def _categorical() -> list[Case]:
    chosen = [
        ("chain", 5, 10, 500, 50), ("random", 5, 3, 200, 20), ("full", 6, 10, 5000, 200), ("full", 8, 5, 1000, 50),
        ("bidiag", 10, 10, 5000, 200), ("random", 10, 10, 1000, 20), ("jungle", 10, 4, 2000, 100),
        ("collider", 10, 10, 5000, 200), ("random", 15, 10, 5000, 200), ("bidiag", 15, 5, 1000, 50),
    ]  # fmt: skip
    return [
        Case(
            f"categorical {structure} {n}, {rows} + {more}",
            Problem(
                structure=structure,
                seed=seed,
                categories=levels,
                **_size(n, rows, more),
            ),
        )
        for seed, (structure, n, levels, rows, more) in enumerate(chosen, 300)
    ]


def _continuous() -> list[Case]:
    chosen = [
        (10, 2.7, 500, 200), (10, 2.7, 500, 200), (10, 1.0, 909, 909), (5, 1.5, 200, 50), (15, 3.0, 300, 100),
    ]  # fmt: skip
    return [
        Case(
            f"{mechanism} {n} seed {seed}, {edges:g} edges each, {rows} + {more}",
            ContinuousProblem(
                mechanism=mechanism,
                seed=seed,
                edges_per_variable=edges,
                **_size(n, rows, more),
            ),
        )
        for mechanism in ("linear", "additive", "nonadditive")
        for seed, (n, edges, rows, more) in enumerate(chosen, 320)
    ]


def _mixed() -> list[Case]:
    return [
        Case(
            f"mixed {mechanism} {n}, {edges:g} edges each, {rows} + {more}",
            MixedProblem(
                mechanism=mechanism,
                seed=seed,
                edges_per_variable=edges,
                **_size(n, rows, more),
                categories=4,
            ),
        )
        for seed, mechanism in enumerate(("linear", "additive", "nonadditive"), 340)
        for n, edges, rows, more in ((8, 1.0, 2000, 200), (10, 2.0, 500, 100))
    ]


def _deterministic() -> list[Case]:
    functions = [
        Case(
            f"functions {structure} {n}, {rows} + {more}",
            Problem(
                structure=structure,
                seed=seed,
                categories=5,
                **_size(n, rows, more),
                mechanism="deterministic",
            ),
            Settings(sparsity=0.02),
        )
        for seed, (structure, n, rows, more) in enumerate([("random", 8, 2000, 100), ("bidiag", 12, 5000, 200)], 350)
    ]
    named = [
        Case(
            f"{example}, {rows} + {more}",
            DeterministicProblem(example=example, seed=360, rows=rows, interventional_rows=more),
            Settings(sparsity=sparsity),
        )
        for example, sparsity, rows, more in (
            ("cancelling paths", 0.004, 2000, 200),
            ("chain of copies", 0.004, 500, 50),
            ("noisy xor 0.3", 1e-4, 5000, 500),
        )
    ]
    return functions + named


def _partial() -> list[Case]:
    categorical = [
        Case(
            f"categorical {structure} {n}, {targets} targets",
            Problem(structure=structure, seed=seed, variables=n, interventions=targets),
        )
        for seed, (structure, n, targets) in enumerate([("random", 12, 4), ("jungle", 15, 5), ("full", 7, 2)], 370)
    ]
    continuous = [
        Case(
            f"{mechanism} 10, {targets} targets",
            ContinuousProblem(
                mechanism=mechanism, seed=seed, edges_per_variable=1.5, interventional_rows=200, interventions=targets
            ),
        )
        for seed, (mechanism, targets) in enumerate([("linear", 4), ("additive", 3), ("nonadditive", 5)], 380)
    ]
    mixed = Case(
        "mixed additive 10, 4 targets",
        MixedProblem(mechanism="additive", seed=390, variables=10, rows=2000, interventions=4, categories=4),
    )
    return [*categorical, *continuous, mixed]


def _size(variables: int, rows: int, interventional_rows: int) -> dict[str, Any]:
    """Fields of a problem in which every variable is intervened on."""
    return {
        "variables": variables,
        "interventions": variables,
        "rows": rows,
        "interventional_rows": interventional_rows,
    }
