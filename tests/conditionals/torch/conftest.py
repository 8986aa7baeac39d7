"""What the tests of the PyTorch engine share: small data of every mixture of kinds, and short calls."""

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.conditionals.torch import TorchConditionals, TorchSettings
from enco.data import InterventionalData, Regime, Variable

SMALL = {"hidden": 16, "batch": 64, "learning_rate": 5e-3, "weight_decay": 1e-4}


@pytest.fixture
def make_model():
    def make(data, *, candidates=None, seed=0, n_jobs=1, column=None, **settings):
        candidates = Candidates.all_pairs(data.n_variables) if candidates is None else candidates
        chosen = TorchSettings(**{**SMALL, **settings})
        return TorchConditionals(data, candidates, settings=chosen, seed=seed, n_jobs=n_jobs, column=column)

    return make


@pytest.fixture
def make_data():
    """Columns X1, X2, ... by number of levels, 0 for a continuous one; X2 follows X1. The second regime is do(X1)."""

    def make(n_levels=(3, 0, 2, 0), rows=200, seed=0):
        rng = np.random.default_rng(seed)
        regimes = []
        for targets, size in (((), rows), ((0,), 40)):
            columns = [rng.integers(count, size=size) if count else rng.normal(size=size) for count in n_levels]
            columns[1] = columns[0] % n_levels[1] if n_levels[1] else columns[0] + 0.3 * columns[1]
            codes = [column for column, count in zip(columns, n_levels, strict=True) if count]
            reals = [5 * column - 2 for column, count in zip(columns, n_levels, strict=True) if not count]
            kind = np.uint8 if max(n_levels) <= 256 else np.uint16
            regimes.append(
                Regime(
                    targets,
                    np.array(codes).reshape(len(codes), size).T.astype(kind),
                    np.array(reals).reshape(len(reals), size).T.astype(np.float32),
                )
            )
        variables = [
            Variable(f"X{k}", "categorical", tuple(range(count))) if count else Variable(f"X{k}", "continuous")
            for k, count in enumerate(n_levels, start=1)
        ]
        return InterventionalData(variables, regimes)

    return make
