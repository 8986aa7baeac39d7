"""Graph fitting: which parameters a step moves, by how much, and which it must leave alone."""

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.data import Regime
from enco.fitting.graph import GraphFitting
from enco.parameters import EdgeParameters
from enco.settings import Settings


class KnownEffects:
    """A conditional model whose edge effects are given; it remembers what it was asked."""

    def __init__(self, candidates, delta):
        self.candidates = candidates
        self.delta = np.asarray(delta, float)
        self.asked = []

    def edge_effects(self, regime, rows, edge_probability, wanted):
        self.asked.append((regime.targets, rows.copy(), edge_probability.copy(), wanted.copy()))
        return np.where(wanted & ~np.isin(self.candidates.effect, regime.targets), self.delta, np.nan)

    def graph_losses(self, regime, rows, graphs):
        """Additive in the edges, so that every estimate of an effect has the given expectation."""
        losses = np.ones((len(graphs), self.candidates.n_variables))
        np.add.at(losses.T, self.candidates.effect, (graphs * self.delta).T)
        return losses


def make_regime(*targets, rows=50, n=4):
    return Regime(targets, np.zeros((rows, n), np.uint8), np.zeros((rows, 0), np.float32))


def make_fitting(targets, *, n=4, mask=None, delta=None, fixed=(), oriented=(), rows=50, seed=0, **settings):
    candidates = Candidates.all_pairs(n) if mask is None else Candidates.from_mask(mask)
    if delta is None:
        delta = np.random.default_rng(99).normal(size=candidates.n_pairs)
    parameters = EdgeParameters(candidates)
    known = [np.isin(np.arange(candidates.n_pairs), list(which)) for which in (fixed, oriented)]
    return GraphFitting(
        KnownEffects(candidates, delta),
        parameters,
        regimes=[make_regime(*members, rows=rows, n=n) for members in targets],
        fixed=known[0],
        oriented=known[1],
        settings=Settings(**settings),
        rng=np.random.default_rng(seed),
    )


def is_pair(fitting, causes, effects):
    pairs = fitting.parameters.candidates
    return np.isin(pairs.cause, causes) & np.isin(pairs.effect, effects)


SINGLES = [(0,), (1,), (2,), (3,)]


# gamma


def test_a_step_moves_gamma_by_adam_on_eq_3():
    fitting = make_fitting(SINGLES)
    parameters = fitting.parameters
    parameters.gamma[:] = np.linspace(-1, 1, 12)
    existence, orientation = parameters.existence(), parameters.orientation()
    gradient = existence * (1 - existence) * orientation * (fitting.model.delta + fitting.settings.sparsity)
    before = parameters.gamma.copy()
    fitting.step(fitting.regimes[0])
    free = parameters.candidates.effect != 0
    step = -fitting.settings.gamma_rate * np.sign(gradient)  # Adam's first step has the size of its rate
    np.testing.assert_allclose((parameters.gamma - before)[free], step[free], rtol=1e-4)
    np.testing.assert_allclose(parameters.gamma_adam.first[free], 0.1 * gradient[free])


@pytest.mark.parametrize("estimator", ["paired", "independent", "reinforce"])
@pytest.mark.parametrize("targets", [(0,), (1, 3), (0, 1, 2)])
def test_edges_into_targets_do_not_move(estimator, targets):
    """Not even by momentum: all other regimes have moved them before."""
    fitting = make_fitting([*SINGLES, targets], estimator=estimator)
    parameters = fitting.parameters
    for regime in fitting.regimes[:4]:
        fitting.step(regime)
    before = parameters.state()
    assert (before["gamma.first"] != 0).all()
    fitting.step(fitting.regimes[4])
    after = parameters.state()
    masked = is_pair(fitting, range(4), targets)
    for name in ("gamma", "gamma.first", "gamma.second", "gamma.count"):
        assert (after[name][masked] == before[name][masked]).all()
        assert (after[name][~masked] != before[name][~masked]).all()


