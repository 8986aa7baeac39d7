"""The conditions for limited data (Appendix B.2.3): the same engine on relative frequencies."""

import numpy as np
import pytest

from enco.data import InterventionalData
from enco.errors import DataError, SettingsError
from enco.simulate import continuous, examples
from enco.theory import check_conditions


def frequencies(data, columns, regime):
    counts = np.zeros([int(data.n_levels[c]) for c in columns])
    np.add.at(counts, tuple(regime.codes[:, c].astype(int) for c in columns), 1)
    return counts / regime.n_rows


def empirical_gain(data, cause, effect, parents, regime, pseudo_count):
    """Row by row: log p(effect | parents, cause) - log p(effect | parents) from smoothed observational frequencies."""
    seen = data.observational.codes.astype(int)
    total = 0.0
    for row in regime.codes.astype(int):
        own = (seen[:, effect] == row[effect]).mean()
        logs = []
        for given in ([*parents, cause], list(parents)):
            match = (seen[:, given] == row[given]).all(axis=1)
            joint = match & (seen[:, effect] == row[effect])
            logs.append(np.log((joint.sum() + pseudo_count * own) / (match.sum() + pseudo_count)))
        total += logs[0] - logs[1]
    return total / regime.n_rows


@pytest.fixture(scope="module")
def data():
    return examples.worked_chain().dataset(400, 60, rng=np.random.default_rng(3))


@pytest.mark.parametrize("pseudo_count", [1.0, 0.25])
def test_gains_are_those_of_the_rows(data, pseudo_count):
    report = check_conditions(examples.worked_chain(), data=data, pseudo_count=pseudo_count)
    do = {regime.targets[0]: regime for regime in data.interventional}

    def gains(cause, effect, target):
        [other] = {0, 1, 2} - {cause, effect}
        return [empirical_gain(data, cause, effect, s, do[target], pseudo_count) for s in ((), (other,))]

    for cause, effect in ((0, 1), (1, 2), (0, 2)):
        pair = report.pair(f"X{cause + 1}", f"X{effect + 1}")
        forward, reverse = gains(cause, effect, cause), gains(effect, cause, effect)
        assert (pair.own.minimum, pair.own.maximum) == pytest.approx((min(forward), max(forward)))
        assert (pair.reverse.minimum, pair.reverse.maximum) == pytest.approx((min(reverse), max(reverse)))
        assert (pair.reverse_condition == "holds") == (max(reverse) <= 1e-9)
    # X1 -> X3 is absent: its gain beside the true parent X2, averaged over do(X1) and do(X2).
    [absent] = report.spurious
    assert (absent.cause, absent.effect) == ("X1", "X3")
    expected = np.mean([empirical_gain(data, 0, 2, (1,), do[k], pseudo_count) for k in (0, 1)])
    assert absent.gains.maximum == pytest.approx(expected)
    assert report.smallest_sparsity == pytest.approx(max(0.0, expected))
    assert absent.condition(expected + 0.01) == "holds"
    assert absent.condition(expected - 0.01) == "fails"


def test_many_rows_approach_the_exact_numbers():
    model = examples.worked_chain()
    data = model.dataset(200_000, 200_000, rng=np.random.default_rng(1))
    exact, limited = check_conditions(model), check_conditions(model, data=data)
    for pair in exact.pairs:
        twin = limited.pair(pair.cause, pair.effect)
        assert twin.own.minimum == pytest.approx(pair.own.minimum, abs=0.003)
        assert twin.own.maximum == pytest.approx(pair.own.maximum, abs=0.003)
    assert limited.largest_sparsity == pytest.approx(exact.largest_sparsity, abs=0.003) or limited.failures
    assert limited.smallest_sparsity < 0.001
    assert limited.parent_sets == ()


def test_columns_are_matched_by_name(data):
    model = examples.worked_chain()
    shuffled = check_conditions(model, data=data.select(["X3", "X1", "X2"]))
    plain = check_conditions(model, data=data)
    for pair in plain.pairs:
        twin = shuffled.pair(pair.cause, pair.effect)
        assert twin.own.minimum == pytest.approx(pair.own.minimum, abs=1e-12)
        assert twin.reverse.maximum == pytest.approx(pair.reverse.maximum, abs=1e-12)


def test_text_and_json_say_that_they_come_from_data(data):
    report = check_conditions(examples.worked_chain(), data=data)
    assert "from data: absent edges stay out for lambda above" in str(report)
    assert report.to_dict()["limited_data"] is True
    assert {failure.condition for failure in report.failures} <= {"1", "2", "3", "reverse", "absent edge"}


def test_regimes_with_several_targets_are_left_out(data):
    model = examples.worked_chain()
    rng = np.random.default_rng(0)
    more = model.dataset(400, 60, targets=["X1", ("X2", "X3")], rng=rng)
    assert check_conditions(model, data=more).untargeted == ("X2", "X3")


def test_mistakes(data):
    model = examples.worked_chain()
    with pytest.raises(DataError, match="no column 'X2'"):
        check_conditions(model, data=data.keep_regimes([]).select(["X1", "X3"]))
    more = InterventionalData.from_environments([np.eye(4, dtype=int)], [None], names=["X1", "X2", "X3", "Y"])
    with pytest.raises(DataError, match="unknown to the model"):
        check_conditions(model, data=more)
    with pytest.raises(SettingsError, match="leave targets out"):
        check_conditions(model, data=data, targets=["X1"])
    with pytest.raises(SettingsError, match="pseudo_count"):
        check_conditions(model, data=data, pseudo_count=-1)
    reals = continuous("chain", 3, np.random.default_rng(0)).dataset(50, 10, rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="continuous"):
        check_conditions(model, data=reals)
