"""Compiled draws of categorical variables: one variable at a time, over a block of rows.

The kernels take their uniform numbers from outside, so they are pure functions: the same inputs give the same
codes on any number of threads. They release the interpreter lock, and the caller runs several blocks of rows
at once.

Legend: P categorical parents, Q continuous parents, H hidden units (a multiple of 8), C levels; p, q, k, c
run over them; r over the rows of a tile, s is the first row of the tile.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enco.system.compilation import njit

__all__ = ["TILE", "NetworkWeights", "draw_from_network", "draw_from_table"]

TILE = 128
"""Rows handled together: their hidden units and logits (about 50 kB) stay in the first cache levels."""

# 2^z for |z| <= 1/2: polynomial with relative error below 8e-8, about one unit in the last place of float32.
_E0 = np.float32(1.0000000716546718)
_E1 = np.float32(0.6931469670643607)
_E2 = np.float32(0.2402211972388168)
_E3 = np.float32(0.05550713274148661)
_E4 = np.float32(0.009675541332784213)
_E5 = np.float32(0.0013276471782304317)
_LOG2_E = np.float32(1.4426950408889634)
_LOWEST_POWER = np.float32(-126.0)  # 2^-126: the smallest normal number; below it a level never occurs anyway
_ZERO = np.float32(0.0)

# Sums are never reassociated, so the vector width does not change the result.
_MATH = {"contract", "nnan", "ninf", "nsz"}


class NetworkWeights(NamedTuple):
    """A network with one hidden layer.

    Shapes: offsets [P] (first table row of each categorical parent), tables [sum of levels, H], weights [Q, H],
    bias [H], out_weights [C, H], out_bias [C]; `slope` is that of the leaky rectifier below zero.
    """

    offsets: NDArray[np.int64]
    tables: NDArray[np.float32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    slope: np.float32
    out_weights: NDArray[np.float32]
    out_bias: NDArray[np.float32]


@njit(cache=True, nogil=True, fastmath=_MATH)
def draw_from_network(
    network: NetworkWeights,
    codes: NDArray[Any],
    reals: NDArray[np.float32],
    uniforms: NDArray[np.float32],
    drawn: NDArray[Any],
) -> None:
    """Draw levels from softmax(out_weights @ leaky_relu(hidden) + out_bias) by inverting the cumulative sum.

    hidden = bias + the sum of the table rows of the categorical parents + the weighted continuous parents.

    Shapes: codes [P, rows], reals [Q, rows], uniforms [rows] in [0, 1), drawn [rows] (the result).
    """
    offsets, tables, weights, bias, slope, out_weights, out_bias = network
    P, Q, H, C = codes.shape[0], reals.shape[0], bias.shape[0], out_bias.shape[0]
    hidden = np.empty(H, np.float32)
    active = np.empty((H, TILE), np.float32)  # unit by unit, so that the loops below run along the rows
    logits = np.empty((C, TILE), np.float32)
    highest = np.empty(TILE, np.float32)
    total = np.empty(TILE, np.float32)
    below = np.empty(TILE, np.int32)
    for s in range(0, uniforms.shape[0], TILE):
        n = min(TILE, uniforms.shape[0] - s)
        for r in range(n):
            for k in range(H):
                hidden[k] = bias[k]
            for p in range(P):
                row = tables[offsets[p] + codes[p, s + r]]
                for k in range(H):
                    hidden[k] += row[k]
            for q in range(Q):
                value = reals[q, s + r]
                for k in range(H):
                    hidden[k] += value * weights[q, k]
            for k in range(H):
                active[k, r] = max(hidden[k], slope * hidden[k])
        for c in range(C):
            logit = logits[c]
            for r in range(n):
                logit[r] = out_bias[c]
            for k in range(0, H, 8):  # eight units per pass: one load and store of the logits for eight products
                w0, w1, w2, w3 = (
                    out_weights[c, k], out_weights[c, k + 1], out_weights[c, k + 2], out_weights[c, k + 3]
                )  # fmt: skip
                w4, w5, w6, w7 = (
                    out_weights[c, k + 4], out_weights[c, k + 5], out_weights[c, k + 6], out_weights[c, k + 7]
                )  # fmt: skip
                a0, a1, a2, a3 = active[k], active[k + 1], active[k + 2], active[k + 3]
                a4, a5, a6, a7 = active[k + 4], active[k + 5], active[k + 6], active[k + 7]
                for r in range(n):
                    logit[r] += ((a0[r] * w0 + a1[r] * w1) + (a2[r] * w2 + a3[r] * w3)) + (
                        (a4[r] * w4 + a5[r] * w5) + (a6[r] * w6 + a7[r] * w7)
                    )
        for r in range(n):
            highest[r] = logits[0, r]
            total[r] = _ZERO
            below[r] = 0
        for c in range(1, C):
            logit = logits[c]
            for r in range(n):
                highest[r] = max(highest[r], logit[r])
        for c in range(C):  # logits become the running sum of exp(logit - highest)
            logit = logits[c]
            for r in range(n):
                power = max((logit[r] - highest[r]) * _LOG2_E, _LOWEST_POWER)
                whole = np.rint(power)
                z = power - whole
                fraction = _E0 + z * (_E1 + z * (_E2 + z * (_E3 + z * (_E4 + z * _E5))))
                # 2^whole by writing the exponent bits of a float32
                total[r] += fraction * np.int32((np.int32(whole) + 127) << 23).view(np.float32)
                logit[r] = total[r]
        for r in range(n):
            total[r] *= uniforms[s + r]
        for c in range(C - 1):
            logit = logits[c]
            for r in range(n):
                below[r] += np.int32(logit[r] <= total[r])
        for r in range(n):
            drawn[s + r] = below[r]


@njit(cache=True, nogil=True)
def draw_from_table(
    codes: NDArray[Any],
    strides: NDArray[np.int64],
    cumulative: NDArray[np.float32],
    uniforms: NDArray[np.float32],
    drawn: NDArray[Any],
) -> None:
    """Draw levels from a table of cumulative probabilities, one row per configuration of the parents.

    Shapes: codes [P, rows], strides [P] (configuration = sum of strides * codes), cumulative [configurations,
    C] whose last column is 1, uniforms [rows] in [0, 1), drawn [rows] (the result).
    """
    P, C = codes.shape[0], cumulative.shape[1]
    for r in range(uniforms.shape[0]):
        configuration = 0
        for p in range(P):
            configuration += strides[p] * codes[p, r]
        row = cumulative[configuration]
        below = 0
        for c in range(C - 1):
            below += 1 if row[c] <= uniforms[r] else 0
        drawn[r] = below
