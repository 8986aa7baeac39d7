"""The search as a stage of a fit: what it must not depend on, what it must obey, and how it ends."""

import signal
import time
from dataclasses import replace
from threading import Timer, main_thread

import numpy as np
import pytest

from enco.conditionals.regression import Regression
from enco.discover import conclude
from enco.fitting.loop import Discovery
from enco.graphs import is_acyclic
from enco.knowledge import Knowledge
from enco.score.counted import CountedPredictor
from enco.score.networks import ExpertPredictor, NetworkPredictor
from enco.score.regression import RegressionPredictor
from enco.search import stage
from enco.search.dag import LEAST_GAIN, Path
from enco.search.stage import FEW_ROWS, improve
from enco.search.state import State
from enco.settings import Settings
from search_problems import TRUTH, chain, counted, edges, graph_of, problem_of, small_data

QUICK = Settings(refine_steps=200, hidden=16, interventions="perfect")  # roots keep their distribution
KINDS = ["categorical", "continuous", "mixed"]


def same(one, other):
    assert (one.graph == other.graph).all()
    assert one.moves == other.moves
    assert (one.before, one.after) == (other.before, other.after)


def as_one(paths):
    """Return the path from the beginning of the first search to the end of the last."""
    moves = [move for path in paths for move in path.moves]
    return Path(paths[-1].graph, moves, paths[0].before, paths[-1].after)


@pytest.mark.parametrize("targets", [(0, 1, 2, 3), (0,)], ids=["told", "open"])
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads_gives_the_same_bits(kind, targets):
    data = small_data(kind, targets=targets)
    likely = ~np.eye(4, dtype=bool)
    start = graph_of(4, (2, 1), (3, 0))
    paths = [as_one(improve(problem_of(data, settings=QUICK, n_jobs=n, likely=likely), start)) for n in (1, 2)]
    same(*paths)
    assert paths[0].moves


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_columns_changes_nothing(kind):
    """The columns of the same data in another order; the graph is over names in alphabetical order."""
    data = small_data(kind)
    order = ["c", "a", "d", "b"]
    paths = []
    for each in (data, data.select(order)):
        discovery = Discovery(each, settings=QUICK)
        problem = problem_of(data, settings=QUICK)
        regimes = [each.observational, *discovery.graph_fitting.regimes]
        problem = replace(problem, data=each, column=discovery.column, regimes=regimes, model=discovery.model)
        paths.append(as_one(improve(problem, graph_of(4, (2, 1), (3, 0)))))
    same(*paths)
    assert paths[0].moves


