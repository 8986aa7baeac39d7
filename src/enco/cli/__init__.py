"""The command line: one file per command, which imports what it needs when it runs, so that help is quick."""

from collections.abc import Sequence
from typing import Annotated

import typer

from enco._version import __version__
from enco.cli._errors import run
from enco.cli._logs import show_logs
from enco.cli.baseline import baseline
from enco.cli.bench import bench
from enco.cli.check import check
from enco.cli.demo import demo
from enco.cli.describe import describe
from enco.cli.evaluate import evaluate
from enco.cli.export import export
from enco.cli.fit import fit
from enco.cli.plot import plot
from enco.cli.report import report
from enco.cli.simulate import simulate

__all__ = ["app", "main"]

app = typer.Typer(
    name="enco",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(
    invoke_without_command=True,
    epilog="Exit codes: 0 done; 2 a mistake in the command or its files, said in one line; 130 interrupted.",
)
def start(
    context: typer.Context,
    verbose: Annotated[
        int,
        typer.Option(
            "-v", "--verbose", count=True, help="Log what is done on standard error; -vv in detail.", show_default=False
        ),
    ] = 0,
) -> None:
    """Learn causal graphs from observational and interventional data.

    \b
    Start with a demonstration, or with data of your own:
      enco demo --out demo
      enco simulate --structure random --variables 25 --out data.npz
      enco describe data.npz
      enco fit data.npz --out result --report
      enco evaluate result data.npz
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    show_logs(verbose)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"enco {__version__}")


for command in (simulate, describe, check, fit, baseline, report, plot, evaluate, export, demo):
    app.command()(command)
app.add_typer(bench, name="bench")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 2 for a mistake of the user, 130 for Ctrl-C.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program name; by default what the shell passed.

    Examples
    --------
    >>> main(["version"])
    enco ...
    0
    """
    return run(app, arguments)
