"""The page: a template filled with what `words`, `content` and `history_curves` say.

Everything that comes from data (names above all) reaches the page in one of two ways: as text that Jinja2 escapes, or
inside one block of JSON in which `<`, `>` and `&` are written as escapes. The scripts put it on the page as text, never
as HTML, and a content security policy allows these very scripts and nothing from anywhere else.
"""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup
from numpy.typing import ArrayLike

from enco.data import InterventionalData
from enco.errors import DataError
from enco.graphs.dag import check_truth
from enco.io._atomic import atomic_file
from enco.report.content import confounders, edge_table, interventions, null_control, page_content, shifts
from enco.report.history_curves import learning_curves
from enco.report.words import cautions, comparison, meaning, permutations, summary
from enco.result import Result
from enco.result.interventions import REASONS
from enco.theory import DataReport, check_data

__all__ = ["render_report", "write_report"]

_SCRIPTS = ("shared", "graph_view", "graph_input", "edge_table", "matrix", "downloads", "main")


def render_report(
    result: Result,
    *,
    truth: ArrayLike | None = None,
    data: InterventionalData | None = None,
    title: str = "Causal graph",
) -> str:
    """Return the page as one text of HTML.

    Parameters
    ----------
    result : Result
    truth : array [N, N], optional
        The true graph, row = cause: edges are then marked as found, false or missed.
    data : InterventionalData, optional
        What the graph was learned from: the page then says what tests find in it.
    title : str

    Examples
    --------
    >>> from enco.result.example import small_result
    >>> page = render_report(small_result())
    >>> page[:15], "src=" in page
    ('<!DOCTYPE html>', False)
    """
    true = None if truth is None else check_truth(truth, len(result.variables))
    data = None if data is None else data.without_context()
    if data is not None and set(data.names) != set(result.variables):
        other = sorted(set(data.names) ^ set(result.variables))[0]
        raise DataError(
            f"the data and the result have different variables ({other!r}): give the data of this fit, with the "
            "same context columns"
        )
    report = None if data is None else check_data(data)
    script = "\n".join(["(() => {", '"use strict";', *(_file(f"{name}.js") for name in _SCRIPTS), "})();"])
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            result=result,
            summary=summary(result, data) + ([] if true is None else comparison(result, true)),
            cautions=cautions(result, report),
            confounders=confounders(result),
            interventions=interventions(result),
            shifts=shifts(result),
            reasons=REASONS,
            null_control=null_control(result),
            permutations=permutations(result),
            meaning=meaning(result),
            refits=result.frequency is not None,
            looked_for_confounders=getattr(result, "confounder_scores", None) is not None,
            statuses=edge_table(result, true)["status"].value_counts().to_dict(),
            compared=true is not None,
            curves=learning_curves(result.history),
            checks=None if report is None else _checks(report),
            settings=sorted(result.settings.items()),
            knowledge={name: value for name, value in result.knowledge.items() if value},
            content=page_content(result, true),
            style=Markup(_file("page.css")),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        )
    )


def write_report(
    path: str | os.PathLike[str],
    result: Result,
    *,
    truth: ArrayLike | None = None,
    data: InterventionalData | None = None,
    title: str = "Causal graph",
    overwrite: bool = False,
    follow_links: bool = True,
) -> None:
    """Write the page to a file, atomically; the arguments are those of `render_report`, and two more.

    Parameters
    ----------
    path : path-like
    result, truth, data, title
        As in `render_report`.
    overwrite : bool
        Whether a file that is already there may be replaced.
    follow_links : bool
        Whether to write through a symbolic link in the place of the file, or to replace the link.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from enco.result.example import small_result
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/report.html", small_result())
    ...     pathlib.Path(folder, "report.html").stat().st_size > 10_000
    True
    """
    page = render_report(result, truth=truth, data=data, title=title)
    with atomic_file(path, overwrite=overwrite, follow_links=follow_links) as temporary:
        # A name may hold half of a surrogate pair, which no encoding knows.
        temporary.write_bytes(page.encode("utf-8", "replace"))


def _checks(report: DataReport) -> list[str]:
    """Return the lines of the check of the data, without the sizes that the summary has already."""
    return str(report).splitlines()[1:]


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("enco.report", "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}  # which no browser reads
    environment.filters["readable"] = _readable
    return environment


@cache
def _file(name: str) -> str:
    return resources.files("enco.report").joinpath("templates", name).read_text(encoding="utf-8")


def _readable(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
