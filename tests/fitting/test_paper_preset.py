"""The preset "paper": one graph-fitting step against a plain transcription of Algorithm 1, and what it leaves out."""

import numpy as np
import pytest

from enco import ENCO, simulate
from enco import discover as module
from enco.cli import main
from enco.conditionals.base import ConditionalModel
from enco.discover import conclude
from enco.errors import SettingsError
from enco.fitting.loop import Discovery
from enco.gradients import toggled
from enco.settings import PAPER, Settings


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    return simulate.categorical("random", 5, rng, categories=3, edge_probability=0.5).dataset(400, 60, rng=rng)


class Transcription:
    """Algorithm 1's graph fitting in dense matrices, written from the paper; its Adam is Kingma and Ba's."""

    def __init__(self, n: int, rates: tuple[float, float], sparsity: float) -> None:
        self.gamma, self.theta = np.zeros((n, n)), np.zeros((n, n))
        self.gamma_rate, self.theta_rate = rates
        self.sparsity = sparsity
        self.moments = {name: (np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))) for name in ("gamma", "theta")}

    def step(self, target: int, graphs: np.ndarray, losses: np.ndarray) -> None:
        """One step: K graphs C[k, i, j] and the loss of every variable under each, L[k, j]."""
        n = len(self.gamma)
        sigmoid_gamma, sigmoid_theta = 1 / (1 + np.exp(-self.gamma)), 1 / (1 + np.exp(-self.theta))
        gamma_gradient, theta_gradient = np.full((n, n), np.nan), np.full((n, n), np.nan)
        for i in range(n):
            for j in range(n):
                there = graphs[:, i, j]
                if i == j or j == target or there.all() or not there.any():
                    continue
                difference = losses[there, j].mean() - losses[~there, j].mean()
                slope = sigmoid_gamma[i, j] * (1 - sigmoid_gamma[i, j])
                gamma_gradient[i, j] = slope * sigmoid_theta[i, j] * (difference + self.sparsity)
                if i == target:
                    slope = sigmoid_theta[i, j] * (1 - sigmoid_theta[i, j])
                    theta_gradient[i, j] = slope * sigmoid_gamma[i, j] * difference
        self.gamma += self.adam("gamma", np.nan_to_num(gamma_gradient), self.gamma_rate, 0.9, 0.9)
        change = self.adam("theta", theta_gradient, self.theta_rate, 0.9, 0.999)
        for j in range(n):
            if not np.isnan(theta_gradient[target, j]):
                self.theta[target, j] += change[target, j]
                self.theta[j, target] = -self.theta[target, j]
                first, second, count = self.moments["theta"]  # one parameter for both directions
                first[j, target], second[j, target] = -first[target, j], second[target, j]
                count[j, target] = count[target, j]

    def adam(self, name: str, gradient: np.ndarray, rate: float, beta1: float, beta2: float) -> np.ndarray:
        first, second, count = self.moments[name]
        change = np.zeros_like(gradient)
        for i, j in np.argwhere(~np.isnan(gradient)):
            count[i, j] += 1
            first[i, j] = beta1 * first[i, j] + (1 - beta1) * gradient[i, j]
            second[i, j] = beta2 * second[i, j] + (1 - beta2) * gradient[i, j] ** 2
            corrected = first[i, j] / (1 - beta1 ** count[i, j])
            spread = second[i, j] / (1 - beta2 ** count[i, j])
            change[i, j] = -rate * corrected / (np.sqrt(spread) + 1e-8)
        return change


class Recorded:
    """A conditional model that remembers the graphs that it was asked for, and their losses."""

    def __init__(self, model: ConditionalModel) -> None:
        self.model, self.candidates = model, model.candidates

    def graph_losses(self, regime, rows, graphs):
        self.graphs, self.losses, self.rows = graphs, self.model.graph_losses(regime, rows, graphs), rows
        return self.losses


def test_steps_are_those_of_the_paper(data):
    settings = Settings.paper(graph_batch=16)
    discovery = Discovery(data, settings=settings, seed=0)
    discovery.model.fit(discovery.parameters.edge_probability(), 50)
    stage, pairs = discovery.graph_fitting, discovery.candidates
    stage.model = recorded = Recorded(discovery.model)
    rates = settings.gamma_rate, settings.theta_rate
    expected = Transcription(data.n_variables, rates, settings.sparsity)
    for number, regime in enumerate(stage.sequence(40)):
        stage.step(regime)
        assert recorded.graphs.shape == (settings.graph_samples, pairs.n_pairs)
        assert len(recorded.rows) == 16
        graphs = np.zeros((settings.graph_samples, data.n_variables, data.n_variables), bool)
        graphs[:, pairs.cause, pairs.effect] = recorded.graphs
        expected.step(regime.targets[0], graphs, recorded.losses)
        for name in ("gamma", "theta"):
            found = pairs.dense(getattr(discovery.parameters, name))
            np.testing.assert_allclose(found, getattr(expected, name), atol=1e-9, err_msg=f"{name}, step {number}")
    assert np.abs(expected.theta).max() > 0.5


