"""Learning curves as the points of small inline SVG drawings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["HistoryCurve", "learning_curves"]

WIDTH, HEIGHT = 300, 120  # of the plotting area, in the units of the drawing

_WHAT = {
    "edges": "Edges",
    "undecided": "Undecided pairs",
    "changed": "Changed decisions",
    "held_out_loss": "Held-out loss (nats)",
}


@dataclass(frozen=True)
class HistoryCurve:
    """One small drawing: a line through `points`, and what its ends mean.

    Attributes
    ----------
    title : str
    points : list of (float, float)
        x to the right, y downwards.
    low, high : str
        Values at the lower and upper border.
    first, last : int
        Epochs at the left and right border.
    final : str
        The last value.
    """

    title: str
    points: list[tuple[float, float]]
    low: str
    high: str
    first: int
    last: int
    final: str

    @property
    def path(self) -> str:
        """The points as the attribute `points` of a polyline."""
        return " ".join(f"{x:g},{y:g}" for x, y in self.points)


def learning_curves(history: pd.DataFrame) -> list[HistoryCurve]:
    """Draw what a fit recorded after every epoch; columns that are missing or hold no numbers are left out.

    Examples
    --------
    >>> curves = learning_curves(pd.DataFrame({"epoch": [1, 2], "edges": [0, 7]}))
    >>> [(curve.title, curve.path, curve.high) for curve in curves]
    [('Edges', '0,120 300,0', '7')]
    """
    curves = []
    for column, title in _WHAT.items():
        if column not in history:
            continue
        values = pd.to_numeric(history[column], errors="coerce").to_numpy(dtype=np.float64)
        epochs = np.arange(1, len(values) + 1)
        known = np.isfinite(values)
        if known.any():
            curves.append(_curve(title, epochs[known], values[known], from_zero=column != "held_out_loss"))
    return curves


def _curve(title: str, epochs: np.ndarray, values: np.ndarray, *, from_zero: bool) -> HistoryCurve:
    low = 0.0 if from_zero else float(values.min())
    high = float(values.max())
    span = high - low or 1.0
    width = max(1, int(epochs[-1] - epochs[0]))
    x = (epochs - epochs[0]) / width * WIDTH
    y = HEIGHT - (values - low) / span * HEIGHT
    points = [(round(float(across), 1), round(float(down), 1)) for across, down in zip(x, y, strict=True)]
    return HistoryCurve(
        title, points, _short(low), _short(high), int(epochs[0]), int(epochs[-1]), _short(float(values[-1]))
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:.3f}"
