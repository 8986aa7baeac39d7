"""Refinement: every move is worth exactly what the objective says, and nothing that is known is touched.

The conditional model here is a table of losses, one number per variable, set of parents and row, so that the objective
of any graph can be written down and all graphs of a few variables can be tried.
"""

import itertools
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enco import simulate
from enco.candidates import Candidates
from enco.data import Regime
from enco.fitting import recount
from enco.fitting import refine as module
from enco.fitting.counts import Counts
from enco.fitting.graph import GraphFitting
from enco.fitting.loop import Discovery
from enco.fitting.moves import Move
from enco.fitting.refine import refine
from enco.fitting.scoring import ANNEALING, USUAL, CrossFit, unusual_presence
from enco.graphs import is_acyclic
from enco.metrics import evaluate
from enco.parameters import EdgeParameters
from enco.result import Result
from enco.settings import Settings

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

Problem = namedtuple("Problem", "model regimes start movable continuous settings")


class Tables:
    """A conditional model with an arbitrary loss for every variable, set of parents, regime and row.

    loss[targets] : float64 [rows, N, 2 ** N], the last index a bit per parent.
    exact : the same for networks that were trained for one set of parents; the same losses by default.
    """

    def __init__(self, candidates, loss, exact=None):
        self.candidates = candidates
        self.loss = loss
        self.exact = loss if exact is None else exact
        self.copies, self.trained, self.asked, self.challenged = [], [], [], []

    def extended(self, rows, learning_rate, patience):
        self.copies.append((learning_rate, patience))
        return self

    def fit(self, edge_probability, steps, variables=None, on_progress=print):
        self.trained.append((edge_probability.copy(), steps, variables))

    def edge_effects(self, regime, rows, edge_probability, wanted):
        assert np.isin(edge_probability, (0.0, 1.0)).all()
        self.asked.append((regime.targets, rows.copy(), wanted.copy()))
        pairs = self.candidates
        parents = np.zeros(pairs.n_variables, int)
        np.add.at(parents, pairs.effect, edge_probability.astype(int) << pairs.cause)
        loss = self.loss[regime.targets][rows].mean(axis=0)
        bit = 1 << pairs.cause
        delta = loss[pairs.effect, parents[pairs.effect] | bit] - loss[pairs.effect, parents[pairs.effect] & ~bit]
        return np.where(wanted & ~np.isin(pairs.effect, regime.targets), delta, np.nan)

    def graph_losses(self, regime, rows, graphs):
        self.challenged.append(graphs.copy())
        pairs = self.candidates
        parents = np.zeros((len(graphs), pairs.n_variables), int)
        np.add.at(parents.T, pairs.effect, (graphs.astype(int) << pairs.cause).T)
        return self.exact[regime.targets][rows].mean(axis=0)[np.arange(pairs.n_variables), parents]


def make_regime(targets, rows, n):
    return Regime(tuple(targets), np.zeros((rows, n), np.uint8), np.zeros((rows, 0), np.float32))


def make_problem(n, seed, *, one_way=0.0, start_edges=0.5, known=0.0, scale=0.3, challenge=False, **options):
    """Random tables; `challenge`: some variables are continuous, with other losses once networks are dedicated."""
    rng = np.random.default_rng(seed)
    mask = rng.random((n, n)) >= one_way
    candidates = Candidates.from_mask(mask)
    some = {tuple(np.flatnonzero(rng.random(n) < 0.4).tolist()) for _ in range(n)}
    target_sets = sorted(targets for targets in some if 0 < len(targets) < n) or [(0,)]
    rows = rng.integers(1, 9, size=len(target_sets))
    regimes = [make_regime(targets, int(count), n) for targets, count in zip(target_sets, rows, strict=True)]
    loss, exact = (
        {regime.targets: rng.normal(0.0, scale, size=(regime.n_rows, n, 2**n)) for regime in regimes} for _ in range(2)
    )
    order = rng.permutation(n)
    forward = np.argsort(order)[:, None] < np.argsort(order)[None, :]
    start = mask & forward & (rng.random((n, n)) < start_edges)
    movable = rng.random(candidates.n_pairs) >= known
    continuous = rng.random(n) < (0.6 if challenge else 0.0)
    chosen = {"sparsity": 0.02, "edge_evidence": 0.3, "refine_rounds": 1, **options}
    model = Tables(candidates, loss, exact if challenge else None)
    return Problem(model, regimes, start, movable, continuous, Settings(**chosen))


def run(problem, start=None, doubt=None, counts=None):
    return refine(
        problem.model,
        problem.start if start is None else start,
        regimes=problem.regimes,
        movable=problem.movable,
        doubt=doubt or (lambda graph: np.where(problem.continuous, np.inf, 0.0)),
        counts=counts,
        settings=problem.settings,
    )


# The objective, written down from the words at the top of the module


def least_evidence(problem, start):
    """Nats per edge: edge_evidence + log((1 - q) / q), q the share of joined pairs, with a pseudo-count each."""
    pairs = problem.model.candidates
    joinable = len({frozenset(ends) for ends in zip(pairs.cause.tolist(), pairs.effect.tolist(), strict=True)})
    q = (np.count_nonzero(start) + 1) / (joinable + 2)
    return max(0.0, problem.settings.edge_evidence + np.log((1 - q) / q))


