"""`enco fit`: results, interruption at any moment, and every mistake a user can make."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from enco import simulate
from enco.cli import main
from enco.graphs import is_acyclic
from enco.result import Result

PROGRAM = [sys.executable, "-c", "import sys; from enco.cli import main; sys.exit(main())"]
QUICK = {
    "max_epochs": 6,
    "first_fit_steps": 60,
    "fit_steps": 30,
    "graph_steps": 14,
    "orientation_passes": 1,
    "orientation_epochs": 0,
    "hidden": 16,
    "refine_steps": 60,
}
SETTINGS = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]
FOREVER = ["--set", "max_epochs=1000000", "--set", "settled_epochs=1000000"]
FILES = ["edges.csv", "graph.json", "history.csv", "networks.npz", "parameters.npz"]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX processes and signals")


def make_data(seed=0, n_variables=7):
    rng = np.random.default_rng(seed)
    model = simulate.categorical("random", n_variables, rng, categories=3, edge_probability=0.4)
    return model.dataset(300, 50, rng=rng)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_data().to_npz("data.npz")
    return tmp_path


def fit(*options, data="data.npz", out="out"):
    return main(["fit", data, "--out", out, "--threads", "1", *SETTINGS, *options])


def content(folder):
    """What must be the same bits: everything but the time it took."""
    graph = json.loads((folder / "graph.json").read_text())
    del graph["seconds"]
    return graph, *((folder / name).read_bytes() for name in FILES if name != "graph.json")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_writes_the_result_and_says_so(folder, capsys):
    assert fit("--seed", "3", out="new/out") == 0
    printed = capsys.readouterr()
    lines = dict(line.split(None, 1) for line in printed.out.splitlines())
    assert lines["data"] == "7 variables, 650 rows: 300 observational, 7 intervention regimes"
    assert lines["cost"].startswith("about ")
    assert "on 1 thread (less if the graph settles before epoch 6) and " in lines["cost"]
    assert lines["result"] == "new/out/graph.json"
    assert lines["memory"].endswith("B at most")
    result = Result.load("new/out")
    assert lines["edges"].split(",")[0] == str(result.n_edges)
    assert lines["time"].endswith(f", {len(result.history)} epochs")
    assert lines["pairs"] == "42 of 42, all that knowledge leaves open"
    *epochs, last = printed.err.splitlines()
    assert last == "searching for a better graph"
    assert len(epochs) == len(result.history)
    assert epochs[-1].startswith(f"epoch {len(epochs)}/6  ")
    assert "edges, " in epochs[-1]
    assert "held-out loss " in epochs[-1]

    assert names_in(folder / "new" / "out") == FILES
    assert result.seed == 3
    assert {name: result.settings[name] for name in QUICK} == QUICK
    graph = json.loads((folder / "new/out/graph.json").read_text())
    assert graph["variables"] == [f"X{position}" for position in range(1, 8)]
    assert is_acyclic(graph["adjacency"])
    assert {frozenset(step) for step in graph["order_report"]["refined"]} <= {
        frozenset(["move", "added", "removed", "gain"])
    }
    assert np.shape(graph["edge_probability"]) == (7, 7)
    assert sorted(graph["order"]) == sorted(graph["variables"])
    assert graph["seconds"] > 0


def test_the_search_can_be_set_and_left_out(folder):
    assert fit("--set", "refine_rounds=0", out="plain") == 0
    plain = json.loads((folder / "plain/graph.json").read_text())
    assert plain["order_report"]["refined"] == []
    assert (np.array(plain["adjacency"]) <= np.array(plain["adjacency_raw"])).all()
    assert fit("--set", "edge_evidence=1e6", out="strict") == 0
    strict = json.loads((folder / "strict/graph.json").read_text())
    assert strict["adjacency_raw"] == plain["adjacency_raw"]
    assert not np.any(strict["adjacency"])  # no edge has that much evidence
    steps = strict["order_report"]["refined"]
    assert not any(step["added"] for step in steps)
    assert sum(len(step["removed"]) for step in steps) == np.sum(plain["adjacency"])


def test_json(folder, capsys):
    assert fit("--json") == 0
    first = json.loads(capsys.readouterr().out)
    result = Result.load("out")
    assert (first["variables"], first["edges"], first["epochs"]) == (7, result.n_edges, len(result.history))
    assert first["result"] == "out"
    assert first["peak_memory"] > 10_000_000
    assert fit("--json", "--resume") == 0
    assert json.loads(capsys.readouterr().out) == {**first, "peak_memory": None}


def test_the_result_can_be_evaluated(folder, capsys):
    assert main(["simulate", "-n", "6", "--rows", "200", "--interventional-rows", "30", "--out", "b.npz"]) == 0
    assert fit(data="b.npz") == 0
    assert main(["evaluate", "out", "b.npz"]) == 0
    assert "average precision" in capsys.readouterr().out


def test_a_bar_on_a_terminal(folder, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert fit() == 0
    printed = capsys.readouterr().err
    assert "epoch 1/6" in printed
    assert "held-out loss" in printed


def test_table_options_are_passed_on(folder):
    table = make_data().to_frame("guide", control="NT", separator="|")
    table["guide"] = table["guide"].where(table.index % 2 == 0, table["guide"].replace("NT", "safe"))
    table.to_csv("screen.csv", index=False)
    options = ["--target-column", "guide", "--control", "NT", "--control", "safe", "--separator", "|"]
    assert fit(*options, data="screen.csv") == 0
    assert fit(out="from_npz") == 0
    assert np.array_equal(Result.load("out").gamma, Result.load("from_npz").gamma)


def test_seeds_settings_and_knowledge_matter(folder):
    assert fit(out="a") == 0
    assert fit("--seed", "1", out="b") == 0
    assert fit("--set", "sparsity=0.5", out="c") == 0
    (folder / "known.toml").write_text('required = [["X2", "X1"]]\nleaves = ["X3"]')
    assert fit("--knowledge", "known.toml", out="d") == 0
    a, b, c, d = (Result.load(name) for name in "abcd")
    assert not np.array_equal(a.gamma, b.gamma)
    assert not np.array_equal(a.gamma, c.gamma)
    assert d.adjacency[1, 0] == 1
    assert not d.adjacency[2].any()
    assert d.knowledge["leaves"] == ["X3"]


def test_threads_do_not_matter(folder):
    assert fit(out="one") == 0
    assert main(["fit", "data.npz", "--out", "two", "--threads", "2", *SETTINGS]) == 0
    assert content(folder / "one") == content(folder / "two")


def test_permuting_the_columns_permutes_the_result(folder):
    data = make_data()
    order = np.random.default_rng(1).permutation(7)
    data.select([data.names[position] for position in order]).to_npz("permuted.npz")
    assert fit(out="plain") == 0
    assert fit(data="permuted.npz", out="permuted") == 0
    plain, permuted = Result.load("plain"), Result.load("permuted")
    assert permuted.variables != plain.variables
    for key in ("adjacency", "adjacency_raw", "gamma", "theta", "edge_probability"):
        assert np.array_equal(getattr(plain, key)[np.ix_(order, order)], getattr(permuted, key))
    assert plain.order == permuted.order
    pd.testing.assert_frame_equal(plain.to_frame(), permuted.to_frame(), check_exact=True)


def test_a_finished_fit_is_replaced_only_by_force(folder, capsys):
    assert fit() == 0
    before = content(folder / "out")
    assert fit("--seed", "1") == 2
    assert "out holds a finished fit: choose another folder with --out" in capsys.readouterr().err
    assert content(folder / "out") == before
    (folder / "out" / "notes.txt").write_text("mine")
    assert fit("--seed", "1", "--force") == 0
    assert content(folder / "out") != before
    assert (folder / "out" / "notes.txt").read_text() == "mine"


def test_resuming_a_finished_fit_says_so(folder, capsys):
    assert fit() == 0
    before = content(folder / "out")
    capsys.readouterr()
    (folder / "out" / "checkpoint.npz").write_text("left by a process killed in its last moment")
    assert fit("--resume") == 0
    assert capsys.readouterr().out == "out holds a finished fit: there is nothing to resume\n"
    assert content(folder / "out") == before
    assert names_in(folder / "out") == FILES


def test_resuming_where_nothing_is_starts_from_the_beginning(folder, capsys):
    assert fit(out="plain") == 0
    capsys.readouterr()
    assert fit("--resume") == 0
    assert "there is nothing to resume in out: starting from the beginning" in capsys.readouterr().err
    assert content(folder / "plain") == content(folder / "out")


class Stop:
    """Raises KeyboardInterrupt inside a graph step, a number of steps after the start."""

    def __init__(self, monkeypatch, steps):
        from enco.fitting.graph import GraphFitting

        self.steps, step = steps, GraphFitting.step

        def stop_or_step(graph_fitting, *arguments, **options):
            self.steps -= 1
            if self.steps < 0:
                raise KeyboardInterrupt
            return step(graph_fitting, *arguments, **options)

        monkeypatch.setattr(GraphFitting, "step", stop_or_step)


def write_reals():
    rng = np.random.default_rng(0)
    simulate.continuous("chain", 3, rng).dataset(60, 20, rng=rng).to_npz("reals.npz")


def test_flows_without_pytorch(folder, capsys, monkeypatch):
    from enco.conditionals.torch import requirements

    write_reals()
    monkeypatch.setattr(requirements, "find_spec", lambda name: None)
    assert fit("--set", "density=dsf", data="reals.npz") == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert "needs the package 'torch': pip install 'enco[torch]'" in printed
    assert printed.count("\n") == 1
    assert not (folder / "out").exists()


def test_a_fit_with_flows_continues_to_the_same_bits(folder, monkeypatch):
    write_reals()
    options = ["--set", "density=dsf", "--set", "max_epochs=2", "--set", "refine_steps=10"]
    assert fit(*options, data="reals.npz", out="plain") == 0
    assert Result.load("plain").settings["density"] == "dsf"
    with monkeypatch.context() as patch:
        Stop(patch, 20)
        assert fit(*options, data="reals.npz") == 130
    assert fit(*options, "--resume", data="reals.npz") == 0
    assert content(folder / "plain") == content(folder / "out")


def test_candidate_pairs_can_be_screened(folder, capsys):
    assert fit("--candidates", "screen") == 0
    pairs = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())["pairs"]
    assert pairs.endswith(" of 42, screened by tests of dependence")
    assert Result.load("out").settings["candidates"] == "screen"
    assert fit("--candidates", "few", out="other") == 2
    assert "setting candidates must be one of auto, all, screen, got 'few'" in capsys.readouterr().err


def test_ctrl_c_during_the_search(folder, capsys, monkeypatch):
    """All epochs are done; the same command with --resume searches again."""
    assert fit(out="plain") == 0
    capsys.readouterr()

    def stop(problem, start, on_progress=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("enco.discover.improve", stop)
        assert fit() == 130
    advice, error = capsys.readouterr().err.splitlines()[-2:]
    assert "the same command with --resume" in advice
    assert error == "error: interrupted"
    assert "stopped in the search, after epoch" in advice
    assert names_in(folder / "out") == ["checkpoint.journal", "checkpoint.npz"]
    assert fit("--resume") == 0
    assert content(folder / "plain") == content(folder / "out")


@pytest.mark.parametrize(("steps", "epoch"), [(3, 0), (14, 1), (40, 2)])
def test_ctrl_c_keeps_the_last_epoch(folder, capsys, monkeypatch, steps, epoch):
    assert fit(out="plain") == 0
    capsys.readouterr()
    with monkeypatch.context() as patch:
        Stop(patch, steps)
        assert fit() == 130
    error = capsys.readouterr().err.splitlines()
    assert error[-2:] == [
        f"stopped after epoch {epoch}; the same command with --resume (and without --force) continues",
        "error: interrupted",
    ]
    assert names_in(folder / "out") == ["checkpoint.npz"]
    assert fit() == 2
    assert "out holds an unfinished fit: continue it with --resume" in capsys.readouterr().err
    assert fit("--resume") == 0
    assert content(folder / "plain") == content(folder / "out")
    assert names_in(folder / "out") == FILES


def test_force_replaces_an_unfinished_fit(folder, monkeypatch):
    with monkeypatch.context() as patch:
        Stop(patch, 20)
        assert fit() == 130
    assert fit("--force", "--seed", "1") == 0
    assert fit("--seed", "1", out="plain") == 0
    assert content(folder / "plain") == content(folder / "out")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed", "1"], "the seed (0, now 1)"),
        (["--set", "sparsity=0.5"], "setting sparsity ("),
        (["--knowledge", "known.toml"], "the background knowledge"),
    ],
)
def test_resuming_with_something_else(folder, capsys, monkeypatch, options, message):
    (folder / "known.toml").write_text('roots = ["X1"]')
    with monkeypatch.context() as patch:
        Stop(patch, 20)
        assert fit() == 130
    before = (folder / "out" / "checkpoint.npz").read_bytes()
    capsys.readouterr()
    assert fit("--resume", *options) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: out/checkpoint.npz belongs to another fit, which differs in ")
    assert message in error
    assert error.count("\n") == 1
    assert (folder / "out" / "checkpoint.npz").read_bytes() == before


def test_resuming_with_other_data(folder, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        Stop(patch, 20)
        assert fit() == 130
    make_data(1).to_npz("data.npz", overwrite=True)
    assert fit("--resume") == 2
    assert "differs in the data: repeat" in capsys.readouterr().err


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_checkpoint(folder, capsys, monkeypatch, damage):
    with monkeypatch.context() as patch:
        Stop(patch, 20)
        assert fit() == 130
    checkpoint = folder / "out" / "checkpoint.npz"
    checkpoint.write_bytes(checkpoint.read_bytes()[:-50] if damage is None else damage)
    capsys.readouterr()
    assert fit("--resume") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: out/checkpoint.npz: this is not a readable npz file")
    assert error.count("\n") == 1
    assert checkpoint.exists()
    assert fit("--force") == 0


def start(*options, out="out"):
    """Run a fit in a child process, which shares the compiled kernels; return its id."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of earlier tests do not matter to the child
        child = os.fork()
    if child:
        return child
    # Coverage keeps a lock that a signal handler, measured as well, could wait for in vain.
    sys.settrace(None)
    threading.settrace(None)
    code = 99
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        code = fit(*options, out=out)
    finally:
        os._exit(code)


