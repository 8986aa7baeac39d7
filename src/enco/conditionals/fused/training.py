"""Distribution fitting of one variable (Eq. 1): Adam on observational rows, parents dropped at random.

One call runs a whole stage of one variable, so that its weights and Adam moments stay in the processor's cache. Rows
held out from training decide when to stop and which weights to keep.
"""

import numpy as np

from enco._compile import njit
from enco.conditionals.fused.network import (
    F32,
    I64,
    LEAK,
    U8,
    U64,
    backward,
    losses,
    outputs,
    sample_hidden,
    sample_present,
)
from enco.conditionals.fused.random import next_bits
from enco.conditionals.fused.vector_math import FAST

__all__ = ["activate", "adam", "block_loss", "center_tables", "fit_variable"]

f32 = np.float32
CERTAIN = np.uint64(1 << 32)  # threshold of an edge that is always present
BLOCK = 128  # rows per pass; the buffers of one pass fit the first two cache levels


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def adam(
    weights: F32, gradient: F32, first: F32, second: F32, step: int, learning_rate: float, weight_decay: float
) -> None:
    """One Adam step (betas 0.9, 0.999; the decay is part of the gradient) over a flat block; clears the gradient."""
    beta1 = f32(0.9)
    beta2 = f32(0.999)
    correction1 = 1.0 - 0.9**step
    correction2 = 1.0 - 0.999**step
    rate = f32(learning_rate * np.sqrt(correction2) / correction1)
    floor = f32(1e-8 * np.sqrt(correction2))
    decay = f32(weight_decay)
    for i in range(weights.shape[0]):
        g = gradient[i] + decay * weights[i]
        m = beta1 * first[i] + (f32(1.0) - beta1) * g
        v = beta2 * second[i] + (f32(1.0) - beta2) * g * g
        first[i] = m
        second[i] = v
        weights[i] -= rate * m / (np.sqrt(v) + floor)
        gradient[i] = f32(0.0)


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def activate(h: F32, a: F32, rows: int) -> None:
    """LeakyReLU over a block."""
    for r in range(rows):
        for u in range(h.shape[1]):
            v = h[r, u]
            a[r, u] = max(v, LEAK * v)


@njit(cache=True, forceinline=True, nogil=True, error_model="numpy", fastmath=FAST)
def block_loss(
    block: F32, hidden: int, out_row: int, n_out: int, gaussian: bool, table_row: I64, numeric: U8, x: F32, y: F32,
    threshold: U64, stream: U64,
) -> float:  # fmt: skip
    """Mean loss over all rows of x, one sampled graph per row."""
    rows_total = x.shape[0]
    weights = block.reshape(-1, hidden)
    out_w = weights[out_row : out_row + n_out]
    out_b = block[(out_row + n_out) * hidden :]
    present = np.empty((BLOCK, table_row.shape[0]), np.uint8)
    h = np.empty((BLOCK, hidden), np.float32)
    a = np.zeros((BLOCK + 1, hidden), np.float32)
    logits = np.zeros((n_out, BLOCK + 1), np.float32)
    loss = np.empty(BLOCK, np.float32)
    total = 0.0
    for begin in range(0, rows_total, BLOCK):
        rows = min(BLOCK, rows_total - begin)
        x_block = x[begin : begin + rows]
        sample_present(stream, threshold, present, rows)
        sample_hidden(weights, table_row, numeric, x_block, present, h, rows)
        activate(h, a, rows)
        outputs(a, out_w, out_b, logits, rows)
        losses(logits, gaussian, y[begin : begin + rows], loss, rows, False)
        for r in range(rows):
            total += loss[r]
    return total / max(rows_total, 1)


