"""Records of a spec, averaged over graphs, line by line beside the published numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import nan, sqrt
from statistics import mean, stdev

from enco.bench.records import Record, Store
from enco.bench.spec import MethodUse, PaperRow, Planned, Spec
from enco.bench.table_metrics import METRICS, SECONDS, Metric

__all__ = ["Entry", "Line", "Summary", "summarise"]

PUBLISHED, OURS = "paper", "ours"
CLEAR = 2.0  # standard errors


@dataclass(frozen=True)
class Entry:
    """One cell of a table.

    Examples
    --------
    >>> Entry.of([1.0, 2.0], digits=2).text, Entry.read("4.6 ± 1.9").mean, Entry.read("OOM").mean
    ('1.50 ± 0.71', 4.6, None)
    """

    text: str
    mean: float | None = None
    deviation: float | None = None
    count: int = 0

    @property
    def height(self) -> float:
        """The mean as a number; NaN, which is not drawn, if there is none."""
        return nan if self.mean is None else self.mean

    @classmethod
    def of(cls, values: Sequence[float], *, digits: int) -> "Entry":
        """Average."""
        if not values:
            return cls("-")
        middle, deviation = mean(values), stdev(values) if len(values) > 1 else None
        spread = "" if deviation is None else f" ± {deviation:.{digits}f}"
        return cls(f"{middle:.{digits}f}{spread}", middle, deviation, len(values))

    @classmethod
    def read(cls, text: str) -> "Entry":
        """Take published numbers apart; a text without any stays a text."""
        parts = [part.strip() for part in text.split("±")]
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            return cls(text)
        return cls(text, numbers[0], numbers[1] if len(numbers) > 1 else None)


@dataclass(frozen=True)
class Line:
    """A line of a table: one method, ours or the paper's, over the columns.

    Attributes
    ----------
    labels : tuple of str
        On the axes that are not the columns.
    method : str
    whose : {"paper", "ours"}
    metric : Metric
    entries : dict
        By the label of the column.
    pair : tuple of str
        The same for a published line and for ours beside it.
    """

    labels: tuple[str, ...]
    method: str
    whose: str
    metric: Metric
    entries: Mapping[str, Entry]
    pair: tuple[str, str]

    @property
    def title(self) -> str:
        """The method, and whose numbers these are."""
        remark = f", {self.metric.remark}" if self.metric.remark and self.whose == OURS else ""
        return f"{self.method}{remark}, {self.whose}"

    @property
    def graphs(self) -> str:
        """How many graphs are behind the numbers."""
        counts = sorted({entry.count for entry in self.entries.values() if entry.count})
        return "" if not counts else str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"


@dataclass(frozen=True)
class Summary:
    """Everything the tables and figures of a spec show.

    Attributes
    ----------
    spec : Spec
    tables : dict
        Lines, by metric.
    records : list of dict
        With results.
    failures : list of dict
        Records without.
    missing : dict
        Jobs without a record, by the name of the method; only of methods that have been begun.
    compared : int
        Cells in which ours can be compared with the paper's.
    misses : list of str
        Where ours is clearly worse.
    contributions : list of str
        What the order step and the search did to the SHD, a sentence for each method that has a search.
    """

    spec: Spec
    tables: Mapping[str, list[Line]]
    records: list[Record]
    failures: list[Record]
    missing: Mapping[str, int]
    compared: int
    misses: list[str]
    contributions: list[str]


def summarise(spec: Spec, plan: Sequence[Planned], store: Store) -> Summary:
    """Find the records of the planned jobs and average them.

    Examples
    --------
    >>> from enco.bench.spec import load_spec
    >>> spec = load_spec("table1")
    >>> summary = summarise(spec, spec.plan(graphs=1), Store())
    >>> [line.title for line in summary.tables["shd"]][-1], summary.records
    ('ENCO-acyclic, paper', [])
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Record]] = {}
    records, failures = [], []
    missing: dict[str, int] = {}
    begun = {planned.use.name for planned in plan if planned.job.key in store.records}
    for planned in plan:
        record = store.records.get(planned.job.key)
        if record is None:
            if planned.use.name in begun:
                missing[planned.use.label] = missing.get(planned.use.label, 0) + 1
        elif not store.done(planned.job.key):
            failures.append(record)
        else:
            records.append(record)
            groups.setdefault((planned.use.name, tuple(planned.cell.values())), []).append(record)
    lines = _Lines(spec, groups, {axis: {planned.cell[axis] for planned in plan} for axis in spec.axes})
    tables = {name: list(lines.of(name)) for name in spec.metrics}
    tables["seconds"] = list(lines.of_seconds())
    comparisons = list(_comparisons(spec, lines))
    return Summary(
        spec,
        tables,
        records,
        failures,
        missing,
        len(comparisons),
        [text for text in comparisons if text],
        list(_contributions(spec, groups)) if "shd" in spec.metrics else [],
    )


