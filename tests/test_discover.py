"""Whole fits, from data to result: both engines, every kind of column, and what the preset "paper" leaves out."""

from dataclasses import replace

import numpy as np
import pytest

from enco import discover as module
from enco import simulate
from enco.discover import conclude, discover
from enco.fitting.loop import Discovery
from enco.graphs import is_acyclic
from enco.knowledge import Knowledge
from enco.settings import Settings
from search_problems import TRUTH, edges, small_data

SMALL = Settings(
    hidden=16,
    max_epochs=6,
    first_fit_steps=400,
    fit_steps=150,
    refine_steps=300,
    interventions="perfect",  # roots keep their distribution
)
PROBLEMS = {
    "categorical": ("categorical", {}),
    "continuous, dsf": ("continuous", {"density": "dsf"}),
    "mixed": ("mixed", {}),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_both_engines_recover_the_same_graph(problem):
    """A flow is PyTorch's alone: it must find what the fused engine finds with a normal density."""
    kind, options = PROBLEMS[problem]
    data = small_data(kind, rows=800, interventional=150)
    fused = discover(data, settings=replace(SMALL, engine="fused"))
    torch = discover(data, settings=replace(SMALL, engine="torch", **options))
    assert edges(fused.adjacency) == edges(torch.adjacency) == edges(TRUTH)


@pytest.mark.parametrize("engine", ["fused", "torch"])
def test_the_whole_pipeline_runs_with_either_engine(engine, monkeypatch):
    """Candidates, Algorithm 1, order, search: each once, the search from the ordered graph."""
    calls, improve = [], module.improve

    def recorded(problem, start, on_progress):
        calls.append(start.copy())
        return improve(problem, start, on_progress)

    monkeypatch.setattr(module, "improve", recorded)
    stages = []
    data = small_data("mixed")
    settings = replace(SMALL, engine=engine, max_epochs=2, refine_steps=30)
    result = discover(data, settings=settings, on_progress=lambda progress: stages.append(progress.stage))
    assert len(calls) == 1
    removed = {tuple(map(data.names.index, edge)) for edge in result.order_report["removed"]}
    assert edges(calls[0]) == edges(result.adjacency_raw) - removed
    assert list(dict.fromkeys(stages)) == ["distributions", "orientations", "search"]
    assert is_acyclic(result.adjacency)
    assert result.order_report["totals"]


@pytest.mark.parametrize("kind", ["categorical", "continuous", "mixed"])
def test_the_order_of_the_columns_and_threads_change_nothing(kind):
    data = small_data(kind)
    order = [2, 0, 3, 1]
    settings = replace(SMALL, max_epochs=3)
    one = discover(data, settings=settings)
    other = discover(data.select([data.names[k] for k in order]), settings=settings, n_jobs=2)
    assert (other.adjacency == one.adjacency[np.ix_(order, order)]).all()
    assert other.order == one.order
    assert other.order_report == one.order_report
    assert other.gamma.tobytes() == np.ascontiguousarray(one.gamma[np.ix_(order, order)]).tobytes()


def test_the_preset_paper_makes_no_search(monkeypatch):
    monkeypatch.setattr(module, "improve", lambda *_, **__: pytest.fail("an addition to the paper"))
    settings = Settings.paper(4, max_epochs=2, fit_steps=20, first_fit_steps=20, graph_steps=5)
    result = discover(small_data("categorical"), settings=settings)
    assert result.order_report["refined"] == []
    assert (result.adjacency <= result.adjacency_raw).all()


def test_knowledge_is_obeyed_and_reported():
    known = Knowledge(required=[("d", "a")], forbidden=[("a", "b")])
    result = discover(small_data("continuous"), settings=replace(SMALL, max_epochs=3), knowledge=known)
    assert (3, 0) in edges(result.adjacency)
    assert (0, 1) not in edges(result.adjacency)
    assert result.knowledge["forbidden"] == (("a", "b"),)
    assert not [edge for step in result.order_report["refined"] for edge in step["added"] if edge == ["a", "b"]]


def test_discover_is_algorithm_1_and_its_conclusion():
    data, settings = small_data("categorical"), replace(SMALL, max_epochs=3)
    epochs = []
    whole = discover(data, settings=settings, seed=5, on_epoch=lambda discovery: epochs.append(discovery.epoch))
    discovery = Discovery(data, settings=settings, seed=5)
    discovery.run()
    parts = conclude(discovery, data, seed=5)
    assert epochs == list(range(1, len(whole.history) + 1))
    assert whole.seconds > 0
    for name in ("adjacency", "adjacency_raw", "gamma", "theta", "edge_epochs"):
        assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes(), name
    assert whole.order_report == parts.order_report


@pytest.mark.parametrize("continuous", [False, True])
def test_chains_are_recovered(continuous):
    rng = np.random.default_rng(1)
    make = simulate.continuous if continuous else simulate.categorical
    scm = make("chain", 6, rng)
    result = discover(scm.dataset(2000, 200, rng=rng), settings=Settings())
    assert (result.adjacency == scm.observed_adjacency).all()


def test_with_latent_the_moves_of_both_searches_are_reported_and_confounded_pairs_carry_no_edge():
    """Replaying the moves gives the graph, but for edges between confounded pairs."""
    data = small_data("categorical")
    result = discover(data, settings=replace(SMALL, latent=True, max_epochs=3))
    names = data.names
    found = {(names[i], names[j]) for i, j in edges(result.adjacency_raw)}
    found -= {tuple(edge) for edge in result.order_report["removed"]}
    for step in result.order_report["refined"]:
        found = (found - set(map(tuple, step["removed"]))) | set(map(tuple, step["added"]))
    pairs = {frozenset(pair[:2]) for pair in result.confounders}
    assert {edge for edge in found if frozenset(edge) not in pairs} == {
        (names[i], names[j]) for i, j in edges(result.adjacency)
    }


def test_seeds_agree_where_few_directions_are_identified():
    """Where Algorithm 1 has ended differs between seeds; in small problems, the search hardly depends on it."""
    shared = []
    for number in (12, 13, 14):
        rng = np.random.default_rng(number)
        model = simulate.categorical("random", 9, rng, categories=3, edge_probability=0.4)
        data = model.dataset(800, 150, rng=rng).keep_regimes([["X2"], ["X7"]])
        settings = Settings(max_epochs=4, refine_steps=600)
        fits = [discover(data, settings=settings, seed=seed, n_jobs=2) for seed in range(3)]
        assert len({fit.adjacency_raw.tobytes() for fit in fits}) > 1
        graphs = np.stack([fit.adjacency for fit in fits])
        shared.append(graphs.all(axis=0).sum() / graphs.any(axis=0).sum())
    assert np.mean(shared) > 0.95, shared
