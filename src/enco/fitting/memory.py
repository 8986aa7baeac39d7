"""How much memory a fit needs, known before it takes any."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco._memory import available_memory
from enco._units import in_bytes
from enco.candidates import Candidates
from enco.conditionals.fused.layout import Layout
from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.settings import Settings

__all__ = ["check_memory", "needed_memory"]

PROCESS_BYTES = 380_000_000  # interpreter, libraries, compiled kernels
WEIGHT_COPIES = 7  # weights and two moments, the same again for the networks of the refinement, and a copy to save
PAIR_BYTES = 400  # edge parameters, their moments, masks and effects


def needed_memory(data: InterventionalData, candidates: Candidates, settings: Settings, n_jobs: int) -> int:
    """Bytes a whole fit will take, rows that stay on disk not counted: of the right order, not more.

    Examples
    --------
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> 10**8 < needed_memory(data, Candidates.all_pairs(2), Settings(), 1) < 10**9
    True
    """
    levels = np.where(data.n_levels > 0, data.n_levels, 2)
    # Candidates are in the order of the names; that of the columns has blocks of the same size on the whole.
    weights = 4 * Layout.build(candidates, data.n_levels, settings.hidden).size
    most_parents = int(np.diff(candidates.start).max(initial=0))
    block = 4 * settings.hidden * (most_parents * int(levels.max(initial=0)) + 2)
    observational = data.observational.codes.nbytes + data.observational.reals.nbytes
    held = sum(rows.nbytes for regime in data.regimes for rows in (regime.codes, regime.reals) if not _mapped(rows))
    per_thread = 2 * block + 4 * data.observational.n_rows * (most_parents + 1)
    return int(
        PROCESS_BYTES
        + WEIGHT_COPIES * weights
        + PAIR_BYTES * candidates.n_pairs
        + held
        + 3 * observational
        + n_jobs * per_thread
    )


def check_memory(data: InterventionalData, candidates: Candidates, settings: Settings, n_jobs: int) -> None:
    """Refuse a fit that this machine has no memory for, before it starts."""
    needed, available = needed_memory(data, candidates, settings, n_jobs), available_memory()
    if available is not None and needed - PROCESS_BYTES > available:
        n, pairs = candidates.n_variables, candidates.n_pairs
        remedy = (
            'screen them with --candidates screen (candidates="screen")'
            if pairs > n * n / 4
            else "use fewer variables, or fewer hidden units with the setting hidden"
        )
        raise SettingsError(
            f"a fit of {n} variables with {pairs:,} candidate pairs needs about {in_bytes(needed)} of memory and "
            f"{in_bytes(available)} are free: {remedy}"
        )


def _mapped(rows: NDArray[Any]) -> bool:
    """Whether the rows are read from disk when needed."""
    base: object = rows
    while base is not None:
        if isinstance(base, np.memmap):
            return True
        base = getattr(base, "base", None)
    return False
