"""Checkpoints: the state of a fit in one npz file, together with what it belongs to.

A checkpoint holds plain arrays (never pickled objects) and is replaced atomically, so that at any moment a reader finds
the complete state after some epoch. The *identity* says which fit it is of: data, settings, knowledge and seed; a state
continues to the same bits only where all four are the same.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco._version import __version__
from enco.data import InterventionalData
from enco.errors import FileFormatError, SettingsError
from enco.fitting.loop import Discovery
from enco.io._archive import Archive, Member
from enco.io._atomic import atomic_file
from enco.knowledge import Knowledge
from enco.settings import Settings

__all__ = ["Identity", "array_like", "read_checkpoint", "read_identity", "write_checkpoint"]

_log = logging.getLogger(__name__)

_IDENTITY, _SECONDS, _STATE = "identity", "seconds", "state."
_LONGEST_TEXT = 1 << 24  # of what a fit was given, or its history
_DIGEST_BYTES = 16
_ROWS_PER_PIECE = 1 << 16  # a memory map is never read at once


@dataclass(frozen=True)
class Identity:
    """What determines a fit.

    Attributes
    ----------
    data : str
        Digest of variables, regimes and rows.
    settings, knowledge : dict
    seed : int
    version : str
        Of this package: another version may compute other bits.
    """

    data: str
    settings: dict[str, Any]
    knowledge: dict[str, Any]
    seed: int
    version: str = __version__

    @classmethod
    def of(
        cls, data: InterventionalData, settings: Settings, *, knowledge: Knowledge | None = None, seed: int
    ) -> "Identity":
        """Describe a fit that is about to start.

        Examples
        --------
        >>> x = np.array([[0, 1], [1, 0]])
        >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
        >>> Identity.of(data, Settings(), seed=0) == Identity.of(data, Settings(), seed=0)
        True
        """
        known = json.loads(json.dumps(asdict(knowledge or Knowledge())))  # as it comes back from a file
        return cls(_digest(data), asdict(settings), known, seed)

    def after(self, discovery: Discovery) -> str:
        """Digest of the fit and of what Algorithm 1 has left: whatever follows depends on nothing else."""
        digest = hashlib.blake2b(json.dumps(asdict(self), sort_keys=True).encode(), digest_size=_DIGEST_BYTES)
        for value in discovery.parameters.state().values():
            digest.update(np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()

    def differences(self, other: "Identity") -> list[str]:
        """Say in words what another fit does differently.

        Examples
        --------
        >>> one = Identity("a", {"hidden": 64}, {}, seed=0)
        >>> one.differences(Identity("b", {"hidden": 32}, {}, seed=0))
        ['the data', 'setting hidden (64, now 32)']
        """
        found = ["the data"] if self.data != other.data else []
        for name in sorted({*self.settings, *other.settings}):
            before, now = self.settings.get(name, "absent"), other.settings.get(name, "absent")
            if before != now:
                found.append(f"setting {name} ({before}, now {now})")
        if self.knowledge != other.knowledge:
            found.append("the background knowledge")
        for name in ("seed", "version"):
            before, now = getattr(self, name), getattr(other, name)
            if before != now:
                found.append(f"the {name} ({before}, now {now})")
        return found


def write_checkpoint(path: str | os.PathLike[str], discovery: Discovery, *, identity: Identity, seconds: float) -> None:
    """Write the state of a fit, atomically, in place of what was there.

    Parameters
    ----------
    path : path-like
        An npz file.
    discovery : Discovery
        Between two epochs.
    identity : Identity
    seconds : float
        Time spent so far.

    Examples
    --------
    >>> import tempfile
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit, identity = Discovery(data, settings=Settings()), Identity.of(data, Settings(), seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_checkpoint(f"{folder}/checkpoint.npz", fit, identity=identity, seconds=1.5)
    ...     read_checkpoint(f"{folder}/checkpoint.npz", fit, identity=identity)
    1.5
    """
    arrays: dict[str, NDArray[Any]] = {
        _IDENTITY: np.array(json.dumps(asdict(identity), sort_keys=True)),
        _SECONDS: np.array(float(seconds)),
        **{_STATE + name: value for name, value in discovery.state().items()},
    }
    with atomic_file(path, overwrite=True, follow_links=False) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
    _log.debug("wrote %s after epoch %d", path, discovery.epoch)


def read_checkpoint(path: str | os.PathLike[str], discovery: Discovery, *, identity: Identity) -> float:
    """Continue a fit from a checkpoint of the same fit.

    Parameters
    ----------
    path : path-like
    discovery : Discovery
        Made anew from the same data, settings, knowledge and seed; it takes over the state.
    identity : Identity
        Of that fit.

    Returns
    -------
    seconds : float
        Time spent before the checkpoint.

    Raises
    ------
    FileFormatError
        If the file is damaged.
    SettingsError
        If it belongs to another fit; the message says what differs.

    Examples
    --------
    >>> x = np.array([[0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> fit = Discovery(data, settings=Settings())
    >>> read_checkpoint("nowhere.npz", fit, identity=Identity.of(data, Settings(), seed=0))
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: nowhere.npz: there is no such file
    """
    source = Path(path)
    expected = discovery.state()
    with Archive(source) as archive:
        written = _identity(source, _text(archive, _IDENTITY))
        differences = written.differences(identity)
        if differences:
            raise SettingsError(
                f"{source} belongs to another fit, which differs in {', '.join(differences)}: "
                "repeat what that fit was given, or start anew"
            )
        seconds = array_like(archive, _SECONDS, np.array(0.0))
        state = {name: array_like(archive, _STATE + name, wanted) for name, wanted in expected.items()}
    try:
        discovery.restore(state)
        _log.info("continuing from %s, after epoch %d", source, discovery.epoch)
        return float(seconds)
    except (TypeError, ValueError, KeyError, OverflowError) as error:  # texts that do not hold what they should
        raise FileFormatError(f"{source}: this checkpoint is damaged ({error}): start anew") from error


def read_identity(path: str | os.PathLike[str]) -> Identity:
    """Say which fit a checkpoint belongs to.

    Examples
    --------
    >>> read_identity("nowhere.npz")
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: nowhere.npz: there is no such file
    """
    with Archive(path) as archive:
        return _identity(Path(path), _text(archive, _IDENTITY))


def array_like(archive: Archive, key: str, wanted: NDArray[Any]) -> NDArray[Any]:
    """Read an array of a state that must have the type and shape of another; texts vary in length.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/a.npz", x=np.arange(3.0))
    ...     with Archive(f"{folder}/a.npz") as archive:
    ...         array_like(archive, "x", np.zeros(3))
    array([0., 1., 2.])
    """
    if wanted.dtype.kind == "U":
        return np.array(_text(archive, key))
    member = archive.member(key)
    if member.shape != wanted.shape or member.dtype != wanted.dtype:
        raise _damage(archive, member, f"{wanted.dtype} {wanted.shape}")
    return archive.array(key)


def _digest(data: InterventionalData) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    described = [
        (variable.name, variable.kind, variable.levels, *(["context"] if variable.context else []))
        for variable in data.variables
    ]
    digest.update(json.dumps(described).encode())
    for regime in data.regimes:
        digest.update(json.dumps([*regime.condition, regime.n_rows, str(regime.codes.dtype)]).encode())
        for block in (regime.codes, regime.reals):
            for start in range(0, len(block), _ROWS_PER_PIECE):
                digest.update(block[start : start + _ROWS_PER_PIECE].tobytes())
    return digest.hexdigest()


def _identity(source: Path, text: str) -> Identity:
    try:
        found = Identity(**json.loads(text))
        valid = all(isinstance(part, Mapping) for part in (found.settings, found.knowledge))
    except (TypeError, ValueError, RecursionError):
        valid = False
    if not valid:
        raise FileFormatError(f"{source}: this is not a checkpoint of a fit: start anew")
    return found


def _text(archive: Archive, key: str) -> str:
    """Read a text, whose length is anything but excessive."""
    member = archive.member(key)
    if member.shape != () or member.dtype.kind != "U":
        raise _damage(archive, member, "text")
    return str(archive.array(key, longest_text=_LONGEST_TEXT))


def _damage(archive: Archive, member: Member, wanted: str) -> FileFormatError:
    name = member.key.removeprefix(_STATE)
    return FileFormatError(
        f"{archive.path}: this checkpoint is damaged (the array {name!r} is {member.dtype} {member.shape} "
        f"instead of {wanted}): start anew"
    )
