"""What `enco -v` shows: the package's log records on standard error."""

import logging
import sys

__all__ = ["show_logs"]

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def show_logs(verbosity: int) -> None:
    """Send log records of the package to standard error: none by default, steps with 1, details with 2 and more.

    Examples
    --------
    >>> show_logs(0)
    >>> logging.getLogger("enco").level == logging.WARNING
    True
    """
    logger = logging.getLogger("enco")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("{asctime} {name}: {message}", style="{", datefmt="%H:%M:%S"))
    logger.handlers = [handler]  # in place of that of an earlier command in the same process
    logger.setLevel(_LEVELS[min(verbosity, len(_LEVELS) - 1)])
