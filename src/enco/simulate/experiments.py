"""Experiments as they are in a laboratory: interventions that fail, take hold in some of the rows, or hit more.

The labels of the data say what was intended, `Experiment.done` what was done.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData, Regime
from enco.errors import SettingsError
from enco.simulate.scm import SCM

__all__ = ["Done", "Experiment", "experiment"]


@dataclass(frozen=True)
class Done:
    """What one regime really did.

    Attributes
    ----------
    target : str
        What the label says.
    hold : float
        Share of the rows in which the intervention took hold; 0 if it failed.
    also : str or None
        A variable that was hit as well, in the same rows, and that no label names.
    """

    target: str
    hold: float
    also: str | None


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
) -> Experiment:
    """Draw an observational regime and one regime for each variable, not all of which do what they should.

    Parameters
    ----------
    model : SCM
    observational_rows, interventional_rows : int
    rng : numpy.random.Generator
    hold : float
        Share of the rows in which an intervention takes hold, as with guides that reach some of the cells.
    failed : float
        Share of the regimes whose intervention does nothing.
    off_target : float
        Share of the regimes that hit one more variable, which their label does not name.

    Examples
    --------
    >>> from enco import simulate
    >>> rng = np.random.default_rng(0)
    >>> drawn = experiment(simulate.categorical("chain", 4, rng), 100, 20, rng, hold=0.5, failed=0.25)
    >>> [done.hold for done in drawn.done], drawn.data
    ([0.5, 0.0, 0.5, 0.5], InterventionalData(4 variables, 180 rows: 100 observational, 4 intervention regimes))
    """
    for name, share in (("hold", hold), ("failed", failed), ("off_target", off_target)):
        if not 0 <= share <= 1:
            raise SettingsError(f"{name} must be between 0 and 1, got {share:g}")
    names = model.observed_names
    fails, hits = (_chosen(share, len(names), rng) for share in (failed, off_target))
    regimes, done = [model.sample(observational_rows, rng=rng)], []
    for position, name in enumerate(names):
        others = [other for other in names if other != name]
        also = str(rng.choice(others)) if hits[position] else None
        share = 0.0 if fails[position] else hold
        done.append(Done(name, share, also))
        reached = round(share * interventional_rows)
        parts = [
            model.sample(reached, do=dict.fromkeys([name, *([also] if also else [])]), rng=rng),
            model.sample(interventional_rows - reached, do={also: None} if also and not share else None, rng=rng),
        ]
        shuffled = rng.permutation(interventional_rows)
        codes = np.concatenate([part.codes for part in parts])[shuffled]
        reals = np.concatenate([part.reals for part in parts])[shuffled]
        regimes.append(Regime((position,), codes, reals))
    return Experiment(InterventionalData(model.observed_variables, regimes), tuple(done))


def _chosen(share: float, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose a share of n regimes."""
    chosen = np.zeros(n, bool)
    chosen[rng.permutation(n)[: round(share * n)]] = True
    return chosen
