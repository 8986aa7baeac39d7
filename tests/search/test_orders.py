"""Places in the causal order: what each is worth, what is never touched, and chains that turn round as a whole."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enco.data import Regime
from enco.graphs import is_acyclic
from enco.score.objective import Objective
from enco.search.dag import search
from enco.search.orders import BestParents, _follow, placings, rootings
from enco.search.state import Rules, State
from search_problems import free_rules, made_up

repeatable = settings(derandomize=True, deadline=None, max_examples=60)


def random_rules(seed, n, known=0.2):
    rng = np.random.default_rng(seed)
    rank = rng.permutation(n)
    required = (rng.random((n, n)) < known) & (rank[:, None] < rank)
    allowed = (rng.random((n, n)) < 0.8) & ~np.eye(n, dtype=bool) & ~required.T
    return free_rules(n, allowed=allowed, required=required), allowed, required


def topological(required, rng):
    """A random order that has every required edge forward."""
    order, left = [], set(range(len(required)))
    while left:
        ready = [k for k in sorted(left) if not any(required[other, k] for other in left)]
        order.append(int(rng.choice(ready)))
        left.remove(order[-1])
    return order


@repeatable
@given(st.integers(0, 10_000), st.integers(2, 6), st.sampled_from([0.0, 0.2]))
def test_moves_are_worth_what_they_say_and_close_no_cycle(seed, n, known):
    rules, allowed, required = random_rules(seed, n, known)
    objective = made_up(seed, n, scale=70.0)
    best = BestParents(objective, rules)
    graph = best.graph_of(topological(required, np.random.default_rng(seed)))
    state = State.of(graph)
    order = state.order()
    for move in (*placings(best, state, order), *rootings(best, state, order)):
        after = state.changed(move.families).graph
        assert move.gain == pytest.approx(objective.total(graph) - objective.total(after), abs=1e-6)
        assert is_acyclic(after)
        assert not (required & ~after).any()
        assert not (after & ~(allowed | required)).any()


@repeatable
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_a_variable_is_placed_where_the_order_is_best(seed, n):
    """Of all places, if all variables have the best parents among those before them."""
    rules = free_rules(n)
    best = BestParents(made_up(seed, n, scale=70.0), rules)

    def price(order):
        return best.objective.total(best.graph_of(order))

    order = np.random.default_rng(seed).permutation(n).tolist()
    state = State.of(best.graph_of(order))
    moves = {move_of(state, move, order): move for move in placings(best, state, order)}
    for variable in range(n):
        rest = [other for other in order if other != variable]
        every = [price([*rest[:k], variable, *rest[k:]]) for k in range(n) if k != order.index(variable)]
        assert moves[variable].gain == pytest.approx(price(order) - min(every), abs=1e-6)


def move_of(state, move, order):
    """The variable that a placing moves: the last of its families."""
    return list(move.families)[-1]


@repeatable
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_parents_that_leave_and_come_back(seed, n_others):
    """No single parent more or less is better than the answer, and required ones are always in it."""
    n = n_others + 1
    everything, required = ~np.eye(n, dtype=bool), np.zeros((n, n), bool)
    required[0, n - 1] = True
    objective = made_up(seed, n, scale=70.0)
    best = BestParents(objective, free_rules(n, allowed=everything & ~required & ~required.T, required=required))
    before = frozenset(range(n_others))
    parents = best.among(n - 1, before)
    assert 0 in parents
    price = objective.price(n - 1, parents)
    assert price <= objective.price(n - 1, before)
    assert all(price <= objective.price(n - 1, parents | {cause}) for cause in before - parents)


def test_only_those_that_come_before_are_chosen():
    best = BestParents(made_up(0), free_rules(4))
    assert best.among(2, frozenset()) == frozenset()
    assert best.among(2, frozenset({1})) <= {1}


@repeatable
@given(st.integers(0, 10_000), st.integers(1, 7), st.sampled_from([0.0, 0.2]))
def test_orders_that_follow(seed, n, known):
    rules, _, required = random_rules(seed, n, known)
    rng = np.random.default_rng(seed)
    graph = rng.random((n, n)) < 0.3
    joined = [np.flatnonzero(row).tolist() for row in graph | graph.T]
    order = topological(required, rng)
    begin = order[: rng.integers(n + 1)]
    for links in (joined, [()] * n):
        followed = _follow(begin, order, links, rules)
        assert sorted(followed) == list(range(n))
        assert followed[: len(begin)] == begin
        assert not any(required[b, a] for a, b in combinations(followed, 2))
    assert _follow(begin, order, [()] * n, rules) == order


@pytest.fixture(autouse=True)
def nothing_harms(monkeypatch):
    """These tests are about totals; what rows that intervene on a cause say is tested by itself."""
    monkeypatch.setattr("enco.search.dag._is_harmless", lambda *_: True)


class Joined:
    """Losses that only tell who is joined, whichever way the chain runs; its root pays for a parent.

    That is what an intervention on the root says, and nothing else is said about directions.
    """

    quick = True

    def __init__(self, effect, joined, root):
        self._effect, self._joined, self._root = effect, joined, root

    def loss(self, parents):
        linked = sum(self._joined[cause, self._effect] for cause in parents)
        return 1000.0 - (500.0 if linked else 0.0) + (300.0 if parents and self._effect == self._root else 0.0)

    def by_regime(self, parents):
        return np.array([self.loss(parents)])  # of observational rows

    def changes(self, parents, causes):
        return np.array([self.loss(parents ^ {cause}) for cause in causes])


@pytest.mark.parametrize("root", [0, 3, 7])
def test_a_chain_turns_round_as_a_whole(root):
    """Every direction is wrong but for the intervened variable's own; no single move can mend that."""
    n = 8
    joined = np.zeros((n, n), bool)
    joined[np.arange(n - 1), np.arange(1, n)] = True
    joined |= joined.T
    wrong = np.triu(joined) if root else np.tril(joined)
    regimes = [Regime((), np.zeros((1, n), np.uint8), np.zeros((1, 0), np.float32))]
    candidates = [frozenset(np.flatnonzero(column).tolist()) for column in joined.T]
    objective = Objective([Joined(k, joined, root) for k in range(n)], candidates, regimes, 0.0, 30.0)
    nothing = np.zeros_like(joined)
    path = search(objective, wrong, Rules.of(joined, nothing, joined, nothing))
    expected = joined & (np.abs(np.arange(n) - root)[:, None] < np.abs(np.arange(n) - root))
    assert (path.graph == expected).all()
    assert path.before - path.after == pytest.approx(sum(move.gain for move in path.moves))


