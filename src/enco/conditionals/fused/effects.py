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

from enco.conditionals.continuous import LARGEST_VALUE
from enco.conditionals.fused.network import (
    F32,
    I64,
    U8,
    U64,
    Network,
    Networks,
    activate,
    compiled_network_of,
    forward,
    new_pass,
    outputs,
    sample_hidden,
    sample_present,
    toggle,
)
from enco.conditionals.heads import losses
from enco.conditionals.vector_math import FAST
from enco.system.compilation import njit

__all__ = ["Table", "change_losses", "gather", "graph_losses", "paired_effects", "paired_effects_of", "residuals"]


class Table(NamedTuple):
    """Rows of one regime, and how to read each of N variables from them."""

    codes: NDArray[Any]  # [rows, categorical columns]
    reals: NDArray[np.float32]  # [rows, continuous columns]
    slot: I64  # [N], column within the block of its kind
    numeric: U8  # [N], whether it is a number
    logarithmic: U8  # [N], whether it is a number whose logarithm is read
    center: NDArray[np.float64]  # [N], of numbers
    inverse_scale: NDArray[np.float64]  # [N]


BLOCK = 32  # rows toggled per pass through the output layer: activations of one pass stay in the first cache level


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def paired_effects(
    network: Network, x: F32, y: F32, threshold: U64, stream: U64, wanted: U8, effect: NDArray[np.float64]
) -> float:
    """Mean paired edge effect of every wanted candidate parent over the rows of x; returns the mean base loss.

    wanted : uint8 [k]
        Candidates to evaluate; the others keep their value in `effect`.
    effect : float64 [k]
        Written in place.
    """
    rows_total, n_parents = x.shape
    present = np.empty((rows_total, n_parents), np.uint8)
    h = np.empty((rows_total, network.weights.shape[1]), np.float32)
    base = np.empty(rows_total, np.float32)
    work = new_pass(network, BLOCK)
    a, logits, loss = work.a, work.logits, work.loss

    sample_present(stream, threshold, present, rows_total)
    sample_hidden(network, x, present, h, rows_total)
    mean_base = 0.0
    for begin in range(0, rows_total, BLOCK):
        rows = min(BLOCK, rows_total - begin)
        activate(h[begin : begin + rows], a, rows)
        outputs(a, network.out_w, network.out_b, logits, rows)
        losses(network.head, logits, y[begin : begin + rows], base[begin : begin + rows], rows, False)
        for r in range(rows):
            mean_base += base[begin + r]

    # Parent by parent, so that one parent's table stays in cache while all rows toggle it.
    for c in range(n_parents):
        if not wanted[c]:
            continue
        total = 0.0
        for begin in range(0, rows_total, BLOCK):
            rows = min(BLOCK, rows_total - begin)
            end = begin + rows
            toggle(network, x[begin:end], present[begin:end], h[begin:end], a, c, rows)
            outputs(a, network.out_w, network.out_b, logits, rows)
            losses(network.head, logits, y[begin:end], loss, rows, False)
            for r in range(rows):
                difference = loss[r] - base[begin + r]
                total += -difference if present[begin + r, c] else difference
        effect[c] = total / rows_total
    return mean_base / rows_total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def graph_losses(network: Network, x: F32, y: F32, graphs: U8, mean_loss: F32) -> None:
    """Mean loss over the rows of x under each of G graphs shared by all rows (the paper's estimator, Algorithm 1).

    graphs : uint8 [G, k]
    mean_loss : float32 [G], written in place
    """
    rows_total = x.shape[0]
    work = new_pass(network, BLOCK)
    for g in range(graphs.shape[0]):
        for r in range(BLOCK):
            work.present[r] = graphs[g]
        total = 0.0
        for begin in range(0, rows_total, BLOCK):
            rows = min(BLOCK, rows_total - begin)
            forward(network, x[begin : begin + rows], work, rows)
            losses(network.head, work.logits, y[begin : begin + rows], work.loss, rows, False)
            for r in range(rows):
                total += work.loss[r]
        mean_loss[g] = total / rows_total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def change_losses(network: Network, x: F32, y: F32, parents: U8, changes: I64, loss: F32) -> None:
    """Loss of each row given exactly some parents, and with one of them, or of the others, toggled.

    parents : uint8 [k]
    changes : int64 [C], places among the k candidates
    loss : float32 [1 + C, R], written in place
    """
    rows_total = x.shape[0]
    work = new_pass(network, BLOCK)
    for r in range(BLOCK):
        work.present[r] = parents
    for begin in range(0, rows_total, BLOCK):
        rows = min(BLOCK, rows_total - begin)
        end = begin + rows
        forward(network, x[begin:end], work, rows)
        losses(network.head, work.logits, y[begin:end], loss[0, begin:end], rows, False)
        for m in range(changes.shape[0]):
            toggle(network, x[begin:end], work.present, work.h, work.a, changes[m], rows)
            outputs(work.a, network.out_w, network.out_b, work.logits, rows)
            losses(network.head, work.logits, y[begin:end], loss[m + 1, begin:end], rows, False)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def residuals(network: Network, x: F32, y: F32, parents: U8, residual: F32) -> None:
    """Gradient of the loss of each row by the outputs, given exactly some parents.

    parents : uint8 [k]
    residual : float32 [R, k], by the first k outputs; written in place
    """
    rows_total = x.shape[0]
    work = new_pass(network, BLOCK)
    for r in range(BLOCK):
        work.present[r] = parents
    for begin in range(0, rows_total, BLOCK):
        rows = min(BLOCK, rows_total - begin)
        forward(network, x[begin : begin + rows], work, rows)
        losses(network.head, work.logits, y[begin : begin + rows], work.loss, rows, True)
        for r in range(rows):
            for k in range(residual.shape[1]):
                residual[begin + r, k] = work.logits[k, r]


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy")
def gather(table: Table, rows: I64, variables: I64, out: F32) -> None:
    """out[r, c] = variable `variables[c]` in row `rows[r]`: its level, or its value as `Reading` says."""
    for c in range(variables.shape[0]):
        i = variables[c]
        slot = table.slot[i]
        if table.logarithmic[i]:
            for r in range(rows.shape[0]):
                v = np.log1p(table.reals[rows[r], slot])
                out[r, c] = min(max(v, -LARGEST_VALUE), LARGEST_VALUE)
        elif table.numeric[i]:
            for r in range(rows.shape[0]):
                v = (table.reals[rows[r], slot] - table.center[i]) * table.inverse_scale[i]
                out[r, c] = min(max(v, -LARGEST_VALUE), LARGEST_VALUE)
        else:
            for r in range(rows.shape[0]):
                out[r, c] = table.codes[rows[r], slot]


@njit(cache=True, nogil=True, error_model="numpy")
def paired_effects_of(
    variables: I64, networks: Networks, table: Table, rows: I64, threshold: U64, streams: U64, wanted: U8,
    effect: NDArray[np.float64],
) -> None:  # fmt: skip
    """`paired_effects` for several variables: a graph step then costs one trip through Python per thread."""
    y = np.empty((rows.shape[0], 1), np.float32)
    for j in variables:
        pairs = slice(networks.pair_start[j], networks.pair_start[j + 1])
        if not wanted[pairs].any():
            continue
        network = compiled_network_of(networks, j)
        x = np.empty((rows.shape[0], network.table_row.shape[0]), np.float32)
        gather(table, rows, networks.cause[pairs], x)
        gather(table, rows, np.array([j]), y)
        paired_effects(network, x, y[:, 0], threshold[pairs], streams[j : j + 1], wanted[pairs], effect[pairs])
