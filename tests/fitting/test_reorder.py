"""The search over orders: what each move is worth, what is never touched, and directions that no regime tells."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enco import ENCO, Knowledge
from enco.bench.problem import Problem
from enco.candidates import Candidates
from enco.fitting import reorder as module
from enco.fitting.reorder import OrderSearch, moves_between
from enco.graphs import is_acyclic
from enco.metrics import shd

repeatable = settings(derandomize=True, deadline=None, max_examples=60)


def changed(parents, changes):
    """Sets that are asked for together."""
    return [parents, *(parents ^ {cause} for cause in changes)]


class Prices:
    """A random price for every family; parents cost something on average, as they do in life."""

    def __init__(self, seed, scale=200.0):
        self._seed, self._scale = seed, scale

    def prices(self, effect, parents, changes=()):
        return [self._price(effect, tuple(sorted(those))) for those in changed(parents, changes)]

    def _price(self, effect, parents):
        rng = np.random.default_rng([self._seed, effect, len(parents), *parents])
        return 1000.0 + self._scale * rng.random()


class Equivalent:
    """Prices of a score that only sees who is joined: mutual information of chains, whichever way they run.

    An intervention on one variable says where the chain begins: it is dear if that one has a parent.
    """

    def __init__(self, joined, root):
        self._joined, self._root = joined, root

    def prices(self, effect, parents, changes=()):
        return [
            1000.0 + sum(30.0 if self._joined[p, effect] else 40.0 for p in those)
            - (500.0 if any(self._joined[p, effect] for p in those) else 0.0)
            + (300.0 if those and effect == self._root else 0.0)
            for those in changed(parents, changes)
        ]  # fmt: skip


def random_search(seed, n, *, known=0.0, **options):
    rng = np.random.default_rng(seed)
    allowed = (rng.random((n, n)) < 0.8) & ~np.eye(n, dtype=bool)
    rank = rng.permutation(n)
    required = (rng.random((n, n)) < known) & (rank[:, None] < rank)
    return OrderSearch(Prices(seed), allowed=allowed & ~required.T, required=required, **options), allowed, required


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
def test_a_variable_is_placed_where_the_order_is_best(seed, n, known):
    search, _, required = random_search(seed, n, known=known)
    rng = np.random.default_rng(seed)
    order, variable = topological(required, rng), int(rng.integers(n))
    rest = [other for other in order if other != variable]
    every = [[*rest[:k], variable, *rest[k:]] for k in range(n)]
    possible = [it for it in every if not any(required[b, a] for a, b in itertools.combinations(it, 2))]
    least = min(search.price(it) for it in possible)
    found = search._place(variable, order)
    if found is None:
        assert search.price(order) - least <= module.LEAST_GAIN + 1e-6
    else:
        assert search.price(found) == pytest.approx(least)
        assert search.price(order) - least >= module.LEAST_GAIN - 1e-6
        assert found in possible


@repeatable
@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0.0, 0.2]))
def test_what_is_found(seed, n, known):
    search, allowed, required = random_search(seed, n, known=known)
    start = required.copy()
    first, told = module.topological_order(start).tolist(), []
    descended = search._descend(first, np.random.default_rng(seed), print)
    assert search.price(descended) <= search.price(first)
    graph = search.run(start, told.append)
    assert is_acyclic(graph)
    assert not (graph & ~(allowed | required)).any()
    assert not (required & ~graph).any()
    assert all(0 <= fraction <= 1 for fraction in told)
    assert told == sorted(told)


def test_variables_that_keep_their_place_keep_their_parents():
    """Only what comes before a variable can change its mind: two of five swap places, and their children follow."""
    chain = np.zeros((5, 5), bool)
    chain[[0, 1, 2, 3], [1, 2, 3, 4]] = True
    chain[0, 2] = True  # nobody needs it, but nobody asked either
    joined = chain | chain.T

    class Swap:
        def prices(self, effect, parents, changes=()):
            return [100.0 * (effect == 3 and 4 not in those) for those in changed(parents, changes)]

    search = OrderSearch(Swap(), allowed=joined, required=np.zeros_like(joined))
    found = search.run(chain)
    assert found[4, 3]
    assert not found[3, 4]
    assert (found[:, :3] == chain[:, :3]).all()


@repeatable
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_threads_find_the_same(seed, n):
    found = [random_search(seed, n, n_jobs=threads)[0].run(np.zeros((n, n), bool)) for threads in (1, 2)]
    assert (found[0] == found[1]).all()


@repeatable
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_parents_that_leave_and_come_back(seed, n_others):
    """No single parent more or less is better than the answer, and required ones are always in it."""
    n = n_others + 1
    everything = ~np.eye(n, dtype=bool)
    required = np.zeros((n, n), bool)
    required[0, n - 1] = True
    prices = Prices(seed)
    search = OrderSearch(prices, allowed=everything & ~required.T, required=required)
    before = frozenset(range(n_others))
    ((cost, parents),) = search.answers([(n - 1, before)])
    assert 0 in parents
    assert [cost] == prices.prices(n - 1, parents)
    assert cost <= min(*prices.prices(n - 1, before), *prices.prices(n - 1, parents, before - parents))


@pytest.mark.parametrize("root", [0, 3, 7])
def test_a_chain_turns_round_as_a_whole(root):
    """Every direction is wrong but for the intervened variable's own; no single move can mend that."""
    n = 8
    joined = np.zeros((n, n), bool)
    joined[np.arange(n - 1), np.arange(1, n)] = True
    joined |= joined.T
    wrong = np.triu(joined) if root else np.tril(joined)
    search = OrderSearch(Equivalent(joined, root), allowed=joined, required=np.zeros_like(joined))
    graph = search.run(wrong)
    expected = joined & (np.abs(np.arange(n) - root)[:, None] < np.abs(np.arange(n) - root))
    assert (graph == expected).all()


