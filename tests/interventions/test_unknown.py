"""Unknown targets are inferred with the graph, and context is no part of it."""

import numpy as np
import pytest

from enco import ENCO, Knowledge, simulate
from enco.data.context import in_known_circumstances, with_regimes_as_context
from enco.errors import SettingsError
from enco.interventions.shifts import Shifts, are_batches, mutual_shifts
from enco.metrics import shd
from enco.simulate.experiments import experiment

KINDS = ["categorical", "continuous"]


def problem(kind, seed, n=8, **options):
    rng = np.random.default_rng([seed, 77])
    model = getattr(simulate, kind)("random", n, rng, edge_probability=3 / (n - 1))
    return model, experiment(model, 2000, 300, rng, **options)


@pytest.mark.parametrize(
    ("kind", "per_regime"),
    [
        ("categorical", 1),
        ("continuous", 1),
        ("categorical", 2),
        pytest.param("continuous", 2, marks=pytest.mark.slow),
    ],
)
def test_targets_are_inferred_with_the_graph(kind, per_regime):
    wrong = found = hit = listed = 0
    for seed in range(2):
        # Where a regime hits a quarter of the variables, some of them change nothing else that could tell.
        model, drawn = problem(kind, seed, n=8 if per_regime == 1 else 12, unknown=True, targets_per_regime=per_regime)
        result = ENCO(random_state=0, n_jobs=2).fit(drawn.data).result_
        wrong += shd(result.adjacency, model.observed_adjacency)
        table = result.interventions
        assert table["inferred"].all()
        got = {(row.regime, row.target) for row in table.itertuples() if row.verdict != "no effect"}
        true = {(done.target, name) for done in drawn.done for name in done.targets}
        found, hit, listed = found + len(got & true), hit + len(true), listed + len(got)
        probability = result.target_probability
        assert probability.shape == (len(drawn.done), len(model.observed_names))
        assert ((probability >= 0) & (probability <= 1)).to_numpy().all()
    assert found >= 0.85 * hit
    assert found >= 0.85 * listed
    assert wrong <= 4


def test_the_order_of_regimes_and_columns_changes_nothing():
    _, drawn = problem("continuous", 3, unknown=True)
    one = ENCO(random_state=0, n_jobs=1).fit(drawn.data).result_
    names = drawn.data.names[::-1]
    other = ENCO(random_state=0, n_jobs=2).fit(drawn.data.select(names)).result_
    assert (one.adjacency == other.adjacency[::-1, ::-1]).all()
    assert one.interventions["target"].tolist() == other.interventions["target"].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_batches_that_are_named_do_no_harm(kind):
    model, drawn = problem(kind, 1, batches=3, batch_offset=1.0, context=True)
    result = ENCO(random_state=0, n_jobs=2).fit(drawn.data).result_
    assert result.variables == model.observed_names
    assert set(result.order) == set(model.observed_names)
    assert shd(result.adjacency, model.observed_adjacency) <= 1
    assert not any("batch" in edge for move in result.order_report["refined"] for edge in move["added"])
    hidden = drawn.data.without_context()
    blind = ENCO(random_state=0, n_jobs=2).fit(hidden).result_
    assert shd(blind.adjacency, model.observed_adjacency) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_regimes_that_are_batches_are_known_before_the_fit(kind):
    for seed in range(3):
        assert not _flagged(kind, seed)
        assert not _flagged(kind, seed, off_target=0.3)
        assert _flagged(kind, seed, batch_offset=1.0)


def _flagged(kind, seed, **options):
    data = problem(kind, seed, **options)[1].data
    return are_batches(Shifts.of(data), data)


def test_no_graph_explains_that_two_targets_shift_each_other():
    _, drawn = problem("continuous", 0)
    both, either = mutual_shifts(Shifts.of(drawn.data), drawn.data)
    assert both == 0
    assert either >= 8


def test_an_intercept_for_every_regime():
    model, drawn = problem("continuous", 2, batch_offset=1.0)
    plain, told = (
        shd(ENCO(random_state=0, n_jobs=2, regime_shift=on).fit(drawn.data).adjacency_matrix_, model.observed_adjacency)
        for on in (False, True)
    )
    assert plain >= 4
    assert told <= 3


def test_rows_of_a_batch_of_their_own_are_known():
    data = with_regimes_as_context(problem("categorical", 0)[1].data)
    assert [in_known_circumstances(data, regime) for regime in data.regimes[:3]] == [True, False, False]
    shared = problem("categorical", 0, batches=2, batch_offset=0.1, context=True)[1].data
    assert all(in_known_circumstances(shared, regime) for regime in shared.regimes)


def test_nothing_influences_context():
    _, drawn = problem("categorical", 0, batches=2, context=True)
    known = Knowledge(required=[(drawn.data.names[0], "batch")])
    with pytest.raises(SettingsError, match="'batch' is context, which nothing influences"):
        ENCO(max_epochs=1, knowledge=known).fit(drawn.data)