def wait_for(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("latent", [[], ["--latent"]], ids=["plain", "latent"])
def test_killed_in_all_stages_and_resumed_gives_the_same_bits(folder, latent):
    """Thirty kills at random moments of whole fits, of which the search is the longer part."""
    options = [*latent, "--set", "refine_steps=600"]
    rng = np.random.default_rng(0)
    model = simulate.mixed("random", 8, rng, categories=3, categorical_share=0.4, edge_probability=0.4)
    model.dataset(1000, 100, rng=rng).to_npz("data.npz", overwrite=True)
    assert fit(*options, out="plain") == 0
    started = time.perf_counter()
    assert wait_for(start(*options, out="timed")) == 0
    duration = time.perf_counter() - started
    killed = 0
    for attempt in range(10):
        out = f"out{attempt}"
        for moment in rng.uniform(0.0, 0.9 * duration, 3):
            child = start(*options, "--resume", out=out)
            time.sleep(moment)
            os.kill(child, signal.SIGKILL)
            killed += wait_for(child) == -signal.SIGKILL
        assert fit(*options, "--resume", out=out) == 0
        assert content(folder / out) == content(folder / "plain")
        assert [name for name in names_in(folder / out) if "checkpoint" in name] == []
    assert killed >= 20


@needs_fork
def test_killed_at_random_moments_and_resumed_gives_the_same_bits(folder):
    assert fit(out="plain") == 0  # compiles
    started = time.perf_counter()
    assert wait_for(start(out="timed")) == 0
    duration = time.perf_counter() - started
    rng = np.random.default_rng(0)
    killed = 0
    for attempt in range(4):
        out = f"out{attempt}"
        for moment in rng.uniform(0.0, 0.7 * duration, 4):
            child = start("--resume", out=out)
            time.sleep(moment)
            os.kill(child, signal.SIGKILL)
            killed += wait_for(child) == -signal.SIGKILL
        assert fit("--resume", out=out) == 0
        assert content(folder / out) == content(folder / "plain")
        assert [name for name in names_in(folder / out) if "checkpoint" in name] == []
    assert killed >= 4


def wait_for_epoch(folder, child, epoch=1):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
        if (folder / "checkpoint.npz").exists():
            with np.load(folder / "checkpoint.npz") as arrays:
                if len(json.loads(str(arrays["state.history"]))) >= epoch:
                    return
        time.sleep(0.02)
    raise AssertionError("the fit did not get that far")


@needs_fork
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_a_checkpoint(folder, number):
    child = start(*FOREVER)
    wait_for_epoch(folder / "out", child)
    os.kill(child, number)
    assert wait_for(child) == 130
    assert names_in(folder / "out") == ["checkpoint.npz"]


@needs_fork
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_wait_until_a_checkpoint_is_written(folder, capsys, monkeypatch, number):
    original, is_first = zipfile._ZipWriteFile.__init__, [True]

    def interrupted(*args):
        if (folder / "out" / "checkpoint.npz").exists() and is_first:
            is_first.clear()
            signal.raise_signal(number)
        return original(*args)

    monkeypatch.setattr(zipfile._ZipWriteFile, "__init__", interrupted)
    assert fit() == 130
    assert "stopped after epoch 1; the same command with --resume" in capsys.readouterr().err
    assert names_in(folder / "out") == ["checkpoint.npz"]
    assert fit("--resume") == 0
    assert len(Result.load("out").history) == QUICK["max_epochs"]


@needs_fork
def test_ctrl_c_in_a_process_of_its_own(folder):
    command = [*PROGRAM, "fit", "data.npz", "--out", "out", *SETTINGS, *FOREVER]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        deadline = time.monotonic() + 60
        while not (folder / "out" / "checkpoint.npz").exists() and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert error.splitlines()[-1] == "error: interrupted"
    assert names_in(folder / "out") == ["checkpoint.npz"]


def test_the_previous_handler_of_sigterm_is_restored(folder):
    before = signal.getsignal(signal.SIGTERM)
    assert fit() == 0
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "sparsity"], "--set needs NAME=VALUE, for example --set sparsity=0.01, not 'sparsity'"),
        (["--set", "sparseness=1"], "there is no setting 'sparseness'"),
        (["--set", "sparsity=much"], "setting sparsity must be a number, got 'much'"),
        (["--set", "hidden="], "setting hidden must be a whole number, got ''"),
        (["--set", "max_epochs=0"], "setting max_epochs must be positive, got 0"),
        (["--set", "estimator=best"], "setting estimator must be one of paired, independent, reinforce"),
        (["--set", "density=cauchy"], "setting density must be one of gaussian, dsf, spline, got 'cauchy'"),
        (["--set", "engine=fused", "--set", "layers=2"], 'engine "fused" cannot do 2 layers: use engine "torch"'),
        (
            ["--set", "engine=torch", "--set", "device=abacus"],
            "setting device is 'abacus', which PyTorch does not know",
        ),
        (["--set", "refine_sweeps=3"], "there is no setting 'refine_sweeps'; choose from "),
        (["--seed", "-1"], "--seed"),
        (["--threads", "0"], "--threads"),
        (["--resume", "--force"], "--resume continues a fit and --force starts it anew: give one of the two"),
        (["--knowledge", "nowhere.toml"], "nowhere.toml: there is no such file"),
        (["--knowledge", "broken.toml"], "broken.toml: this is not a TOML file"),
        (["--knowledge", "strange.toml"], "mentions 'X99', which is no variable of the data"),
        (["--knowledge", "cycle.toml"], "the required edges form a cycle, 'X1' -> 'X2' -> 'X1'"),
        (["--fast"], "No such option"),
    ],
)
def test_mistakes(folder, capsys, options, message):
    (folder / "broken.toml").write_text("roots = [")
    (folder / "strange.toml").write_text('roots = ["X99"]')
    (folder / "cycle.toml").write_text('required = [["X1", "X2"], ["X2", "X1"]]')
    assert fit(*options) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert not (folder / "out").exists()


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("name", ["mixed.npz", "mixed.csv"])
def test_continuous_and_mixed_tables(folder, share, name):
    rng = np.random.default_rng(3)
    data = simulate.mixed("random", 5, rng, categories=3, categorical_share=share).dataset(200, 30, rng=rng)
    data.to_npz(name) if name.endswith("npz") else data.to_csv(name)
    assert fit(data=name) == 0
    result = Result.load(folder / "out")
    assert result.variables == data.names
    assert is_acyclic(result.adjacency)
    assert np.isfinite(result.history["held_out_loss"]).all()


