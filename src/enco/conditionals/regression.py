"""A continuous variable given exactly its parents, as precisely as the rows allow: small networks, second-order steps.

    y | x ~ (1 - TAIL_SHARE) Normal(m(x), exp s(x)) + TAIL_SHARE Normal(0, TAIL_SCALE^2),

where m and s are each a linear function of x plus a hidden layer of LeakyReLU units. Where noise is a hundredth of what
the parents explain, stochastic gradients never get near it, and what they leave unexplained makes any hint at the
parents seem useful. Damped Gauss-Newton steps (Levenberg and Marquardt) do get there, in some twenty passes over the
rows: with J [rows, weights] the derivatives of m, w = r exp(-s) and r each row's probability not to be in the tail,

    step = (J' W J + penalty I + damping diag(J' W J + penalty I))^-1 (J' (w (y - m)) - penalty * weights),

and for s the same with weight r / 2 and pull r ((y - m)^2 exp(-s) - 1) / 2, which is Fisher scoring. A step is taken
if it lowers the penalised loss; else the damping grows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

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

MOST_STEPS = 60  # of each part of the training
LEAST_GAIN = 0.5  # nats over all rows; a step that gains less is the last
PATIENCE = 6  # steps without a better held-out loss
HOPELESS = 0.05  # share of the way to the goal that a step must make if the goal is far off
DAMPING = (1.0, 1e-6)  # to begin with, and least
WARM_DAMPING = 0.01  # where weights come from training
TRIES = 6  # dampings tried for one step
FIRST_PART = 4  # the first steps take one row of so many
ROWS_FOR_CURVATURE, ROWS_PER_WEIGHT = 1000, 15  # are enough, whichever is more
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

    def every(self, step: int) -> "Rows":
        """Return every so many rows."""
        return Rows(np.ascontiguousarray(self.inputs[::step]), np.ascontiguousarray(self.target[::step]))


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
        return replace(self, weights=weights, damping=WARM_DAMPING)

    def constant(self, value: float) -> "_Layer":
        """Return a layer whose hidden units have no say yet."""
        into, out, linear = self.parts
        linear = np.append(np.zeros(len(linear) - 1), value)
        return replace(self, weights=np.concatenate([into.ravel(), np.zeros(len(out)), linear]))


@dataclass(frozen=True)
class Regression:
    """Mean and log-variance of a continuous variable given its inputs.

    Attributes
    ----------
    mean, spread : layers
    learned : float
        Loss of the rows it was trained on and of those held out, with the penalty, nats.
    begun : bool
        Whether the weights come from training.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 1)).astype(np.float32)
    >>> y = np.abs(x[:, 0]) + 0.01 * rng.normal(size=2000).astype(np.float32)
    >>> rows = Rows(np.hstack([x, np.ones_like(x)]), y)
    >>> train, held_out = Rows(rows.inputs[:1800], y[:1800]), Rows(rows.inputs[1800:], y[1800:])
    >>> found = Regression.random(train, rng).fit(train, held_out)
    >>> round(float(np.std(y - found.mean(rows.inputs))), 3)
    0.01
    """

    mean: _Layer
    spread: _Layer
    learned: float = np.inf
    begun: bool = False

    @classmethod
    def random(cls, train: Rows, rng: np.random.Generator) -> "Regression":
        """Where a fit from scratch begins: hidden units that see something, and have no say yet."""
        n_inputs = train.inputs.shape[1]
        level = float(np.log(np.var(train.target, dtype=np.float64) + 1e-12))
        return cls(_Layer.random(n_inputs, MEAN_UNITS, 0.0, rng), _Layer.random(n_inputs, SPREAD_UNITS, level, rng))

    def arrays(self) -> list[NDArray[Any]]:
        """Everything that it has learned."""
        layers = [part for layer in (self.mean, self.spread) for part in (layer.weights, np.asarray(layer.damping))]
        return [*layers, np.asarray(self.learned), np.asarray(self.begun)]

    @classmethod
    def of_arrays(
        cls, mean: Floats, damping: Floats, spread: Floats, spread_damping: Floats, learned: Floats, begun: Floats
    ) -> "Regression":
        """Build from `arrays`."""
        layers = (
            _Layer(mean, MEAN_UNITS, float(damping)),
            _Layer(spread, SPREAD_UNITS, float(spread_damping)),
        )
        return cls(*layers, float(learned), bool(begun))

    def with_inputs(self, stand_in: Floats) -> "Regression":
        """Return a function of other inputs to go on from.

        Parameters
        ----------
        stand_in : float64 [old inputs, new inputs]
            What to put in place of each old input, the constant among them: an input that is still there, or a linear
            function of those that are.
        """
        return Regression(self.mean.with_inputs(stand_in), self.spread.with_inputs(stand_in), begun=self.begun)

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
            gain = 0.5 * float(rise @ cho_solve(cho_factor(own, check_finite=False), rise, check_finite=False))
            # Rows that were not learned from gain less: half a nat for each weight in one place, and in the other.
            gains.append(gain - new.shape[1])
        return np.array(gains)

    def fit(
        self,
        train: Rows,
        held_out: Rows,
        *,
        goal: tuple[float, float] | None = None,
        go_on: Callable[[], object] = lambda: None,
    ) -> "Regression":
        """Train until rows held out are no longer explained better.

        A regression that has not learned anything yet begins with its mean, as if noise were the same everywhere, on
        some of the rows and then on all. A variance that adapts from the beginning excuses the rows that are fitted
        badly, and the mean would never be put right there.

        Parameters
        ----------
        train, held_out : Rows
        goal : (float, float), optional
            A value of `learned` to compete with, and how far off is far. If it is far off and the way there slow,
            there is no point in going on.
        go_on : callable
            Called before every step; may raise.
        """
        now = self
        if not self.begun:
            mean, level = self.mean, 0.0
            for rows in (train.every(FIRST_PART), train):
                mean, level = _least_squares(replace(mean, damping=DAMPING[0]), rows, go_on)
            now = Regression(replace(mean, damping=WARM_DAMPING), self.spread.constant(level))
        return now._descended(train, held_out, goal, go_on)

    def _descended(
        self, train: Rows, held_out: Rows, goal: tuple[float, float] | None, go_on: Callable[[], object]
    ) -> "Regression":
        """Take steps of the mean and of the log-variance in turn."""
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
            now = Regression(mean_layer, spread_layer, begun=True)
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


def _least_squares(layer: _Layer, rows: Rows, go_on: Callable[[], object]) -> tuple[_Layer, float]:
    """Fit the mean by least squares; return it and the log-variance of what is left."""
    x, y = rows.inputs, rows.target
    mean, before = layer(x), np.inf
    level = _log_variance(y, mean)
    for _ in range(MOST_STEPS):
        go_on()
        constant = np.full(len(y), level, np.float32)
        weight, pull = kernels.mean_terms(y, mean, constant)
        layer, mean = layer.step(x, mean, weight, pull, partial(_total, y, spread=constant))
        level = _log_variance(y, mean)
        after = 0.5 * len(y) * level + layer.penalty()
        if before - after < LEAST_GAIN:
            break
        before = after
    return layer, level


def _log_variance(y: Block, mean: Block) -> float:
    return float(np.log(np.mean((y - mean).astype(np.float64) ** 2) + 1e-12))


def _total(y: Block, mean: Block, spread: Block) -> float:
    return float(kernels.losses(y, mean, spread).sum(dtype=np.float64))
