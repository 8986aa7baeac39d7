import numpy as np
import pytest
from scipy import stats

from enco.data import Variable
from enco.errors import SettingsError
from enco.simulate import Categorical, Distribution, Fixed, Normal, Uniform
from enco.simulate.distributions import as_distribution, exact_probabilities

COLOUR = Variable("colour", "categorical", ("red", "green", "blue"))
FLAG = Variable("flag", "categorical", (False, True))
COUNT = Variable("count", "categorical", (3, 5))
WEIGHT = Variable("weight", "continuous")


@pytest.mark.parametrize("distribution", [Uniform(), Categorical((0.2, 0.5, 0.3)), Fixed("green")])
def test_draws_follow_the_exact_probabilities(distribution):
    assert isinstance(distribution, Distribution)
    drawn = distribution.sample(20_000, COLOUR, np.random.default_rng(0))
    expected = exact_probabilities(distribution, COLOUR)
    counts = np.bincount(drawn, minlength=3)
    possible = expected > 0
    assert not counts[~possible].any()
    if possible.sum() > 1:
        assert stats.chisquare(counts[possible], 20_000 * expected[possible]).pvalue > 1e-6


def test_continuous_draws():
    rng = np.random.default_rng(1)
    assert stats.kstest(Normal(2.0, 3.0).sample(5000, WEIGHT, rng), stats.norm(2, 3).cdf).pvalue > 1e-6
    assert stats.kstest(Uniform(-1, 4).sample(5000, WEIGHT, rng), stats.uniform(-1, 5).cdf).pvalue > 1e-6
    assert Fixed(2.5).sample(3, WEIGHT, rng).tolist() == [2.5] * 3


def test_fixed_values_are_levels_not_positions():
    rng = np.random.default_rng(2)
    assert Fixed(5).sample(2, COUNT, rng).tolist() == [1, 1]
    assert Fixed(True).sample(2, FLAG, rng).tolist() == [1, 1]
    with pytest.raises(SettingsError, match="1 is not a level of variable 'flag'; its levels are False, True"):
        Fixed(1).sample(2, FLAG, rng)
    with pytest.raises(SettingsError, match="0 is not a level of variable 'count'; its levels are 3, 5"):
        Fixed(0).sample(2, COUNT, rng)


def test_what_a_caller_may_write():
    assert as_distribution(None, COLOUR) == Uniform()
    assert as_distribution(None, WEIGHT) == Normal(2.0, 1.0)
    assert as_distribution("red", COLOUR) == Fixed("red")
    assert as_distribution(np.float64(1.5), WEIGHT) == Fixed(1.5)
    own = Normal(0, 1)
    assert as_distribution(own, WEIGHT) is own


@pytest.mark.parametrize(
    ("distribution", "variable", "message"),
    [
        (Uniform(), WEIGHT, "needs an interval"),
        (Uniform(2.0, 1.0), WEIGHT, "low < high"),
        (Uniform(0.0, 1.0), COLOUR, "'colour' is categorical"),
        (Categorical((0.5, 0.5)), COLOUR, "has 3 levels, but the intervention gives 2"),
        (Categorical((0.5, 0.5, 0.5)), COLOUR, "sum to 1, but they sum to 1.5"),
        (Categorical((float("nan"), 0.5, 0.5)), COLOUR, "sum to 1"),
        (Categorical((1.0,)), WEIGHT, "'weight' is continuous"),
        (Normal(), COLOUR, "'colour' is categorical"),
        (Normal(0.0, 0.0), WEIGHT, "sd above 0"),
        (Fixed("red"), WEIGHT, "'red' is not a finite number"),
        (Fixed(float("inf")), WEIGHT, "not a finite number"),
    ],
)
def test_misuse_names_the_variable(distribution, variable, message):
    with pytest.raises(SettingsError, match=message):
        distribution.sample(5, variable, np.random.default_rng(0))


def test_what_is_no_intervention():
    with pytest.raises(SettingsError, match="create an object of it"):
        as_distribution(Uniform, COLOUR)
    with pytest.raises(SettingsError, match=r"do\['colour'\] is \[1, 2\]"):
        as_distribution([1, 2], COLOUR)

    class Sampler:
        def sample(self, rows, variable, rng):
            return np.zeros(rows, dtype=int)

    with pytest.raises(SettingsError, match="no exact probabilities"):
        exact_probabilities(Sampler(), COLOUR)
