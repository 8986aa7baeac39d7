"""The command line as the shell sees it: exit codes, one line for a mistake, no traceback, quick help."""

import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest
import typer

from enco import __version__
from enco.cli import main
from enco.cli._errors import run
from enco.errors import EncoError, MissingPackageError

PROGRAM = [sys.executable, "-c", "import sys; from enco.cli import main; sys.exit(main())"]


def app_that_raises(error):
    app = typer.Typer()

    @app.command()
    def fail() -> None:
        raise error

    return app


def test_version(capsys):
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"enco {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_teaches_by_example(capsys, arguments):
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "enco simulate --structure random --variables 25 --out data.npz\n" in printed
    for command in ("simulate", "describe", "evaluate", "demo", "version"):
        assert f"\n  {command} " in printed


@pytest.mark.parametrize("command", ["simulate", "describe", "evaluate", "demo"])
def test_every_command_has_an_example(capsys, command):
    assert main([command, "--help"]) == 0
    assert f"\n    enco {command} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (EncoError("two\nlines"), 2, "error: two lines\n"),
        (
            MissingPackageError("pgmpy", "bif", "BIF"),
            2,
            "error: BIF needs the package 'pgmpy': pip install 'enco[bif]'\n",
        ),
        (PermissionError(13, "Permission denied", "a.npz"), 2, "error: a.npz: Permission denied\n"),
        (OSError("disk"), 2, "error: input or output: disk\n"),
        (MemoryError(), 2, "error: not enough memory for this command: use fewer variables or rows\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
        (typer.Abort(), 130, "error: interrupted\n"),
        (typer.Exit(3), 3, ""),
        (typer.BadParameter("too small"), 2, "error: Invalid value: too small (see enco --help)\n"),
    ],
)
def test_exit_codes_and_messages(capsys, error, code, message):
    assert run(app_that_raises(error), []) == code
    assert capsys.readouterr().err == message


def test_a_library_that_fails_after_ctrl_c(capsys):
    error = ValueError("cannot close the file")
    error.__context__ = KeyboardInterrupt()
    assert run(app_that_raises(error), []) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_bugs_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        run(app_that_raises(ZeroDivisionError()), [])


@pytest.mark.parametrize("arguments", [["fly"], ["--fast"], ["simulate", "extra", "--out", "a.npz"]])
def test_unknown_words(capsys, arguments):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1


def test_the_process_exits_with_the_code(tmp_path):
    done = subprocess.run([*PROGRAM, "describe", "nowhere.npz"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: nowhere.npz: there is no such file\n"
    assert done.stdout == ""


def test_help_does_not_import_the_numerical_stack():
    heavy = "{'numpy', 'scipy', 'pandas', 'numba', 'networkx', 'matplotlib', 'sklearn', 'gadjid'}"
    code = f"import sys; from enco.cli import main; main(['--help']); sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_exits_130_and_leaves_nothing_behind(tmp_path):
    command = [*PROGRAM, "simulate", "-n", "30", "--rows", "20000000", "--out", "a.npz"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:  # until it has begun to write
        time.sleep(0.05)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == "error: interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_reader_that_stops_early_gets_no_message(tmp_path):
    program = f'"{sys.executable}" -c "import sys; from enco.cli import main; sys.exit(main())"'
    pipeline = f"set -o pipefail; {program} --help | head -n 0"
    done = subprocess.run(["bash", "-c", pipeline], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")


def test_ctrl_c_where_python_ignores_exceptions_still_ends_the_command():
    """As in the callback of a weak reference during an import: the exception is dropped, the wish is not."""
    app = typer.Typer()

    @app.command()
    def works_on() -> None:
        thing = threading.Event()
        watcher = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
        del thing
        assert watcher() is None
        time.sleep(30)

    started = time.monotonic()
    assert run(app, []) == 130
    assert time.monotonic() - started < 2
