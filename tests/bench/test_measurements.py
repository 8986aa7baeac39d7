"""Speed and gradient noise on tiny problems: the meter counts right, the figures are printed and drawn."""

import time

import numpy as np
import pytest

from enco.bench.gradient_variance import _deviation, measure_variance
from enco.bench.metering import Metered
from enco.bench.problem import Problem
from enco.bench.speed import measure_speed, speed_table
from enco.bench.warmup import warm_up
from enco.cli import main
from enco.fitting.loop import Discovery
from enco.settings import Settings

QUICK = ["--set", "max_epochs=3", "--set", "first_fit_steps=50", "--set", "fit_steps=20", "--set", "graph_steps=10"]
SMALL = ["--variables", "4", "--rows", "200", "--threads", "1", *QUICK]
TINY = Problem(structure="random", seed=3, variables=4, rows=200, interventional_rows=20, interventions=4)
FAST = Settings(max_epochs=3, first_fit_steps=50, fit_steps=20, graph_steps=10)


def test_the_meter_counts_and_changes_nothing():
    data, _ = TINY.draw()
    plain, watched = (Discovery(data, settings=FAST, seed=0, n_jobs=1) for _ in range(2))
    plain.run()
    meter = Metered.attach(watched, rows=200)
    watched.run()
    assert np.array_equal(plain.parameters.gamma, watched.parameters.gamma)
    steps = sum(record.fit_steps for record in watched.history)
    assert meter.rows_trained == round(steps * 4 * meter.batch)
    # Graph steps: 10 in the third epoch, 20 rows, 12 pairs less the 3 into the target.
    assert meter.toggles["graph"] == 10 * 20 * 9
    # Passes over 4 regimes that toggle the 3 edges out of each target: 10, 10 and 2 of them.
    assert meter.toggles["orientations"] == (10 + 10 + 2) * 4 * 20 * 3
    assert all(seconds > 0 for seconds in meter.seconds.values())
    hidden, levels = FAST.hidden, 10
    assert meter.operations["graph"] > meter.toggles["graph"] * 2 * hidden * levels


def test_speed_of_estimators_that_score_graphs():
    settings = Settings(max_epochs=1, first_fit_steps=20, first_orientation_passes=1, estimator="independent")
    data, _ = TINY.draw()
    discovery = Discovery(data, settings=settings, seed=0, n_jobs=1)
    meter = discovery.graph_fitting.model = Metered(discovery.model, rows=200)
    discovery.graph_fitting.orient()
    assert meter.rows_scored == 4 * 20 * 4 * settings.graph_samples  # regimes, rows, networks
    speed = measure_speed(TINY, settings, n_jobs=1)
    assert speed.rows_scored >= meter.rows_scored
    assert sum(speed.toggles.values()) == 0
    assert "graphs scored per second" in speed_table(speed)


def test_speed_prints_rates(capsys):
    assert main(["bench", "speed", *SMALL]) == 0
    printed = capsys.readouterr().out
    for words in ("rows x networks trained per second", "toggles per second", "fraction of the peak of 1 thread",
                  "NumPy's BLAS", "bytes of weights per candidate pair", "peak memory", "compilation"):  # fmt: skip
        assert words in printed


def test_refinement_is_counted_apart(monkeypatch):
    def run(discovery, on_epoch):
        seen.append(discovery.model)
        whole(discovery, on_epoch)

    def finish(discovery, data, **options):
        assert discovery.model is discovery.graph_fitting.model
        assert not isinstance(discovery.model, Metered)
        time.sleep(0.3)

    whole, seen = Discovery.run, []
    monkeypatch.setattr(Discovery, "run", run)
    monkeypatch.setattr("enco.bench.speed.conclude", finish)
    speed = measure_speed(TINY, FAST, n_jobs=1)
    assert isinstance(seen[0], Metered)
    assert 0.3 <= speed.refinement <= speed.total - sum(speed.stages.values())
    assert "| search (with evidence and order step) | 0.3" in speed_table(speed)


def test_refinement_changes_no_other_count():
    speed = measure_speed(TINY, FAST, n_jobs=1)
    assert speed.refinement > 0
    assert speed.toggles == {"distributions": 0, "orientations": (10 + 10 + 2) * 4 * 20 * 3, "graph": 10 * 20 * 9}


def test_warm_up_leaves_little_to_compile():
    warm_up(FAST, n_jobs=1)
    assert 0.0 <= warm_up(FAST, n_jobs=1) < 5.0


def test_gradient_variance_prints_and_draws(tmp_path, capsys):
    picture = tmp_path / "variance.png"
    command = ["bench", "gradient-variance", *SMALL, "--points", "2", "--repeats", "3", "--batch", "16"]
    assert main([*command, "--out", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "| 256 | 4 | 16 |" in printed
    assert "| 512 | 8 | 32 |" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main([*command, "--out", str(picture)]) == 2
    assert "--force" in capsys.readouterr().err


def test_paired_estimates_are_the_least_noisy():
    settings = Settings(first_fit_steps=300)
    curves = measure_variance(TINY, settings, batch=32, multiples=(1, 4), repeats=12)
    for curve in curves:
        for point in curve.points:
            noise = point.deviation
            assert noise["paired"] < noise["independent"] < noise["reinforce"]
        assert curve.points[1].deviation["paired"] < curve.points[0].deviation["paired"]


def test_deviation_pools_pairs_and_passes_over_gaps():
    nan = np.nan
    estimates = np.array([[0.0, 1.0, nan, nan], [2.0, 1.0, nan, 5.0], [4.0, nan, nan, nan]])
    assert _deviation(estimates) == pytest.approx(np.sqrt((4.0 + 0.0) / 2))
