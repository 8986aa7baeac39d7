"""Every method solves a small problem, and says in one line what it cannot do."""

import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

from enco.baselines import METHODS, Method, base, find_method, register
from enco.data import InterventionalData
from enco.errors import DataError, EncoError, MissingPackageError, SettingsError
from enco.result import Result

DCDI = {"max_steps": 2000, "mu": 1e-4, "learning_rate": 0.01}
QUICK = {
    "enco": {},
    "enco-paper": {"fit_steps": 300, "graph_samples": 50, "max_epochs": 12},
    "enco-reinforce": {"fit_steps": 300, "graph_samples": 50, "max_epochs": 20},
    "enco-independent": {"fit_steps": 300, "graph_samples": 50, "max_epochs": 12},
    "search-only": {},
    "enco-refits": {"max_epochs": 4, "refine_steps": 500},
    "sdi": {"max_epochs": 20, "fit_steps": 100, "graph_steps": 50, "gamma_rate": 0.03, "hidden": 16},
    "dcdi": {**DCDI, "hidden": 16},
    "dcdi-dsf": {**DCDI, "max_steps": 600, "window": 50, "mu": 1e-3, "logit_rate": 0.05},
    "gies": {"categorical_penalty": 5.0},
    "igsp": {},
    "ges": {},
}
LINEAR = {"gies", "igsp"}  # of categorical variables they see the level index only
CASES = [
    (name, kind)
    for name, method in METHODS.items()
    for kind in sorted(method.kinds)
    if not (name in LINEAR and kind == "categorical")
]


def needs(name):
    return [pytest.mark.packages] if name == "igsp" else []  # its package brings many others: make packages


def test_the_table_of_methods():
    assert list(METHODS) == list(QUICK)
    assert all(name == method.name for name, method in METHODS.items())
    assert METHODS["dcdi-dsf"].kinds == {"continuous"}


@pytest.mark.parametrize(("name", "kind"), [pytest.param(*case, marks=needs(case[0])) for case in CASES])
def test_a_small_graph_is_found(make_problem, name, kind):
    data, truth = make_problem(kind)
    result = METHODS[name].fit(data, seed=1, n_jobs=1, **QUICK[name])
    np.testing.assert_array_equal(result.adjacency, truth)
    assert isinstance(result, Result)
    assert result.variables == data.names
    assert result.seed == 1
    assert result.seconds > 0
    assert result.settings["method"] == name
    assert {setting.name for setting in fields(METHODS[name].settings_type)} < set(result.settings)


def test_every_enco_says_who_did_what(make_problem):
    data, truth = make_problem("categorical")
    alone = METHODS["search-only"].fit(data, seed=1, n_jobs=1)
    assert not alone.adjacency_raw.any()
    np.testing.assert_array_equal(alone.adjacency, truth)
    published = METHODS["enco-reinforce"].fit(data, seed=1, n_jobs=1, **QUICK["enco-reinforce"])
    assert published.settings["preset"] == "paper"
    np.testing.assert_array_equal(published.adjacency, published.adjacency_ordered)


@pytest.mark.parametrize("name", ["sdi", "dcdi", "gies", "ges"])
def test_same_seed_same_result(make_problem, name):
    data, _ = make_problem("continuous", rows=200, interventional_rows=50)
    quick = QUICK[name] | {key: 2 for key in ("max_epochs", "max_steps") if key in QUICK[name]}
    first, second = (METHODS[name].fit(data, seed=3, n_jobs=1, **quick) for _ in range(2))
    np.testing.assert_array_equal(first.edge_probability, second.edge_probability)


@pytest.mark.parametrize("name", ["sdi", "dcdi", "gies", "ges"])
def test_some_interventions_are_enough_to_run(make_problem, name, tmp_path):
    data, truth = make_problem("continuous", rows=400, targets=("A", "D"))
    quick = QUICK[name] | {key: 100 for key in ("max_steps",) if key in QUICK[name]}
    result = METHODS[name].fit(data, seed=1, n_jobs=1, **quick)
    assert result.adjacency.shape == truth.shape
    result.save(tmp_path)
    np.testing.assert_array_equal(Result.load(tmp_path).adjacency, result.adjacency)


def copies():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1))
    rows = np.hstack([x, x, np.full((200, 1), 3.0), rng.normal(size=(200, 1))])
    return InterventionalData.from_environments([rows, rows[:50]], [None, "X4"])


@pytest.mark.parametrize("name", ["ges", "sdi", "dcdi"])
def test_constant_and_copied_columns(name):
    quick = QUICK[name] | {key: 2 for key in ("max_epochs", "max_steps") if key in QUICK[name]}
    result = METHODS[name].fit(copies(), seed=0, n_jobs=1, **quick)
    assert np.isfinite(result.edge_probability).all()


