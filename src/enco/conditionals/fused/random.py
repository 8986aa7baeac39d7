"""Counter-based random streams: one 64-bit state per variable, so results do not depend on threads.

The generator is SplitMix64 (Steele, Lea and Flood 2014): the state advances by a constant and every output is a hash of
the state, so that the processor overlaps consecutive draws. A stream is its state: copying the number forks the
stream, saving the number saves the stream.
"""

import numpy as np
from numpy.typing import NDArray

from enco.system.compilation import njit

__all__ = ["mix", "new_streams", "next_bits"]

u64 = np.uint64
_STEP = u64(0x9E3779B97F4A7C15)


@njit(inline="always", error_model="numpy")
def mix(z: np.uint64) -> np.uint64:
    """Hash of one 64-bit number."""
    z = (z ^ (z >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> u64(27))) * u64(0x94D049BB133111EB)
    return z ^ (z >> u64(31))


@njit(inline="always", error_model="numpy")
def next_bits(stream: NDArray[np.uint64]) -> np.uint64:
    """Advance a stream, a writable array of one number, and return 64 random bits."""
    stream[0] = stream[0] + _STEP
    return mix(stream[0])


def new_streams(seed: int, count: int) -> NDArray[np.uint64]:
    """Independent streams from one seed.

    Examples
    --------
    >>> new_streams(0, 3).shape
    (3,)
    >>> bool((new_streams(0, 3) == new_streams(0, 3)).all())
    True
    """
    return np.random.SeedSequence(seed).generate_state(count, np.uint64).astype(np.uint64)
