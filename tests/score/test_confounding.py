"""Confounded pairs of whole fits: found, told from edges, never with an edge, whatever the order of the columns."""

import json
from dataclasses import replace

import numpy as np
import pytest

from enco import ENCO, simulate
from enco.cli import main
from enco.data import InterventionalData
from enco.discover import conclude
from enco.fitting.loop import Discovery
from enco.knowledge import Knowledge
from enco.result import Result
from enco.score.confounding import Dependence
from enco.settings import Settings

LATENT = Settings(latent=True, max_epochs=7, hidden=16, refine_steps=300, interventions="perfect")


def confounded_data(seed=0, *, targets=("A", "B", "C", "D"), rows=1500, interventional_rows=200, continuous=False):
    """A <- L -> B, without an edge between them; A -> C; D on its own."""
    rng = np.random.default_rng(seed)
    regimes, names = [], []
    for target in (None, *targets):
        size = rows if target is None else interventional_rows
        noise = rng.normal(size=(4, size)) if continuous else rng.integers(3, size=(4, size))
        latent = rng.normal(size=size) if continuous else rng.integers(3, size=size)
        keep = rng.random((3, size)) < 0.7
        columns = {}
        for place, name in enumerate("ABCD"):
            cause = {"A": latent, "B": latent, "C": columns.get("A")}.get(name)
            if name == target or cause is None:
                columns[name] = noise[place]
            elif continuous:
                columns[name] = cause + 0.5 * noise[place]
            else:
                columns[name] = np.where(keep[place], cause, noise[place])
        regimes.append(np.column_stack([columns[name] for name in "ABCD"]))
        names.append(target)
    return InterventionalData.from_environments(regimes, names, names=list("ABCD"))


def fit(data, settings=LATENT, knowledge=None):
    discovery = Discovery(data, settings=settings, knowledge=knowledge, seed=1)
    discovery.run()
    return conclude(discovery, data, seconds=0.0, seed=1, knowledge=knowledge)


@pytest.fixture(scope="module")
def result():
    return fit(confounded_data())


@pytest.mark.parametrize("continuous", [False, True])
def test_a_confounder_is_found_and_told_from_an_edge(continuous, result):
    found = fit(confounded_data(continuous=True)) if continuous else result
    assert [pair[:2] for pair in found.confounders] == [("A", "B")]
    assert ("A", "C") in found.to_networkx().edges
    assert found.confounders[0][2] > 0.9
    scores = found.confounder_scores
    assert (scores == scores.T)[~np.isnan(scores)].all()
    assert np.isnan(np.diag(scores)).all()


def test_the_score_of_the_paper_says_the_same(result):
    others = result.lc_scores.copy()
    others[0, 1] = others[1, 0] = np.nan
    assert result.lc_scores[0, 1] > np.nanmax(others)


@pytest.mark.parametrize("kind", ["categorical", "continuous"])
def test_where_no_pair_is_confounded_looking_for_one_changes_nothing(kind):
    rng = np.random.default_rng(7)
    model = getattr(simulate, kind)("random", 6, rng, edge_probability=0.4)
    data = model.dataset(1500, 200, rng=rng)
    plain, looked = (fit(data, replace(LATENT, latent=latent)) for latent in (False, True))
    assert not looked.confounders
    assert np.isfinite(looked.lc_scores).any()
    for name in ("adjacency", "adjacency_raw", "gamma", "theta", "order"):
        assert np.array_equal(getattr(looked, name), getattr(plain, name)), name


def test_without_a_search_the_score_of_the_paper_decides():
    found = fit(confounded_data(), replace(LATENT, refine_rounds=0))
    assert (found.confounder_scores[~np.eye(4, dtype=bool)] == found.lc_scores[~np.eye(4, dtype=bool)]).all()
    assert not found.adjacency[0, 1]
    assert not found.adjacency[1, 0]
    assert [pair[:2] for pair in found.confounders] == [("A", "B")]


def test_pairs_without_interventions_on_both_are_not_scored():
    found = fit(confounded_data(targets=("A", "C", "D")))
    assert np.isnan(found.confounder_scores[1]).all()
    assert np.isfinite(found.confounder_scores[0, 2])
    assert all("B" not in pair for pair in found.confounders)


def test_required_and_forbidden_edges_are_not_questioned():
    known = Knowledge(required=[("A", "B")], forbidden=[("C", "D")])
    found = fit(confounded_data(), knowledge=known)
    assert found.adjacency[0, 1]
    assert np.isnan(found.confounder_scores[0, 1])
    assert np.isnan(found.confounder_scores[2, 3])
    assert found.confounders == []


