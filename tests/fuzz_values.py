"""What a file says, read by the simplest means there are (csv, json, tomllib, np.load): was it understood so?

Every function takes the path of a file that the package has accepted, and what the package made of it; it returns the
first difference, or None. A damaged file may be accepted, but then it must read back as what it says.
"""

import csv
import io
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow.parquet as pq

from enco.result.fields import CONFIDENCE

CONTROL = ("", "control")


# ------------------------------------------------------------------------------------------------------------- data


@dataclass
class Table:
    """Rows as a file has them: cells by column, the names that each row targets, and the levels that are recorded."""

    names: list[str]
    rows: list[list[Any]]
    targets: list[frozenset[str]]
    levels: dict[str, list[str] | None] | None = None  # by name; None if the file says nothing
    indices: bool = False  # whether cells of categorical variables are indices of levels

    def difference(self, data: Any) -> str | None:
        if list(data.names) != self.names:
            return f"names {data.names} instead of {self.names}"
        expected: dict[frozenset[str], list[list[Any]]] = {}
        for row, targets in zip(self.rows, self.targets, strict=True):
            expected.setdefault(targets, []).append(row)
        found = {frozenset(data.names[place] for place in regime.targets): regime for regime in data.regimes}
        if found.keys() != expected.keys():
            return f"targets {sorted(map(sorted, found))} instead of {sorted(map(sorted, expected))}"
        for targets, rows in expected.items():
            if found[targets].n_rows != len(rows):
                return f"{found[targets].n_rows} rows of {sorted(targets)} instead of {len(rows)}"
            for column, variable in enumerate(data.variables):
                slot = data.slots[column]
                cells = [row[column] for row in rows]
                if variable.levels is None:
                    values = found[targets].reals[:, slot]
                    wrong = [c for c, value in zip(cells, values, strict=True) if np.float32(float(c)) != value]
                else:
                    chosen = [variable.levels[code] for code in found[targets].codes[:, slot]]
                    pairs = zip(cells, chosen, strict=True)
                    wrong = [cell for cell, level in pairs if not self._is_level(cell, level, variable)]
                if wrong:
                    return f"{variable.name!r} under {sorted(targets)} is not {wrong[0]!r}"
        return None

    def _is_level(self, cell: Any, level: Any, variable: Any) -> bool:
        recorded = (self.levels or {}).get(variable.name)
        if self.indices:
            named = recorded if recorded is not None else list(map(str, variable.levels))
            return str(level) == named[int(cell)]
        if self.levels is not None or str(cell) == str(level):
            return str(cell) == str(level)
        return is_number(cell) and is_number(level) and float(cell) == float(level)


def is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (ValueError, TypeError):
        return False
    return True


def named_targets(cell: Any, record: dict[str, Any] | None) -> frozenset[str]:
    control = tuple((record or {}).get("control") or CONTROL)
    text = "" if cell is None else str(cell)
    if text.strip() in control or text in control:
        return frozenset()
    parts = text.split((record or {}).get("separator", "+"))
    return frozenset(part.strip() for part in parts) - frozenset(control)


def recorded_levels(record: dict[str, Any] | None) -> dict[str, list[str] | None] | None:
    if record is None:
        return None
    return {entry["name"]: entry["levels"] and list(map(str, entry["levels"])) for entry in record["variables"]}


def table_of(names: Sequence[str], rows: Iterable[Sequence[Any]], record: dict[str, Any] | None) -> Table:
    target = "perturbation" if record is None else record["target"]
    place = list(names).index(target)
    listed = [[*row, *[""] * (len(names) - len(row))] for row in rows]  # what lacks at the end of a line is empty
    return Table(
        names=[name for name in names if name != target],
        rows=[row[:place] + row[place + 1 :] for row in listed],
        targets=[named_targets(row[place], record) for row in listed],
        levels=recorded_levels(record),
    )


def csv_data(path: Path, data: Any) -> str | None:
    text = path.read_bytes().decode("utf-8-sig")
    record = None
    if text.startswith("#enco:"):
        first, _, text = text.partition("\n")
        record = json.loads(first.removeprefix("#enco:"))
    header, *rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    return table_of(header, rows, record).difference(data)


def parquet_data(path: Path, data: Any) -> str | None:
    table = pq.read_table(path)
    text = (pq.ParquetFile(path).metadata.metadata or {}).get(b"enco")  # the table's own schema has a second copy
    columns = [column.to_pylist() for column in table.columns]
    found = table_of(table.column_names, zip(*columns, strict=True), None if text is None else json.loads(text))
    return found.difference(data)