def test_gies_refuses_copies_but_not_constant_columns():
    with pytest.raises(DataError, match="method 'gies' found columns that determine each other"):
        METHODS["gies"].fit(copies(), seed=0, n_jobs=1)
    assert METHODS["gies"].fit(copies().select(["X1", "X3", "X4"]), seed=0, n_jobs=1).n_edges == 0


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("gies", "gies", "baselines"),
        ("igsp", "causaldag", "igsp"),
        ("dcdi-dsf", "torch", "torch"),
    ],
)
def test_a_missing_package(make_problem, monkeypatch, name, package, extra):
    data, _ = make_problem("continuous", rows=20, interventional_rows=5)
    monkeypatch.setattr(base, "find_spec", lambda asked: None if asked == package else asked)
    with pytest.raises(MissingPackageError) as caught:
        METHODS[name].fit(data, seed=0, n_jobs=1)
    assert str(caught.value) == f"method '{name}' needs the package '{package}': pip install 'enco[{extra}]'"


def test_importing_imports_nothing_optional():
    optional = "{'torch', 'gies', 'ges', 'causaldag'}"
    code = f"import sys, enco.baselines; sys.exit(bool({optional} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_wrong_kind(make_problem):
    data, _ = make_problem("categorical", rows=20, interventional_rows=5)
    with pytest.raises(DataError, match="method 'dcdi-dsf' cannot handle categorical variables such as 'C': choose"):
        METHODS["dcdi-dsf"].fit(data, seed=0, n_jobs=1)


def test_ges_takes_one_kind_at_a_time():
    rng = np.random.default_rng(0)
    data = InterventionalData.from_environments(
        [np.column_stack([rng.integers(3, size=30), rng.normal(size=30)])] * 2, [None, 0], kinds={"X1": "categorical"}
    )
    with pytest.raises(DataError, match="needs variables of one kind, but 'X1' is categorical"):
        METHODS["ges"].fit(data, seed=0, n_jobs=1)


def test_sdi_needs_an_intervention(make_problem):
    data, _ = make_problem("categorical", rows=20, targets=())
    with pytest.raises(DataError, match="method 'sdi' needs an intervention regime"):
        METHODS["sdi"].fit(data, seed=0, n_jobs=1)


@pytest.mark.parametrize("name", list(METHODS))
def test_settings_are_checked(make_problem, name):
    data, _ = make_problem("continuous", rows=20, interventional_rows=5)
    with pytest.raises(SettingsError, match=rf"method '{name}' has no setting 'colour'; choose from"):
        METHODS[name].fit(data, seed=0, n_jobs=1, colour=1)
    number = next(setting.name for setting in fields(METHODS[name].settings_type) if setting.type in (int, float))
    with pytest.raises(SettingsError, match=f"setting {number} must be"):
        METHODS[name].fit(data, seed=0, n_jobs=1, **{number: "much"})


def test_an_unknown_method():
    with pytest.raises(SettingsError, match="there is no method 'gis'; choose from enco, "):
        find_method("gis")


class Toy(Method):
    """Joins every variable to the next one."""

    name = "toy"
    kinds = frozenset({"categorical"})

    def learn(self, data, settings, *, seed, n_jobs):
        return Result.from_graph(np.eye(data.n_variables, k=1), data)


def test_a_method_of_ones_own(make_problem, monkeypatch):
    monkeypatch.setattr(base, "METHODS", METHODS.copy())
    register(Toy())
    data, _ = make_problem("categorical", rows=20, interventional_rows=5)
    result = find_method("toy").fit(data, seed=7, n_jobs=1)
    assert result.to_frame()[["cause", "effect"]].to_numpy().tolist() == [["A", "D"], ["C", "A"], ["D", "B"]]
    assert (result.settings, result.seed) == ({"method": "toy"}, 7)
    with pytest.raises(EncoError, match="there is a method 'toy' already"):
        register(Toy())
    with pytest.raises(SettingsError, match="method 'toy' has no setting 'colour'; it has none"):
        find_method("toy").fit(data, seed=0, n_jobs=1, colour=1)


def test_context_and_unknown_targets():
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=(100, 3)), rng.normal([3.0, 0.0, 0.0], size=(50, 3))]
    data = InterventionalData.from_environments(blocks, [None, "X1"]).with_context(["X3"])
    assert find_method("ges").fit(data, seed=0, n_jobs=1).variables == ("X1", "X2")
    unknown = InterventionalData.from_environments(blocks, [None, "unknown"], labels=[None, "drug"])
    with pytest.raises(DataError, match="'ges' needs the targets of every intervention, and those of 'drug' are not"):
        find_method("ges").fit(unknown, seed=0, n_jobs=1)
    assert find_method("enco").fit(unknown, seed=0, n_jobs=1, max_epochs=1).interventions["target"].tolist() == ["X1"]
