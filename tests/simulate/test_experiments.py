"""What interventions do in simulated experiments, and that what was drawn before is drawn again."""

import hashlib

import numpy as np
import pytest

from enco import simulate
from enco.simulate.experiments import experiment

MODELS = {
    "categorical": lambda: simulate.categorical(
        "random", 6, np.random.default_rng(1), categories=4, edge_probability=0.5
    ),
    "continuous": lambda: simulate.continuous(
        "random", 6, np.random.default_rng(2), mechanism="additive", edge_probability=0.5
    ),
    "bif": lambda: simulate.from_bif("asia"),
}


def digest(drawn):
    """Return a digest of the rows, the targets and what was done."""
    total = hashlib.sha256()
    for regime in drawn.data.regimes:
        for part in (repr(regime.targets).encode(), regime.codes.tobytes(), regime.reals.tobytes()):
            total.update(part)
    total.update(repr([(done.target, done.hold, done.also) for done in drawn.done]).encode())
    return total.hexdigest()[:16]


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("categorical", {}, "1a8e7c28b38d7085"),
        ("categorical", {"hold": 0.5}, "fcc569e31e57bcdf"),
        ("categorical", {"hold": 0.4, "failed": 0.3, "off_target": 0.7}, "e3097185c3079239"),
        ("continuous", {}, "a12bdbaafa105f53"),
        ("continuous", {"failed": 0.5, "off_target": 0.5}, "ad003655a85e9f18"),
        ("continuous", {"hold": 0.4, "failed": 0.3, "off_target": 0.7}, "5edbaacce355521f"),
        ("bif", {"hold": 0.5}, "5fddb373c8db471f"),
        ("bif", {"hold": 0.4, "failed": 0.3, "off_target": 0.7}, "d48ccf8393c85825"),
    ],
)
def test_the_rows_are_those_of_version_0_2(model, options, expected):
    assert digest(experiment(MODELS[model](), 200, 30, np.random.default_rng(7), **options)) == expected
