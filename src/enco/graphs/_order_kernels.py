"""Compiled kernels of the order step: exact programming, insertion search, a bound, a greedy extension.

All of them work on an antisymmetric weight matrix w [n, n] and maximise the sum over positions a < b of
w[order[a], order[b]]. They are deterministic: the same matrix gives the same bits on any machine and
thread count.

Legend: n variables, w weights, S a subset as bits, v and u variables, p and q positions.
"""

import numpy as np
from numpy.typing import NDArray

from enco.system.compilation import njit

__all__ = ["cycle_packing_bound", "exact_order", "greedy_extension", "insertion_search", "iterated_search"]


@njit(cache=True)
def exact_order(w: NDArray[np.float64]) -> NDArray[np.intp]:
    """Best order by dynamic programming over subsets, in 2^n n steps.

    best[S] is the best value of an order of S; the last variable v of S adds the sum of w[u, v] over the
    other u in S. That sum is read from two tables over half of the bits each, so it costs one addition.
    """
    n = w.shape[0]
    half = n // 2
    low_mask = (1 << half) - 1
    low, high = _subset_sums(w[:half]), _subset_sums(w[half:])
    best = np.empty(1 << n, dtype=np.float64)
    best[0] = 0.0
    for subset in range(1, 1 << n):
        value = -np.inf
        for v in range(n):
            if subset >> v & 1:
                rest = subset ^ (1 << v)
                value = max(value, best[rest] + low[rest & low_mask, v] + high[rest >> half, v])
        best[subset] = value
    order = np.empty(n, dtype=np.intp)
    subset = (1 << n) - 1
    for position in range(n - 1, -1, -1):
        # The same sums as above, hence the same bits: equality finds the choice; of tied ones, the
        # highest index goes last.
        for v in range(n - 1, -1, -1):
            if subset >> v & 1:
                rest = subset ^ (1 << v)
                if best[rest] + low[rest & low_mask, v] + high[rest >> half, v] == best[subset]:
                    order[position] = v
                    subset = rest
                    break
    return order


@njit(cache=True)
def _subset_sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of the rows in every subset, [2^rows, n]."""
    k, n = rows.shape
    sums = np.zeros((1 << k, n), dtype=np.float64)
    for member in range(k):
        bit = 1 << member
        for subset in range(bit):
            for v in range(n):
                sums[bit | subset, v] = sums[subset, v] + rows[member, v]
    return sums


@njit(cache=True)
def insertion_search(
    w: NDArray[np.float64], order: NDArray[np.intp], before: NDArray[np.bool_], max_work: int
) -> tuple[float, int]:
    """Move single variables to their best position, in place, until no move helps or the work is used up.

    A variable never moves past one that it must precede or follow: before[v, u] says that v comes before
    u; an empty matrix [0, 0] means no such demands. Returns the gain and the work done (positions looked
    at).
    """
    n = w.shape[0]
    constrained = before.shape[0] > 0
    threshold = 1e-12 * max(np.max(np.abs(w)), 1e-300)
    position = np.empty(n, dtype=np.intp)
    for p in range(n):
        position[order[p]] = p
    total_gain = 0.0
    work = 0
    unmoved = 0
    v = 0
    while unmoved < n and work < max_work:
        start = position[v]
        best_gain, best_position = threshold, start
        gain = 0.0
        for p in range(start - 1, -1, -1):
            u = order[p]
            if constrained and before[u, v]:
                break
            gain += 2.0 * w[v, u]
            if gain > best_gain:
                best_gain, best_position = gain, p
        gain = 0.0
        for p in range(start + 1, n):
            u = order[p]
            if constrained and before[v, u]:
                break
            gain -= 2.0 * w[v, u]
            if gain > best_gain:
                best_gain, best_position = gain, p
        work += n
        if best_position == start:
            unmoved += 1
        else:
            unmoved = 0
            total_gain += best_gain
            _move(order, position, start, best_position)
        v = v + 1 if v + 1 < n else 0
    return total_gain, work


@njit(cache=True)
def _move(order: NDArray[np.intp], position: NDArray[np.intp], start: int, end: int) -> None:
    v = order[start]
    step = 1 if end > start else -1
    for p in range(start, end, step):
        order[p] = order[p + step]
        position[order[p]] = p
    order[end] = v
    position[v] = end


@njit(cache=True)
def iterated_search(w: NDArray[np.float64], order: NDArray[np.intp], max_work: int) -> NDArray[np.intp]:
    """Search from the given order, then again and again from small disturbances of the best order found.

    The disturbances come from a fixed pseudo-random sequence, and the effort is counted in work, not in
    seconds, so that the answer is always the same.
    """
    n = w.shape[0]
    free = np.zeros((0, 0), dtype=np.bool_)
    best = order.copy()
    _, work = insertion_search(w, best, free, max_work)
    state = np.uint64(0x9E3779B97F4A7C15)
    trial = np.empty_like(best)
    position = np.empty(n, dtype=np.intp)
    while work < max_work:
        trial[:] = best
        for p in range(n):
            position[trial[p]] = p
        state = _next_random(state)
        n_moves = 2 + int(_bounded(state, 4 + n // 20))
        change = 0.0
        for _ in range(n_moves):
            state = _next_random(state)
            start = int(_bounded(state, n))
            state = _next_random(state)
            end = int(_bounded(state, n))
            change += _gain_of_move(w, trial, start, end)
            _move(trial, position, start, end)
        gain, done = insertion_search(w, trial, free, max_work - work)
        work += done + n
        # Equal values are accepted too: wandering along a plateau is how the search leaves it.
        if change + gain >= 0.0:
            best[:] = trial
    return best


@njit(cache=True)
def _gain_of_move(w: NDArray[np.float64], order: NDArray[np.intp], start: int, end: int) -> float:
    v = order[start]
    gain = 0.0
    for p in range(end, start):
        gain += 2.0 * w[v, order[p]]
    for p in range(start + 1, end + 1):
        gain -= 2.0 * w[v, order[p]]
    return gain


@njit(cache=True)
def _next_random(state: np.uint64) -> np.uint64:
    """Xorshift with 64 bits of state (Marsaglia, 2003)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(cache=True)
