"""How long a fit will take, roughly."""

import numpy as np

from enco.conditionals.fused.layout import Layout
from enco.conditionals.heads import VariableHeads
from enco.data import InterventionalData
from enco.fitting.loop import Discovery
from enco.score.regression import MOST_INPUTS
from enco.score.rows import MOST_ROWS, N_FOLDS

__all__ = ["seconds_of"]

# Nanoseconds on one core of a recent server, by what they are proportional to (H hidden units, K levels of the effect).
TRAINING_PER_PRODUCT = 0.23  # row, H, and output or present parent
TRAINING_PER_WEIGHT = 0.9  # Adam
TRAINING_PER_DRAW = 10.0  # row and candidate parent
TOGGLE_PER_UNIT = 0.85  # row, candidate pair, H
TOGGLE_PER_PRODUCT = 0.07  # the same, and K
ORIENTATION_PER_UNIT = 1.3  # row, candidate pair, H
GRAPH_PER_PRODUCT = 0.07  # row, graph that all rows share, H, and output or present parent

PRESENT_PARENTS = 0.25  # share of the candidates in a sampled graph, at the start
DISTINCT_FAMILIES = 0.5  # share of the sampled graphs that differ in the parents of a variable, over all epochs
NETWORK_STEPS = 900  # that a network of the search trains for, in each fold
ROUNDS = 1.5  # of the search, on average
LOOKS = 3  # at all pairs, in each of them
FAMILIES = 300  # sets of parents of each variable that are looked at where directions are open
REGRESSION = 0.8e9  # a continuous variable with 10,000 rows ...
WIDE_PARENT = 30.0  # ... and as much again for the square of the levels of a parent over this
COUNTING = 15.0  # row and look at a family of categorical variables


def seconds_of(discovery: Discovery, data: InterventionalData, n_jobs: int) -> float:
    """Duration of a whole fit that runs to its last epoch: an order-of-magnitude estimate.

    Examples
    --------
    >>> from enco.settings import Settings
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> 0 < seconds_of(Discovery(data, settings=Settings()), data, 1) < 10
    True
    """
    settings, pairs = discovery.settings, discovery.candidates
    heads = VariableHeads.of([data.kinds[column] for column in discovery.column], data.n_levels[discovery.column])
    layout = Layout.build(pairs, heads, settings.hidden)
    parents = np.diff(pairs.start).astype(float)
    levels, hidden = layout.n_outputs.astype(float), settings.hidden
    block = np.diff(layout.start).astype(float)

    batch = min(settings.batch, data.observational.n_rows)
    training_step = (
        TRAINING_PER_PRODUCT * batch * hidden * (levels + PRESENT_PARENTS * parents)
        + TRAINING_PER_WEIGHT * block
        + TRAINING_PER_DRAW * batch * parents
    ).sum()
    training_steps = settings.first_fit_steps + (settings.max_epochs - 1) * settings.fit_steps
    regime_rows = np.array([regime.n_rows for regime in data.interventional])
    toggles = (parents * hidden * (TOGGLE_PER_UNIT + TOGGLE_PER_PRODUCT * levels)).sum()
    if settings.estimator == "paired":
        graph_row = toggles
    else:
        scored = DISTINCT_FAMILIES * settings.graph_samples
        graph_row = scored * GRAPH_PER_PRODUCT * hidden * (levels + PRESENT_PARENTS * parents).sum()
    graph_step = np.minimum(regime_rows, settings.graph_batch).mean() * graph_row
    passes = (
        settings.first_orientation_passes * settings.orientation_epochs
        + settings.orientation_passes * settings.max_epochs
    )
    per_regime = pairs.n_pairs / data.n_variables  # edges out of one variable
    orientation_pass = (
        ORIENTATION_PER_UNIT * hidden * np.minimum(regime_rows, settings.orientation_batch).sum() * per_regime
    )
    nanoseconds = (
        training_steps * training_step
        + settings.max_epochs * settings.graph_steps * graph_step
        + passes * orientation_pass
    )
    if settings.refine_rounds:
        interventional = int(regime_rows.sum())
        judged = min(data.observational.n_rows, MOST_ROWS) + min(interventional, MOST_ROWS)
        looks = LOOKS * judged * toggles
        if data.partial:
            looks += FAMILIES * judged * (hidden * (TOGGLE_PER_UNIT + TOGGLE_PER_PRODUCT * levels)).sum()
        counting = COUNTING * judged * np.count_nonzero(data.is_categorical)
        nanoseconds += ROUNDS * (N_FOLDS * NETWORK_STEPS * training_step + looks + counting)
        widest = data.n_levels[data.n_levels <= MOST_INPUTS].max(initial=0)
        one = REGRESSION * (1 + (widest / WIDE_PARENT) ** 2) * (0.2 + judged / 10_000)
        nanoseconds += one * np.count_nonzero(data.is_continuous)
    return float(nanoseconds) * 1e-9 / min(n_jobs, data.n_variables)
