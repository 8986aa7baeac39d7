"""Ancestral sampling of a model, block by block of rows, on several threads.

Each block has its own random stream, derived from one draw of the caller's generator, so the result depends
on that generator only and not on how many threads share the work.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.data import Regime, Variable
from enco.data.variables import code_dtype
from enco.errors import GraphError, SettingsError
from enco.graphs.dag import topological_order
from enco.simulate._parallel import ordered_map
from enco.simulate.distributions import Distribution
from enco.simulate.mechanisms import CategoricalMechanism, Mechanism
from enco.system.process_memory import shortage
from enco.system.units import in_short

__all__ = ["BLOCK_ROWS", "SampleRequest", "Sampler", "check_finite"]

BLOCK_ROWS = 4096
"""Rows drawn together; a different number would give different (equally good) samples."""


@dataclass(frozen=True)
class SampleRequest:
    """A regime to be drawn: so many rows, and what the intervened variables (by position) follow."""

    rows: int
    interventions: Mapping[int, Distribution]


@dataclass(frozen=True)
class _Task:
    """One block of rows of one regime."""

    rows: int
    interventions: Mapping[int, Distribution]
    targets: tuple[int, ...]
    seed: np.random.SeedSequence


class Sampler:
    """Draws blocks of rows of the observed variables of a model.

    Values are kept variable by variable, in one array of codes and one of reals; every variable has a slot in
    one of them.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        adjacency: NDArray[np.bool_],
        mechanisms: Sequence[Mechanism],
        observed: Sequence[int],
    ) -> None:
        self._variables, self._mechanisms = variables, mechanisms
        self._order = [int(position) for position in topological_order(adjacency)]
        n_levels = np.array([variable.n_levels for variable in variables], dtype=np.int64)
        is_real = np.array([variable.kind.block == "reals" for variable in variables])
        slot = np.where(is_real, np.cumsum(is_real) - 1, np.cumsum(~is_real) - 1)
        self._slot = [int(place) for place in slot]
        self._code_type = code_dtype(int(n_levels.max(initial=0)))
        self._n_codes, self._n_reals = int((~is_real).sum()), int(is_real.sum())
        self._code_parents: list[NDArray[np.int64]] = []
        self._real_parents: list[NDArray[np.int64]] = []
        for position, (variable, mechanism) in enumerate(zip(variables, mechanisms, strict=True)):
            parents = np.flatnonzero(adjacency[:, position])
            _check_mechanism(variable, mechanism, tuple(n_levels[parents].tolist()))
            self._code_parents.append(slot[parents[~is_real[parents]]])
            self._real_parents.append(slot[parents[is_real[parents]]])
        columns = np.array(observed, dtype=np.int64)
        self._column = {position: column for column, position in enumerate(observed)}
        self._observed_codes = slot[columns[~is_real[columns]]]
        self._observed_reals = slot[columns[is_real[columns]]]

    def with_mechanisms(self, mechanisms: Mapping[int, Mechanism]) -> "Sampler":
        """Return the same sampler with other mechanisms at some positions, for the same parents."""
        chosen = list(self._mechanisms)
        for position, mechanism in mechanisms.items():
            _check_mechanism(self._variables[position], mechanism, chosen[position].parent_levels)
            chosen[position] = mechanism
        changed = copy(self)
        changed._mechanisms = chosen
        return changed

    def regimes(self, requests: Sequence[SampleRequest], rng: np.random.Generator) -> Iterator[Regime]:
        """Draw whole regimes, in order."""
        self._check_memory(sum(request.rows for request in requests))
        blocks = self.blocks(requests, rng)
        for request in requests:
            codes: NDArray[Any] = np.empty((request.rows, len(self._observed_codes)), dtype=self._code_type)
            reals = np.empty((request.rows, len(self._observed_reals)), dtype=np.float32)
            for start in range(0, request.rows, BLOCK_ROWS):
                block = next(blocks)
                codes[start : start + block.n_rows] = block.codes
                reals[start : start + block.n_rows] = block.reals
            yield Regime(self._targets(request), codes, reals)

    def blocks(self, requests: Sequence[SampleRequest], rng: np.random.Generator) -> Iterator[Regime]:
        """Draw the blocks of all requested regimes, in order, at most `BLOCK_ROWS` rows each."""
        if not isinstance(rng, np.random.Generator):
            raise SettingsError(f"rng must be a numpy.random.Generator, such as default_rng(0), not {rng!r}")
        for request in requests:
            if request.rows < 0:
                raise SettingsError(f"the number of rows must be 0 or more, but it is {request.rows}")
        entropy = rng.integers(2**32, size=4, dtype=np.uint64).tolist()
        return ordered_map(self._draw, self._tasks(requests, entropy))

    def _check_memory(self, rows: int) -> None:
        row_bytes = len(self._observed_codes) * np.dtype(self._code_type).itemsize + 4 * len(self._observed_reals)
        lacking = shortage(rows * row_bytes)
        if lacking is not None:
            raise SettingsError(
                f"drawing {in_short(rows)} rows of {len(self._column)} variables {lacking}: draw fewer rows, or write "
                "them to an .npz file (SCM.write_npz, enco simulate --out NAME.npz), which holds few in memory"
            )

    def _tasks(self, requests: Sequence[SampleRequest], entropy: list[int]) -> Iterator[_Task]:
        for regime, request in enumerate(requests):
            targets = self._targets(request)
            for start in range(0, request.rows, BLOCK_ROWS):
                seed = np.random.SeedSequence(entropy, spawn_key=(regime, start // BLOCK_ROWS))
                yield _Task(min(BLOCK_ROWS, request.rows - start), request.interventions, targets, seed)

    def _targets(self, request: SampleRequest) -> tuple[int, ...]:
        return tuple(sorted(self._column[position] for position in request.interventions))

    def _draw(self, task: _Task) -> Regime:
        """Draw every variable after its parents; return the observed ones, row by row."""
        rng = np.random.default_rng(task.seed)
        codes = np.empty((self._n_codes, task.rows), dtype=self._code_type)
        reals = np.empty((self._n_reals, task.rows), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is reported below, with the name
            for position in self._order:
                variable, slot = self._variables[position], self._slot[position]
                distribution = task.interventions.get(position)
                if distribution is not None:
                    values = _intervene(distribution, task.rows, variable, rng)
                else:
                    parent_codes = codes[self._code_parents[position]].T
                    parent_reals = reals[self._real_parents[position]].T
                    values = self._mechanisms[position].sample(parent_codes, parent_reals, rng)
                if variable.is_categorical:
                    codes[slot] = values
                else:
                    reals[slot] = values
                    check_finite(reals[slot], variable)
        return Regime(task.targets, codes[self._observed_codes].T, reals[self._observed_reals].T)


def _check_mechanism(variable: Variable, mechanism: Mechanism, parent_levels: tuple[int, ...]) -> None:
    if mechanism.parent_levels != parent_levels:
        raise GraphError(
            f"the parents of {variable.name!r} have {list(parent_levels)} levels (0: continuous), but its "
            f"mechanism is for {list(mechanism.parent_levels)}"
        )
    levels = mechanism.n_levels if isinstance(mechanism, CategoricalMechanism) else 0
    if mechanism.kind != variable.kind or levels != variable.n_levels:
        raise GraphError(
            f"variable {variable.name!r} is {variable.kind} with {variable.n_levels} levels, but its "
            f"mechanism is "
            f"{mechanism.kind} with {levels}"
        )


def _intervene(distribution: Distribution, rows: int, variable: Variable, rng: np.random.Generator) -> NDArray[Any]:
    """Draw from an intervention and make sure that the values belong to the variable."""
    values = np.asarray(distribution.sample(rows, variable, rng))
    if values.shape != (rows,):
        raise SettingsError(
            f"the intervention on {variable.name!r} returned the shape {list(values.shape)} instead of [{rows}]"
        )
    if variable.is_categorical and not (
        np.issubdtype(values.dtype, np.integer) and values.min() >= 0 and values.max() < variable.n_levels
    ):
        raise SettingsError(
            f"the intervention on {variable.name!r} must return level indices from 0 to {variable.n_levels - 1}"
        )
    return values


def check_finite(values: NDArray[np.float32], variable: Variable) -> None:
    """Raise an error that names the variable if a value is infinite or not a number."""
    if not np.isfinite(values).all():
        raise SettingsError(
            f"the values of {variable.name!r} are beyond what 32-bit floats hold; use a shallower graph or a "
            "bounded mechanism (activation='tanh')"
        )