def objective(problem, graph, start=None, tables=None):
    """Over all rows and the variables each leaves free: losses and sparsity; and evidence for each edge."""
    n = len(graph)
    parents = (graph * (1 << np.arange(n))[:, None]).sum(axis=0)
    total = least_evidence(problem, problem.start if start is None else start) * np.count_nonzero(graph)
    for targets, loss in (problem.model.loss if tables is None else tables).items():
        for free in set(range(n)) - set(targets):
            total += loss[:, free, parents[free]].sum()
            total += len(loss) * problem.settings.sparsity * np.count_nonzero(graph[:, free])
    return total


def ends(problem, move):
    pairs = problem.model.candidates
    return int(pairs.cause[move.pair]), int(pairs.effect[move.pair])


def moved(graph, kind, cause, effect):
    result = graph.copy()
    result[cause, effect] = kind == "add"
    result[effect, cause] = kind == "reverse"
    return result


def harm(problem, graph, cause, effect):
    """What an edge costs in rows that set its cause and leave its effect free."""
    parents = int((graph[:, effect] * (1 << np.arange(len(graph)))).sum())
    having, lacking = parents | 1 << cause, parents & ~(1 << cause)
    there = [loss for targets, loss in problem.model.loss.items() if cause in targets and effect not in targets]
    return sum((loss[:, effect, having] - loss[:, effect, lacking]).sum() for loss in there)


def every_move(problem, graph):
    """All graphs one move away that knowledge and acyclicity allow, without new edges that do harm."""
    pairs = problem.model.candidates
    most = module.CLEAR_HARM * least_evidence(problem, problem.start)
    may = pairs.dense(problem.movable) > 0
    for cause, effect in np.argwhere(may):
        if graph[cause, effect]:
            kinds = ["delete", "reverse"] if may[effect, cause] else ["delete"]
        else:
            kinds = [] if graph[effect, cause] else ["add"]
        for kind in kinds:
            after = moved(graph, kind, cause, effect)
            new = {"add": [(cause, effect)], "reverse": [(effect, cause)]}.get(kind, [])
            if is_acyclic(after) and all(harm(problem, graph, *edge) <= most for edge in new):
                yield after


def replay(problem, moves, start=None):
    """Every graph on the way, the first and the last included."""
    graphs = [problem.start if start is None else start]
    for move in moves:
        graphs.append(moved(graphs[-1], move.kind, *ends(problem, move)))
    return graphs


def steps(problem, moves, start=None):
    graphs = replay(problem, moves, start)
    return zip(moves, graphs[:-1], graphs[1:], strict=True)


def all_dags(n):
    places = [(i, j) for i in range(n) for j in range(n) if i != j]
    for bits in itertools.product([False, True], repeat=len(places)):
        graph = np.zeros((n, n), bool)
        for place, bit in zip(places, bits, strict=True):
            graph[place] = bit
        if not (graph & graph.T).any() and is_acyclic(graph):
            yield graph


def additive(effects, n, *, rows=10, mask=None, exact=None, continuous=(), **options):
    """Effects per row that do not depend on other parents: {edge: nats}, or by regime {targets: {edge: nats}}.

    exact : {variable: {set of parents: nats}}, losses of dedicated networks; 0 for sets not named.
    """
    if not isinstance(next(iter(effects.values())), dict):
        effects = {(k,): effects for k in range(n)}
    sets = np.arange(2**n)
    loss = {}
    for targets, of_edge in effects.items():
        loss[targets] = np.zeros((rows, n, 2**n))
        for (cause, effect), nats in of_edge.items():
            loss[targets][:, effect, (sets >> cause) & 1 == 1] += nats
    dedicated = {targets: np.zeros((rows, n, 2**n)) for targets in effects}
    for table in dedicated.values():
        for variable, of_parents in (exact or {}).items():
            for parents, nats in of_parents.items():
                table[:, variable, sum(1 << parent for parent in parents)] = nats
    candidates = Candidates.all_pairs(n) if mask is None else Candidates.from_mask(mask)
    return Problem(
        Tables(candidates, loss, None if exact is None else dedicated),
        [make_regime(targets, rows, n) for targets in effects],
        np.zeros((n, n), bool),
        np.ones(candidates.n_pairs, bool),
        np.isin(np.arange(n), continuous),
        Settings(**{"sparsity": 0.0, "edge_evidence": 0.0, "refine_rounds": 1, **options}),
    )


def upper(n, edges):
    graph = np.zeros((n, n), bool)
    graph[tuple(np.array([(i, j) for i in range(n) for j in range(i + 1, n)][:edges], int).reshape(-1, 2).T)] = True
    return graph


def edge(n, *places):
    graph = np.zeros((n, n), bool)
    for place in places:
        graph[place] = True
    return graph


# What a move costs


