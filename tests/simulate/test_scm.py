import time

import numba
import numpy as np
import pytest
from scipy import stats

from enco import simulate
from enco.data import InterventionalData, Variable
from enco.errors import DataError, EncoError, GraphError, SettingsError
from enco.graphs.dag import ancestors
from enco.simulate import SCM, Categorical, Fixed, LinearGaussian, Normal, TableCategorical, Uniform
from enco.simulate._sampling import BLOCK_ROWS


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def sprinkler():
    """season -> rain, sprinkler -> wet; three levels for the season, and a hidden cause of rain and wet."""
    wet = [
        0.1,
        0.3,
        0.8,
        0.9,
        0.7,
        0.8,
        0.95,
        1.0,
    ]  # probability of wet; humid changes fastest, then sprinkler
    return simulate.from_cpts(
        {
            "wet": (["rain", "sprinkler", "humid"], [[1 - p, p] for p in wet]),
            "sprinkler": (["season"], [[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]]),
            "season": ([], [0.5, 0.3, 0.2]),
            "humid": ([], [0.6, 0.4]),
            "rain": (["season", "humid"], [[1 - p, p] for p in (0.1, 0.6, 0.3, 0.8, 0.0, 0.5)]),
        },
        latent=["humid"],
    )


def joint_counts(regime, shape):
    flat = np.ravel_multi_index(tuple(regime.codes.T), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def assert_joint(regime, expected):
    counts, wanted = joint_counts(regime, expected.shape).ravel(), regime.n_rows * expected.ravel()
    assert not counts[wanted == 0].any()
    counts, wanted = counts[wanted > 0], wanted[wanted > 0]
    assert wanted.min() > 3
    assert stats.chisquare(counts, wanted * (counts.sum() / wanted.sum())).pvalue > 1e-7


DOS = [
    {},
    {"sprinkler": None},
    {"rain": 1},
    {"season": Categorical((0.1, 0.1, 0.8))},
    {"wet": Fixed(0), "season": Uniform()},
    {"rain": None, "sprinkler": 0, "season": None},
]


@pytest.mark.parametrize("do", DOS)
def test_samples_follow_the_exact_joint_distribution_under_any_intervention(sprinkler, do):
    exact = sprinkler.joint_probabilities(do=do)
    assert exact.shape == (2, 2, 3, 2)  # wet, sprinkler, season, rain: the latent is summed out
    assert exact.sum() == pytest.approx(1.0)
    assert_joint(sprinkler.sample(60_000, do=do, rng=rng(1)), exact)


def test_exact_joint_by_hand(sprinkler):
    full = sprinkler.joint_probabilities(include_latent=True)
    assert full.shape == (2, 2, 3, 2, 2)
    # wet = yes, sprinkler = no, season = 1, humid = yes, rain = yes
    by_hand = 0.3 * 0.4 * 0.8 * 0.5 * 0.8
    # p(season=1) p(humid) p(rain|season=1, humid) p(sprinkler=no|season=1) p(wet|rain, no sprinkler, humid)
    assert full[1, 0, 1, 1, 1] == pytest.approx(by_hand)
    np.testing.assert_allclose(full.sum(axis=3), sprinkler.joint_probabilities())


def test_interventions_cut_incoming_edges_only(sprinkler):
    exact = sprinkler.joint_probabilities(do={"sprinkler": None})
    both = exact.sum(axis=(0, 3))  # sprinkler, season
    np.testing.assert_allclose(both, np.outer([0.5, 0.5], [0.5, 0.3, 0.2]))
    free = sprinkler.joint_probabilities()
    assert np.abs(free.sum(axis=(0, 3)) - both).max() > 0.05
    for joint in (exact, free):  # the mechanism of the child stays: p(wet | sprinkler, season, rain)
        given = joint.sum(axis=0)
        wet = np.divide(joint[1], given, out=np.zeros_like(given), where=given > 0)
        humid = 0.4 * 0.6 / (0.6 * 0.1 + 0.4 * 0.6)  # given rain in season 0
        assert wet[1, 0, 1] == pytest.approx((1 - humid) * 0.95 + humid * 1.0)


@pytest.mark.parametrize("structure", ["chain", "collider", "jungle"])
def test_an_intervention_moves_descendants_and_nothing_else(structure):
    model = simulate.categorical(structure, 7, rng(3), categories=4)
    below = ancestors(model.adjacency)
    rows = 40_000
    base = model.sample(rows, rng=rng(4)).codes
    for target, name in enumerate(model.observed_names):
        shifted = model.sample(rows, do={name: 0}, rng=rng(5 + target)).codes
        assert (shifted[:, target] == 0).all()
        for other in range(7):
            if other == target:
                continue
            table = np.stack([np.bincount(block[:, other], minlength=4) for block in (base, shifted)])
            p = stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue
            if not below[target, other]:
                assert p > 1e-7
            elif model.adjacency[target, other] and structure != "collider":
                assert p < 1e-7


def test_latents_are_hidden_but_act():
    model = simulate.categorical(np.zeros((3, 3)), rng=rng(6), latents=1, categories=5)
    assert model.observed_names == ("X1", "X2", "X3")
    assert model.latent == (3,)
    assert model.variables[3].name == "L1"
    (pair,) = model.confounded_pairs
    codes = model.sample(30_000, rng=rng(7)).codes
    assert codes.shape == (30_000, 3)
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        p = stats.chi2_contingency(np.histogram2d(codes[:, i], codes[:, j], bins=5)[0] + 1e-9).pvalue
        assert (p < 1e-7) == ((i, j) == pair)
    cut = model.sample(30_000, do={model.observed_names[pair[0]]: None}, rng=rng(8)).codes
    assert stats.chi2_contingency(np.histogram2d(cut[:, pair[0]], cut[:, pair[1]], bins=5)[0] + 1e-9).pvalue > 1e-7


def test_observed_graph_is_the_latent_projection():
    coin = TableCategorical([[0.5, 0.5]])
    names = ["a", "h1", "b", "h2", "c", "d"]
    edges = [("a", "h1"), ("h1", "h2"), ("h1", "b"), ("h2", "c"), ("h2", "d"), ("b", "c")]
    adjacency = np.zeros((6, 6), dtype=bool)
    for cause, effect in edges:
        adjacency[names.index(cause), names.index(effect)] = True
    mechanisms = [
        coin if not n else TableCategorical(np.full((2**n, 2), 0.5), [2] * n) for n in adjacency.sum(axis=0).tolist()
    ]
    variables = [Variable(name, "categorical", (0, 1)) for name in names]
    model = SCM(variables, adjacency, mechanisms, latent=[1, 3])
    assert model.observed_names == ("a", "b", "c", "d")
    expected = np.zeros((4, 4), dtype=bool)
    expected[0, 1] = expected[0, 2] = expected[0, 3] = expected[1, 2] = True
    np.testing.assert_array_equal(model.observed_adjacency, expected)
    assert model.confounded_pairs == [(1, 2), (1, 3), (2, 3)]


MODELS = {
    "categorical": lambda: simulate.categorical("random", 12, rng(1), categories=6, latents=2),
    "continuous": lambda: simulate.continuous("random", 8, rng(1), mechanism="nonadditive"),
    "mixed": lambda: simulate.mixed("random", 12, rng(1), categories=4, latents=2),
    "bif": lambda: simulate.from_bif("child"),
}


@pytest.mark.parametrize("kind", list(MODELS))
def test_same_seed_same_bytes_for_any_number_of_threads(kind, monkeypatch):
    rows = 3 * BLOCK_ROWS + 17
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        model = MODELS[kind]()
        data = model.dataset(rows, 50, rng=rng(9))
        results.append([regime.codes.tobytes() + regime.reals.tobytes() for regime in data.regimes])
    assert results[0] == results[1] == results[2]
    assert MODELS[kind]().dataset(rows, 50, rng=rng(10)) != data


def test_blocks_and_regimes_are_independent_draws():
    model = simulate.categorical("chain", 5, rng(0), categories=10)
    codes = model.sample(2 * BLOCK_ROWS, rng=rng(1)).codes
    assert (codes[:BLOCK_ROWS] != codes[BLOCK_ROWS:]).any(axis=1).mean() > 0.5
    generator = rng(2)
    one, two = model.sample(100, rng=generator).codes, model.sample(100, rng=generator).codes
    assert (one != two).any()
    data = model.dataset(500, 500, targets=["X1"], rng=rng(3))
    assert (data.regimes[0].codes[:, 1:] != data.regimes[1].codes[:, 1:]).any()


def test_dataset_regimes_and_targets():
    model = simulate.categorical("jungle", 6, rng(0), categories=3)
    data = model.dataset(300, 40, rng=rng(1))
    assert isinstance(data, InterventionalData)
    assert data.names == model.observed_names
    assert [regime.targets for regime in data.regimes] == [(), (0,), (1,), (2,), (3,), (4,), (5,)]
    assert [regime.n_rows for regime in data.regimes] == [300] + [40] * 6
    some = model.dataset(300, 40, targets=["X5", ("X3", "X1")], rng=rng(1))
    assert {regime.targets for regime in some.regimes} == {(), (4,), (0, 2)}
    assert len(model.dataset(10, 0, rng=rng(1)).regimes) == 1


@pytest.mark.parametrize("kind", list(MODELS))
def test_streamed_file_holds_the_same_data_and_the_truth(kind, tmp_path):
    model = MODELS[kind]()
    path = tmp_path / "data.npz"
    calls = []
    model.write_npz(path, 5000, 60, rng=rng(4), progress=lambda done, total: calls.append((done, total)))
    assert InterventionalData.from_npz(path) == model.dataset(5000, 60, rng=rng(4))
    with np.load(path) as content:
        np.testing.assert_array_equal(content["adj_matrix"].astype(bool), model.observed_adjacency)
        if model.latent:
            assert [tuple(pair) for pair in content["confounded_pairs"].tolist()] == model.confounded_pairs
    total = 5000 + 60 * len(model.observed_names)
    assert calls[-1] == (total, total)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    with pytest.raises(EncoError, match="exists already"):
        model.write_npz(path, 10, 5, rng=rng(4))
    model.write_npz(path, 10, 5, targets=["X1"] if kind != "bif" else ["Age"], rng=rng(4), overwrite=True)
    assert InterventionalData.from_npz(path).n_rows == 15


def test_nothing_is_left_behind_when_writing_fails(tmp_path):
    model = simulate.categorical("chain", 3, rng(0))

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.write_npz(tmp_path / "data.npz", 3 * BLOCK_ROWS, 10, rng=rng(0), progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_own_distribution_and_its_checks():
    model = simulate.mixed("chain", 4, rng(0), categories=3)
    categorical = next(v.name for v in model.variables if v.levels)
    continuous = next(v.name for v in model.variables if not v.levels)

    class Given:
        def __init__(self, values):
            self.values = np.asarray(values)

        def sample(self, rows, variable, rng):
            return self.values

    regime = model.sample(3, do={categorical: Given([2, 0, 1]), continuous: Given([1.0, -1.0, 3.5])}, rng=rng(1))
    codes, reals = regime.codes.T, regime.reals.T
    assert [2, 0, 1] in codes.tolist()
    assert [1.0, -1.0, 3.5] in reals.tolist()
    for values, message in [
        ([0, 1], r"returned the shape \[2\]"),
        ([0, 1, 3], "from 0 to 2"),
        ([0.0, 1.0, 2.0], "from 0 to 2"),
    ]:
        with pytest.raises(SettingsError, match=message):
            model.sample(3, do={categorical: Given(values)}, rng=rng(1))
    with pytest.raises(SettingsError, match=f"the values of '{continuous}'"):
        model.sample(3, do={continuous: Given([1.0, np.nan, 2.0])}, rng=rng(1))


def test_default_intervention_on_continuous_variables_is_n21():
    model = simulate.continuous("chain", 3, rng(0))
    drawn = model.sample(5000, do={"X2": None}, rng=rng(1)).reals[:, 1]
    assert stats.kstest(drawn, stats.norm(2, 1).cdf).pvalue > 1e-6
    wide = model.sample(5000, do={"X2": Normal(-5, 2)}, rng=rng(1)).reals[:, 1]
    assert stats.kstest(wide, stats.norm(-5, 2).cdf).pvalue > 1e-6


def test_linear_model_has_the_implied_covariance():
    model = simulate.continuous("full", 4, rng(2), noise_scale=1.0)
    weights = np.zeros((4, 4))
    for position, mechanism in enumerate(model.mechanisms):
        assert isinstance(mechanism, LinearGaussian)
        weights[np.flatnonzero(model.adjacency[:, position]), position] = mechanism.real_weights
    total = np.linalg.inv(np.eye(4) - weights)
    implied = total.T @ np.diag([mechanism.sd**2 for mechanism in model.mechanisms]) @ total
    found = np.cov(model.sample(200_000, rng=rng(3)).reals.T.astype(float))
    scale = np.sqrt(np.outer(np.diag(implied), np.diag(implied)))
    np.testing.assert_allclose(found / scale, implied / scale, atol=0.02)


def test_overflow_is_reported_by_name_not_returned():
    model = simulate.continuous("full", 160, rng(0), mechanism="additive")
    with pytest.raises(SettingsError, match=r"the values of 'X\d+' are beyond .*activation='tanh'"):
        model.sample(50, rng=rng(1))
    bounded = simulate.continuous("full", 160, rng(0), mechanism="additive", activation="tanh")
    assert np.isfinite(bounded.sample(50, rng=rng(1)).reals).all()


def test_zero_rows():
    assert simulate.categorical("chain", 3, rng(0)).sample(0, rng=rng(0)).codes.shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda m: m.sample(5, do={"X9": None}, rng=rng()),
            DataError,
            "no variable 'X9'; its variables are X1, X2",
        ),
        (lambda m: m.sample(5, do={"L1": None}, rng=rng()), DataError, "'L1' is latent"),
        (
            lambda m: m.sample(5, do={"X1": 10}, rng=rng()),
            SettingsError,
            "10 is not a level of variable 'X1'",
        ),
        (lambda m: m.sample(-1, rng=rng()), SettingsError, "rows must be 0 or more"),
        (lambda m: m.sample(5, rng=0), SettingsError, "rng must be a numpy.random.Generator"),
        (lambda m: m.dataset(5, 5, targets=["Y"], rng=rng()), DataError, "no variable 'Y'"),
        (lambda m: m.dataset(5, 5, targets="X1", rng=rng()), SettingsError, r"such as \['X1'\]"),
        (lambda m: m.dataset(5, 5, targets=[()], rng=rng()), SettingsError, "empty group"),
        (lambda m: m.dataset(0, 5, rng=rng()), DataError, "observational"),
        (lambda m: simulate.categorical("full", 30, rng()).joint_probabilities(), SettingsError, "too large"),
        (
            lambda m: simulate.continuous("chain", 3, rng()).joint_probabilities(),
            SettingsError,
            "'X1' is continuous",
        ),
    ],
)
def test_misuse_is_explained(call, error, message):
    model = simulate.categorical("chain", 4, rng(0), latents=1, categories=5)
    with pytest.raises(error, match=message):
        call(model)


