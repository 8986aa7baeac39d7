"""Read damaged files, many of them, in a process of its own: run by `test_fuzz.py`, or by hand.

    python tests/fuzz_worker.py FIRST COUNT [FORMAT ...]

For every format a valid file is made, damaged in a way that the number of the trial decides, and handed to the package
as a user would. Only two outcomes are right: it is accepted, or refused with an error of this package. Everything else
(another exception, a warning, more than `MOST_SECONDS`) is a finding. A JSON report, with the memory that was needed,
is printed at the end; if the process dies, the last line it printed names the trial.
"""

import contextlib
import faulthandler
import io
import json
import re
import resource
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from enco import simulate
from enco.cli import main
from enco.data import InterventionalData
from enco.errors import EncoError
from enco.fitting.checkpoint import Identity, read_checkpoint, write_checkpoint
from enco.fitting.loop import Discovery
from enco.io import read_graph, write_data
from enco.knowledge import Knowledge
from enco.result import Result
from enco.settings import Settings

MOST_SECONDS = 20

Read = Callable[[Path], object]
EXTREMES = [
    b"-1",
    b"0",
    b"1e999",
    b"nan",
    b"99999999999999999999",
    b"1e-320",
    b"",
    b"\xff\xfe",
    b"\x00",
    b"None",
    b"{}",
]
EXTREMES += ['"\N{SNOWMAN}"'.encode(), b'"' * 50, b"[" * 5000, b"," * 200, b"\r", b"\n\n", b"2147483648", b"-0.0"]

BIF = """
network tiny { property author nobody; }
variable rain { type discrete [ 2 ] { no, yes }; property position = (1, 2) ; }
variable "wet grass" { type discrete [ 3 ] { dry, "a, bit", soaked }; }
probability ( rain ) { table 0.8, 0.2; }  // a comment
probability ( "wet grass" | rain ) { (no) 0.9, 0.1, 0.0; (yes) 0.0, 0.25, 0.75; }
"""
TOML = """
required = [["A", "B"]]  # known
forbidden = [["C", "A"], ["C", "B"]]
tiers = [["A"], ["B", "C"]]
roots = ["A"]
leaves = ["C"]
"""


def mixed_data() -> InterventionalData:
    rng = np.random.default_rng(0)
    return simulate.mixed("chain", 4, rng).dataset(30, 8, rng=rng)


def small_fit() -> tuple[Discovery, InterventionalData, Identity]:
    rows = np.random.default_rng(0).integers(0, 3, (30, 3))
    data = InterventionalData.from_environments([rows, rows[:8]], [None, "X1"])
    settings = Settings(max_epochs=1, hidden=4, first_fit_steps=5, graph_steps=2)
    return Discovery(data, settings=settings), data, Identity.of(data, settings, seed=0)


