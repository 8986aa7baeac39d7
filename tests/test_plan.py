"""The estimate of a fit's duration: what it counts, and, where time allows, whether it is right."""

import time

import numpy as np
import pytest

from enco import simulate
from enco.discover import conclude
from enco.fitting.loop import Discovery
from enco.plan import _Speed, plan
from enco.settings import Settings

EVERY = [f"X{k}" for k in range(1, 9)]


def discovery_of(targets, *, continuous=False, **settings):
    rng = np.random.default_rng(0)
    build = simulate.continuous if continuous else simulate.categorical
    data = build("chain", 8, rng).dataset(500, 100, targets=targets, rng=rng)
    return Discovery(data, settings=Settings(**settings), n_jobs=1), data


@pytest.fixture
def same_speed(monkeypatch):
    """What stages do is counted; how fast this machine is right now is left out."""
    speed = _Speed(step=1e-5, toggle=1e-8, orientation=1e-7, family=1e-8, regression=1e-6)
    monkeypatch.setattr(_Speed, "measured", classmethod(lambda cls, discovery: speed))


def seconds(targets, **options):
    return plan(*discovery_of(targets, **options)).seconds


def test_the_stages_are_those_of_a_fit(same_speed):
    assert set(seconds(EVERY)) == {"distributions", "orientations", "graph", "search"}
    assert set(seconds(EVERY, refine_rounds=0)) == {"distributions", "orientations", "graph"}
    assert all(value > 0 for value in seconds(EVERY).values())


def test_open_directions_take_time(same_speed):
    assert seconds(EVERY[:4])["search"] > 2 * seconds(EVERY)["search"]


def test_regressions_take_time(same_speed, monkeypatch):
    before = seconds(EVERY, continuous=True)["search"]
    assert seconds(EVERY[:4], continuous=True)["search"] > before
    monkeypatch.setattr("enco.plan.REGRESSIONS", 1e4)
    assert seconds(EVERY, continuous=True)["search"] > 10 * before


def test_more_epochs_and_more_graphs_take_time(same_speed):
    assert seconds(EVERY, max_epochs=40)["distributions"] > 1.5 * seconds(EVERY, max_epochs=12)["distributions"]
    few, many = (seconds(EVERY, estimator="independent", graph_samples=n)["graph"] for n in (20, 200))
    assert many > 3 * few


@pytest.mark.parametrize("continuous", [False, True])
def test_speed_is_measured(continuous):
    speed = _Speed.measured(discovery_of(EVERY, continuous=continuous)[0])
    assert min(speed.step, speed.toggle, speed.orientation, speed.family) > 0
    assert (speed.regression > 0) == continuous


def test_the_fit_is_the_same_after_it():
    planned, data = discovery_of(EVERY)
    plan(planned, data)
    plain, _ = discovery_of(EVERY)
    first, second = planned.state(), plain.state()
    assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.slow
@pytest.mark.parametrize("partial", [False, True], ids=["all", "few"])
@pytest.mark.parametrize(("kind", "n"), [("categorical", 25), ("continuous", 10), ("continuous", 20)])
def test_the_estimate_is_right(kind, n, partial):
    """Processor time of the second fit, when everything is compiled."""
    rng = np.random.default_rng(5)
    build = getattr(simulate, kind)
    model = build("random", n, rng, edge_probability=3.5 / (n - 1))
    targets = list(model.observed_names)[:4] if partial else "all"
    data = model.dataset(5000 if kind == "categorical" else 1000, 200, targets=targets, rng=rng)
    for _ in range(2):
        discovery = Discovery(data, settings=Settings(), n_jobs=1)
        expected = plan(discovery, data).total
        began = time.process_time()
        discovery.run()
        conclude(discovery, data)
        spent = time.process_time() - began
    assert spent / 2.0 < expected < spent * 2.0