def test_inconsistent_parts_are_refused():
    coin = Variable("coin", "categorical", (0, 1))
    other = Variable("other", "categorical", (0, 1, 2))
    fair, free = TableCategorical([[0.5, 0.5]]), TableCategorical(np.full((1, 3), 1 / 3))
    with pytest.raises(GraphError, match="2 variables need an adjacency matrix"):
        SCM([coin, other], np.zeros((3, 3)), [fair, free])
    with pytest.raises(GraphError, match="cycle"):
        SCM([coin, other], [[0, 1], [1, 0]], [fair, free])
    with pytest.raises(GraphError, match=r"parents of 'other' have \[2\] levels .* mechanism is for \[\]"):
        SCM([coin, other], [[0, 1], [0, 0]], [fair, free])
    with pytest.raises(
        GraphError, match="'other' is categorical with 3 levels, but its mechanism is categorical with 2"
    ):
        SCM([coin, other], np.zeros((2, 2)), [fair, fair])
    with pytest.raises(DataError, match="two variables are called 'coin'"):
        SCM([coin, coin], np.zeros((2, 2)), [fair, fair])
    with pytest.raises(GraphError, match="latent positions"):
        SCM([coin, other], np.zeros((2, 2)), [fair, free], latent=[5])


@pytest.mark.slow
def test_speed_of_a_hundred_variables():
    model = simulate.categorical("random", 100, rng(0), edge_probability=8 / 100, max_parents=10)
    model.sample(10, rng=rng(0))  # compiles
    times = []
    for _ in range(3):
        start = time.perf_counter()
        model.sample(100_000, rng=rng(1))
        times.append(time.perf_counter() - start)
    assert min(times) < 2.0
