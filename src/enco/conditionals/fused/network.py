"""The network of one variable on a block of rows: from hidden sums to outputs, and back to gradients.

What the outputs mean, their loss and its gradient are a matter of `enco.conditionals.heads`.

Kernels take the network of a variable as one `Network`, and the buffers of a pass over some rows as one `Pass`. The
rest of the legend:

=========  =================  ==========================================================================
name       shape              meaning
=========  =================  ==========================================================================
rows       R                  rows in the block (the buffers may be longer)
x          float32 [R, k]     each candidate parent: its level, or its standardised value if it is numeric
y          float32 [R]        the variable itself, likewise
threshold  uint64 [k]         edge probability times 2^32
=========  =================  ==========================================================================

Kernels that other kernels call are inlined by force: Numba links a separate callee differently when it comes from the
cache, and then the first run of a program and the second would not give the same bits.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.fused.random import next_bits
from enco.conditionals.vector_math import FAST
from enco.system.compilation import njit

__all__ = [
    "LEAK",
    "Network",
    "Networks",
    "Pass",
    "activate",
    "backward",
    "forward",
    "like",
    "network_of",
    "new_pass",
    "outputs",
    "sample_hidden",
    "sample_present",
    "toggle",
]

f32 = np.float32
LEAK = f32(0.1)  # slope of LeakyReLU below zero, as in the paper

F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]


class Network(NamedTuple):
    """The network of one variable: its block of weights seen as rows (see `layout`), and what the rows are."""

    weights: F32  # [*, H]: the hidden bias, tables of the candidate parents, output weights, output biases
    out_row: int  # row where the output weights start
    out_w: F32  # [K, H], the output weights
    out_b: F32  # [at least K], their biases
    head: int  # code of the head, which says what the outputs mean
    table_row: I64  # [k], row where the table of each candidate parent starts
    numeric: U8  # [k], whether a candidate parent is a number x, with two rows w and u that contribute x w + u


class Networks(NamedTuple):
    """The networks of all N variables, one after the other, and their P candidate pairs."""

    flat: F32  # all blocks
    start: I64  # [N + 1], where each block starts
    hidden: int  # H
    out_row: I64  # [N]
    n_outputs: I64  # [N]
    head: I64  # [N]
    numeric: U8  # [N]
    table_row: I64  # [P]
    pair_start: I64  # [N + 1], first candidate pair into each variable
    cause: I64  # [P]


class Pass(NamedTuple):
    """Buffers of one pass through a network."""

    present: U8  # [R, k], the sampled graphs: one per row, restricted to edges into this variable
    h: F32  # [R, H], hidden sums before the activation
    a: F32  # [R + 1, H], LeakyReLU(h)
    logits: F32  # [K, R + 1], outputs, one row each so that loops run along rows
    loss: F32  # [R]


def like(network: Network, block: F32) -> Network:
    """Return a network of the same shape over other numbers: another block of weights, or its gradient."""
    hidden, n_out = network.weights.shape[1], network.out_w.shape[0]
    rows = block.reshape(-1, hidden)
    first_bias = network.out_row + n_out
    return Network(
        rows,
        network.out_row,
        rows[network.out_row : first_bias],
        block[first_bias * hidden :],
        network.head,
        network.table_row,
        network.numeric,
    )


def network_of(networks: Networks, j: int) -> Network:
    """Return the network of one variable."""
    block = networks.flat[networks.start[j] : networks.start[j + 1]]
    rows = block.reshape(-1, networks.hidden)
    out_row = networks.out_row[j]
    first_bias = out_row + networks.n_outputs[j]
    pairs = slice(networks.pair_start[j], networks.pair_start[j + 1])
    return Network(
        rows,
        out_row,
        rows[out_row:first_bias],
        block[first_bias * networks.hidden :],
        networks.head[j],
        networks.table_row[pairs],
        networks.numeric[networks.cause[pairs]],
    )


compiled_like = njit(forceinline=True, nogil=True, error_model="numpy")(like)
compiled_network_of = njit(forceinline=True, nogil=True, error_model="numpy")(network_of)


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy")
def new_pass(network: Network, rows: int) -> Pass:
    """Buffers for so many rows; `outputs` computes rows in pairs, hence one to spare."""
    n_out, hidden = network.out_w.shape
    return Pass(
        np.empty((rows, network.table_row.shape[0]), np.uint8),
        np.empty((rows, hidden), np.float32),
        np.zeros((rows + 1, hidden), np.float32),
        np.zeros((n_out, rows + 1), np.float32),
        np.empty(rows, np.float32),
    )


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy")
def sample_present(stream: U64, threshold: U64, present: U8, rows: int) -> None:
    """Draw one graph per row: present[r, c] ~ Bernoulli(threshold[c] / 2^32)."""
    count = threshold.shape[0]
    low = np.uint64(0xFFFFFFFF)
    for r in range(rows):
        c = 0
        while c + 1 < count:  # one 64-bit draw decides two edges
            bits = next_bits(stream)
            present[r, c] = (bits & low) < threshold[c]
            present[r, c + 1] = (bits >> np.uint64(32)) < threshold[c + 1]
            c += 2
        if c < count:
            present[r, c] = (next_bits(stream) & low) < threshold[c]


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def sample_hidden(network: Network, x: F32, present: U8, h: F32, rows: int) -> None:
    """Hidden sums: the bias plus what each present parent contributes; work follows the parents present."""
    weights, table_row, numeric = network.weights, network.table_row, network.numeric
    hidden = weights.shape[1]
    for r in range(rows):
        for u in range(hidden):
            h[r, u] = weights[0, u]
        for c in range(table_row.shape[0]):
            if present[r, c] and numeric[c]:
                row = table_row[c]
                v = x[r, c]
                for u in range(hidden):
                    h[r, u] += v * weights[row, u] + weights[row + 1, u]
            elif present[r, c]:
                row = table_row[c] + np.int64(x[r, c])
                for u in range(hidden):
                    h[r, u] += weights[row, u]


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def activate(h: F32, a: F32, rows: int) -> None:
    """LeakyReLU over a block."""
    for r in range(rows):
        for u in range(h.shape[1]):
            v = h[r, u]
            a[r, u] = max(v, LEAK * v)


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def toggle(network: Network, x: F32, present: U8, h: F32, a: F32, c: int, rows: int) -> None:
    """LeakyReLU of the hidden sums with candidate c taken out where it is present, and put in where it is not."""
    weights, hidden = network.weights, network.weights.shape[1]
    for r in range(rows):
        sign = f32(-1.0) if present[r, c] else f32(1.0)
        if network.numeric[c]:
            row = network.table_row[c]
            slope = sign * x[r, c]
            for u in range(hidden):
                v = h[r, u] + slope * weights[row, u] + sign * weights[row + 1, u]
                a[r, u] = max(v, LEAK * v)
        else:
            row = network.table_row[c] + np.int64(x[r, c])
            for u in range(hidden):
                v = h[r, u] + sign * weights[row, u]
                a[r, u] = max(v, LEAK * v)


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def outputs(a: F32, out_w: F32, out_b: F32, logits: F32, rows: int) -> None:
    """logits[k, r] = out_w[k] . a[r] + out_b[k].

    Two rows times five outputs per pass keep ten sums in registers, which is what saturates the multipliers.
    The buffer `a` has one row to spare, so that an odd last row is computed with a harmless neighbour.
    """
    hidden = a.shape[1]
    n_out = out_w.shape[0]
    for r in range(0, rows, 2):
        k = 0
        while k + 5 <= n_out:
            s0 = s1 = s2 = s3 = s4 = t0 = t1 = t2 = t3 = t4 = f32(0.0)
            for u in range(hidden):
                p = a[r, u]
                q = a[r + 1, u]
                s0 += p * out_w[k, u]
                s1 += p * out_w[k + 1, u]
                s2 += p * out_w[k + 2, u]
                s3 += p * out_w[k + 3, u]
                s4 += p * out_w[k + 4, u]
                t0 += q * out_w[k, u]
                t1 += q * out_w[k + 1, u]
                t2 += q * out_w[k + 2, u]
                t3 += q * out_w[k + 3, u]
                t4 += q * out_w[k + 4, u]
            logits[k, r] = s0 + out_b[k]
            logits[k + 1, r] = s1 + out_b[k + 1]
            logits[k + 2, r] = s2 + out_b[k + 2]
            logits[k + 3, r] = s3 + out_b[k + 3]
            logits[k + 4, r] = s4 + out_b[k + 4]
            logits[k, r + 1] = t0 + out_b[k]
            logits[k + 1, r + 1] = t1 + out_b[k + 1]
            logits[k + 2, r + 1] = t2 + out_b[k + 2]
            logits[k + 3, r + 1] = t3 + out_b[k + 3]
            logits[k + 4, r + 1] = t4 + out_b[k + 4]
            k += 5
        while k < n_out:
            s0 = t0 = f32(0.0)
            for u in range(hidden):
                s0 += a[r, u] * out_w[k, u]
                t0 += a[r + 1, u] * out_w[k, u]
            logits[k, r] = s0 + out_b[k]
            logits[k, r + 1] = t0 + out_b[k]
            k += 1


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def forward(network: Network, x: F32, work: Pass, rows: int) -> None:
    """From rows and the graphs in `work` to hidden sums, activations and outputs."""
    sample_hidden(network, x, work.present, work.h, rows)
    activate(work.h, work.a, rows)
    outputs(work.a, network.out_w, network.out_b, work.logits, rows)


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def backward(network: Network, gradient: Network, x: F32, work: Pass, rows: int) -> None:
    """Add the gradient of the mean loss over a block to `gradient`, which has the shape of the network.

    `work.logits` is what `losses` made of it, the gradient by the outputs, and is divided by the number of rows;
    `work.h` becomes the gradient of h.
    """
    table_row, numeric, out_w = network.table_row, network.numeric, network.out_w
    present, h, a, out_gradient = work.present, work.h, work.a, work.logits
    table_gradient, bias_gradient = gradient.weights, gradient.out_b
    hidden = h.shape[1]
    n_out = out_w.shape[0]
    scale = f32(1.0) / f32(rows)
    for k in range(n_out):
        s = f32(0.0)
        for r in range(rows):
            d = out_gradient[k, r] * scale
            out_gradient[k, r] = d
            s += d
        bias_gradient[k] += s
    even = rows - rows % 4
    for k in range(n_out):
        g = gradient.out_w[k]
        for r in range(0, even, 4):
            d0 = out_gradient[k, r]
            d1 = out_gradient[k, r + 1]
            d2 = out_gradient[k, r + 2]
            d3 = out_gradient[k, r + 3]
            for u in range(hidden):
                g[u] += d0 * a[r, u] + d1 * a[r + 1, u] + d2 * a[r + 2, u] + d3 * a[r + 3, u]
        for r in range(even, rows):
            d0 = out_gradient[k, r]
            for u in range(hidden):
                g[u] += d0 * a[r, u]
    for r in range(rows):
        # `a` is no longer needed for this row: it collects the gradient of a, then of h.
        for u in range(hidden):
            a[r, u] = out_gradient[0, r] * out_w[0, u]
        k = 1
        while k + 3 <= n_out:
            d0 = out_gradient[k, r]
            d1 = out_gradient[k + 1, r]
            d2 = out_gradient[k + 2, r]
            for u in range(hidden):
                a[r, u] += d0 * out_w[k, u] + d1 * out_w[k + 1, u] + d2 * out_w[k + 2, u]
            k += 3
        while k < n_out:
            d0 = out_gradient[k, r]
            for u in range(hidden):
                a[r, u] += d0 * out_w[k, u]
            k += 1
        for u in range(hidden):
            g_h = a[r, u] * (f32(1.0) if h[r, u] > f32(0.0) else LEAK)
            h[r, u] = g_h
            table_gradient[0, u] += g_h
        for c in range(table_row.shape[0]):
            if present[r, c] and numeric[c]:
                row = table_row[c]
                v = x[r, c]
                for u in range(hidden):
                    table_gradient[row, u] += v * h[r, u]
                    table_gradient[row + 1, u] += h[r, u]
            elif present[r, c]:
                row = table_row[c] + np.int64(x[r, c])
                for u in range(hidden):
                    table_gradient[row, u] += h[r, u]