# ----------------------------------------------------------------------------------------------------------- damage


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Change one place, seldom more: a bit, bytes, a piece cut or repeated, a word for another or an extreme one."""
    for _ in range(int(rng.geometric(0.7))):
        size = len(content)
        start, length = int(rng.integers(size + 1)), int(rng.choice([1, 1, 2, 4, 30]))
        end = min(size, start + length)
        kind = rng.choice([0, 0, 0, 1, 2, 3, 4, 5, 6, 6, 7, 7])
        if kind == 0 and size:
            start = min(start, size - 1)
            content = content[:start] + bytes([content[start] ^ (1 << int(rng.integers(8)))]) + content[start + 1 :]
        elif kind == 1:
            content = content[:start] + rng.bytes(end - start) + content[end:]
        elif kind == 2:
            content = content[:start] + content[end:]
        elif kind == 3:
            content = content[:end] + content[start:end] * int(rng.integers(1, 30)) + content[end:]
        elif kind == 4:
            content = content[:start]
        elif kind == 5:
            content = content[:start] + EXTREMES[rng.integers(len(EXTREMES))] + content[start:]
        else:
            words = list(re.finditer(rb"[\w.+-]+", content))
            if words:
                word = words[rng.integers(len(words))]
                other = words[rng.integers(len(words))].group() if kind == 6 else EXTREMES[rng.integers(len(EXTREMES))]
                content = content[: word.start()] + other + content[word.end() :]
    return content


def damaged_archive(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage one member of a zip file and pack it again with right checksums; one time in three, the file itself."""
    if rng.random() < 1 / 3:
        return damaged(content, rng)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = sorted(members)[rng.integers(len(members))]
    if rng.random() < 0.5:  # the header of an array decides its type and shape
        cut = members[chosen].find(b"\n") + 1
        members[chosen] = damaged(members[chosen][:cut], rng) + members[chosen][cut:]
    else:
        members[chosen] = damaged(members[chosen], rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return stream.getvalue()


# ---------------------------------------------------------------------------------------------------------- formats


def describe(path: Path) -> None:
    """Through the command line, as a user would."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = main(["describe", str(path)])
    if code == 2 and said.getvalue().startswith("error: ") and said.getvalue().count("\n") == 1:
        if "not enough memory" in said.getvalue():
            raise MemoryError(said.getvalue())
        raise EncoError(said.getvalue())
    if code or said.getvalue():
        raise AssertionError(f"code {code}: {said.getvalue()}")


def read_bif(path: Path) -> None:
    simulate.from_bif(path).dataset(3, 1, rng=np.random.default_rng(0))


def read_toml(path: Path) -> None:
    Knowledge.from_toml(path).constraints(("A", "B", "C"))


def read_state(path: Path) -> None:
    discovery, _, identity = small_fit()
    read_checkpoint(path, discovery, identity=identity)
    discovery.settled()


def read_result(path: Path) -> None:
    """The file is one of a result's folder."""
    result = Result.load(path.parent)
    result.to_networkx()
    repr(result)


def formats(folder: Path) -> dict[str, tuple[Path, Callable[[bytes, np.random.Generator], bytes], Read]]:
    """Write a valid file of every format; return where, how to damage it, and how a user reads it."""
    made: dict[str, tuple[Path, Callable[[bytes, np.random.Generator], bytes], Read]] = {}
    data = mixed_data()
    for suffix in ("csv", "npz", "parquet", "h5ad"):
        path = folder / f"data.{suffix}"
        write_data(data, path)
        made[suffix] = path, damaged_archive if suffix == "npz" else damaged, describe
    for name, text, read in (("net.bif", BIF, read_bif), ("known.toml", TOML, read_toml)):
        (folder / name).write_text(text)
        made[name.partition(".")[2]] = folder / name, damaged, read
    discovery, rows, identity = small_fit()
    discovery.run()
    write_checkpoint(folder / "checkpoint.npz", discovery, identity=identity, seconds=1.0)
    made["checkpoint"] = folder / "checkpoint.npz", damaged_archive, read_state
    Result.from_discovery(discovery, rows, seconds=1.0, seed=0).save(folder / "result")
    for name in ("graph.json", "history.csv"):
        made[name] = folder / "result" / name, damaged, read_result
    made["parameters"] = folder / "result" / "parameters.npz", damaged_archive, read_result
    made["edges.csv"] = folder / "result" / "edges.csv", damaged, read_graph
    (folder / "graph.json").write_bytes((folder / "result" / "graph.json").read_bytes())
    made["truth"] = folder / "graph.json", damaged, read_graph
    return made


def trial(path: Path, content: bytes, read: Read) -> str:
    """Say how a damaged file was received: accepted, refused, or what went wrong."""
    path.write_bytes(content)
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(path)
        return "accepted"
    except EncoError:
        return "refused"
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
        return f"{type(error).__name__}: {str(error)[:200]} ({where})"
    finally:
        faulthandler.cancel_dump_traceback_later()


def run(first: int, count: int, chosen: list[str]) -> dict[str, dict[str, object]]:
    report: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, (path, damage, read) in formats(Path(place)).items():
            if chosen and name not in chosen:
                continue
            valid = path.read_bytes()
            tally: dict[str, object] = {"accepted": 0, "refused": 0, "findings": [], "intact": trial(path, valid, read)}
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for number in range(first, first + count):
                print(name, number, flush=True)  # noqa: T201
                content = damage(valid, np.random.default_rng([number, len(valid)]))
                outcome = trial(path, content, read)
                if outcome in ("accepted", "refused"):
                    tally[outcome] += 1  # type: ignore[operator]
                else:
                    tally["findings"].append(f"{number}: {outcome}")  # type: ignore[attr-defined]
            path.write_bytes(valid)
            tally["memory"] = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
            report[name] = tally
    return report


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))  # noqa: T201
