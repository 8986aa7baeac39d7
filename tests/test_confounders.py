"""gamma split by regime: the parts, their sum, their state, and which pairs can be scored."""

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.confounders import SplitEdgeParameters, confounder_scores, scorable
from enco.parameters import EdgeParameters

ALL = Candidates.all_pairs(3)
PAIRS = np.arange(ALL.n_pairs)


def steps(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield (int(rng.integers(3)),), rng.normal(size=ALL.n_pairs)


def move(parameters, count=20, seed=0):
    for targets, gradient in steps(count, seed):
        free = PAIRS[~np.isin(ALL.effect, targets)]
        parameters.move_gamma(free, gradient[free], 0.1, targets)


def test_gamma_is_always_the_sum_of_its_parts():
    parameters = SplitEdgeParameters(ALL)
    move(parameters)
    assert (parameters.gamma == parameters.gamma_cause + parameters.gamma_other).all()
    assert parameters.gamma_cause.any()
    assert parameters.gamma_other.any()


def test_each_part_follows_its_own_regimes_with_moments_of_its_own():
    """What one part sees, plain Adam on the same gradients would do; the other part's gradients leave no trace."""
    split, on_cause, elsewhere = SplitEdgeParameters(ALL), EdgeParameters(ALL), EdgeParameters(ALL)
    for targets, gradient in steps(30):
        free = ~np.isin(ALL.effect, targets)
        split.move_gamma(PAIRS[free], gradient[free], 0.1, targets)
        hit = np.isin(ALL.cause, targets)
        for parameters, chosen in ((on_cause, PAIRS[free & hit]), (elsewhere, PAIRS[free & ~hit])):
            parameters.move_gamma(chosen, gradient[chosen], 0.1)
    assert split.gamma_cause.tolist() == on_cause.gamma.tolist()
    assert split.gamma_other.tolist() == elsewhere.gamma.tolist()


def test_a_regime_with_several_targets_is_an_intervention_on_each():
    parameters = SplitEdgeParameters(ALL)
    into_last = PAIRS[ALL.effect == 2]
    parameters.move_gamma(into_last, np.ones(2), 0.1, (0, 1))
    assert (parameters.gamma_cause[into_last] < 0).all()
    assert not parameters.gamma_other.any()


def test_state_continues_to_the_same_bits():
    whole, continued = SplitEdgeParameters(ALL), SplitEdgeParameters(ALL)
    move(whole, seed=1)
    continued.restore(whole.state())
    for parameters in (whole, continued):
        move(parameters, seed=2)
    for name, value in whole.state().items():
        assert value.tobytes() == continued.state()[name].tobytes(), name
    assert {"gamma_cause", "gamma_other", "gamma_cause.second"} <= whole.state().keys()


def test_a_second_look_keeps_what_interventions_on_the_cause_have_said():
    parameters = SplitEdgeParameters(ALL)
    move(parameters)
    before = parameters.gamma_cause.copy()
    parameters.reconsider(PAIRS[:2], 2.0)
    assert parameters.gamma[:2].tolist() == [2.0, 2.0]
    assert parameters.gamma_cause.tolist() == before.tolist()
    assert parameters.gamma_other[:2] == pytest.approx(2.0 - before[:2])
    assert not parameters.other_adam.count[:2].any()
    assert parameters.other_adam.count[2:].any()


def test_halves_that_watch_move_as_their_gradients_say_and_leave_gamma_alone():
    plain, watched, split = EdgeParameters(ALL), SplitEdgeParameters(ALL, decides=False), SplitEdgeParameters(ALL)
    for parameters in (plain, watched, split):
        move(parameters)
    assert watched.gamma.tolist() == plain.gamma.tolist()
    assert watched.gamma_cause.tolist() == split.gamma_cause.tolist()
    assert watched.gamma_other.tolist() == split.gamma_other.tolist()


def test_the_score_is_the_product_of_both_directions():
    parameters = SplitEdgeParameters(ALL)
    rng = np.random.default_rng(0)
    parameters.gamma_cause[:], parameters.gamma_other[:] = rng.normal(size=(2, ALL.n_pairs))
    score = ALL.dense(confounder_scores(parameters))
    inner, outer = ALL.dense(parameters.gamma_cause), ALL.dense(parameters.gamma_other)

    def s(x):
        return 1 / (1 + np.exp(-x))

    assert (score == score.T).all()
    assert score[0, 1] == pytest.approx(s(outer[0, 1]) * s(outer[1, 0]) * (1 - s(inner[0, 1])) * (1 - s(inner[1, 0])))


def test_one_way_candidates_have_no_score():
    some = Candidates.from_mask([[0, 1, 1], [0, 0, 1], [0, 1, 0]])
    assert np.isnan(some.dense(confounder_scores(SplitEdgeParameters(some)), fill=np.nan)).tolist() == [
        [True, True, True],
        [True, True, False],
        [True, False, True],
    ]


@pytest.mark.parametrize(
    ("regimes", "expected"),
    [
        ([(0,), (1,), (2,)], {(0, 1), (0, 2), (1, 2)}),
        ([(0,), (1,)], set()),  # X1, X2: no regime without both; X3 is never a target
        ([(0,), (1,), (0, 1)], set()),
        ([(0, 2), (1, 2), (2,)], {(0, 1)}),  # what sets X1 or X2 sets X3 as well
    ],
)
def test_scorable_pairs_need_three_kinds_of_regimes(regimes, expected):
    can = ALL.dense(scorable(ALL, regimes, np.zeros(6, bool))).astype(bool)
    assert {(i, j) for i, j in np.argwhere(can).tolist() if i < j} == expected
    assert (can == can.T).all()


def test_required_edges_are_not_scored():
    fixed = (ALL.cause == 0) & (ALL.effect == 1)
    can = ALL.dense(scorable(ALL, [(0,), (1,), (2,)], fixed)).astype(bool)
    assert not can[0, 1]
    assert not can[1, 0]
    assert can[0, 2]
