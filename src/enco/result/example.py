"""A result of three variables, for the examples in docstrings: quicker than a fit."""

import numpy as np
import pandas as pd

from enco.data import InterventionalData
from enco.result import Result
from enco.result.evidence import Evidence

__all__ = ["small_data", "small_result"]


def small_data() -> InterventionalData:
    """Return rows of A -> B -> C, all binary, with an intervention on A.

    Examples
    --------
    >>> small_data()
    InterventionalData(3 variables, 16 rows: 8 observational, 1 intervention regime)
    """
    observed = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0]] * 2)
    intervened = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0]] * 2)
    names = ["A", "B", "C"]
    return InterventionalData.from_environments([observed, intervened], [None, "A"], names=names)


def small_result() -> Result:
    """Return the graph A -> B -> C as a fit would.

    Examples
    --------
    >>> small_result()
    Result(3 variables, 2 edges)
    """
    adjacency = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], np.uint8)
    return Result(
        variables=("A", "B", "C"),
        adjacency=adjacency,
        adjacency_raw=adjacency,
        gamma=np.array([[-np.inf, 4.0, -3.0], [1.0, -np.inf, 3.0], [-2.0, 0.5, -np.inf]]),
        theta=np.array([[0.0, 5.0, 2.0], [-5.0, 0.0, 1.5], [-2.0, -1.5, 0.0]]),
        order=("A", "B", "C"),
        order_report={"components": [], "gap": 0.0, "removed": [], "refined": []},
        evidence=Evidence.of(small_data()),
        history=pd.DataFrame(
            {
                "epoch": [1, 2, 3],
                "edges": [0, 3, 2],
                "undecided": [6, 2, 0],
                "changed": [0, 3, 1],
                "held_out_loss": [1.1, 0.9, 0.8],
                "fit_steps": [100.0, 50.0, 50.0],
            }
        ),
        settings={"sparsity": 0.004, "max_epochs": 12},
        # After epoch 2 also A -> C; a bit per epoch, the first one lowest.
        edge_epochs=np.array([[[0, 6, 2], [0, 0, 6], [0, 0, 0]]], np.uint8),
    )