@pytest.mark.parametrize("kind", KINDS)
def test_every_gain_is_positive_and_moves_lead_to_the_graph(kind):
    start = graph_of(4, (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    path = as_one(improve(problem_of(small_data(kind), settings=QUICK), start))
    state = State.of(start)
    for move in path.moves:
        assert move.gain > LEAST_GAIN
        state = state.changed(move.families)
        assert is_acyclic(state.graph)
    assert (state.graph == path.graph).all()
    assert edges(path.graph) == edges(TRUTH)


@pytest.mark.parametrize("likely", [False, True])
@pytest.mark.parametrize("targets", [(0, 1, 2, 3), (3,)], ids=["told", "open"])
@pytest.mark.parametrize("kind", KINDS)
def test_required_edges_stay_and_forbidden_ones_do_not_come(kind, targets, likely):
    """c -> a is required, against the truth; a -> b is forbidden."""
    required, allowed = graph_of(4, (2, 0)), ~graph_of(4, (0, 1)) & ~np.eye(4, dtype=bool)
    problem = problem_of(
        small_data(kind, targets=targets),
        settings=QUICK,
        required=required,
        allowed=allowed,
        likely=np.full((4, 4), likely),
    )
    found = improve(problem, required)[-1].graph
    assert found[2, 0]
    assert not found[0, 1]
    assert not found[0, 2]
    assert is_acyclic(found)


def test_without_open_pairs_nothing_changes():
    problem = problem_of(small_data("categorical"), settings=QUICK, allowed=np.zeros((4, 4), bool), required=TRUTH)
    path = improve(problem, TRUTH)[-1]
    assert (path.graph == TRUTH).all()
    assert path.moves == []


def test_progress_only_grows_and_ends_at_one():
    seen = []
    improve(problem_of(small_data("mixed"), settings=QUICK), graph_of(4), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 5


@pytest.mark.parametrize("rounds", [1, 3])
def test_networks_follow_the_graph_until_it_stays(rounds, monkeypatch):
    trained = []
    train = stage._Workers._train

    def recorded(self, graph, *more):
        trained.append(edges(graph))
        return train(self, graph, *more)

    monkeypatch.setattr(stage._Workers, "_train", recorded)
    settings = replace(QUICK, refine_rounds=rounds)
    path = improve(problem_of(counted(500, 100), settings=settings), graph_of(4, (3, 0)))[-1]
    assert trained[0] == {(3, 0)}
    assert len(trained) == min(rounds, 2)
    assert trained[1:] == [edges(path.graph)] * (len(trained) - 1)


def test_the_predictor_that_knows_most_answers():
    """Networks corrected by counts, regressions for continuous variables, else networks for exactly the parents."""
    chosen = {}
    best = stage._Workers._best

    def recorded(self, effect, parents, networks):
        chosen[effect] = predictor = best(self, effect, parents, networks)
        return predictor

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage._Workers, "_best", recorded)
        improve(problem_of(small_data("categorical"), settings=QUICK), graph_of(4, (1, 2)))
        assert all(isinstance(predictor, CountedPredictor) for predictor in chosen.values())
        improve(problem_of(small_data("mixed"), settings=QUICK), graph_of(4, (1, 2)))
    assert type(chosen[0]) is NetworkPredictor  # X2 and X4, which may be its parents, are continuous
    assert isinstance(chosen[1], RegressionPredictor)
    assert isinstance(chosen[2], ExpertPredictor)  # X1 is continuous
    assert isinstance(chosen[3], RegressionPredictor)


def test_densities_that_are_not_normal_are_left_to_networks(monkeypatch):
    monkeypatch.setattr(Regression, "fit", lambda *_, **__: pytest.fail("a regression"))
    problem = replace(problem_of(small_data("continuous"), settings=QUICK), regressions=False)
    assert is_acyclic(improve(problem, TRUTH)[-1].graph)


@pytest.mark.parametrize(
    ("targets", "rows", "loose"),
    [((0, 1, 2, 3), FEW_ROWS, False), ((0, 1, 2), FEW_ROWS, False), ((0, 1), FEW_ROWS, True), ((0, 1, 2, 3), 9, True)],
)
def test_where_places_in_the_order_are_open(targets, rows, loose):
    """Where fewer rows than `FEW_ROWS` tell the two directions of a pair apart."""
    data = small_data("categorical", interventional=rows, targets=targets)
    problem = problem_of(data, settings=QUICK, likely=~np.eye(4, dtype=bool))
    with stage._Workers(problem, TRUTH) as workers:
        assert bool(workers._rules(TRUTH).loose) == loose


def test_rows_that_tell_a_direction():
    data = small_data("categorical", interventional=60, targets=(0, 1))
    rows = problem_of(data, settings=QUICK).telling_rows()
    assert rows.tolist() == [[0, 120, 60, 60], [120, 0, 60, 60], [60, 60, 0, 0], [60, 60, 0, 0]]


@pytest.mark.parametrize(("joined", "evidence"), [(0, 3 + np.log(7)), (3, 3 + np.log(4 / 4)), (6, 3 + np.log(1 / 7))])
def test_the_fuller_the_graph_the_less_evidence_an_edge_needs(joined, evidence):
    problem = problem_of(small_data("categorical"), settings=replace(QUICK, edge_evidence=3.0))
    places = [(i, j) for i in range(4) for j in range(i + 1, 4)][:joined]
    assert problem.evidence(graph_of(4, *places)) == pytest.approx(evidence)


def test_the_prior_never_pays_for_an_edge():
    problem = problem_of(small_data("categorical"), settings=replace(QUICK, edge_evidence=0.0))
    assert problem.evidence(np.triu(np.ones((4, 4), bool), 1)) == 0.0


# An interruption


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_regressions_within_two_seconds(n_jobs, monkeypatch):
    """Regressions of five seconds each: what runs in threads must be told."""

    def endless(self, train, held_out, *, goal=None, go_on=lambda: None):
        for _ in range(500):
            go_on()
            time.sleep(0.01)
        return self

    monkeypatch.setattr(Regression, "fit", endless)
    problem, asked = problem_of(small_data("continuous"), settings=QUICK, n_jobs=n_jobs), []

    def interrupt():
        asked.append(time.monotonic())
        signal.pthread_kill(main_thread().ident, signal.SIGINT)

    Timer(1.0, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        improve(problem, TRUTH)
    assert time.monotonic() - asked[0] < 2


# Whole fits


@pytest.fixture(scope="module")
def discovery():
    made = Discovery(chain(150), settings=replace(QUICK, max_epochs=3), seed=1)
    made.run()
    return made


def bits(result):
    return result.adjacency.tobytes(), result.order, str(result.order_report)


def test_a_search_changes_nothing_of_the_fit(discovery):
    before = {name: value.tobytes() for name, value in discovery.state().items()}
    first, second = (conclude(discovery, chain(150)) for _ in range(2))
    assert bits(first) == bits(second)
    assert {name: value.tobytes() for name, value in discovery.state().items()} == before
    assert all(step["gain"] > LEAST_GAIN for step in first.order_report["refined"])


def test_a_restored_fit_searches_alike(discovery):
    again = Discovery(chain(150), settings=discovery.settings, seed=1, n_jobs=2)
    again.restore(discovery.state())
    assert bits(conclude(again, chain(150))) == bits(conclude(discovery, chain(150)))


@pytest.mark.parametrize("kind", ["categorical", "continuous"])
def test_knowledge_of_a_whole_fit_is_obeyed(kind):
    known = Knowledge(required=[("b", "d")], forbidden=[("a", "c")], tiers=[["a", "b"], ["c"]])
    settings = replace(QUICK, max_epochs=3, edge_evidence=0.0, sparsity=0.0)
    data = small_data(kind)
    discovery = Discovery(data, settings=settings, knowledge=known)
    discovery.run()
    found = edges(conclude(discovery, data, knowledge=known).adjacency)
    assert (1, 3) in found
    assert (0, 2) not in found
    assert not found & {(2, 0), (2, 1), (3, 1)}


def test_a_fit_that_has_not_run_is_not_searched(monkeypatch):
    monkeypatch.setattr("enco.discover.improve", lambda *_, **__: pytest.fail("networks that have learned nothing"))
    data = small_data("categorical")
    assert conclude(Discovery(data, settings=QUICK), data).order_report["refined"] == []
