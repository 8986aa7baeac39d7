"""Small problems that every method should solve: A -> B -> C and A -> D, columns not in that order."""

import numpy as np
import pytest

from enco.data import InterventionalData

NAMES = ["C", "A", "D", "B"]
TRUTH = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]])


def sample(rng, kind, rows, target):
    def mechanism(name, parent=None):
        free = parent is not None and name != target
        if kind == "continuous":
            return rng.normal(1.5 * parent if free else 1.0, 1.0, rows)
        noise = rng.integers(3, size=rows)
        return np.where(rng.random(rows) < 0.85, parent, noise) if free else noise

    a = mechanism("A")
    b, d = mechanism("B", a), mechanism("D", a)
    return np.column_stack([mechanism("C", b), a, d, b])


@pytest.fixture
def make_problem():
    def make(kind, rows=1500, interventional_rows=600, targets=("A", "B", "C", "D"), seed=0):
        rng = np.random.default_rng(seed)
        blocks = [sample(rng, kind, rows, None)] + [sample(rng, kind, interventional_rows, name) for name in targets]
        return InterventionalData.from_environments(blocks, [None, *targets], names=NAMES), TRUTH

    return make
