"""The search against all acyclic graphs of four variables, on objectives of random numbers and of data."""

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.graphs import is_acyclic
from enco.score.counted import CountedPredictor
from enco.score.networks import Networks, presence_near
from enco.score.objective import CLEAR_HARM, Objective
from enco.score.regression import Regressions
from enco.score.rows import Sample
from enco.search.dag import LEAST_GAIN, search
from enco.search.state import Move, State
from enco.settings import Settings
from search_problems import TRUTH, all_dags, free_rules, made_up, small_data

EVERY = [frozenset(range(4)) - {effect} for effect in range(4)]


@pytest.fixture(scope="module")
def dags():
    return list(all_dags(4))


def replayed(objective, start, path, rounding=1e-6):
    """Follow the moves: each gain is the difference of the totals before and after, and no graph has a cycle."""
    state = State.of(start)
    for move in path.moves:
        after = state.changed(move.families)
        difference = objective.total(state.graph) - objective.total(after.graph)
        assert move.gain == pytest.approx(difference, abs=rounding)
        assert move.gain > LEAST_GAIN
        assert is_acyclic(after.graph)
        assert any(state.parents[effect] != parents for effect, parents in move.families.items())
        state = after
    assert (state.graph == path.graph).all()
    assert path.before == pytest.approx(objective.total(start))
    assert path.after == pytest.approx(objective.total(path.graph))
    assert path.before - path.after == pytest.approx(sum(move.gain for move in path.moves))


@pytest.fixture(autouse=True)
def nothing_harms(request, monkeypatch):
    """These tests are about totals; what rows that intervene on a cause say is tested by itself."""
    if "harm" not in request.node.name:
        monkeypatch.setattr("enco.search.dag._is_harmless", lambda *_: True)
        monkeypatch.setattr("enco.search.dag._harmful", lambda *_: iter(()))


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_from_every_graph_gains_are_differences_of_totals_and_no_edge_improves_the_end(dags, seed, told):
    assert len(dags) == 543
    objective, rules = made_up(seed), free_rules(4, told=told)
    total = {graph.tobytes(): objective.total(graph) for graph in dags}
    near = {}
    for start in dags:
        path = search(objective, start, rules)
        replayed(objective, start, path)
        end = path.graph.tobytes()
        if end not in near:
            changed = [np.argwhere(graph != path.graph) for graph in dags]
            single = [len(places) == 1 or (len(places) == 2 and set(places[0]) == set(places[1])) for places in changed]
            near[end] = min(total[graph.tobytes()] for graph, is_near in zip(dags, single, strict=True) if is_near)
        assert near[end] >= path.after - LEAST_GAIN


def test_all_kinds_of_moves_occur_in_these_tests(dags):
    kinds = set()
    for seed in range(4):
        objective, rules = made_up(seed), free_rules(4)
        for first in (False, True):
            paths = (search(objective, start, rules, order_first=first) for start in dags[::9])
            kinds |= {move.kind for path in paths for move in path.moves}
    assert kinds >= {"add", "delete", "reverse", "place"}


class Given:
    """Losses written down: {parents: nats}."""

    quick = True

    def __init__(self, losses):
        self._losses = {frozenset(parents): loss for parents, loss in losses.items()}

    def loss(self, parents):
        return self._losses[parents]

    def changes(self, parents, causes):
        return np.array([self.loss(parents ^ {cause}) for cause in causes])


def test_a_proxy_is_exchanged_for_the_parent_though_neither_step_gains_by_itself():
    """Beside its proxy 0 the parent 1 earns one nat, less than an edge costs; in its place, ten."""
    every = {(): 0.0, (0,): 50.0, (1,): 50.0, (2,): 50.0, (0, 1): 99.0, (0, 2): 99.0, (1, 2): 99.0}
    effect = {(): 60.0, (0,): 40.0, (1,): 30.0, (0, 1): 39.0}
    candidates = [frozenset(), frozenset(), frozenset({0, 1})]
    objective = Objective([Given(every), Given(every), Given(effect)], candidates, made_up(0, 3).regimes, 0.0, 5.0)
    start = np.zeros((3, 3), bool)
    start[0, 2] = True
    path = search(objective, start, free_rules(3, told=True))
    assert [(move.kind, dict(move.families), move.gain) for move in path.moves] == [("exchange", {2: {1}}, 10.0)]