@repeatable
@given(st.integers(2, 5), st.integers(0, 10_000))
def test_costs_are_differences_of_the_objective(n, seed):
    problem = make_problem(n, seed, one_way=0.2)
    result, moves = run(problem)
    assert (replay(problem, moves)[-1] == result).all()
    for move, before, after in steps(problem, moves):
        assert move.cost == pytest.approx(objective(problem, after) - objective(problem, before), abs=1e-9)
        assert move.cost < 0  # so it ends, and is never worse than the start


def test_all_kinds_of_moves_occur_in_these_tests():
    kinds = [move.kind for seed in range(20) for move in run(make_problem(4, seed))[1]]
    assert {kinds.count(kind) > 5 for kind in ("add", "delete", "reverse")} == {True}


def test_a_reversal_counts_all_rows_that_leave_either_end_free():
    """20 rows price 0 -> 1 and 30 rows price 1 -> 0, next to the edge or not."""
    effects = {(0,): {(0, 1): -1.0}, (1,): {(1, 0): -2.0}, (2,): {(0, 1): -0.5, (1, 0): -3.0}, (1, 2): {(1, 0): -1.0}}
    problem = additive(effects, 3, sparsity=0.25)
    result, moves = run(problem, edge(3, (0, 1)))
    assert (result == edge(3, (1, 0))).all()
    assert [(move.kind, *ends(problem, move)) for move in moves] == [("reverse", 0, 1)]
    assert moves[0].cost == pytest.approx(10 * (-2.0 - 3.0 - 1.0 + 3 * 0.25) - 10 * (-1.0 - 0.5 + 2 * 0.25))


def test_the_best_move_comes_first():
    """Two pairs of three variables share one, so that every look at the costs makes one move only."""
    made = 0
    for seed in range(30):
        problem = make_problem(3, seed)
        _, moves = run(problem)
        for move, before, _ in steps(problem, moves):
            best = min(objective(problem, after) for after in every_move(problem, before))
            assert move.cost == pytest.approx(best - objective(problem, before))
            made += 1
    assert made > 30


@pytest.mark.parametrize("known", [True, False], ids=["free", "joined"])
def test_an_effect_that_knows_its_cause_is_not_taken_for_one(known):
    """1 -> 0 would gain 2 nats a row wherever 1 was left free, and loses 5 where it was set."""
    effects = {(k,): {(1, 0): 5.0 if k == 1 else -2.0, (0, 1): -1.0} for k in range(8)}
    problem = additive(effects, 8)
    start = edge(8, (0, 1)) if known else np.zeros((8, 8), bool)
    result, _ = run(problem, start)
    assert (result == edge(8, (0, 1))).all()


def test_moves_made_at_once_share_no_variable(monkeypatch):
    at_once, apply = [], module._apply

    def remember(*arguments):
        at_once.append(list(apply(*arguments)))
        return at_once[-1]

    monkeypatch.setattr(module, "_apply", remember)
    for seed in range(30):
        problem = make_problem(5, seed)
        at_once.clear()
        _, moves = run(problem)
        assert [move for group in at_once for move in group] == moves
        for group in at_once:
            touched = [variable for move in group for variable in ends(problem, move)]
            assert len(touched) == len(set(touched))
            assert group == sorted(group)
    assert max(map(len, at_once)) == 2


def test_only_variables_with_new_parents_are_priced_again():
    longest = 0
    for seed in range(20):
        problem = make_problem(5, seed)
        _, moves = run(problem)
        pairs, first = problem.model.candidates, min(problem.regimes, key=lambda regime: len(regime.targets))
        halves = 1 if first.n_rows == 1 else 2  # an empty half is not asked
        assert len(first.targets) < 4  # so that looks at the harm that edges out of the targets do are another kind
        elsewhere = ~np.isin(pairs.cause, first.targets)
        looks = [wanted for targets, _, wanted in problem.model.asked if targets == first.targets]
        looks = [wanted for wanted in looks if wanted[elsewhere].any()][::halves]
        assert looks[0].all()
        assert all((wanted == np.isin(pairs.effect, pairs.effect[wanted])).all() for wanted in looks)
        # A move gives new parents to one variable, or to two if it turns an edge round.
        changed = sum(2 if move.kind == "reverse" else 1 for move in moves)
        assert sum(len(np.unique(pairs.effect[wanted])) for wanted in looks[1:]) == changed
        longest = max(longest, len(looks))
    assert longest >= 4


# Where it ends


@repeatable
@given(st.integers(2, 5), st.integers(0, 10_000), st.integers(1, 3))
def test_the_end_is_a_local_optimum(n, seed, rounds):
    problem = make_problem(n, seed, one_way=0.1, known=0.1, refine_rounds=rounds)
    result, _ = run(problem)
    reached = objective(problem, result)
    assert reached <= objective(problem, problem.start) + 1e-9
    for after in every_move(problem, result):
        assert objective(problem, after) >= reached - 1e-9


