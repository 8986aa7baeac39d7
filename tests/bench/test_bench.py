"""Benchmarks on tiny problems: what they record, skip, count and print."""

import json

import numpy as np
import pytest

from enco.bench import jobs as jobs_module
from enco.bench.jobs import Job, run_jobs
from enco.bench.machine import code_fingerprint
from enco.bench.paper import PAPER_STRUCTURES, paper_table
from enco.bench.problem import Problem
from enco.bench.records import Store
from enco.bench.tables import structures_table
from enco.cli import main
from enco.errors import FileFormatError, SettingsError
from enco.fitting.loop import Discovery
from enco.settings import Settings

QUICK = ["--set", "max_epochs=3", "--set", "first_fit_steps=50", "--set", "fit_steps=20", "--set", "graph_steps=10"]
SMALL = ["--variables", "4", "--rows", "200", "--threads", "1", *QUICK]
STRUCTURES = ["bench", "structures", "--graphs", "2", "--structures", "chain", "--interventional-rows", "20", *SMALL]
TINY = Problem(structure="random", seed=3, variables=4, rows=200, interventional_rows=20, interventions=4)
FAST = Settings(max_epochs=3, first_fit_steps=50, fit_steps=20, graph_steps=10)


def forbid(*arguments):
    raise AssertionError("a finished job was done again")


def test_list_names_every_benchmark(capsys):
    assert main(["bench", "list"]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()] == [
        "structures",
        "continuous",
        "mixed",
        "latents",
        "deterministic",
        "speed",
        "gradient-variance",
    ]


@pytest.mark.parametrize(
    "command",
    ["list", "structures", "continuous", "mixed", "latents", "deterministic", "speed", "gradient-variance"],
)
def test_every_command_has_an_example(capsys, command):
    assert main(["bench", command, "--help"]) == 0
    assert f"\n    enco bench {command}" in capsys.readouterr().out


def test_without_a_command_the_help_is_shown(capsys):
    assert main(["bench"]) == 0
    assert "enco bench structures --out structures.jsonl" in capsys.readouterr().out


def test_structures_records_and_resumes(tmp_path, capsys, monkeypatch):
    out = tmp_path / "records.jsonl"
    assert main([*STRUCTURES, "--out", str(out)]) == 0
    first = capsys.readouterr()
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(record["structure"], record["seed"]) for record in records] == [("chain", 1000), ("chain", 1001)]
    for record in records:
        assert record["settings"]["max_epochs"] == 3
        assert record["true_edges"] == 3
        assert record["edges"] == record["true_edges"] - record["missing"] + record["extra"]
        assert record["shd"] <= record["missing"] + record["extra"]
        assert record["epochs"] <= 3
        assert record["seconds"] > 0
        assert record["peak_memory_mb"] is None or record["peak_memory_mb"] > 10
        assert {"numba", "numpy", "enco", "python"} <= set(record["versions"])
        assert record["machine"]["cpu"]
    assert "compilation" in first.err
    assert first.err.count(" epochs ") == 2

    monkeypatch.setattr(jobs_module, "_run", forbid)
    before = out.read_bytes()
    assert main([*STRUCTURES, "--out", str(out)]) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert f"{out} holds 2 of 2 graphs already" in again.err
    assert "compilation" not in again.err
    assert out.read_bytes() == before


def test_other_settings_and_more_graphs_are_new_jobs(tmp_path):
    out = tmp_path / "records.jsonl"
    for extra in ([], ["--graphs", "3"], ["--set", "sparsity=0.01"], ["--interventions", "2"], ["--threads", "2"]):
        assert main([*STRUCTURES, *extra, "--out", str(out)]) == 0
    keys = [json.loads(line)["key"] for line in out.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 2 + 1 + 2 + 2  # threads change no result


def test_only_a_line_that_was_cut_off_is_redone(tmp_path):
    path = tmp_path / "records.jsonl"
    jobs = [Job(TINY, FAST), Job(Problem(**{**TINY.__dict__, "seed": 4}), FAST)]
    whole = run_jobs(jobs, Store(path), n_jobs=1)
    path.write_bytes(path.read_bytes()[:-300])
    started = []
    records = run_jobs(jobs, Store(path), n_jobs=1, on_start=lambda job: started.append(job.problem.seed))
    assert started == [4]
    assert [record["shd"] for record in records] == [record["shd"] for record in whole]
    assert set(Store(path).records) == {job.key for job in jobs}


@pytest.mark.parametrize("content", [b"perturbation,X1\n,3\n", b"\x89PNG\r\n\x1a\n\xff", b'{"shd": 0}\n'])
def test_a_file_of_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="choose another --out"):
        Store(path)
    assert path.read_bytes() == content


def test_ctrl_c_keeps_what_is_done(tmp_path, capsys, monkeypatch):
    out = tmp_path / "records.jsonl"
    run = jobs_module._run

    def interrupt_second(job, *arguments):
        if job.problem.seed == 1001:
            raise KeyboardInterrupt
        return run(job, *arguments)

    monkeypatch.setattr(jobs_module, "_run", interrupt_second)
    assert main([*STRUCTURES, "--out", str(out)]) == 130
    assert "the same command continues" in capsys.readouterr().err
    assert len(Store(out).records) == 1


