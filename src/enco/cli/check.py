"""`enco check`: is a graph recoverable, from a known model or from what the data alone show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enco.cli._options import (
    Context,
    Control,
    Separator,
    SettingPairs,
    TargetColumn,
    Threads,
    UnknownTargets,
    load_data,
)
from enco.io.formats import suffixes_in_words

if TYPE_CHECKING:
    from enco.data import InterventionalData
    from enco.simulate import SCM
    from enco.theory import TheoryReport

__all__ = ["check"]


def check(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A model: a .bif file, a known network (asia, sachs, alarm, ...) or an example (worked-chain, "
            "noisy-xor, fully-connected, cancelling-paths, deterministic-chain). "
            f"Or data: a {suffixes_in_words('reader')} file. May be left out with --result.",
            show_default=False,
        ),
    ] = None,
    result: Annotated[
        Path | None,
        typer.Option(
            metavar="RESULT",
            help="Folder that enco fit has written: list what shifts in the data although its graph says it cannot.",
        ),
    ] = None,
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
        typer.Option(
            help="For a model: variables with an intervention, separated by commas. For data: a TOML file that says "
            "what labels mean, as for enco fit.",
            show_default="all",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Check the conditions on these rows, with the graph of the model.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Parent sets examined in all; for a model.", show_default="100000"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides which ones, if there are more.")] = 0,
    null: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="For data: fit it, and N times with permuted labels. How many edges do labels give by chance? With "
            "--result, the fit is that of the result, whose page then shows the answer.",
        ),
    ] = None,
    set_: SettingPairs = None,
    threads: Threads = None,
    target_column: TargetColumn = "perturbation",
    control: Control = None,
    separator: Separator = "+",
    unknown_targets: UnknownTargets = False,
    context: Context = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Check whether a graph can be recovered.

    For a known model: the conditions under which the method is guaranteed to find the graph, computed exactly, the
    largest lambda they allow, and what a number of rows can be expected to show. For data without a model: which
    variables lack interventions, interventions that moved nothing, regimes that are too small; with --null, how many
    edges a fit finds where the labels mean nothing. For a result: variables that shift in a regime although the graph
    says that they cannot, because of feedback, batches, hits off target or wrong edges.

    \b
    For example:
      enco check worked-chain
      enco check asia --lambda 0.002 --rows 500
      enco check model.bif --data rows.csv --json
      enco check screen.csv --target-column guide --control non-targeting
      enco check screen.csv --null 5
      enco check screen.csv --null 5 --result result
      enco check --result result
      enco check --result result screen.csv --targets map.toml
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.errors import SettingsError

    def load(path: Path, label_map: str | None = None) -> InterventionalData:
        if label_map is not None and Path(label_map).suffix.lower() != ".toml":
            raise SettingsError(
                f"--targets of data is a .toml file that says what labels mean, not {label_map!r}; names of variables "
                "apply to a model"
            )
        return load_data(
            path,
            target_column,
            control,
            separator,
            targets=None if label_map is None else Path(label_map),
            unknown_targets=unknown_targets,
            context=context,
        )

    if null is not None and (file is None or _model(file) is not None):
        raise SettingsError("--null permutes the labels of data: name a data file, and no model")
    of_model = {"--lambda": sparsity, "--rows": rows, "--budget": budget, "--data": data}
    if null is not None and file is not None:
        _refuse(of_model, f"the data file {file}")
        if result is not None and set_:
            raise SettingsError("--set belongs to a fit, and --result has one: leave one of the two out")
        _check_labels(load(Path(file), targets), null, set_, seed, threads, result, as_json=as_json)
        return
    if result is not None:
        _refuse(of_model, f"the result {result}")
        _check_result(result, None if file is None else load(Path(file), targets), as_json=as_json)
        return
    if file is None:
        raise SettingsError("there is nothing to check: name a model or a data file, or a folder with --result")
    model = _model(file)
    if model is not None:
        report = _check_model(
            model,
            None if data is None else load(data),
            sparsity=sparsity,
            rows=rows,
            targets=targets,
            budget=budget,
            seed=seed,
        )
        typer.echo(json.dumps(report.to_dict(), indent=2) if as_json else str(report))
        return
    if data is not None:
        raise SettingsError(f"--data needs a model, such as a .bif file, to compare with, but {file} is a data file")
    _refuse(of_model, f"the data file {file}")
    from enco.theory import check_data

    found = check_data(load(Path(file), targets))
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else str(found))


def _check_labels(
    data: InterventionalData,
    n_permutations: int,
    pairs: list[str] | None,
    seed: int,
    threads: int | None,
    folder: Path | None,
    *,
    as_json: bool,
) -> None:
    """Fit with real and permuted labels, and count edges; a result that is there serves as the fit with real ones."""
    from enco.cli._additions import add_null_control, replace_result, report_null_control, watch_fits
    from enco.cli.fit import _settings
    from enco.io._lock import locked
    from enco.knowledge import Knowledge
    from enco.null_control import null_control
    from enco.result import Result
    from enco.settings import Settings

    if folder is None:
        chosen = _settings(pairs or [])
        with watch_fits("fit", 1 + n_permutations) as on_fit:
            control = null_control(data, n_permutations, settings=chosen, seed=seed, n_jobs=threads, on_fit=on_fit)
        found = control.added_to_result()
    else:
        with locked(folder):
            result = Result.load(folder)
            settings, known = Settings(**result.settings), Knowledge(**result.knowledge)
            control = add_null_control(result, data, n_permutations, settings, known, threads)
            replace_result(folder, found := control.added_to_result(), None, data)
    table = control.table()
    if as_json:
        records = table.drop(columns="permutations").astype(object).where(table.notna(), None).to_dict("records")
        typer.echo(json.dumps({"permutations": n_permutations, "thresholds": records}, indent=2))
        return
    report_null_control(found)


def _refuse(of_model: dict[str, Any], what: str) -> None:
    from enco.errors import SettingsError

    for option, value in of_model.items():
        if value is not None:
            raise SettingsError(f"{option} applies to a model, not to {what}: leave it out")


def _check_result(folder: Path, data: InterventionalData | None, *, as_json: bool) -> None:
    """List the shifts that the graph of a result does not explain."""
    from enco.errors import SettingsError
    from enco.result import Result
    from enco.result.account import shifts_in_data
    from enco.result.interventions import REASONS, in_words

    result = Result.load(folder)
    explained_by_more = result.settings.get("regime_shift") or (data is not None and data.is_context.any())
    if data is not None and not explained_by_more:
        shifts = shifts_in_data(result, data)
    elif result.shifts is not None:  # what context explains, only the fit knows
        shifts = result.shifts
    else:
        raise SettingsError(f"{folder} was written by an earlier version and holds no list of shifts: fit again")
    table = result.interventions
    sentences = [] if table is None else in_words(table, len(result.variables), shifts)
    records = shifts.to_dict("records")
    if as_json:
        content = {"unexplained_shifts": records, "reasons": list(REASONS), "interventions": sentences}
        typer.echo(json.dumps(content, indent=2))
        return
    typer.echo(f"shifts that the graph does not explain: {len(records):,}")
    width = (
        max((len(it["regime"]) for it in records), default=0),
        max((len(it["variable"]) for it in records), default=0),
    )
    for it in records:
        where = f"in {it['regime']:<{width[0]}}  {it['variable']:<{width[1]}}"
        typer.echo(f"  {where}  size {it['size']:.2f}, p = {it['p_value']:.2g}")
    if records:
        typer.echo("each has one of these reasons:")
        for reason in REASONS:
            typer.echo(f"  {reason}")
    for sentence in sentences:
        typer.echo(f"labels  {sentence}")


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
