"""Problems with experiments, and figures of what a fit says of them."""

import numpy as np
import pandas as pd
import pytest

from enco.baselines import METHODS, Method
from enco.bench.experiment_problem import ExperimentProblem
from enco.bench.experiment_scores import experiment_scores
from enco.bench.jobs import Job, run_job
from enco.bench.problem_kinds import make_problem, told_apart
from enco.bench.record_fields import wrong_field
from enco.bench.spec import load_spec
from enco.errors import SettingsError
from enco.result import Result
from enco.settings import Settings
from enco.simulate.experiments import Done

FAST = {"max_epochs": 2, "first_fit_steps": 20, "fit_steps": 10, "graph_steps": 5}
SMALL = {"variables": 5, "interventions": 5, "rows": 60, "interventional_rows": 20}


def problem(**changes):
    return ExperimentProblem(**({"values": "continuous", "seed": 3} | SMALL | changes))


def test_keys_of_old_problems_are_what_they_were():
    shares = {"hold": 0.5, "failed": 0.3, "off_target": 0.4}
    keys = [
        Job(problem=problem(values=values, **shares), method="enco").key for values in ("categorical", "continuous")
    ]
    assert keys == ["4228231ea26960dacd44", "94b920410c9a40e0b302"]


def test_the_truth_leaves_the_context_column_out():
    data, truth = problem(context=True, batches=2, batch_offset=0.5).draw()
    assert data.names[-1] == "batch"
    assert truth.shape == (5, 5)
    _, same = problem().draw()
    assert np.array_equal(truth, same)


def test_options_reach_the_experiment():
    changes = {"regimes": 7, "targets_per_regime": 2, "unknown": True, "failed": 0.3, "effect": "shift"}
    data, _ = problem(**changes).draw()
    done = problem(**changes).experiment().done
    assert [regime.label for regime in data.interventional] == [regime.target for regime in done]
    assert [len(regime.targets) for regime in done].count(0) == 2


@pytest.mark.parametrize(("edges", "least", "most"), [(0, 0, 0), (45, 45, 45), (20, 10, 30)])
def test_edges_are_as_many_as_expected(edges, least, most):
    _, truth = problem(variables=10, interventions=10, expected_edges=edges).draw()
    assert least <= truth.sum() <= most


def test_titles():
    assert problem().title == "5 continuous variables, 60 observational rows, 20 for each of 5 interventions"
    long = problem(
        mechanism="additive", expected_edges=8, regimes=1, targets_per_regime=2, unknown=True, effect="soft", batches=3,
        batch_offset=0.5, batch_scale=1.5, context=True,
    )  # fmt: skip
    assert long.title == (
        "5 continuous variables, 60 observational rows, 20 for each of 1 intervention, additive mechanisms, 8 edges on "
        "average, 2 targets each, unknown targets, soft interventions, 3 batches, offsets of 0.5 sd, noise times up to "
        "1.5, context given"
    )
    assert "a batch per regime" in problem(batch_offset=0.5).title


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"values": "mixed"}, "values must be categorical or continuous"),
        ({"mechanism": "neural"}, "unknown mechanism 'neural'; choose from linear, additive, nonadditive"),
        ({"values": "categorical", "mechanism": "linear"}, "choose from neural, product, deterministic"),
        ({"effect": "hard"}, "unknown effect 'hard'"),
        ({"hold": 2.0}, "hold must be between 0 and 1"),
        ({"targets_per_regime": 5}, "targets_per_regime must be below the number of variables, 5, got 5"),
        ({"regimes": 0}, "regimes must be at least 1"),
        ({"batches": -1}, "batches must be at least 0"),
        ({"batch_offset": -1.0}, "batch_offset must be"),
        ({"batch_scale": 0.0}, "batch_scale must be"),
        ({"expected_edges": 11}, "expected_edges must be between 0 and 10, the most that 5 variables can have, got 11"),
    ],
)
def test_bad_problems(changes, complaint):
    with pytest.raises(SettingsError, match=complaint) as caught:
        problem(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"unknown": 1}, "unknown of a problem must be true or false, got 1"),
        ({"context": "yes"}, "context of a problem must be true or false, got 'yes'"),
        ({"mechanism": 3}, "mechanism of a problem must be text, got 3"),
        ({"regimes": 1.5}, "regimes of a problem must be a whole number, got 1.5"),
        ({"batches": True}, "batches of a problem must be a whole number, got True"),
        ({"batch_offset": "much"}, "batch_offset of a problem must be a number, got 'much'"),
    ],
)
def test_bad_values_in_a_file(values, complaint):
    with pytest.raises(SettingsError, match=complaint):
        make_problem("experiment", {"values": "continuous", "seed": 0, **values})


def test_a_job_is_known_again_by_its_content():
    job = Job(problem=problem(unknown=True, regimes=3, mechanism="additive", context=True), method="enco")
    assert Job.from_content(job.content) == job
    assert told_apart(job.problem)["unknown"] is True


