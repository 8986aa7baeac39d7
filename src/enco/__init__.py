"""Learn causal graphs from observational and interventional data."""

from enco._version import __version__

__all__ = ["__version__"]
