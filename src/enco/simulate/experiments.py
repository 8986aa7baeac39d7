"""Experiments as they are in a laboratory: batches, unknown targets, interventions that do not do what they should.

Interventions fail, take hold in part of the rows, hit more, or change a variable without cutting it from its causes.
The labels of the data say what was intended, `Experiment.done` what was done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData, Regime
from enco.data.variables import Condition, code_dtype
from enco.errors import SettingsError
from enco.simulate.batches import Batch, batch_column, marginal_sds
from enco.simulate.mechanisms import CategoricalMechanism, ContinuousMechanism, Mechanism
from enco.simulate.modified_mechanisms import Shifted, Tilted
from enco.simulate.scm import SCM

__all__ = ["EFFECTS", "Done", "Effect", "Experiment", "check_options", "experiment"]

Effect = Literal["perfect", "soft", "shift"]
EFFECTS: tuple[str, ...] = get_args(Effect)
"""What an intervention can do where it takes hold."""

SHIFT_SDS = 2.0
"""How far a shift moves a continuous variable, in its standard deviations."""
TILT = 1.5
"""How far a shift moves a categorical variable: the standard deviation of the log weights of its levels."""
_MOST_LISTED = 10_000  # sets of targets that are listed rather than drawn until enough differ


@dataclass(frozen=True)
class Done:
    """What one regime really did.

    Attributes
    ----------
    target : str
        What the data call the regime: its target, several of them joined by +, or its label.
    hold : float
        Share of the rows in which the intervention took hold; 0 if it failed.
    also : str or None
        A variable that was hit as well, in the same rows, and that no label names.
    intended : tuple of str
        The variables it was meant to hit.
    targets : tuple of str
        All variables that it really hit, in some of its rows at least.
    """

    target: str
    hold: float
    also: str | None
    intended: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """Data with labels, and the truth about the labels.

    Attributes
    ----------
    data : InterventionalData
    done : tuple of Done
        One for each intervention regime, in the order of the data.
    """

    data: InterventionalData
    done: tuple[Done, ...]


def experiment(
    model: SCM,
    observational_rows: int,
    interventional_rows: int,
    rng: np.random.Generator,
    *,
    hold: float = 1.0,
    failed: float = 0.0,
    off_target: float = 0.0,
    effect: Effect = "perfect",
    targets_per_regime: int = 1,
    regimes: int | None = None,
    unknown: bool = False,
    batches: int = 0,
    batch_offset: float = 0.0,
    batch_scale: float = 1.0,
    context: bool = False,
) -> Experiment:
    """Draw an observational regime and intervention regimes, not all of which do what their labels say.

    Parameters
    ----------
    model : SCM
    observational_rows, interventional_rows : int
        Without interventional rows there are no intervention regimes.
    rng : numpy.random.Generator
    hold : float
        Share of the rows in which an intervention takes hold, as with guides that reach some of the cells.
    failed : float
        Share of the regimes whose intervention does nothing.
    off_target : float
        Share of the regimes that hit one more variable, which their label does not name.
    effect : {"perfect", "soft", "shift"}
        What an intervention does to a variable where it takes hold. "perfect": as `SCM.sample`, whatever its parents.
        "soft": its mechanism is replaced by another one of the same family and the same parents, see
        `Mechanism.redrawn`. "shift": its mechanism is moved, a continuous one by 2 standard deviations up or down, a
        categorical one by weights of its levels, exp(N(0, 1.5)). A continuous variable without parents has no function
        that could be drawn anew: a soft intervention shifts it.
    targets_per_regime : int
        Several ones are drawn at random for each regime.
    regimes : int, optional
        Number of intervention regimes, with targets drawn at random; a set of targets comes twice only if there are no
        others left, and the second regime then has a label of its own. By default one for each variable.
    unknown : bool
        Whether the data call the regimes "condition 1", ... and do not say what they hit.
    batches : int
        If above 0, all rows, the observational ones too, are spread at random over so many batches. Otherwise every
        intervention regime is a batch of its own, apart from the observational rows.
    batch_offset : float
        How far a batch moves every mechanism: continuous ones by N(0, batch_offset) standard deviations of the
        variable, categorical ones by weights of their levels, exp(N(0, batch_offset)). Causes hand that on to effects.
    batch_scale : float
        At least 1; a batch multiplies the noise of every continuous mechanism by exp(N(0, log batch_scale)).
    context : bool
        Whether the data have a context column that names the batch of every row: "1", "2", ..., or "0" for
        observational rows where every regime is a batch.

    Examples
    --------
    >>> from enco import simulate
    >>> rng = np.random.default_rng(0)
    >>> drawn = experiment(simulate.categorical("chain", 4, rng), 100, 20, rng, hold=0.5, failed=0.25)
    >>> [done.hold for done in drawn.done], drawn.data
    ([0.5, 0.0, 0.5, 0.5], InterventionalData(4 variables, 180 rows: 100 observational, 4 intervention regimes))
    >>> model = simulate.continuous("chain", 4, rng)
    >>> drawn = experiment(model, 100, 20, rng, effect="soft", regimes=2, targets_per_regime=2, unknown=True)
    >>> [(done.target, done.targets) for done in drawn.done]
    [('condition 1', ('X1', 'X3')), ('condition 2', ('X1', 'X4'))]
    """
    check_options(
        hold=hold,
        failed=failed,
        off_target=off_target,
        effect=effect,
        targets_per_regime=targets_per_regime,
        regimes=regimes,
        batches=batches,
        batch_offset=batch_offset,
        batch_scale=batch_scale,
    )
    names = model.observed_names
    # The number of a condition must not tell which variable it hits.
    count = len(names) if unknown and regimes is None else regimes
    intended = _target_sets(len(names), targets_per_regime, count, rng) if interventional_rows else []
    fails, strays = (_chosen(share, len(intended), rng) for share in (failed, off_target))
    moved = batch_offset > 0 or batch_scale > 1
    sds = marginal_sds(model, rng) if moved or effect != "perfect" else np.ones(len(model.variables))

    def place(number: int) -> _Place:
        batch = Batch.draw(model, sds, rng, offset=batch_offset, scale=batch_scale) if moved else Batch()
        return _Place(batch.changed(model), batch, number)

    shared = [place(number) for number in range(batches)]
    blocks = [_draw(shared or [_Place(model, Batch(), 0)], [(observational_rows, {})], rng, shuffle=bool(shared))]
    conditions, done = [Condition()], list[Done]()
    for number, positions in enumerate(intended):
        chosen = [names[position] for position in positions]
        others = [name for name in names if name not in chosen]
        also = str(rng.choice(others)) if strays[number] else None
        share = 0.0 if fails[number] else hold
        reached = round(share * interventional_rows)
        hit = {*(chosen if reached else []), *([also] if also and (reached or not share) else [])}
        changes = {name: _change(model, model.position(name), effect, sds, rng) for name in names if name in hit}
        groups = [(reached, changes), (interventional_rows - reached, {} if share else changes)]
        blocks.append(_draw(shared or [place(number + 1)], groups, rng, shuffle=True))
        repeats = intended[: number + 1].count(positions)
        label = f"condition {number + 1}" if unknown else f"{'+'.join(chosen)} ({repeats})" if repeats > 1 else None
        conditions.append(Condition(() if unknown else positions, label, unknown))
        done.append(Done(label or "+".join(chosen), share, also, tuple(chosen), tuple(changes)))
    variables = model.observed_variables
    if context:
        levels = [str(k + 1) for k in range(batches)] if batches else [str(k) for k in range(len(blocks))]
        variables = (*variables, batch_column(model, levels))
    regimes_drawn = [
        Regime.of(condition, block.codes_with_batch(len(levels)) if context else block.codes, block.reals)
        for condition, block in zip(conditions, blocks, strict=True)
    ]
    return Experiment(InterventionalData(variables, regimes_drawn), tuple(done))


def check_options(
    *,
    hold: float = 1.0,
    failed: float = 0.0,
    off_target: float = 0.0,
    effect: str = "perfect",
    targets_per_regime: int = 1,
    regimes: int | None = None,
    batches: int = 0,
    batch_offset: float = 0.0,
    batch_scale: float = 1.0,
) -> None:
    """Refuse options of `experiment` that make no sense.

    Examples
    --------
    >>> check_options(hold=1.5)
    Traceback (most recent call last):
    ...
    enco.errors.SettingsError: hold must be between 0 and 1, got 1.5
    """
    for name, share in (("hold", hold), ("failed", failed), ("off_target", off_target)):
        if not 0 <= share <= 1:
            raise SettingsError(f"{name} must be between 0 and 1, got {share:g}")
    if effect not in EFFECTS:
        raise SettingsError(f"unknown effect {effect!r}; choose from {', '.join(EFFECTS)}")
    for name, count, least in (
        ("targets_per_regime", targets_per_regime, 1),
        ("regimes", 1 if regimes is None else regimes, 1),
        ("batches", batches, 0),
    ):
        if count < least:
            raise SettingsError(f"{name} must be at least {least}, got {count}")
    if not 0 <= batch_offset < np.inf:
        raise SettingsError(f"batch_offset must be a finite number from 0 on, got {batch_offset:g}")
    if not 1 <= batch_scale < np.inf:
        raise SettingsError(f"batch_scale must be a finite number from 1 on, got {batch_scale:g}")


@dataclass(frozen=True)
class _Place:
    """Where rows are collected: the model as it is in a batch, the batch, and its code in the context column."""

    model: SCM
    batch: Batch
    number: int

    def sample(self, rows: int, changes: Mapping[str, Mechanism | None], rng: np.random.Generator) -> Regime:
        """Draw rows in which some variables have other mechanisms; None stands for a perfect intervention."""
        cut = [name for name, mechanism in changes.items() if mechanism is None]
        other = {self.model.position(name): mechanism for name, mechanism in changes.items() if mechanism is not None}
        moved = {position: self.batch.of(position, mechanism) for position, mechanism in other.items()}
        model = self.model.with_mechanisms(moved) if moved else self.model
        return model.sample(rows, do=dict.fromkeys(cut), rng=rng)


@dataclass(frozen=True)
class _Block:
    """The rows of a regime, and the code of the batch of each."""

    codes: NDArray[Any]
    reals: NDArray[np.float32]
    batch: NDArray[np.int64]

    def codes_with_batch(self, n_levels: int) -> NDArray[Any]:
        """Return the codes, and that of the batch in the last column."""
        kind = np.promote_types(self.codes.dtype, code_dtype(n_levels))
        return np.column_stack([self.codes, self.batch]).astype(kind)


def _draw(
    places: Sequence[_Place],
    groups: Sequence[tuple[int, Mapping[str, Mechanism | None]]],
    rng: np.random.Generator,
    *,
    shuffle: bool,
) -> _Block:
    """Draw groups of rows with different changes of mechanisms, each spread at random over all places."""
    parts, batch = [], []
    for rows, changes in groups:
        counts = rng.multinomial(rows, np.full(len(places), 1 / len(places))) if len(places) > 1 else [rows]
        for place, count in zip(places, counts, strict=True):
            parts.append(place.sample(int(count), changes, rng))
            batch.append(np.full(int(count), place.number))
    block = [np.concatenate(each) for each in ([it.codes for it in parts], [it.reals for it in parts], batch)]
    order = rng.permutation(len(block[0])) if shuffle else slice(None)
    return _Block(*(each[order] for each in block))


def _change(
    model: SCM, position: int, effect: Effect, sds: NDArray[np.float64], rng: np.random.Generator
) -> Mechanism | None:
    """Draw what an intervention makes of a mechanism; None stands for a perfect intervention."""
    usual = model.mechanisms[position]
    if effect == "perfect":
        return None
    if effect == "soft" and (usual.parent_levels or isinstance(usual, CategoricalMechanism)):
        return usual.redrawn(rng)
    if isinstance(usual, CategoricalMechanism):
        return Tilted(usual, np.exp(rng.normal(0.0, TILT, usual.n_levels)))
    assert isinstance(usual, ContinuousMechanism)
    return Shifted(usual, float(rng.choice([-1.0, 1.0])) * SHIFT_SDS * sds[position])


def _target_sets(n_variables: int, size: int, regimes: int | None, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Choose the targets of every regime."""
    if size >= n_variables:
        raise SettingsError(f"targets_per_regime must be below the number of variables, {n_variables}, got {size}")
    if regimes is None and size == 1:
        return [(position,) for position in range(n_variables)]
    wanted, possible = regimes or n_variables, comb(n_variables, size)
    if possible <= max(_MOST_LISTED, 2 * wanted):
        listed = list(combinations(range(n_variables), size))
        rounds = [listed[k] for _ in range(-(-wanted // possible)) for k in rng.permutation(possible)]
        return rounds[:wanted]
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < wanted:
        drawn[tuple(sorted(rng.choice(n_variables, size, replace=False).tolist()))] = None
    return list(drawn)


def _chosen(share: float, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose a share of n regimes."""
    chosen = np.zeros(n, bool)
    chosen[rng.permutation(n)[: round(share * n)]] = True
    return chosen
