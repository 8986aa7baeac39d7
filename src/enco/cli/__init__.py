"""The command line: one file per command, which imports what it needs when it runs, so that help is quick."""

from collections.abc import Sequence

import typer

from enco._version import __version__
from enco.cli._errors import run
from enco.cli.baseline import baseline
from enco.cli.bench import bench
from enco.cli.check import check
from enco.cli.demo import demo
from enco.cli.describe import describe
from enco.cli.evaluate import evaluate
from enco.cli.fit import fit
from enco.cli.simulate import simulate

__all__ = ["app", "main"]

app = typer.Typer(
    name="enco",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Learn causal graphs from observational and interventional data.

    \b
    Start with a demonstration, or with data of your own:
      enco demo --out demo
      enco simulate --structure random --variables 25 --out data.npz
      enco describe data.npz
      enco fit data.npz --out result
      enco evaluate result data.npz
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"enco {__version__}")


for command in (simulate, describe, check, fit, baseline, evaluate, demo):
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