@pytest.mark.parametrize(("n", "seeds"), [(3, 20), (4, 4)])
def test_beside_all_acyclic_graphs(n, seeds):
    """Never better than the best of all, never worse than the start, and quite often the best of all."""
    graphs = list(all_dags(n))
    assert len(graphs) == {3: 25, 4: 543}[n]
    found = 0
    for seed in range(seeds):
        problem = make_problem(n, seed, edge_evidence=0.0, sparsity=0.05)
        best = min(objective(problem, graph) for graph in graphs)
        result, _ = run(problem)
        reached = objective(problem, result)
        assert best - 1e-9 <= reached <= objective(problem, problem.start) + 1e-9
        found += reached <= best + 1e-9
    assert found >= seeds / 4


def test_a_graph_that_is_best_for_its_own_prior_stays():
    graphs, kept = list(all_dags(3)), 0
    for seed in range(6):
        problem = make_problem(3, seed)
        for graph in graphs:
            if objective(problem, graph, graph) == min(objective(problem, other, graph) for other in graphs):
                result, moves = run(problem, graph)
                assert (result == graph).all()
                assert moves == []
                kept += 1
    assert kept >= 3


@repeatable
@given(st.integers(2, 6), st.integers(0, 10_000), st.sampled_from([0.0, 0.3]), st.booleans())
def test_always_acyclic(n, seed, one_way, challenge):
    problem = make_problem(
        n, seed, one_way=one_way, challenge=challenge, edge_evidence=0.0, sparsity=0.0, scale=2.0, refine_rounds=2
    )
    before = problem.start.copy()
    result, moves = run(problem)
    assert all(is_acyclic(graph) for graph in replay(problem, moves))
    assert (problem.start == before).all()
    assert result.dtype == bool
    assert not (result & (problem.model.candidates.dense(np.ones(problem.model.candidates.n_pairs)) == 0)).any()


def test_an_edge_that_would_close_a_cycle_is_not_added_or_turned():
    """0 -> 1 -> 2 and 0 -> 2: every variable wants 2 as a cause of 0, by addition or by reversal."""
    chain = edge(3, (0, 1), (1, 2))
    for start in (chain, chain | edge(3, (0, 2))):
        problem = additive({(0, 1): -9.0, (1, 2): -9.0, (0, 2): -1.0 if start[0, 2] else 9.0, (2, 0): -5.0}, 3)
        result, moves = run(problem, start)
        assert (result == start).all()
        assert moves == []


class Rounding(Tables):
    """Toggling an edge off rounds differently from toggling it on: either way the other state seems better."""

    def edge_effects(self, regime, rows, edge_probability, wanted):
        assert len(self.asked) < 1000, "the search does not end"
        delta = super().edge_effects(regime, rows, edge_probability, wanted)
        return delta + np.where(edge_probability > 0, 1e-9, -1e-9)


@pytest.mark.parametrize("effects", [{(0, 1): 0.0, (1, 0): 1.0}, {(0, 1): -1.0, (1, 0): -1.0}])
def test_it_ends_although_losses_are_rounded(effects):
    problem = additive(effects, 3, edge_evidence=1.0 if effects[0, 1] else 0.0)
    full = upper(3, 3) & ~edge(3, (0, 1)) if not effects[0, 1] else np.zeros((3, 3), bool)
    problem = problem._replace(
        model=Rounding(problem.model.candidates, problem.model.loss),
        movable=problem.model.candidates.effect + problem.model.candidates.cause == 1,
    )
    result, moves = run(problem, full)
    assert moves
    assert (replay(problem, moves, full)[-1] == result).all()


# Rounds


def test_no_rounds_do_nothing():
    problem = make_problem(5, 2, challenge=True, refine_rounds=0)
    result, moves = run(problem)
    assert (result == problem.start).all()
    assert result is not problem.start
    assert moves == []
    assert problem.model.copies == problem.model.trained == problem.model.asked == problem.model.challenged == []


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_networks_follow_the_graph(rounds):
    """Each round trains both sets of networks around the graph found so far; these tables do not learn from it.

    The second round finds nothing more to do, so there is no third.
    """
    problem = make_problem(5, 2, refine_rounds=rounds, refine_steps=123, refine_rate=0.5)
    pairs = problem.model.candidates
    result, moves = run(problem)
    assert moves
    assert (result == run(problem._replace(settings=Settings(sparsity=0.02, edge_evidence=0.3)))[0]).all()
    assert [rate for rate, _ in problem.model.copies[:2]] == [0.5, 0.5]
    trained = [call for call in problem.model.trained if call[1] == 123 and call[2] is None]
    assert len(trained) == 2 * min(rounds, 2)
    for place, (probability, steps, variables) in enumerate(trained):
        graph = problem.start if place < 2 else result
        unusual = unusual_presence(pairs.n_variables)
        assert probability.tolist() == np.where(graph[pairs.cause, pairs.effect], USUAL, unusual).tolist()
        assert steps == 123
        assert variables is None


def test_no_candidates():
    empty = np.zeros((3, 3), bool)
    problem = make_problem(3, 0, one_way=1.1, challenge=True)
    assert problem.model.candidates.n_pairs == 0
    result, moves = run(problem, empty)
    assert not result.any()
    assert moves == []


