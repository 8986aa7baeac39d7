from dataclasses import replace

import numpy as np
import pytest

import enco.fitting.regression_family as families
import enco.fitting.regressions as module
from enco.candidates import Candidates
from enco.conditionals.continuous import Standardisation
from enco.conditionals.regression import Regression, Rows
from enco.data import InterventionalData
from enco.fitting.regressions import Regressions

PRICE = 30.0


def chain(
    rows: int = 400, *, scale: float = 1.0, categorical: bool = False, levels: int = 4, draw: int = 0
) -> InterventionalData:
    """X0 -> X1 -> X2, and X0 and X1 -> X3; noise is small, and X0 knows much of X2. X0 may be categorical."""
    rng = np.random.default_rng(draw)

    def draw(target: int | None, n: int) -> np.ndarray:
        x = np.zeros((n, 4))
        for j in range(4):
            noise = 0.02 * rng.normal(size=n)
            if j == target or j == 0:
                x[:, j] = rng.integers(levels, size=n) if categorical and j == 0 else 2 * rng.normal(size=n)
            else:
                x[:, j] = [0, np.abs(x[:, 0]), np.tanh(x[:, 1] - 1), x[:, 0] - np.abs(x[:, 1])][j] + noise
        x[:, 2] *= scale
        return x

    environments = [draw(None, 2 * rows)] + [draw(j, rows) for j in range(4)]
    kinds = {"X1": "categorical"} if categorical else None
    return InterventionalData.from_environments(environments, [None, 0, 1, 2, 3], kinds=kinds)


TRUE = np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]], bool)


def deleted(data: InterventionalData, n_jobs: int = 1, **more: object) -> tuple[np.ndarray, list]:
    """Start from the true graph and an edge from every ancestor."""
    graph = TRUE.copy()
    graph[0, 2] = graph[2, 3] = True
    return revised(data, graph, n_jobs, **more)


def revised(data: InterventionalData, graph: np.ndarray, n_jobs: int = 1, **more: object) -> tuple[np.ndarray, list]:
    pairs = Candidates.all_pairs(4)
    regressions = Regressions(data, data.interventional, np.arange(4), n_jobs)
    settings = {
        "doubtful": graph[pairs.cause, pairs.effect] & regressions.continuous[pairs.effect],
        "addable": np.zeros(pairs.n_pairs, bool),
        "forward": np.ones(pairs.n_pairs, bool),
        "price": np.full(4, PRICE),
        "gain": np.zeros(pairs.n_pairs),
    }
    moves = regressions.revise(graph, pairs, **(settings | more))
    return graph, moves


@pytest.mark.parametrize("categorical", [False, True])
def test_ancestors_that_are_no_parents_are_found_out(categorical):
    data = chain(categorical=categorical)
    assert (data.n_levels > 0).tolist() == [categorical, False, False, False]
    graph, moves = deleted(data)
    assert (graph == TRUE).all()
    assert len(moves) == 2
    assert all(move.kind == "delete" and move.cost < 0 for move in moves)


@pytest.mark.parametrize("draw", range(6))
def test_overlooked_parents_are_added_and_their_proxies_deleted(draw):
    graph = TRUE.copy()
    graph[1, 2], graph[0, 2] = False, True
    graph[0, 3] = False
    every = np.ones(12, bool)
    found, moves = revised(chain(draw=draw), graph, addable=every)
    assert (found == TRUE).all()
    assert sorted(move.kind for move in moves) == ["add", "add", "delete"]
    assert all(move.cost < 0 for move in moves)


@pytest.mark.parametrize(("apart", "added"), [((0.0, 0.0), 0.0), ((300.0, 50.0), 50.0)], ids=["agreed", "apart"])
def test_what_two_starts_differ_by_is_added_to_the_penalty_of_a_parent(apart, added, monkeypatch):
    """By the half whose starts are closer, and of the parents that were asked for last; the better start is kept."""
    rows = Rows(np.ones((9, 1), np.float32), np.arange(9, dtype=np.float32))
    regression = Regression.random(rows, np.random.default_rng(0))

    def fit(*learned: float) -> families._Fit:
        return families._Fit((1, 2), tuple(replace(regression, learned=each) for each in learned), learned)

    monkeypatch.setattr(families.Family, "_from_scratch", lambda self, parents, start: fit(0.0, 0.0))
    family = families.Family([], {}, {}, 0, 10.0, lambda: None)
    for _ in range(2):
        best = family._better_start(fit(apart[0], -apart[1]))
        assert family._price == 10.0 + families.APART * added
        assert best.losses == (0.0, -apart[1])


@pytest.mark.parametrize(("behind", "again"), [(1.0, False), (1e4, True)], ids=["near", "far behind"])
def test_training_that_was_given_up_begins_again_from_scratch(behind, again, monkeypatch):
    """Weights learned beside a parent may be a bad start without it; that says nothing about the parent."""
    data = chain()
    family = Regressions(data, data.interventional, np.arange(4), 1)._family([0, 1], [], 2, PRICE, module.Event())
    fit = family._from_scratch((0, 1), 0)
    stuck = families._Fit((1,), tuple(replace(r, learned=r.learned + behind) for r in fit.regressions), (1e5, 1e5))
    monkeypatch.setattr(family, "_go_on_from", lambda *args, **more: stuck)
    _, without = family._contest(fit, 0)
    assert (max(without.losses) < 1e5) == again


