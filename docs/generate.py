"""Pages of the documentation that are made from the code: `errors.md` and `cli.md`.

``python docs/generate.py`` writes both, ``python docs/generate.py --check`` says whether they are up to date.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import enco.errors
from enco.cli import app

DOCS = Path(__file__).parent
SOURCE = Path(enco.errors.__file__).parent
ERRORS = {
    name: kind
    for name, kind in vars(enco.errors).items()
    if inspect.isclass(kind) and issubclass(kind, enco.errors.EncoError)
}
INTERNAL = ("bench",)  # mistakes of those who add benchmarks


# ------------------------------------------------------------------------------------------------------------ errors


def errors_page() -> str:
    """List every message of every error class, as the code has it."""
    lines = [
        "# Errors",
        "",
        "Whatever you can get wrong ends in one of these errors: one sentence that says what is wrong, where, and what",
        "to do. All are subclasses of `enco.errors.EncoError`, which is a `ValueError`; the command line prints the",
        "sentence on one line and exits with code 2. Any other exception is a bug: please report it.",
        "",
        "Words in angle brackets stand for what the message fills in. This page is made from the code by `make",
        "reference`.",
    ]
    found: dict[str, set[tuple[str, str]]] = {name: set() for name in ERRORS}
    for file in sorted(SOURCE.rglob("*.py")):
        module = file.relative_to(SOURCE).with_suffix("").as_posix()
        if module.split("/")[0] not in INTERNAL:
            for name, message in messages(ast.parse(file.read_text(encoding="utf-8"))):
                found[name].add((message, module.removesuffix("/__init__").replace("/", ".")))
    for name, kind in ERRORS.items():
        lines += ["", f"## {name}", "", (kind.__doc__ or "").strip().splitlines()[0], ""]
        lines += ["| message | raised in |", "|---|---|"]
        lines += [f"| {_cell(message)} | `enco.{module}` |" for message, module in sorted(found[name])]
    return "\n".join(lines) + "\n"


def messages(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Every (error class, message) of a module: calls of an error class, with its text as a template."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in ERRORS:
            continue
        if call.func.id == "MissingPackageError":
            words = [_template(argument) for argument in call.args]
            yield call.func.id, str(enco.errors.MissingPackageError(*words))
        elif call.args and not _passed_on(call.args[0]):
            yield call.func.id, " ".join(_template(call.args[0]).split())


def _passed_on(argument: ast.expr) -> bool:
    """Whether a message is that of another error, with at most the name of a file before it."""
    parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
    words = [part for part in parts if isinstance(part, ast.Constant) and str(part.value).strip(" :")]
    return not words and all(not isinstance(part, ast.IfExp | ast.BinOp) for part in parts)


def _template(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    if isinstance(node, ast.FormattedValue):
        return f"<{_word(node.value)}>" if isinstance(node.value, ast.BinOp) else _template(node.value)
    if isinstance(node, ast.IfExp):  # a plural, or a hint that is not always there
        return _template(node.body)
    return f"<{_word(node)}>"


def _word(node: ast.expr) -> str:
    """Name what is filled in."""
    if isinstance(node, ast.Name):
        return node.id.strip("_").replace("_", " ")
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_").replace("_", " ")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return "number"
    if isinstance(node, ast.Call) and node.args:
        return _word(node.args[-1])
    if isinstance(node, ast.Subscript):
        return _word(node.value)
    return "..."


def _cell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
    return escaped.replace("_", "\\_").replace("[", "\\[").replace("`", "\\`").replace("$", "\\$")


# ----------------------------------------------------------------------------------------------------- command line


def cli_page() -> str:
    """Write the help of every command, as the command line prints it."""
    lines = [
        "# Command line",
        "",
        "What `enco COMMAND --help` prints. This page is made from the code by `make reference`.",
        "",
        "Data go to standard output and everything else (progress, logs, errors) to standard error, so that `--json`",
        "can be piped. `enco -v COMMAND` logs what is read and done, `-vv` in detail. Tab completion for your shell:",
        "`enco --install-completion`.",
        "",
        "| exit code | meaning |",
        "|---|---|",
        "| 0 | done |",
        "| 1 | the reader of the output (such as `head`) has closed it |",
        "| 2 | a mistake in the command, its options or its files; one line on standard error says which |",
        "| 130 | interrupted by Ctrl-C or SIGTERM; `enco fit --resume` continues |",
    ]
    group: Any = typer.main.get_command(app)
    for title, command in _commands("enco", group):
        # A width of its own, so that the page does not depend on the terminal.
        context = type(group).context_class(command, info_name=title, terminal_width=100, max_content_width=100)
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        lines += ["", f"## {title}", "", "```text", text.strip(), "```"]
    return "\n".join(lines) + "\n"


def _commands(title: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield title, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(f"{title} {name}", inner)


PAGES = {"errors.md": errors_page, "cli.md": cli_page}


def stale() -> list[str]:
    """Names of the pages that differ from what the code says."""
    return [
        name
        for name, make in PAGES.items()
        if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != make()
    ]


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        old = stale()
        sys.exit(f"out of date: {', '.join(old)}; run make reference" if old else 0)
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
