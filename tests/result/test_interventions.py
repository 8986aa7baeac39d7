"""The table of interventions: saved and loaded, in words, on the command line, and damaged."""

import json

import numpy as np
import pandas as pd
import pytest

from enco import ENCO, simulate
from enco.cli import main
from enco.data import InterventionalData, Regime
from enco.errors import FileFormatError
from enco.interventions.shifts import Shifts, are_batches
from enco.result import Result
from enco.result.interventions import BATCHES, COLUMNS, SHIFT_COLUMNS, in_words
from enco.simulate.experiments import experiment

QUICK = ["--set", "max_epochs=3", "--set", "refine_steps=100", "--threads", "1"]


def drawn(seed=3, **shares):
    rng = np.random.default_rng(seed)
    return experiment(simulate.categorical("chain", 6, rng, categories=4), 2000, 150, rng, **shares)


@pytest.fixture(scope="module")
def result():
    return ENCO(max_epochs=3, random_state=0, n_jobs=1).fit(drawn(failed=0.34).data).result_


def test_it_survives_saving_and_loading(result, tmp_path):
    result.save(tmp_path / "out")
    again = Result.load(tmp_path / "out").interventions
    pd.testing.assert_frame_equal(again, result.interventions)
    assert list(again.columns) == list(COLUMNS)
    assert "no effect" in set(again["verdict"])


@pytest.mark.parametrize(
    "damage", [3, [3], [{"regime": "A"}], [{**dict.fromkeys(COLUMNS, "x"), "suspects": []}]], ids=str
)
def test_damage_is_named(result, tmp_path, damage):
    result.save(tmp_path / "out")
    file = tmp_path / "out" / "graph.json"
    content = json.loads(file.read_text())
    content["interventions"] = damage
    file.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="'interventions' must be a list of objects"):
        Result.load(tmp_path / "out")


@pytest.fixture(scope="module")
def inferred():
    """Of one regime whose target is not known, and of batches."""
    rng = np.random.default_rng(1)
    blocks = [rng.normal(size=(300, 4)) + rng.normal(size=4, scale=2.0 * (k > 0)) for k in range(4)]
    targets, labels = [None, "unknown", "X2", "X3"], [None, "drug", None, None]
    data = InterventionalData.from_environments(blocks, targets, labels=labels)
    return ENCO(max_epochs=3, random_state=0, n_jobs=1).fit(data).result_


def test_shifts_and_inferred_targets_survive_saving_and_loading(inferred, tmp_path):
    inferred.save(tmp_path / "out")
    again = Result.load(tmp_path / "out")
    assert list(again.shifts.columns) == list(SHIFT_COLUMNS)
    assert len(again.shifts)
    pd.testing.assert_frame_equal(again.shifts, inferred.shifts)
    pd.testing.assert_frame_equal(again.target_probability, inferred.target_probability)
    pd.testing.assert_frame_equal(again.interventions, inferred.interventions)
    assert again.interventions["inferred"].any()


SHIFT = {"regime": "drug", "variable": "X1", "p_value": 0.01, "size": 0.3}
DAMAGES = {
    "shifts": [3, [3], [{**SHIFT, "size": 2.0}], [{**SHIFT, "p_value": None}], [{**SHIFT, "variable": 1}], [{"x": 1}]],
    "target_probability": [3, [[0.5]], {"drug": [0.5]}, {"drug": [0.5, 0.5, 2.0, 0.0]}, {"drug": ["a"] * 4}, {}],
    "interventions": [[{"inferred": 1}], [{**dict.fromkeys(COLUMNS, 0.5), "suspects": [1]}]],
}


@pytest.mark.parametrize(("key", "damage"), [(key, it) for key, listed in DAMAGES.items() for it in listed], ids=str)
def test_damage_of_each_table_is_named(inferred, tmp_path, key, damage):
    inferred.save(tmp_path / "out")
    file = tmp_path / "out" / "graph.json"
    content = json.loads(file.read_text())
    content[key] = damage
    file.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=f"'{key}' must") as caught:
        Result.load(tmp_path / "out")
    assert "\n" not in str(caught.value)


def test_a_result_of_earlier_versions_has_none(result, tmp_path):
    result.save(tmp_path / "out")
    file = tmp_path / "out" / "graph.json"
    content = json.loads(file.read_text())
    del content["interventions"]
    file.write_text(json.dumps(content))
    assert Result.load(tmp_path / "out").interventions is None


def table(**columns):
    n = len(columns["regime"])
    usual = {
        "target": columns["regime"],
        "rows": [10] * n,
        "verdict": ["perfect"] * n,
        "share": [1.0] * n,
        "inferred": [False] * n,
    }
    return pd.DataFrame(usual | {"suspects": [[] for _ in range(n)]} | columns)


