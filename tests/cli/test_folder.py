"""The folder of a result: what is in it is never lost, never mixed, and never somebody else's."""

import json
from pathlib import Path

import numpy as np
import pytest

from enco import simulate
from enco.cli import main
from enco.result import Result

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
