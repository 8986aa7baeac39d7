"""Probabilities of edges: they agree with the graph, grow with the evidence, and survive saving."""

import numpy as np
import pytest

from enco import ENCO, simulate
from enco.bench.calibration import calibration_table, curves_as_toml, directed, pairs_of, reliability
from enco.bench.calibration_settings import SETTINGS
from enco.cli import main
from enco.errors import FileFormatError, SettingsError
from enco.result import Result
from enco.result.confidence import Curves, confidence_of, curves
from enco.result.fields import CONFIDENCE
from enco.result.slopes import slopes
from enco.score.support import Gains, Support
from enco.simulate.experiments import experiment

QUICK = {"max_epochs": 4, "refine_steps": 300}


def random_case(seed, n=7):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    graph = np.triu(rng.random((n, n)) < 0.4, 1)[np.ix_(order, order)]
    probability = rng.random((n, n)) ** rng.choice([0.2, 1, 5])
    probability /= np.maximum(1.0, probability + probability.T)
    np.fill_diagonal(probability, 0.0)
    gain, turn, told = np.where(graph, rng.normal(10, 20, (3, n, n)), np.nan)
    doubt = np.clip(rng.random((n, n)) * 2, 0, 1)
    error = np.where(graph, rng.random((n, n)) * 10, np.nan)
    return Support(probability, Gains(gain, error, turn, error, told)), graph, np.minimum(doubt, doubt.T)


def support_of(shares, gain=np.nan, error=1.0, told=np.nan):
    """Of two variables with one edge."""
    edge = np.array([[False, True], [False, False]])
    gains = (np.where(edge, number, np.nan) for number in (gain, error, gain, error, told))
    return Support(np.array(shares), Gains(*gains))


@pytest.mark.parametrize("seed", range(200))
def test_they_agree_with_the_graph_whatever_the_search_says(seed):
    support, found, doubt = random_case(seed)
    required = found & (np.random.default_rng(seed).random(found.shape) < 0.2)
    trust = np.random.default_rng(seed).random()
    graph, existence, orientation = confidence_of(support, found, doubt, curves(), trust=trust, required=required)
    edge = existence * orientation
    assert not (graph & ~found).any()
    assert (graph >= required).all()
    assert (edge[graph] >= 0.5 - 1e-12).all()
    assert (edge[~graph] < 0.5).all()
    assert (existence == existence.T).all()
    assert ((existence >= 0) & (existence <= 1)).all()
    off = ~np.eye(len(graph), dtype=bool)
    np.testing.assert_allclose((orientation + orientation.T)[off], 1.0)
    assert (edge + edge.T <= 1 + 1e-12).all()


def test_more_evidence_is_more_confidence():
    some = curves()
    assert min(some.edges[1:]) > 0
    assert some.others[1] > 0
    assert some.told[0] > some.blind[0] >= 0
    assert min(*some.told, *some.untold, *some.blind) >= 0
    graph = np.array([[False, True], [False, False]])

    def told(probability, gain, doubt):
        support = support_of([[0.0, probability], [0.01, 0.0]], gain, told=gain)
        verdict = confidence_of(support, graph, np.full((2, 2), doubt), some)
        return verdict.existence[0, 1], verdict.orientation[0, 1]

    by_share = np.array([told(p, 6.0, 0.0) for p in (0.6, 0.8, 0.9, 0.98, 0.989)])
    by_gain = [told(0.98, z, 0.0)[0] for z in (-3.0, 0.0, 3.0, 6.0)]
    by_doubt = [told(0.9, 3.0, doubt)[1] for doubt in (0.0, 0.3, 0.9)]
    for numbers in (by_share.prod(axis=1), by_share[:, 1], by_gain, by_doubt[::-1]):
        assert np.all(np.diff(numbers) >= -1e-12)
        assert numbers[-1] > numbers[0]


def test_without_any_intervention_that_is_believed_no_direction_is_sure():
    graph = np.array([[False, True], [False, False]])
    support = support_of([[0.0, 1.0], [0.0, 0.0]], 1e4, told=1e4)
    told, blind = (
        confidence_of(support, graph, np.full((2, 2), doubt), curves(), trust=1 - doubt) for doubt in (0.0, 1.0)
    )
    assert (told.existence * told.orientation)[0, 1] > 0.95
    assert 0.5 < (blind.existence * blind.orientation)[0, 1] < 0.9


def test_an_edge_of_variables_that_are_hardly_joined_leaves_the_graph_unless_it_is_required():
    graph = np.array([[False, True], [False, False]])
    weak = support_of([[0.0, 0.2], [0.0, 0.0]], 0.5, 2.0)
    told = np.zeros((2, 2))
    left = confidence_of(weak, graph, told, curves())
    assert not left.graph.any()
    assert (left.existence * left.orientation < 0.5).all()
    assert (confidence_of(weak, graph, told, curves(), required=graph).graph == graph).all()


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    model = simulate.mixed("random", 6, rng, edge_probability=0.4)
    data = experiment(model, 1000, 150, rng).data
    return ENCO(settings=QUICK, random_state=0, n_jobs=2).fit(data).result_, model.observed_adjacency, data


def test_they_survive_saving_and_loading(fitted, tmp_path):
    result = fitted[0]
    result.save(tmp_path / "out")
    again = Result.load(tmp_path / "out")
    for name in CONFIDENCE:
        assert np.array_equal(getattr(again.confidence, name), getattr(result.confidence, name), equal_nan=True), name
    assert again.to_frame().equals(result.to_frame())


