"""How long a fit will take, roughly."""

import numpy as np

from enco.conditionals.fused.layout import Layout
from enco.data import InterventionalData
from enco.fitting.counts import MOST_COUNTED
from enco.fitting.families import FOLDS, MOST_JUDGED
from enco.fitting.loop import Discovery
from enco.fitting.recount import ALL_ROWS_UP_TO
from enco.fitting.regressions import MOST_INPUTS
from enco.fitting.scoring import MOST_TOGGLES

__all__ = ["seconds_of"]

# Nanoseconds on one core of a recent server, by what they are proportional to (H hidden units, K levels of the effect).
TRAINING_PER_PRODUCT = 0.23  # row, H, and output or present parent
TRAINING_PER_WEIGHT = 0.9  # Adam
TRAINING_PER_DRAW = 10.0  # row and candidate parent
TOGGLE_PER_UNIT = 0.85  # row, candidate pair, H
TOGGLE_PER_PRODUCT = 0.07  # the same, and K
ORIENTATION_PER_UNIT = 1.3  # row, candidate pair, H

PRESENT_PARENTS = 0.25  # share of the candidates in a sampled graph, at the start
REFINEMENT_STEPS = 0.3  # share of its training steps that a network of the refinement takes before it stops
FAMILIES = 500  # sets of parents of each variable that a search over orders asks for
REGRESSION = 0.7e9  # a continuous variable ...
WIDE_PARENT = 30.0  # ... and as much again for the square of the levels of a parent over this
COUNTING = 15.0  # row and look at a family of categorical variables ...
LOOKS = 10  # ... of which every variable has so many, and every candidate pair one


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
    layout = Layout.build(pairs, data.n_levels[discovery.column], settings.hidden)
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
    refinement_steps = 2 * REFINEMENT_STEPS * settings.refine_steps * settings.refine_rounds

    regime_rows = np.array([regime.n_rows for regime in data.interventional])
    toggles = (parents * hidden * (TOGGLE_PER_UNIT + TOGGLE_PER_PRODUCT * levels)).sum()
    graph_step = np.minimum(regime_rows, settings.graph_batch).mean() * toggles
    passes = (
        settings.first_orientation_passes * settings.orientation_epochs
        + settings.orientation_passes * settings.max_epochs
    )
    per_regime = pairs.n_pairs / data.n_variables  # edges out of one variable
    orientation_pass = (
        ORIENTATION_PER_UNIT * hidden * np.minimum(regime_rows, settings.orientation_batch).sum() * per_regime
    )
    judged_rows = min(regime_rows.sum(), MOST_TOGGLES / max(1, pairs.n_pairs))
    if settings.refine_rounds and discovery.searches_orders:
        one_family = (hidden * (TOGGLE_PER_UNIT + TOGGLE_PER_PRODUCT * levels)).sum()
        search = FAMILIES * min(data.n_rows, MOST_JUDGED) * one_family
        search += FOLDS * REFINEMENT_STEPS * settings.refine_steps * training_step
    else:
        search = 0.0
    widest = data.n_levels[data.n_levels <= MOST_INPUTS].max(initial=0)
    one_regression = REGRESSION * (1 + (widest / WIDE_PARENT) ** 2)
    regressions = one_regression * np.count_nonzero(data.n_levels == 0) if settings.refine_rounds else 0.0
    counted_rows = min(data.n_rows, 2 * MOST_COUNTED)
    looks = LOOKS * np.count_nonzero(data.n_levels) + min(pairs.n_pairs, ALL_ROWS_UP_TO / counted_rows)
    counting = COUNTING * counted_rows * looks if settings.refine_rounds and data.n_levels.any() else 0.0
    nanoseconds = (
        (training_steps + refinement_steps) * training_step
        + settings.max_epochs * settings.graph_steps * graph_step
        + passes * orientation_pass
        + settings.refine_rounds * judged_rows * toggles
        + search
        + regressions
        + counting
    )
    return float(nanoseconds) * 1e-9 / min(n_jobs, data.n_variables)
