"""One pass of DCDI over a batch of rows, compiled: graphs, losses, and gradients by weights and by logits of edges.

The kernels of `enco.conditionals.fused` do the work of the networks (its legend names the arrays); here every row
brings a graph of its own, and the gradient goes on through the drawn masks to the logits of the edges.
"""

import numpy as np

from enco._compile import njit
from enco.conditionals.fused.network import F32, I64, U8, U64, backward, losses, outputs, sample_hidden
from enco.conditionals.fused.random import next_bits
from enco.conditionals.fused.training import activate, adam
from enco.conditionals.fused.vector_math import FAST

__all__ = ["run_batch"]

f32 = np.float32
_UNIT = f32(2.0**-24)


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
def add_logit_gradient(
    weights: F32, table_row: I64, numeric: U8, x: F32, slope: F32, h_gradient: F32, gradient: F32, rows: int
) -> None:
    """gradient[c] += sum over rows of slope[r, c] (gradient by h)[r] . e_c(x[r, c])."""
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
def run_batch(
    weights: F32, first: F32, second: F32, hidden: int, block_start: I64, table_row: I64, out_row: I64, n_out: I64,
    pair_start: I64, cause: I64, numeric: U8, values: F32, free: U8, batch: I64, odds: F32, streams: U64,
    count: int, learning_rate: float, weight_decay: float, train: bool,
) -> tuple[float, F32]:  # fmt: skip
    """Mean over variables of the loss of a batch, and its gradient by the logits of all edges, [P].

    weights, first, second : float32 [size]
        All networks and their Adam moments; they take a step, number `count`, if `train`. Without, no gradient is
        computed.
    values : float32 [R, N]
        All rows: levels, and standardised values of continuous variables.
    free : uint8 [R, N]
        Whether a variable was left free in a row, so that its loss counts.
    batch : int64 [B]
        Some of the rows.
    odds : float32 [P]
        exp(logit) of every edge.
    streams : uint64 [N]
        Random numbers of every variable's graphs.
    """
    n_variables, rows = len(out_row), len(batch)
    logit_gradient = np.zeros(len(cause), np.float32)
    widest = np.max(n_out)
    most = np.max(np.diff(pair_start))
    all_present = np.empty(rows * most, np.uint8)
    all_slope, all_x = np.empty(rows * most, np.float32), np.empty(rows * most, np.float32)
    all_logits = np.zeros(widest * (rows + 1), np.float32)
    h = np.empty((rows, hidden), np.float32)
    a = np.zeros((rows + 1, hidden), np.float32)
    y, loss = np.empty(rows, np.float32), np.empty(rows, np.float32)
    gradient = np.zeros(np.max(np.diff(block_start)), np.float32)
    total = 0.0
    for j in range(n_variables):
        begin, end = pair_start[j], pair_start[j + 1]
        k, n_outputs = end - begin, n_out[j]
        parents = cause[begin:end]
        x = all_x[: rows * k].reshape(rows, k)
        for r in range(rows):
            y[r] = values[batch[r], j]
            for c in range(k):
                x[r, c] = values[batch[r], parents[c]]
        parents_numeric = numeric[parents]
        tables = table_row[begin:end]
        present = all_present[: rows * k].reshape(rows, k)
        slope = all_slope[: rows * k].reshape(rows, k)
        logits = all_logits[: n_outputs * (rows + 1)].reshape(n_outputs, rows + 1)
        block = weights[block_start[j] : block_start[j + 1]]
        block_rows = block.reshape(-1, hidden)
        out_w = block_rows[out_row[j] : out_row[j] + n_outputs]
        out_b = block[(out_row[j] + n_outputs) * hidden :]
        draw_masks(streams[j : j + 1], odds[begin:end], present, slope, rows)
        sample_hidden(block_rows, tables, parents_numeric, x, present, h, rows)
        activate(h, a, rows)
        outputs(a, out_w, out_b, logits, rows)
        losses(logits, numeric[j] != 0, y, loss, rows, train)
        for r in range(rows):
            if free[batch[r], j]:
                total += loss[r]
            else:
                logits[:, r] = f32(0.0)
        if train:
            block_gradient = gradient[: len(block)]
            gradient_rows = block_gradient.reshape(-1, hidden)
            bias_gradient = block_gradient[(out_row[j] + n_outputs) * hidden :]
            backward(
                tables, parents_numeric, x, present, h, a, out_w, logits, gradient_rows, out_row[j], bias_gradient, rows
            )
            add_logit_gradient(block_rows, tables, parents_numeric, x, slope, h, logit_gradient[begin:end], rows)
            size = slice(block_start[j], block_start[j + 1])
            adam(block, block_gradient, first[size], second[size], count, learning_rate, weight_decay)
    return total / rows / n_variables, logit_gradient / f32(n_variables)
