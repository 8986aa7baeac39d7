"""The kinds of problems that a spec can ask for, by name."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from enco.bench.calibration_settings import SettingProblem
from enco.bench.continuous_problem import ContinuousProblem, MixedProblem
from enco.bench.deterministic import DeterministicProblem
from enco.bench.experiment_problem import ExperimentProblem
from enco.bench.known_networks import NetworkProblem
from enco.bench.problem import Problem, Simulation
from enco.errors import SettingsError

__all__ = ["PROBLEM_KINDS", "kind_of", "make_problem", "told_apart"]

PROBLEM_KINDS: dict[str, type[Simulation]] = {
    "categorical": Problem,
    "continuous": ContinuousProblem,
    "mixed": MixedProblem,
    "network": NetworkProblem,
    "deterministic": DeterministicProblem,
    "experiment": ExperimentProblem,
    "setting": SettingProblem,
}


def kind_of(problem: Simulation) -> str:
    """Name the kind of a problem.

    Examples
    --------
    >>> kind_of(Problem(structure="chain", seed=0))
    'categorical'
    """
    return next(name for name, kind in PROBLEM_KINDS.items() if kind is type(problem))


def make_problem(kind: str, values: Mapping[str, Any]) -> Simulation:
    """Build a problem from values as a file has them; interventions are on all variables unless it says otherwise.

    Examples
    --------
    >>> make_problem("categorical", {"structure": "chain", "seed": 0, "variables": 7}).interventions
    7
    >>> make_problem("categorical", {"structure": "chain", "seed": 0, "colour": "red"})
    Traceback (most recent call last):
    ...
    enco.errors.SettingsError: a categorical problem has no 'colour'; choose from categories, edge_probability, ...
    """
    if kind not in PROBLEM_KINDS:
        raise SettingsError(f"there is no kind of problem {kind!r}; choose from {', '.join(PROBLEM_KINDS)}")
    known = {field.name: field for field in fields(PROBLEM_KINDS[kind])}
    chosen: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise SettingsError(f"a {kind} problem has no {name!r}; choose from {', '.join(sorted(known))}")
        chosen[name] = _checked(name, known[name].type, value)
    for name, field in known.items():
        if name not in chosen and field.default is MISSING:
            raise SettingsError(f"a {kind} problem needs {name!r}")
    if kind != "network" and "variables" in chosen:
        chosen.setdefault("interventions", chosen["variables"])
    return PROBLEM_KINDS[kind](**chosen)


def told_apart(problem: Simulation) -> dict[str, Any]:
    """Return what tells a problem from all others: its kind, and what differs from the defaults of that kind.

    Defaults are left out so that a new kind of option does not make old records those of other problems.

    Examples
    --------
    >>> told_apart(Problem(structure="chain", seed=3, rows=100))
    {'kind': 'categorical', 'seed': 3, 'rows': 100, 'structure': 'chain'}
    """
    values = asdict(problem)
    changed = {field.name: values[field.name] for field in fields(problem) if values[field.name] != field.default}
    return {"kind": kind_of(problem), **changed}


def _checked(name: str, kind: Any, value: Any) -> Any:
    """Whole numbers may stand for other numbers, nothing else for anything else."""
    accepted: tuple[type, ...]
    if kind in (float, float | None):
        accepted, words = (int, float), "a number"
    elif kind in (str, str | None):
        accepted, words = (str,), "text"
    elif kind is bool:
        accepted, words = (bool,), "true or false"
    else:
        accepted, words = (int,), "a whole number"
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, accepted):
        raise SettingsError(f"{name} of a problem must be {words}, got {value!r}")
    return float(value) if float in accepted else value