def npz_data(path: Path, data: Any) -> str | None:
    with np.load(path) as file:
        arrays = dict(file)
    observed, intervened = arrays["data_obs"], arrays.get("data_int", np.zeros((0, 0, 0)))
    names = arrays.get("names", np.array([f"X{place + 1}" for place in range(observed.shape[1])])).tolist()
    if intervened.ndim == 2:
        intervened = np.split(intervened, np.cumsum(arrays["regime_rows"].astype(int))[:-1])
    if "target_mask" in arrays:
        targets = [frozenset(np.array(names)[row != 0].tolist()) for row in arrays["target_mask"]]
    else:
        listed = arrays.get("targets", np.arange(len(intervened))).tolist()
        targets = [frozenset([target if isinstance(target, str) else names[target]]) for target in listed]
    levels = json.loads(str(arrays["levels"])) if "levels" in arrays else [None] * len(names)
    blocks = [(frozenset(), observed), *zip(targets, intervened, strict=True)]
    return Table(
        names=names,
        rows=[row for _, block in blocks for row in block.tolist()],
        targets=[targeted for targeted, block in blocks for _ in block],
        levels={name: each and list(map(str, each)) for name, each in zip(names, levels, strict=True)},
        indices=True,
    ).difference(data)


def h5ad_data(path: Path, data: Any) -> str | None:
    with h5py.File(path) as file:
        record = json.loads(file["uns/enco"].asstr()[()]) if "enco" in file["uns"] else None
        names = file["var"][file["var"].attrs["_index"]].asstr()[()].tolist()
        column = file["obs"]["perturbation" if record is None else record["target"]]
        cells = column["categories"].asstr()[()][column["codes"][()]] if hasattr(column, "keys") else column.asstr()[()]
        rows = file["X"][()].tolist()
    targets = [named_targets(cell, record) for cell in cells]
    return Table(names, rows, targets, recorded_levels(record), indices=record is not None).difference(data)


# ----------------------------------------------------------------------------------------------------------- graphs


def edges_of(names: Sequence[str] | None, adjacency: Any) -> set[tuple[Any, Any]]:
    labels = range(len(adjacency)) if names is None else names
    return {(labels[i], labels[j]) for i, j in np.argwhere(np.asarray(adjacency, float) == 1).tolist()}


def json_graph(path: Path, found: Any) -> str | None:
    names, adjacency = found
    content = json.loads(path.read_text(encoding="utf-8"))
    if list(names) != [str(name) for name in content["variables"]]:
        return f"variables {names}"
    expected = edges_of(names, content["adjacency"])
    return None if edges_of(names, adjacency) == expected else f"edges {edges_of(names, adjacency)}, not {expected}"


def csv_graph(path: Path, found: Any) -> str | None:
    names, adjacency = found
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = [row for row in csv.reader(file) if row]
    titles = [cell.strip() for cell in header]
    if {"cause", "effect"} <= set(titles):
        cause, effect = titles.index("cause"), titles.index("effect")
        expected = {(row[cause], row[effect]) for row in rows}
    else:
        expected = edges_of(header[1:], [[float(cell) for cell in row[1:]] for row in rows])
    return None if edges_of(names, adjacency) == expected else f"edges {edges_of(names, adjacency)}, not {expected}"


def npz_graph(path: Path, graph: Any) -> str | None:
    with np.load(path) as file:
        arrays = {key: file[key] for key in ("adj_matrix", "names", "confounded_pairs") if key in file}
    names = arrays["names"].tolist() if "names" in arrays else None
    if (graph.names and list(graph.names)) != names:
        return f"names {graph.names} instead of {names}"
    if not np.array_equal(graph.adjacency, arrays["adj_matrix"] == 1):
        return "another graph"
    pairs = arrays.get("confounded_pairs")
    expected = None if pairs is None else [tuple(pair) for pair in pairs.tolist()]
    return None if (graph.confounded and list(graph.confounded)) == (expected or graph.confounded) else "other pairs"


# ---------------------------------------------------------------------------------------------------------- results


def same(found: Any, expected: Any) -> bool:
    """Compare what JSON or NumPy gave, tuples like lists, and NaN like NaN."""
    if isinstance(found, np.ndarray) or isinstance(expected, np.ndarray):
        one, other = np.asarray(found), np.asarray(expected)
        if one.shape != other.shape:
            return False
        both = one.dtype.kind in "fc" and other.dtype.kind in "fc"
        return bool(np.array_equal(one, other, equal_nan=both))
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in found)
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, float) and isinstance(expected, int):
        expected = float(expected)
    return bool(found == expected) or (found != found and expected != expected)


def first_difference(found: dict[str, Any], expected: dict[str, Any]) -> str | None:
    wrong = [key for key, value in expected.items() if not same(found.get(key), value)]
    return None if not wrong else f"{wrong[0]} is {str(found.get(wrong[0]))[:80]}, not {str(expected[wrong[0]])[:80]}"


def result_graph(path: Path, result: Any) -> str | None:
    content = json.loads(path.read_text(encoding="utf-8"))
    keys = ("variables", "adjacency", "adjacency_raw", "order", "order_report", "settings", "knowledge", "seed",
            "seconds", "version")  # fmt: skip
    found = {key: getattr(result, key) for key in keys}
    found |= {key: found[key].tolist() for key in ("adjacency", "adjacency_raw")}
    return first_difference(found, {key: content[key] for key in keys})


