"""The networks of a finished fit in one npz file: refits to parts of the rows begin where these ended."""

import os
from pathlib import Path

import numpy as np

from enco.conditionals.base import ConditionalModel
from enco.errors import FileFormatError
from enco.fitting.checkpoint import array_like
from enco.io._archive import Archive
from enco.io._atomic import atomic_file

__all__ = ["read_networks", "write_networks"]


def write_networks(path: str | os.PathLike[str], model: ConditionalModel) -> None:
    """Write what a conditional model has learned, atomically, in place of what was there.

    Examples
    --------
    >>> import tempfile
    >>> from enco.result.example import small_data
    >>> from enco.fitting.loop import Discovery
    >>> from enco.settings import Settings
    >>> fit, other = (Discovery(small_data(), settings=Settings(), seed=seed) for seed in (0, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_networks(f"{folder}/networks.npz", fit.model)
    ...     read_networks(f"{folder}/networks.npz", other.model)
    >>> all(np.array_equal(values, other.model.state()[name]) for name, values in fit.model.state().items())
    True
    """
    with atomic_file(path, overwrite=True, follow_links=False) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **model.state())  # type: ignore[arg-type]


def read_networks(path: str | os.PathLike[str], model: ConditionalModel) -> None:
    """Let a conditional model of the same fit take over what `write_networks` wrote.

    Examples
    --------
    >>> from enco.result.example import small_data
    >>> from enco.fitting.loop import Discovery
    >>> from enco.settings import Settings
    >>> read_networks("nowhere.npz", Discovery(small_data(), settings=Settings()).model)
    Traceback (most recent call last):
        ...
    enco.errors.FileFormatError: nowhere.npz: there is no such file
    """
    source = Path(path)
    expected = model.state()
    with Archive(source) as archive:
        state = {name: array_like(archive, name, wanted) for name, wanted in expected.items()}
    try:
        model.restore(state)
    except (TypeError, ValueError, KeyError, OverflowError) as error:  # texts that do not hold what they should
        raise FileFormatError(f"{source}: this file is damaged ({error}): fit again") from error
