"""A continuous variable given exactly its parents, as precisely as the rows allow: small networks, second-order steps.

    y | x ~ (1 - TAIL_SHARE) Normal(m(x), exp s(x)) + TAIL_SHARE Normal(0, TAIL_SCALE^2),

where m and s are each a linear function of x plus a hidden layer of LeakyReLU units. Where noise is a hundredth of what
the parents explain, stochastic gradients never get near it, and what they leave unexplained makes any hint at the
parents seem useful. Damped Gauss-Newton steps (Levenberg and Marquardt) do get there, in some twenty passes over the
rows: with J [rows, weights] the derivatives of m, w = r exp(-s) and r each row's probability not to be in the tail,

    step = (J' W J + penalty I + damping diag(J' W J + penalty I))^-1 (J' (w (y - m)) - penalty * weights),

and for s the same with weight r / 2 and pull r ((y - m)^2 exp(-s) - 1) / 2, which is Fisher scoring. A step is taken
if it lowers the penalised loss; else the damping grows.

Kinks that lie badly stay where they are: such steps end in the nearest of many minima, and where noise is small, these
lie thousands of nats apart. So once they have ended, the units whose kinks hardly matter start anew (`renewed`), with
kinks where what is left unexplained has one, and the steps go on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from enco.conditionals import _regression_kernels as kernels

__all__ = ["Regression", "Rows"]

Floats = NDArray[np.float64]
Block = NDArray[np.float32]

MEAN_UNITS = 16
SPREAD_UNITS = 8
PENALTY = 0.1  # per squared weight, nats

MOST_STEPS = 40
LEAST_GAIN = 2.0  # nats over all rows; a step that gains less is the last
PATIENCE = 3  # steps without a better held-out loss
HOPELESS = 0.05  # share of the way to the goal that a step must make if the goal is far off
DAMPING = (1.0, 1e-6)  # to begin with, and least
TRIES = 6  # dampings tried for one step
SMALL_NOISE = 0.1  # of the variable's own spread; where noise is larger, first minima are as good as any
RENEWED_UNITS = 8
KINKS_TRIED = 24  # for each of them
ROWS_FOR_CURVATURE, ROWS_PER_WEIGHT = 1000, 5  # are enough, whichever is more
ROWS_FOR_GAINS = 3000
BLOCK = 1024  # rows whose derivatives fit into the cache


@dataclass(frozen=True)
class Rows:
    """Rows to learn from or to be judged on.

    Attributes
    ----------
    inputs : float32 [rows, inputs]
        Row by row in memory; the last column is constant 1.
    target : float32 [rows]
    """

    inputs: Block
    target: Block

    def of(self, columns: NDArray[np.int64]) -> "Rows":
        """Return the rows with some of the inputs and the constant."""
        return Rows(np.ascontiguousarray(self.inputs[:, np.append(columns, self.inputs.shape[1] - 1)]), self.target)

    def some(self, chosen: NDArray[np.bool_]) -> "Rows":
        """Return some of the rows."""
        return Rows(self.inputs[chosen], self.target[chosen])


@dataclass(frozen=True)
class _Layer:
    """A linear function plus hidden units: weights are [inputs, units], [units] and [inputs], all in one vector."""

    weights: Floats
    units: int
    damping: float = DAMPING[0]

    @classmethod
    def random(cls, n_inputs: int, units: int, constant: float, rng: np.random.Generator) -> "_Layer":
        into = rng.standard_normal((n_inputs, units))
        into[:-1] /= np.sqrt(max(1, n_inputs - 1))
        linear = np.append(np.zeros(n_inputs - 1), constant)
        return cls(np.concatenate([into.ravel(), np.zeros(units), linear]), units)

    @property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        n_inputs = (len(self.weights) - self.units) // (self.units + 1)
        into, out, linear = np.split(self.weights, [n_inputs * self.units, (n_inputs + 1) * self.units])
        return into.reshape(n_inputs, self.units), out, linear

    @property
    def of_constant(self) -> NDArray[np.int64]:
        """Where the weights of the constant input are."""
        n_inputs = len(self.parts[2])
        return np.append(np.arange((n_inputs - 1) * self.units, n_inputs * self.units), len(self.weights) - 1)

    @property
    def _single(self) -> tuple[Block, Block, Block]:
        into, out, linear = (part.astype(np.float32) for part in self.parts)
        return into, out, linear

    def __call__(self, inputs: Block) -> Block:
        return kernels.forward(inputs, *self._single)

    def gradient(self, inputs: Block, pull: Block) -> Floats:
        """J' pull."""
        into, out, _ = self._single
        return kernels.gradient(inputs, into, out, pull)

    def jacobian(self, inputs: Block, root: Block) -> Block:
        """Return derivatives of the values by the weights, each row times its entry of `root` [rows]."""
        into, out, _ = self._single
        return kernels.jacobian(inputs, into, out, root)

    def curvature(self, inputs: Block, weight: Block) -> Floats:
        """J' diag(weight) J: from some rows where there are many for every weight."""
        every = max(1, len(inputs) // max(ROWS_FOR_CURVATURE, ROWS_PER_WEIGHT * len(self.weights)))
        inputs, root = np.ascontiguousarray(inputs[::every]), np.sqrt(np.float32(every) * weight[::every])
        square = np.zeros((len(self.weights),) * 2, np.float32)
        for first in range(0, len(inputs), BLOCK):
            block = self.jacobian(inputs[first : first + BLOCK], root[first : first + BLOCK])
            square += block.T @ block
        return square.astype(np.float64)

    def step(
        self, inputs: Block, values: Block, weight: Block, pull: Block, loss: Callable[[Block], float]
    ) -> tuple["_Layer", Block]:
        """Take one damped step that lowers the loss of the values, with the penalty, or none."""
        square = self.curvature(inputs, weight)
        gradient = self.gradient(inputs, pull) - PENALTY * self.weights
        scale = np.diag(square) + PENALTY
        damping, before = self.damping, loss(values) + self.penalty()
        for turn in range(TRIES):
            np.fill_diagonal(square, scale * (1.0 + damping))
            try:
                change = kernels.solve(square, gradient)
            except np.linalg.LinAlgError:  # rounding has made it indefinite, which more damping mends
                damping *= 4.0
                continue
            # Less damping next time, unless less has just been tried in vain.
            next_damping = damping if turn else max(DAMPING[1], damping / 4.0)
            moved = replace(self, weights=self.weights + change, damping=next_damping)
            new_values = moved(inputs)
            if loss(new_values) + moved.penalty() < before:
                return moved, new_values
            damping *= 4.0
        return replace(self, damping=damping), values

    def penalty(self) -> float:
        return 0.5 * PENALTY * float(self.weights @ self.weights)

    def with_inputs(self, stand_in: Floats) -> "_Layer":
        """Return the layer for other inputs, of which `stand_in` [old inputs, new inputs] makes the old ones."""
        into, out, linear = self.parts
        weights = np.concatenate([(stand_in.T @ into).ravel(), out, stand_in.T @ linear])
        return replace(self, weights=weights, damping=1e-2 * DAMPING[0])

    def renewed(self, inputs: Block, weight: Block, left: Block, rng: np.random.Generator) -> "_Layer":
        """Return the layer with other units in place of those whose kinks matter least; they have no say yet.

        Parameters
        ----------
        inputs : float32 [rows, inputs]
        weight : float32 [rows]
        left : float32 [rows]
            What the layer leaves unexplained.
        rng : numpy.random.Generator
            Draws kinks to choose from: in any direction, through a row.
        """
        into, out, linear = (part.copy() for part in self.parts)
        x, w = inputs.astype(np.float64), weight.astype(np.float64)
        hidden = x @ into
        above, below = (np.sqrt(w @ np.maximum(sign * hidden, 0.0) ** 2) for sign in (1.0, -1.0))
        weakest = np.argsort(np.abs(out) * np.minimum(above, below), kind="stable")[:RENEWED_UNITS]
        # On the side of the kink where most rows are, a unit is a linear function.
        slope = np.where(above > below, 1.0, float(kernels.SLOPE))
        linear += into[:, weakest] @ (slope * out)[weakest]

        kinks = rng.standard_normal((x.shape[1], len(weakest) * KINKS_TRIED))
        kinks[:-1] /= np.sqrt(max(1, x.shape[1] - 1))
        kinks[-1] = -np.einsum("rk,kr->r", x[rng.integers(len(x), size=kinks.shape[1]), :-1], kinks[:-1])
        # Neither what the kinks add nor what is left should be what a linear function could say.
        both = np.column_stack([np.maximum(x @ kinks, 0.0), left])
        square = x.T @ (w[:, None] * x) + PENALTY * np.eye(x.shape[1])
        both -= x @ np.linalg.solve(square, x.T @ (w[:, None] * both))
        bent, left = both[:, :-1], both[:, -1]
        fitting = np.abs(bent.T @ (w * left)) / np.sqrt(np.einsum("r,rk,rk->k", w, bent, bent) + 1e-9)
        chosen = np.argmax(fitting.reshape(len(weakest), -1), axis=1) + KINKS_TRIED * np.arange(len(weakest))
        into[:, weakest], out[weakest] = kinks[:, chosen], 0.0
        return replace(self, weights=np.concatenate([into.ravel(), out, linear]), damping=1e-2 * DAMPING[0])


@dataclass(frozen=True)
class Regression:
    """Mean and log-variance of a continuous variable given its inputs.

    Attributes
    ----------
    mean, spread : layers
    learned : float
        Loss of the rows it was trained on and of those held out, with the penalty, nats.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 1)).astype(np.float32)
    >>> y = np.abs(x[:, 0]) + 0.01 * rng.normal(size=2000).astype(np.float32)
    >>> rows = Rows(np.hstack([x, np.ones_like(x)]), y)
    >>> train, held_out = Rows(rows.inputs[:1800], y[:1800]), Rows(rows.inputs[1800:], y[1800:])
    >>> found = Regression.random(train, rng).fit(train, held_out, rng=rng)
    >>> round(float(np.std(y - found.mean(rows.inputs))), 3)
    0.01
    """

    mean: _Layer
    spread: _Layer
    learned: float = np.inf

    @classmethod
    def random(cls, train: Rows, rng: np.random.Generator) -> "Regression":
        """Where a fit from scratch begins: hidden units that see something, and have no say yet."""
        n_inputs = train.inputs.shape[1]
        level = float(np.log(np.var(train.target, dtype=np.float64) + 1e-12))
        return cls(_Layer.random(n_inputs, MEAN_UNITS, 0.0, rng), _Layer.random(n_inputs, SPREAD_UNITS, level, rng))

    def with_inputs(self, stand_in: Floats) -> "Regression":
        """Return a function of other inputs to go on from.

        Parameters
        ----------
        stand_in : float64 [old inputs, new inputs]
            What to put in place of each old input, the constant among them: an input that is still there, or a linear
            function of those that are.
        """
        return Regression(self.mean.with_inputs(stand_in), self.spread.with_inputs(stand_in))

    def losses(self, rows: Rows) -> Floats:
        """-log p(y | x) of each row, nats, [rows]."""
        return kernels.losses(rows.target, self.mean(rows.inputs), self.spread(rows.inputs)).astype(np.float64)

    def expected_gains(self, train: Rows, extra: Block, groups: Sequence[NDArray[np.int64]]) -> Floats:
        """Estimate what further inputs would gain, each group of columns by itself: one Newton step, nats, [groups].

        Parameters
        ----------
        train : Rows
        extra : float32 [rows, further inputs]
        groups : sequence of int64
            Columns of `extra` that belong together.
        """
        every = max(1, len(train.target) // ROWS_FOR_GAINS)
        x, more, y = (np.ascontiguousarray(each[::every]) for each in (train.inputs, extra, train.target))
        mean = self.mean(x)
        weight, _ = kernels.mean_terms(y, mean, self.spread(x))
        root = np.sqrt(np.float32(every) * weight)
        ahead = root * (y - mean)
        # Single precision would not do: what is left once the old weights have had their say is a small difference.
        old = self.mean.jacobian(x, root).astype(np.float64)
        lever = old[:, self.mean.of_constant]  # of a further input that is 1
        square = old.T @ old
        np.fill_diagonal(square, (1.0 + 1e-9) * np.diag(square) + PENALTY)
        solve = partial(cho_solve, cho_factor(square, lower=True, check_finite=False), check_finite=False)
        old_rise = old.T @ ahead
        gains = []
        for columns in groups:
            new = (more[:, columns, None] * lever[:, None, :]).reshape(len(x), -1)
            between = old.T @ new
            explained = solve(between)
            own = new.T @ new - between.T @ explained
            # What the old weights leave of it is positive but for rounding.
            np.fill_diagonal(own, (1.0 + 1e-9) * np.diag(own) + PENALTY)
            rise = new.T @ ahead - explained.T @ old_rise
            gains.append(0.5 * float(rise @ cho_solve(cho_factor(own, check_finite=False), rise, check_finite=False)))
        return np.array(gains)

    def fit(
        self,
        train: Rows,
        held_out: Rows,
        *,
        rng: np.random.Generator,
        goal: tuple[float, float] | None = None,
        go_on: Callable[[], object] = lambda: None,
    ) -> "Regression":
        """Train until rows held out are no longer explained better; where noise is small, renew units and train again.

        Parameters
        ----------
        train, held_out : Rows
        rng : numpy.random.Generator
            For the renewal.
        goal : (float, float), optional
            A value of `learned` to compete with, and how far off is far. If it is far off and the way there slow,
            there is no point in going on.
        go_on : callable
            Called before every step; may raise.
        """
        best = self._descended(train, held_out, goal, go_on)
        noisy = np.median(best.spread(train.inputs)) > 2.0 * np.log(SMALL_NOISE)
        hopeless = goal and best.learned - goal[0] > goal[1]
        if noisy or hopeless:
            return best
        again = best.renewed(train, rng)._descended(train, held_out, goal, go_on)
        return min(best, again, key=lambda regression: regression.learned)

    def renewed(self, train: Rows, rng: np.random.Generator) -> "Regression":
        """Start the units of the mean anew that matter least."""
        every = max(1, len(train.target) // ROWS_FOR_GAINS)
        x, y = (np.ascontiguousarray(each[::every]) for each in (train.inputs, train.target))
        mean = self.mean(x)
        weight, _ = kernels.mean_terms(y, mean, self.spread(x))
        return replace(self, mean=self.mean.renewed(x, weight, y - mean, rng))

    def _descended(
        self, train: Rows, held_out: Rows, goal: tuple[float, float] | None, go_on: Callable[[], object]
    ) -> "Regression":
        """Take steps to the nearest minimum."""
        x, y = train.inputs, train.target
        now, best, least, waited, before = self, self, np.inf, 0, np.inf
        mean, spread = self.mean(x), self.spread(x)
        for _ in range(MOST_STEPS):
            go_on()
            weight, pull = kernels.mean_terms(y, mean, spread)
            mean_layer, mean = now.mean.step(x, mean, weight, pull, partial(_total, y, spread=spread))
            weight, pull = kernels.spread_terms(y, mean, spread)
            spread_layer, spread = now.spread.step(x, spread, weight, pull, partial(_total, y, mean))
            after = _total(y, mean, spread) + mean_layer.penalty() + spread_layer.penalty()
            now = Regression(mean_layer, spread_layer)
            unseen = float(now.losses(held_out).sum())
            now = replace(now, learned=after + unseen)
            waited += 1
            if unseen < least:
                best, least, waited = now, unseen, 0
            if before - after < LEAST_GAIN or waited >= PATIENCE:
                break
            if goal and (missing := now.learned - goal[0]) > goal[1] and before - after < HOPELESS * missing:
                break
            before = after
        return best


def _total(y: Block, mean: Block, spread: Block) -> float:
    return float(kernels.losses(y, mean, spread).sum(dtype=np.float64))
