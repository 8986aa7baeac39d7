"""What each intervention does to each variable, straight from the data."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy import stats

from enco.data import InterventionalData, Regime
from enco.errors import DataError
from enco.plotting._axes import WARNING, label_axis, start_axes
from enco.plotting.matrices import in_order
from enco.result import Result
from enco.result.interventions import with_inferred_targets

__all__ = ["draw_interventions", "intervention_shifts"]


def draw_interventions(result: Result, data: InterventionalData, ax: Axes | None = None) -> Axes:
    """Draw how far each intervention moves each variable away from its observational distribution.

    Rows are regimes and columns variables, both in causal order of the graph; dots mark the children of the targets. A
    graph that fits the data has its dark cells on and right of the targets: an intervention moves its descendants.

    Parameters
    ----------
    result : Result
    data : InterventionalData
        What the graph was learned from, with at least one intervention. Where its labels name no targets, those that
        the fit has inferred count.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from enco.result.example import small_data, small_result
    >>> ax = draw_interventions(small_result(), small_data())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['do(A)']
    """
    data = data.without_context()
    if set(data.names) != set(result.variables):
        other = min(set(data.names) ^ set(result.variables))
        raise DataError(
            f"the data and the result have different variables ({other!r}): give the data of this fit, with the "
            "same context columns"
        )
    if not data.interventional:
        raise DataError("the data hold no interventions, so there are no effects of them to draw")
    data = with_inferred_targets(data.select(result.variables), result.interventions)
    order = in_order(result)
    rank = np.argsort(order)
    regimes = sorted(data.interventional, key=lambda regime: sorted(rank[list(regime.targets)]))
    shifts = np.stack([intervention_shifts(data, regime) for regime in regimes])[:, order]
    width, height = (min(10.0, 2.6 + 0.22 * count) for count in (len(order), len(regimes)))
    ax = start_axes(ax, width + 1.2, max(2.4, height))
    image = ax.imshow(shifts, cmap="Purples", vmin=0.0, vmax=max(0.2, shifts.max()), aspect="auto")
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    children = np.stack([result.adjacency[list(regime.targets)].any(axis=0) for regime in regimes])[:, order]
    row, column = np.nonzero(children)
    ax.scatter(column, row, s=max(1.0, min(16.0, 500.0 / len(order))), color=WARNING)
    label_axis(ax, "x", result.order)
    label_axis(ax, "y", [data.regime_label(regime) for regime in regimes])
    ax.set(title="distance between the distributions with and without the intervention", xlabel="variable")
    ax.title.set_fontsize(10)
    return ax


def intervention_shifts(data: InterventionalData, regime: Regime) -> NDArray[np.float64]:
    """Measure how far every variable is from its observational distribution in one regime, from 0 to 1.

    The total variation distance for a categorical variable, the largest difference of the distribution functions
    (Kolmogorov and Smirnov's) for a continuous one.

    Examples
    --------
    >>> from enco.result.example import small_data
    >>> data = small_data()
    >>> intervention_shifts(data, data.interventional[0]).tolist()  # A was set to 1
    [0.5, 0.25, 0.0]
    """
    shifts = np.zeros(data.n_variables)
    for position, slot in enumerate(data.slots):
        if data.is_continuous[position]:
            before, after = data.observational.reals[:, slot], regime.reals[:, slot]
            shifts[position] = stats.ks_2samp(before, after, method="asymp").statistic
        else:
            counts = [
                np.bincount(rows.codes[:, slot], minlength=data.n_levels[position]) / rows.n_rows
                for rows in (data.observational, regime)
            ]
            shifts[position] = np.abs(counts[0] - counts[1]).sum() / 2
    return shifts