def result_history(path: Path, result: Any) -> str | None:
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    if [str(title) for title in result.history.columns] != rows[0]:
        return f"columns {list(result.history.columns)}, not {rows[0]}"
    if len(result.history) != len(rows) - 1:
        return f"{len(result.history)} rows, not {len(rows) - 1}"
    for row, (_, found) in zip(rows[1:], result.history.iterrows(), strict=True):
        for cell, value in zip([cell or "nan" for cell in row], found, strict=True):
            if not (same(float(cell), float(value)) if is_number(cell) and is_number(value) else cell == str(value)):
                return f"{value!r} where the file has {cell!r}"
    return None


def result_arrays(path: Path, result: Any) -> str | None:
    with np.load(path) as file:
        arrays = dict(file)
    holder = dict.fromkeys(("regimes", "rows", "orientation_rows"), result.evidence)
    holder |= dict.fromkeys(CONFIDENCE, result.confidence)
    found = {key: getattr(holder.get(key, result), key) for key in arrays if key != "format"}
    return first_difference(found, {key: arrays[key] for key in found})


def stability_values(path: Path, found: Any) -> str | None:
    content = json.loads(path.read_text(encoding="utf-8"))
    keys = ("variables", "frequency", "adjacency", "consensus", "n_resamples", "scheme", "share", "seed", "seconds")
    keys = (*keys, "version")
    values = {key: getattr(found, key) for key in keys}
    return first_difference(
        {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in values.items()},
        {key: content[key] for key in keys},
    )


def checkpoint_state(path: Path, found: Any) -> str | None:
    state, seconds = found
    with np.load(path) as file:
        arrays = dict(file)
    plain = {name: json.loads(str(value)) if value.dtype.kind == "U" else value for name, value in state.items()}
    expected = {name: arrays[f"state.{name}"] for name in state}
    expected = {name: json.loads(str(v)) if v.dtype.kind == "U" else v for name, v in expected.items()}
    return first_difference({**plain, "seconds": seconds}, {**expected, "seconds": float(arrays["seconds"])})


# ------------------------------------------------------------------------------------------------------------ others


def known_edges(path: Path, knowledge: Any) -> str | None:
    content = tomllib.loads(path.read_text(encoding="utf-8"))

    def as_sets(pairs: Any) -> set[Any]:
        return {entry if isinstance(entry, str) else tuple(dict.fromkeys(entry)) for entry in pairs}

    return first_difference(
        {key: as_sets(getattr(knowledge, key)) for key in content},
        {key: as_sets(entries) for key, entries in content.items()},
    )


def network_tables(path: Path, model: Any) -> str | None:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", path.read_bytes().decode("utf-8", "replace"), flags=re.DOTALL)
    for blocks, name in ((re.findall(r"probability\s*\(\s*\"?([^|\")]*?)\"?\s*[|)][^{]*\{([^}]*)\}", text), "table"),):
        for variable, body in blocks:
            rows = [[float(n) for n in re.findall(r"[\d.eE+-]+", part.rpartition(")")[2].replace(name, ""))]
                    for part in body.split(";") if re.search(r"\d", part)]  # fmt: skip
            expected = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
            found = model.mechanisms[model.position(variable.strip())].table
            if found.shape != expected.shape or not np.allclose(found, expected, atol=1e-6):
                return f"{variable}: {found.tolist()}, not {expected.tolist()}"
    return None


def spec_values(path: Path, found: Any) -> str | None:
    spec, plan = found
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    keys = ("title", "graphs", "kind", "columns", "task", "first_seed", "notes", "summary", "source")
    difference = first_difference(
        {key: getattr(spec, key) for key in keys}, {k: content[k] for k in keys if k in content}
    )
    axes = {name for points in spec.axes.values() for values in points.values() for name in values}
    changed = axes | {name for override in content.get("override", []) for name in override.get("problem", {})}
    shared = {name: value for name, value in content["problem"].items() if name not in changed}
    for planned in plan:
        difference = difference or first_difference(
            {name: getattr(planned.job.problem, name) for name in shared}, shared
        )
        given = content["methods"][planned.use.name].get("settings", {})
        if "override" not in content:
            difference = difference or first_difference(dict(planned.job.settings), given)
    return difference


def record_values(path: Path, records: dict[str, Any]) -> str | None:
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except (ValueError, RecursionError):
            continue  # as if it had been cut off
    expected = [line for line in lines if isinstance(line, dict) and isinstance(line.get("key"), str)]
    if {line["key"] for line in expected} != records.keys():
        return f"keys {sorted(records)}"
    wrong = [key for key, record in records.items() if record not in expected]
    return f"another record {wrong[0]}" if wrong else None


def given_settings(path: Path, settings: Any) -> str | None:
    lines = path.read_text(encoding="utf-8").splitlines()
    for name, text in dict(line.partition("=")[::2] for line in lines if line).items():
        value = getattr(settings, name)
        said = {int: int, float: float, bool: lambda word: word.lower() == "true"}.get(type(value), str)(text)
        if said != value:
            return f"{name} is {value!r}, not {text!r}"
    return None
