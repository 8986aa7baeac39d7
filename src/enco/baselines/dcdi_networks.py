"""The networks of DCDI with softmax and Gaussian outputs: those of the fused engine, see `_dcdi_kernels`."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from enco.baselines._dcdi_kernels import Batch, Step, run_batch
from enco.baselines.numbers import spread
from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.conditionals.fused.layout import Layout
from enco.conditionals.fused.network import Networks
from enco.conditionals.fused.random import new_streams
from enco.conditionals.heads import VariableHeads
from enco.conditionals.held_out import split_rows
from enco.data import InterventionalData

if TYPE_CHECKING:
    from enco.baselines.dcdi import DCDISettings

__all__ = ["FusedNetworks"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]

MOST_ODDS = 1e12  # of an edge, that is exp(logit): beyond, single precision could not tell them from infinity


class FusedNetworks:
    """One hidden layer for every variable; masks come from streams of random numbers, one for every variable.

    Parameters
    ----------
    data : InterventionalData
    candidates : Candidates
    settings : DCDISettings
    seed : int

    Examples
    --------
    >>> from enco.baselines.dcdi import DCDISettings
    >>> data = InterventionalData.from_environments([np.arange(40).reshape(20, 2) % 3], [None])
    >>> networks = FusedNetworks(data, Candidates.all_pairs(2), DCDISettings(), seed=0)
    >>> networks.step(np.zeros(2)).shape, round(networks.held_out_loss(np.zeros(2)))  # log 3 is near 1
    ((2,), 1)
    """

    def __init__(
        self, data: InterventionalData, candidates: Candidates, settings: "DCDISettings", *, seed: int
    ) -> None:
        self._candidates = candidates
        self._settings = settings
        self._rng = np.random.default_rng([seed, 4])
        self._heads = VariableHeads.of(data.kinds, data.n_levels)
        hidden = settings.continuous_hidden if self._heads.numeric.all() else settings.hidden
        self._layout = Layout.build(candidates, self._heads, hidden)
        self.weights = self._layout.initial_weights(self._rng)
        self._values, self._free = _rows(data)
        self._train, self._held = split_rows(len(self._values), settings.held_out, self._rng)
        self._streams = new_streams(int(self._rng.integers(2**63)), candidates.n_variables)
        self.restart()

    def restart(self) -> None:
        """Forget Adam's moments."""
        self._first, self._second, self._count = np.zeros_like(self.weights), np.zeros_like(self.weights), 0

    def step(self, logits: Floats) -> Floats:
        """Take a step on a batch of rows; the gradient of its loss by the logits of the edges, [P]."""
        self._count += 1
        batch = self._rng.choice(self._train, min(self._settings.batch, len(self._train)))
        return self._run(logits, batch, train=True)[1]

    def held_out_loss(self, logits: Floats) -> float:
        """Loss of rows that networks do not learn from."""
        return self._run(logits, self._held, train=False)[0]

    def _run(self, logits: Floats, batch: I64, *, train: bool) -> tuple[float, Floats]:
        layout, pairs, settings = self._layout, self._candidates, self._settings
        odds = np.clip(np.exp(logits), 1.0 / MOST_ODDS, MOST_ODDS).astype(np.float32)
        networks = Networks(
            self.weights, layout.start, layout.hidden, layout.output_row, layout.n_outputs, self._heads.code,
            self._heads.numeric,
            layout.table_row, pairs.start, pairs.cause,
        )  # fmt: skip
        step = Step(self._first, self._second, self._count, settings.learning_rate, settings.weight_decay)
        loss, gradient = run_batch(networks, Batch(self._values, self._free, batch), odds, self._streams, step, train)
        return loss, gradient.astype(np.float64)


def _rows(data: InterventionalData) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Values of all rows, and whether each variable was left free in them, [R, N]."""
    unit, continuous = Standardisation.of(data), data.is_continuous
    values, free = [], []
    for regime in data.regimes:
        block = spread(data, regime).astype(np.float32)
        block[:, continuous] = unit.apply(block[:, continuous])
        values.append(block)
        free.append(np.ones(block.shape, np.uint8))
        free[-1][:, list(regime.targets)] = 0
    return np.concatenate(values), np.concatenate(free)
