"""The estimate of a fit's duration knows what its search will do."""

import numpy as np
import pytest

from enco import simulate
from enco.cli import _cost
from enco.cli._cost import seconds_of
from enco.fitting.loop import Discovery
from enco.settings import Settings


def seconds(targets, *, continuous=False, **settings):
    rng = np.random.default_rng(0)
    build = simulate.continuous if continuous else simulate.categorical
    data = build("chain", 8, rng).dataset(500, 100, targets=targets, rng=rng)
    return seconds_of(Discovery(data, settings=Settings(**settings)), data, 1)


def test_open_directions_take_time():
    every = [f"X{k}" for k in range(1, 9)]
    assert seconds(every[:4]) > seconds(every) + 0.1
    assert seconds(every[:4], refine_rounds=0) == pytest.approx(seconds(every, refine_rounds=0), rel=0.3)


def test_regressions_take_time():
    every = [f"X{k}" for k in range(1, 9)]
    assert seconds(every, continuous=True) > seconds(every, continuous=True, refine_rounds=0) + 2


def test_counting_takes_time_where_variables_are_categorical(monkeypatch):
    every = [f"X{k}" for k in range(1, 9)]
    before = {continuous: seconds(every, continuous=continuous) for continuous in (False, True)}
    without = seconds(every, refine_rounds=0)
    monkeypatch.setattr(_cost, "COUNTING", 1e6)
    assert seconds(every) > before[False] + 1
    assert seconds(every, continuous=True) == before[True]
    assert seconds(every, refine_rounds=0) == without


def test_graphs_that_all_rows_share_take_time_by_their_number():
    every = [f"X{k}" for k in range(1, 9)]
    few, many = (seconds(every, estimator="independent", graph_samples=n) for n in (20, 100))
    assert many > few + 0.1
    assert seconds(every, graph_samples=20) == seconds(every, graph_samples=100)  # paired: a graph for each row
