"""Scores against formulas written out."""

from collections import Counter
from math import log

import numpy as np
import pytest

from enco.baselines.bic import GaussianScore, TableScore


@pytest.mark.parametrize("rows", [1, 10, 500])
@pytest.mark.parametrize("parents", [(), (1,), (1, 3), (1, 2, 3, 4)])
def test_tables(rows, parents):
    n_levels = np.array([3, 2, 7, 4, 30])  # with all parents, few of many cells are there
    codes = np.random.default_rng(rows).integers(n_levels, size=(rows, 5))
    score = TableScore(codes, n_levels, penalty=0.5)
    cells = Counter((*row[list(parents)], row[0]) for row in codes)
    margins = Counter(tuple(row[list(parents)]) for row in codes)
    likelihood = sum(count * log(count / margins[cell[:-1]]) for cell, count in cells.items())
    n_parameters = 2 * np.prod(n_levels[list(parents)], dtype=int)
    assert score.log_likelihood(0, parents) == pytest.approx(likelihood, abs=1e-9)
    assert score.n_parameters(0, parents) == n_parameters
    penalty = 0.5 * 0.5 * log(max(rows, 2)) * n_parameters
    assert score.local_score(0, set(parents)) == pytest.approx(likelihood - penalty, abs=1e-9)


def test_very_many_combinations_do_not_overflow():
    codes = np.random.default_rng(0).integers(1000, size=(50, 9))
    score = TableScore(codes, np.full(9, 1000), penalty=1.0)
    assert score.log_likelihood(0, tuple(range(1, 9))) == 0.0  # every row has its own combination
    assert score.n_parameters(0, tuple(range(1, 9))) == 999 * 1000**8


@pytest.mark.parametrize("parents", [(), (2,), (1, 2, 3)])
def test_gaussian(parents):
    values = np.random.default_rng(0).normal(size=(200, 4)) @ np.random.default_rng(1).normal(size=(4, 4))
    design = np.column_stack([np.ones(200), values[:, list(parents)]])
    residual = values[:, 0] - design @ np.linalg.lstsq(design, values[:, 0], rcond=None)[0]
    likelihood = -100 * log(residual.var() / values[:, 0].var())
    score = GaussianScore(values, penalty=2.0)
    assert score.log_likelihood(0, parents) == pytest.approx(likelihood, abs=1e-6)
    assert score.local_score(0, parents) == pytest.approx(likelihood - log(200) * (len(parents) + 1), abs=1e-6)
