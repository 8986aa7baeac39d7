"""Benchmarks on tiny problems: what is recorded, skipped, retried and refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from enco.baselines import METHODS, Method
from enco.bench import runner
from enco.bench.jobs import Job, run_job
from enco.bench.learning_curves import measure_curve
from enco.bench.plugins import load_plugins
from enco.bench.problem import Problem
from enco.bench.records import Store, open_folder
from enco.bench.runner import run_jobs, to_do
from enco.cli import main
from enco.errors import EncoError, FileFormatError, SettingsError
from enco.fitting.loop import Discovery
from enco.settings import Settings

TINY = Problem(structure="random", seed=3, variables=4, rows=200, interventional_rows=20, interventions=4)
FAST = {"max_epochs": 3, "first_fit_steps": 50, "fit_steps": 20, "graph_steps": 10}

TOY = """
import os
import signal
import time
from dataclasses import dataclass

import numpy as np

from enco.baselines import Method, MethodSettings, register
from enco.result import Result


@dataclass(frozen=True, kw_only=True)
class ToySettings(MethodSettings):
    fate: str = "fine"


class Toy(Method):
    name = "toy"
    settings_type = ToySettings

    def learn(self, data, settings, *, seed, n_jobs):
        if settings.fate == "crash":
            raise ZeroDivisionError("by design")
        if settings.fate == "exit":
            os._exit(3)
        if settings.fate == "sleep":
            time.sleep(60)
        if settings.fate.endswith(".marker") and not os.path.exists(settings.fate):
            open(settings.fate, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        print("something that must not disturb anybody")
        return Result.from_graph(np.zeros((data.n_variables, data.n_variables)), data)


register(Toy())
"""

SPEC = """
title = "Toys"
kind = "categorical"
graphs = 2
columns = "structure"
plugins = ["toy.py"]

[problem]
variables = 4
rows = 50
interventional_rows = 5

[axes]
structure = ["chain", "full"]

[methods.toy]
label = "Toy"

[[paper]]
method = "Magic"
ours = "toy"
values = ["0.0 ± 0.0", "7.0"]
"""


@pytest.fixture
def toy(tmp_path):
    """A method of one's own, in a file beside a spec of one's own."""
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "toys.toml").write_text(SPEC)
    yield tmp_path
    METHODS.pop("toy", None)


def in_this_process(job, threads, time_limit, plugins):
    return run_job(job, n_jobs=threads)


def forbid(*arguments):
    raise AssertionError("a finished job was done again")


@pytest.mark.parametrize(
    "command", ["list", "run", "table", "plot", "docs", "speed", "gradient-variance", "confounder-scores"]
)
def test_every_command_has_an_example(capsys, command):
    assert main(["bench", command, "--help"]) == 0
    assert f"\n    enco bench {command}" in capsys.readouterr().out


def test_without_a_command_the_help_is_shown(capsys):
    assert main(["bench"]) == 0
    assert "enco bench run table1" in capsys.readouterr().out


def test_a_method_of_ones_own_runs_once(toy, capsys, monkeypatch):
    """From a class and one line to a table, through processes of their own; the second time nothing is left to do."""
    command = ["bench", "run", str(toy / "toys.toml"), "--out", str(toy / "records"), "--threads", "1"]
    assert main(command) == 0
    first = capsys.readouterr()
    lines = (toy / "records" / "toys.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [(record["structure"], record["seed"]) for record in records] == [
        ("chain", 5000), ("full", 5000), ("chain", 5001), ("full", 5001)]  # fmt: skip
    for record in records:
        assert (record["method"], record["status"], record["threads"]) == ("toy", "done", 1)
        assert (
            record["shd"] == record["missing"] == record["true_edges"] == {"chain": 3, "full": 6}[record["structure"]]
        )
        assert (record["f1"], record["extra"], record["settings"]) == (0.0, 0, {"method": "toy", "fate": "fine"})
        assert record["peak_memory_mb"] is None or record["peak_memory_mb"] > 10
        assert {"numba", "numpy", "enco", "python"} <= set(record["versions"])
        assert record["machine"]["cpu"]
    assert "4 jobs" in first.err
    assert "4 to do" in first.err
    assert "| Toy, ours | 2 | 3.00 ± 0.00 | **6.00 ± 0.00** |" in first.out
    assert "Clearly worse than published (by more than two standard errors): Toy, chain: SHD 3.00" in first.out

    monkeypatch.setattr(runner, "supervise", forbid)
    assert main(command) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert "holds 4 with results; 0 to do" in again.err
    assert (toy / "records" / "toys.jsonl").read_text().splitlines() == lines


def test_whatever_happens_to_a_job_is_recorded_and_can_be_retried(toy):
    load_plugins([toy / "toy.py"])
    marker = str(toy / "killed once.marker")
    crash, fine, kill, sleep, end = (
        Job(problem=TINY, method="toy", settings={"fate": fate}) for fate in ("crash", "fine", marker, "sleep", "exit")
    )
    store = open_folder(toy / "records", "fates")
    options = {"threads": 1, "time_limit": 0.5, "plugins": [toy / "toy.py"]}
    records = run_jobs([crash, fine, kill, sleep], store, **options)
    assert [record["status"] for record in records] == ["failed", "done", "killed", "time limit"]
    assert records[0]["error"].startswith("ZeroDivisionError: by design (toy.py, line ")
    assert "signal 9" in records[2]["error"]
    assert records[3]["error"] == "took longer than 0.5 s"
    assert records[3]["time_limit"] == 0.5

    again = open_folder(toy / "records", "fates")
    assert to_do([crash, fine, kill, sleep], again) == []
    assert to_do([crash, fine, kill, sleep], again, retry=True) == [crash, kill, sleep]
    retried, ended = run_jobs([kill, end], again, **options)
    assert retried["status"] == "done"
    assert (ended["status"], ended["error"][:28]) == ("failed", "the process ended with code ")
    assert to_do([crash, fine, kill, sleep], open_folder(toy / "records", "fates"), retry=True) == [crash, sleep]


def test_a_failure_is_reported_and_makes_exit_code_1(toy, capsys, monkeypatch):
    failure = {"status": "killed", "error": "the process was ended by signal 9"}

    def fail(job, threads, time_limit, plugins):
        return {**job.describe(), **failure} if job.problem.structure == "full" else run_job(job, n_jobs=1)

    monkeypatch.setattr(runner, "supervise", fail)
    command = ["bench", "run", str(toy / "toys.toml"), "--out", str(toy / "records"), "--jobs", "2"]
    assert main(command) == 1
    first = capsys.readouterr()
    assert "KILLED: the process was ended by signal 9" in first.err
    assert "Without a result: 2 of toy (killed: the process was ended by signal 9)" in first.out
    assert main(command) == 1
    assert "2 without a result (--retry tries again); 0 to do" in capsys.readouterr().err
    monkeypatch.setattr(runner, "supervise", in_this_process)
    assert main([*command, "--retry"]) == 0
    assert "Without a result" not in capsys.readouterr().out


def test_ctrl_c_keeps_what_is_done(toy, capsys, monkeypatch):
    def interrupt(job, *arguments):
        if job.problem.seed == 5001:
            raise KeyboardInterrupt
        return in_this_process(job, *arguments)

    monkeypatch.setattr(runner, "supervise", interrupt)
    command = ["bench", "run", str(toy / "toys.toml"), "--out", str(toy / "records")]
    assert main(command) == 130
    assert "the same command continues" in capsys.readouterr().err
    assert len(open_folder(toy / "records", "toys").records) == 2


def test_parts_of_a_spec(toy, monkeypatch):
    monkeypatch.setattr(runner, "supervise", in_this_process)
    command = ["bench", "run", str(toy / "toys.toml"), "--out", str(toy / "records")]
    part = ["--cells", "structure=full", "--graphs", "1", "--first-seed", "7", "--methods", "toy"]
    assert main([*command, *part]) == 0
    [record] = open_folder(toy / "records", "toys").records.values()
    assert (record["structure"], record["seed"]) == ("full", 7)


def test_records_of_other_code_can_be_renewed():
    job = Job(problem=TINY, method="enco")
    store = Store()
    store.add({"key": job.key, "code": "older", "finished": "2000"})
    assert to_do([job], store) == []
    assert to_do([job], store, renew=True) == [job]


def test_the_key_knows_everything_but_threads():
    job = Job(problem=TINY, method="enco", settings=FAST)
    others = [
        Job(problem=TINY, method="enco-reinforce", settings=FAST),
        Job(problem=TINY, method="enco", settings={**FAST, "sparsity": 0.01}),
        Job(problem=TINY, method="enco", settings=FAST, task="learning-curve"),
        Job(problem=Problem(**{**TINY.__dict__, "seed": 4}), method="enco", settings=FAST),
        Job(problem=Problem(**{**TINY.__dict__, "latents": 1}), method="enco", settings=FAST),
    ]
    assert len({each.key for each in (job, *others)}) == 6
    assert Job.from_content(json.loads(json.dumps(job.content))).key == job.key
    one, two = (run_job(job, n_jobs=threads) for threads in (1, 2))
    assert (one["key"], one["shd"], one["edges"]) == (two["key"], two["shd"], two["edges"])


def test_only_a_line_that_was_cut_off_is_redone(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "supervise", in_this_process)
    path = tmp_path / "records.jsonl"
    jobs = [Job(problem=Problem(**{**TINY.__dict__, "seed": seed}), method="enco", settings=FAST) for seed in (3, 4)]
    run_jobs(jobs, Store(path), threads=1)
    path.write_bytes(path.read_bytes()[:-300])
    store = Store(path)
    assert to_do(jobs, store) == [jobs[1]]
    run_jobs([jobs[1]], store, threads=1)
    assert set(Store(path).records) == {job.key for job in jobs}


def test_the_newest_results_count(tmp_path):
    done, killed = '{"key": "k", "finished": "2026-02", "shd": 1}', '{"key": "k", "status": "killed"}'
    (tmp_path / "a.jsonl").write_text(f"{done}\n{killed}\n")
    (tmp_path / "b.jsonl").write_text('{"key": "k", "finished": "2026-01", "shd": 2}\n')
    assert open_folder(tmp_path, "c").records["k"]["shd"] == 1


def test_learning_curves_judge_every_epoch_and_change_nothing():
    settings = Settings(**FAST)
    curve = measure_curve(TINY, settings, n_jobs=1)
    data, truth = TINY.draw()
    discovery = Discovery(data, settings=settings, seed=TINY.seed, n_jobs=1)
    discovery.run()
    assert [point["epoch"] for point in curve] == list(range(1, discovery.epoch + 1))
    result = METHODS["enco"].fit(data, seed=TINY.seed, n_jobs=1, **FAST)
    right = (result.adjacency_raw.astype(bool) & truth).sum()
    assert curve[-1]["recall"] == right / truth.sum()


def test_confounders_are_judged_when_there_are_some(monkeypatch):
    problem = Problem(structure="random", seed=1, variables=8, interventions=8, rows=50, latents=2)
    data, _ = problem.draw()
    first, second = (tuple(map(data.names.index, pair)) for pair in problem.confounded())
    found, high = np.zeros((8, 8)), np.zeros((8, 8))
    for matrix, pairs in ((found, [first]), (high, [first, second, (0, 1), (0, 2), (0, 3), (0, 4)])):
        for one, other in pairs:
            matrix[one, other] = matrix[other, one] = 0.9
    settings = {**FAST, "latent": True}

    class Known(Method):
        name = "known"
        settings_type = Settings

        def learn(self, data, settings, *, seed, n_jobs):
            result = METHODS["enco"].fit(data, seed=0, n_jobs=1, **FAST)
            return replace(result, confounder_scores=found, lc_scores=high)

    monkeypatch.setitem(METHODS, "known", Known())
    record = run_job(Job(problem=problem, method="known", settings=settings), n_jobs=1)
    assert (record["confounder_recall"], record["confounder_precision"]) == (0.5, 1.0)
    wrong = len({(0, 1), (0, 2), (0, 3), (0, 4)} - {first, second})
    assert (record["lc_recall"], record["lc_precision"]) == (1.0, 2 / (2 + wrong))
    assert "confounder_recall" not in run_job(Job(problem=TINY, method="enco", settings=settings), n_jobs=1)


def test_scores_of_confounded_pairs_are_drawn(tmp_path):
    out = tmp_path / "scores.png"
    settings = [part for name, value in FAST.items() for part in ("--set", f"{name}={value}")]
    size = ["--variables", "4", "--latents", "1", "--rows", "100", "--interventional-rows", "10", "--threads", "1"]
    assert main(["bench", "confounder-scores", "--out", str(out), *size, *settings]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("text", "complaint"), [("1 / 0", "ZeroDivisionError"), (None, "there is no such file")])
def test_plugins_that_do_not_load(tmp_path, text, complaint):
    if text is not None:
        (tmp_path / "bad.py").write_text(text)
    with pytest.raises(EncoError, match=complaint):
        load_plugins([tmp_path / "bad.py"])


@pytest.mark.parametrize("content", [b"perturbation,X1\n,3\n", b"\x89PNG\r\n\x1a\n\xff", b'{"shd": 0}\n'])
def test_a_file_of_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="choose another --out"):
        Store(path)
    assert path.read_bytes() == content


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
        ["run"],
        ["run", "table2"],
        ["run", "nowhere.toml"],
        ["run", "table1", "--graphs", "0"],
        ["run", "table1", "--methods", "magic"],
        ["run", "table1", "--cells", "structure"],
        ["run", "table1", "--cells", "structure=star"],
        ["run", "table1", "--cells", "colour=red"],
        ["run", "table1", "--jobs", "0"],
        ["run", "table1", "--time-limit", "0"],
        ["run", "table1", "--plugin", "nowhere.py"],
        ["table", "table1"],
        ["table", "table1", "--results", "nowhere"],
        ["plot", "table1", "--out", "figure.pdf"],
        ["plot", "table1"],
        ["docs", "--results", "nowhere"],
        ["speed", "--structure", "star"],
        ["speed", "--threads", "0"],
        ["gradient-variance", "--out", "figure.pdf"],
        ["gradient-variance", "--out", "nowhere/figure.png"],
        ["gradient-variance", "--repeats", "1"],
        ["confounder-scores", "--out", "figure.pdf"],
        ["confounder-scores", "--out", "figure.png", "--latents", "0"],
        ["fly"],
    ],
)
def test_mistakes_exit_with_2_before_any_work(tmp_path, capsys, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "supervise", forbid)
    monkeypatch.setattr(Discovery, "__init__", forbid)
    assert main(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
