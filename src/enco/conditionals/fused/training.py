"""Distribution fitting of one variable (Eq. 1): Adam on observational rows, parents dropped at random.

One call runs a whole stage of one variable, so that its weights and Adam moments stay in the processor's cache. Rows
held out from training decide when to stop and which weights to keep.
"""

from typing import NamedTuple

import numpy as np

from enco.conditionals.fused.network import (
    F32,
    I64,
    U64,
    Network,
    backward,
    compiled_like,
    forward,
    new_pass,
    sample_present,
)
from enco.conditionals.fused.random import next_bits
from enco.conditionals.heads import losses
from enco.conditionals.vector_math import FAST
from enco.system.compilation import njit

__all__ = ["Optimiser", "Sample", "Schedule", "adam", "block_loss", "center_tables", "fit_variable"]

f32 = np.float32
CERTAIN = np.uint64(1 << 32)  # threshold of an edge that is always present
BLOCK = 128  # rows per pass; the buffers of one pass fit the first two cache levels


class Optimiser(NamedTuple):
    """What training one variable carries from stage to stage, beside its weights; changed in place."""

    first: F32  # [size], Adam's moments
    second: F32  # [size]
    counter: I64  # [1], Adam's step number
    stream: U64  # [1], random numbers


class Sample(NamedTuple):
    """Rows that one variable trains on, and rows held out that decide when to stop."""

    x: F32  # [R, k]
    y: F32  # [R]
    x_held: F32
    y_held: F32


class Schedule(NamedTuple):
    """How long and how fast one variable trains."""

    steps: int  # at most
    batch: int  # rows per step
    learning_rate: float
    weight_decay: float
    check_every: int  # steps between looks at the rows held out
    patience: int  # looks without improvement before training stops; 0: never, and the last weights are kept
    averaged: int = 1  # steps over which the weights that are kept are averaged, about; 1 for those of one step


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
def block_loss(network: Network, x: F32, y: F32, threshold: U64, stream: U64) -> float:
    """Mean loss over all rows of x, one sampled graph per row."""
    rows_total = x.shape[0]
    work = new_pass(network, BLOCK)
    total = 0.0
    for begin in range(0, rows_total, BLOCK):
        rows = min(BLOCK, rows_total - begin)
        sample_present(stream, threshold, work.present, rows)
        forward(network, x[begin : begin + rows], work, rows)
        losses(network.head, work.logits, y[begin : begin + rows], work.loss, rows, False)
        for r in range(rows):
            total += work.loss[r]
    return total / max(rows_total, 1)


@njit(cache=True, nogil=True, error_model="numpy")
def center_tables(network: Network, x: F32, threshold: U64) -> None:
    """Give every categorical parent's table a zero mean over the rows of x; the hidden bias takes its share.

    A table's mean only shifts the hidden sum whenever the parent is present. Left in the table, it would be missed when
    the parent is toggled off, and a parent that says nothing could seem to matter. Centred, to be absent is to be
    average. Not so for parents that are numbers, nor for tables of variables whose head is not `centred` (which never
    come here): there the mean carries how much narrower a density gets once a parent is known, and centring would
    falsify its effect.
    """
    weights, table_row = network.weights, network.table_row
    hidden = weights.shape[1]
    mean = np.empty(hidden, np.float32)
    for c in range(table_row.shape[0]):
        if network.numeric[c]:
            continue
        begin = table_row[c]
        end = table_row[c + 1] if c + 1 < table_row.shape[0] else network.out_row
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
    network: Network, optimiser: Optimiser, sample: Sample, threshold: U64, schedule: Schedule
) -> tuple[float, int]:
    """Train one variable; returns (held-out loss of the kept weights, steps taken)."""
    x, y, stream = sample.x, sample.y, optimiser.stream
    steps, batch, patience = schedule.steps, schedule.batch, schedule.patience
    n_parents = network.table_row.shape[0]
    n_train = np.uint64(x.shape[0])
    weights = network.weights.reshape(-1)
    flat_gradient = np.zeros_like(weights)
    gradient = compiled_like(network, flat_gradient)
    work = new_pass(network, batch)
    x_batch = np.empty((batch, n_parents), np.float32)
    y_batch = np.empty(batch, np.float32)
    # Parents that are certain need no draws: two sets of parents, one larger by one, then train on the same batches.
    certain = threshold.min() >= CERTAIN if n_parents else True
    work.present[:] = 1
    # The same graphs at every check of this stage: differences between checks are then differences of weights.
    held_stream = np.empty(1, np.uint64)
    held_state = next_bits(stream)
    held_stream[0] = held_state
    average = weights.copy()
    candidate = compiled_like(network, average)
    best_loss = block_loss(candidate, sample.x_held, sample.y_held, threshold, held_stream)
    best = weights.copy()
    fruitless = 0
    taken = 0
    while taken < steps:
        for r in range(batch):
            row = np.int64(((next_bits(stream) >> np.uint64(32)) * n_train) >> np.uint64(32))
            y_batch[r] = y[row]
            for c in range(n_parents):
                x_batch[r, c] = x[row, c]
        if not certain:
            sample_present(stream, threshold, work.present, batch)
        forward(network, x_batch, work, batch)
        losses(network.head, work.logits, y_batch, work.loss, batch, True)
        backward(network, gradient, x_batch, work, batch)
        optimiser.counter[0] += 1
        adam(
            weights, flat_gradient, optimiser.first, optimiser.second, optimiser.counter[0], schedule.learning_rate,
            schedule.weight_decay,
        )  # fmt: skip
        taken += 1
        if schedule.averaged > 1:
            share = f32(1.0 / min(taken, schedule.averaged))
            for i in range(weights.shape[0]):
                average[i] += share * (weights[i] - average[i])
        if (patience > 0 and taken % schedule.check_every == 0) or taken == steps:
            held_stream[0] = held_state
            if schedule.averaged <= 1:
                average[:] = weights
            held = block_loss(candidate, sample.x_held, sample.y_held, threshold, held_stream)
            if held < best_loss or patience == 0:
                best_loss = held
                best[:] = average
                fruitless = 0
            else:
                fruitless += 1
                if fruitless >= patience:
                    break
    weights[:] = best
    return best_loss, taken
