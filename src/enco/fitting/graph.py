"""Graph fitting: move gamma and theta by what sampled graphs say about interventional data (Section 3.2)."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.base import ConditionalModel
from enco.confounders import SplitEdgeParameters, scorable
from enco.data import Regime
from enco.gradients import ESTIMATORS, edge_cost, gamma_gradient, theta_gradient, toggled
from enco.parameters import EdgeParameters
from enco.settings import Settings

__all__ = ["GraphFitting"]

Floats = NDArray[np.float64]

RESTING_FROM = 5_000  # candidate pairs
MOST_EVIDENCE_ROWS = 1024  # of one regime, in each look at the orientation evidence


class GraphFitting:
    """The graph-fitting stage on a fixed set of intervention regimes.

    Parameters
    ----------
    model : ConditionalModel
    parameters : EdgeParameters
    regimes : sequence of Regime
        Intervention regimes.
    fixed : bool [P]
        Pairs whose gamma background knowledge has fixed.
    oriented : bool [P]
        Pairs whose theta background knowledge has fixed.
    settings : Settings
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        model: ConditionalModel,
        parameters: EdgeParameters,
        *,
        regimes: Sequence[Regime],
        fixed: NDArray[np.bool_],
        oriented: NDArray[np.bool_],
        settings: Settings,
        rng: np.random.Generator,
    ) -> None:
        self.model = model
        self.parameters = parameters
        self.regimes = regimes
        self.settings = settings
        self.rng = rng
        self._estimate = ESTIMATORS[settings.estimator]
        self._fixed = fixed
        self._oriented = oriented
        cause, effect = parameters.candidates.cause, parameters.candidates.effect
        telling = np.zeros(len(cause), np.int64)  # rows that tell which of the two comes first
        for regime in regimes:
            telling[regime.free(cause) != regime.free(effect)] += regime.n_rows
        # Pairs that no regime tells apart learn their orientation from other interventions (Appendix C.4); one of
        # (i, j) and (j, i) stands for both.
        reverse = parameters.candidates.reverse
        self._distant = np.flatnonzero((telling == 0) & ((cause < effect) | (reverse < 0)) & ~oriented)
        self._rests = len(cause) >= RESTING_FROM

    def orient(self, *, halves: bool = False) -> None:
        """One pass over all regimes that moves theta only, on the edges out of each regime's targets (Appendix C.2).

        With `halves`, those of gamma move too, where it is split. gamma_I lives on this: a step of Algorithm 1 informs
        it only when its regime is one of N.
        """
        cause, parameters = self.parameters.candidates.cause, self.parameters
        for regime in self._one_pass():
            delta = self._effects(regime, self.settings.orientation_batch, wanted=~regime.free(cause))
            if not halves or not isinstance(parameters, SplitEdgeParameters):
                self._move_theta(regime, delta)
                continue
            gradient = self._gamma_gradient(delta)
            self._move_theta(regime, delta)
            informed = self._informed(gradient)
            parameters.move_halves(informed, gradient[informed], self.settings.gamma_rate, regime.targets)

    def step(self, regime: Regime) -> None:
        """One graph-fitting step of Algorithm 1 on one regime: both gradients from the same edge effects."""
        delta = self._effects(regime, self.settings.graph_batch, wanted=self._active())
        gradient = self._gamma_gradient(delta)
        self._move_theta(regime, delta)
        self._move_gamma(regime, gradient)

    def step_frozen(self, regime: Regime) -> None:
        """One step that moves theta only, gamma frozen, as the paper does in large graphs (Appendix C.2)."""
        rows, cause = self._batch(regime, self.settings.graph_batch), self.parameters.candidates.cause
        for target in regime.targets:
            probability = self.parameters.edge_probability()
            n_graphs = self.settings.freezing_graphs
            delta = toggled(self.model, regime, rows, probability, cause == target, self.rng, n_graphs)
            self._move_theta(regime, delta)

    def orientation_evidence(self, repeats: int = 4) -> Floats:
        """Log-likelihood ratio, in nats, of each orientation against its reverse on the rows next to its ends, [P].

        The terms of Eq. 4 summed over rows: -n_i sigmoid(gamma_ij) delta_ij under interventions on X_i, minus the same
        for the reverse edge under interventions on X_j. theta has the same sign in the long run, but Adam makes its
        size say how long it has been pushed, not how hard.
        """
        pairs = self.parameters.candidates
        gain = np.zeros(pairs.n_pairs)
        for regime in self.regimes:
            wanted = ~regime.free(pairs.cause)
            for _ in range(repeats):
                delta = self._effects(regime, MOST_EVIDENCE_ROWS, wanted=wanted)
                gain -= np.nan_to_num(delta) * self.parameters.existence() * regime.n_rows / repeats
        reverse = np.where(pairs.reverse >= 0, gain[pairs.reverse], 0.0)
        return gain - reverse

    def movable(self) -> NDArray[np.bool_]:
        """Pairs that background knowledge leaves open to a search, [P]."""
        mask: NDArray[np.bool_] = ~self._fixed & ~(self._oriented & (self.parameters.theta < 0))
        return mask

    def scorable(self) -> NDArray[np.bool_]:
        """Pairs of which can be said whether they are confounded, [P]."""
        return scorable(self.parameters.candidates, [regime.targets for regime in self.regimes], self._fixed)

    def second_look(self) -> None:
        """Give every rejected edge that the orientations allow another chance.

        An edge is rejected early, while its effect's network sees few of the other parents; later the network is
        hardly trained on it, and the rejection confirms itself. Starting again from a high gamma, with the graph
        found so far in place, is
        a backward elimination: an edge that does not earn its sparsity cost leaves within an epoch.
        """
        rejected = (self.parameters.gamma < 0) & (self.parameters.theta > 0) & ~self._fixed
        self.parameters.reconsider(np.flatnonzero(rejected), self.settings.second_look_gamma)

    def sequence(self, steps: int) -> Iterator[Regime]:
        """Regimes for a number of steps: shuffled passes, so that all are visited equally often."""
        while steps > 0:
            for regime in self._one_pass():
                if steps > 0:
                    yield regime
                    steps -= 1

    def _active(self) -> NDArray[np.bool_]:
        """Pairs to evaluate in a graph step, [P]: the undecided ones, and those that rest for a few of the variables.

        A pair rests while its edge probability is near 0 or 1. It is still evaluated at a known rate, so that an early
        mistake can be undone. Where pairs are few, none rests: time is not short, and rest makes the end come later.
        """
        probability = self.parameters.edge_probability()
        if not self._rests:
            return np.ones(len(probability), bool)
        margin = 0.5 * self.settings.settled_margin
        undecided = (probability > margin) & (probability < 1 - margin)
        awake = self.rng.random(self.parameters.candidates.n_variables) < self.settings.rest_rate
        return undecided | awake[self.parameters.candidates.effect]

    def _one_pass(self) -> Iterator[Regime]:
        for position in self.rng.permutation(len(self.regimes)):
            yield self.regimes[position]

    def _effects(self, regime: Regime, batch: int, *, wanted: NDArray[np.bool_]) -> Floats:
        rows, probability = self._batch(regime, batch), self.parameters.edge_probability()
        return self._estimate(self.model, regime, rows, probability, wanted, self.rng, self.settings.graph_samples)

    def _batch(self, regime: Regime, batch: int) -> NDArray[np.int64]:
        return np.sort(self.rng.permutation(regime.n_rows)[:batch])

    def _gamma_gradient(self, delta: Floats) -> Floats:
        cost = edge_cost(self.settings.estimator, self.parameters, self.settings.sparsity)
        return gamma_gradient(self.parameters, delta, cost)

    def _move_gamma(self, regime: Regime, gradient: Floats) -> None:
        informed = self._informed(gradient)
        self.parameters.move_gamma(informed, gradient[informed], self.settings.gamma_rate, regime.targets)

    def _informed(self, gradient: Floats) -> NDArray[np.int64]:
        """Pairs whose gamma a gradient [P] says something of."""
        return np.flatnonzero(~np.isnan(gradient) & ~self._fixed)

    def _move_theta(self, regime: Regime, delta: Floats) -> None:
        """Eq. 4: theta[i, j] follows interventions on X_i; pairs far from all interventions follow all, slowly."""
        gradient = theta_gradient(self.parameters, delta)
        pairs = self.parameters.candidates
        adjacent = np.flatnonzero(~regime.free(pairs.cause) & ~np.isnan(delta) & ~self._oriented)
        self.parameters.move_theta(adjacent, gradient[adjacent], self.settings.theta_rate)

        # Eq. 28: both directions, in steps that score both.
        reverse = pairs.reverse[self._distant]
        contrast = gradient[self._distant] - np.where(reverse >= 0, gradient[reverse], 0.0)
        scored = ~np.isnan(contrast)
        if scored.any():
            rate = self.settings.theta_rate * self.settings.distant_theta_factor
            self.parameters.move_theta(self._distant[scored], contrast[scored], rate)