def test_there_is_nothing_but_algorithm_1(data, monkeypatch):
    """No search, no second look, no clamps, no evidence; the graph is a part of what gamma and theta say."""
    settings = Settings.paper(max_epochs=2, fit_steps=20, first_fit_steps=20, graph_steps=5)
    discovery = Discovery(data, settings=settings, seed=0)
    added = ["second_look", "orient", "orientation_evidence"]
    for owner, name in [*((discovery.graph_fitting, name) for name in added), (module, "improve")]:
        monkeypatch.setattr(owner, name, lambda *args, **more: pytest.fail("an addition to the paper"))
    discovery.run()
    assert [record.fit_steps for record in discovery.history] == [20.0, 20.0]
    result = conclude(discovery, data, seconds=0.0, seed=0)
    assert (result.adjacency <= result.adjacency_raw).all()
    assert result.order_report["refined"] == []
    assert result.settings["preset"] == "paper"


def test_gamma_is_frozen_in_every_second_stage(data):
    settings = Settings.paper(100, max_epochs=2, fit_steps=20, first_fit_steps=20, graph_steps=5, freezing_steps=7)
    seen = []

    def look(discovery: Discovery) -> None:
        seen.append((discovery.parameters.gamma.copy(), discovery.parameters.theta.copy()))

    Discovery(data, settings=settings, seed=0).run(on_epoch=look)
    (first_gamma, first_theta), (second_gamma, second_theta) = seen
    np.testing.assert_array_equal(first_gamma, second_gamma)
    assert (first_theta != second_theta).any()


def test_toggled_effects_are_differences_of_graphs_with_and_without_the_edge(data):
    discovery = Discovery(data, settings=Settings.paper(), seed=0)
    model, pairs, regime = discovery.model, discovery.candidates, discovery.graph_fitting.regimes[0]
    model.fit(np.full(pairs.n_pairs, 0.5), 50)
    rows, probability = np.arange(20), np.full(pairs.n_pairs, 0.5)
    out_of_target = pairs.cause == regime.targets[0]
    found = toggled(model, regime, rows, probability, out_of_target, np.random.default_rng(7), 3)
    graphs = np.random.default_rng(7).random((3, pairs.n_pairs)) < probability
    for pair in range(pairs.n_pairs):
        if not out_of_target[pair]:
            assert np.isnan(found[pair])
            continue
        with_edge, without = graphs.copy(), graphs.copy()
        with_edge[:, pair], without[:, pair] = True, False
        effect = pairs.effect[pair]
        expected = model.graph_losses(regime, rows, with_edge) - model.graph_losses(regime, rows, without)
        assert found[pair] == pytest.approx(expected[:, effect].mean(), abs=1e-6)


def test_every_setting_of_the_paper_is_one():
    scaled = {"weight_decay": 25}  # by the number of variables: the paper's loss is their mean
    for name, (value, place) in PAPER.items():
        assert place
        assert getattr(Settings.paper(25), name) == (value * scaled[name] if name in scaled else value)
    assert Settings.paper(1000).batch == 64
    assert Settings.paper(99).freezing_steps == 0
    assert Settings.paper(100, partial=True).sparsity == 0.002


def test_what_is_given_besides_overrides_and_is_named(data):
    quick = {"fit_steps": 5, "first_fit_steps": 5, "graph_steps": 2}
    fitted = ENCO(preset="paper", max_epochs=1, settings=quick, random_state=0, n_jobs=1).fit(data)
    used = Settings(**fitted.result_.settings)
    assert used == Settings.paper(5, max_epochs=1, **quick)
    assert used.changes(5) == {"max_epochs": 1} | quick


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--preset", "papre"], "there is no preset 'papre'; choose from enco, paper"),
        (["--preset", "paper", "--candidates", "screen"], "the preset paper considers all pairs"),
    ],
)
def test_wrong_presets_are_refused_before_any_work(options, words, tmp_path, capsys):
    assert main(["fit", str(tmp_path / "nowhere.npz"), "--out", str(tmp_path / "out"), *options]) == 2
    assert words in capsys.readouterr().err
    with pytest.raises(SettingsError, match="there is no preset"):
        ENCO(preset="papre").fit(np.zeros((4, 2)), targets=[None, None, 0, 0])


@pytest.mark.parametrize("engine", ["fused", "torch"])
def test_without_held_out_rows_all_steps_are_taken_and_the_last_weights_kept(data, engine):
    settings = Settings.paper(engine=engine, held_out=0.0, check_every=1, patience=1)
    model = Discovery(data, settings=settings, seed=0).model
    report = model.fit(np.full(model.candidates.n_pairs, 0.5), 30)
    assert report.steps.tolist() == [30] * data.n_variables