def fake(structure, seed, **scores):
    same = {"missing": 0, "extra": 0, "epochs": 7, "seconds": 5.0, "threads": 2, "peak_memory_mb": 400.0}
    made = {"machine": {"cpu": "a processor"}, "code": code_fingerprint()}
    return {"structure": structure, "seed": seed, **same, **made, **scores}


def test_the_table_stands_beside_the_papers_numbers():
    records = [
        fake("random", 1, shd_raw=3, shd=0, sid=2),
        fake("random", 2, shd_raw=5, shd=1, sid=4),
        fake("regular", 1, shd_raw=1, shd=1, sid=None),
    ]
    table = structures_table(Problem(structure="random", seed=1), records)
    line = next(line for line in table.splitlines() if line.startswith("| random"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:8] == ["random", "2", "4.6 ± 1.9", "4.00 ± 1.41", "0.2 ± 0.5", "**0.50 ± 0.71**", "5.3 ± 11.8",
                         "3.0 ± 1.4"]  # fmt: skip
    assert "| regular | 1 | - | 1.00 | - | **1.00** | - | - |" in table
    assert "sample standard deviation" in table
    assert "Paper: Table 1, 25 graphs each." in table
    assert "other code" not in table


def test_the_table_tells_records_of_other_code():
    record = {**fake("random", 1, shd_raw=0, shd=0, sid=0), "code": "older"}
    assert "1 of 1 records were made by other code" in structures_table(Problem(structure="random", seed=1), [record])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [0.0, 0.0, 1.6, 5.3, 0.6, 0.2]),
        ({"rows": 1000, "interventional_rows": 20}, [2.0, 2.7, 22.9, 88.4, 4.1, 5.3]),
        ({"mechanism": "product"}, [0.0, 0.0, 0.8, 0.2, 0.3, 0.1]),
        ({"interventions": 4}, [20.4, 10.6, 13.9, 110.6, 19.8, 9.0]),
        ({"interventions": 10}, [8.5, 4.4, 5.6, 77.3, 9.8, 3.2]),
        ({"interventions": 20}, [0.3, 0.7, 3.4, 32.4, 1.7, 1.2]),
    ],
)
def test_the_paper_has_these_settings(changes, expected):
    table = paper_table(Problem(structure="random", seed=0, **changes))
    assert [float(table.acyclic[structure].split()[0]) for structure in PAPER_STRUCTURES] == expected
    assert set(table.enco) == set(PAPER_STRUCTURES)


def test_the_paper_in_the_data_limit_and_elsewhere():
    limit = paper_table(Problem(structure="full", seed=0, rows=100_000, interventional_rows=10_000))
    assert (limit.enco["full"], limit.acyclic) == ("0.3 ± 0.9", {})
    assert paper_table(TINY) is None


def test_problems_that_differ_in_interventions_share_the_rest():
    some = Problem(**{**TINY.__dict__, "interventions": 2})
    all_data, all_truth = TINY.draw()
    some_data, some_truth = some.draw()
    assert np.array_equal(all_truth, some_truth)
    assert np.array_equal(all_data.observational.codes, some_data.observational.codes)
    assert set(some.targets()) < set(TINY.targets())
    assert len(some_data.interventional) == 2


@pytest.mark.parametrize(
    "changes", [{"structure": "star"}, {"mechanism": "linear"}, {"interventions": 5}, {"rows": 1}, {"variables": 1}]
)
def test_impossible_problems(changes):
    with pytest.raises(SettingsError):
        Problem(**{**TINY.__dict__, **changes})


@pytest.mark.parametrize(
    "arguments",
    [
        ["structures", "--graphs", "0"],
        ["structures", "--structures", "star"],
        ["structures", "--mechanism", "linear"],
        ["structures", "--interventions", "26"],
        ["structures", "--set", "sparsity=much"],
        ["structures", "--set", "sparsity"],
        ["structures", "--out", "nowhere/records.jsonl"],
        ["structures", "--out", "."],
        ["structures", "--fast"],
        ["continuous", "--mechanisms", "linear,cubic"],
        ["continuous", "--edges-per-variable", "5"],
        ["continuous", "--interventions", "11"],
        ["continuous", "--density", "cauchy"],
        ["mixed", "--categories", "1"],
        ["mixed", "--categorical-share", "1.5"],
        ["speed", "--structure", "star"],
        ["speed", "--threads", "0"],
        ["gradient-variance", "--out", "figure.pdf"],
        ["gradient-variance", "--out", "nowhere/figure.png"],
        ["gradient-variance", "--repeats", "1"],
        ["fly"],
    ],
)
def test_mistakes_exit_with_2_before_any_work(tmp_path, capsys, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Discovery, "__init__", forbid)
    assert main(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
