"""Results to make pages of: any size, any names, quicker than a fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from enco.graphs import topological_order
from enco.result import Result
from enco.result.confidence import Confidence
from enco.result.evidence import Evidence


def make_result(names, *, edges_per_variable=2.0, seed=0, **changes):
    rng = np.random.default_rng(seed)
    n = len(names)
    shuffled = rng.permutation(n)
    adjacency = np.triu(rng.random((n, n)) < 2 * edges_per_variable / n, 1)[np.ix_(shuffled, shuffled)]
    gamma = np.where(adjacency, rng.normal(2.0, 2.0, (n, n)), -3.0)
    np.fill_diagonal(gamma, -np.inf)
    order = topological_order(adjacency)
    rank = np.argsort(order)
    theta = 2.0 * np.sign(rank[None, :] - rank[:, None])
    one_sided = np.where(rng.random((n, n)) < 0.8, 200, 0)
    content = {
        "variables": tuple(names),
        "adjacency": adjacency.astype(np.uint8),
        "adjacency_raw": adjacency.astype(np.uint8),
        "gamma": gamma,
        "theta": theta,
        "order": tuple(names[position] for position in order),
        "order_report": {"components": [], "gap": 0.0, "removed": [], "refined": []},
        "evidence": Evidence(np.full((n, n), n - 1), np.full((n, n), 200 * (n - 1)), one_sided),
        "history": pd.DataFrame({"epoch": [1, 2], "edges": [n, int(adjacency.sum())], "held_out_loss": [1.5, 1.25]}),
        "settings": {"sparsity": 0.004, "max_epochs": 12},
        "seconds": 1.5,
    }
    return Result(**(content | changes))


def searched(result, *, refits=10, seed=0):
    """Add what a search and refits leave: gains, slopes where there are some, and frequencies."""
    rng = np.random.default_rng(seed)
    n = len(result.variables)
    there = result.adjacency.astype(bool)
    number = lambda low, high: np.where(there, rng.uniform(low, high, (n, n)), np.nan)  # noqa: E731
    confidence = Confidence(
        existence=np.where(there, rng.uniform(0.8, 1.0, (n, n)), 0.1),
        orientation=np.where(there, rng.uniform(0.7, 1.0, (n, n)), 0.5),
        gain=number(5.0, 5000.0),
        gain_error=np.where(rng.random((n, n)) < 0.8, number(0.5, 40.0), np.nan),
        turn=number(-5.0, 500.0),
        turn_error=number(0.5, 40.0),
        told=number(-5.0, 500.0),
        slope=np.where(rng.random((n, n)) < 0.5, number(-1.0, 1.0), np.nan),
        nearby=np.zeros((n, n)),
        doubt=np.zeros((n, n)),
    )
    frequency = np.where(there, rng.integers(0, refits + 1, (n, n)), 0) / refits
    return replace(result, confidence=confidence, frequency=frequency)


@pytest.fixture(name="searched")
def searched_fixture():
    return searched


@pytest.fixture(name="make_result")
def make_result_fixture():
    return make_result
