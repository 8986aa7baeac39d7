"""What the fuzz test has found, one test each, so that it stays found."""

import io
import json
import subprocess
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from enco.data import InterventionalData
from enco.discover import conclude
from enco.errors import FileFormatError
from enco.fitting.checkpoint import Identity, read_checkpoint, write_checkpoint
from enco.fitting.loop import Discovery
from enco.io import read_data, write_data
from enco.io._archive import Archive
from enco.result import Result
from enco.settings import Settings

DATA = InterventionalData.from_environments([np.eye(3), np.eye(3)], [None, "X1"])


def test_parquet_with_text_that_is_no_utf8(tmp_path):
    text = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    pq.write_table(pa.table({"a": [0, 1], "b": text, "c": [1, 0]}), tmp_path / "data.parquet")
    with pytest.raises(FileFormatError, match=r"data\.parquet: this is not a readable Parquet file"):
        read_data(tmp_path / "data.parquet", None)


def test_parquet_with_a_record_that_is_no_text(tmp_path):
    write_data(DATA, tmp_path / "data.parquet")
    table = pq.read_table(tmp_path / "data.parquet")
    for old, new in ((b"version", b"\xf6ersion"), (b'"version": 1', b'"version": 2'), (b"X1", b"X\xff")):
        text = table.schema.metadata[b"enco"].replace(old, new)
        pq.write_table(table.replace_schema_metadata({b"enco": text}), tmp_path / "changed.parquet")
        with pytest.raises(FileFormatError, match=r"changed\.parquet: the record of kinds and levels is damaged"):
            read_data(tmp_path / "changed.parquet")


@pytest.mark.parametrize("text", ["00000000000000000000012.5", "-000000000000.6721381", "12.500000000000000000000000"])
def test_csv_with_many_zeros(tmp_path, text):
    """The faster parsers count zeros as digits, of which they read 17."""
    (tmp_path / "data.csv").write_text(f"A,B,perturbation\n{text},1.5,\n2.5,3.5,\n")
    assert read_data(tmp_path / "data.csv").column("A")[0] == np.float32(text)


def test_csv_that_is_cut_off_before_the_targets(tmp_path):
    whole = b"A,B,perturbation\n1.5,2.5,\n1.5,2.5,A\n"
    (tmp_path / "data.csv").write_bytes(whole)
    assert len(read_data(tmp_path / "data.csv").interventional) == 1
    for cut in (3, 4, 6):
        (tmp_path / "data.csv").write_bytes(whole[:-cut])
        with pytest.raises(FileFormatError, match=r"data\.csv: the last line is cut off"):
            read_data(tmp_path / "data.csv")
    (tmp_path / "data.csv").write_bytes(whole + b"1.5,2.5\n")  # as some programs write empty cells
    assert read_data(tmp_path / "data.csv").observational.n_rows == 2


def test_checkpoint_with_a_random_state_beyond_64_bits(tmp_path):
    fit, identity = Discovery(DATA, settings=Settings()), Identity.of(DATA, Settings(), seed=0)
    write_checkpoint(tmp_path / "a.npz", fit, identity=identity, seconds=1.0)
    with np.load(tmp_path / "a.npz") as file:
        arrays = dict(file)
    state = json.loads(str(arrays["state.rng"])) | {"has_uint32": 1, "uinteger": 2**80}
    np.savez(tmp_path / "a.npz", **arrays | {"state.rng": np.array(json.dumps(state))})
    with pytest.raises(FileFormatError, match=r"a\.npz: this checkpoint is damaged"):
        read_checkpoint(tmp_path / "a.npz", fit, identity=identity)


def test_npz_with_a_header_that_does_not_end(tmp_path):
    stream = io.BytesIO()
    np.save(stream, np.eye(2))
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("data_obs.npy", stream.getvalue().replace(b"}", b"("))
    with pytest.raises(FileFormatError, match=r"the array 'data_obs' cannot be read"):
        read_data(tmp_path / "data.npz")


def test_npz_with_a_name_that_is_no_text(tmp_path):
    names = np.array(["a", "b", "c"])
    names.view(np.uint32)[1] = 0x7FFFFFFF
    np.savez(tmp_path / "data.npz", data_obs=np.eye(3), names=names)
    with Archive(tmp_path / "data.npz") as archive, pytest.raises(FileFormatError, match="no characters"):
        archive.array("names")


@pytest.mark.parametrize("how", ["ends the process", "takes for ever"])
def test_h5ad_with_texts_that_cannot_be_read(tmp_path, how, monkeypatch):
    """HDF5 died, or never came back, where a text pointed out of the file: another process looks first."""
    path = tmp_path / "data.h5ad"
    write_data(DATA, path)
    assert read_data(path) == DATA

    def look(command, **options):
        if how == "takes for ever":
            raise subprocess.TimeoutExpired(command, options["timeout"])
        return subprocess.CompletedProcess(command, -11, stdout=b"")

    monkeypatch.setattr(subprocess, "run", look)
    with pytest.raises(FileFormatError, match=r"data\.h5ad: this h5ad file is damaged: copy it again"):
        read_data(path)


def test_h5ad_with_an_array_larger_than_its_file_can_hold(tmp_path):
    path = tmp_path / "data.h5ad"
    write_data(DATA, path)
    with h5py.File(path, "a") as file:
        file.create_dataset("layers/huge", shape=(10**6, 10**6), dtype="f4", chunks=(1000, 1000))
    with pytest.raises(FileFormatError, match=r"'layers/huge' claims 4,000,000,000,000 bytes"):
        read_data(path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("order_report", {}, "'order_report' must be an object"),
        ("order_report", 7, "'order_report' must be an object"),
        ("variables", ["X1", "X1", "X3"], "'variables' must be a list of different names"),
        ("variables", [["X1"], "X2", "X3"], "'variables' must be a list of different names"),
        ("order", ["X1", "X2"], "'order' must list every variable once"),
    ],
)
def test_a_result_with_changed_names_or_report(key, value, words, tmp_path):
    fit = Discovery(DATA, settings=Settings())
    conclude(fit, DATA, seconds=0.0, seed=0).save(tmp_path)
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(FileFormatError, match=words):
        Result.load(tmp_path)
