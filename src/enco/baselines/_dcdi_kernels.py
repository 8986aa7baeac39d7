"""One pass of DCDI over a batch of rows, compiled: graphs, losses, and gradients by weights and by logits of edges.

The kernels of `enco.conditionals.fused` do the work of the networks (its legend names the arrays); here every row
brings a graph of its own, and the gradient goes on through the drawn masks to the logits of the edges.
"""

from typing import NamedTuple

import numpy as np

from enco.conditionals.fused.network import (
    F32,
    I64,
    U8,
    U64,
    Network,
    Networks,
    Pass,
    backward,
    compiled_like,
    compiled_network_of,
    forward,
)
from enco.conditionals.fused.random import next_bits
from enco.conditionals.fused.training import adam
from enco.conditionals.heads import losses
from enco.conditionals.vector_math import FAST
from enco.system.compilation import njit

__all__ = ["Batch", "Step", "run_batch"]

f32 = np.float32
_UNIT = f32(2.0**-24)


class Batch(NamedTuple):
    """Some of all rows."""

    values: F32  # [R, N], all rows: levels, and standardised values of continuous variables
    free: U8  # [R, N], whether a variable was left free in a row, so that its loss counts
    rows: I64  # [B], which rows


class Step(NamedTuple):
    """One step of Adam over all networks."""

    first: F32  # [size], moments
    second: F32  # [size]
    number: int  # of the step, from 1
    learning_rate: float
    weight_decay: float


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def draw_masks(stream: U64, odds: F32, present: U8, slope: F32, rows: int) -> None:
    """Draw a mask for every row and edge by the Gumbel-sigmoid trick, and the slope of its soft version.

    The soft mask is s = sigmoid(logit + log(u / (1 - u))) with u uniform, that is odds u / (odds u + 1 - u); the hard
    one is whether s > 1/2, and the slope is ds/dlogit = s (1 - s).
    """
    for r in range(rows):
        for c in range(odds.shape[0]):
            u = (f32(next_bits(stream) >> np.uint64(40)) + f32(0.5)) * _UNIT
            s = odds[c] * u / (odds[c] * u + (f32(1.0) - u))
            present[r, c] = s > f32(0.5)
            slope[r, c] = s * (f32(1.0) - s)


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def add_logit_gradient(network: Network, x: F32, slope: F32, h_gradient: F32, gradient: F32, rows: int) -> None:
    """gradient[c] += sum over rows of slope[r, c] (gradient by h)[r] . e_c(x[r, c])."""
    weights, table_row, numeric = network.weights, network.table_row, network.numeric
    hidden = weights.shape[1]
    for r in range(rows):
        for c in range(table_row.shape[0]):
            dot = f32(0.0)
            if numeric[c]:
                row, v = table_row[c], x[r, c]
                for u in range(hidden):
                    dot += h_gradient[r, u] * (v * weights[row, u] + weights[row + 1, u])
            else:
                row = table_row[c] + np.int64(x[r, c])
                for u in range(hidden):
                    dot += h_gradient[r, u] * weights[row, u]
            gradient[c] += slope[r, c] * dot


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def run_batch(networks: Networks, batch: Batch, odds: F32, streams: U64, step: Step, train: bool) -> tuple[float, F32]:
    """Mean over variables of the loss of a batch, and its gradient by the logits of all edges, [P].

    networks, step
        Weights and Adam moments take a step if `train`. Without, no gradient is computed.
    odds : float32 [P]
        exp(logit) of every edge.
    streams : uint64 [N]
        Random numbers of every variable's graphs.
    """
    hidden, n_variables, rows = networks.hidden, len(networks.out_row), len(batch.rows)
    logit_gradient = np.zeros(len(networks.cause), np.float32)
    widest = np.max(networks.n_outputs)
    most = np.max(np.diff(networks.pair_start))
    all_present = np.empty(rows * most, np.uint8)
    all_slope, all_x = np.empty(rows * most, np.float32), np.empty(rows * most, np.float32)
    all_logits = np.zeros(widest * (rows + 1), np.float32)
    h = np.empty((rows, hidden), np.float32)
    a = np.zeros((rows + 1, hidden), np.float32)
    y, loss = np.empty(rows, np.float32), np.empty(rows, np.float32)
    gradient = np.zeros(np.max(np.diff(networks.start)), np.float32)
    total = 0.0
    for j in range(n_variables):
        network = compiled_network_of(networks, j)
        begin, end = networks.pair_start[j], networks.pair_start[j + 1]
        k, n_outputs = end - begin, networks.n_outputs[j]
        parents = networks.cause[begin:end]
        x = all_x[: rows * k].reshape(rows, k)
        for r in range(rows):
            y[r] = batch.values[batch.rows[r], j]
            for c in range(k):
                x[r, c] = batch.values[batch.rows[r], parents[c]]
        slope = all_slope[: rows * k].reshape(rows, k)
        present = all_present[: rows * k].reshape(rows, k)
        logits = all_logits[: n_outputs * (rows + 1)].reshape(n_outputs, rows + 1)
        work = Pass(present, h, a, logits, loss)
        draw_masks(streams[j : j + 1], odds[begin:end], present, slope, rows)
        forward(network, x, work, rows)
        losses(network.head, logits, y, loss, rows, train)
        for r in range(rows):
            if batch.free[batch.rows[r], j]:
                total += loss[r]
            else:
                logits[:, r] = f32(0.0)
        if train:
            size = slice(networks.start[j], networks.start[j + 1])
            block = networks.flat[size]
            block_gradient = gradient[: len(block)]
            backward(network, compiled_like(network, block_gradient), x, work, rows)
            add_logit_gradient(network, x, slope, h, logit_gradient[begin:end], rows)
            adam(
                block, block_gradient, step.first[size], step.second[size], step.number, step.learning_rate,
                step.weight_decay,
            )  # fmt: skip
    return total / rows / n_variables, logit_gradient / f32(n_variables)
