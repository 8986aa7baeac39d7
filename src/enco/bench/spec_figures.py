"""Figures of specs, with matplotlib: lines over numbers, bars over names, learning curves, gradient noise."""

import os
from collections.abc import Callable, Sequence
from math import ceil, log
from statistics import linear_regression

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from enco.bench.calibration import from_records
from enco.bench.calibration_figure import draw_calibration
from enco.bench.figures import draw_variance
from enco.bench.records import Store
from enco.bench.spec import Planned, Spec
from enco.bench.spec_tables import curve_points, mean_variance
from enco.bench.summary import Line, Summary, summarise
from enco.bench.table_metrics import METRICS
from enco.errors import EncoError
from enco.io._atomic import atomic_file

__all__ = ["draw_spec"]

# Okabe and Ito's colours, which everybody can tell apart; published numbers are dashed or hatched as well.
_COLOURS = ("#009E73", "#D55E00", "#0072B2", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_PANELS_PER_ROW = 3


def draw_spec(
    spec: Spec, plan: Sequence[Planned], store: Store, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Draw the first metric of a spec beside the published numbers and write a PNG file.

    Parameters
    ----------
    spec : Spec
    plan : sequence of Planned
        The jobs whose records count.
    store : Store
    path : path-like
    overwrite : bool

    Examples
    --------
    >>> from enco.bench.spec import load_spec
    >>> spec = load_spec("table1")
    >>> draw_spec(spec, spec.plan(graphs=1), Store(), "table1.png")
    Traceback (most recent call last):
    ...
    enco.errors.EncoError: there are no records of table1 yet: enco bench run table1
    """
    summary = summarise(spec, plan, store)
    if not summary.records:
        raise EncoError(f"there are no records of {spec.name} yet: enco bench run {spec.name}")
    if spec.task == "gradient-variance":
        draw_variance(mean_variance(summary.records), path, overwrite=overwrite)
        return
    if spec.task == "calibration":
        figure = draw_calibration(from_records(summary.records))
    elif spec.task == "learning-curve":
        figure = _learning_curves(spec, plan, store)
    elif len(spec.line_axes) == 1 and _are_numbers(spec.axes[spec.line_axes[0]]):
        figure = _lines_by_panel(summary)
    elif not spec.line_axes and len(spec.axes[spec.columns]) > 1 and _are_numbers(spec.axes[spec.columns]):
        figure = _lines(summary)
    else:
        figure = _bars(summary)
    with atomic_file(path, overwrite=overwrite) as temporary:
        figure.savefig(temporary, format="png", dpi=150)


def _are_numbers(labels: Sequence[str] | object) -> bool:
    return isinstance(labels, dict) and all(label.replace(".", "", 1).isdigit() for label in labels)


def _panels(titles: Sequence[str]) -> tuple[Figure, list[Axes]]:
    across = min(len(titles), _PANELS_PER_ROW)
    down = ceil(len(titles) / across)
    figure = Figure(figsize=(0.8 + 3.4 * across, 0.6 + 2.8 * down), layout="constrained")
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for panel, title in zip(panels, titles, strict=False):
        panel.set_title(title, fontsize=10)
        panel.set_axisbelow(True)
        panel.grid(which="major", color="#d0d0d0", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[len(titles) :]:
        panel.set_visible(False)
    return figure, panels[: len(titles)]


def _with_legend(figure: Figure, panels: Sequence[Axes]) -> Figure:
    named = {
        label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _colours(lines: Sequence[Line]) -> Callable[[Line], str]:
    """Give one colour to published numbers and to ours beside them."""
    pairs = list(dict.fromkeys(line.pair for line in lines))
    return lambda line: _COLOURS[pairs.index(line.pair) % len(_COLOURS)]


def _lines_by_panel(summary: Summary) -> Figure:
    """Draw a panel for each column, the axis of the lines along x."""
    spec = summary.spec
    lines = summary.tables[spec.metrics[0]]
    columns = list(spec.axes[spec.columns])
    figure, panels = _panels(columns)
    colour = _colours(lines)
    for column, panel in zip(columns, panels, strict=True):
        for title in dict.fromkeys(line.title for line in lines):
            same = [line for line in lines if line.title == title and line.entries[column].mean is not None]
            _curve(panel, [(float(line.labels[0]), line, column) for line in same], colour)
        panel.set_xlabel(spec.line_axes[0].replace("_", " "))
    panels[0].set_ylabel(METRICS[spec.metrics[0]].title)
    return _with_legend(figure, panels)


def _lines(summary: Summary) -> Figure:
    """Draw the columns along x: a panel for the metric, and one for the seconds, with how they grow."""
    spec = summary.spec
    lines = summary.tables[spec.metrics[0]]
    figure, [panel, clock] = _panels([spec.title, "Time of a fit"])
    colour = _colours(lines)
    for line in lines:
        _curve(panel, [(float(column), line, column) for column in line.entries], colour)
    hues = {line.method: colour(line) for line in lines}
    for line in summary.tables["seconds"]:
        _curve(clock, [(float(column), line, column) for column in line.entries], lambda line: hues[line.method])
        if (exponent := _growth(line)) is not None:
            clock.text(
                0.05, 0.92, f"{line.method}: seconds grow like size$^{{{exponent:.2f}}}$", transform=clock.transAxes
            )
    for each in (panel, clock):
        each.set_xlabel(spec.columns.replace("_", " "))
    panel.set_ylabel(METRICS[spec.metrics[0]].title)
    panel.set_yscale("symlog", linthresh=1.0)
    clock.set_ylabel("seconds")
    clock.set_xscale("log")
    clock.set_yscale("log")
    return _with_legend(figure, [panel, clock])


def _growth(line: Line) -> float | None:
    """Slope of log seconds over log size; None where fewer than two sizes were measured."""
    known = [(log(float(column)), log(entry.mean)) for column, entry in line.entries.items() if entry.mean]
    return linear_regression(*zip(*known, strict=True)).slope if len(known) > 1 else None


def _curve(panel: Axes, points: Sequence[tuple[float, Line, str]], colour: Callable[[Line], str]) -> None:
    known = [(x, line, line.entries[column]) for x, line, column in points]
    shown = sorted((point for point in known if point[2].mean is not None), key=lambda point: point[0])
    if shown:
        line = shown[0][1]
        panel.errorbar(
            [x for x, _, _ in shown],
            [entry.height for _, _, entry in shown],
            yerr=[entry.deviation or 0.0 for _, _, entry in shown],
            color=colour(line),
            linestyle="-" if line.whose == "ours" else "--",
            marker="o" if line.whose == "ours" else "s",
            markersize=4,
            linewidth=1.4,
            capsize=2,
            label=line.title,
        )


def _bars(summary: Summary) -> Figure:
    """Draw a group of bars for each column, and a panel for each label of the other axes."""
    spec = summary.spec
    lines = summary.tables[spec.metrics[0]]
    places = list(dict.fromkeys(line.labels for line in lines))
    figure, panels = _panels([", ".join(place) or spec.title for place in places])
    figure.set_figwidth(max(figure.get_figwidth(), 1.2 + 1.1 * len(spec.axes[spec.columns]) * len(panels)))
    colour = _colours(lines)
    for place, panel in zip(places, panels, strict=True):
        here = [line for line in lines if line.labels == place]
        width = 0.8 / len(here)
        for number, line in enumerate(here):
            known = [(x, entry) for x, entry in enumerate(line.entries.values()) if entry.mean is not None]
            panel.bar(
                [x + (number - (len(here) - 1) / 2) * width for x, _ in known],
                [entry.height for _, entry in known],
                width,
                yerr=[entry.deviation or 0.0 for _, entry in known],
                color=colour(line) if line.whose == "ours" else "none",
                edgecolor=colour(line),
                hatch="" if line.whose == "ours" else "///",
                error_kw={"linewidth": 0.7},
                label=line.title,
            )
        panel.set_xticks(range(len(spec.axes[spec.columns])), list(spec.axes[spec.columns]))
        if METRICS[spec.metrics[0]].lower_is_better:
            panel.set_yscale("symlog", linthresh=1.0)
        panel.set_ylim(bottom=0.0)
    panels[0].set_ylabel(METRICS[spec.metrics[0]].title)
    return _with_legend(figure, panels)


def _learning_curves(spec: Spec, plan: Sequence[Planned], store: Store) -> Figure:
    """Draw a panel for each column, and in it a curve for each metric over the epochs."""
    curves = {name: curve_points(plan, store, name, spec.columns) for name in spec.metrics}
    labels = list(next(iter(curves.values())))
    figure, panels = _panels(labels)
    for label, panel in zip(labels, panels, strict=True):
        for colour, (name, by_label) in zip(_COLOURS, curves.items(), strict=False):
            metric = METRICS[name]
            values = [metric.scale * value for value in by_label[label]]
            panel.plot(range(1, len(values) + 1), values, color=colour, marker="o", markersize=3, label=metric.title)
        panel.set_xlabel("epoch")
    return _with_legend(figure, panels)
