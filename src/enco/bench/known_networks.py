"""Problems with the known networks of the bnlearn repository (the paper's Section 4.6 and Appendix C.5)."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from enco.bench.problem import Problem, Simulation
from enco.simulate import SCM, from_bif

__all__ = ["NetworkProblem"]


@dataclass(frozen=True, kw_only=True)
class NetworkProblem(Simulation):
    """A known network: the seed decides the order of the columns and the rows, not the model.

    Attributes
    ----------
    seed, rows, interventional_rows : int
        See `enco.bench.problem.Simulation`.
    network : str
        A name, see `enco.simulate.BIF_NETWORKS`, or the path of a BIF file.
    variables, interventions : int
        Are those of the network, if left out.

    Examples
    --------
    >>> data, truth = NetworkProblem(network="asia", seed=0, rows=50, interventional_rows=5).draw()
    >>> data.n_rows, int(truth.sum())
    (90, 8)
    """

    network: str
    variables: int = 0
    rows: int = 50_000
    interventional_rows: int = 512
    interventions: int = 0

    def __post_init__(self) -> None:
        size = _size(self.network)
        object.__setattr__(self, "variables", size)
        object.__setattr__(self, "interventions", self.interventions or size)
        super().__post_init__()

    def model(self) -> SCM:
        """Read the network, with its columns shuffled."""
        return from_bif(self.network, shuffle=np.random.default_rng([self.seed, 0]))

    @property
    def label(self) -> str:
        """The network."""
        return self.network

    @property
    def title(self) -> str:
        """Samples, in words."""
        return f"known networks, {self.rows:,} observational rows, {self.interventional_rows:,} for each intervention"

    def tiny(self) -> Problem:
        """Return a problem of the same kind that is learned in no time."""
        return Problem(structure="chain", seed=self.seed).tiny()


@cache
def _size(network: str) -> int:
    return len(from_bif(network).observed_names)
