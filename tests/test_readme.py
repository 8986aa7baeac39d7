"""Every Python block of the README runs, each on its own and in an empty folder; so do its enco commands."""

import re
import shlex
from pathlib import Path

import pytest

from enco.cli import main

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for language, block in BLOCKS
    if language == ""
    for line in block.splitlines()
    if line.startswith("enco ")
]


def test_the_readme_has_examples():
    assert len(PYTHON) >= 3
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python_block(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(README), "exec"), {"__name__": "__main__"})


def test_shell_commands_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    quick = ["max_epochs=1", "first_fit_steps=20", "graph_steps=5", "orientation_passes=1"]
    for command in COMMANDS:
        extra = [word for setting in quick for word in ("--set", setting)] if command[0] == "fit" else []
        assert main([*command, *extra]) == 0, capsys.readouterr().err


def test_make_targets_exist():
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert targets
    assert all(f"\n{target}:" in makefile for target in targets)