def test_a_required_proxy_stays():
    effect = {(): 60.0, (0,): 40.0, (1,): 30.0, (0, 1): 39.0}
    candidates = [frozenset(), frozenset(), frozenset({0, 1})]
    objective = Objective([Given({(): 0.0})] * 2 + [Given(effect)], candidates, made_up(0, 3).regimes, 0.0, 5.0)
    required, allowed = np.zeros((2, 3, 3), bool)
    required[0, 2] = allowed[1, 2] = True
    assert search(objective, required, free_rules(3, told=True, allowed=allowed, required=required)).moves == []


def test_moves_made_at_once_change_different_families(dags):
    """So that their gains add up; the best of all is always among them."""
    objective, rules = made_up(3), free_rules(4, told=True)
    for start in dags[::20]:
        path = search(objective, start, rules)
        if path.moves and path.moves[0].kind in ("add", "delete", "reverse"):
            ways = [
                State.of(start).changed({k: p ^ {c}}).graph
                for k, p in enumerate(State.of(start).parents)
                for c in EVERY[k]
            ]
            single = [objective.total(start) - objective.total(way) for way in ways if is_acyclic(way)]
            assert path.moves[0].gain >= max(single) - 1e-9


def test_rules_are_obeyed(dags):
    required = np.zeros((4, 4), bool)
    required[3, 0] = True
    allowed = ~np.eye(4, dtype=bool)
    allowed[1, 2] = False
    for told in (False, True):
        rules = free_rules(4, told=told, allowed=allowed & ~required, required=required)
        for seed in range(5):
            for start in (graph for graph in dags[::7] if graph[3, 0] and not graph[1, 2]):
                for first in (False, True):
                    path = search(made_up(seed), start, rules, order_first=first)
                    assert path.graph[3, 0]
                    assert not path.graph[1, 2]
                    replayed(made_up(seed), start, path)


def test_nothing_allowed_changes_nothing():
    start = np.triu(np.ones((4, 4), bool), 1)
    path = search(made_up(0), start, free_rules(4, allowed=np.zeros((4, 4), bool), required=start))
    assert path.moves == []
    assert (path.graph == start).all()


def test_an_edge_must_earn_its_price():
    """Prices that differ by less than a nat are alike: rounding decides nothing."""

    class Flat:
        quick = True

        def __init__(self, gain):
            self.gain = gain

        def loss(self, parents):
            return 100.0 - self.gain * (0 in parents)

        def changes(self, parents, causes):
            return np.array([self.loss(parents ^ {cause}) for cause in causes])

    for gain, found in ((LEAST_GAIN + 1.2, False), (LEAST_GAIN + 1.3, True)):
        objective = Objective([Flat(0.0), Flat(gain)], [frozenset(), frozenset({0})], made_up(0).regimes, 0.05, 1.0)
        path = search(objective, np.zeros((2, 2), bool), free_rules(2, told=True, allowed=np.eye(2, k=1, dtype=bool)))
        assert path.graph[0, 1] == found  # five rows set variable 0 alone: 1.25 nats, and more than `LEAST_GAIN`


def test_relabelling_the_variables_relabels_the_answer(dags):
    place = np.array([2, 0, 3, 1])  # of each old variable among the new ones
    old = np.argsort(place)

    class Renamed:
        quick = True

        def __init__(self, predictor):
            self._predictor = predictor

        def loss(self, parents):
            return self._predictor.loss(frozenset(int(old[k]) for k in parents))

        def changes(self, parents, causes):
            return np.array([self.loss(parents ^ {cause}) for cause in causes])

    first, rules = made_up(5), free_rules(4, told=True)
    every = made_up(5).candidates
    regimes = [type(r)(tuple(place[list(r.targets)].tolist()), r.codes, r.reals) for r in first.regimes]
    second = Objective([Renamed(first.predictors[k]) for k in old], every, regimes, 0.01, 1.0)
    for start in dags[::20]:
        one, other = search(first, start, rules), search(second, start[np.ix_(old, old)], rules)
        assert (other.graph == one.graph[np.ix_(old, old)]).all()


