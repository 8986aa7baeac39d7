"""A reliability diagram of edge frequencies, with matplotlib."""

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from enco.stability import reliability

__all__ = ["draw_reliability"]


def draw_reliability(frequency: ArrayLike, truth: ArrayLike, *, n_bins: int = 10, ax: Axes | None = None) -> Axes:
    """Draw the share of true edges against the frequency with which resamples found them.

    On the diagonal a frequency can be read as a probability; above it, it is too cautious. The size of a point grows
    with the number of its edges.

    Parameters
    ----------
    frequency, truth : array [..., N, N]
        See `enco.stability.reliability`.
    n_bins : int
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> draw_reliability([[0.0, 0.9], [0.1, 0.0]], [[0, 1], [0, 0]]).get_xlabel()
    'share of resamples with the edge'
    """
    table = reliability(frequency, truth, n_bins=n_bins)
    if ax is None:
        _, ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
    ax.plot([0, 1], [0, 1], color="#808080", linestyle=":", zorder=1)
    ax.plot(table["mean_frequency"], table["true_share"], color="#0072B2", zorder=2)
    size = 20 + 180 * table["edges"] / max(1, table["edges"].max())
    ax.scatter(table["mean_frequency"], table["true_share"], s=size, color="#0072B2", zorder=3)
    for row in table.itertuples():
        ax.annotate(str(row.edges), (row.mean_frequency, row.true_share), (6, -12), textcoords="offset points")
    ax.set(
        xlim=(-0.05, 1.08), ylim=(-0.08, 1.08), xlabel="share of resamples with the edge", ylabel="share of true edges"
    )
    return ax
