"""Checkpoints: continuing from one gives the same bits, another fit's is refused with the reason, damage is noticed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from enco.data import InterventionalData
from enco.errors import FileFormatError, SettingsError
from enco.fitting.checkpoint import Identity, read_checkpoint, write_checkpoint
from enco.fitting.loop import Discovery
from enco.knowledge import Knowledge
from enco.settings import Settings

SETTINGS = Settings(max_epochs=3, first_fit_steps=60, fit_steps=30, graph_steps=10, orientation_passes=1, hidden=16)


def make_data(seed=0):
    rng = np.random.default_rng(seed)
    blocks = [rng.integers(3, size=(rows, 4)) for rows in (120, 20, 30)]
    return InterventionalData.from_environments(blocks, [None, "X1", ["X2", "X3"]])


DATA = make_data()
IDENTITY = Identity.of(DATA, SETTINGS, seed=7)


def make_fit():
    return Discovery(DATA, settings=SETTINGS, seed=7)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.npz"


def same(one, other):
    first, second = one.state(), other.state()
    assert first.keys() == second.keys()
    return all(np.array_equal(first[name], second[name]) for name in first)


def test_continuing_from_any_epoch_gives_the_same_bits(tmp_path):
    whole = make_fit()

    def save(fit):
        write_checkpoint(tmp_path / f"{fit.epoch}.npz", fit, identity=IDENTITY, seconds=fit.epoch * 1.5)

    save(whole)
    whole.run(on_epoch=save)
    assert whole.epoch == 3
    for epoch in range(4):
        continued = make_fit()
        assert read_checkpoint(tmp_path / f"{epoch}.npz", continued, identity=IDENTITY) == epoch * 1.5
        assert continued.epoch == epoch
        assert same(continued, whole) == (epoch == 3)
        continued.run()
        assert same(continued, whole)


def test_equal_states_are_equal_files(tmp_path):
    for name in "ab":
        write_checkpoint(tmp_path / name, make_fit(), identity=IDENTITY, seconds=0.0)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_no_pickle_is_needed(path):
    write_checkpoint(path, make_fit(), identity=IDENTITY, seconds=0.0)
    with np.load(path, allow_pickle=False) as arrays:
        assert all(arrays[name].dtype.kind in "fiuU" for name in arrays)


def relabelled():
    names = ["X1", "X2", "X3", "Y4"]
    blocks = [np.column_stack([DATA.column(name, regime) for name in DATA.names]) for regime in DATA.regimes]
    return InterventionalData.from_environments(blocks, [None, "X1", ["X2", "X3"]], names=names)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (Identity.of(make_data(1), SETTINGS, seed=7), "the data:"),
        (Identity.of(relabelled(), SETTINGS, seed=7), "the data:"),
        (Identity.of(DATA.without_regimes(["X1"]), SETTINGS, seed=7), "the data:"),
        (Identity.of(DATA, SETTINGS, seed=8), "the seed (7, now 8):"),
        (
            Identity.of(DATA, replace(SETTINGS, sparsity=0.5), seed=7),
            f"setting sparsity ({SETTINGS.sparsity}, now 0.5):",
        ),
        (Identity.of(DATA, SETTINGS, knowledge=Knowledge(roots=["X1"]), seed=7), "the background knowledge:"),
        (replace(IDENTITY, version="0.0.0"), f"the version ({IDENTITY.version}, now 0.0.0):"),
        (
            Identity.of(make_data(1), replace(SETTINGS, hidden=8), seed=8),
            "the data, setting hidden (16, now 8), the seed (7, now 8):",
        ),
    ],
)
def test_the_checkpoint_of_another_fit(path, other, difference):
    write_checkpoint(path, make_fit(), identity=IDENTITY, seconds=0.0)
    fit = make_fit()
    with pytest.raises(SettingsError) as caught:
        read_checkpoint(path, fit, identity=other)
    assert f"belongs to another fit, which differs in {difference}" in str(caught.value)
    assert same(fit, make_fit())


def test_knowledge_is_compared_by_content(path):
    known = Knowledge(required=[("X1", "X2")], tiers=[["X1"], ["X2"]])
    identity = Identity.of(DATA, SETTINGS, knowledge=known, seed=7)
    write_checkpoint(path, make_fit(), identity=identity, seconds=0.0)
    assert read_checkpoint(path, make_fit(), identity=identity) == 0.0
    assert Identity.of(DATA, SETTINGS, knowledge=Knowledge(), seed=7) == IDENTITY


def rewrite(path, **changes):
    """Replace arrays of a checkpoint; None removes one."""
    with np.load(path) as arrays:
        content = {**arrays, **changes}
    with path.open("wb") as stream:
        np.savez(stream, **{name: value for name, value in content.items() if value is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"identity": None}, "there is no array 'identity'"),
        ({"identity": np.array("{")}, "this is not a checkpoint of a fit"),
        ({"identity": np.array("[]")}, "this is not a checkpoint of a fit"),
        ({"identity": np.array('{"data": "x"}')}, "this is not a checkpoint of a fit"),
        (
            {"identity": np.array(json.dumps({"data": "x", "settings": 1, "knowledge": 2, "seed": 3}))},
            "this is not a checkpoint of a fit",
        ),
        ({"seconds": None}, "there is no array 'seconds'"),
        ({"seconds": np.array("soon")}, "this checkpoint is damaged"),
        ({"state.parameters.gamma": None}, "there is no array 'state.parameters.gamma'"),
        (
            {"state.parameters.gamma": np.zeros(3)},
            "the array 'parameters.gamma' is float64 (3,) instead of float64 (12,)",
        ),
        ({"state.parameters.gamma": np.zeros(12, np.float32)}, "instead of float64 (12,)"),
        ({"state.rng": np.array("{}")}, "this checkpoint is damaged"),
        ({"state.rng": np.array("nonsense")}, "this checkpoint is damaged"),
        ({"state.history": np.array('[{"epoch": 1}]')}, "this checkpoint is damaged"),
        ({"state.history": np.array("7")}, "this checkpoint is damaged"),
    ],
)
def test_checkpoints_with_the_wrong_content(path, changes, message):
    write_checkpoint(path, make_fit(), identity=IDENTITY, seconds=0.0)
    rewrite(path, **changes)
    with pytest.raises(FileFormatError) as caught:
        read_checkpoint(path, make_fit(), identity=IDENTITY)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_cut_off_and_flipped_files(path):
    write_checkpoint(path, make_fit(), identity=IDENTITY, seconds=0.0)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            read_checkpoint(path, make_fit(), identity=IDENTITY)
    middle = np.flatnonzero(np.frombuffer(whole, np.uint8))  # a flip in the data, not in the zero padding of a header
    for position in rng.choice(middle[len(middle) // 4 : len(middle) // 2], 20, replace=False):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        fit = make_fit()
        try:
            read_checkpoint(path, fit, identity=IDENTITY)
        except (FileFormatError, SettingsError):
            continue
        assert same(fit, make_fit())  # the flip was in a part of the archive that says nothing


def test_missing_file(path):
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_checkpoint(path, make_fit(), identity=IDENTITY)
