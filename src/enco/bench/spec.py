"""A benchmark as a TOML file: problems, methods, and what the paper reports for them.

The specs of the paper's tables and figures come with the package (`builtin_specs`); a path to a file of one's own works
everywhere in their place. The keys:

====================  ==================================================================================================
``title``             heading of the table
``summary``           one line for ``enco bench list``
``source``            where the numbers under ``[[paper]]`` are from
``notes``             a sentence below the table
``kind``              of the problems, see `enco.bench.problem_kinds`
``task``              "fit" (default), "learning-curve", "gradient-variance" or "calibration"
``graphs``            graphs of each cell; their seeds are ``first_seed``, ``first_seed + 1``, ...
``metrics``           tables to make, see `enco.bench.table_metrics`
``columns``           the axis that runs over the columns of the tables; the others go to the lines
``plugins``           Python files, beside the spec, that register methods of one's own
``[problem]``         what all problems share
``[axes]``            what they differ in: NAME = [values], or a table of labels, each with several values
``[methods.NAME]``    ``method`` (default NAME), ``label``, ``settings``, ``optional`` (run only when asked for by name)
``[[override]]``      ``where`` (axis = label or labels): other ``problem`` values and ``settings.NAME`` there
``[[paper]]``         ``method``, ``metric``, ``where``, ``values`` along the columns, ``ours``: our counterpart
====================  ==================================================================================================
"""

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from enco.bench.jobs import TASKS, Job
from enco.bench.plain_values import odd_value
from enco.bench.problem_kinds import PROBLEM_KINDS, make_problem
from enco.bench.spec_fields import Fields
from enco.bench.table_metrics import METRICS
from enco.errors import EncoError, SettingsError
from enco.settings import LARGEST
from enco.system.units import in_short

__all__ = ["Cell", "MethodUse", "PaperRow", "Planned", "Spec", "builtin_specs", "load_spec"]

FIRST_SEED = 5000
MOST_GRAPHS = 100_000

Cell = Mapping[str, str]  # the label on every axis


@dataclass(frozen=True)
class MethodUse:
    """A method as a spec uses it; two uses of one method differ in their settings."""

    name: str
    method: str
    label: str
    settings: Mapping[str, Any]
    optional: bool


@dataclass(frozen=True)
class Override:
    """Other values in some of the cells."""

    where: Mapping[str, tuple[str, ...]]
    problem: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]

    def covers(self, cell: Cell) -> bool:
        """Tell whether it is about this cell."""
        return all(cell[axis] in labels for axis, labels in self.where.items())


@dataclass(frozen=True)
class PaperRow:
    """Published numbers along the columns, as text: ``mean ± deviation``, or why there is none."""

    method: str
    metric: str
    where: Mapping[str, str]
    values: Mapping[str, str]
    ours: str | None