def write_observational(path):
    make_data().keep_regimes([]).to_npz(path)


def write_table(path):
    make_data().to_frame().to_csv(path, index=False)


@pytest.mark.parametrize(
    ("name", "write", "options", "message"),
    [
        ("nowhere.npz", None, [], "nowhere.npz: there is no such file"),
        ("a.txt", None, [], "cannot read data from a '.txt' file"),
        ("a.npz", lambda path: path.write_text("text"), [], "a.npz: this is not a readable npz file"),
        ("a.npz", write_observational, [], "there is no intervention regime"),
        ("a.csv", write_table, ["--target-column", "guide"], "there is no target column 'guide'"),
        ("a.csv", write_table, ["--control", "NT"], "there is no variable 'control'"),
    ],
)
def test_bad_data(folder, capsys, name, write, options, message):
    if write is not None:
        write(folder / name)
    assert fit(*options, data=name) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert not (folder / "out").exists()


def test_a_file_in_the_way(folder, capsys):
    (folder / "out").write_text("")
    assert fit() == 2
    assert "cannot write to out: it is a file, choose a folder with --out" in capsys.readouterr().err
    assert fit(out="out/below") == 2
    assert "cannot write out/below: Not a directory" in capsys.readouterr().err


def test_missing_arguments(capsys):
    assert main(["fit", "--out", "out"]) == 2
    assert capsys.readouterr().err.startswith("error: Missing argument")
    assert main(["fit", "data.npz"]) == 2
    assert capsys.readouterr().err.startswith("error: Missing option '--out'")


def test_help_has_examples(capsys):
    assert main(["fit", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "\n    enco fit data.npz --out result\n" in printed
    assert '\n    required = [["smoking", "cancer"]]\n' in printed