def _bounded(state: np.uint64, bound: int) -> np.uint64:
    return (state >> np.uint64(11)) % np.uint64(bound)


@njit(cache=True)
def cycle_packing_bound(w: NDArray[np.float64], order: NDArray[np.intp]) -> float:
    """Weight that every order must give up, by packing 3-cycles around the backward pairs of this order.

    Every order breaks each cycle u -> v -> c -> u at least once. Each backward pair takes weight from the
    two forward pairs that close a cycle with it, and weight once taken is not taken again, so the sum of
    what is taken is a lower bound on the weight that any order violates.
    """
    n = w.shape[0]
    rest = np.empty((n, n), dtype=np.float64)
    for a in range(n):
        for b in range(n):
            rest[a, b] = w[order[a], order[b]]
    packed = 0.0
    # Short backward pairs have the fewest cycles to choose from, so they choose first.
    for span in range(2, n):
        for a in range(n - span):
            b = a + span
            missing = -rest[a, b]
            for c in range(a + 1, b):
                if missing <= 0.0:
                    break
                taken = min(missing, min(rest[a, c], rest[c, b]))
                if taken > 0.0:
                    rest[a, c] -= taken
                    rest[c, b] -= taken
                    missing -= taken
                    packed += taken
    return packed


@njit(cache=True)
def greedy_extension(w: NDArray[np.float64], before: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Make an order that respects `before` (acyclic): next is always the free variable of most weight.

    The weight of v is the sum of w[v, u] over all u not yet placed; of tied ones, the lowest index goes
    first.
    """
    n = w.shape[0]
    order = np.empty(n, dtype=np.intp)
    waiting_for = np.zeros(n, dtype=np.intp)
    weight = np.zeros(n, dtype=np.float64)
    for v in range(n):
        for u in range(n):
            weight[v] += w[v, u]
            if before[u, v]:
                waiting_for[v] += 1
    for p in range(n):
        chosen = -1
        for v in range(n):
            if waiting_for[v] == 0 and (chosen < 0 or weight[v] > weight[chosen]):
                chosen = v
        order[p] = chosen
        waiting_for[chosen] = -1
        for u in range(n):
            weight[u] -= w[u, chosen]
            if before[chosen, u]:
                waiting_for[u] -= 1
    return order
