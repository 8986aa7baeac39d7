"""`enco demo`: the commands in a row, on data of a realistic size."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to; it is created.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same demo.")] = 0,
) -> None:
    """Run the commands on simulated data.

    Simulates 25 variables, describes the data and scores a random guess of the graph.

    \b
    For example:
      enco demo --out demo
    """  # noqa: D301 - a real backspace keeps the lines of the paragraph apart
    import numpy as np

    from enco.cli._graphs import load_graph, write_graph
    from enco.cli.describe import describe
    from enco.cli.evaluate import evaluate
    from enco.cli.simulate import simulate
    from enco.errors import EncoError
    from enco.graphs import make_structure, shuffle_columns

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EncoError(f"cannot write to {out}: {error.strerror}; choose another folder with --out") from None
    data, guess = out / "data.npz", out / "guess.json"

    _title("Simulated data")
    simulate(out=data, seed=seed, force=True)
    _title("What is in the file")
    describe(data)
    _title("A random guess of the graph, scored")
    truth = load_graph(data)
    n_variables = len(truth.adjacency)
    rng = np.random.default_rng([seed, 1])
    adjacency, _ = shuffle_columns(make_structure("random", n_variables, rng), rng)
    names = truth.names or tuple(f"X{position + 1}" for position in range(n_variables))
    write_graph(guess, names=names, adjacency=adjacency, overwrite=True)
    evaluate(guess, data)


def _title(text: str) -> None:
    typer.secho(f"\n{text}", bold=True)
