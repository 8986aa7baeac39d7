"""Files appear whole or not at all, and never replace another one by accident."""

import os
from pathlib import Path

import numpy as np
import pytest

from enco.data import InterventionalData
from enco.errors import EncoError, FileFormatError
from enco.io import read_data, write_data
from enco.io._atomic import atomic_file

SUFFIXES = ["npz", "csv", "parquet", "h5ad"]


@pytest.fixture
def data() -> InterventionalData:
    return InterventionalData.from_environments([np.eye(3, dtype=int), np.ones((2, 3), dtype=int)], [None, "X1"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_existing_files_are_kept_unless_overwriting_is_allowed(
    suffix: str, data: InterventionalData, tmp_path: Path
) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_text("precious")
    with pytest.raises(EncoError, match=r"exists already: choose another name or allow overwriting"):
        write_data(data, path)
    assert path.read_text() == "precious"
    write_data(data, path, overwrite=True)
    assert read_data(path) == data
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_left_when_the_disk_fails(
    suffix: str, data: InterventionalData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(EncoError, match=rf"cannot write .*a\.{suffix}: No space left on device"):
        write_data(data, tmp_path / f"a.{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_flushed_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[object] = []
    sync, replace = os.fsync, os.replace

    def record_sync(descriptor: int) -> None:
        events.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    def record_replace(start: Path, end: Path) -> None:
        events.append("rename")
        replace(start, end)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "replace", record_replace)
    with atomic_file(tmp_path / "a.txt") as temporary:
        assert temporary.parent == tmp_path
        temporary.write_text("text")
        written = temporary.stat().st_ino
    assert events == [written, "rename", tmp_path.stat().st_ino]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    def attempt() -> None:
        with atomic_file(tmp_path / "a.txt") as temporary:
            temporary.write_text("ours")
            (tmp_path / "a.txt").write_text("theirs")

    with pytest.raises(EncoError, match="exists already"):
        attempt()
    assert (tmp_path / "a.txt").read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 1


def test_interrupted_writing_leaves_nothing(tmp_path: Path) -> None:
    def attempt() -> None:
        with atomic_file(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt()
    assert list(tmp_path.iterdir()) == []


def test_permissions_and_links_are_those_of_an_ordinary_file(data: InterventionalData, tmp_path: Path) -> None:
    (tmp_path / "ordinary").write_text("")
    (tmp_path / "real").mkdir()
    (tmp_path / "link.npz").symlink_to(tmp_path / "real" / "a.npz")
    data.to_npz(tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink()
    assert (tmp_path / "real" / "a.npz").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_impossible_places(data: InterventionalData, tmp_path: Path) -> None:
    with pytest.raises(EncoError, match=r"the folder .*nowhere does not exist, create it first"):
        data.to_npz(tmp_path / "nowhere" / "a.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(EncoError, match="it is a folder, give a file name"):
        data.to_npz(tmp_path / "folder.npz", overwrite=True)
    with pytest.raises(EncoError, match=r"cannot write data to a '.xyz' file; use .npz"):
        write_data(data, tmp_path / "a.xyz")
    with pytest.raises(EncoError, match=r"cannot write .*: File name too long"):
        data.to_npz(tmp_path / ("a" * 300 + ".npz"))
    with pytest.raises(FileFormatError, match="cannot be the name of a file"):
        read_data(tmp_path / ("a" * 300 + ".npz"))
    with pytest.raises(EncoError, match="does not exist"):
        data.to_npz(tmp_path / "folder.npz" / "b" / "a.npz")
