"""Edges that tables of counts ask for, and those they do away with."""

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.data import InterventionalData, Regime, Variable
from enco.fitting import recount
from enco.fitting.counts import Counts
from enco.fitting.recount import Recount

LEVELS = 3


def draw(rng, rows, target=None):
    """a -> b -> c, and d by itself; half of the values follow the cause."""
    noise = rng.integers(LEVELS, size=(rows, 4))
    a, b, c, d = noise.T.copy()
    if target != 1:
        b = np.where(rng.random(rows) < 0.5, a, b)
    if target != 2:
        c = np.where(rng.random(rows) < 0.5, b, c)
    return np.column_stack([a, b, c, d]).astype(np.uint8)


def make_counts(observational=2000, interventional=300, targets=range(4), seed=0):
    rng = np.random.default_rng(seed)
    variables = [Variable(name, "categorical", tuple(range(LEVELS))) for name in "abcd"]
    drawn = [((), draw(rng, observational))] + [((k,), draw(rng, interventional, k)) for k in targets]
    regimes = [Regime(targets, codes, np.zeros((len(codes), 0), np.float32)) for targets, codes in drawn]
    return Counts.of(InterventionalData(variables, regimes), np.arange(4))


TRUTH = np.zeros((4, 4), bool)
TRUTH[0, 1] = TRUTH[1, 2] = True
PAIRS = Candidates.all_pairs(4)
ANY = np.ones(PAIRS.n_pairs, bool)
ALL = np.ones(4, bool)


def recounted(graph, counts, **options):
    return Recount(graph, PAIRS, counts, **{"sparsity": 0.004, "evidence": 3.0, **options})


def with_edges(*edges, base=TRUTH):
    graph = base.copy()
    graph[tuple(np.transpose(edges))] = True
    return graph


def edge_only(cause, effect):
    return with_edges((cause, effect), base=np.zeros((4, 4), bool))


def pair_of(cause, effect):
    return int(np.flatnonzero((PAIRS.cause == cause) & (PAIRS.effect == effect))[0])


def test_useless_parents_leave_and_causes_stay():
    graph = with_edges((0, 2), (3, 2), (3, 1))
    moves = list(recounted(graph, make_counts()).delete(ANY, ANY))
    assert (graph == TRUTH).all()
    assert {(move.kind, move.pair) for move in moves} == {
        ("delete", pair_of(*edge)) for edge in ((0, 2), (3, 2), (3, 1))
    }
    assert all(move.cost <= 0 for move in moves)


@pytest.mark.parametrize("learned", [True, False])
def test_beyond_doubt_only_edges_leave_that_earn_nothing(learned, monkeypatch):
    """Where tables are learned well; true edges stay although their price is too high."""
    if not learned:
        monkeypatch.setattr(recount, "WELL_LEARNED", np.inf)
    graph = with_edges((0, 2), (3, 2))
    doubtful = ~ANY
    doubtful[pair_of(3, 2)] = True
    list(recounted(graph, make_counts(), sparsity=10.0).delete(ANY, doubtful))
    assert (graph == (TRUTH if learned else with_edges((0, 2)))).all()


def test_only_what_is_open_leaves():
    graph = with_edges((0, 2), (3, 2))
    list(recounted(graph, make_counts()).delete(~ANY, ANY))
    assert (graph == with_edges((0, 2), (3, 2))).all()


def test_causes_join():
    graph = np.zeros((4, 4), bool)
    moves = list(recounted(graph, make_counts()).add(ANY, ALL))
    assert (graph == TRUTH).all()
    assert [move.kind for move in moves] == ["add", "add"]


@pytest.mark.parametrize("closed", ["movable", "effects", "cycle", "looks", "cells", "targets"])
def test_what_keeps_an_edge_out(closed, monkeypatch):
    """b -> c is missing and stays so: it may not move, c is not asked about, c already leads to b, it takes too long,
    there are too few rows for a table, or b was never a target."""
    graph = with_edges((0, 1), base=np.zeros((4, 4), bool))
    movable, effects, counts = ANY.copy(), ALL.copy(), make_counts()
    if closed == "movable":
        movable[pair_of(1, 2)] = False
    if closed == "effects":
        effects[2] = False
    if closed == "cycle":
        graph = with_edges((2, 3), (3, 1), base=graph)
    if closed == "looks":
        monkeypatch.setattr(recount, "MOST_LOOKS", 1000)
    if closed == "cells":
        monkeypatch.setattr(recount, "ROWS_PER_CELL", 1000)
    if closed == "targets":
        counts = make_counts(targets=[0, 2, 3])
    before = graph.copy()
    list(recounted(graph, counts).add(movable, effects))
    assert not graph[1, 2]
    if closed in ("looks", "cells"):
        assert (graph == before).all()


