"""Methods of one's own: a Python file that calls `enco.baselines.register`."""

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

from enco.errors import EncoError

__all__ = ["load_plugins"]


def load_plugins(paths: Iterable[str | Path]) -> None:
    """Run Python files, each once in a process, so that the methods they register are there.

    Examples
    --------
    >>> load_plugins(["nowhere.py"])
    Traceback (most recent call last):
    ...
    enco.errors.EncoError: plugin nowhere.py: there is no such file
    """
    for given in paths:
        path = Path(given).resolve()
        name = f"_enco_plugin_{path.stem}_{abs(hash(path)):x}"
        if name in sys.modules:
            continue
        if not path.is_file():
            raise EncoError(f"plugin {given}: there is no such file")
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise EncoError(f"plugin {given}: this is no Python file; its name must end in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise EncoError(f"plugin {given}: {type(error).__name__}: {error}") from error