@njit(cache=True, nogil=True, error_model="numpy")
def center_tables(weights: F32, out_row: int, table_row: I64, numeric: U8, x: F32, threshold: U64) -> None:
    """Give every categorical parent's table a zero mean over the rows of x; the hidden bias takes its share.

    A table's mean only shifts the hidden sum whenever the parent is present. Left in the table, it would be missed when
    the parent is toggled off, and a parent that says nothing could seem to matter. Centred, to be absent is to be
    average. Not so for continuous parents, nor for tables of continuous variables (which never come here): there the
    mean carries how much narrower a density gets once a parent is known, and centring would falsify its effect.
    """
    hidden = weights.shape[1]
    mean = np.empty(hidden, np.float32)
    for c in range(table_row.shape[0]):
        if numeric[c]:
            continue
        begin = table_row[c]
        end = table_row[c + 1] if c + 1 < table_row.shape[0] else out_row
        counts = np.zeros(end - begin, np.int64)
        for r in range(x.shape[0]):
            counts[np.int64(x[r, c])] += 1
        mean[:] = f32(0.0)
        for level in range(end - begin):
            share = f32(counts[level] / x.shape[0])
            for u in range(hidden):
                mean[u] += share * weights[begin + level, u]
        presence = f32(threshold[c] / 2.0**32)
        for u in range(hidden):
            weights[0, u] += presence * mean[u]
            for row in range(begin, end):
                weights[row, u] -= mean[u]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def fit_variable(
    block: F32, first: F32, second: F32, best: F32, gradient: F32, hidden: int, out_row: int, n_out: int,
    gaussian: bool, table_row: I64, numeric: U8, x: F32, y: F32, x_held: F32, y_held: F32, threshold: U64, stream: U64,
    counter: I64, steps: int, batch: int, learning_rate: float, weight_decay: float, check_every: int, patience: int,
) -> tuple[float, int]:  # fmt: skip
    """Train one variable for at most `steps` steps; returns (held-out loss of the kept weights, steps taken).

    block, first, second : float32 [size]
        Weights and Adam moments, changed in place.
    best, gradient : float32 [size]
        Work space; `gradient` must be zero.
    counter : int64 [1]
        Adam's step number, carried across stages.
    patience : int
        Looks at the held-out rows without improvement before training stops. 0: it never does, and the last weights
        are kept, not the best.
    """
    weights = block.reshape(-1, hidden)
    out_w = weights[out_row : out_row + n_out]
    out_b = block[(out_row + n_out) * hidden :]
    gradient_rows = gradient.reshape(-1, hidden)
    bias_gradient = gradient[(out_row + n_out) * hidden :]
    n_parents = table_row.shape[0]
    n_train = np.uint64(x.shape[0])
    present = np.empty((batch, n_parents), np.uint8)
    x_batch = np.empty((batch, n_parents), np.float32)
    y_batch = np.empty(batch, np.float32)
    h = np.empty((batch, hidden), np.float32)
    a = np.zeros((batch + 1, hidden), np.float32)
    logits = np.zeros((n_out, batch + 1), np.float32)
    loss = np.empty(batch, np.float32)
    # Parents that are certain need no draws: two sets of parents, one larger by one, then train on the same batches.
    certain = threshold.min() >= CERTAIN if n_parents else True
    present[:] = 1
    # The same graphs at every check of this stage: differences between checks are then differences of weights.
    held_stream = np.empty(1, np.uint64)
    held_state = next_bits(stream)
    held_stream[0] = held_state
    best_loss = block_loss(
        block, hidden, out_row, n_out, gaussian, table_row, numeric, x_held, y_held, threshold, held_stream
    )
    best[:] = block
    fruitless = 0
    taken = 0
    while taken < steps:
        for r in range(batch):
            row = np.int64(((next_bits(stream) >> np.uint64(32)) * n_train) >> np.uint64(32))
            y_batch[r] = y[row]
            for c in range(n_parents):
                x_batch[r, c] = x[row, c]
        if not certain:
            sample_present(stream, threshold, present, batch)
        sample_hidden(weights, table_row, numeric, x_batch, present, h, batch)
        activate(h, a, batch)
        outputs(a, out_w, out_b, logits, batch)
        losses(logits, gaussian, y_batch, loss, batch, True)
        backward(
            table_row, numeric, x_batch, present, h, a, out_w, logits, gradient_rows, out_row, bias_gradient, batch
        )
        counter[0] += 1
        adam(block, gradient, first, second, counter[0], learning_rate, weight_decay)
        taken += 1
        if (patience > 0 and taken % check_every == 0) or taken == steps:
            held_stream[0] = held_state
            held = block_loss(
                block, hidden, out_row, n_out, gaussian, table_row, numeric, x_held, y_held, threshold, held_stream
            )
            if held < best_loss or patience == 0:
                best_loss = held
                best[:] = block
                fruitless = 0
            else:
                fruitless += 1
                if fruitless >= patience:
                    break
    block[:] = best
    return best_loss, taken
