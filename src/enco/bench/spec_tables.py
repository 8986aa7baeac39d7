"""The tables of a spec: ours beside the paper's, as Markdown or LaTeX."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from enco.bench.calibration import brier_sentence, calibration_table, from_records
from enco.bench.gradient_variance import ESTIMATOR_NAMES, Point, VarianceCurve, variance_layout, variance_title
from enco.bench.machine import code_fingerprint
from enco.bench.markup import Strong, latex, markdown
from enco.bench.records import Record, Store
from enco.bench.spec import Planned, Spec
from enco.bench.summary import Entry, Line, Summary, summarise
from enco.bench.table_metrics import METRICS
from enco.errors import FileFormatError

__all__ = ["curve_points", "mean_variance", "spec_table"]

TableMarkup = Callable[..., str]
_READING = (
    "Mean ± sample standard deviation over graphs; the best of each column in bold. A flipped edge counts once in the "
    "SHD. ENCO before ordering: what gamma and theta say; ordered: without cycles; refined: after the search, which is "
    "not in the paper."
)
_SHOWN_EPOCHS = (1, 2, 3, 4, 6, 8, 10, 12)


def spec_table(
    spec: Spec, plan: Sequence[Planned], store: Store, *, as_latex: bool = False, tell_code: bool = True
) -> str:
    """Write the tables of a spec, one for each metric, and what must be said about them.

    Parameters
    ----------
    spec : Spec
    plan : sequence of Planned
        The jobs whose records count.
    store : Store
    as_latex : bool
        Instead of Markdown; notes become comments.
    tell_code : bool
        Whether to say how many records were made by other code than the present one.

    Examples
    --------
    >>> from enco.bench.spec import load_spec
    >>> spec = load_spec("scalability")
    >>> print(spec_table(spec, spec.plan(graphs=1), Store()))
    **SHD**
    <BLANKLINE>
    | method | graphs | 100 | 200 | 400 | 1000 |
    |---|---:|---:|---:|---:|---:|
    ...
    | ENCO, paper |  | **0.0 ± 0.0** | **0.0 ± 0.0** | **0.0 ± 0.0** | **0.2 ± 0.42** |
    <BLANKLINE>
    ...
    """
    summary = summarise(spec, plan, store)
    layout: TableMarkup = latex if as_latex else markdown
    if spec.task == "gradient-variance":
        parts = [_titled(variance_title(curve), variance_layout(curve, layout), as_latex)
                 for curve in mean_variance(summary.records)]  # fmt: skip
    elif spec.task == "calibration":
        pairs = from_records(summary.records)
        parts = [calibration_table(pairs, layout)] if len(pairs) else []
    elif spec.task == "learning-curve":
        parts = [_titled(METRICS[name].title, _curve_table(summary, name, plan, store, layout), as_latex)
                 for name in spec.metrics] if summary.records else []  # fmt: skip
    else:
        parts = [_titled(METRICS[name].title, _metric_table(summary, name, layout), as_latex) for name in spec.metrics]
        if summary.tables["seconds"]:
            parts.append(_titled("Seconds", _metric_table(summary, "seconds", layout, best=False), as_latex))
    notes = "\n".join(f"% {note}" if as_latex else f"- {note}" for note in _notes(summary, tell_code))
    return "\n\n".join([*parts, notes])


def _titled(title: str, table: str, as_latex: bool) -> str:
    return f"% {title}\n{table}" if as_latex else f"**{title}**\n\n{table}"


def _metric_table(summary: Summary, name: str, layout: TableMarkup, *, best: bool = True) -> str:
    spec, lines = summary.spec, summary.tables[name]
    header = [*(axis.replace("_", " ") for axis in spec.line_axes), "method", "graphs", *spec.axes[spec.columns]]
    rows = []
    for line in lines:
        rivals = [other for other in lines if other.labels == line.labels]
        cells = [
            Strong(entry.text) if best and _is_best(line, column, rivals) else entry.text
            for column, entry in line.entries.items()
        ]
        rows.append([*line.labels, line.title, line.graphs, *cells])
    return layout(header, rows, left=len(spec.line_axes) + 1)


def _is_best(line: Line, column: str, rivals: Sequence[Line]) -> bool:
    """Compare the digits that published numbers have: what is equal there is equally good."""

    def rank(entry: Entry) -> float | None:
        if entry.mean is None:
            return None
        return round(entry.mean, 1) * (1 if line.metric.lower_is_better else -1)

    own = rank(line.entries[column])
    others = [rank(other.entries[column]) for other in rivals]
    return own is not None and own <= min(value for value in others if value is not None)


def _notes(summary: Summary, tell_code: bool) -> list[str]:
    spec = summary.spec
    notes = [_READING] if spec.task == "fit" else []
    if spec.source:
        notes.append(f"Published numbers: {spec.source}.")
    if spec.notes:
        notes.append(spec.notes)
    notes += summary.contributions
    if spec.task == "calibration" and (sentence := brier_sentence(from_records(summary.records, refits=True))):
        notes.append(sentence)
    if summary.records:
        notes += _circumstances(summary.records, tell_code)
    else:
        notes.append("Nothing has been run yet.")
    if summary.missing:
        counts = ", ".join(f"{label} {count}" for label, count in summary.missing.items())
        notes.append(f"Jobs still to run: {counts}.")
    notes += _failures(summary.failures)
    if summary.misses:
        notes.append(f"Clearly worse than published (by more than two standard errors): {'; '.join(summary.misses)}.")
    elif summary.compared:
        cells = f"{summary.compared} cell{'s' if summary.compared > 1 else ''}"
        notes.append(f"Compared with published numbers in {cells}, nowhere clearly worse (two standard errors).")
    return notes


def _circumstances(records: Sequence[Record], tell_code: bool) -> list[str]:
    threads = ", ".join(sorted({str(record.get("threads", "unknown")) for record in records}))
    cpus = ", ".join(sorted({str(record.get("machine", {}).get("cpu", "unknown")) for record in records}))
    peaks = [record["peak_memory_mb"] for record in records if record.get("peak_memory_mb") is not None]
    memory = f"; peak memory {max(peaks):.0f} MB" if peaks else ""
    notes = [f"Threads: {threads}; processor: {cpus}{memory}. Seconds are those of a fit with compiled kernels."]
    unlike = sum(record.get("code") != code_fingerprint() for record in records)
    if unlike and tell_code:
        notes.append(
            f"{unlike} of {len(records)} records were made by other code than the present one; "
            "`enco bench run --renew` redoes them."
        )
    return notes


def _failures(failures: Sequence[Record]) -> list[str]:
    counts: dict[tuple[str, str, str], int] = {}
    for record in failures:
        what = (record.get("method", "a method"), record["status"], record.get("error", "unknown"))
        counts[what] = counts.get(what, 0) + 1
    return [
        f"Without a result: {count} of {method} ({status}: {error}); `enco bench run --retry` tries again."
        for (method, status, error), count in counts.items()
    ]


@dataclass(frozen=True)
class _Mean:
    """Average over the graphs of a cell, epoch by epoch; a fit that has stopped stays where it was."""

    values: list[list[float]]

    def at(self, epoch: int) -> float:
        return mean(curve[min(epoch, len(curve)) - 1] for curve in self.values)

    @property
    def length(self) -> int:
        return max(map(len, self.values))


def curve_points(plan: Sequence[Planned], store: Store, metric: str, columns: str) -> Mapping[str, list[float]]:
    """Average learning curves: by the label of the column, one number for each epoch.

    Examples
    --------
    >>> from enco.bench.spec import load_spec
    >>> spec = load_spec("learning-curves")
    >>> plan, store = spec.plan(graphs=2, cells={"structure": ["chain"]}), Store()
    >>> for planned, recall in zip(plan, (0.5, 1.0)):
    ...     store.add({"key": planned.job.key, "curve": [{"epoch": 1, "recall": recall}]})
    >>> curve_points(plan, store, "recall", "structure")
    {'chain': [0.75]}
    """
    groups: dict[str, list[list[float]]] = {}
    for planned in plan:
        if store.done(planned.job.key):
            curve = [point[metric] for point in store.records[planned.job.key].get("curve", []) if metric in point]
            if not curve:
                raise FileFormatError(
                    f"the record {planned.job.key} has no {metric} in its curve: remove its line and run its job again"
                )
            groups.setdefault(planned.cell[columns], []).append(curve)
    averages = {label: _Mean(curves) for label, curves in groups.items()}
    return {label: [each.at(epoch) for epoch in range(1, each.length + 1)] for label, each in averages.items()}


def _curve_table(summary: Summary, name: str, plan: Sequence[Planned], store: Store, layout: TableMarkup) -> str:
    metric = METRICS[name]
    curves = curve_points(plan, store, name, summary.spec.columns)
    longest = max(map(len, curves.values()))
    rows = [
        [str(epoch), *(f"{metric.scale * curve[min(epoch, len(curve)) - 1]:.1f}" for curve in curves.values())]
        for epoch in sorted({epoch for epoch in _SHOWN_EPOCHS if epoch < longest} | {longest})
    ]
    return layout(["epoch", *curves], rows)


def mean_variance(records: Sequence[Record]) -> list[VarianceCurve]:
    """Average the deviations of several graphs.

    Examples
    --------
    >>> point = {"evaluations": 9, "graphs": 3, "rows": 3, "deviation": dict.fromkeys(ESTIMATOR_NAMES, 1.0)}
    >>> mean_variance([{"curves": [{"rows": "same rows", "points": [point]}]}])[0].points[0].deviation["paired"]
    1.0
    """
    shapes = [[(curve["rows"], len(curve["points"])) for curve in record.get("curves", [])] for record in records]
    points = [point for record in records for curve in record.get("curves", []) for point in curve["points"]]
    if any(shape != shapes[0] for shape in shapes) or not all(
        point["deviation"].keys() >= {*ESTIMATOR_NAMES} for point in points
    ):
        raise FileFormatError("the records of the noise of gradients are not alike: run these jobs again with --renew")
    curves: list[VarianceCurve] = []
    for same in zip(*(record.get("curves", []) for record in records), strict=True):
        averages = [
            Point(
                places[0]["evaluations"],
                places[0]["graphs"],
                places[0]["rows"],
                {name: mean(place["deviation"][name] for place in places) for name in ESTIMATOR_NAMES},
            )
            for places in zip(*(curve["points"] for curve in same), strict=True)
        ]
        curves.append(VarianceCurve(same[0]["rows"], tuple(averages)))
    return curves
