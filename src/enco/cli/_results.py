"""What `enco report` and `enco plot` read beside a result: the data and the true graph that go with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from enco.cli._options import GRAPH_FILE
from enco.io.formats import suffixes_in_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from enco.result import Result

__all__ = ["DataFile", "Truth", "load_truth"]

Truth = Annotated[Path | None, typer.Option(help=f"The true graph: {GRAPH_FILE}.")]
DataFile = Annotated[Path | None, typer.Option(help=f"The data of the fit: a {suffixes_in_words('reader')} file.")]


def load_truth(path: Path | None, result: Result) -> NDArray[np.bool_] | None:
    """Read the true graph in the order of the variables of a result."""
    from enco.io import read_graph

    return None if path is None else read_graph(path, names=result.variables)[1]
