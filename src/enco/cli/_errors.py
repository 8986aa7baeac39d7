"""What the shell sees: code 2 and one line for a user's mistake, 130 for Ctrl-C, a traceback for a bug."""

import errno
import os
import sys
from collections.abc import Sequence

import typer

from enco.cli._signals import never_ignored
from enco.errors import EncoError

__all__ = ["MISTAKE", "run"]

MISTAKE = 2
INTERRUPTED = 130


def run(app: typer.Typer, arguments: Sequence[str] | None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    app : typer.Typer
        The commands.
    arguments : sequence of str, optional
        What follows the program name; by default what the shell passed.

    Examples
    --------
    >>> app = typer.Typer()
    >>> @app.command()
    ... def hello() -> None:
    ...     typer.echo("hello")
    >>> run(app, [])
    hello
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with never_ignored():
            code = app(args=given, prog_name="enco", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except EncoError as error:
        return _say(str(error), MISTAKE)
    except MemoryError:
        return _say("not enough memory for this command: use fewer variables or rows", MISTAKE)
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader of our output, such as `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        return _say(f"{error.filename or 'input or output'}: {error.strerror or error}", MISTAKE)
    except Exception as error:
        if _follows_an_interruption(error):
            return _say("interrupted", INTERRUPTED)
        # Mistakes in options: typer may bring its own copy of click, so they are known by their method.
        describe = getattr(error, "format_message", None)
        if describe is None:
            raise
        return _say(f"{describe()} (see enco {_command(app, given)}--help)", MISTAKE)
    if code == INTERRUPTED:
        return _say("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _say(message: str, code: int) -> int:
    typer.echo("error: " + " ".join(message.split()), err=True)
    return code


def _follows_an_interruption(error: BaseException | None) -> bool:
    """Whether Ctrl-C came first: a library may fail to clean up after it, as `zipfile` does in mid-file."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _command(app: typer.Typer, given: list[str]) -> str:
    known = {command.callback.__name__ for command in app.registered_commands if command.callback}
    return f"{given[0]} " if given and given[0] in known else ""