def test_a_part_of_them_is_refused(fitted, tmp_path):
    result = fitted[0]
    result.save(tmp_path / "out")
    parameters = next((tmp_path / "out").rglob("parameters.npz"))
    with np.load(parameters) as arrays:
        kept = {name: values for name, values in arrays.items() if name != "doubt"}
    np.savez(parameters, **kept)
    with pytest.raises(FileFormatError, match="'doubt' is missing beside the other numbers of the search"):
        Result.load(tmp_path / "out")


def test_a_table_of_edges_says_where_they_come_from(fitted):
    frame = fitted[0].to_frame()
    assert set(frame["source"]) <= {"learned", "added", "reversed"}
    assert frame["probability"].is_monotonic_decreasing
    assert (frame["probability"] >= 0.5).all()
    assert (frame["gain_error"] > 0).all()


def test_without_a_search_algorithm_1_says_how_sure_it_is():
    data = fitted_data()
    result = ENCO(settings={**QUICK, "refine_rounds": 0}, random_state=0, n_jobs=1).fit(data).result_
    assert result.confidence is None
    assert (result.edge_probability == result.learned_probability).all()
    assert result.to_frame()[["gain", "gain_error", "slope"]].isna().all(axis=None)


def fitted_data():
    rng = np.random.default_rng(0)
    return simulate.categorical("chain", 4, rng, categories=3).dataset(300, 50, rng=rng)


def test_slopes_are_those_of_least_squares_and_binary_ones_differences():
    rng = np.random.default_rng(0)
    model = simulate.continuous("random", 5, rng, mechanism="linear", edge_probability=0.6)
    data = model.dataset(4000, 300, rng=rng)
    graph = model.observed_adjacency.astype(bool)
    found = slopes(data, graph)
    assert (np.isfinite(found) == graph).all()
    observed = data.observational.reals.astype(float)
    scale = observed.std(axis=0)
    for effect in np.flatnonzero(graph.any(axis=0)):
        parents = np.flatnonzero(graph[:, effect])
        rows = np.concatenate([regime.reals for regime in data.regimes if regime.free(int(effect))]).astype(float)
        design = np.column_stack([np.ones(len(rows)), rows[:, parents]])
        wanted = np.linalg.lstsq(design, rows[:, effect], rcond=None)[0][1:] * scale[parents] / scale[effect]
        np.testing.assert_allclose(found[parents, effect], wanted, rtol=0.1, atol=0.03)


def test_the_expected_share_of_false_edges_is_kept(fitted):
    result = fitted[0]
    for share in (0.001, 0.05, 0.5):
        kept = result.at_fdr(share)
        frame = kept.to_frame()
        assert kept.n_edges + len(kept.order_report["left_out"]) == result.n_edges
        assert not len(frame) or (1 - frame["probability"]).mean() <= share
        if left := kept.order_report["left_out"]:
            assert result.edge_probability[kept.adjacency == 1].min(initial=1.0) >= max(
                result.edge_probability[result.variables.index(cause), result.variables.index(effect)]
                for cause, effect in left
            )
    assert result.at_fdr(0.5).n_edges == result.n_edges
    for wrong in (0, 1, -0.1, float("nan"), True, "0.1"):
        with pytest.raises(SettingsError, match="must lie between 0 and 1"):
            result.at_fdr(wrong)


def test_the_command_line_leaves_out_what_is_not_sure(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted_data().to_npz("data.npz")
    quick = ["--set", "max_epochs=3", "--set", "refine_steps=200"]
    assert main(["fit", "data.npz", "--out", "out", "--fdr", "0.0001", *quick]) == 0
    assert "left out, the least sure ones" in capsys.readouterr().out
    assert Result.load("out").n_edges == 0
    assert main(["fit", "data.npz", "--out", "other", "--fdr", "1.5", *quick]) == 2
    assert "--fdr must lie between 0 and 1, got 1.5" in capsys.readouterr().err


def test_calibration_counts_every_pair_once(fitted):
    result, truth, _ = fitted
    pairs = pairs_of(result, truth.astype(bool))
    assert pairs["edge"].sum() == result.n_edges + len(result.order_report["unsure"])
    assert len(pairs) <= 15
    assert pairs["joined"].sum() <= truth.sum()
    table = calibration_table(directed(pairs.assign(setting="mixed", fit=0)))
    assert "mixed" in table
    error, bins = reliability(pairs["probability"], pairs["right"])
    assert 0 <= error <= 1
    assert bins["pairs"].sum() == (pairs["probability"] > 0.05).sum()


def test_curves_that_are_written_are_read():
    import tomllib

    some = Curves((1.0, 0.5, 0.25), (-1.0, 2.0, 0.0), (1.5, 0.5, 0.25), (0.75, 0.5, 0.0), (0.5, 0.25, 0.0))
    written = tomllib.loads(curves_as_toml(some, {"variables": (8, 40)}, 10))
    assert Curves.of(written) == some
    assert written["range"] == {"variables": [8, 40]}


@pytest.mark.parametrize("name", list(SETTINGS))
def test_every_setting_can_be_drawn(name):
    data, truth = SETTINGS[name].draw(np.random.default_rng(0))
    assert truth.shape == (data.n_variables,) * 2
    assert data.interventional
