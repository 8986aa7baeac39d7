"""Read damaged files, many of them, in a process of its own: run by `test_fuzz.py`, or by hand.

    python tests/fuzz_worker.py FIRST COUNT [FORMAT ...]

For every format a valid file is made, damaged in a way that the number of the trial decides, and handed to the package
as a user would. Only two outcomes are right: it is refused with an error of this package, or it is accepted and was
understood as what it says (`fuzz_values.py` reads it by other means). Everything else (another exception, a warning,
other values, more than `MOST_SECONDS`) is a finding. A JSON report, with the memory that was needed, is printed at the
end; if the process dies, the last line it printed names the trial.
"""

import contextlib
import faulthandler
import io
import json
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import enco.io
import fuzz_values as values
from enco import simulate
from enco.bench.records import Store
from enco.bench.spec import load_spec
from enco.bench.spec_tables import spec_table
from enco.cli import main
from enco.cli._graph_files import load_graph, write_graph
from enco.data import InterventionalData
from enco.discover import conclude
from enco.errors import EncoError
from enco.fitting.checkpoint import Identity, read_checkpoint, write_checkpoint
from enco.fitting.loop import Discovery
from enco.io import read_graph, write_data
from enco.knowledge import Knowledge
from enco.report import render_report
from enco.result import Result
from enco.settings import Settings
from enco.stability import Stability
from fuzz_damage import damaged, damaged_archive

MOST_SECONDS = 20

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
SPEC = """
title = "Mine"
kind = "categorical"
graphs = 2
first_seed = 7
columns = "structure"
metrics = ["shd", "f1"]
[problem]
variables = 4
edge_probability = 0.25
categories = 3
[axes]
rows = [50, 100]
structure = ["random"]
[methods.enco]
settings = { sparsity = 0.01, max_epochs = 2 }
"""
REPORT = {
    "components": [{"variables": ["X1", "X2"], "method": "exact", "score": 1.5, "gap": 0.0}],
    "gap": 0.25,
    "removed": [["X1", "X2"]],
    "refined": [{"move": "add", "added": [["X1", "X3"]], "removed": [["X2", "X3"]], "gain": 3.5}],
    "totals": [[20.0, 16.5]],
}


@dataclass(frozen=True)
class Format:
    """A valid file, how to damage it, how a user reads it, and how to tell whether it was understood."""

    path: Path
    damage: Callable[[bytes, np.random.Generator], bytes]
    read: Callable[[Path], Any]
    difference: Callable[[Path, Any], str | None]


def mixed_data() -> InterventionalData:
    rng = np.random.default_rng(0)
    return simulate.mixed("chain", 4, rng).dataset(30, 8, rng=rng)


def small_fit() -> tuple[Discovery, InterventionalData, Identity]:
    rows = np.random.default_rng(0).integers(0, 3, (30, 3))
    data = InterventionalData.from_environments([rows, rows[:8]], [None, "X1"])
    settings = Settings(max_epochs=1, hidden=4, first_fit_steps=5, graph_steps=2)
    return Discovery(data, settings=settings), data, Identity.of(data, settings, seed=0)


