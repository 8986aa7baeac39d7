"""`enco check`: is a graph recoverable, from a known model or from what the data alone show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from enco.cli._options import Control, Separator, TargetColumn, load_data
from enco.io.formats import suffixes_in_words

if TYPE_CHECKING:
    from enco.data import InterventionalData
    from enco.simulate import SCM
    from enco.theory import TheoryReport

__all__ = ["check"]


def check(
    file: Annotated[
        str,
        typer.Argument(
            help="A model: a .bif file, a known network (asia, sachs, alarm, ...) or an example (worked-chain, "
            "noisy-xor, fully-connected, cancelling-paths, deterministic-chain). "
            f"Or data: a {suffixes_in_words('reader')} file."
        ),
    ],
    sparsity: Annotated[
        float | None,
        typer.Option("--lambda", min=0.0, help="Sparsity that a fit would use; for a model.", show_default="0.004"),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Rows per intervention to expect evidence from; for a model.", show_default="200"),
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(help="Variables with an intervention, separated by commas; for a model.", show_default="all"),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Check the conditions on these rows, with the graph of the model.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Parent sets examined in all; for a model.", show_default="100000"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides which ones, if there are more.")] = 0,
    target_column: TargetColumn = "perturbation",
    control: Control = None,
    separator: Separator = "+",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Check whether a graph can be recovered.

    For a known model: the conditions under which the method is guaranteed to find the graph, computed exactly, the
    largest lambda they allow, and what a number of rows can be expected to show. For data without a model: which
    variables lack interventions, interventions that moved nothing, regimes that are too small.

    \b
    For example:
      enco check worked-chain
      enco check asia --lambda 0.002 --rows 500
      enco check model.bif --data rows.csv --json
      enco check screen.csv --target-column guide --control non-targeting
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.errors import SettingsError

    model = _model(file)
    if model is not None:
        report = _check_model(
            model,
            None if data is None else load_data(data, target_column, control, separator),
            sparsity=sparsity,
            rows=rows,
            targets=targets,
            budget=budget,
            seed=seed,
        )
        typer.echo(json.dumps(report.to_dict(), indent=2) if as_json else str(report))
        return
    for option, value in (("--lambda", sparsity), ("--rows", rows), ("--targets", targets), ("--budget", budget)):
        if value is not None:
            raise SettingsError(f"{option} applies to a model, not to the data file {file}: leave it out")
    if data is not None:
        raise SettingsError(f"--data needs a model, such as a .bif file, to compare with, but {file} is a data file")
    from enco.theory import check_data

    found = check_data(load_data(Path(file), target_column, control, separator))
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else str(found))


def _model(file: str) -> SCM | None:
    """Read a model; None if the name is that of a data file."""
    from enco.simulate import BIF_NETWORKS, from_bif
    from enco.simulate.examples import EXAMPLES

    if file in EXAMPLES:
        return EXAMPLES[file]()
    path = Path(file)
    is_bif = path.name.lower().endswith((".bif", ".bif.gz"))
    if file in BIF_NETWORKS or is_bif or not path.suffix:
        return from_bif(file)
    return None


def _check_model(
    model: SCM,
    data: InterventionalData | None,
    *,
    sparsity: float | None,
    rows: int | None,
    targets: str | None,
    budget: int | None,
    seed: int,
) -> TheoryReport:
    from enco.settings import Settings
    from enco.theory import BUDGET, check_conditions

    names = None if targets is None else [name.strip() for name in targets.split(",") if name.strip()]
    return check_conditions(
        model,
        data=data,
        sparsity=Settings.sparsity if sparsity is None else sparsity,
        targets=names,
        rows=200 if rows is None else rows,
        budget=BUDGET if budget is None else budget,
        seed=seed,
    )
