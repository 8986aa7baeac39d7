"""Permuted labels: which rows they stay with, and what a fit finds then."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from enco import simulate
from enco.cli import main
from enco.data import InterventionalData
from enco.errors import DataError, SettingsError
from enco.knowledge import Knowledge
from enco.null_control import THRESHOLDS, null_control, permuted
from enco.result import Result
from enco.result.example import small_result
from enco.settings import Settings
from enco.simulate.experiments import experiment

QUICK = Settings(max_epochs=6, refine_steps=800)


def drawn(**options):
    rng = np.random.default_rng(4)
    model = simulate.categorical("random", 6, rng, categories=4, edge_probability=0.5)
    return experiment(model, 1500, 150, rng, **options).data


def rows_of(regimes):
    return Counter(row.tobytes() for regime in regimes for row in regime.codes)


def test_rows_stay_and_labels_move():
    data = drawn()
    mixed = permuted(data, np.random.default_rng(0))
    assert rows_of(mixed.regimes) == rows_of(data.regimes)
    assert [regime.condition for regime in mixed.regimes] == [regime.condition for regime in data.regimes]
    assert rows_of(mixed.regimes[:1]) != rows_of(data.regimes[:1])


def test_labels_move_within_a_context_only():
    data = drawn(batches=3, batch_offset=0.5, context=True)
    mixed = permuted(data, np.random.default_rng(0))
    slot = data.slots[data.position("batch")]
    for before, after in zip(data.regimes, mixed.regimes, strict=True):
        assert Counter(before.codes[:, slot].tolist()) == Counter(after.codes[:, slot].tolist())


def test_directions_that_rest_on_labels_are_not_found_again():
    control = null_control(drawn(), 2, settings=QUICK, n_jobs=2)
    table = control.table().set_index("probability")
    assert tuple(table.index) == THRESHOLDS
    assert table.loc[0.9, "edges"] >= 5
    assert table.loc[0.9, "by_chance"] <= 1
    assert (table["beyond_chance"] == (table["edges"] - table["by_chance"]).clip(lower=0)).all()
    again = null_control(drawn(), 2, settings=QUICK, n_jobs=1, result=control.result)
    assert again.result is control.result
    assert [a.adjacency.tolist() for a in again.permuted] == [a.adjacency.tolist() for a in control.permuted]


@pytest.mark.parametrize("number", [0, -1, 1.5, True, None])
def test_odd_numbers(number):
    with pytest.raises(SettingsError, match="the number of permutations must be a whole number from 1"):
        null_control(drawn(), number)


def test_nothing_to_permute():
    x = np.array([[0, 1], [1, 0], [1, 1]])
    with pytest.raises(DataError, match="one regime: there are no labels to permute"):
        null_control(InterventionalData.from_environments([x], [None]), 1)
    with pytest.raises(SettingsError, match="permuted in 5 other ways only"):
        null_control(InterventionalData.from_environments([x[:2], x[:2]], [None, "X1"]), 6)


def test_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn().to_npz("data.npz")
    quick = ["--set", "max_epochs=2", "--set", "refine_steps=100"]
    assert main(["check", "data.npz", "--null", "1", *quick]) == 0
    assert "0.9 and more" in capsys.readouterr().out
    assert main(["check", "data.npz", "--null", "1", "--json", *quick]) == 0
    assert len(json.loads(capsys.readouterr().out)["thresholds"]) == len(THRESHOLDS)
    for wrong in (
        ["data.npz", "--null", "0"],
        ["asia", "--null", "2"],
        ["--result", "out", "--null", "2"],
        ["data.npz", "--result", "nowhere", "--null", "2"],
    ):
        assert main(["check", *wrong]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_table_goes_into_a_result(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn().to_npz("data.npz")
    quick = ["--set", "max_epochs=2", "--set", "refine_steps=100"]
    fit = ["fit", "data.npz", "--out", "out", "--report", *quick]
    assert main(fit) == 0
    graph = Result.load("out")
    assert graph.null_control is None
    assert main(["check", "data.npz", "--null", "1", "--result", "out"]) == 0
    assert Result.load("out").null_control["permutations"].tolist() == [1] * len(THRESHOLDS)
    assert Path("out/report.html").exists()
    capsys.readouterr()
    assert main([*fit, "--resume", "--null", "2"]) == 0
    assert "2 permutations" in capsys.readouterr().out
    once = Result.load("out")
    assert once.null_control["permutations"].tolist() == [2] * len(THRESHOLDS)
    assert (once.adjacency == graph.adjacency).all()
    assert main([*fit, "--force", "--null", "2", "--bootstrap", "1"]) == 0
    both = Result.load("out")
    pd.testing.assert_frame_equal(both.null_control, once.null_control)
    assert both.frequency is not None
    assert main([*fit, "--resume", "--null", "1"]) == 0  # more are there already
    assert "there is nothing to resume" in capsys.readouterr().out
    assert main(["check", "data.npz", "--null", "1", "--result", "out", "--set", "sparsity=0.1"]) == 2


def test_a_result_of_other_variables_is_refused():
    with pytest.raises(DataError, match="different variables"):
        null_control(drawn(), 1, result=small_result())


def test_permuted_fits_of_a_result_know_what_the_fit_knew(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn().to_npz("data.npz")
    Path("known.toml").write_text('forbidden = [["X1", "X2"]]')
    quick = ["--set", "max_epochs=2", "--set", "refine_steps=100"]
    assert main(["fit", "data.npz", "--out", "out", "--knowledge", "known.toml", "--seed", "3", *quick]) == 0
    given = {}

    def spied(*arguments, **options):
        given.update(options)
        return null_control(*arguments, **options)

    monkeypatch.setattr("enco.null_control.null_control", spied)
    assert main(["check", "data.npz", "--null", "1", "--result", "out"]) == 0
    assert given["knowledge"] == Knowledge(forbidden=[("X1", "X2")])
    assert (given["settings"].max_epochs, given["seed"]) == (2, 3)
