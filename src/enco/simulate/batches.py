"""Batches: circumstances that move every mechanism a little, as a day or a machine does in a laboratory."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enco.data import Kind, Level, Variable
from enco.simulate.mechanisms import CategoricalMechanism, ContinuousMechanism, Mechanism
from enco.simulate.modified_mechanisms import Shifted, Tilted
from enco.simulate.scm import SCM

__all__ = ["Batch", "batch_column", "marginal_sds"]

_PILOT_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Batch:
    """What a batch does to the mechanism of every variable.

    Attributes
    ----------
    offsets : sequence of float or ndarray [levels]
        What is added to a continuous variable, or the weights of the levels of a categorical one.
    factors : sequence of float
        Of the noise of continuous variables.

    Examples
    --------
    >>> from enco import simulate
    >>> model = simulate.continuous("chain", 3, np.random.default_rng(0))
    >>> batch = Batch.draw(model, np.array([1.0, 1.0, 1.0]), np.random.default_rng(0), offset=0.5, scale=1.0)
    >>> np.round(batch.offsets, 2), batch.changed(model)
    (array([ 0.06, -0.07,  0.32]), SCM(3 variables, 2 edges))
    """

    offsets: Sequence[float | NDArray[np.float64]] = ()
    factors: Sequence[float] = ()

    @classmethod
    def draw(
        cls, model: SCM, sds: NDArray[np.float64], rng: np.random.Generator, *, offset: float, scale: float
    ) -> "Batch":
        """Draw a batch.

        Parameters
        ----------
        model : SCM
        sds : ndarray [variables]
            See `marginal_sds`.
        rng : numpy.random.Generator
        offset : float
            Standard deviation of the offsets, in those of the variable; of the logarithm of the weights of levels.
        scale : float
            The factor of the noise is exp(N(0, log scale)).
        """
        offsets = [
            np.exp(rng.normal(0.0, offset, variable.n_levels))
            if variable.is_categorical
            else sd * rng.normal(0.0, offset)
            for variable, sd in zip(model.variables, sds, strict=True)
        ]
        return cls(offsets, np.exp(rng.normal(0.0, np.log(scale), len(offsets))).tolist())

    def of(self, position: int, mechanism: Mechanism) -> Mechanism:
        """Return what becomes of the mechanism of a variable."""
        if not self.offsets:
            return mechanism
        if isinstance(mechanism, CategoricalMechanism):
            return Tilted(mechanism, self.offsets[position])
        assert isinstance(mechanism, ContinuousMechanism)
        noisy = mechanism if self.factors[position] == 1.0 else mechanism.with_noise(self.factors[position])
        return Shifted(noisy, float(self.offsets[position]))

    def changed(self, model: SCM) -> SCM:
        """Return what becomes of the whole model."""
        if not self.offsets:
            return model
        return model.with_mechanisms({k: self.of(k, mechanism) for k, mechanism in enumerate(model.mechanisms)})


def marginal_sds(model: SCM, rng: np.random.Generator) -> NDArray[np.float64]:
    """Measure the standard deviation of every continuous variable, latent ones included; 1 for a categorical one.

    Examples
    --------
    >>> from enco import simulate
    >>> model = simulate.SCM(
    ...     [Variable("A", "continuous"), Variable("B", "categorical", (0, 1))],
    ...     np.zeros((2, 2)),
    ...     [simulate.LinearGaussian([], real_weights=[], tables=[], sd=3.0), simulate.TableCategorical([[0.5, 0.5]])],
    ... )
    >>> marginal_sds(model, np.random.default_rng(0)).round(1)
    array([3., 1.])
    """
    shown = SCM(model.variables, model.adjacency, model.mechanisms)
    sds = np.ones(len(model.variables))
    is_real = [variable.kind is Kind.CONTINUOUS for variable in model.variables]
    if any(is_real):
        sds[is_real] = shown.sample(_PILOT_ROWS, rng=rng).reals.std(axis=0, dtype=np.float64)
    return sds


def batch_column(model: SCM, levels: Sequence[Level]) -> Variable:
    """Make the context column that names the batch of a row; its own name is one that the model does not use.

    Examples
    --------
    >>> from enco import simulate
    >>> batch_column(simulate.continuous("chain", 3, np.random.default_rng(0)), ["1", "2"]).name
    'batch'
    """
    taken = {variable.name for variable in model.variables}
    name = next(name for name in ("batch", *(f"batch{k}" for k in range(2, len(taken) + 3))) if name not in taken)
    return Variable(name, Kind.CATEGORICAL, tuple(levels), context=True)
