"""The folder of a result: what is in it is never lost, never mixed, and never somebody else's."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from enco import simulate
from enco.cli import main
from enco.errors import EncoError
from enco.fitting import checkpoint
from enco.fitting.loop import Discovery
from enco.io._lock import LOCK, locked
from enco.result import Result
from enco.result.example import small_result
from enco.result.folder import NEXT
from enco.stability import Stability

QUICK = {
    "max_epochs": 2, "first_fit_steps": 40, "fit_steps": 20, "graph_steps": 10, "orientation_passes": 1,
    "orientation_epochs": 0, "hidden": 8, "refine_rounds": 0,
}  # fmt: skip
SETTINGS = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]


def make_data(seed=0):
    rng = np.random.default_rng(seed)
    return simulate.categorical("random", 5, rng, categories=3, edge_probability=0.4).dataset(200, 40, rng=rng)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_data().to_npz("data.npz")
    return tmp_path


def fit(*options, data="data.npz", out="out"):
    return main(["fit", data, "--out", out, "--threads", "1", *SETTINGS, *options])


def content(folder):
    """All files of a folder, without the times that a fit took."""
    found = {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
    for name in ("graph.json", "stability.json"):
        if name in found:
            found[name] = {key: value for key, value in json.loads(found[name]).items() if key != "seconds"}
    return found


# ------------------------------------------------------------------------------------------------------------- links

FILES = ("graph.json", "edges.csv", "history.csv", "parameters.npz", "checkpoint.npz", "report.html", "stability.csv")


@pytest.mark.parametrize("target", ["a file", "nothing", "a folder"])
def test_links_in_the_folder_are_replaced(folder, target):
    places = {name: folder / f"other.{name}" for name in (*FILES, "stability.json")}
    (folder / "out").mkdir()
    for name, place in places.items():
        if target == "a file":
            place.write_text("somebody else's")
        elif target == "a folder":
            place.mkdir()
        (folder / "out" / name).symlink_to(place)
    assert fit("--force", "--report", "--bootstrap", "1") == 0
    for name, place in places.items():
        assert not (folder / "out" / name).is_symlink()
        assert place.exists() == (target != "nothing")
        assert target != "a file" or place.read_text() == "somebody else's"
    assert Result.load("out").variables == make_data().names
    (folder / "out" / "report.html").unlink()
    (folder / "out" / "report.html").symlink_to(places["report.html"])
    assert main(["report", "out", "--force"]) == 0
    assert not (folder / "out" / "report.html").is_symlink()
    assert target != "a file" or places["report.html"].read_text() == "somebody else's"


def test_a_link_that_the_user_names_is_followed(folder):
    assert fit() == 0
    (folder / "page.html").symlink_to(folder / "real.html")
    assert main(["report", "out", "--out", "page.html"]) == 0
    assert (folder / "page.html").is_symlink()
    assert (folder / "real.html").read_text().startswith("<!DOCTYPE html>")


# ------------------------------------------------------------------------------------------- whose result is it


def said(capsys):
    """The one line of an error."""
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize("more", [[], ["--bootstrap", "1"], ["--report"], ["--json"]])
@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (["--seed", "1"], "the seed (0, now 1)"),
        (["--set", "sparsity=0.5"], "setting sparsity (0.004, now 0.5)"),
        (["--knowledge", "known.toml"], "the background knowledge"),
        ([], "the data"),
    ],
)
def test_resuming_a_finished_fit_with_something_else(folder, capsys, options, difference, more):
    (folder / "known.toml").write_text('roots = ["X1"]')
    assert fit() == 0
    before = content("out")
    capsys.readouterr()
    if not options:
        make_data(1).to_npz("data.npz", overwrite=True)
    assert fit("--resume", *options, *more) == 2
    line = said(capsys)
    assert f"out holds the finished result of another fit, which differs in {difference}: repeat what" in line
    assert "--force" in line
    assert content("out") == before


def test_a_finished_result_that_does_not_say_whose_it_is(folder, capsys):
    """Older versions did not record the data."""
    assert fit() == 0
    graph = json.loads((folder / "out/graph.json").read_text())
    del graph["data_digest"]
    (folder / "out/graph.json").write_text(json.dumps(graph))
    before = content("out")
    for more in ([], ["--bootstrap", "1"]):
        capsys.readouterr()
        assert fit("--resume", *more) == 2
        assert "out holds a finished result that does not record which data it was learned from" in said(capsys)
        assert content("out") == before


def test_a_baseline_is_not_a_finished_fit(folder, capsys):
    assert main(["baseline", "ges", "data.npz", "--out", "out"]) == 0
    before = content("out")
    capsys.readouterr()
    assert fit("--resume", "--bootstrap", "1") == 2
    assert "does not record which data" in said(capsys)
    assert content("out") == before


# ------------------------------------------------------------------------------------------------------- refits


def test_refits_are_added_to_a_finished_fit(folder, capsys, monkeypatch):
    assert fit("--bootstrap", "4", out="at_once") == 0
    assert fit() == 0
    graph = (folder / "out/graph.json").read_bytes()
    rows = []
    run = Discovery.run

    def counted(discovery, *arguments, **options):
        rows.append(sum(regime.n_rows for regime in discovery.graph_fitting.regimes))
        return run(discovery, *arguments, **options)

    monkeypatch.setattr(Discovery, "run", counted)
    for number in (1, 3, 4, 4, 2):
        capsys.readouterr()
        assert fit("--resume", "--bootstrap", str(number)) == 0
        printed = capsys.readouterr().out
        if number == 2:
            assert printed == "out holds a finished fit: there is nothing to resume\n"
    assert len(rows) == 4  # each refit once, and never the fit itself
    assert max(rows) < sum(regime.n_rows for regime in make_data().interventional)
    assert (folder / "out/graph.json").read_bytes() == graph
    assert content("out") == content("at_once")
    assert Stability.load("out").n_resamples == 4


def test_refits_that_were_interrupted(folder, capsys, monkeypatch):
    assert fit("--bootstrap", "2", "--report", out="plain") == 0
    with monkeypatch.context() as patch:
        patch.setattr("enco.resampling.resample", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
        assert fit("--bootstrap", "2", "--report") == 130
    assert "the same command with --resume" in capsys.readouterr().err
    assert fit("--bootstrap", "2", "--report", "--resume") == 0
    found, plain = content("out"), content("plain")
    for each in (found, plain):
        del each["report.html"]  # tells the time that the fit took
    assert found == plain


@pytest.mark.parametrize("damage", ["gone", "broken", "other"])
def test_refits_without_the_networks(folder, capsys, damage):
    assert fit() == 0
    networks = folder / "out/networks.npz"
    if damage == "gone":
        networks.unlink()
    elif damage == "broken":
        networks.write_bytes(b"text")
    else:
        np.savez(networks, **{name: value[:1] for name, value in np.load(networks).items()})
    before = content("out")
    capsys.readouterr()
    assert fit("--resume", "--bootstrap", "1") == 2
    assert "networks.npz" in said(capsys)
    assert content("out") == before


def test_refits_of_another_analysis(folder, capsys):
    assert fit("--bootstrap", "1") == 0
    stability = json.loads((folder / "out/stability.json").read_text())
    (folder / "out/stability.json").write_text(json.dumps({**stability, "seed": 7}))
    before = content("out")
    capsys.readouterr()
    assert fit("--resume", "--bootstrap", "2") == 2
    assert "belong to another analysis, which differs in its seed" in said(capsys)
    assert content("out") == before


# ------------------------------------------------------------------------------------------------------ the lock

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX processes and signals")
PROGRAM = [sys.executable, "-c", "import sys; from enco.cli import main; sys.exit(main())"]
FOREVER = ["--set", "max_epochs=1000000", "--set", "settled_epochs=1000000"]


@pytest.fixture
def endless(folder):
    command = [*PROGRAM, "fit", "data.npz", "--out", "out", "--threads", "1", *SETTINGS, *FOREVER]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not (folder / "out/checkpoint.npz").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process
        process.kill()


@needs_fork
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_two_fits_into_one_folder(folder, capsys, endless, number):
    commands = (
        ["fit", "data.npz", "--out", "out", *SETTINGS, "--force"],
        ["fit", "data.npz", "--out", "out", *SETTINGS, "--resume"],
        ["baseline", "ges", "data.npz", "--out", "out", "--force"],
        ["demo", "--out", "out"],
    )
    for command in commands:
        assert main(command) == 2
        assert f"out is in use by process {endless.pid}, which writes to it: wait" in said(capsys)
    assert endless.poll() is None
    with pytest.raises(EncoError, match=f"process {endless.pid}"):
        small_result().save("out")
    endless.send_signal(number)
    endless.wait()
    assert (folder / "out" / LOCK).exists() == (number == signal.SIGKILL)
    assert fit("--force") == 0
    assert sorted(content("out")) == ["edges.csv", "graph.json", "history.csv", "networks.npz", "parameters.npz"]


def test_the_lock_goes_with_a_fit_that_failed(folder, capsys):
    (folder / "out").mkdir()
    assert fit(data="nowhere.npz") == 2
    assert content("out") == {}
    assert fit("--set", "engine=fused", "--set", "layers=2") == 2
    assert content("out") == {}


def test_the_folder_is_looked_at_after_the_lock_is_there(folder, capsys, monkeypatch):
    """Another fit may end between the two."""
    assert fit(out="done") == 0

    def late(place):
        (folder / "done").rename(folder / "out")
        return locked(place)

    monkeypatch.setattr("enco.io._lock.locked", late)
    capsys.readouterr()
    assert fit() == 2
    assert "out holds a finished fit" in said(capsys)


# --------------------------------------------------------------------------------------------------- a full disk


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("moment", ["checkpoint", "epoch", "parameters", "tables", "networks", "page", "exchange"])
def test_force_on_a_full_disk_keeps_the_old_result(folder, capsys, monkeypatch, moment):
    assert fit("--report", "--bootstrap", "1") == 0
    before = content("out")
    with monkeypatch.context() as patch:
        if moment == "checkpoint":
            patch.setattr(checkpoint.np, "savez", full)
        elif moment == "epoch":
            run = Discovery.run

            def filling(discovery, *arguments):
                patch.setattr(checkpoint.np, "savez", full)
                run(discovery, *arguments)

            patch.setattr(Discovery, "run", filling)
        elif moment == "parameters":
            patch.setattr("enco.result.storage.np.savez", _unless_state(np.savez))
        elif moment == "tables":
            patch.setattr("enco.result.storage.table_as_csv", full)
        elif moment == "networks":
            patch.setattr("enco.fitting.networks.write_networks", full)
        elif moment == "page":
            patch.setattr("enco.report.page.render_report", full)
        else:
            patch.setattr(os, "rename", full)
        capsys.readouterr()
        assert fit("--seed", "1", "--force", "--report") == 2
        assert "No space left on device" in capsys.readouterr().err.splitlines()[-1]
    found = content("out")
    left = found.pop("checkpoint.npz", None)
    found.pop("checkpoint.journal", None)
    assert found == before
    assert (left is None) == (moment == "checkpoint")
    if left is not None:
        capsys.readouterr()
        assert fit("--seed", "1") == 2
        assert "out holds a finished fit, and an unfinished one that was to replace it" in said(capsys)
        assert fit("--resume") == 0  # of the old fit: it is finished, and the new one's checkpoint is kept
        assert (folder / "out/checkpoint.npz").read_bytes() == left
        assert fit("--seed", "1", "--resume") == 0
        assert fit("--seed", "1", out="plain") == 0
        assert content("out") == content("plain")


def _unless_state(savez):
    """Write checkpoints, which hold a state, and nothing else."""

    def write(file, **arrays):
        return savez(file, **arrays) if "state.rng" in arrays else full()

    return write


def test_force_that_is_interrupted_keeps_the_old_result(folder, monkeypatch):
    assert fit() == 0
    before = content("out")
    with monkeypatch.context() as patch:
        patch.setattr(Discovery, "_fit_graph", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
        assert fit("--seed", "1", "--force") == 130
    found = content("out")
    del found["checkpoint.npz"]
    assert found == before
    assert Result.load("out").seed == 0


def test_commands_read_the_result_that_counts_after_a_kill_in_the_exchange(folder, capsys):
    assert fit() == 0
    assert fit("--seed", "1", out="new") == 0
    (folder / "new.json").write_bytes((folder / "new/graph.json").read_bytes())
    (folder / "new").rename(folder / "out" / NEXT)
    assert Result.load("out").seed == 1
    for command in (
        ["plot", "out", "--out", "a.png"],
        ["export", "out", "--out", "a.gml"],
        ["report", "out", "--out", "a.html"],
    ):
        assert main(command) == 0
    capsys.readouterr()
    assert main(["evaluate", "out", "new.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shd"] == 0
    capsys.readouterr()
    assert fit("--seed", "1", "--resume") == 0
    assert capsys.readouterr().out == "out holds a finished fit: there is nothing to resume\n"
    assert not (folder / "out" / NEXT).exists()
    assert json.loads((folder / "out/graph.json").read_text())["seed"] == 1