# When an edge is worth having


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("sparsity", [0.0, 0.01])
@pytest.mark.parametrize("edge_evidence", [0.0, 2.0, 3.0])
@pytest.mark.parametrize("joined", [0, 1])
@pytest.mark.parametrize("margin", [-1e-6, 1e-6])
def test_how_much_an_edge_must_gain(n, sparsity, edge_evidence, joined, margin):
    """Sparsity for each row that leaves the effect free; once, evidence beyond the prior odds of an edge."""
    rows = 10
    pairs = n * (n - 1) // 2
    prior = np.log((pairs - joined + 1) / (joined + 1))
    needed = sparsity * rows * (n - 1) + max(0.0, edge_evidence + prior)
    per_row = -(needed + margin) / (rows * (n - 1))
    problem = additive({(0, 1): per_row, (1, 0): 9.0}, n, rows=rows, sparsity=sparsity, edge_evidence=edge_evidence)
    start = upper(n, joined)
    result, moves = run(problem, start)
    assert result[0, 1] == (margin > 0)
    changed = result[0, 1] != start[0, 1]
    assert [move.kind for move in moves] == (["delete" if joined else "add"] if changed else [])
    if moves:
        assert moves[0].cost == pytest.approx(-1e-6, abs=1e-9)


@pytest.mark.parametrize("joined", range(11))
def test_the_fuller_the_graph_the_less_an_edge_must_gain(joined):
    """Five variables have ten pairs; edges that cannot move count too."""
    n, rows = 5, 10
    needed = max(0.0, 1.0 + np.log((11 - joined) / (joined + 1)))
    for margin in (-1e-6, 1e-6):
        problem = additive(
            {(0, 4): -(needed + margin) / (rows * (n - 1)), (4, 0): 9.0}, n, rows=rows, edge_evidence=1.0
        )
        pairs = problem.model.candidates
        start = np.zeros((n, n), bool)
        others = [(i, j) for i in range(n) for j in range(i + 1, n) if (i, j) != (0, 4)]
        for place in [*others, (0, 4)][:joined]:
            start[place] = True
        free = (pairs.cause == 0) & (pairs.effect == 4)
        result, _ = run(problem._replace(movable=free), start)
        assert result[0, 4] == (margin > 0)


def test_the_prior_never_pays_for_an_edge():
    """In a full graph an edge need not gain anything; but one that costs the least bit goes."""
    for nats, stays in ((0.0, True), (1e-9, False)):
        problem = additive({(0, 1): nats, (1, 0): 9.0}, 4)
        result, _ = run(problem, upper(4, 6))
        assert result[0, 1] == stays
        assert result.sum() == (6 if stays else 5)


def test_one_way_candidates_count_as_one_pair():
    rows, n = 10, 3
    mask = np.triu(np.ones((n, n)), 1)
    needed = 1.0 + np.log(4.0)  # three pairs, none joined
    for margin in (-1e-6, 1e-6):
        effects = {(0, 1): -(needed + margin) / (rows * (n - 1))}
        for given_mask in (mask, None):
            problem = additive(
                effects if given_mask is not None else {**effects, (1, 0): 9.0}, n, rows=rows, mask=given_mask,
                edge_evidence=1.0,
            )  # fmt: skip
            result, _ = run(problem)
            assert result[0, 1] == (margin > 0)


def test_a_regime_says_nothing_about_its_targets():
    """0 -> 1 looks good in rows that set 1: they do not count."""
    effects = {(0,): {(0, 1): 0.1}, (1,): {(0, 1): -50.0}, (1, 2): {(0, 1): -50.0}}
    result, moves = run(additive(effects, 3))
    assert not result.any()
    assert moves == []


# Parents of continuous variables are challenged


def test_a_parent_that_is_useless_to_dedicated_networks_goes():
    problem = additive({(0, 1): -1.0, (1, 0): 9.0}, 3, exact={1: {(): 0.0, (0,): -0.1}}, continuous=[1], sparsity=0.25)
    result, moves = run(problem)
    assert [(move.kind, *ends(problem, move)) for move in moves] == [("add", 0, 1), ("delete", 0, 1)]
    price = 20 * 0.25 + np.log(4)  # rows that leave X1 free; three pairs, none joined
    assert [move.cost for move in moves] == [pytest.approx(-20 + price), pytest.approx(20 * 0.1 - price)]
    assert not result.any()


@pytest.mark.parametrize("margin", [-1e-6, 1e-6])
def test_a_parent_stays_if_dedicated_networks_gain_more_than_it_costs(margin):
    price = 20 * 0.01 + 3.0 + np.log(4)
    exact = {1: {(0,): -(price + margin) / 20}}
    problem = additive({(0, 1): -1.0, (1, 0): 9.0}, 3, exact=exact, continuous=[1], sparsity=0.01, edge_evidence=3.0)
    result, moves = run(problem)
    assert result[0, 1] == (margin > 0)
    assert [move.kind for move in moves] == (["add"] if margin > 0 else ["add", "delete"])


