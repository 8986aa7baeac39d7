"""Benchmarks of continuous and mixed graphs on tiny problems: what they draw, record and print."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from enco.bench import jobs as jobs_module
from enco.bench.continuous import CONTINUOUS_MECHANISMS, ContinuousProblem, MixedProblem
from enco.bench.jobs import Job
from enco.bench.machine import code_fingerprint
from enco.bench.published import published
from enco.bench.tables import continuous_table
from enco.cli import main
from enco.errors import SettingsError
from enco.settings import Settings

QUICK = ["--set", "max_epochs=3", "--set", "first_fit_steps=50", "--set", "fit_steps=20", "--set", "graph_steps=10"]
SMALL = ["--variables", "4", "--rows", "200", "--interventional-rows", "20", "--threads", "1", "--graphs", "1", *QUICK]
PAPER = ContinuousProblem(mechanism="linear", seed=1)
DENSE = replace(PAPER, variables=20, interventions=20, edges_per_variable=4.0)


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("continuous", "4 continuous variables, 1 edge per variable on average"),
        ("mixed", "4 variables, 2 of 10 categories and 2 continuous, 1 edge per variable on average"),
    ],
)
def test_records_and_resumes(tmp_path, capsys, monkeypatch, command, title):
    out = tmp_path / "records.jsonl"
    arguments = ["bench", command, "--mechanisms", "linear, nonadditive", *SMALL, "--out", str(out)]
    assert main(arguments) == 0
    first = capsys.readouterr()
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(record["mechanism"], record["seed"]) for record in records] == [("linear", 1000), ("nonadditive", 1000)]
    assert first.out.startswith(f"{title}, 200 observational rows, 20 for each of 4 interventions\n\n| mechanism |")
    assert "| linear | 1 |" in first.out
    assert "No published numbers are at hand" in first.out
    assert "Density of our continuous variables: gaussian." in first.out
    assert "nonadditive, seed 1000  SHD" in first.err

    monkeypatch.setattr(jobs_module, "_run", None)
    assert main(arguments) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert f"{out} holds 2 of 2 graphs already" in again.err


def test_the_density_is_a_setting(tmp_path):
    out = tmp_path / "records.jsonl"
    command = ["bench", "continuous", "--mechanisms", "linear", *SMALL, "--out", str(out)]
    assert main([*command, "--density", "gaussian"]) == 0
    [record] = [json.loads(line) for line in out.read_text().splitlines()]
    assert record["settings"]["density"] == "gaussian"


def test_kinds_of_problems_have_keys_of_their_own():
    both = MixedProblem(**asdict(PAPER))
    assert Job(PAPER, Settings()).key != Job(both, Settings()).key


@pytest.mark.parametrize("mechanism", CONTINUOUS_MECHANISMS)
def test_graphs_have_the_edges_asked_for(mechanism):
    counts = [replace(PAPER, mechanism=mechanism, seed=seed).model().observed_adjacency.sum() for seed in range(200)]
    assert np.mean(counts) == pytest.approx(10.0, abs=0.6)  # four standard errors
    assert replace(DENSE, seed=0).edge_probability == pytest.approx(8 / 19)


def test_the_mechanism_alone_changes_no_graph():
    graphs = [replace(PAPER, mechanism=mechanism).draw()[1] for mechanism in CONTINUOUS_MECHANISMS]
    assert all(np.array_equal(graph, graphs[0]) for graph in graphs)
    assert np.tril(graphs[0]).any()  # shuffled


def test_problems_that_differ_in_rows_share_the_model():
    few = replace(PAPER, rows=100, interventional_rows=100)
    assert np.array_equal(few.draw()[1], PAPER.draw()[1])
    assert few.targets() == PAPER.targets()
    assert len(few.draw()[0].interventional) == 10


@pytest.mark.parametrize("problem", [DENSE, MixedProblem(mechanism="additive", seed=1)])
def test_tiny_problems_are_of_the_same_kind(problem):
    tiny = problem.tiny()
    assert type(tiny) is type(problem)
    assert (tiny.variables, tiny.mechanism, tiny.draw()[0].n_rows) == (4, problem.mechanism, 280)


@pytest.mark.parametrize(
    "changes", [{"mechanism": "neural"}, {"edges_per_variable": 4.6}, {"edges_per_variable": -1.0}, {"rows": 1}]
)
def test_impossible_problems(changes):
    with pytest.raises(SettingsError):
        replace(PAPER, **changes)


@pytest.mark.parametrize(
    ("problem", "method", "expected"),
    [
        (PAPER, "ENCO-G", ["0.0 ± 0.0", "0.2 ± 0.4", "0.1 ± 0.3"]),
        (PAPER, "ENCO-DSF", ["0.3 ± 0.7", "1.4 ± 1.4", "1.2 ± 1.5"]),
        (PAPER, "DCDI-DSF", ["0.9 ± 1.3", "4.2 ± 5.6", "7.0 ± 10.7"]),
        (replace(PAPER, rows=500, interventional_rows=500), "ENCO-G", ["0.1 ± 0.3", "0.5 ± 0.7", "0.0 ± 0.0"]),
        (replace(PAPER, rows=100, interventional_rows=100), "ENCO-G", ["0.2 ± 0.4", "0.9 ± 1.1", "1.3 ± 0.8"]),
        (DENSE, "DCDI-DSF", ["16.6", "26.7", "11.8"]),
        (DENSE, "SDCD", ["18.8", "18.0", "14.9"]),
    ],
)
def test_published_numbers(problem, method, expected):
    assert [published(problem).shd[method][mechanism] for mechanism in CONTINUOUS_MECHANISMS] == expected


def test_nothing_is_published_for_other_settings():
    for changes in ({"rows": 500}, {"interventions": 5}, {"edges_per_variable": 2.0}):
        assert published(replace(PAPER, **changes)) is None
    assert published(MixedProblem(**asdict(PAPER))) is None


def test_the_table_stands_beside_published_numbers():
    same = {"missing": 0, "extra": 1, "epochs": 7, "seconds": 5.0, "threads": 2, "peak_memory_mb": None}
    made = {"machine": {"cpu": "a processor"}, "code": code_fingerprint(), "settings": {"density": "dsf"}, "sid": 2}
    records = [
        {"mechanism": "additive", "seed": seed, "shd_raw": 2, "shd": shd, **same, **made}
        for seed, shd in enumerate((0, 1))
    ]
    table = continuous_table(DENSE, records)
    assert "| mechanism | graphs | SHD, DCDI-DSF | SHD, SDCD | SHD, ours before ordering | SHD, ours | SID" in table
    assert "| additive | 2 | 26.7 | 18.0 | 2.00 ± 0.00 | **0.50 ± 0.71** | 2.0 ± 0.0 | 0.0 | 1.0 | 7.0 | 5.0" in table
    assert "4 edges per variable" in table
    assert "Density of our continuous variables: dsf." in table
    assert "Others: as published for 20 variables" in table
