"""The search against all acyclic graphs of four variables, on an objective that can be computed exactly."""

from itertools import product

import numpy as np
import pytest

from enco.data import Regime
from enco.score.objective import Objective
from enco.search.dag import LEAST_GAIN, search

N = 4


class Made:
    """Losses drawn at random for every family: a search must cope with any objective."""

    def __init__(self, seed: int, n_regimes: int) -> None:
        self.seed, self.n_regimes = seed, n_regimes

    def losses(self, effect, parents, changes):
        return np.array([self._of(effect, family) for family in (parents, *(parents ^ {c} for c in changes))])

    def _of(self, effect, family):
        return np.random.default_rng([self.seed, effect, *sorted(family)]).uniform(0, 30, self.n_regimes)


def regimes():
    return [Regime(targets, np.zeros((5, N), np.uint8), np.zeros((5, 0), np.float32)) for targets in ((), (0,), (1,))]


def objective(seed):
    made = Made(seed, 3)
    every = [frozenset(range(N)) - {effect} for effect in range(N)]
    return Objective([made] * N, every, regimes(), sparsity=0.01, evidence=1.0)


def acyclic_graphs():
    pairs = [(i, j) for i in range(N) for j in range(N) if i != j]
    for bits in product((0, 1), repeat=len(pairs)):
        graph = np.zeros((N, N), bool)
        graph[tuple(np.array(pairs).T)] = np.array(bits, bool)
        if not np.linalg.matrix_power(graph.astype(int), N).any():
            yield graph


@pytest.fixture(scope="module")
def graphs():
    return list(acyclic_graphs())


@pytest.mark.parametrize("seed", range(5))
def test_every_gain_is_a_difference_of_totals_and_no_edge_improves_the_end(graphs, seed, monkeypatch):
    monkeypatch.setattr("enco.search.dag.CLEAR_HARM", np.inf)
    assert len(graphs) == 543
    price, everything = objective(seed), np.ones((N, N), bool)
    for start in graphs[::90]:
        path = search(price, start, allowed=everything, required=~everything, joined=everything, told=~everything)
        assert path.before - path.after == pytest.approx(sum(move.gain for move in path.moves))
        assert path.before == pytest.approx(price.total(start))
        assert path.after == pytest.approx(price.total(path.graph))
        assert all(move.gain > LEAST_GAIN for move in path.moves)
        assert any((path.graph == graph).all() for graph in graphs)
        near = [graph for graph in graphs if np.count_nonzero(graph != path.graph) == 1]
        assert min(price.total(graph) for graph in near) >= path.after - LEAST_GAIN


def test_rules_are_obeyed(graphs):
    price, everything = objective(7), np.ones((N, N), bool)
    required = np.zeros((N, N), bool)
    required[3, 0] = True
    allowed = everything.copy()
    allowed[1, 2] = False
    path = search(price, required, allowed=allowed, required=required, joined=everything, told=~everything)
    assert path.graph[3, 0]
    assert not path.graph[1, 2]