def small_stability() -> Stability:
    matrix = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], np.uint8)
    return Stability(
        variables=("X1", "X2", "X3"), frequency=0.75 * matrix, adjacency=matrix, consensus=matrix, n_resamples=4,
        share=0.5, seed=0, seconds=1.5,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- reading


def describe(path: Path) -> InterventionalData:
    """Through the command line, as a user would; return the data that it read."""
    said, seen, read_data = io.StringIO(), [], enco.io.read_data

    def remember(*arguments: Any, **options: Any) -> InterventionalData:
        seen.append(read_data(*arguments, **options))
        return seen[-1]

    enco.io.read_data = remember
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            code = main(["describe", str(path)])
    finally:
        enco.io.read_data = read_data
    if code == 2 and said.getvalue().startswith("error: ") and said.getvalue().count("\n") == 1:
        if "not enough memory" in said.getvalue():
            raise MemoryError(said.getvalue())
        raise EncoError(said.getvalue())
    if code or said.getvalue():
        raise AssertionError(f"code {code}: {said.getvalue()}")
    return seen[-1]


def read_bif(path: Path) -> simulate.SCM:
    model = simulate.from_bif(path)
    model.dataset(3, 1, rng=np.random.default_rng(0))
    return model


def read_toml(path: Path) -> Knowledge:
    knowledge = Knowledge.from_toml(path)
    knowledge.constraints(("A", "B", "C"))
    return knowledge


def read_state(path: Path) -> tuple[dict[str, Any], float]:
    discovery, _, identity = small_fit()
    seconds = read_checkpoint(path, discovery, identity=identity)
    discovery.settled()
    return discovery.state(), seconds


def read_result(path: Path) -> Result:
    """The file is one of a result's folder."""
    result = Result.load(path.parent)
    result.to_networkx()
    repr(result)
    render_report(result)
    return result


def read_stability(path: Path) -> Stability:
    found = Stability.load(path.parent)
    repr(found)
    found.to_frame()
    return found


def read_spec(path: Path) -> tuple[Any, Any]:
    spec = load_spec(path)
    plan = spec.plan(graphs=min(spec.graphs, 3))
    spec.check(plan)
    spec_table(spec, plan, Store())
    return spec, plan


def read_records(path: Path) -> dict[str, Any]:
    store = Store(path)
    spec = load_spec(path.with_name("spec.toml"))
    spec_table(spec, spec.plan(), store)
    return store.records


def read_settings(path: Path) -> Settings:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise EncoError("no text") from error  # which a command line cannot have either
    return Settings.parse(**dict(line.partition("=")[::2] for line in lines if line))


# ---------------------------------------------------------------------------------------------------------- formats


def formats(folder: Path) -> dict[str, Format]:
    """Write a valid file of every format."""
    made: dict[str, Format] = {}
    data = mixed_data()
    for suffix in ("csv", "npz", "parquet", "h5ad"):
        path = folder / f"data.{suffix}"
        write_data(data, path)
        damage = damaged_archive if suffix == "npz" else damaged
        made[suffix] = Format(path, damage, describe, getattr(values, f"{suffix}_data"))
    plain = folder / "plain.csv"
    plain.write_bytes((folder / "data.csv").read_bytes().partition(b"\n")[2])
    made["plain csv"] = Format(plain, damaged, describe, values.csv_data)
    for name, path, text, read, difference in (
        ("bif", "net.bif", BIF, read_bif, values.network_tables),
        ("toml", "known.toml", TOML, read_toml, values.known_edges),
        ("spec", "spec.toml", SPEC, read_spec, values.spec_values),
        ("settings", "settings.txt", settings_text(), read_settings, values.given_settings),
    ):
        (folder / path).write_text(text)
        made[name] = Format(folder / path, damaged, read, difference)
    write_records(folder / "records.jsonl", folder / "spec.toml")
    made["records"] = Format(folder / "records.jsonl", damaged, read_records, values.record_values)
    return made | fitted_formats(folder) | truth_formats(folder)


def fitted_formats(folder: Path) -> dict[str, Format]:
    """Write the files of fits."""
    made: dict[str, Format] = {}
    discovery, rows, identity = small_fit()
    discovery.run()
    write_checkpoint(folder / "checkpoint.npz", discovery, identity=identity, seconds=1.0)
    made["checkpoint"] = Format(folder / "checkpoint.npz", damaged_archive, read_state, values.checkpoint_state)
    result = conclude(discovery, rows, seconds=1.0, seed=0)
    edges = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], np.uint8)
    changed = {"adjacency": edges, "adjacency_raw": edges, "order": ("X1", "X2", "X3")}
    replace(result, **changed, order_report=REPORT, seconds=1.5).save(folder / "result")
    small_stability().save(folder / "result")
    for name, file, damage, read, difference in (
        ("graph.json", "graph.json", damaged, read_result, values.result_graph),
        ("history.csv", "history.csv", damaged, read_result, values.result_history),
        ("parameters", "parameters.npz", damaged_archive, read_result, values.result_arrays),
        ("edges.csv", "edges.csv", damaged, read_graph, values.csv_graph),
        ("stability.csv", "stability.csv", damaged, read_graph, values.csv_graph),
        ("stability.json", "stability.json", damaged, read_stability, values.stability_values),
    ):
        made[name] = Format(folder / "result" / file, damage, read, difference)
    (folder / "truth.json").write_bytes((folder / "result" / "graph.json").read_bytes())
    made["truth"] = Format(folder / "truth.json", damaged, read_graph, values.json_graph)
    return made


def truth_formats(folder: Path) -> dict[str, Format]:
    """Write graphs with and without confounded pairs."""
    graph, names = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), np.array(["A", "B", "C"])
    write_graph(folder / "pairs.json", names=names.tolist(), adjacency=graph, confounded=[(0, 2)])
    np.savez(folder / "truth.npz", adj_matrix=graph, names=names, confounded_pairs=np.array([[0, 2]]))
    (folder / "matrix.csv").write_text(",A,B,C\nA,0,1,0\nB,0,0,1\nC,0,0,0\n")
    return {
        "truth npz": Format(folder / "truth.npz", damaged_archive, load_graph, values.npz_graph),
        "truth csv": Format(folder / "matrix.csv", damaged, read_graph, values.csv_graph),
        "truth pairs": Format(folder / "pairs.json", damaged, graph_and_pairs, values.json_graph),
    }


def graph_and_pairs(path: Path) -> tuple[Any, Any]:
    graph = load_graph(path)
    return graph.names, graph.adjacency


def settings_text() -> str:
    return "\n".join(f"{setting.name}={setting.default}" for setting in fields(Settings))


def write_records(path: Path, spec: Path) -> None:
    described = {
        "threads": 1,
        "machine": {"cpu": "x"},
        "peak_memory_mb": 12.5,
        "code": "x",
        "settings": {"sparsity": 0.01},
    }
    scores = {"shd": 1, "shd_raw": 2, "f1": 0.75, "seconds": 1.25, "rows": 50}
    keys = [planned.job.key for planned in load_spec(spec).plan()]
    done = [{"key": key, "method": "enco", "status": "done", **scores, **described} for key in keys[:3]]
    killed = {"key": keys[3], "method": "enco", "status": "killed", "error": "out of memory"}
    path.write_text("".join(json.dumps(record) + "\n" for record in [*done, killed]))


def trial(one: Format, content: bytes) -> str:
    """Say how a damaged file was received: accepted, refused, or what went wrong."""
    one.path.write_bytes(content)
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = one.read(one.path)
            difference = one.difference(one.path, found)
        return "accepted" if difference is None else f"other values: {difference}"
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
        for name, one in formats(Path(place)).items():
            if chosen and name not in chosen:
                continue
            valid = one.path.read_bytes()
            tally: dict[str, object] = {"accepted": 0, "refused": 0, "findings": [], "intact": trial(one, valid)}
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for number in range(first, first + count):
                print(name, number, flush=True)  # noqa: T201
                outcome = trial(one, one.damage(valid, np.random.default_rng([number, len(valid)])))
                if outcome in ("accepted", "refused"):
                    tally[outcome] += 1  # type: ignore[operator]
                else:
                    tally["findings"].append(f"{number}: {outcome}")  # type: ignore[attr-defined]
            one.path.write_bytes(valid)
            tally["memory"] = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
            report[name] = tally
    return report


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))  # noqa: T201
