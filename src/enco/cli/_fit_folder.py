"""The folder that `enco fit` writes to: what may be replaced, what may be continued, and whose it is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from enco.fitting.checkpoint import Identity
    from enco.result import Result

__all__ = ["check_folder", "check_place", "drop_checkpoint", "finished_result"]


def check_place(out: Path, *, resume: bool, force: bool) -> None:
    """Refuse what no look into the folder could allow."""
    from enco.errors import EncoError

    if resume and force:
        raise EncoError("--resume continues a fit and --force starts it anew: give one of the two")
    if out.exists() and not out.is_dir():
        raise EncoError(f"cannot write to {out}: it is a file, choose a folder with --out")


def check_folder(out: Path, *, resume: bool, force: bool, report: bool = False) -> None:
    """Refuse before the work rather than after it: nothing is replaced without --force."""
    from enco.errors import EncoError
    from enco.result.folder import CHECKPOINT, PAGE, is_complete

    complete, begun = is_complete(out), (out / CHECKPOINT).exists()
    if report and (out / PAGE).exists() and not force and not (resume and complete):
        raise EncoError(f"{out / PAGE} exists already: choose another folder with --out, or replace it with --force")
    if resume or force:
        return
    if complete and begun:
        raise EncoError(
            f"{out} holds a finished fit, and an unfinished one that was to replace it: continue that with --resume, "
            "choose another folder with --out, or replace both with --force"
        )
    if complete:
        raise EncoError(f"{out} holds a finished fit: choose another folder with --out, or replace it with --force")
    if begun:
        raise EncoError(f"{out} holds an unfinished fit: continue it with --resume, or replace it with --force")


def finished_result(out: Path, identity: Identity) -> Result | None:
    """Return the result of this very fit if the folder holds it, None if there is something to continue or to begin.

    Raises
    ------
    EncoError
        If the folder holds the result of another fit, or of one that nobody knows, and nothing else.
    """
    from enco.errors import EncoError
    from enco.result import Result
    from enco.result.folder import CHECKPOINT, is_complete

    if not is_complete(out):
        return None
    result, doubt = None, None
    try:
        result = Result.load(out)
        doubt = _doubt(out, result, identity)
    except EncoError as error:
        doubt = error
    if doubt is None:
        return result
    if (out / CHECKPOINT).exists():  # of a fit that was allowed to replace that result
        return None
    raise doubt


def _doubt(out: Path, result: Result, identity: Identity) -> Exception | None:
    """Say why a result is not known to be that of a fit."""
    from enco.errors import EncoError, SettingsError
    from enco.fitting.checkpoint import Identity

    if result.data_digest is None:
        return EncoError(
            f"{out} holds a finished result that does not record which data it was learned from (an older version, "
            "another command or Result.save wrote it), so that nobody can say whether it is this fit's: choose another "
            "folder with --out, or replace it with --force"
        )
    found = Identity(result.data_digest, result.settings, result.knowledge, result.seed, result.version)
    differences = found.differences(identity)
    if not differences:
        return None
    return SettingsError(
        f"{out} holds the finished result of another fit, which differs in {', '.join(differences)}: repeat what that "
        "fit was given, choose another folder with --out, or replace it with --force"
    )


def drop_checkpoint(out: Path, identity: Identity) -> None:
    """Remove the checkpoint of a fit that is finished, but not that of another one."""
    from enco.errors import EncoError
    from enco.fitting.checkpoint import read_identity
    from enco.result.folder import CHECKPOINT, forget_checkpoint

    with suppress(EncoError):  # there is none, or it is of no use to anybody
        if read_identity(out / CHECKPOINT).differences(identity):
            return
    forget_checkpoint(out)