def test_interventions_speak_before_observations():
    """Observational rows cannot tell b -> a from a -> b; under interventions on b, it does harm."""
    forward = ANY.copy()
    forward[pair_of(0, 1)] = False  # what would explain the dependence better
    graph = np.zeros((4, 4), bool)
    list(recounted(graph, make_counts(interventional=1000)).add(forward, np.array([True, False, False, False])))
    assert not graph[1, 0]


def test_a_weak_cause_shows_in_observational_rows():
    """With a price that few interventional rows cannot pay; without observational rows the edge leaves."""
    price = {"sparsity": 0.02, "evidence": 40.0}
    few = {"interventional": 20, "seed": 1}
    for observational, kept in ((5000, True), (10, False)):
        graph = TRUTH.copy()
        list(recounted(graph, make_counts(observational, **few), **price).delete(ANY, ANY))
        assert graph[0, 1] == kept


def test_where_there_is_much_to_look_at_some_rows_look_first(monkeypatch):
    counts, graph = make_counts(), np.zeros((4, 4), bool)
    looked = []
    family = Counts.family
    monkeypatch.setattr(recount, "ALL_ROWS_UP_TO", 4000)

    def noted(self, *args, **options):
        looked.append(len(self.regime))
        return family(self, *args, **options)

    monkeypatch.setattr(Counts, "family", noted)
    list(recounted(graph, counts).add(ANY, ALL))
    assert graph[0, 1]
    assert graph[1, 2]
    few, many = min(looked), max(looked)
    assert few < many / 5
    assert looked.count(many) < looked.count(few)


def test_thinned_counts_keep_every_so_many_rows():
    counts = make_counts()
    assert counts.thinned(1) is counts
    assert (counts.thinned(7).codes == counts.codes[::7]).all()
    assert (counts.thinned(7).regime == counts.regime[::7]).all()


def test_a_stand_in_is_exchanged_for_the_cause():
    """a knows something of b, the missing parent of c."""
    graph = with_edges((0, 2), base=edge_only(0, 1))
    counts = make_counts()
    again = recounted(graph, counts)
    moves = list(again.exchange(ANY, ALL))
    assert (graph == TRUTH).all()
    assert [(move.kind, move.pair) for move in moves] == [("delete", pair_of(0, 2)), ("add", pair_of(1, 2))]
    family = counts.family([0, 1], 2)
    assert moves[1].cost == pytest.approx((family.loss([1]) - family.loss([0])).sum())


@pytest.mark.parametrize("why", ["old", "new", "cycle", "reverse", "targets", "table"])
def test_what_keeps_a_stand_in(why, monkeypatch):
    graph = with_edges((0, 2), base=edge_only(0, 1))
    movable, targets = ANY.copy(), [0, 1, 2, 3]
    if why in ("old", "new"):
        movable[pair_of(0 if why == "old" else 1, 2)] = False
    elif why == "reverse":
        graph[2, 1], graph[0, 1] = True, False
    elif why == "cycle":
        graph[2, 3] = graph[3, 1] = True
    elif why == "targets":
        targets = [0, 2, 3]
    elif why == "table":
        monkeypatch.setattr(recount, "ROWS_PER_CELL", 10_000)
    effects = np.arange(4) == 2
    assert list(recounted(graph, make_counts(targets=targets)).exchange(movable, effects)) == []