@repeatable
@given(st.integers(0, 10_000), st.integers(1, 7), st.sampled_from([0.0, 0.2]))
def test_orders_that_follow(seed, n, known):
    search, _, required = random_search(seed, n, known=known)
    rng = np.random.default_rng(seed)
    graph = rng.random((n, n)) < 0.3
    joined = [np.flatnonzero(row).tolist() for row in graph | graph.T]
    order = topological(required, rng)
    begin = order[: rng.integers(n + 1)]
    for links in (joined, None):
        followed = search._follow(begin, order, links)
        assert sorted(followed) == list(range(n))
        assert followed[: len(begin)] == begin
        assert not any(required[b, a] for a, b in itertools.combinations(followed, 2))
    assert search._follow(begin, order) == order


def test_moves_between_two_graphs():
    pairs = Candidates.all_pairs(4)
    before, after = np.zeros((2, 4, 4), bool)
    before[0, 1] = before[1, 2] = before[0, 3] = True
    after[1, 0] = after[0, 3] = after[2, 3] = True
    moves = {(move.kind, int(pairs.cause[move.pair]), int(pairs.effect[move.pair])) for move in
             moves_between(before, after, pairs)}  # fmt: skip
    assert moves == {("reverse", 0, 1), ("delete", 1, 2), ("add", 2, 3)}
    assert not list(moves_between(after, after, pairs))


def draw(seed, interventions, *, interventional_rows=200):
    return Problem(
        structure="bidiag", seed=seed, variables=8, categories=5, rows=2000, interventional_rows=interventional_rows,
        interventions=interventions,
    ).draw()  # fmt: skip


@pytest.mark.parametrize("seed", [2, 3])
def test_directions_that_no_regime_tells(seed, monkeypatch):
    """Two interventions orient most of a graph, by way of colliders and of what follows from them."""
    data, truth = draw(seed, 2)
    fit = ENCO(random_state=0, n_jobs=2).fit
    found = shd(fit(data).adjacency_matrix_, truth)
    monkeypatch.setattr("enco.fitting.graph.reorder", lambda model, graph, **rest: graph)
    without = shd(fit(data).adjacency_matrix_, truth)
    assert found <= 1
    assert without > 1  # or this test shows nothing


@pytest.mark.parametrize(
    ("interventions", "rows", "latent", "searched"),
    [
        (8, 200, False, False),
        (7, 200, False, False),
        (6, 200, False, True),
        (8, 20, False, True),
        (6, 200, True, False),
    ],
)
def test_where_orders_are_searched(interventions, rows, latent, searched, monkeypatch):
    """Where no rows, or hardly any, tell the two directions of a pair apart; not if confounders are looked for."""
    calls = []
    monkeypatch.setattr("enco.fitting.graph.reorder", lambda model, graph, **rest: calls.append(1) or graph)
    data, _ = draw(1, interventions, interventional_rows=rows)
    ENCO(random_state=0, max_epochs=2, latent=latent).fit(data)
    assert bool(calls) == searched


def test_knowledge_stands():
    data, truth = draw(1, 1)
    (cause, effect), (without, forbidden) = np.argwhere(truth)[[0, -1]].tolist()
    name = data.names
    knowledge = Knowledge(required=[(name[effect], name[cause])], forbidden=[(name[without], name[forbidden])])
    found = ENCO(random_state=0, n_jobs=2, knowledge=knowledge).fit(data).adjacency_matrix_.astype(bool)
    assert found[effect, cause]
    assert not found[without, forbidden]
    assert is_acyclic(found)
