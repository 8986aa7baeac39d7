"""Prices of families: what parents earn, on which rows, whoever asks."""

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.data import InterventionalData, Regime, Variable
from enco.fitting import families as module
from enco.fitting.counts import Counts
from enco.fitting.families import Families
from enco.settings import Settings

SETTINGS = Settings(refine_steps=400)
ALL = ~np.eye(3, dtype=bool)


def make_data(continuous, rows=900, interventional=300):
    """a -> b, c by itself; under do(b), b follows c, which must not count."""
    rng = np.random.default_rng(0)
    kind = ("continuous", None) if continuous else ("categorical", (0, 1, 2))
    regimes = []
    for targets in ((), (0,), (1,)):
        n = rows if not targets else interventional
        values = rng.normal(size=(n, 3)) if continuous else rng.integers(3, size=(n, 3))
        source = values[:, 2] if targets == (1,) else values[:, 0]
        values[:, 1] = source + 0.3 * rng.normal(size=n) if continuous else np.where(rng.random(n) < 0.8, source, 0)
        codes = values[:, : 0 if continuous else 3].astype(np.uint8)
        regimes.append(Regime(targets, codes, values[:, : 3 if continuous else 0].astype(np.float32)))
    return InterventionalData([Variable(name, *kind) for name in "abc"], regimes)


def make_families(data, *, counts=True, neighbours=ALL, evidence=5.0, n_jobs=1):
    network = NetworkSettings(hidden=16, batch=64)
    model = FusedConditionals(data, Candidates.all_pairs(3), settings=network, seed=0, n_jobs=n_jobs)
    counted = Counts.of(data, np.arange(3)) if counts else None
    return Families(model, data.regimes, counted, neighbours=neighbours, evidence=evidence, settings=SETTINGS)


NOTHING, A, C, BOTH = SETS = frozenset[int](), frozenset({0}), frozenset({2}), frozenset({0, 2})


def ask_all(families, *, reverse=False):
    """Prices of all sets, one by one."""
    step = -1 if reverse else 1
    return [families.prices(1, parents)[0] for parents in SETS[::step]][::step]


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("continuous", [False, True])
def test_parents_earn_what_they_explain(continuous, counts):
    nothing, a, c, both = ask_all(make_families(make_data(continuous), counts=counts))
    assert a < nothing - 100
    assert a < both
    assert nothing < c  # under do(b) it would earn hundreds of nats


def test_an_edge_costs_evidence_and_sparsity():
    data = make_data(continuous=False)
    prices = [ask_all(make_families(data, evidence=evidence)) for evidence in (0.0, 50.0)]
    assert np.subtract(prices[1], prices[0]).round(6).tolist() == [0.0, 50.0, 50.0, 100.0]


def test_all_rows_count_though_some_are_judged(monkeypatch):
    """Fewer rows to learn from and to judge on: less precise, not smaller."""
    data = make_data(continuous=False)
    whole = make_families(data, counts=False).prices(1, A)[0]
    monkeypatch.setattr(module, "MOST_LEARNED", 600)
    monkeypatch.setattr(module, "MOST_JUDGED", 300)
    assert make_families(data, counts=False).prices(1, A)[0] == pytest.approx(whole, rel=0.15)


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("continuous", [False, True])
def test_prices_are_those_of_the_family(continuous, counts):
    """Whatever was asked before, by however many threads; a set reached by a change costs what it costs by itself."""
    data = make_data(continuous)
    families, other = make_families(data, counts=counts), make_families(data, counts=counts, n_jobs=2)
    once = ask_all(families)
    assert ask_all(other, reverse=True) == once
    assert ask_all(families) == once
    nothing, a, c, both = once
    assert families.prices(1, A, [2, 0]) == pytest.approx([a, both, nothing], rel=1e-6)
    assert families.prices(1, BOTH, [0, 2]) == pytest.approx([both, c, a], rel=1e-6)
    assert other.prices(1, A, [2, 0]) == families.prices(1, A, [2, 0])


def test_tables_too_large_are_not_counted(monkeypatch):
    data = make_data(continuous=False)
    networks = make_families(data, counts=False).prices(1, BOTH)
    monkeypatch.setattr(module, "CELLS_PER_ROW", 0.0)
    assert make_families(data).prices(1, BOTH) == networks


def test_progress_reaches_the_end():
    told = []
    data = make_data(continuous=False)
    model = FusedConditionals(data, Candidates.all_pairs(3), settings=NetworkSettings(), seed=0, n_jobs=1)
    Families(model, data.regimes, None, neighbours=ALL, evidence=1.0, settings=SETTINGS, on_progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)
