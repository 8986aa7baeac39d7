"""Resampling: what is drawn, what is counted, and that nothing but the seed decides it."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from enco import simulate
from enco.cli import main
from enco.data import InterventionalData
from enco.discover import conclude
from enco.errors import EncoError, FileFormatError, GraphError, SettingsError
from enco.fitting.loop import Discovery
from enco.knowledge import Knowledge
from enco.resampling import SHARE, bootstrapped, resample, without_regime
from enco.score.journal import FileJournal
from enco.score.rows import Sample
from enco.settings import Settings
from enco.stability import Stability, _consensus, _quick, reliability, stability
from enco.stability_plot import draw_reliability

QUICK = Settings(max_epochs=3, first_fit_steps=200, fit_steps=100, graph_steps=30, refine_rounds=1, refine_steps=300)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    model = simulate.categorical("chain", 5, rng, categories=4)
    return model.adjacency, model.dataset(1000, 100, rng=rng)


@pytest.fixture(scope="module")
def found(problem):
    return stability(problem[1], 4, settings=QUICK, seed=1, n_jobs=1)


def test_a_clear_graph_is_stable(problem, found):
    truth, _ = problem
    assert found.frequency[truth].min() >= 0.75
    assert found.frequency[~truth].max() <= 0.5
    np.testing.assert_array_equal(found.consensus.astype(bool), truth)
    assert found.share == SHARE
    table = found.to_frame()
    assert table["frequency"].is_monotonic_decreasing
    assert table["in_consensus"].sum() == truth.sum()


def test_threads_do_not_matter(problem, found):
    again = stability(problem[1], 4, settings=QUICK, seed=1, n_jobs=2)
    np.testing.assert_array_equal(again.frequency, found.frequency)
    np.testing.assert_array_equal(again.adjacency, found.adjacency)


def test_a_finished_fit_is_not_run_again(problem, found):
    data = problem[1]
    base = Discovery(data, settings=QUICK, seed=1)
    base.run()
    result = conclude(base, data, seconds=0.0, seed=1)
    calls = []
    again = stability(data, 4, settings=QUICK, seed=1, n_jobs=1, fit=(base, result), on_resample=calls.append)
    np.testing.assert_array_equal(again.frequency, found.frequency)
    assert calls == [1, 2, 3, 4]


def test_background_knowledge_holds_in_every_refit(problem):
    data = problem[1]
    known = Knowledge(forbidden=[("X1", "X2")], required=[("X5", "X1")])
    counted = stability(data, 2, settings=QUICK, knowledge=known, n_jobs=1)
    assert counted.frequency[0, 1] == 0
    assert counted.frequency[4, 0] == 1


def test_a_column_that_is_constant_in_some_resamples():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (40, 3))
    rows[:, 2] = 0
    rows[7, 2] = 1
    other = rows[:20].copy()
    other[:, 2] = 0
    data = InterventionalData.from_environments([rows, other], [None, "X1"])
    kept = [resample(data, SHARE, np.random.default_rng([0, 2, number])) for number in range(4)]
    constant = [bool((part.observational.codes[:, 2] == 0).all()) for part in kept]
    assert set(constant) == {True, False}  # both ways are taken
    assert stability(data, 4, settings=QUICK, n_jobs=1).frequency.shape == (3, 3)


def test_rows_are_drawn_without_replacement_within_regimes():
    x = np.arange(200.0).reshape(100, 2)
    data = InterventionalData.from_environments([x, 1000 + x[:30], x[:1] - 500], [None, "X1", "X2"])
    part = resample(data, 0.5, np.random.default_rng(0))
    assert [regime.n_rows for regime in part.regimes] == [50, 15, 1]
    assert [regime.targets for regime in part.regimes] == [(), (0,), (1,)]
    drawn = part.regimes[1].reals[:, 0]
    assert len(np.unique(drawn)) == 15
    assert set(drawn) <= set(1000 + x[:30, 0])
    np.testing.assert_array_equal(part.regimes[2].reals, data.regimes[2].reals)


def test_copies_of_one_row_are_on_one_side_of_the_split_and_not_among_the_others():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    data = InterventionalData.from_environments([x, x[:90] + 5], [None, "X1"])
    drawn = bootstrapped(data, rng)
    assert [regime.n_rows for regime in drawn.regimes] == [300, 90]
    sample = Sample.of(drawn.regimes, 3)
    values = sample.table.reals[:, 0]
    for value in np.unique(values):
        same = values == value
        assert len(np.unique(sample.fold[same])) == 1
        assert (sample.copies[same] == same.sum()).all()
    assert sample.copies.max() > 2
    assert np.bincount(sample.fold).min() > 80


def test_joined_regimes_keep_their_copies_apart():
    x = np.arange(40.0).reshape(20, 2)
    data = InterventionalData.from_environments([x, x + 100], [None, None])
    drawn = bootstrapped(data, np.random.default_rng(0))
    joined = InterventionalData(drawn.variables, [*drawn.regimes, *drawn.regimes]).observational
    assert joined.n_rows == 80
    assert len(np.unique(joined.source)) == 2 * len(np.unique(drawn.observational.source))


@pytest.mark.parametrize("scheme", ["half", "bootstrap", "regimes"])
def test_other_schemes_find_a_clear_graph_too(problem, scheme):
    truth, data = problem
    found = stability(data, 4, scheme=scheme, settings=QUICK, seed=1, n_jobs=1)
    assert found.frequency[truth].min() >= 0.5
    assert found.frequency[~truth].max() <= 0.5
    assert found.scheme == scheme
    assert found.added_to(conclude_quickly(data)).frequency is found.frequency


def conclude_quickly(data):
    return conclude(Discovery(data, settings=QUICK), data)


def test_each_regime_is_left_out_once(problem):
    data = problem[1]
    left = [set(data.interventional) - set(without_regime(data, k).interventional) for k in range(5)]
    assert [len(out) for out in left] == [1] * 5
    assert len(set.union(*left)) == 5


def test_refits_that_are_in_the_journal_are_not_made_again(problem, found, tmp_path, monkeypatch):
    options = {"settings": QUICK, "seed": 1, "n_jobs": 1}
    fit = Discovery(problem[1], settings=QUICK, seed=1), conclude_quickly(problem[1])
    fit[0].run()

    def stop(done):
        if done == 3:
            raise KeyboardInterrupt

    with FileJournal(tmp_path / "journal", "this") as journal, pytest.raises(KeyboardInterrupt):
        stability(problem[1], 4, fit=fit, journal=journal, on_resample=stop, **options)
    runs = []
    run = Discovery.run
    monkeypatch.setattr(Discovery, "run", lambda *args, **more: runs.append(1) or run(*args, **more))
    with FileJournal(tmp_path / "journal", "this") as journal:
        again = stability(problem[1], 4, fit=fit, journal=journal, **options)
    assert len(runs) <= 1
    np.testing.assert_array_equal(again.frequency, found.frequency)


def test_the_consensus_has_no_cycle():
    frequency = np.array([[0, 0.9, 0.0], [0, 0, 0.8], [0.6, 0.0, 0]])
    consensus = _consensus(frequency, ("A", "B", "C"))
    assert nx.is_directed_acyclic_graph(nx.DiGraph(consensus))
    assert consensus.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]  # the rarest of the three is left out


def test_refits_never_take_more_steps_than_the_fit():
    assert _quick(QUICK).max_epochs == 2
    assert _quick(replace(QUICK, max_epochs=1)).max_epochs == 1
    assert _quick(Settings()).refine_steps == 1000
    assert _quick(replace(Settings(), refine_rounds=0)).refine_rounds == 0


def test_saved_and_loaded(found, tmp_path):
    found.save(tmp_path)
    again = Stability.load(tmp_path)
    np.testing.assert_array_equal(again.frequency, found.frequency)
    np.testing.assert_array_equal(again.consensus, found.consensus)
    assert (again.variables, again.seed, again.share) == (found.variables, found.seed, found.share)
    with pytest.raises(EncoError, match="overwrite=True"):
        found.save(tmp_path)
    found.save(tmp_path, overwrite=True)


@pytest.mark.parametrize(
    "text", ["{", "[]", "7", '{"variables": ["A"]}', '{"variables": 3, "frequency": [], "adjacency": []}']
)
def test_a_damaged_file_is_reported(text, found, tmp_path):
    (tmp_path / "stability.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"stability\.json"):
        Stability.load(tmp_path)


def test_matrices_of_another_size_are_reported(found, tmp_path):
    found.save(tmp_path)
    path = tmp_path / "stability.json"
    path.write_text(path.read_text().replace('"X5"', '"X5", "X6"', 1))
    with pytest.raises(FileFormatError, match=r"one row and column per variable \(6\)"):
        Stability.load(tmp_path)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"n_resamples": 0}, "resamples"),
        ({"n_resamples": 2.5}, "resamples"),
        ({"share": 1.0}, "share"),
        ({"share": "half"}, "share"),
        ({"seed": -1}, "seed"),
        ({"scheme": "third"}, "choose from subsample, half, bootstrap, regimes"),
        ({"scheme": "half", "share": 0.3}, "belongs to subsample"),
        ({"scheme": "regimes"}, "there are 5 intervention regimes to leave out"),
    ],
)
def test_senseless_arguments_are_refused(problem, options, word):
    with pytest.raises(SettingsError, match=word):
        stability(problem[1], **options)


def test_reliability_counts_every_ordered_pair_once():
    rng = np.random.default_rng(0)
    truth = np.triu(rng.random((3, 6, 6)) < 0.4, 1)
    frequency = np.where(truth, 0.95, 0.0)
    table = reliability(frequency, truth)
    assert table["edges"].sum() == 3 * 30
    assert table["true_share"].tolist() == [0.0, 1.0]
    assert draw_reliability(frequency, truth).get_ylabel() == "share of true edges"


def test_reliability_refuses_what_does_not_belong_together():
    with pytest.raises(GraphError, match="do not belong together"):
        reliability(np.zeros((3, 3)), np.zeros((2, 2)))


FAST = [word for name in ("max_epochs=1", "first_fit_steps=50", "refine_rounds=0") for word in ("--set", name)]


def test_the_command_line_writes_and_reports_it(problem, tmp_path, capsys):
    data, out = tmp_path / "data.npz", tmp_path / "out"
    problem[1].to_npz(data)
    command = ["fit", str(data), "--out", str(out), "--bootstrap", "2", *FAST]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "of 2 refits" in shown.out
    assert "refit 2/2" in shown.err
    assert Stability.load(out).n_resamples == 2
    assert (out / "stability.csv").read_text().startswith("cause,effect,frequency")
    assert not (out / "checkpoint.npz").exists()
    # A new fit without the option leaves nothing of the old one behind.
    assert main(["fit", str(data), "--out", str(out), "--force", *FAST]) == 0
    assert not (out / "stability.json").exists()
    # and --resume adds what is missing
    assert main([*command, "--resume"]) == 0
    assert (out / "stability.json").exists()
