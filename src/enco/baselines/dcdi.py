"""DCDI: differentiable causal discovery from interventions (Brouillard et al. 2020), perfect and known interventions.

The probability of an edge is sigmoid(a[i, j]). Every row brings a graph drawn by the Gumbel-sigmoid trick, and the
networks and the logits `a` are trained together, by back-propagation through the drawn masks, on

    mean over variables of the loss, of rows that do not intervene on them,  +  lambda sum of sigmoid(a) / N^2,

subject to h(sigmoid(a)) = 0 (see `enco.baselines.lagrangian`). Rows of any set of regimes are used, the observational
ones among them; a target's own loss does not count in the rows of its regime.

`enco.baselines.dcdi_training` has the loop. The networks are those of this package's engines, with one hidden layer.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd
from threadpoolctl import threadpool_limits

from enco.baselines.base import Method, MethodSettings, require_packages
from enco.baselines.dcdi_networks import FusedNetworks
from enco.baselines.dcdi_training import MaskedNetworks, train
from enco.candidates import Candidates
from enco.data import AnyKind, InterventionalData, Kind
from enco.fitting.memory import check_memory
from enco.result import Result
from enco.settings import Settings

__all__ = ["DCDI", "DCDIDSF", "DCDISettings"]


@dataclass(frozen=True, kw_only=True)
class DCDISettings(MethodSettings):
    """mu_0 and lambda as in the paper's Appendix C.1."""

    sparsity: float = 0.1  # lambda
    mu: float = 1e-9  # mu_0
    constraint: float = 1e-7  # stop once h is below it ...
    max_steps: int = 50_000  # ... or after so many steps
    window: int = 100  # steps between two looks at the Lagrangian
    tolerance: float = 1e-4  # of the objective from one look to the next
    parents: float = 6.0  # expected parents of a variable in the beginning: h is then far from overwhelming the data
    held_out: float = 0.1  # share of the rows that decides when a problem of the Lagrangian is solved
    logit_rate: float = 2e-2  # Adam, for the logits of the edges
    learning_rate: float = 2e-3  # Adam, for the networks
    weight_decay: float = 1e-3  # of the networks: without it, they soon learn rows by heart, and edges with them
    batch: int = 128
    hidden: int = 64  # units of a hidden layer ...
    continuous_hidden: int = 16  # ... if all variables are continuous


class DCDI(Method):
    """DCDI with a Gaussian density for continuous variables and softmax for categorical ones.

    Examples
    --------
    >>> DCDI().make_settings().mu
    1e-09
    """

    name = "dcdi"
    settings_type = DCDISettings

    def learn(self, data: InterventionalData, settings: Any, *, seed: int, n_jobs: int) -> Result:
        """Train to the end on one thread, whatever `n_jobs`: its steps are small and follow each other."""
        candidates = Candidates.all_pairs(data.n_variables)
        hidden = settings.hidden if data.is_categorical.any() else settings.continuous_hidden
        check_memory(data, candidates, Settings(hidden=hidden, batch=settings.batch, max_epochs=1), n_jobs=1)
        networks = self.networks(data, candidates, settings, seed)
        with threadpool_limits(1):  # threads of BLAS would wait for each other at every small matrix
            probability, history = train(networks, candidates, settings)
        table = pd.DataFrame(history, columns=["step", "edges", "loss", "constraint", "mu"])
        return Result.from_graph(probability > 0.5, data, probability=probability, history=table)

    def networks(self, data: InterventionalData, candidates: Candidates, settings: Any, seed: int) -> MaskedNetworks:
        """Return networks that have learned nothing yet."""
        return FusedNetworks(data, candidates, settings, seed=seed)


class DCDIDSF(DCDI):
    """DCDI with a two-layer deep sigmoidal flow for continuous variables, by the PyTorch engine."""

    name = "dcdi-dsf"
    kinds: ClassVar[frozenset[AnyKind]] = frozenset({Kind.CONTINUOUS})

    def networks(self, data: InterventionalData, candidates: Candidates, settings: Any, seed: int) -> MaskedNetworks:
        """Return networks with flows that have learned nothing yet."""
        require_packages(f"method {self.name!r}", "torch", "torch")
        from enco.baselines.dcdi_flows import FlowNetworks

        return FlowNetworks(data, candidates, settings, seed=seed)