def test_rows_that_set_a_variable_do_not_judge_its_parents():
    """In the rows of do(1) dedicated networks find 0 very useful for 1; elsewhere they do not."""
    problem = additive({(0, 1): -1.0, (1, 0): 9.0}, 3, exact={}, continuous=[1])
    problem.model.exact[1,][:, 1, 1] = -1000.0
    result, _ = run(problem)
    assert not result.any()


def test_parents_of_categorical_variables_are_never_challenged():
    problem = additive({(0, 1): -1.0, (1, 0): 9.0, (0, 2): -1.0, (2, 0): 9.0}, 3, exact={}, continuous=[2])
    result, moves = run(problem)
    assert (result == edge(3, (0, 1))).all()
    assert {ends(problem, move) for move in moves if move.kind == "delete"} == {(0, 2)}
    trained = [variables for _, _, variables in problem.model.trained if variables is not None]
    assert {tuple(variables.tolist()) for variables in trained} == {(2,)}
    problem = additive({(0, 1): -1.0, (1, 0): 9.0, (0, 2): -1.0, (2, 0): 9.0}, 3, exact={})
    run(problem)
    assert problem.model.challenged == []


@pytest.mark.parametrize("margin", [-1e-6, 1e-6])
def test_an_edge_that_earns_as_much_as_the_doubt_is_not_challenged(margin):
    problem = additive({(0, 1): -1.0, (1, 0): 9.0}, 3, exact={})
    result, moves = run(problem, doubt=lambda graph: np.array([0.0, 1.0 + margin, 0.0]))
    assert [move.kind for move in moves] == (["add", "delete"] if margin > 0 else ["add"])
    assert result[0, 1] == (margin < 0)


@pytest.mark.parametrize("networks_know", [0.0, -5.0])
def test_where_tables_predict_better_than_networks_they_decide(networks_know, monkeypatch):
    """Column 2 is a copy of column 1; networks think that 0 helps, and may or may not know more than tables do."""
    monkeypatch.setattr(recount, "WELL_LEARNED", np.inf)  # else a parent that earns nothing leaves in any case
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=(400, 3)).astype(np.uint8)
    codes[:, 2] = codes[:, 1]
    counts = Counts(
        n_levels=np.full(3, 3),
        codes=np.asfortranarray(codes),
        slot=np.arange(3),
        regime=np.repeat(np.arange(4), 100),
        targeted=np.vstack([np.zeros(3, bool), np.eye(3, dtype=bool)]),
    )
    effects = {(1, 2): -1.0 + networks_know, (0, 2): -1.0, (2, 0): 9.0, (2, 1): 9.0, (0, 1): 9.0}
    problem = additive(effects, 3, sparsity=0.02)
    for loss in problem.model.loss.values():
        loss += 3.0
    sure = edge(3, (0, 2), (1, 2))
    result, _ = run(problem, sure, doubt=lambda graph: np.zeros(3), counts=lambda: counts)
    assert (result == (sure if networks_know else edge(3, (1, 2)))).all()


def test_doubt_is_asked_about_the_graph_that_the_search_ends_with():
    asked = []
    problem = additive({(0, 1): -1.0, (1, 0): 9.0}, 3, exact={})
    run(problem, doubt=lambda graph: asked.append(graph.copy()) or np.zeros(3))
    assert [(graph == edge(3, (0, 1))).all() for graph in asked] == [True]


def test_known_parents_are_never_challenged():
    problem = additive({(0, 1): -1.0, (1, 0): 9.0}, 3, exact={}, continuous=[0, 1, 2])
    problem = problem._replace(movable=np.zeros(6, bool))
    result, moves = run(problem, edge(3, (0, 1)))
    assert (result == edge(3, (0, 1))).all()
    assert moves == []
    assert problem.model.challenged == []


def test_after_a_removal_the_other_parents_are_tried_again():
    """0 is needed beside 1 and is kept at first; 1 is not needed, and without it 0 is not either."""
    exact = {2: {(0, 1): 0.0, (1,): 1.0, (0,): -0.1, (): -0.2}}
    problem = additive({(0, 2): -1.0, (1, 2): -2.0}, 3, exact=exact, continuous=[2])
    problem = problem._replace(movable=problem.model.candidates.effect == 2)
    result, moves = run(problem, edge(3, (0, 2), (1, 2)))
    assert [(move.kind, *ends(problem, move)) for move in moves] == [("delete", 1, 2), ("delete", 0, 2)]
    assert not result.any()


def test_the_least_convincing_parent_is_tried_first():
    """Either could go, but not both."""
    exact = {2: {(0, 1): 0.0, (0,): -0.1, (1,): -0.1, (): 5.0}}
    for first, second in ((0, 1), (1, 0)):
        problem = additive({(first, 2): -1.0, (second, 2): -2.0}, 3, exact=exact, continuous=[2])
        problem = problem._replace(movable=problem.model.candidates.effect == 2)
        result, _ = run(problem, edge(3, (0, 2), (1, 2)))
        assert (result == edge(3, (second, 2))).all()


