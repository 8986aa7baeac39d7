"""The network of one variable on a block of rows: forward, loss, and gradient.

Legend of the kernels, which take plain arrays:

=========  =================  ==========================================================================
name       shape              meaning
=========  =================  ==========================================================================
rows       R                  rows in the block (the buffers may be longer)
x          float32 [R, k]     each candidate parent: its level, or its standardised value if it is continuous
y          float32 [R]        the variable itself, likewise
numeric    uint8 [k]          whether each candidate parent is continuous
table_row  int64 [k]          row of `weights` where the table of each candidate parent starts; a continuous parent
                              has two rows, w and u, and contributes x w + u
threshold  uint64 [k]         edge probability times 2^32
present    uint8 [R, k]       the sampled graphs: one per row, restricted to edges into this variable
weights    float32 [*, H]     the variable's block seen as rows (see `layout`): row 0 is the hidden bias
h          float32 [R, H]     hidden sums before the activation
a          float32 [R, H]     LeakyReLU(h)
out_w      float32 [K, H]     output weights, `out_b` float32 [K] their biases
logits     float32 [K, R]     outputs, one row each so that loops run along rows: a logit per level, or mean and
                              log-variance of a continuous variable (`gaussian`)
=========  =================  ==========================================================================

Kernels that other kernels call are inlined by force: Numba links a separate callee differently when it comes from the
cache, and then the first run of a program and the second would not give the same bits.
"""

from math import log, log1p, pi

import numpy as np
from numpy.typing import NDArray

from enco._compile import njit
from enco.conditionals.continuous import LOG_VARIANCE_RANGE, TAIL_SCALE, TAIL_SHARE
from enco.conditionals.fused.random import next_bits
from enco.conditionals.fused.vector_math import FAST, LARGEST_LOGIT, fast_exp, fast_log

__all__ = ["LEAK", "backward", "losses", "outputs", "sample_hidden", "sample_present"]

f32 = np.float32
# Constants of the density of a continuous variable, see `enco.conditionals.continuous`.
_LOWEST, _HIGHEST = f32(LOG_VARIANCE_RANGE[0]), f32(LOG_VARIANCE_RANGE[1])
_NETWORK_TERM = f32(log1p(-TAIL_SHARE) - 0.5 * log(2 * pi))
_TAIL_TERM = f32(log(TAIL_SHARE / TAIL_SCALE) - 0.5 * log(2 * pi))
_TAIL_PRECISION = f32(0.5 / TAIL_SCALE**2)

LEAK = f32(0.1)  # slope of LeakyReLU below zero, as in the paper

F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]


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
def sample_hidden(weights: F32, table_row: I64, numeric: U8, x: F32, present: U8, h: F32, rows: int) -> None:
    """Hidden sums: the bias plus what each present parent contributes; work follows the parents present."""
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
def losses(logits: F32, gaussian: bool, y: F32, loss: F32, rows: int, differentiate: bool) -> None:
    """Negative log-likelihood per row; `differentiate` turns the logits into its gradient by them."""
    if gaussian:
        gaussian_losses(logits, y, loss, rows, differentiate)
    else:
        categorical_losses(logits, y, loss, rows, differentiate)


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def categorical_losses(logits: F32, y: F32, loss: F32, rows: int, differentiate: bool) -> None:
    """Log sum_k exp(logit_k) - logit_y per row; its gradient is softmax(logits) minus one at y."""
    n_out = logits.shape[0]
    for r in range(rows):
        loss[r] = -min(max(logits[np.int64(y[r]), r], -LARGEST_LOGIT), LARGEST_LOGIT)
    if differentiate:
        for k in range(n_out):
            for r in range(rows):
                logits[k, r] = fast_exp(logits[k, r])
        for r in range(rows):
            s = f32(0.0)
            for k in range(n_out):
                s += logits[k, r]
            loss[r] += fast_log(s)
            s = f32(1.0) / s
            for k in range(n_out):
                logits[k, r] *= s
            logits[np.int64(y[r]), r] -= f32(1.0)
    else:
        total = logits[n_out - 1]  # the last row doubles as the running sum of exponentials
        for r in range(rows):
            total[r] = fast_exp(total[r])
        for k in range(n_out - 1):
            for r in range(rows):
                total[r] += fast_exp(logits[k, r])
        for r in range(rows):
            loss[r] += fast_log(total[r])


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def gaussian_losses(logits: F32, y: F32, loss: F32, rows: int, differentiate: bool) -> None:
    """-log((1 - TAIL_SHARE) Normal(y; m, exp(s)) + TAIL_SHARE Normal(y; 0, TAIL_SCALE^2)) per row, logits = (m, s).

    With q the share of the first term in the sum and z^2 = (y - m)^2 exp(-s), the gradient is -q (y - m) exp(-s) by m
    and q (1 - z^2) / 2 by s; zero by s outside `LOG_VARIANCE_RANGE`.
    """
    for r in range(rows):
        m = logits[0, r]
        s = min(max(logits[1, r], _LOWEST), _HIGHEST)
        precision = fast_exp(-s)
        z2 = (y[r] - m) * (y[r] - m) * precision
        network = _NETWORK_TERM - f32(0.5) * (s + z2)
        tail = _TAIL_TERM - _TAIL_PRECISION * y[r] * y[r]
        larger = max(network, tail)
        total = fast_exp(network - larger) + fast_exp(tail - larger)
        loss[r] = -larger - fast_log(total)
        if differentiate:
            q = fast_exp(network - larger) / total
            inside = f32(s == logits[1, r])
            logits[0, r] = -q * (y[r] - m) * precision
            logits[1, r] = f32(0.5) * q * (f32(1.0) - z2) * inside


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def backward(
    table_row: I64, numeric: U8, x: F32, present: U8, h: F32, a: F32, out_w: F32, out_gradient: F32,
    gradient: F32, out_row: int, bias_gradient: F32, rows: int,
) -> None:  # fmt: skip
    """Add the gradient of the mean loss over a block to `gradient` (rows as in `weights`) and `bias_gradient`.

    `out_gradient` [K, R] is what `losses` made of the logits, and is divided by the number of rows; `h` becomes the
    gradient of h.
    """
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
        g = gradient[out_row + k]
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
            gradient[0, u] += g_h
        for c in range(table_row.shape[0]):
            if present[r, c] and numeric[c]:
                row = table_row[c]
                v = x[r, c]
                for u in range(hidden):
                    gradient[row, u] += v * h[r, u]
                    gradient[row + 1, u] += h[r, u]
            elif present[r, c]:
                row = table_row[c] + np.int64(x[r, c])
                for u in range(hidden):
                    gradient[row, u] += h[r, u]
