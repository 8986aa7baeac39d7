"""Benchmarks of confounders and of unfaithful graphs, on tiny problems."""

import json

import pytest

from enco.bench.deterministic import DETERMINISTIC, DeterministicProblem, unfaithful_problems
from enco.bench.latents import LatentProblem
from enco.bench.tables import latents_table
from enco.cli import main
from enco.errors import SettingsError
from enco.settings import Settings

QUICK = [
    word
    for setting in ("max_epochs=1", "first_fit_steps=20", "hidden=8", "refine_steps=20", "orientation_epochs=0")
    for word in ("--set", setting)
]
LATENTS = ["bench", "latents", "--variables", "5", "--latents", "2", "--rows", "200", "--graphs", "2", "--threads", "1"]


def test_latents_records_confounders_and_draws_scores(tmp_path, capsys):
    out, figure = tmp_path / "records.jsonl", tmp_path / "scores.png"
    command = [*LATENTS, "--interventional-rows", "30,20", *QUICK, "--out", str(out), "--figure", str(figure)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "| 200 + 30 | 2 |" in printed
    assert "| 200 + 20 | 2 |" in printed
    assert figure.read_bytes().startswith(b"\x89PNG")
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(record["interventional_rows"], record["seed"]) for record in records] == [
        (30, 1000),
        (30, 1001),
        (20, 1000),
        (20, 1001),
    ]
    for record in records:
        assert record["settings"]["latent"] is True
        assert record["true_confounders"] == 2
        assert 0 <= record["confounder_recall"] <= 100
        assert 0 <= record["lc_precision"] <= 100
    assert main(command) == 2  # the figure is there already
    assert "exists already" in capsys.readouterr().err


def test_numbers_of_rows_are_checked(capsys):
    assert main([*LATENTS, "--interventional-rows", "many"]) == 2
    assert "rows must be whole numbers, separated by commas, got 'many'" in capsys.readouterr().err


def test_the_paper_stands_beside_its_own_setting_only():
    record = {
        "rows": 5000, "interventional_rows": 200, "shd": 1, "missing": 1, "extra": 0, "epochs": 3, "seconds": 1.0,
        "confounder_recall": 80.0, "confounder_precision": 100.0, "lc_recall": 20.0, "lc_precision": 100.0,
        "threads": 1, "machine": {"cpu": "x"}, "peak_memory_mb": None, "code": "",
    }  # fmt: skip
    assert "| 5,000 + 200 | 1 | 4.12 ± 1.86 | **1.00** | 92.0 ± 11.5 |" in latents_table(
        LatentProblem(seed=1), [record]
    )
    assert "4.12" not in latents_table(LatentProblem(seed=1, latents=3), [record])


def test_latent_problems_have_the_confounders_they_say():
    problem = LatentProblem(seed=3, variables=8, interventions=8, latents=3, rows=50, interventional_rows=5)
    data, truth = problem.draw()
    pairs = problem.model().confounded_pairs
    assert data.n_variables == 8
    assert len(pairs) == 3
    assert not any(truth[one, other] or truth[other, one] for one, other in pairs)


def test_unfaithful_problems_have_the_sparsity_of_the_paper():
    problems = unfaithful_problems(3, 50)
    assert [problem.seed for problem in problems if problem.example == "random functions"] == [50, 51, 52]
    assert {problem.example for problem in problems} == DETERMINISTIC.keys()
    by_name = {problem.example: problem.adapted(Settings()).sparsity for problem in problems}
    assert by_name["random functions"] == 0.02
    assert by_name["noisy xor 0.45"] == 1e-4
    assert by_name["chain of copies"] == Settings.sparsity


def test_an_unknown_example_is_refused():
    with pytest.raises(SettingsError, match="unknown example 'x'; choose from random functions, cancelling paths"):
        DeterministicProblem(example="x", seed=0)


@pytest.mark.parametrize("name", ["cancelling paths", "chain of copies", "noisy xor 0.2"])
def test_small_unfaithful_models_are_recovered(name):
    from enco.bench.jobs import Job, run_jobs
    from enco.bench.records import Store

    problem = DeterministicProblem(example=name, seed=3, rows=20_000, interventional_rows=5000)
    (record,) = run_jobs([Job(problem, problem.adapted(Settings()))], Store(), n_jobs=1)
    assert record["shd"] == 0
