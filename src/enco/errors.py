"""The errors a user can cause: one sentence that names the place, the value and the remedy.

Everything a user can get wrong raises a subclass of `EncoError`; the command line prints its text on one line and exits
with code 2. Any other exception is a bug in this package.

Examples
--------
>>> from enco.errors import DataError, EncoError
>>> issubclass(DataError, EncoError) and issubclass(EncoError, ValueError)
True
"""

__all__ = ["DataError", "EncoError", "FileFormatError", "GraphError", "MissingPackageError", "SettingsError"]


class EncoError(ValueError):
    """A mistake in what the caller passed in, with a message that says what to do."""


class DataError(EncoError):
    """The values, names, kinds or intervention targets of a data set do not make sense."""


class FileFormatError(DataError):
    """A file cannot be read as what it claims to be."""


class GraphError(EncoError):
    """A graph argument is malformed (not square, cyclic where a DAG is needed, ...)."""


class SettingsError(EncoError):
    """A setting or a piece of background knowledge is out of range or contradictory."""


class MissingPackageError(EncoError, ImportError):
    """An optional package is needed and not installed; the message gives the install command."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package '{package}': pip install 'enco[{extra}]'")