def test_all_variables_are_challenged_at_once():
    n = 6
    effects = {(k, k + 1): -1.0 for k in range(0, n, 2)} | {(k + 1, k): 9.0 for k in range(0, n, 2)}
    problem = additive(effects, n, exact={}, continuous=range(n), refine_steps=77, refine_rate=0.5, refine_patience=9)
    result, moves = run(problem)
    assert not result.any()
    assert [move.kind for move in moves] == ["add"] * 3 + ["delete"] * 3
    dedicated = problem.model.trained[2:]  # with the parents and without, by both sets of networks
    assert [(steps, variables.tolist()) for _, steps, variables in dedicated] == [(77, [1, 3, 5])] * 4 * len(ANNEALING)
    assert [probability.sum() for probability, *_ in dedicated] == [
        *[3.0] * 2 * len(ANNEALING),
        *[0.0] * 2 * len(ANNEALING),
    ]
    assert {(rate, patience) for rate, patience in problem.model.copies[2:]} == {(0.5 * each, 9) for each in ANNEALING}


@repeatable
@given(st.integers(2, 5), st.integers(0, 10_000))
def test_every_parent_left_has_stood_its_challenge(n, seed):
    problem = make_problem(n, seed, one_way=0.1, known=0.1, challenge=True, start_edges=0.8)
    searched, made = run(problem._replace(continuous=np.zeros(n, bool)))
    result, moves = run(problem)
    assert moves[: len(made)] == made
    removals = moves[len(made) :]
    exact = problem.model.exact
    for move, before, after in steps(problem, removals, searched):
        assert move.kind == "delete"
        assert problem.continuous[ends(problem, move)[1]]
        change = objective(problem, after, tables=exact) - objective(problem, before, tables=exact)
        assert move.cost == pytest.approx(change, abs=1e-9)
        assert move.cost < 0
    may = problem.model.candidates.dense(problem.movable) > 0
    reached = objective(problem, result, tables=exact)
    for cause, effect in np.argwhere(result & may & problem.continuous):
        assert objective(problem, moved(result, "delete", cause, effect), tables=exact) >= reached - 1e-9


# What is known


@repeatable
@given(st.integers(2, 5), st.integers(0, 10_000))
def test_pairs_that_are_not_movable_stay_as_they_are(n, seed):
    problem = make_problem(
        n, seed, known=0.5, one_way=0.2, challenge=bool(seed % 2), sparsity=0.0, edge_evidence=0.0, scale=2.0
    )
    pairs = problem.model.candidates
    result, _ = run(problem)
    still = ~problem.movable
    assert (result[pairs.cause, pairs.effect][still] == problem.start[pairs.cause, pairs.effect][still]).all()


def test_nothing_movable():
    problem = make_problem(4, 0, known=1.1, challenge=True)
    result, moves = run(problem)
    assert (result == problem.start).all()
    assert moves == []


@pytest.mark.parametrize("seed", range(10))
def test_required_and_oriented_pairs(seed):
    """As graph fitting hands them over: 0 -> 1 is required, 2 comes before 3 if they are joined at all."""
    problem = make_problem(4, seed, sparsity=0.0, edge_evidence=0.0, scale=2.0)
    pairs = problem.model.candidates
    parameters = EdgeParameters(pairs)

    def which(cause, effect):
        return (pairs.cause == cause) & (pairs.effect == effect)

    fixed = which(0, 1)
    oriented = which(0, 1) | which(1, 0) | which(2, 3) | which(3, 2)
    parameters.theta[which(0, 1) | which(2, 3)] = 20.0
    parameters.theta[which(1, 0) | which(3, 2)] = -20.0
    fitting = GraphFitting(
        problem.model,
        parameters,
        regimes=problem.regimes,
        fixed=fixed,
        oriented=oriented,
        settings=problem.settings,
        rng=np.random.default_rng(0),
    )
    rng_before = fitting.rng.bit_generator.state
    start = np.zeros((4, 4), bool)
    start[0, 1] = True
    start[2, 3] = bool(seed % 2)
    result, moves = fitting.refine(start, lambda graph: np.where(problem.continuous, np.inf, 0.0))
    assert moves
    assert result[0, 1]
    assert not result[1, 0]
    assert not result[3, 2]
    assert fitting.rng.bit_generator.state == rng_before


# What must not matter


@pytest.mark.parametrize("seed", range(8))
def test_relabelling_the_variables_relabels_the_answer(seed):
    n = 5
    problem = make_problem(n, seed, one_way=0.1, known=0.1, scale=1.0, challenge=True)
    pairs = problem.model.candidates
    place = np.random.default_rng(seed).permutation(n)  # of each old variable among the new ones
    old = np.argsort(place)  # of each new variable among the old ones
    to_new = np.ix_(old, old)
    sets = sum(((np.arange(2**n) >> place[k]) & 1) << k for k in range(n))  # old parents for each set of new ones
    renamed, exact = (
        {tuple(sorted(place[list(targets)].tolist())): loss[:, old][:, :, sets] for targets, loss in tables.items()}
        for tables in (problem.model.loss, problem.model.exact)
    )
    candidates = Candidates.from_mask(pairs.dense(np.ones(pairs.n_pairs))[to_new])
    other = Problem(
        Tables(candidates, renamed, exact),
        [make_regime(targets, len(loss), n) for targets, loss in renamed.items()],
        problem.start[to_new],
        candidates.gather(pairs.dense(problem.movable)[to_new]) > 0,
        problem.continuous[old],
        problem.settings,
    )
    first, first_moves = run(problem)
    second, second_moves = run(other)
    assert first_moves
    assert (second == first[to_new]).all()
    for before, after in zip(sorted(first_moves), sorted(second_moves), strict=True):
        assert before.kind == after.kind
        assert before.cost == pytest.approx(after.cost, abs=1e-9)
        assert [place[end] for end in ends(problem, before)] == list(ends(other, after))


