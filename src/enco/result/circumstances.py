"""Whether data are like those on which probabilities of edges were calibrated.

A probability is right as often as it says on data of the kinds that `enco bench calibrate` has drawn. Their sizes are
in `calibration.toml`, beside the curves. Data outside are no reason for other numbers, but for a warning.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

from enco.data import InterventionalData

__all__ = ["Circumstances", "calibrated_ranges", "ranges_of", "unlike"]

Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Circumstances:
    """What a fit was made of.

    Attributes
    ----------
    variables : int
    observational_rows : int
    regime_rows : float
        Of the median intervention regime; 0 without any.
    levels : int
        Most levels of a categorical variable; 0 without any.
    unexplained : float
        Share of the variables, over all regimes, that shift although the graph says that they cannot.
    """

    variables: int
    observational_rows: int
    regime_rows: float
    levels: int
    unexplained: float

    @classmethod
    def of(cls, data: InterventionalData, shifts: pd.DataFrame | None) -> "Circumstances":
        """Look at the data of a fit, and at its table of shifts that the graph does not explain.

        Examples
        --------
        >>> x = np.array([[0, 1], [1, 0]])
        >>> Circumstances.of(InterventionalData.from_environments([x, x], [None, "X1"]), None)
        Circumstances(variables=2, observational_rows=2, regime_rows=2.0, levels=2, unexplained=0.0)
        """
        graph = ~data.is_context
        n, rows = int(graph.sum()), [regime.n_rows for regime in data.interventional]
        return cls(
            n,
            data.observational.n_rows,
            float(np.median(rows)) if rows else 0.0,
            int(data.n_levels[graph].max(initial=0)),
            0.0 if shifts is None else len(shifts) / max(1, n * len(rows)),
        )


@cache
def calibrated_ranges() -> Ranges:
    """Return the least and the largest of each number among the fits that made the curves.

    Examples
    --------
    >>> calibrated_ranges()["variables"][0] < 10
    True
    """
    text = files("enco.result").joinpath("calibration.toml").read_text(encoding="utf-8")
    return {name: (float(low), float(high)) for name, (low, high) in tomllib.loads(text)["range"].items()}


def ranges_of(seen: Iterable[Circumstances]) -> dict[str, tuple[float, float]]:
    """Return the least and the largest of each number.

    Examples
    --------
    >>> ranges_of([Circumstances(8, 100, 50.0, 0, 0.0), Circumstances(20, 90, 60.0, 4, 0.01)])["variables"]
    (8.0, 20.0)
    """
    table = pd.DataFrame([asdict(one) for one in seen])
    return {
        field.name: (float(table[field.name].min()), float(table[field.name].max())) for field in fields(Circumstances)
    }


def unlike(circumstances: Circumstances, ranges: Ranges | None = None) -> list[str]:
    """Say in what data are unlike all that the probabilities were calibrated on; nothing where they are like them.

    Examples
    --------
    >>> unlike(Circumstances(12, 1000, 100.0, 4, 0.2))
    ['20 % of the variables shift in a regime in ways that the graph does not explain (2 % at most there)']
    """
    ranges = calibrated_ranges() if ranges is None else ranges
    said = {
        "variables": "{value:,.0f} variables ({low:,.0f} to {high:,.0f} there)",
        "observational_rows": "{value:,.0f} rows without intervention ({low:,.0f} to {high:,.0f} there)",
        "regime_rows": "{value:,.0f} rows in the median regime ({low:,.0f} to {high:,.0f} there)",
        "levels": "a variable with {value:,.0f} levels ({high:,.0f} at most there)",
        "unexplained": (
            "{value:.0%} of the variables shift in a regime in ways that the graph does not explain "
            "({high:.0%} at most there)"
        ),
    }
    found = []
    for name, sentence in said.items():
        value, (low, high) = float(getattr(circumstances, name)), ranges[name]
        if not low <= value <= high:
            found.append(sentence.format(value=value, low=low, high=high).replace("%", " %"))
    return found