def test_permuting_the_columns_permutes_the_scores(result):
    data = confounded_data()
    order = [2, 0, 3, 1]
    shuffled = InterventionalData.from_environments(
        [regime.codes[:, order] for regime in data.regimes],
        [None if not regime.targets else data.names[regime.targets[0]] for regime in data.regimes],
        names=[data.names[column] for column in order],
    )
    found = fit(shuffled)
    wanted = result.confounder_scores[np.ix_(order, order)]
    assert np.array_equal(found.confounder_scores, wanted, equal_nan=True)
    assert found.confounders == result.confounders


def test_resuming_gives_the_same_bits(result):
    data = confounded_data()
    states = []
    Discovery(data, settings=LATENT, seed=1).run(on_epoch=lambda discovery: states.append(discovery.state()))
    continued = Discovery(data, settings=LATENT, seed=1)
    continued.restore(states[3])
    continued.run()
    for name, value in states[-1].items():
        assert value.tobytes() == continued.state()[name].tobytes(), name
    again = conclude(continued, data, seconds=0.0, seed=1)
    assert np.array_equal(again.confounder_scores, result.confounder_scores, equal_nan=True)


def test_saved_and_loaded(tmp_path, result):
    result.save(tmp_path / "out")
    loaded = Result.load(tmp_path / "out")
    assert loaded.confounders == result.confounders
    assert np.array_equal(loaded.lc_scores, result.lc_scores, equal_nan=True)
    content = json.loads((tmp_path / "out" / "graph.json").read_text())
    assert content["confounders"] == [list(pair) for pair in result.confounders]
    assert content["confounded_pairs"] == [["A", "B"]]


def test_a_fit_without_latent_knows_nothing_of_confounders(tmp_path):
    found = fit(confounded_data(rows=100, interventional_rows=10), replace(LATENT, latent=False, max_epochs=1))
    assert found.confounder_scores is None
    assert found.confounders == []
    found.save(tmp_path / "out")
    assert Result.load(tmp_path / "out").confounder_scores is None
    assert "confounders" not in json.loads((tmp_path / "out" / "graph.json").read_text())


def test_the_estimator_passes_it_on():
    data = confounded_data(rows=100, interventional_rows=10)
    quick = {"first_fit_steps": 20, "refine_steps": 20}
    fitted = ENCO(latent=True, max_epochs=1, settings=quick, random_state=0, n_jobs=1).fit(data)
    assert fitted.confounder_scores_.shape == (4, 4)
    assert ENCO(max_epochs=1, settings=quick, random_state=0, n_jobs=1).fit(data).confounder_scores_ is None


def test_from_the_command_line(tmp_path, capsys):
    confounded_data(targets=("A", "B", "C")).to_npz(tmp_path / "data.npz")
    quick = [word for name in ("max_epochs=7", "hidden=16", "refine_steps=300") for word in ("--set", name)]
    command = ["fit", str(tmp_path / "data.npz"), "--latent", "--seed", "1", "--threads", "1", *quick]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    assert "hidden  1 confounded pairs; 3 of 6 pairs could be scored" in capsys.readouterr().out
    assert main([*command, "--json", "--out", str(tmp_path / "again")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["confounders"], printed["scored_pairs"]) == (1, 3)


def noise(share, rows=400, seed=0):
    """Residuals of two variables that vary together or not, in three blocks."""
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(3):
        spread = rng.exponential(size=(rows, 1))  # of both, which must not count as dependence
        common = share * rng.normal(size=(rows, 1))
        blocks.append([spread * (rng.normal(size=(rows, k)) + common) for k in (3, 2)])
    return blocks


def p_value(share, seed=0):
    return float(np.exp(Dependence.of_residuals(noise(share, seed=seed), 2).log_p()[0, 1]))


def test_the_test_of_dependence_has_its_level_and_power():
    level = [p_value(0.0, seed) for seed in range(300)]
    assert np.mean(np.array(level) < 0.1) == pytest.approx(0.1, abs=0.05)
    assert np.median(level) == pytest.approx(0.5, abs=0.1)
    assert p_value(0.5) < 1e-6


def test_a_variable_without_residuals_depends_on_nothing():
    blocks = noise(0.5)
    for block in blocks:
        block[0][:] = 0.0
    assert Dependence.of_residuals(blocks, 2).log_p()[0, 1] > -1.0


def test_many_rows_do_not_make_a_trifle_a_confounder():
    """What networks that are not quite right leave in their residuals is significant once there are rows enough."""
    one = np.ones((1, 1))

    def large(share: float, rows: float) -> bool:
        return Dependence((1 + share * rows) * one, rows * one, one, one).large().item()

    assert not large(1.5e-5, 300_000)
    assert large(4e-5, 300_000)
    assert large(4e-4, 10_000)
