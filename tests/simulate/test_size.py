"""More rows, variables or levels than there is room for are refused before anything is drawn or written."""

import shutil
from collections import namedtuple

import numpy as np
import pytest

from enco import simulate
from enco.cli import main
from enco.data import InterventionalData
from enco.errors import EncoError, SettingsError
from enco.io import write_data
from enco.system import process_memory

Usage = namedtuple("Usage", "total used free")
MODEL = simulate.categorical("chain", 4, np.random.default_rng(0), categories=3)
MIXED = simulate.mixed("chain", 4, np.random.default_rng(0))


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setattr(process_memory, "available_memory", lambda: 50_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 9 * 10**8, 10**8))


@pytest.mark.parametrize("rows", [10**11, 10**20, 10**400])
@pytest.mark.parametrize("option", ["--rows", "--interventional-rows"])
@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_rows_on_the_command_line(rows, option, suffix, tmp_path, capsys):
    out = tmp_path / f"data.{suffix}"
    assert main(["simulate", "--variables", "5", "--out", str(out), option, str(rows)]) == 2
    printed = capsys.readouterr().err
    kind = r"of memory" if suffix != "npz" else "on disk"
    assert printed.startswith("error: ")
    assert printed.count("\n") == 1
    assert f" {kind} and " in printed
    assert "are free: " in printed
    assert "fewer rows" in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("little_room")
def test_the_need_is_that_of_the_rows(tmp_path):
    rng = np.random.default_rng(0)
    with pytest.raises(EncoError, match=r"cannot write .*a\.npz: .* about 200 MB on disk and 100 MB are free: "):
        MODEL.write_npz(tmp_path / "a.npz", 10_000_000, 10_000_000, rng=rng)
    with pytest.raises(EncoError, match=r"needs about 200 MB of memory and 50 MB are free: .*write_npz"):
        MODEL.dataset(10_000_000, 10_000_000, rng=rng)
    with pytest.raises(SettingsError, match=r"needs about 100 MB of memory and 50 MB are free: "):
        MIXED.sample(10_000_000, rng=rng)
    MODEL.write_npz(tmp_path / "b.npz", 1_000, 1_000, rng=rng)
    assert MODEL.dataset(1_000, 1_000, rng=rng).n_rows == 5_000


@pytest.mark.parametrize("suffix", ["npz", "csv", "h5ad"])
def test_every_writer_looks_at_the_disk(suffix, tmp_path, monkeypatch):
    data = InterventionalData.from_environments([np.zeros((100_000, 3)), np.ones((10, 3))], [None, "X1"])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 100_000))
    with pytest.raises(EncoError, match=rf"cannot write .*a\.{suffix}: .* on disk and 0 MB are free: "):
        write_data(data, tmp_path / f"a.{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_text_takes_more_memory_than_its_numbers(tmp_path, monkeypatch):
    data = InterventionalData.from_environments([np.zeros((100_000, 3)), np.ones((10, 3))], [None, "X1"])
    monkeypatch.setattr(process_memory, "available_memory", lambda: 5_000_000)
    with pytest.raises(EncoError, match=r"a\.csv: .* needs about \d+ MB of memory and 5 MB are free: .*npz"):
        write_data(data, tmp_path / "a.csv")


@pytest.mark.parametrize("size", [40_000, 10**12, 10**20, 10**400])
@pytest.mark.parametrize("structure", ["random", "chain", "full", "jungle", "collider", "bidiag", "regular"])
def test_variables(size, structure):
    with pytest.raises(SettingsError, match=r"a graph can have 32,768 variables, but n is \d.{,90}$"):
        simulate.categorical(structure, size, np.random.default_rng(0))


def test_variables_beyond_the_memory(monkeypatch):
    monkeypatch.setattr(process_memory, "available_memory", lambda: 1_000_000)
    with pytest.raises(SettingsError, match="graph of 1,000 variables needs about 16 MB of memory and 1 MB are"):
        simulate.categorical("random", 1_000, np.random.default_rng(0))


@pytest.mark.parametrize("categories", [70_000, 2**40, 2**63, 10**400])
def test_categories(categories):
    with pytest.raises(SettingsError, match=r"categories, from 2 to 65,535, but got \d.{,90}$"):
        simulate.categorical("chain", 3, np.random.default_rng(0), categories=categories)
