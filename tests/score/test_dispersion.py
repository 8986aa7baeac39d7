"""The dispersion is 1 where the graph and the labels are right, and says so where regimes differ besides."""

import numpy as np
import pytest

from enco import simulate
from enco.discover import discover
from enco.score.dispersion import dispersion, shift_of_means
from enco.search import stage
from enco.settings import Settings
from enco.simulate.experiments import experiment


def test_chance_alone_gives_one():
    rng = np.random.default_rng(0)
    found = [dispersion(rng.chisquare(3, size=12), 3) for _ in range(300)]
    assert np.mean(np.array(found) > 1) < 0.03


def test_the_shift_of_means_is_chi_squared():
    rng = np.random.default_rng(0)
    found = [shift_of_means(rng.normal(size=200)) for _ in range(2000)]
    assert np.mean(found) == pytest.approx(1.0, abs=0.1)
    assert np.quantile(found, 0.95) == pytest.approx(3.84, abs=0.4)


@pytest.mark.parametrize("kind", ["categorical", "continuous"])
def test_batches_are_dispersion_and_right_labels_are_not(kind, monkeypatch):
    seen = []
    examined = stage._Workers._examined

    def watch(self, objective, path):
        out = examined(self, objective, path)
        seen.append(out.dispersion)
        return out

    monkeypatch.setattr(stage._Workers, "_examined", watch)
    largest = {}
    for offset in (0.0, 0.4):
        seen.clear()
        rng = np.random.default_rng(7)
        model = getattr(simulate, kind)("random", 8, rng, edge_probability=0.3)
        drawn = experiment(model, 2000, 250, rng, batch_offset=offset)
        discover(drawn.data, settings=Settings(), n_jobs=2)
        largest[offset] = float(np.median(seen[-1]))
    assert largest[0.0] == 1.0
    assert largest[0.4] > 1.5
