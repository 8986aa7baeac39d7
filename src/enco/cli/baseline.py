"""`enco baseline`: another method on a data file."""

from typing import Annotated

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
    load_data,
)
from enco.cli._signals import stopped_like_ctrl_c

__all__ = ["baseline"]


def baseline(
    method: Annotated[str, typer.Argument(help="Its name: sdi, dcdi, dcdi-dsf, gies, igsp, ges, enco-reinforce, ...")],
    data: DataArgument,
    out: ResultFolder,
    target_column: TargetColumn = "perturbation",
    control: Control = None,
    separator: Separator = "+",
    targets: LabelMap = None,
    unknown_targets: UnknownTargets = False,
    context: Context = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same graph.")] = 0,
    threads: Threads = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the result in the folder.")] = False,
    set_: SettingPairs = None,
) -> None:
    """Learn the graph behind a data file with another method, to compare with.

    Writes the same files as `enco fit`, except that there are no checkpoints. Methods other than ENCO leave context
    columns out, and need to know the targets of every intervention.

    \b
    For example:
      enco baseline gies data.npz --out gies
      enco baseline sdi data.npz --set sparsity=0.1 --seed 3 --out sdi
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    from enco.baselines import find_method
    from enco.cli._fit_folder import check_folder, check_place
    from enco.cli.fit import read_pairs
    from enco.executors.threads import count_threads
    from enco.io._lock import locked
    from enco.result.folder import forget_checkpoint, recover, replacing

    chosen = find_method(method)
    settings = chosen.read_settings(read_pairs(set_ or []))
    chosen.make_settings(**settings)  # refuse before the work
    check_place(out, resume=False, force=force)
    with stopped_like_ctrl_c(), locked(out):
        recover(out)
        check_folder(out, resume=False, force=force)
        read = load_data(
            data, target_column, control, separator, targets=targets, unknown_targets=unknown_targets, context=context
        )
        result = chosen.fit(read, seed=seed, n_jobs=count_threads(threads), **settings)
        with replacing(out) as new:
            result.save(new)
        forget_checkpoint(out)  # of an unfinished fit that was to be replaced
    removed = len(result.order_report["removed"])
    typer.echo(f"edges   {result.n_edges}{f', {removed} more removed to break cycles' if removed else ''}")
    typer.echo(f"time    {result.seconds:.1f} s")
    typer.echo(f"result  {out / 'graph.json'}")
