"""What a fit will cost, roughly, and what it has cost."""

from dataclasses import dataclass

import numpy as np

from enco._memory import peak_memory
from enco.conditionals.fused.layout import Layout
from enco.data import InterventionalData
from enco.fitting.loop import Discovery

__all__ = ["Cost", "estimate", "in_bytes", "in_time", "peak_memory"]

# Nanoseconds on one core of a recent server, by what they are proportional to (H hidden units, K levels of the effect).
TRAINING_PER_PRODUCT = 0.23  # row, H, and output or present parent
TRAINING_PER_WEIGHT = 0.9  # Adam
TRAINING_PER_DRAW = 10.0  # row and candidate parent
TOGGLE_PER_UNIT = 0.85  # row, candidate pair, H
TOGGLE_PER_PRODUCT = 0.07  # the same, and K
ORIENTATION_PER_UNIT = 7.0  # row, effect, H

PROCESS_BYTES = 380_000_000  # interpreter, libraries, compiled kernels
PRESENT_PARENTS = 0.25  # share of the candidates in a sampled graph, at the start
WEIGHT_COPIES = 6  # weights and two moments, and a copy of all three while a checkpoint is written


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes."""

    seconds: float
    memory: int


def estimate(discovery: Discovery, data: InterventionalData, n_jobs: int) -> Cost:
    """Cost of a whole fit that runs to its last epoch: of the right order, not more.

    Examples
    --------
    >>> from enco.settings import Settings
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> 0 < estimate(Discovery(data, settings=Settings()), data, 1).seconds < 10
    True
    """
    settings = discovery.settings
    layout = Layout.build(discovery.candidates, data.n_levels[discovery.column], settings.hidden)
    parents = np.diff(discovery.candidates.start).astype(float)
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
    graph_step = np.minimum(regime_rows, settings.graph_batch).mean() * toggles
    orientation_pass = ORIENTATION_PER_UNIT * hidden * regime_rows.sum() * data.n_variables
    epoch = settings.graph_steps * graph_step + settings.orientation_passes * orientation_pass
    nanoseconds = training_steps * training_step + settings.max_epochs * epoch

    weights = 4 * layout.size
    rows = sum(regime.codes.nbytes + regime.reals.nbytes for regime in data.regimes)
    per_thread = 2 * 4 * block.max() + 2 * data.observational.n_rows * parents.max()
    memory = PROCESS_BYTES + WEIGHT_COPIES * weights + rows + n_jobs * per_thread
    return Cost(float(nanoseconds) * 1e-9 / min(n_jobs, data.n_variables), int(memory))


def in_bytes(number: int) -> str:
    """Write a number of bytes for people.

    Examples
    --------
    >>> in_bytes(312_345_678), in_bytes(12_345_678_901)
    ('312 MB', '12.3 GB')
    """
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"


def in_time(seconds: float) -> str:
    """Write a duration for people.

    Examples
    --------
    >>> in_time(0.26), in_time(12.34), in_time(200.0), in_time(9000.0)
    ('0.3 s', '12 s', '3 min', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