@dataclass(frozen=True)
class Planned:
    """A job and its place in the tables."""

    cell: Cell
    use: MethodUse
    job: Job


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A benchmark, read from a file by `load_spec`; the attributes are the keys of the file.

    Examples
    --------
    >>> spec = load_spec("table1")
    >>> len(spec.cells()), [use.name for use in spec.methods.values()][:2]
    (6, ['enco', 'enco-paper'])
    """

    name: str
    file: str
    title: str
    summary: str
    source: str
    notes: str
    kind: str
    task: str
    graphs: int
    first_seed: int
    metrics: tuple[str, ...]
    columns: str
    plugins: tuple[Path, ...]
    problem: Mapping[str, Any]
    axes: Mapping[str, Mapping[str, Mapping[str, Any]]]
    methods: Mapping[str, MethodUse]
    overrides: tuple[Override, ...]
    paper: tuple[PaperRow, ...]

    @property
    def line_axes(self) -> list[str]:
        """The axes that are not the columns."""
        return [axis for axis in self.axes if axis != self.columns]

    def cells(self, chosen: Mapping[str, Iterable[str]] | None = None) -> list[Cell]:
        """List the combinations of labels, of all axes or with only the chosen labels of some.

        Examples
        --------
        >>> [cell["structure"] for cell in load_spec("table1").cells({"structure": ["full", "chain"]})]
        ['chain', 'full']
        """
        wanted = {axis: set(labels) for axis, labels in (chosen or {}).items()}
        for axis, labels in wanted.items():
            _known(axis, self.axes, f"{self.file}: there is no axis")
            for label in labels:
                _known(label, self.axes[axis], f"{self.file}: axis {axis!r} has no label")
        kept = [
            [label for label in points if axis not in wanted or label in wanted[axis]]
            for axis, points in self.axes.items()
        ]
        return [dict(zip(self.axes, labels, strict=True)) for labels in product(*kept)]

    def uses(self, names: Sequence[str] | None = None) -> list[MethodUse]:
        """List the methods of these names; by default those that are not optional."""
        if names is None:
            return [use for use in self.methods.values() if not use.optional]
        return [self.methods[_known(name, self.methods, f"{self.file}: there is no method")] for name in names]

    def plan(
        self,
        *,
        graphs: int | None = None,
        first_seed: int | None = None,
        methods: Sequence[str] | None = None,
        cells: Mapping[str, Iterable[str]] | None = None,
    ) -> list[Planned]:
        """List the jobs: method after method, and graph after graph, so that a part of them covers all cells.

        Parameters
        ----------
        graphs, first_seed : int, optional
            Instead of those of the spec.
        methods : sequence of str, optional
            By default all that are not optional.
        cells : dict, optional
            Labels to keep, by axis.

        Examples
        --------
        >>> plan = load_spec("partial").plan(graphs=2, methods=["enco"], cells={"structure": ["chain"]})
        >>> len(plan), plan[0].job.problem.interventions, plan[0].job.problem.seed
        (14, 4, 5000)
        """
        start = self.first_seed if first_seed is None else first_seed
        count = self.graphs if graphs is None else graphs
        if count > MOST_GRAPHS:
            raise SettingsError(f"{self.file}: there can be {MOST_GRAPHS:,} graphs of each cell, not {count:,}")
        seeds = range(start, start + count)
        chosen = self.cells(cells)
        return [
            Planned(cell, use, self._job(cell, use, seed))
            for use in self.uses(methods)
            for seed in seeds
            for cell in chosen
        ]

    def check(self, plan: Iterable[Planned]) -> None:
        """Raise a `SettingsError` unless every planned job has a method and settings that there are."""
        for planned in plan:
            try:
                planned.job.check()
            except SettingsError as error:
                raise SettingsError(f"{self.file}: methods.{planned.use.name}: {error}") from None

    def _job(self, cell: Cell, use: MethodUse, seed: int) -> Job:
        values = {**self.problem, "seed": seed}
        settings = dict(use.settings)
        for axis, label in cell.items():
            values |= self.axes[axis][label]
        for override in self.overrides:
            if override.covers(cell):
                values |= override.problem
                settings |= override.settings.get(use.name, {})
        try:
            problem = make_problem(self.kind, values)
        except SettingsError as error:
            raise SettingsError(f"{self.file}: {error}; correct [problem], [axes] or [[override]]") from None
        return Job(problem=problem, method=use.method, settings=settings, task=self.task)


def builtin_specs() -> list[str]:
    """Name the specs that come with the package.

    Examples
    --------
    >>> "table1" in builtin_specs()
    True
    """
    folder = resources.files("enco.bench") / "specs"
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_spec(source: str | os.PathLike[str]) -> Spec:
    """Read a spec of the package by its name, or one's own by its path, which ends in .toml.

    Examples
    --------
    >>> load_spec("table2")
    Traceback (most recent call last):
    ...
    enco.errors.SettingsError: there is no benchmark 'table2'; choose from ablation, ..., or give the path of a ...
    """
    name = os.fspath(source)
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise EncoError(f"{path}: there is no such file")
        return _parse(path.stem, name, path.read_bytes(), path.parent)
    if name not in builtin_specs():
        choice = ", ".join(builtin_specs())
        raise SettingsError(f"there is no benchmark {name!r}; choose from {choice}, or give the path of a .toml file")
    file = f"{name}.toml"
    return _parse(name, file, (resources.files("enco.bench") / "specs" / file).read_bytes(), Path())


def _parse(name: str, file: str, content: bytes, folder: Path) -> Spec:
    try:
        read = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # also that of a whole number of thousands of digits
        raise SettingsError(f"{file}: this is no valid TOML: {error}") from None
    odd = odd_value(read, LARGEST)
    if odd is not None:
        raise SettingsError(
            f"{file}: {odd[0]} must be text, true or false, or a number up to {LARGEST:,}, not {in_short(odd[1])}"
        )
    top = Fields(read, file)
    axes = _axes(top.table("axes"))
    columns = top.choice("columns", axes)
    methods = {use.name: use for use in (_method(entry) for entry in top.tables_by_name("methods"))}
    if not methods:
        raise SettingsError(f"{file}: there is no method; add a table [methods.enco]")
    spec = Spec(
        name=name,
        file=file,
        title=top.text("title"),
        summary=top.text("summary", ""),
        source=top.text("source", ""),
        notes=top.text("notes", ""),
        kind=top.choice("kind", PROBLEM_KINDS),
        task=top.choice("task", TASKS, "fit"),
        graphs=top.number("graphs", least=1),
        first_seed=top.number("first_seed", FIRST_SEED, least=0),
        metrics=tuple(top.choices("metrics", METRICS, ["shd"])),
        columns=columns,
        plugins=tuple(folder / path for path in top.texts("plugins", [])),
        problem=top.table("problem").content,
        axes=axes,
        methods=methods,
        overrides=tuple(_override(entry, axes, methods) for entry in top.list_of_tables("override")),
        paper=tuple(_paper(entry, axes, methods, columns) for entry in top.list_of_tables("paper")),
    )
    top.finish()
    return spec


def _axes(fields: Fields) -> dict[str, dict[str, dict[str, Any]]]:
    """Axes by name, points by label, and what is told apart at each."""
    axes: dict[str, dict[str, dict[str, Any]]] = {}
    for axis, points in fields.content.items():
        if isinstance(points, list) and points:
            axes[axis] = {str(value): {axis: value} for value in points}
        elif isinstance(points, dict) and points and all(isinstance(values, dict) for values in points.values()):
            axes[axis] = points
        else:
            raise fields.wrong(axis, "a list of values, or a table of labels with values such as { rows = 100 }")
    if not axes:
        raise SettingsError(f'{fields.place} has no axis; add one such as structure = ["chain"]')
    return axes


def _method(fields: Fields) -> MethodUse:
    name = fields.name
    use = MethodUse(
        name=name,
        method=fields.text("method", name),
        label=fields.text("label", name),
        settings=fields.table("settings").content,
        optional=fields.flag("optional"),
    )
    fields.finish()
    return use


def _override(fields: Fields, axes: Mapping[str, Mapping[str, Any]], methods: Mapping[str, Any]) -> Override:
    where = {
        axis: tuple(str(label) for label in (labels if isinstance(labels, list) else [labels]))
        for axis, labels in fields.table("where").content.items()
    }
    _check_labels(fields, where, axes)
    override = Override(
        where=where,
        problem=fields.table("problem").content,
        settings={entry.name: entry.content for entry in fields.table("settings").tables_by_name()},
    )
    for name in override.settings:
        _known(name, methods, f"{fields.place}.settings: there is no method")
    fields.finish()
    return override


def _paper(fields: Fields, axes: Mapping[str, Mapping[str, Any]], methods: Mapping[str, Any], columns: str) -> PaperRow:
    where = {axis: str(label) for axis, label in fields.table("where").content.items()}
    _check_labels(fields, {axis: (label,) for axis, label in where.items()}, axes)
    values = fields.texts("values")
    if len(values) != len(axes[columns]):
        raise fields.wrong("values", f"{len(axes[columns])} texts, one for each label of the axis {columns!r}")
    ours = fields.text("ours", "") or None
    if ours is not None:
        _known(ours, methods, f"{fields.place}.ours: there is no method")
    row = PaperRow(
        method=fields.text("method"),
        metric=fields.choice("metric", METRICS, "shd"),
        where=where,
        values=dict(zip(axes[columns], values, strict=True)),
        ours=ours,
    )
    fields.finish()
    return row


def _check_labels(fields: Fields, where: Mapping[str, Iterable[str]], axes: Mapping[str, Mapping[str, Any]]) -> None:
    for axis, labels in where.items():
        _known(axis, axes, f"{fields.place}.where: there is no axis")
        for label in labels:
            _known(label, axes[axis], f"{fields.place}.where: axis {axis!r} has no label")


def _known(name: str, choice: Iterable[str], complaint: str) -> str:
    if name not in choice:
        raise SettingsError(f"{complaint} {name!r}; choose from {', '.join(choice)}")
    return name
