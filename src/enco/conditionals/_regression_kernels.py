"""What a regression computes for every row, compiled: values of a layer, derivatives by its weights, and losses.

A layer (see `enco.conditionals.regression`) has weights `into` [inputs, units], `out` [units] and `linear` [inputs].
Rows are read in blocks and nothing of the size rows x units is kept. Threads share out variables, so nothing here holds
the interpreter's lock.
"""

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.continuous import TAIL_SCALE, TAIL_SHARE
from enco.conditionals.vector_math import FAST, fast_exp, fast_log
from enco.system.compilation import njit

__all__ = ["forward", "gradient", "jacobian", "losses", "mean_terms", "solve", "spread_terms"]

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
f32 = np.float32

SLOPE = f32(0.1)  # of a unit below zero
LEAST_LOG_VARIANCE, MOST_LOG_VARIANCE = f32(-18.0), f32(4.0)  # the least is for exact copies
_BLOCK = 512  # rows whose hidden units stay in the cache, and are summed up in single precision

_NORMAL = -0.5 * np.log(2.0 * np.pi)
_INSIDE = f32(np.log1p(-TAIL_SHARE) + _NORMAL)
_TAIL = f32(np.log(TAIL_SHARE / TAIL_SCALE) + _NORMAL)
_TAIL_PRECISION = f32(TAIL_SCALE**-2)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def forward(inputs: F32, into: F32, out: F32, linear: F32) -> F32:
    """Values of a layer, [rows]."""
    values = np.dot(inputs, linear)
    for first in range(0, len(inputs), _BLOCK):
        hidden = np.dot(inputs[first : first + _BLOCK], into)
        for row in range(len(hidden)):
            value = f32(0.0)
            for u in range(len(out)):
                value += max(hidden[row, u], SLOPE * hidden[row, u]) * out[u]
            values[first + row] += value
    return values


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def gradient(inputs: F32, into: F32, out: F32, pull: F32) -> F64:
    """J' pull, with J [rows, weights] the derivatives of the values; [weights], in the order of `jacobian`."""
    n_inputs, units = into.shape
    total = np.zeros((n_inputs + 1) * units + n_inputs, np.float64)
    by_out = np.empty(units, np.float32)
    for first in range(0, len(inputs), _BLOCK):
        x, force = inputs[first : first + _BLOCK], pull[first : first + _BLOCK]
        hidden = np.dot(x, into)
        by_out[:] = f32(0.0)
        for row in range(len(x)):
            for u in range(units):
                slope = force[row] if hidden[row, u] > f32(0.0) else SLOPE * force[row]
                by_out[u] += hidden[row, u] * slope
                hidden[row, u] = slope * out[u]
        total[: n_inputs * units] += np.dot(x.T, hidden).ravel()
        total[n_inputs * units : (n_inputs + 1) * units] += by_out
        total[(n_inputs + 1) * units :] += np.dot(x.T, force)
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def jacobian(inputs: F32, into: F32, out: F32, root: F32) -> F32:
    """Differentiate the values by `into`, `out` and `linear`; each row is multiplied by `root`; [rows, weights]."""
    n_inputs, units = into.shape
    result = np.empty((len(inputs), (n_inputs + 1) * units + n_inputs), np.float32)
    all_hidden = np.dot(inputs, into)
    for row in range(len(inputs)):
        x, scale, by, hidden = inputs[row], root[row], result[row], all_hidden[row]
        for u in range(units):
            slope = scale if hidden[u] > f32(0.0) else SLOPE * scale
            by[n_inputs * units + u] = hidden[u] * slope
            hidden[u] = slope * out[u]
        for k in range(n_inputs):
            by[(n_inputs + 1) * units + k] = scale * x[k]
            for u in range(units):
                by[k * units + u] = x[k] * hidden[u]
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def solve(square: F64, right: F64) -> F64:
    """Solve square @ x = right, [n], for a positive definite `square` [n, n]; raises LinAlgError for another."""
    lower = np.ascontiguousarray(np.linalg.cholesky(square))
    x = right.copy()
    for i in range(len(x)):
        x[i] = (x[i] - np.dot(lower[i, :i], x[:i])) / lower[i, i]
    for i in range(len(x) - 1, -1, -1):
        x[i] /= lower[i, i]
        for k in range(i):
            x[k] -= lower[i, k] * x[i]
    return x


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def _precision(spread: np.float32) -> np.float32:
    return fast_exp(-min(max(spread, LEAST_LOG_VARIANCE), MOST_LOG_VARIANCE))


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def _log_densities(y: np.float32, mean: np.float32, spread: np.float32) -> tuple[np.float32, np.float32]:
    """Log of the network's part of the density and of the tail's."""
    log_variance = min(max(spread, LEAST_LOG_VARIANCE), MOST_LOG_VARIANCE)
    surprise = (y - mean) * (y - mean) * _precision(spread)
    return _INSIDE - f32(0.5) * (log_variance + surprise), _TAIL - f32(0.5) * y * y * _TAIL_PRECISION


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def _inside(y: np.float32, mean: np.float32, spread: np.float32) -> np.float32:
    """Probability that a row is not in the tail."""
    network, tail = _log_densities(y, mean, spread)
    return f32(1.0) / (f32(1.0) + fast_exp(tail - network))


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def losses(target: F32, mean: F32, spread: F32) -> F32:
    """-log p(y | x) of each row, nats, [rows]."""
    result = np.empty(len(target), np.float32)
    for row in range(len(target)):
        network, tail = _log_densities(target[row], mean[row], spread[row])
        more, less = max(network, tail), min(network, tail)
        result[row] = -more - fast_log(f32(1.0) + fast_exp(less - more))
    return result


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def mean_terms(target: F32, mean: F32, spread: F32) -> tuple[F32, F32]:
    """Weight and pull of each row for the mean, [rows] each."""
    weight, pull = np.empty(len(target), np.float32), np.empty(len(target), np.float32)
    for row in range(len(target)):
        weight[row] = _inside(target[row], mean[row], spread[row]) * _precision(spread[row])
        pull[row] = weight[row] * (target[row] - mean[row])
    return weight, pull


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def spread_terms(target: F32, mean: F32, spread: F32) -> tuple[F32, F32]:
    """Weight and pull of each row for the log-variance, [rows] each."""
    weight, pull = np.empty(len(target), np.float32), np.empty(len(target), np.float32)
    for row in range(len(target)):
        ahead = target[row] - mean[row]
        weight[row] = f32(0.5) * _inside(target[row], mean[row], spread[row])
        pull[row] = weight[row] * (ahead * ahead * _precision(spread[row]) - f32(1.0))
    return weight, pull
