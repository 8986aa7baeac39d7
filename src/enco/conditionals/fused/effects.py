"""Edge effects, graph losses and residuals of one variable.

`paired_effects` is the heart of graph fitting: for each row one sampled graph, and for every candidate parent the
loss with and without that parent, the rest of the graph unchanged. The expectation is the bracket of Eq. 3 and Eq. 4,

    delta[i, j] = E[ L_{X_i -> X_j}(X_j) - L_{X_i -/-> X_j}(X_j) ],

with common random numbers on both sides. Because the first layer is a sum, a toggle costs one addition of H numbers
and one pass through the output layer.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco._compile import njit
from enco.conditionals.continuous import LARGEST_VALUE
from enco.conditionals.fused.network import F32, I64, LEAK, U8, U64, losses, outputs, sample_hidden, sample_present
from enco.conditionals.fused.training import activate
from enco.conditionals.fused.vector_math import FAST

__all__ = ["Table", "change_losses", "gather", "graph_losses", "paired_effects", "paired_effects_of", "residuals"]

f32 = np.float32


class Table(NamedTuple):
    """Rows of one regime, and how to read each of N variables from them."""

    codes: NDArray[Any]  # [rows, categorical columns]
    reals: NDArray[np.float32]  # [rows, continuous columns]
    slot: I64  # [N], column within the block of its kind
    numeric: U8  # [N], whether it is continuous
    center: NDArray[np.float64]  # [N], of continuous variables
    inverse_scale: NDArray[np.float64]  # [N]


BLOCK = 32  # rows toggled per pass through the output layer: activations of one pass stay in the first cache level


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def paired_effects(
    block: F32, hidden: int, out_row: int, n_out: int, gaussian: bool, table_row: I64, numeric: U8, x: F32, y: F32,
    threshold: U64, stream: U64, wanted: U8, effect: NDArray[np.float64],
) -> float:  # fmt: skip
    """Mean paired edge effect of every wanted candidate parent over the rows of x; returns the mean base loss.

    wanted : uint8 [k]
        Candidates to evaluate; the others keep their value in `effect`.
    effect : float64 [k]
        Written in place.
    """
    rows_total = x.shape[0]
    weights = block.reshape(-1, hidden)
    out_w = weights[out_row : out_row + n_out]
    out_b = block[(out_row + n_out) * hidden :]
    n_parents = table_row.shape[0]
    present = np.empty((rows_total, n_parents), np.uint8)
    h = np.empty((rows_total, hidden), np.float32)
    base = np.empty(rows_total, np.float32)
    a = np.zeros((BLOCK + 1, hidden), np.float32)
    logits = np.zeros((n_out, BLOCK + 1), np.float32)
    loss = np.empty(BLOCK, np.float32)

    sample_present(stream, threshold, present, rows_total)
    sample_hidden(weights, table_row, numeric, x, present, h, rows_total)
    mean_base = 0.0
    for begin in range(0, rows_total, BLOCK):
        rows = min(BLOCK, rows_total - begin)
        activate(h[begin : begin + rows], a, rows)
        outputs(a, out_w, out_b, logits, rows)
        losses(logits, gaussian, y[begin : begin + rows], base[begin : begin + rows], rows, False)
        for r in range(rows):
            mean_base += base[begin + r]

    # Parent by parent, so that one parent's table stays in cache while all rows toggle it.
    for c in range(n_parents):
        if not wanted[c]:
            continue
        total = 0.0
        for begin in range(0, rows_total, BLOCK):
            rows = min(BLOCK, rows_total - begin)
            for r in range(rows):
                sign = f32(-1.0) if present[begin + r, c] else f32(1.0)
                if numeric[c]:
                    row = table_row[c]
                    slope = sign * x[begin + r, c]
                    for u in range(hidden):
                        v = h[begin + r, u] + slope * weights[row, u] + sign * weights[row + 1, u]
                        a[r, u] = max(v, LEAK * v)
                else:
                    row = table_row[c] + np.int64(x[begin + r, c])
                    for u in range(hidden):
                        v = h[begin + r, u] + sign * weights[row, u]
                        a[r, u] = max(v, LEAK * v)
            outputs(a, out_w, out_b, logits, rows)
            losses(logits, gaussian, y[begin : begin + rows], loss, rows, False)
            for r in range(rows):
                difference = loss[r] - base[begin + r]
                total += -difference if present[begin + r, c] else difference
        effect[c] = total / rows_total
    return mean_base / rows_total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def graph_losses(
    block: F32, hidden: int, out_row: int, n_out: int, gaussian: bool, table_row: I64, numeric: U8, x: F32, y: F32,
    graphs: U8, mean_loss: F32,
) -> None:  # fmt: skip
    """Mean loss over the rows of x under each of G graphs shared by all rows (the paper's estimator, Algorithm 1).

    graphs : uint8 [G, k]
    mean_loss : float32 [G], written in place
    """
    rows_total = x.shape[0]
    weights = block.reshape(-1, hidden)
    out_w = weights[out_row : out_row + n_out]
    out_b = block[(out_row + n_out) * hidden :]
    present = np.empty((BLOCK, table_row.shape[0]), np.uint8)
    h = np.empty((BLOCK, hidden), np.float32)
    a = np.zeros((BLOCK + 1, hidden), np.float32)
    logits = np.zeros((n_out, BLOCK + 1), np.float32)
    loss = np.empty(BLOCK, np.float32)
    for g in range(graphs.shape[0]):
        for r in range(BLOCK):
            present[r] = graphs[g]
        total = 0.0
        for begin in range(0, rows_total, BLOCK):
            rows = min(BLOCK, rows_total - begin)
            sample_hidden(weights, table_row, numeric, x[begin : begin + rows], present, h, rows)
            activate(h, a, rows)
            outputs(a, out_w, out_b, logits, rows)
            losses(logits, gaussian, y[begin : begin + rows], loss, rows, False)
            for r in range(rows):
                total += loss[r]
        mean_loss[g] = total / rows_total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def change_losses(
    block: F32, hidden: int, out_row: int, n_out: int, gaussian: bool, table_row: I64, numeric: U8, x: F32, y: F32,
    parents: U8, changes: I64, loss: F32,
) -> None:  # fmt: skip
    """Loss of each row given exactly some parents, and with one of them, or of the others, toggled.

    parents : uint8 [k]
    changes : int64 [C], places among the k candidates
    loss : float32 [1 + C, R], written in place
    """
    rows_total = x.shape[0]
    weights = block.reshape(-1, hidden)
    out_w = weights[out_row : out_row + n_out]
    out_b = block[(out_row + n_out) * hidden :]
    present = np.empty((BLOCK, table_row.shape[0]), np.uint8)
    for r in range(BLOCK):
        present[r] = parents
    h = np.empty((BLOCK, hidden), np.float32)
    a = np.zeros((BLOCK + 1, hidden), np.float32)
    logits = np.zeros((n_out, BLOCK + 1), np.float32)
    for begin in range(0, rows_total, BLOCK):
        rows = min(BLOCK, rows_total - begin)
        x_block, y_block = x[begin : begin + rows], y[begin : begin + rows]
        sample_hidden(weights, table_row, numeric, x_block, present, h, rows)
        activate(h, a, rows)
        outputs(a, out_w, out_b, logits, rows)
        losses(logits, gaussian, y_block, loss[0, begin : begin + rows], rows, False)
        for m in range(changes.shape[0]):
            c = changes[m]
            sign = f32(-1.0) if parents[c] else f32(1.0)
            for r in range(rows):
                if numeric[c]:
                    row = table_row[c]
                    slope = sign * x_block[r, c]
                    for u in range(hidden):
                        v = h[r, u] + slope * weights[row, u] + sign * weights[row + 1, u]
                        a[r, u] = max(v, LEAK * v)
                else:
                    row = table_row[c] + np.int64(x_block[r, c])
                    for u in range(hidden):
                        v = h[r, u] + sign * weights[row, u]
                        a[r, u] = max(v, LEAK * v)
            outputs(a, out_w, out_b, logits, rows)
            losses(logits, gaussian, y_block, loss[m + 1, begin : begin + rows], rows, False)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def residuals(
    block: F32, hidden: int, out_row: int, n_out: int, gaussian: bool, table_row: I64, numeric: U8, x: F32, y: F32,
    parents: U8, residual: F32,
) -> None:  # fmt: skip
    """Gradient of the loss of each row by the outputs, given exactly some parents.

    parents : uint8 [k]
    residual : float32 [R, levels], or [R, 1] for a continuous variable (by its mean only); written in place
    """
    rows_total = x.shape[0]
    weights = block.reshape(-1, hidden)
    out_w = weights[out_row : out_row + n_out]
    out_b = block[(out_row + n_out) * hidden :]
    present = np.empty((BLOCK, table_row.shape[0]), np.uint8)
    for r in range(BLOCK):
        present[r] = parents
    h = np.empty((BLOCK, hidden), np.float32)
    a = np.zeros((BLOCK + 1, hidden), np.float32)
    logits = np.zeros((n_out, BLOCK + 1), np.float32)
    loss = np.empty(BLOCK, np.float32)
    for begin in range(0, rows_total, BLOCK):
        rows = min(BLOCK, rows_total - begin)
        sample_hidden(weights, table_row, numeric, x[begin : begin + rows], present, h, rows)
        activate(h, a, rows)
        outputs(a, out_w, out_b, logits, rows)
        losses(logits, gaussian, y[begin : begin + rows], loss, rows, True)
        for r in range(rows):
            for k in range(residual.shape[1]):
                residual[begin + r, k] = logits[k, r]


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy")
def gather(table: Table, rows: I64, variables: I64, out: F32) -> None:
    """out[r, c] = variable `variables[c]` in row `rows[r]`: its level, or its value standardised and clipped."""
    for c in range(variables.shape[0]):
        i = variables[c]
        slot = table.slot[i]
        if table.numeric[i]:
            for r in range(rows.shape[0]):
                v = (table.reals[rows[r], slot] - table.center[i]) * table.inverse_scale[i]
                out[r, c] = min(max(v, -LARGEST_VALUE), LARGEST_VALUE)
        else:
            for r in range(rows.shape[0]):
                out[r, c] = table.codes[rows[r], slot]


@njit(cache=True, nogil=True, error_model="numpy")
def paired_effects_of(
    variables: I64, flat: F32, start: I64, hidden: int, output_row: I64, n_outputs: I64, table_row: I64,
    pair_start: I64, cause: I64, table: Table, rows: I64, threshold: U64, streams: U64, wanted: U8,
    effect: NDArray[np.float64], base: NDArray[np.float64],
) -> None:  # fmt: skip
    """`paired_effects` for several variables: a graph step then costs one trip through Python per thread."""
    y = np.empty((rows.shape[0], 1), np.float32)
    for j in variables:
        pairs = slice(pair_start[j], pair_start[j + 1])
        if not wanted[pairs].any():
            continue
        parents = cause[pairs]
        x = np.empty((rows.shape[0], parents.shape[0]), np.float32)
        gather(table, rows, parents, x)
        gather(table, rows, np.array([j]), y)
        base[j] = paired_effects(
            flat[start[j] : start[j + 1]], hidden, output_row[j], n_outputs[j], table.numeric[j] != 0,
            table_row[pairs], table.numeric[parents], x, y[:, 0], threshold[pairs], streams[j : j + 1],
            wanted[pairs], effect[pairs],
        )  # fmt: skip
