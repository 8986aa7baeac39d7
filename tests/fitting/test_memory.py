"""The memory of a fit is known beforehand, for every setting that makes arrays; the remedy names the one to blame."""

import gc
import tracemalloc

import numpy as np
import pytest

from enco import simulate
from enco.baselines import find_method
from enco.cli import main
from enco.data import InterventionalData
from enco.discover import conclude
from enco.errors import SettingsError
from enco.fitting.loop import Discovery
from enco.fitting.memory import needed_memory
from enco.settings import LARGEST, Settings
from enco.system import process_memory

RNG = np.random.default_rng(0)
CATEGORICAL = simulate.categorical("chain", 6, RNG, categories=4).dataset(400, 50, rng=RNG)
CONTINUOUS = simulate.continuous("chain", 6, RNG).dataset(400, 50, rng=RNG)
QUICK = {
    "interventions": "perfect",  # all numbers are drawn at random
    "max_epochs": 1,
    "first_fit_steps": 2,
    "graph_steps": 2,
    "refine_rounds": 0,
    "orientation_epochs": 0,
    "orientation_passes": 0,
}


@pytest.fixture(autouse=True)
def eight_gigabytes(monkeypatch):
    monkeypatch.setattr(process_memory, "available_memory", lambda: 8_000_000_000)


@pytest.mark.parametrize(
    ("data", "settings", "blamed"),
    [
        (CATEGORICAL, {"graph_samples": 2_000_000_000, "estimator": "independent"}, "graph_samples"),
        (CATEGORICAL, {"graph_samples": 2_000_000_000, "estimator": "reinforce"}, "graph_samples"),
        (CATEGORICAL, {"hidden": LARGEST}, "hidden"),
        (CONTINUOUS, {"hidden": 20_000_000}, "hidden"),
        (CATEGORICAL, {"hidden": 10_000, "layers": 2}, "hidden"),
        (CONTINUOUS, {"layers": 1_000_000}, "layers"),
        (CONTINUOUS, {"layers": LARGEST, "hidden": LARGEST}, "hidden"),
        (CATEGORICAL, {"max_epochs": LARGEST}, "max_epochs"),
    ],
)
def test_a_setting_that_is_too_large_is_blamed(data, settings, blamed):
    words = rf"needs about [\d.^]+ GB (or more )?of memory and 8\.0 GB are free: .* with the setting {blamed} "
    with pytest.raises(SettingsError, match=words):
        Discovery(data, settings=Settings(**settings))


@pytest.mark.parametrize("setting", ["batch", "graph_batch", "orientation_batch", "graph_samples", "check_every"])
def test_settings_that_cost_nothing_are_free(setting):
    """Rows of a batch are never more than there are, and paired effects sample no graphs for all rows."""
    pairs = Discovery(CATEGORICAL, settings=Settings()).candidates
    small, large = (needed_memory(CATEGORICAL, pairs, Settings(**{setting: n}), 1) for n in (50, LARGEST))
    assert large - small < 1e7


@pytest.mark.parametrize("setting", ["batch", "graph_batch", "orientation_batch"])
def test_rows_of_a_batch_count_where_there_are_many(setting):
    rows = np.zeros((300_000, 3), np.int64)
    rows[:5] = [[0, 1, 2], [2, 1, 0], [1, 1, 1], [0, 2, 0], [0, 0, 1]]
    data = InterventionalData.from_environments([rows, rows], [None, "X1"])
    pairs = Discovery(data, settings=Settings()).candidates
    small, large = (needed_memory(data, pairs, Settings(**{setting: n}, hidden=256), 2) for n in (50, LARGEST))
    assert large - small > 2 * 300_000 * 256 * 4


def test_more_threads_need_more():
    pairs = Discovery(CATEGORICAL, settings=Settings()).candidates
    few, many = (needed_memory(CATEGORICAL, pairs, Settings(), n_jobs) for n_jobs in (1, 1000))
    assert many > few + 1e6


def measured(data, **settings):
    """Most bytes that a short fit holds in arrays at once."""
    gc.collect()
    tracemalloc.start()
    try:
        discovery = Discovery(data, settings=Settings(**(QUICK | settings)))
        discovery.run()
        conclude(discovery, data, seconds=0.0, seed=0)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("data", "small", "large"),
    [
        (CATEGORICAL, {"estimator": "independent"}, {"estimator": "independent", "graph_samples": 10_000}),
        (CATEGORICAL, {"estimator": "reinforce"}, {"estimator": "reinforce", "graph_samples": 10_000}),
        (CONTINUOUS, {"estimator": "independent"}, {"estimator": "independent", "graph_samples": 10_000}),
        (CATEGORICAL, {}, {"max_epochs": 200_000}),
        (CATEGORICAL, {}, {"hidden": 4_000}),
        (CONTINUOUS, {}, {"hidden": 8_000}),
    ],
)
def test_the_estimate_is_of_the_right_order(data, small, large, monkeypatch):
    monkeypatch.setattr(Discovery, "settled", lambda discovery: discovery.epoch > 0)
    pairs = Discovery(data, settings=Settings()).candidates
    expected = needed_memory(data, pairs, Settings(**(QUICK | large)), 1) - needed_memory(
        data, pairs, Settings(**(QUICK | small)), 1
    )
    found = measured(data, **large) - measured(data, **small)
    assert found > 1e6
    assert 0.8 * found < expected < 3.5 * found


def test_baselines_ask_too():
    for method, setting in (("sdi", "graph_samples"), ("sdi", "hidden"), ("dcdi", "hidden")):
        with pytest.raises(SettingsError, match=f"8.0 GB are free: .* with the setting {setting} "):
            find_method(method).fit(CATEGORICAL, seed=0, n_jobs=1, **{setting: 2_000_000_000})


def test_on_the_command_line(tmp_path, capsys):
    CATEGORICAL.to_npz(tmp_path / "data.npz")
    options = ["--set", "estimator=independent", "--set", "graph_samples=2000000000"]
    assert main(["fit", str(tmp_path / "data.npz"), "--out", str(tmp_path / "out"), *options]) == 2
    assert "sample fewer graphs with the setting graph_samples (it is 2,000,000,000)" in capsys.readouterr().err