def test_words():
    assert in_words(table(regime=["A", "B"]), 5) == []
    assert in_words(table(regime=["A", "B"], suspects=[["C"], []]), 5) == [
        "the intervention on A seems to have hit C as well"
    ]
    assert in_words(table(regime=["A", "B"], suspects=[["C", "D", "E"], []]), 5) == [
        "most variables shift in the rows of A: is it another batch?"
    ]
    assert in_words(table(regime=["A", "B"], verdict=["soft", "perfect"], share=[0.4, 1.0]), 5) == [
        "1 of 2 interventions took hold in part: A (40% of the rows)"
    ]


def test_words_about_unknown_targets():
    before = table(
        regime=["drug", "B"], target=["", "B"], inferred=[True, False], verdict=["unknown target", "perfect"]
    )
    assert in_words(before, 5) == ["the targets of 1 regime are not known and will be inferred: drug"]
    after = table(regime=["drug", "drug", "B"], target=["A", "C", "B"], inferred=[True, True, False])
    assert in_words(after, 5) == ["inferred targets: drug: A and C"]
    many = table(regime=["drug"] * 3 + ["B"], target=["A", "C", "D", "B"], inferred=[True] * 3 + [False])
    assert "most variables shift in the rows of drug: is it another batch?" in in_words(many, 5)


def shifts_of(*cells):
    records = [{"regime": regime, "variable": variable, "p_value": 1e-9, "size": 0.5} for regime, variable in cells]
    return pd.DataFrame(records, columns=list(SHIFT_COLUMNS))


def test_words_about_shifts_that_the_graph_does_not_explain():
    both = table(regime=["A", "B"])
    assert in_words(both, 5, shifts_of()) == []
    assert in_words(both, 5, shifts_of(("A", "C"))) == [
        "1 shift is not explained by the graph (feedback, a batch, off target or a wrong edge): C in A"
    ]
    # One regime is another batch; what shifts elsewhere is listed.
    assert in_words(both, 9, shifts_of(*(("A", name) for name in "CDEFG"))) == [
        "most variables shift in the rows of A: is it another batch?"
    ]
    # All are.
    everywhere = shifts_of(*((regime, name) for regime in "AB" for name in "CDE"))
    assert in_words(table(regime=["A", "B"], suspects=[["B"], []]), 5, everywhere) == [BATCHES]


def test_batches_are_seen_before_the_fit():
    rng = np.random.default_rng(0)
    model = simulate.continuous("random", 6, rng, edge_probability=0.5)
    data = model.dataset(1000, 300, rng=rng)
    assert not are_batches(Shifts.of(data), data)
    moved = [
        Regime.of(it.condition, it.codes, it.reals + rng.normal(size=6).astype(np.float32))
        for it in data.interventional
    ]
    batches = InterventionalData(data.variables, [data.observational, *moved])
    assert are_batches(Shifts.of(batches), batches)


def test_the_command_line_says_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn(failed=1.0, seed=1).data.to_npz("data.npz")
    assert main(["describe", "data.npz"]) == 0
    sentence = "labels         no intervention had an effect: directions rest on observational rows alone"
    assert sentence in capsys.readouterr().out
    assert main(["fit", "data.npz", "--out", "out", *QUICK]) == 0
    assert capsys.readouterr().out.count("labels  no intervention had an effect") == 2  # before the work, and after it
    assert (Result.load("out").edge_probability < 0.9).all()
    assert main(["fit", "data.npz", "--out", "all", "--interventions", "perfect", *QUICK]) == 0
    assert "labels" not in capsys.readouterr().out.split("edges")[0]
    assert main(["fit", "data.npz", "--out", "bad", "--interventions", "often", *QUICK]) == 2
    error = capsys.readouterr().err
    assert error == "error: setting interventions must be one of auto, perfect, soft, got 'often'\n"


def test_a_fit_with_hits_goes_on_where_it_was_killed(tmp_path, monkeypatch):
    """The second search, for the targets that were found, is resumed like the first."""
    monkeypatch.chdir(tmp_path)
    drawn(off_target=0.5).data.to_npz("data.npz")
    command = ["fit", "data.npz", "--off-target", *QUICK]
    assert main([*command, "--out", "plain"]) == 0
    from enco.search import stage

    calls, examined = [], stage._Workers._examined

    def stop(self, *arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return examined(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(stage._Workers, "_examined", stop)
        code = main([*command, "--out", "out"])
    assert code == 130
    assert main([*command, "--out", "out", "--resume"]) == 0
    graphs = [json.loads((tmp_path / name / "graph.json").read_text()) for name in ("plain", "out")]
    for graph in graphs:
        del graph["seconds"]
    assert graphs[0] == graphs[1]