def test_fixed_pairs_keep_their_gamma():
    fitting = make_fitting(SINGLES, fixed=[2, 7])
    fitting.parameters.gamma[[2, 7]] = 20.0
    for regime in fitting.regimes:
        fitting.step(regime)
    assert fitting.parameters.gamma[[2, 7]].tolist() == [20.0, 20.0]
    assert fitting.parameters.gamma_adam.count[[2, 7]].tolist() == [0, 0]
    assert (np.delete(fitting.parameters.gamma, [2, 7]) != 0).all()


def test_orienting_leaves_gamma_alone():
    fitting = make_fitting(SINGLES)
    fitting.orient()
    state = fitting.parameters.state()
    assert not any(state[name].any() for name in ("gamma", "gamma.first", "gamma.second", "gamma.count"))
    assert (state["theta"] != 0).all()


# theta


def test_a_step_moves_theta_by_adam_on_eq_4():
    fitting = make_fitting(SINGLES)
    parameters = fitting.parameters
    parameters.gamma[:] = np.linspace(-1, 1, 12)
    gradient = 0.25 * parameters.existence() * fitting.model.delta
    fitting.step(fitting.regimes[2])
    out_of_target = parameters.candidates.cause == 2
    np.testing.assert_allclose(
        parameters.theta[out_of_target], -fitting.settings.theta_rate * np.sign(gradient[out_of_target]), rtol=1e-4
    )
    np.testing.assert_allclose(parameters.theta_adam.first[out_of_target], 0.1 * gradient[out_of_target])


@pytest.mark.parametrize("estimator", ["paired", "independent", "reinforce"])
@pytest.mark.parametrize("move", ["step", "orient"])
def test_theta_away_from_the_regime_does_not_move(estimator, move):
    fitting = make_fitting(SINGLES, estimator=estimator)
    for regime in fitting.regimes:
        fitting.step(regime)
    before = fitting.parameters.state()
    if move == "step":
        fitting.step(fitting.regimes[1])
    else:
        fitting.regimes = fitting.regimes[1:2]
        fitting.orient()
    after = fitting.parameters.state()
    adjacent = is_pair(fitting, [1], range(4)) | is_pair(fitting, range(4), [1])
    for name in ("theta", "theta.first", "theta.second", "theta.count"):
        assert (after[name][~adjacent] == before[name][~adjacent]).all()
        assert (after[name][adjacent] != before[name][adjacent]).all()
    assert (after["theta.count"][adjacent] == before["theta.count"][adjacent] + 1).all()


def test_theta_stays_antisymmetric():
    fitting = make_fitting([(0,), (1, 2)])
    for regime in fitting.sequence(12):
        fitting.step(regime)
        fitting.orient()
        theta = fitting.parameters.candidates.dense(fitting.parameters.theta)
        assert (theta == -theta.T).all()


def test_pairs_never_intervened_move_with_a_tenth_of_the_rate():
    """Appendix C.4: the gradient is the difference of both directions."""
    fitting = make_fitting([(0,)])
    parameters, pairs = fitting.parameters, fitting.parameters.candidates
    parameters.gamma[:] = np.linspace(-1, 1, 12)
    gradient = 0.25 * parameters.existence() * fitting.model.delta
    fitting.step(fitting.regimes[0])
    rate = fitting.settings.theta_rate
    near = is_pair(fitting, [0], range(4))
    np.testing.assert_allclose(parameters.theta[near], -rate * np.sign(gradient[near]), rtol=1e-4)
    far = np.flatnonzero(is_pair(fitting, [1, 2, 3], [1, 2, 3]))
    difference = gradient[far] - gradient[pairs.reverse[far]]
    np.testing.assert_allclose(parameters.theta[far], -0.1 * rate * np.sign(difference), rtol=1e-4)
    np.testing.assert_allclose(parameters.theta_adam.first[far], 0.1 * difference)
    assert parameters.theta_adam.count[far].tolist() == [1] * 6


@pytest.mark.parametrize(("target", "other"), [(0, 1), (3, 2), (1, 3)])
def test_pairs_next_to_some_intervention_wait_for_it(target, other):
    fitting = make_fitting([(target,), (other,)])
    fitting.step(fitting.regimes[0])
    moved = fitting.parameters.theta_adam.count > 0
    touching = is_pair(fitting, [target], range(4)) | is_pair(fitting, range(4), [target])
    rest = [k for k in range(4) if k not in (target, other)]
    assert (moved == touching | is_pair(fitting, rest, rest)).all()