def test_seen_from_elsewhere_a_search_is_one_move(dags):
    objective, rules = made_up(1), free_rules(4)
    start, other = dags[10], dags[400]
    path = search(objective, other, rules).seen_from(start, objective.total(start))
    assert [move.kind for move in path.moves] == ["restart"]
    replayed(objective, start, path)


def test_every_move_is_told_and_work_goes_through_run():
    told, ran = [], []

    def run(task, items):
        ran.append(list(items))
        return map(task, ran[-1])

    path = search(made_up(2), np.zeros((4, 4), bool), free_rules(4), run=run, on_move=told.append)
    assert told == path.moves
    assert all(isinstance(move, Move) for move in told)
    assert ran[0] == [0, 1, 2, 3]


# Predictors of data


def of_data(kind, seed=0, **options):
    """The objective of small data: regressions of continuous variables, networks of categorical ones."""
    data = small_data(kind, seed, **options)
    sample = Sample.of(data.regimes, 4)
    levels, slot = data.n_levels, data.slots
    regressed = Regressions(sample, Standardisation.of(data), levels, slot)
    small = NetworkSettings(hidden=16, batch=64)
    model = FusedConditionals(data, Candidates.all_pairs(4), settings=small, seed=0, n_jobs=1)
    presence = presence_near(~np.eye(4, dtype=bool), TRUTH, np.ones((4, 4), bool))
    networks = Networks(model, sample, presence, Settings(refine_steps=200))

    def of(k):
        if not levels[k]:
            return regressed.of(k, 5.0)
        return CountedPredictor(networks, k, levels, slot) if levels.all() else networks.of(k)

    predictors = [of(k) for k in range(4)]
    return Objective(predictors, EVERY, data.regimes, sparsity=0.004, evidence=3.0)


@pytest.mark.parametrize("told", [False, True])
def test_categorical_columns(dags, told):
    objective = of_data("categorical")
    for start in dags[::11]:
        replayed(objective, start, search(objective, start, free_rules(4, told=told)))
    assert (search(objective, np.zeros((4, 4), bool), free_rules(4, told=told)).graph == TRUTH).all()


@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_continuous_and_mixed_columns(dags, kind):
    """Regressions that learn more later may price the same family otherwise: a gain is a difference when it is made."""
    objective, rules = of_data(kind), free_rules(4, told=True)
    for start in (np.zeros((4, 4), bool), dags[100], dags[300], dags[542]):
        states = [State.of(start)]

        def compare(move, states=states):
            before, after = states[-1], states[-1].changed(move.families)
            change = objective.total(before.graph) - objective.total(after.graph)
            assert move.gain == pytest.approx(change, abs=1e-4)
            assert move.gain > LEAST_GAIN
            states.append(after)

        path = search(objective, start, rules, on_move=compare)
        assert (states[-1].graph == path.graph).all()
        assert path.after == pytest.approx(objective.total(path.graph), abs=1e-4)
    assert search(objective, TRUTH, rules).moves == []


def test_harmful_edges_of_the_start_leave_first():
    """Whatever they gain elsewhere; those that are required stay."""
    objective = of_data("categorical")
    start = np.zeros((4, 4), bool)
    start[2, 1] = start[1, 0] = True  # against the causal order: where the effect was set, the edge does harm
    assert objective.under_intervention_on(2, 1, frozenset({2})) > CLEAR_HARM
    path = search(objective, start, free_rules(4, told=True), moves=())
    assert [move.kind for move in path.moves] == ["harmful", "harmful"]
    assert not path.graph.any()
    assert path.before - path.after == pytest.approx(sum(move.gain for move in path.moves))
    rules = free_rules(4, told=True, required=start)
    assert (search(objective, start, rules, moves=()).graph == start).all()
