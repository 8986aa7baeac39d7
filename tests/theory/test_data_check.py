"""What is said about data without a model."""

import json

import numpy as np
import pytest
from scipy import stats

from enco.data import InterventionalData, Regime, Variable
from enco.data.variables import Condition
from enco.errors import SettingsError
from enco.simulate import categorical, continuous, examples, from_cpts, mixed
from enco.theory import check_data
from enco.theory._tests import Levels, needed_strength, p_values, significant


def strong_chain():
    return from_cpts(
        {"A": ([], [0.8, 0.2]), "B": (["A"], [[0.9, 0.1], [0.2, 0.8]]), "C": (["B"], [[0.9, 0.1], [0.3, 0.7]])}
    )


def test_good_data_are_called_good():
    report = check_data(strong_chain().dataset(5000, 1000, rng=np.random.default_rng(0)))
    assert report.clean
    assert report.n_effects == 3  # A on B, A on C, B on C
    assert report.quiet == ("do(C)",)
    assert "nothing found that limits" in str(report)


@pytest.mark.parametrize("make", [categorical, continuous, mixed])
def test_all_kinds_of_columns(make):
    model = make("chain", 4, np.random.default_rng(0), shuffle=False)
    data = model.dataset(2000, 300, targets=["X1"], rng=np.random.default_rng(1))
    report = check_data(data)
    assert report.untargeted == ("X2", "X3", "X4")
    assert report.n_distant == 3
    assert ("X2", "X3") in [pair[:2] for pair in report.distant_pairs]
    assert report.n_effects >= 1
    assert "have no guarantee" in str(report)
    json.dumps(report.to_dict(), allow_nan=False)


def test_independent_columns_give_no_pairs():
    rng = np.random.default_rng(0)
    data = InterventionalData.from_environments(
        [rng.integers(3, size=(1000, 4)), rng.integers(3, size=(200, 4))], [None, ["X1"]]
    )
    report = check_data(data)
    assert report.distant_pairs == ()
    assert report.n_distant == 3
    assert report.n_effects == 0
    assert report.typical_effect is None
    assert [target for target, _, _ in report.unmoved] == ["X1"]
    assert "look the same" in str(report)


def test_small_regimes_are_named():
    model, rng = strong_chain(), np.random.default_rng(0)
    regimes = [
        model.sample(5000, rng=rng),
        model.sample(1000, do={"A": None}, rng=rng),
        model.sample(6, do={"B": None}, rng=rng),
    ]
    report = check_data(InterventionalData(model.observed_variables, regimes))
    [small] = report.small_regimes
    assert (small.regime, small.rows) == ("do(B)", 6)
    assert 6 < small.wanted < 1000
    assert "do(B) (6 rows" in str(report)


def test_context_is_left_out_and_unknown_targets_are_no_effects():
    data = strong_chain().dataset(5000, 1000, targets=["A", "B"], rng=np.random.default_rng(0))
    plain = check_data(data)
    rng = np.random.default_rng(1)
    batch = Variable("batch", "categorical", (0, 1), context=True)
    regimes = [
        Regime.of(
            Condition((), "drug", unknown=True) if it.targets == (0,) else it.condition,
            np.column_stack([it.codes, rng.integers(2, size=it.n_rows).astype(np.uint8)]),
            it.reals,
        )
        for it in data.regimes
    ]
    report = check_data(InterventionalData([*data.variables, batch], regimes))
    assert (report.variables, report.context, report.unknown) == (3, ("batch",), ("drug",))
    assert (report.untargeted, plain.untargeted) == (("A", "C"), ("C",))
    assert report.n_effects == plain.n_effects  # A, which shifts most in the regime, counts as its target
    assert report.constant == ()
    assert "context, which is no part of the graph: batch\nregimes whose targets are not known (1): drug" in str(report)


def test_data_without_interventions():
    report = check_data(strong_chain().dataset(500, 0, rng=np.random.default_rng(0)))
    assert report.regimes == 0
    assert "no interventions" in str(report)


def testconstant_columns():
    rows = np.zeros((50, 2), dtype=int)
    rows[:, 1] = np.arange(50) % 2
    report = check_data(InterventionalData.from_environments([rows, rows], [None, ["X2"]]))
    assert report.constant == ("X1",)


def test_the_statistic_is_pearsons():
    rng = np.random.default_rng(0)
    data = InterventionalData.from_environments([rng.integers(4, size=(300, 3))], [None])
    levels = Levels(data)
    rows = levels.of(data.observational)
    statistic, freedom = levels.association(rows[:, 0] - levels.starts[0], rows)
    table = np.zeros((4, 4))
    np.add.at(table, (rows[:, 0] - levels.starts[0], rows[:, 1] - levels.starts[1]), 1)
    expected = stats.chi2_contingency(table, correction=False)
    assert statistic[1] == pytest.approx(expected.statistic)
    assert freedom[1] == expected.dof
    assert p_values(statistic, freedom)[1] == pytest.approx(expected.pvalue)


def test_few_false_effects_where_there_are_none():
    rng = np.random.default_rng(2)
    environments = [rng.integers(5, size=(2000, 20)), *(rng.integers(5, size=(100, 20)) for _ in range(20))]
    data = InterventionalData.from_environments(environments, [None, *([f"X{k + 1}"] for k in range(20))])
    assert check_data(data).n_effects <= 2


def test_strength_gives_the_power_it_promises():
    strength = needed_strength(4, 0.01, 0.8)
    assert stats.ncx2.sf(stats.chi2.isf(0.01, 4), 4, strength) == pytest.approx(0.8, abs=1e-6)
    assert not significant(np.array([0.5, 0.9]), 0.05).any()


def test_mistakes():
    data = examples.worked_chain().dataset(50, 10, rng=np.random.default_rng(0))
    with pytest.raises(SettingsError, match="level"):
        check_data(data, level=0)
