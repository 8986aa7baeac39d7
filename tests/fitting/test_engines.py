"""Which engine a fit uses, and what happens when it cannot do what is asked."""

import numpy as np
import pytest

from enco import ENCO, simulate
from enco.conditionals.fused import FusedConditionals
from enco.conditionals.torch import TorchConditionals, requirements
from enco.data import InterventionalData
from enco.errors import MissingPackageError, SettingsError
from enco.fitting.loop import Discovery
from enco.settings import Settings

QUICK = {
    "max_epochs": 2,
    "first_fit_steps": 30,
    "fit_steps": 10,
    "graph_steps": 3,
    "first_orientation_passes": 1,
    "hidden": 8,
    "refine_steps": 20,
}


def make_data(kind="continuous", n=3, rows=120):
    rng = np.random.default_rng(0)
    if kind != "mixed":
        make = simulate.continuous if kind == "continuous" else simulate.categorical
        return make("chain", n, rng).dataset(rows, 20, rng=rng)
    cause = [rng.integers(3, size=size) for size in (rows, 20, 20)]
    blocks = [np.column_stack([x, x + rng.normal(size=len(x)), rng.normal(size=len(x))]) for x in cause]
    return InterventionalData.from_environments(
        blocks, [None, "A", "B"], names=["A", "B", "C"], kinds={"A": "categorical"}
    )


def linear(n_inputs, n_outputs):
    from torch import nn

    return nn.Linear(n_inputs, n_outputs)


def engine_of(kind, *, network=None, **settings):
    return type(Discovery(make_data(kind), settings=Settings(**{**QUICK, **settings}), network=network).model)


@pytest.mark.parametrize("kind", ["categorical", "continuous", "mixed"])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, FusedConditionals),
        ({"engine": "auto", "density": "gaussian", "layers": 1, "device": "cpu"}, FusedConditionals),
        ({"engine": "fused"}, FusedConditionals),
        ({"engine": "torch"}, TorchConditionals),
        ({"layers": 2}, TorchConditionals),
        ({"engine": "torch", "layers": 3}, TorchConditionals),
        ({"network": linear}, TorchConditionals),
    ],
)
def test_auto_takes_the_fused_engine_wherever_it_can(kind, settings, expected):
    assert engine_of(kind, **settings) is expected


@pytest.mark.parametrize("density", ["dsf", "spline"])
def test_flows_matter_only_where_a_variable_is_continuous(density):
    assert engine_of("continuous", density=density) is TorchConditionals
    assert engine_of("mixed", density=density) is TorchConditionals
    assert engine_of("categorical", density=density) is FusedConditionals
    assert engine_of("categorical", density=density, engine="fused") is FusedConditionals


def test_settings_reach_the_engines():
    given = {"hidden": 7, "batch": 33, "learning_rate": 0.3, "weight_decay": 0.2, "held_out": 0.25}
    checks = {"check_every": 11, "patience": 6}
    for engine in ("fused", "torch"):
        fit = Discovery(make_data(), settings=Settings(**given, **checks, engine=engine))
        assert {name: getattr(fit.model.settings, name) for name in (*given, *checks)} == {**given, **checks}
    fit = Discovery(make_data(), settings=Settings(density="dsf", layers=3), network=None)
    assert (fit.model.settings.density, fit.model.settings.layers) == ("dsf", 3)
    assert Discovery(make_data(), settings=Settings(), network=linear).model.settings.network is linear


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"density": "dsf"}, "density 'dsf'"),
        ({"density": "spline"}, "density 'spline'"),
        ({"layers": 2}, "2 layers"),
        ({"device": "cuda"}, "device 'cuda'"),
        ({"network": linear}, "a network of your own"),
    ],
)
def test_what_the_fused_engine_cannot_do(settings, what):
    with pytest.raises(SettingsError) as caught:
        engine_of("continuous", engine="fused", **settings)
    assert str(caught.value) == f'engine "fused" cannot do {what}: use engine "torch" or "auto"'


@pytest.mark.parametrize("settings", [{"engine": "torch"}, {"density": "dsf"}, {"network": linear}])
def test_without_pytorch(monkeypatch, settings):
    monkeypatch.setattr(requirements, "find_spec", lambda name: None)
    assert engine_of("continuous") is FusedConditionals  # the core needs no extra
    with pytest.raises(MissingPackageError, match=r"needs the package 'torch': pip install 'enco\[torch\]'") as caught:
        engine_of("continuous", **settings)
    assert "\n" not in str(caught.value)


# From end to end


def quick(**options):
    return ENCO(**{"settings": QUICK, "random_state": 0, "n_jobs": 1, **options})


@pytest.mark.parametrize("density", ["gaussian", "dsf", "spline"])
def test_every_density_runs(density):
    data = make_data("mixed")
    fitted = quick(density=density).fit(data)
    assert fitted.result_.settings["density"] == density
    assert np.isfinite(fitted.theta_).all()
    twin = quick(density=density, n_jobs=2).fit(data)
    assert np.array_equal(fitted.theta_, twin.theta_)
    assert fitted.result_.order_report == twin.result_.order_report


def test_densities_and_engines_differ():
    data = make_data()
    options = ({}, {"engine": "torch"}, {"density": "dsf"}, {"density": "spline"}, {"network": linear})
    thetas = [quick(settings={**QUICK, "refine_rounds": 0}, **given).fit(data).theta_ for given in options]
    assert len({theta.tobytes() for theta in thetas}) == len(options)


def test_a_network_of_your_own_runs():
    called = []

    def network(n_inputs, n_outputs):
        called.append((n_inputs, n_outputs))
        return linear(n_inputs, n_outputs)

    estimator = quick(network=network).fit(make_data("mixed"))
    # A has three levels, B and C are continuous: (value, 1) each; a Gaussian has two numbers.
    assert set(called) == {(4, 3), (5, 2)}
    assert estimator.get_params()["network"] is network
    assert estimator.adjacency_matrix_.shape == (3, 3)


def test_a_network_that_is_none():
    with pytest.raises(SettingsError, match="setting network must be a function"):
        quick(network="mlp").fit(make_data())


@pytest.mark.parametrize("engine", ["fused", "torch"])
def test_a_continuous_edge_is_found(engine):
    """y = 2 x + noise, with either set by intervention."""
    rng = np.random.default_rng(0)
    x = [rng.normal(size=size) for size in (600, 100, 100)]
    y = [2 * each + rng.normal(size=len(each)) for each in x]
    y[2] = rng.normal(size=100)
    blocks = [np.column_stack(pair) for pair in zip(y, x, strict=True)]
    data = InterventionalData.from_environments(blocks, [None, "x", "y"], names=["y", "x"])
    short = {"first_fit_steps": 300, "fit_steps": 50, "first_orientation_passes": 3, "refine_steps": 100}
    fitted = ENCO(engine=engine, max_epochs=5, random_state=0, n_jobs=1, settings=short).fit(data)
    assert set(fitted.causal_graph_.edges) == {("x", "y")}