def test_where_interventions_tell_every_direction_no_variable_is_loose():
    assert free_rules(5, told=True).loose == frozenset()
    told, nothing = np.ones((5, 5), bool), np.zeros((5, 5), bool)
    told[1, 3] = told[3, 1] = False
    joined = nothing.copy()
    joined[1, 3] = True
    everything = ~np.eye(5, dtype=bool)
    assert Rules.of(everything, nothing, joined, told).loose == {1, 3}
    assert Rules.of(everything, nothing, nothing, told).loose == frozenset()
    assert Rules.of(everything, nothing, joined, told).near[1] == {3}


def test_variables_that_keep_their_place_keep_their_parents():
    """Two of five swap places; 0 -> 2, which earns nothing, stays, because nobody asked."""
    chain = np.zeros((5, 5), bool)
    chain[[0, 1, 2, 3], [1, 2, 3, 4]] = True
    chain[0, 2] = True
    joined = chain | chain.T

    class Swap:
        quick = True

        def __init__(self, effect):
            self._effect = effect

        def loss(self, parents):
            return 100.0 * (self._effect == 3 and 4 not in parents)

        def by_regime(self, parents):
            return np.array([self.loss(parents)])

        def changes(self, parents, causes):
            return np.array([self.loss(parents ^ {cause}) for cause in causes])

    regimes = [Regime((), np.zeros((1, 5), np.uint8), np.zeros((1, 0), np.float32))]
    candidates = [frozenset(np.flatnonzero(column).tolist()) for column in joined.T]
    objective = Objective([Swap(k) for k in range(5)], candidates, regimes, 0.0, 0.0)
    nothing = np.zeros_like(joined)
    rules = Rules.of(joined, nothing, joined, nothing)
    found = search(objective, chain, rules).graph
    assert found[4, 3]
    assert not found[3, 4]
    assert (found[:, :3] == chain[:, :3]).all()
