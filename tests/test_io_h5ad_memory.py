"""Reading h5ad files needs no limit on the calling process: another process looks first, under a limit of its own."""

import resource
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest

from enco.data import InterventionalData
from enco.errors import DataError, FileFormatError
from enco.io import read_data, write_data
from enco.system import process_memory
from enco.system.process_memory import peak_memory

DATA = InterventionalData.from_environments([np.eye(3), np.eye(3)], [None, "X1"])
LARGE = 3 << 28  # bytes, more than the process that looks may take


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_data(DATA, tmp_path / "data.h5ad")
    return tmp_path / "data.h5ad"


def test_limits_of_the_calling_process_stay(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that set and restore them in turns left them lowered."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    changes: list[object] = []
    monkeypatch.setattr(resource, "setrlimit", lambda *change: changes.append(change))
    with ThreadPoolExecutor(4) as pool:
        assert all(found == DATA for found in pool.map(read_data, [path] * 8))
    assert changes == []
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def refused_in_little_memory(path: Path, words: str) -> None:
    before = peak_memory() or 0
    with pytest.raises(FileFormatError, match=words):
        read_data(path)
    assert (peak_memory() or 0) - before < LARGE / 4


def deflated_zeros(size: int) -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()


def test_a_chunk_that_inflates_to_far_more_than_its_array(path: Path) -> None:
    with h5py.File(path, "a") as file:
        small = file.create_dataset("layers/bomb", shape=(6, 3), dtype="f4", chunks=(6, 3), compression="gzip")
        small.id.write_direct_chunk((0, 0), deflated_zeros(LARGE))
    refused_in_little_memory(path, r"'layers/bomb' cannot be read in the memory that its size asks for: .* copy it")


def test_many_references_to_one_long_text(path: Path) -> None:
    """Texts of varying length lie in a heap, where any number of cells may point to the same one."""
    with h5py.File(path, "a") as file:
        cells = file.create_dataset("uns/cells", shape=(LARGE >> 20,), dtype=h5py.string_dtype())
        cells[0] = "x" * (1 << 20)
        reference = b"".join(
            number.to_bytes(size, "little") for number, size in zip(heap_reference(cells), (4, 8, 4), strict=True)
        )
        file.flush()
        place = cells.id.get_offset()
    content = bytearray(path.read_bytes())
    content[place : place + len(reference) * (LARGE >> 20)] = reference * (LARGE >> 20)
    path.write_bytes(content)
    refused_in_little_memory(path, r"'uns/cells' cannot be read in the memory that its size asks for: .* copy it")


def heap_reference(cells: h5py.Dataset) -> tuple[int, int, int]:
    """Length of the first text, address of its heap, and its number there."""
    with Path(cells.file.filename).open("rb") as file:
        cells.file.flush()
        file.seek(cells.id.get_offset())
        raw = file.read(16)
    return int.from_bytes(raw[:4], "little"), int.from_bytes(raw[4:12], "little"), int.from_bytes(raw[12:], "little")


def test_a_file_larger_than_the_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(path, "a") as file:
        file["uns/large"] = np.zeros((5, 50_000))
    assert read_data(path) == DATA
    monkeypatch.setattr(process_memory, "available_memory", lambda: 1_000_000)
    with pytest.raises(DataError, match=r"data\.h5ad: .* needs about 2 MB of memory and 1 MB are free: .*"):
        read_data(path)


def test_compressed_files_with_large_chunks_are_read(path: Path) -> None:
    with h5py.File(path, "a") as file:
        values = file["X"][()]
        del file["X"]
        file.create_dataset("X", data=values, chunks=values.shape, compression="gzip", shuffle=True)
        file["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        file.create_dataset("layers/dull", data=np.zeros((6, 3)), chunks=(6, 3), compression="lzf")
    assert read_data(path) == DATA