def two_stand_ins():
    """b has two bits, of which a and d know one each; c is a noisy copy of b."""
    rng = np.random.default_rng(0)
    variables = [Variable(name, "categorical", tuple(range(4))) for name in "abcd"]
    regimes = []
    for target, rows in ((None, 4000), (0, 400), (1, 400), (2, 400), (3, 400)):
        b = rng.integers(4, size=rows)
        a, d = (np.where(rng.random(rows) < 0.8, bit, 1 - bit) for bit in (b // 2, b % 2))
        c = np.where(rng.random(rows) < 0.9, b, rng.integers(4, size=rows))
        codes = np.column_stack([a, b, c, d]).astype(np.uint8)
        if target not in (None, 1):  # b itself is as random as if it were set
            codes[:, target] = rng.integers(4, size=rows)
        regimes.append(Regime(() if target is None else (target,), codes, np.zeros((rows, 0), np.float32)))
    return Counts.of(InterventionalData(variables, regimes), np.arange(4))


def test_a_cause_comes_in_the_place_of_all_that_stood_for_it(monkeypatch):
    """Beside either of the two, its table would be too large to learn."""
    monkeypatch.setattr(Recount, "_is_learned", lambda self, parents, effect: len(parents) <= 1)
    graph = with_edges((0, 2), (3, 2), base=np.zeros((4, 4), bool))
    moves = list(recounted(graph, two_stand_ins()).exchange(ANY, edge_only(1, 2)[1]))
    assert np.argwhere(graph).tolist() == [[1, 2]]
    assert [move.kind for move in moves] == ["delete", "delete", "add"]


def test_two_that_each_seem_better_than_the_other_do_not_take_turns(monkeypatch):
    """Each may be judged by rows that the other is not judged by."""
    monkeypatch.setattr(
        Recount, "_exchanges", lambda self, parents, movable, cause, effect, some, *, several: {(0,): 100.0}
    )
    graph = with_edges((0, 2), base=np.zeros((4, 4), bool))
    moves = list(islice(recounted(graph, two_stand_ins()).exchange(ANY, edge_only(1, 2)[1]), 50))
    added = [move.pair for move in moves if move.kind == "add"]
    assert sorted(added) == [pair_of(1, 2), pair_of(3, 2)]  # each once, and the first one never again
    assert graph[:, 2].sum() == 1


def test_an_exchange_that_a_cycle_holds_up_is_noted_down():
    """c -> a -> b keeps b from taking d's place among the parents of c, for now."""
    graph = with_edges((3, 2), (2, 0), (0, 1), base=np.zeros((4, 4), bool))
    again = recounted(graph, two_stand_ins())
    assert list(again.exchange(ANY, edge_only(1, 2)[1])) == []
    assert again._held_up == {2}
    graph[2, 0] = False
    list(again.exchange(ANY, edge_only(1, 2)[1]))
    assert graph[1, 2]
    assert not graph[3, 2]


def test_an_effect_taken_for_a_cause_is_found_out():
    """Not in doubt, because c knows much of b: but not where it was set."""
    graph = edge_only(2, 1)
    list(recounted(graph, make_counts()).delete(ANY, ~ANY))
    assert not graph.any()


def put_aside(counts, left):
    """Leave so many rows of every intervention among the rows of all variables."""
    ends = np.searchsorted(counts.regime, np.arange(len(counts.targeted)), side="right")
    kept = [slice(0, ends[0]), *(slice(begin, begin + left) for begin in ends[:-1])]
    further = [counts.codes[:0], *(counts.codes[begin + left : end] for begin, end in pairwise(ends))]
    codes, regime = (np.concatenate([part[rows] for rows in kept]) for part in (counts.codes, counts.regime))
    return replace(counts, codes=np.asfortranarray(codes), regime=regime, further=further)


@pytest.mark.parametrize("doubtful", [ANY, ~ANY])
def test_all_rows_that_set_a_cause_are_asked_whether_it_does_harm(doubtful):
    counts = put_aside(make_counts(interventional=2000), left=20)
    for asked, found_out in ((counts, True), (replace(counts, further=()), False)):
        graph = edge_only(2, 1)
        list(recounted(graph, asked).delete(ANY, doubtful))
        assert graph.any() != found_out


@pytest.mark.parametrize("start", [[], [(2, 1)], [(0, 2), (0, 1)], [(2, 0), (3, 0)]])
def test_counts_lead_from_other_graphs_to_the_truth(start):
    graph = np.zeros((4, 4), bool)
    for cause, effect in start:
        graph[cause, effect] = True
    moves = list(recounted(graph, make_counts()).revise(ANY, ALL, ANY))
    assert (graph == TRUTH).all()
    again = np.zeros((4, 4), bool)
    for cause, effect in start:
        again[cause, effect] = True
    for move in moves:
        again[PAIRS.cause[move.pair], PAIRS.effect[move.pair]] = move.kind == "add"
    assert (again == graph).all()


def rare_cause(strength):
    """a is 1 in one row of a hundred, unless it is set, and then makes b more likely to be 1; c is by itself."""
    rng = np.random.default_rng(0)
    variables = [Variable(name, "categorical", (0, 1)) for name in "abc"]
    regimes = []
    for targets, rows in (((), 20_000), ((0,), 300), ((1,), 300), ((2,), 20_000)):
        a = rng.random(rows) < (0.5 if targets == (0,) else 0.01)
        b = rng.random(rows) < (0.5 if targets == (1,) else np.where(a, 0.05 + strength, 0.05))
        codes = np.column_stack([a, b, rng.random(rows) < 0.5]).astype(np.uint8)
        regimes.append(Regime(targets, codes, np.zeros((rows, 0), np.float32)))
    return Counts.of(InterventionalData(variables, regimes), np.arange(3))


@pytest.mark.parametrize(("strength", "found"), [(0.15, True), (0.0, False)])
@pytest.mark.parametrize("begin", [False, True])
def test_a_rare_cause_is_priced_where_it_was_set(strength, found, begin):
    """Over all rows it earns less than `sparsity` for each; where it was set, more."""
    counts, pairs = rare_cause(strength), Candidates.all_pairs(3)
    gain, rows = (each[1:] for each in (counts.family([0], 1).gain([], 0), counts.family([0], 1).rows))
    assert gain.sum() < 0.004 * rows.sum()
    graph = np.zeros((3, 3), bool)
    graph[0, 1] = begin
    again = Recount(graph, pairs, counts, sparsity=0.004, evidence=3.0)
    list(again.delete(np.ones(pairs.n_pairs, bool), np.ones(pairs.n_pairs, bool)))
    list(again.add(np.ones(pairs.n_pairs, bool), np.ones(3, bool)))
    assert np.argwhere(graph).tolist() == ([[0, 1]] if found else [])


def weak_cause(rows_of_effect):
    """a makes b more likely, but not in the few rows in which a was set, by chance; c is by itself."""
    rng = np.random.default_rng(0)
    variables = [Variable(name, "categorical", (0, 1)) for name in "abc"]
    regimes = []
    for targets, rows in (((), 20_000), ((0,), 40), ((1,), rows_of_effect), ((2,), 500)):
        a = rng.random(rows) < (0.5 if targets == (0,) else 0.3)
        b = rng.random(rows) < (0.5 if targets == (1,) else np.where(a, 0.3, 0.15))
        if targets == (0,):
            a, b = np.arange(rows) % 2, np.arange(rows) // 2 % 5 == 0
        codes = np.column_stack([a, b, rng.random(rows) < 0.5]).astype(np.uint8)
        regimes.append(Regime(targets, codes, np.zeros((rows, 0), np.float32)))
    return Counts.of(InterventionalData(variables, regimes), np.arange(3))


@pytest.mark.parametrize(("rows_of_effect", "found"), [(2000, True), (20, False)])
def test_where_rows_that_set_the_cause_say_little_those_that_set_the_effect_may_decide(rows_of_effect, found):
    counts, pairs = weak_cause(rows_of_effect), Candidates.all_pairs(3)
    assert -3.0 < counts.family([0], 1).gain([], 0)[2] <= 0.0
    assert (counts.family([1], 0).gain([], 0)[2] < -6.0) == found
    graph = np.zeros((3, 3), bool)
    list(Recount(graph, pairs, counts, sparsity=0.004, evidence=3.0).add(np.ones(6, bool), np.ones(3, bool)))
    assert np.argwhere(graph).tolist() == ([[0, 1]] if found else [])


def test_a_reverse_that_cannot_be_counted_says_nothing():
    """A parent of the cause is continuous."""
    counts = weak_cause(2000)
    counts = replace(counts, n_levels=np.array([2, 2, 0]), slot=np.array([0, 1, 0]))
    graph = np.zeros((3, 3), bool)
    graph[2, 0] = True
    pairs = Candidates.all_pairs(3)
    effects = counts.countable(graph)
    assert effects.tolist() == [False, True, False]
    list(Recount(graph, pairs, counts, sparsity=0.004, evidence=3.0).add(np.ones(6, bool), effects))
    assert np.argwhere(graph).tolist() == [[2, 0]]


@pytest.mark.parametrize("start", [np.zeros((4, 4), bool), np.triu(np.ones((4, 4), bool), 1)])
def test_threads_change_nothing_and_progress_only_grows(start):
    ends, told = [], []
    for n_jobs in (1, 3):
        graph = start.copy()
        moves = list(recounted(graph, make_counts(), n_jobs=n_jobs).revise(ANY, ALL, ANY, told.append))
        ends.append((graph.tolist(), moves))
    assert ends[0] == ends[1]
    once = told[: len(told) // 2]
    assert told == 2 * once
    assert once == sorted(once)
    assert once[-1] == 1.0