DONE = [
    Done("X1", 1.0, None, ("X1",), ("X1",)),
    Done("X2", 0.0, "X3", ("X2",), ("X3",)),
    Done("X3+X4", 0.5, "X1", ("X3", "X4"), ("X1", "X3", "X4")),
    Done("condition 4", 1.0, None, ("X2",), ("X2",)),
]


def told(rows, **more):
    """Return a result that says these things of the interventions."""
    data, _ = problem().draw()
    columns = ["regime", "target", "verdict", "suspects", "inferred"]
    table = pd.DataFrame([dict(zip(columns, row, strict=True)) for row in rows], columns=columns)
    table = table.assign(rows=20, share=1.0, evidence=9.0, p_value=0.5, effect_size=1.0)
    table["inferred"] = table["inferred"].astype(bool)
    result = Result.from_graph(np.zeros((5, 5)), data)
    for name, value in {"interventions": table, **more}.items():
        object.__setattr__(result, name, value)
    return result


def test_figures_of_interventions():
    result = told(
        [
            ("X1", "X1", "perfect", [], False),
            ("X2", "X2", "soft", ["X3", "X5"], False),
            ("X3+X4", "X3", "soft", [], False),
            ("X3+X4", "X4", "no effect", [], False),
            ("condition 4", "X2", "no effect", ["X1"], True),
        ]
    )
    scores = experiment_scores(result, DONE)
    assert scores["verdicts_right"] == 0.5
    assert (scores["hits_found"], scores["hits_right"]) == (0.5, 0.5)
    assert (scores["flagged"], scores["targets_auprc"]) == (0.0, None)


def test_a_batch_is_flagged():
    result = told([("X1", "X1", "perfect", ["X2", "X3", "X4", "X5"], False)])
    assert experiment_scores(result, DONE)["flagged"] == 1.0


def test_a_batch_among_the_reasons_of_a_shift_is_no_flag():
    shifts = pd.DataFrame([["X1", "X2", 0.001, 0.5]], columns=["regime", "variable", "p_value", "size"])
    result = told([("X1", "X1", "perfect", [], False)], shifts=shifts)
    assert experiment_scores(result, DONE)["flagged"] == 0.0


def test_probabilities_of_targets_are_judged_over_all_regimes():
    regimes, names = [it.target for it in DONE], [f"X{k}" for k in range(1, 6)]
    sure = pd.DataFrame([[float(name in it.targets) for name in names] for it in DONE], index=regimes, columns=names)
    assert experiment_scores(told([], target_probability=sure), DONE)["targets_auprc"] == 1.0
    clueless = experiment_scores(told([], target_probability=sure * 0.0), DONE)
    assert clueless["targets_auprc"] == pytest.approx(6 / 20)


def test_without_a_table_there_are_no_figures():
    data, _ = problem().draw()
    scores = experiment_scores(Result.from_graph(np.zeros((5, 5)), data), DONE)
    assert set(scores.values()) == {None}


def test_records_have_the_figures():
    record = run_job(Job(problem=problem(failed=0.4), method="enco", settings=FAST), n_jobs=1)
    assert wrong_field(record) is None
    assert 0 <= record["verdicts_right"] <= 1
    assert 0 <= record["edge_auprc"] <= 1
    assert 0 <= record["confident_wrong"] <= record["confident"] <= 20
    assert record["flagged"] in (0.0, 1.0)


def test_a_context_column_in_the_graph_of_a_method_does_not_count(monkeypatch):
    class Everything(Method):
        name = "everything"
        settings_type = Settings

        def learn(self, data, settings, *, seed, n_jobs):
            graph = np.triu(np.ones((data.n_variables, data.n_variables)), k=1)
            return Result.from_graph(graph, data)

    monkeypatch.setitem(METHODS, "everything", Everything())
    chosen = problem(context=True, batch_offset=0.5)
    record = run_job(Job(problem=chosen, method="everything"), n_jobs=1)
    _, truth = chosen.draw()
    assert record["edges"] == 10
    assert record["missing"] + 10 - record["extra"] == truth.sum()


@pytest.mark.parametrize("name", ["batch", "imperfect", "unknown-targets"])
def test_all_cells_of_the_specs_can_be_drawn(name):
    for planned in load_spec(name).plan(graphs=1, methods=["enco"]):
        tiny = planned.job.problem.tiny()
        data, truth = tiny.draw()
        assert truth.shape == (4, 4)
        assert data.is_context.sum() == tiny.context


def test_soft_interventions_share_the_rows_evenly():
    for planned in load_spec("imperfect").plan(graphs=1):
        chosen = planned.job.problem
        assert chosen.rows == chosen.interventional_rows == 10_000 // (chosen.interventions + 1)
        assert chosen.effect == "soft"
