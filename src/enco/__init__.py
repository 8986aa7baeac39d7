"""Learn causal graphs from observational and interventional data.

Public names are imported when they are first used, so that `import enco` and `enco --help` are quick.

Examples
--------
>>> import enco
>>> enco.Settings(sparsity=0.01).sparsity
0.01
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from enco._version import __version__

if TYPE_CHECKING:
    from enco import data, graphs, io, metrics, plotting, simulate
    from enco.data import InterventionalData
    from enco.estimator import ENCO
    from enco.knowledge import Knowledge
    from enco.result import Result
    from enco.settings import Settings

__all__ = [
    "ENCO",
    "InterventionalData",
    "Knowledge",
    "Result",
    "Settings",
    "__version__",
    "data",
    "graphs",
    "io",
    "metrics",
    "plotting",
    "simulate",
]

_HOME = {
    "ENCO": "enco.estimator",
    "InterventionalData": "enco.data",
    "Knowledge": "enco.knowledge",
    "Result": "enco.result",
    "Settings": "enco.settings",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in __all__:
        return import_module(f"enco.{name}")
    raise AttributeError(f"module 'enco' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