def test_the_order_of_regimes_does_not_matter():
    problem = make_problem(5, 1)
    first, moves = run(problem)
    second, others = run(problem._replace(regimes=problem.regimes[::-1]))
    assert (first == second).all()
    assert [(move.kind, move.pair) for move in moves] == [(move.kind, move.pair) for move in others]


def test_moves_are_plain_and_sort_by_cost():
    _, moves = run(make_problem(4, 0))
    assert {(type(move.cost), type(move.kind), type(move.pair)) for move in moves} == {(float, str, int)}
    assert sorted([Move(-1.0, "add", 3), Move(-2.0, "reverse", 9)])[0].cost == -2.0


# With networks


def draw(seed, *, continuous=False, n=6, rows=1000, interventional_rows=20):
    rng = np.random.default_rng(seed)
    make = simulate.continuous if continuous else simulate.categorical
    scm = make("chain", n, rng)
    return scm, scm.dataset(rows, interventional_rows, rng=rng)


@pytest.mark.parametrize("continuous", [False, True])
def test_costs_are_differences_of_the_losses_of_the_networks(monkeypatch, continuous):
    """The engines draw parents at random: at probabilities 0 and 1 they must not."""
    _, data = draw(1, continuous=continuous, n=4, rows=300)
    quick = Settings(
        max_epochs=1, first_fit_steps=200, graph_steps=10, hidden=16, refine_rounds=1, refine_steps=100
    )  # fmt: skip
    fit = Discovery(data, settings=quick, seed=0)
    fit.run()
    pairs, scores = fit.candidates, []
    monkeypatch.setattr(module, "CrossFit", lambda *arguments: (scores.append(CrossFit(*arguments)), scores[-1])[1])
    monkeypatch.setattr(module, "_challenge", lambda *arguments: [])
    monkeypatch.setattr(fit, "_gaussian", False)  # networks decide, not regressions ...
    monkeypatch.setattr(recount.Recount, "revise", lambda *arguments: [])  # ... and not counts
    monkeypatch.setattr(fit.graph_fitting, "hardly_told", False)  # the order search says nothing of single moves

    def value(graph):
        total = least * graph.sum()
        for model, halves in zip(scores[-1]._models, scores[-1]._rows, strict=True):
            for regime, rows in zip(fit.graph_fitting.regimes, halves, strict=True):
                losses = model.graph_losses(regime, rows, graph[None, pairs.cause, pairs.effect])[0]
                free = np.setdiff1d(np.arange(4), regime.targets)
                total += len(rows) * (losses[free].sum() + quick.sparsity * graph[:, free].sum())
        return total

    done = set()
    for start in (np.zeros((4, 4), bool), upper(4, 6), upper(4, 6).T.copy()):
        joined = start.sum()
        least = max(0.0, quick.edge_evidence + np.log((6 - joined + 1) / (joined + 1)))
        result, moves = fit.refine(start)
        graph = start
        for move in moves:
            after = moved(graph, move.kind, int(pairs.cause[move.pair]), int(pairs.effect[move.pair]))
            assert move.cost == pytest.approx(value(after) - value(graph), abs=2e-3)
            graph = after
            done.add(move.kind)
        assert (graph == result).all()
        assert is_acyclic(result)
    assert done >= {"add", "delete"}


@pytest.mark.parametrize(("continuous", "most"), [(False, 4), (True, 2)])
def test_refined_graphs_have_fewer_errors(continuous, most):
    """Very small samples: chains of six variables, 1,000 rows and 20 for each intervention."""
    errors = {True: 0, False: 0}
    for seed in range(3):
        scm, data = draw(seed, continuous=continuous)
        fit = Discovery(data, settings=Settings(), seed=seed)
        fit.run()
        refined = Result.from_discovery(fit, data, seconds=0.0, seed=seed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Discovery, "refine", lambda fit, adjacency, on_progress: (adjacency, []))
            ordered = Result.from_discovery(fit, data, seconds=0.0, seed=seed)
        assert (refined.adjacency_raw == ordered.adjacency_raw).all()
        errors[True] += evaluate(refined.adjacency, scm.observed_adjacency)["shd"]
        errors[False] += evaluate(ordered.adjacency, scm.observed_adjacency)["shd"]
    assert errors[True] < errors[False]
    assert errors[True] <= most
