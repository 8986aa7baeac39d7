"""What a fit has found: `Result`, the files it is kept in, and what speaks for each edge.

====================  ==================================================================================
`result.result`       `Result`: the graph, how sure the fit is of every edge, and conversions
`result.evidence`     how many regimes and rows inform each pair
`result.ordering`     from learned parameters to the acyclic graph, and the report of that step
`result.folder`       the folder of a result, and how a new result replaces an old one in it
`result.storage`      reading and writing the files in that folder
`result.fields`       whether they hold what `Result.save` writes
`result.example`      a result of three variables, for examples
====================  ==================================================================================

`Result` is imported when it is first used: commands that only look into a folder stay quick.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enco.result.result import Result

__all__ = ["Result"]


def __getattr__(name: str) -> Any:
    if name == "Result":
        from enco.result.result import Result

        return Result
    raise AttributeError(f"module 'enco.result' has no attribute {name!r}")
