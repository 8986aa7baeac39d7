"""A reliability diagram of the probabilities of edges."""

import pandas as pd
from matplotlib.figure import Figure

from enco.bench.calibration import reliability

__all__ = ["draw_calibration"]

_KINDS = {"probability": ("probability of the edge", "#0072B2", "o"), "learned": ("by Algorithm 1", "#D55E00", "s")}


def draw_calibration(both: pd.DataFrame) -> Figure:
    """Draw the share of directed pairs that are right against their probability, and how many pairs there are.

    On the diagonal a probability is right as often as it says. Pairs with less than 0.05 are left out.

    Parameters
    ----------
    both : DataFrame
        See `enco.bench.calibration.directed`.

    Examples
    --------
    >>> pairs = pd.DataFrame({"probability": [0.98, 0.3], "learned": [0.5, 0.1], "right": [True, False]})
    >>> [ax.get_ylabel() for ax in draw_calibration(pairs).axes]
    ['share that is right', 'pairs']
    """
    figure = Figure(figsize=(5.0, 5.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot([0, 1], [0, 1], color="#808080", linestyle=":", zorder=1)
    for k, (column, (label, colour, marker)) in enumerate(_KINDS.items()):
        error, table = reliability(both[column], both["right"])
        above.plot(
            table["probability"],
            table["right"],
            color=colour,
            marker=marker,
            zorder=3 - k,
            label=f"{label}: calibration error {error:.3f}",
        )
        centre = [(place + 0.32 + 0.36 * k) / 10 for place in table.index]
        below.bar(centre, table["pairs"], width=0.034, color=colour)
    above.set(ylabel="share that is right", xlim=(0, 1), ylim=(-0.02, 1.02))
    above.legend(frameon=False, fontsize=9, loc="upper left")
    below.set(xlabel="probability", ylabel="pairs", yscale="log")
    for ax in (above, below):
        ax.spines[["top", "right"]].set_visible(False)
    return figure