@pytest.mark.parametrize("cause", [2, 3])
def test_an_effect_is_not_taken_for_a_cause(cause):
    """X2 and X3 know much of X1, but not where they are themselves pushed."""
    graph = TRUE.copy()
    graph[1, cause] = False
    pairs = Candidates.all_pairs(4)
    found, _ = revised(chain(), graph, addable=(pairs.cause == cause) & (pairs.effect == 1))
    assert not found[cause, 1]


def test_additions_close_no_cycle():
    data = chain()
    found, _ = revised(data, np.zeros((4, 4), bool), addable=np.ones(12, bool))
    order = module._places(found, Candidates.all_pairs(4), np.zeros(12, bool))
    assert (order[np.nonzero(found)[0]] < order[np.nonzero(found)[1]]).all()


def test_the_order_of_all_variables_counts_not_one_orientation():
    """X0 comes before X3 by way of X1, whatever is said about the two of them."""
    graph = TRUE.copy()
    graph[0, 3] = False
    pairs = Candidates.all_pairs(4)
    found, _ = revised(chain(), graph, addable=np.ones(12, bool), forward=~((pairs.cause == 0) & (pairs.effect == 3)))
    assert found[0, 3]


def test_only_what_may_be_added_is():
    graph = np.zeros((4, 4), bool)
    found, moves = revised(chain(), graph)
    assert not found.any()
    assert moves == []


def test_any_number_of_threads_gives_the_same_bits():
    data = chain()
    one, two = deleted(data, 1), deleted(data, 2)
    assert one[1] == two[1]
    assert (one[0] == two[0]).all()


def test_the_unit_of_a_column_does_not_matter():
    assert (deleted(chain(scale=1e6))[0] == TRUE).all()


def test_progress_is_reported_and_an_interruption_ends_it():
    data = chain()
    seen: list[float] = []
    deleted(data, on_progress=seen.append)
    assert seen == [pytest.approx(k / 3) for k in (1, 2, 3)]

    def interrupt(fraction: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deleted(data, 2, on_progress=interrupt)


def test_few_rows_are_enough_to_be_asked():
    graph, _ = deleted(chain(rows=3))
    assert graph.sum() <= TRUE.sum() + 2


def test_many_rows_are_sampled_and_those_that_push_parents_come_first(monkeypatch):
    monkeypatch.setattr(module, "MOST_PUSHED", 500)
    monkeypatch.setattr(module, "MOST_OBSERVED", 100)
    data = chain(rows=1000)
    family = Regressions(data, data.interventional, np.arange(4), 1)._family([1], [], 2, 1.0, module.Event())
    for half in family._halves:
        assert len(half.train.target) + len(half.held_out.target) <= 100 + 500 + 4
        # All rows that leave the variable free are spoken for: 1,000 with X1 pushed, 2,000 others.
        assert half.weight.min() == pytest.approx(1.0)
    assert sum(half.weight.sum() for half in family._halves) == pytest.approx(3000, rel=0.01)


def test_inputs_are_standardised_values_and_indicators_of_levels():
    """X0 is categorical; its levels but the first have a column each, in the order of the parents asked for."""
    data = chain(categorical=True)
    regressions = Regressions(data, data.interventional, np.arange(4), 1)
    regime, rows = data.regimes[1], np.array([3, 1, 4])
    inputs = regressions._inputs(regime, rows, [2, 0, 3])
    levels = int(data.n_levels[0])
    assert inputs.shape == (3, 2 + levels)
    unit = Standardisation.of(data)
    for place, variable in ((0, 2), (levels, 3)):
        slot = data.slots[variable]
        by_hand = (regime.reals[rows, slot] - unit.center[slot]) / unit.scale[slot]
        np.testing.assert_allclose(inputs[:, place], np.clip(by_hand, -10, 10), rtol=1e-6)
    codes = regime.codes[rows, data.slots[0]]
    np.testing.assert_array_equal(inputs[:, 1:levels], codes[:, None] == np.arange(1, levels))
    np.testing.assert_array_equal(inputs[:, -1], 1.0)


def test_parents_of_very_many_levels_are_left_to_others(monkeypatch):
    """A second-order step costs the square of all levels; with 300 of them a fit hung for minutes."""
    data = chain(categorical=True, levels=200)
    assert data.n_levels[0] > 100
    widths = []
    fit = Regression.fit

    def recorded(self, train, *args, **more):
        widths.append(train.inputs.shape[1])
        return fit(self, train, *args, **more)

    monkeypatch.setattr(Regression, "fit", recorded)
    regressions = Regressions(data, data.interventional, np.arange(4), 1)
    assert regressions.answers_for(TRUE).tolist() == [False, False, True, False]
    pairs = Candidates.all_pairs(4)
    asked = regressions.answers_for(TRUE)[pairs.effect]
    graph, _ = revised(data, TRUE.copy(), doubtful=TRUE[pairs.cause, pairs.effect] & asked, addable=np.ones(12, bool))
    assert (graph == TRUE).all()
    assert 0 < max(widths) <= module.MOST_INPUTS + 1