class _Lines:
    def __init__(
        self, spec: Spec, groups: Mapping[tuple[str, tuple[str, ...]], list[Record]], chosen: Mapping[str, set[str]]
    ) -> None:
        self.spec = spec
        self.groups = groups
        self.chosen = chosen

    def places(self) -> Iterator[dict[str, str]]:
        """Go through the combinations of labels on the axes of the lines that were asked for."""
        axes = self.spec.line_axes
        for labels in product(
            *([label for label in self.spec.axes[axis] if label in self.chosen[axis]] for axis in axes)
        ):
            yield dict(zip(axes, labels, strict=True))

    def rows(self, place: Mapping[str, str]) -> Iterator[PaperRow]:
        """Go through the published lines there."""
        for row in self.spec.paper:
            if all(place[axis] == label for axis, label in row.where.items() if axis in place):
                yield row

    def published(self, row: PaperRow, place: Mapping[str, str]) -> Line:
        entries = {column: Entry.read(text) for column, text in row.values.items()}
        return Line(
            tuple(place.values()),
            row.method,
            PUBLISHED,
            METRICS[row.metric],
            entries,
            (row.ours or row.method, row.metric),
        )

    def ours(self, use: MethodUse, metric: Metric, place: Mapping[str, str]) -> Line | None:
        """Average the records of a method; None if there are none."""
        entries, any_record = {}, False
        for column in self.spec.axes[self.spec.columns]:
            cell = {**place, self.spec.columns: column}
            group = self.groups.get((use.name, tuple(cell[axis] for axis in self.spec.axes)), [])
            values = [metric.scale * record[metric.field] for record in group if record.get(metric.field) is not None]
            entries[column] = Entry.of(values, digits=metric.digits)
            any_record |= bool(group)
        if not any_record:
            return None
        remark = metric.remark or self.last_stage(use, metric)
        metric = replace(metric, remark=remark)
        return Line(tuple(place.values()), use.label, OURS, metric, entries, (use.name, metric.field))

    def last_stage(self, use: MethodUse, metric: Metric) -> str:
        """Say of the final graph of ENCO what made it; empty for other methods and metrics."""
        if metric.field != "shd":
            return ""
        rounds = {_rounds(record) for (name, _), group in self.groups.items() if name == use.name for record in group}
        return {frozenset({True}): "refined", frozenset({False}): "ordered"}.get(
            frozenset(count > 0 for count in rounds if count is not None), ""
        )

    def stages(self, use: MethodUse, family: str) -> Iterator[str]:
        """Go through the metrics of a family that say something of their own about a method.

        Every ENCO shows what gamma and theta say, what the order step makes of it, and what the search adds.
        """
        groups = [group for (name, _), group in self.groups.items() if name == use.name]
        for name, metric in METRICS.items():
            if metric.family != family or name == family:
                continue
            if any(_tells(record, name) for group in groups for record in group):
                yield name
        yield family

    def of(self, family: str) -> Iterator[Line]:
        """Go through the lines of a table: every published one, followed by ours, then ours that have none."""
        for place in self.places():
            shown = set()
            for row in self.rows(place):
                if METRICS[row.metric].family != family:
                    continue
                yield self.published(row, place)
                if row.ours is not None and (row.ours, row.metric) not in shown:
                    shown.add((row.ours, row.metric))
                    line = self.ours(self.spec.methods[row.ours], METRICS[row.metric], place)
                    if line is not None:
                        yield line
            for use in self.spec.methods.values():
                for name in self.stages(use, family):
                    line = self.ours(use, METRICS[name], place)
                    if line is not None and (use.name, name) not in shown:
                        yield line

    def of_seconds(self) -> Iterator[Line]:
        for place in self.places():
            for use in self.spec.methods.values():
                line = self.ours(use, SECONDS, place)
                if line is not None and line.graphs:
                    yield line


def _rounds(record: Record) -> int | None:
    """Return the rounds of the search; None if the method has none."""
    rounds: int | None = record.get("settings", {}).get("refine_rounds")
    return rounds


def _tells(record: Record, name: str) -> bool:
    """Whether an earlier stage of this record is worth a line: the ordered graph only where a search follows."""
    rounds = _rounds(record)
    return rounds is not None and record.get(name) is not None and (name != "shd_ordered" or rounds > 0)


def _contributions(spec: Spec, groups: Mapping[tuple[str, tuple[str, ...]], list[Record]]) -> Iterator[str]:
    for use in spec.methods.values():
        told = [
            record
            for (name, _), group in groups.items()
            for record in group
            if name == use.name and _tells(record, "shd_ordered")
        ]
        if told:
            raw, ordered, final = (mean(record[name] for record in told) for name in ("shd_raw", "shd_ordered", "shd"))
            yield (
                f"{use.label}: over these {len(told)} fits the order step takes the mean SHD from {raw:.2f} to "
                f"{ordered:.2f}, and the search from there to {final:.2f}."
            )


def _comparisons(spec: Spec, lines: _Lines) -> Iterator[str]:
    """Go through the cells that can be compared; the text says where ours is clearly worse, else it is empty."""
    for place in lines.places():
        for row in lines.rows(place):
            metric = METRICS[row.metric]
            ours = None if row.ours is None else lines.ours(spec.methods[row.ours], metric, place)
            if ours is None or metric.family not in spec.metrics:
                continue
            for column, theirs in lines.published(row, place).entries.items():
                mine = ours.entries[column]
                if mine.deviation is None or theirs.mean is None:
                    continue  # one graph says nothing
                where = ", ".join([*place.values(), column])
                name = f"{ours.method}{', ' + metric.remark if metric.remark else ''}"
                text = f"{name}, {where}: {metric.title} {mine.text}, paper {theirs.text}"
                yield text if _clearly_worse(mine, theirs, metric, paper_graphs=spec.graphs) else ""


def _clearly_worse(ours: Entry, theirs: Entry, metric: Metric, *, paper_graphs: int) -> bool:
    difference = (ours.height - theirs.height) * (1 if metric.lower_is_better else -1)
    variance = (ours.deviation or 0.0) ** 2 / ours.count + (theirs.deviation or 0.0) ** 2 / paper_graphs
    # Published means are rounded: half a unit of their last digit is no difference.
    return difference > CLEAR * sqrt(variance) + 0.05