def test_the_factor_for_distant_pairs_is_a_setting():
    fitting = make_fitting([(0,)], distant_theta_factor=0.0)
    fitting.step(fitting.regimes[0])
    far = is_pair(fitting, [1, 2, 3], [1, 2, 3])
    assert not fitting.parameters.theta[far].any()
    assert fitting.parameters.theta[is_pair(fitting, [0], range(4))].all()


def test_orienting_does_not_move_distant_pairs():
    fitting = make_fitting([(0,)])
    fitting.orient()
    moved = fitting.parameters.theta != 0
    assert (moved == is_pair(fitting, [0], range(4)) | is_pair(fitting, range(4), [0])).all()


def test_distant_pairs_stay_finite_when_shared_graphs_agree_on_one_direction():
    """All K graphs may agree on (j, i) and not on (i, j): then one half of the gradient is missing."""
    fitting = make_fitting([(0,)], estimator="independent", graph_samples=3)
    for regime in fitting.sequence(30):
        fitting.step(regime)
        assert np.isfinite(fitting.parameters.theta).all()


def test_multi_target_regimes_inform_edges_out_of_the_set_only():
    fitting = make_fitting([(0, 2), (1,), (3,)])
    fitting.step(fitting.regimes[0])
    moved = fitting.parameters.theta_adam.count > 0
    assert (moved == is_pair(fitting, [0, 2], [1, 3]) | is_pair(fitting, [1, 3], [0, 2])).all()
    gamma_moved = fitting.parameters.gamma_adam.count > 0
    assert (gamma_moved == is_pair(fitting, range(4), [1, 3])).all()


def test_pairs_only_ever_intervened_together_learn_from_the_other_regimes():
    """Neither direction is ever informed by do(X0, X2), so the pair is as far from interventions as any other."""
    fitting = make_fitting([(0, 2), (1,), (3,)])
    fitting.step(fitting.regimes[1])
    assert fitting.parameters.theta[is_pair(fitting, [0, 2], [0, 2])].all()


def test_oriented_pairs_keep_their_theta():
    candidates = Candidates.all_pairs(4)
    pair = int(np.flatnonzero((candidates.cause == 0) & (candidates.effect == 1))[0])
    both = [pair, int(candidates.reverse[pair])]
    fitting = make_fitting([(0,), (1,)], oriented=both)
    fitting.parameters.theta[both] = [20.0, -20.0]
    for regime in fitting.sequence(4):
        fitting.step(regime)
    fitting.orient()
    assert fitting.parameters.theta[both].tolist() == [20.0, -20.0]


def test_oriented_distant_pairs_keep_their_theta():
    candidates = Candidates.from_mask(np.triu(np.ones((4, 4)), 1))
    fitting = make_fitting([(0,)], mask=np.triu(np.ones((4, 4)), 1), oriented=range(candidates.n_pairs))
    fitting.parameters.theta[:] = 20.0
    fitting.step(fitting.regimes[0])
    assert (fitting.parameters.theta == 20.0).all()


def test_a_distant_pair_whose_reverse_is_no_candidate_follows_its_own_gradient():
    mask = np.triu(np.ones((4, 4)), 1)
    fitting = make_fitting([(0,)], mask=mask)
    gradient = 0.25 * 0.5 * fitting.model.delta
    fitting.step(fitting.regimes[0])
    np.testing.assert_allclose(fitting.parameters.theta_adam.first, 0.1 * gradient)


# What the model is asked


def test_a_step_asks_for_everything_on_a_batch_and_a_pass_for_edges_out_of_targets():
    fitting = make_fitting(SINGLES, rows=300, graph_batch=64, orientation_batch=200)
    fitting.step(fitting.regimes[1])
    fitting.regimes = fitting.regimes[2:3]
    fitting.orient()
    (_, step_rows, _, step_wanted), (_, pass_rows, _, pass_wanted) = fitting.model.asked
    assert len(step_rows) == len(set(step_rows)) == 64
    assert step_wanted.all()
    assert len(pass_rows) == len(set(pass_rows)) == 200
    assert (pass_wanted == (fitting.parameters.candidates.cause == 2)).all()


