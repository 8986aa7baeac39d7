"""`enco fit`: from a data file to a causal graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from enco.cli._options import (
    Context,
    Control,
    DataArgument,
    LabelMap,
    ResultFolder,
    Separator,
    SettingPairs,
    TargetColumn,
    Threads,
    UnknownTargets,
)
from enco.cli._run_fit import FitRequest, run_fit
from enco.cli._signals import stopped_like_ctrl_c

if TYPE_CHECKING:
    from enco.settings import Settings

__all__ = ["fit", "read_pairs"]


def fit(
    data: DataArgument,
    out: ResultFolder,
    target_column: TargetColumn = "perturbation",
    control: Control = None,
    separator: Separator = "+",
    targets: LabelMap = None,
    unknown_targets: UnknownTargets = False,
    context: Context = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same graph, for any number of threads.")] = 0,
    threads: Threads = None,
    knowledge: Annotated[
        Path | None, typer.Option(help="TOML file with required and forbidden edges, tiers, roots, leaves.")
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="Pairs to consider: all, screen (those that a test of dependence leaves) or auto.",
            show_default="auto: screen above 75 variables",
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Settings to begin with: enco, or paper (Algorithm 1 as published, no additions).")
    ] = "enco",
    latent: Annotated[bool, typer.Option("--latent", help="Look for latent confounders of two variables.")] = False,
    interventions: Annotated[
        str,
        typer.Option(
            help="What interventions did: auto (the data decide), perfect (all set their targets, whatever the causes) "
            "or soft (targets still listen to their causes, in a way of their own)."
        ),
    ] = "auto",
    off_target: Annotated[
        bool, typer.Option("--off-target", help="Take variables that a regime seems to have hit for further targets.")
    ] = False,
    regime_shift: Annotated[
        bool,
        typer.Option(
            "--regime-shift", help="Give every regime an intercept of its own for each continuous variable, as a batch."
        ),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a fit that was interrupted, or add to a finished one.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the result, or unfinished fit, in the folder.")
    ] = False,
    set_: SettingPairs = None,
    report: Annotated[bool, typer.Option("--report", help="Also write the page report.html to the folder.")] = False,
    bootstrap: Annotated[
        int,
        typer.Option(
            min=0, max=100_000, metavar="B", help="Then refit B times on other rows: how often does every edge return?"
        ),
    ] = 0,
    resample: Annotated[
        str,
        typer.Option(
            help="Rows of a refit: subsample (63 % of every regime), half, bootstrap (as many, drawn with replacement) "
            "or regimes (all but one intervention regime, each in turn)."
        ),
    ] = "subsample",
    null: Annotated[
        int,
        typer.Option(
            min=0,
            max=100_000,
            metavar="N",
            help="Then fit N times with permuted labels: how many edges do labels give by chance?",
        ),
    ] = 0,
    fdr: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Keep only as many edges, the surest first, as leave this expected share of false ones.",
            show_default="all edges",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end instead of text.")] = False,
) -> None:
    """Learn the causal graph behind a data file.

    Writes graph.json, edges.csv, history.csv, parameters.npz and networks.npz to the folder; --report adds a page for
    the browser, --bootstrap stability.csv and stability.json, which say how often each edge was found again, and
    --null the table of a negative control. A checkpoint is kept there while the fit runs: after Ctrl-C, or a crash, the
    same command with --resume continues to the same result. On a finished fit, --resume adds the refits, or the
    negative control, that are missing.

    \b
    A file of background knowledge may look like this:
      required = [["smoking", "cancer"]]
      forbidden = [["cancer", "age"]]
      tiers = [["age", "sex"], ["smoking"]]
      roots = ["age"]
      leaves = ["cancer"]

    \b
    A file that says what labels mean may look like this:
      "drug X" = ["ERK", "AKT"]
      "drug Y" = "unknown"
      "DMSO" = "observational"
      "weak drug" = {targets = "ERK", interventions = "soft"}

    \b
    For example:
      enco fit data.npz --out result
      enco fit data.npz --out result --report
      enco fit screen.csv --target-column guide --control non-targeting --knowledge known.toml --out result
      enco fit screen.csv --targets map.toml --context plate --out result
      enco fit screen.csv --unknown-targets --out result
      enco fit data.npz --latent --out result
      enco fit data.npz --preset paper --out result
      enco fit data.npz --set sparsity=0.01 --set max_epochs=50 --seed 3 --out result
      enco fit data.npz --out result --resume
      enco fit data.npz --out result --bootstrap 20
      enco fit data.npz --out result --bootstrap 8 --resample regimes
      enco fit data.npz --out result --null 5 --report
      enco fit data.npz --out result --fdr 0.1
      enco fit thousand.npz --candidates screen --out result
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.errors import SettingsError
    from enco.resampling import SCHEMES
    from enco.settings import Settings

    if resample not in SCHEMES:
        raise SettingsError(f"--resample must be one of {', '.join(SCHEMES)}, got {resample!r}")
    chosen = {"latent": latent, "off_target": off_target, "regime_shift": regime_shift}
    switches = [f"{name}=true" for name, on in chosen.items() if on]
    given = [
        *switches,
        *([] if interventions == "auto" else [f"interventions={interventions}"]),
        *([] if candidates is None else [f"candidates={candidates}"]),
    ]
    changes = Settings.values_of(read_pairs([f"preset={preset}", *(set_ or []), *given]))
    Settings.of_preset(**changes)  # refuses what is wrong before it looks at data
    if fdr is not None and not 0 < fdr < 1:
        raise SettingsError(f"--fdr must lie between 0 and 1, got {fdr}")
    request = FitRequest(
        data=data,
        out=out,
        changes=changes,
        target_column=target_column,
        control=control,
        separator=separator,
        targets=targets,
        unknown_targets=unknown_targets,
        context=context,
        seed=seed,
        threads=threads,
        knowledge=knowledge,
        resume=resume,
        force=force,
        report=report,
        bootstrap=bootstrap,
        resample=resample,
        null=null,
        fdr=fdr,
        as_json=as_json,
    )
    from enco.cli._fit_folder import check_place
    from enco.io._lock import locked

    check_place(out, resume=resume, force=force)
    with stopped_like_ctrl_c(), locked(out):
        run_fit(request)


def _settings(pairs: list[str]) -> Settings:
    from enco.settings import Settings

    return Settings.parse(**read_pairs(pairs))


def read_pairs(pairs: list[str]) -> dict[str, str]:
    """Read what --set got.

    Examples
    --------
    >>> read_pairs(["sparsity = 0.01"])
    {'sparsity': '0.01'}
    """
    from enco.errors import SettingsError

    texts = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise SettingsError(f"--set needs NAME=VALUE, for example --set sparsity=0.01, not {pair!r}")
        texts[name.strip()] = text.strip()
    return texts
