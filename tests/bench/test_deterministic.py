"""Deterministic and unfaithful problems: sizes, settings and mistakes."""

import pytest

from enco.bench.deterministic import DETERMINISTIC, DeterministicProblem
from enco.bench.jobs import run_job
from enco.bench.spec import load_spec
from enco.errors import SettingsError


def test_every_model_has_its_size_and_sparsity():
    jobs = {planned.cell["example"]: planned.job for planned in load_spec("deterministic").plan(graphs=1)}
    assert jobs.keys() == DETERMINISTIC.keys()
    sparsity = {name: job.settings.get("sparsity") for name, job in jobs.items()}
    assert sparsity["random functions"] == 0.02
    assert sparsity["noisy xor 0.45"] == sparsity["fully connected"] == 1e-4
    assert sparsity["chain of copies"] is None
    for job in jobs.values():
        assert len(job.problem.model().observed_names) == job.problem.variables == job.problem.interventions


def test_an_unknown_example_is_refused():
    with pytest.raises(SettingsError, match="unknown example 'x'; choose from random functions, cancelling paths"):
        DeterministicProblem(example="x", seed=0)


def test_a_chain_of_copies_is_recovered():
    [planned] = load_spec("deterministic").plan(
        graphs=1, first_seed=3, methods=["enco"], cells={"example": ["chain of copies"]}
    )
    assert run_job(planned.job, n_jobs=1)["shd"] == 0