def test_settled_pairs_of_a_large_problem_rest_but_are_looked_at_now_and_then(monkeypatch):
    monkeypatch.setattr("enco.fitting.graph.RESTING_FROM", 0)
    fitting = make_fitting([(k,) for k in range(8)], n=8, rest_rate=0.25)
    pairs = fitting.parameters.candidates
    fitting.parameters.gamma[:] = np.where(pairs.effect < 4, 9.0, 0.0)
    fitting.parameters.theta[:] = np.where(pairs.cause < pairs.effect, 9.0, -9.0)
    for _ in range(400):
        fitting.parameters.gamma[pairs.effect < 4] = 9.0  # still settled
        fitting.step(fitting.regimes[7])
    wanted = np.array([asked[3] for asked in fitting.model.asked])
    settled = pairs.effect < 4
    assert wanted[:, settled].mean() == pytest.approx(0.25, abs=0.05)
    undecided = ~settled & (pairs.cause < pairs.effect)
    assert wanted[0, undecided].all()


def test_fewer_rows_than_the_batch_are_all_used():
    fitting = make_fitting(SINGLES, rows=3)
    fitting.step(fitting.regimes[0])
    assert fitting.model.asked[0][1].tolist() == [0, 1, 2]


def test_probabilities_are_those_of_the_parameters():
    fitting = make_fitting(SINGLES)
    fitting.parameters.gamma[:] = 1.5
    expected = fitting.parameters.edge_probability()
    fitting.step(fitting.regimes[0])
    assert fitting.model.asked[0][2].tolist() == expected.tolist()


# The sequence of regimes


@pytest.mark.parametrize(("steps", "count"), [(50, 7), (3, 7), (14, 7), (5, 1), (0, 3)])
def test_all_regimes_are_visited_equally_often(steps, count):
    fitting = make_fitting([(k,) for k in range(count)], n=count + 1)
    visited = [regime.targets[0] for regime in fitting.sequence(steps)]
    assert len(visited) == steps
    for begin in range(0, steps, count):
        one_pass = visited[begin : begin + count]
        assert len(set(one_pass)) == len(one_pass)
    times = np.bincount(visited, minlength=count)
    assert times.max() - times.min() <= 1


def test_passes_are_shuffled_by_the_generator():
    orders = [[regime.targets for regime in make_fitting(SINGLES, seed=s).sequence(12)] for s in (0, 0, 1)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0][:4] != orders[0][4:8] or orders[0][4:8] != orders[0][8:]


def test_an_orienting_pass_visits_every_regime_once():
    fitting = make_fitting([(0,), (1, 2), (3,)])
    fitting.orient()
    assert sorted(asked[0] for asked in fitting.model.asked) == [(0,), (1, 2), (3,)]


# What a search may touch


def test_background_knowledge_leaves_the_other_pairs_open():
    """Pair 2 is fixed; 5 and 9 are oriented, 9 the other way: it must not be, so that a search need not ask."""
    fitting = make_fitting(SINGLES, fixed=[2], oriented=[5, 9])
    fitting.parameters.theta[[5, 9]] = [20.0, -20.0]
    assert np.flatnonzero(~fitting.movable()).tolist() == [2, 9]


# A second look


def test_a_second_look_reopens_rejected_edges_that_orientations_allow():
    fitting = make_fitting(SINGLES, fixed=[3], second_look_gamma=1.25)
    parameters = fitting.parameters
    fitting.step(fitting.regimes[0])
    parameters.gamma[:] = [-3, -3, 3, -3, 3, -0.1, -3, 3, -3, 3, -3, 3]
    parameters.theta[:] = [1, -1, 1, 1, -1, 0.1, -1, 1, 2, -1, -1, 1]
    before = parameters.state()
    fitting.second_look()
    reopened = np.isin(np.arange(12), [0, 5, 8])
    assert (parameters.gamma == np.where(reopened, 1.25, before["gamma"])).all()
    assert (parameters.gamma_adam.count == np.where(reopened, 0, before["gamma.count"])).all()
    assert (parameters.theta == before["theta"]).all()
