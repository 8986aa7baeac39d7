"""How much memory a fit needs, known before it takes any, and which setting to change if that is too much."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.settings import Settings
from enco.system.process_memory import shortage

__all__ = ["Need", "check_memory", "memory_needs", "needed_memory"]

PROCESS_BYTES = 380_000_000  # interpreter, libraries, compiled kernels
WEIGHT_COPIES = 7  # weights and two moments, the same again for the networks of the search, and a copy to save
PAIR_BYTES = 400  # edge parameters, their moments, masks and effects
OUTPUTS = {"gaussian": 2, "dsf": 48, "spline": 25}  # of the network of a continuous variable
ARRAY_BYTES = 250  # of a small array, besides its content
BANK = 32  # networks that PyTorch trains at once
EVIDENCE_ROWS = 1024  # of a regime, whatever the settings


@dataclass(frozen=True)
class Need:
    """Bytes that a part of a fit takes, and what makes them fewer."""

    n_bytes: int
    remedy: str


@dataclass(frozen=True)
class _Sizes:
    """What the numbers of bytes depend on, besides settings."""

    variables: int
    pairs: int
    table_rows: int  # of all candidate parents together: one for each level, two if continuous
    most_table_rows: int  # of the candidate parents of one variable
    most_parents: int  # candidates of one variable
    outputs: int  # of all networks together
    most_outputs: int
    observational_rows: int
    most_regime_rows: int

    @classmethod
    def of(cls, data: InterventionalData, candidates: Candidates, settings: Settings) -> "_Sizes":
        width = np.where(data.n_levels > 0, data.n_levels, 2)
        outputs = np.where(data.n_levels > 0, data.n_levels, OUTPUTS[settings.density])
        parents = np.diff(candidates.start)
        return cls(
            variables=candidates.n_variables,
            pairs=candidates.n_pairs,
            # Candidates are in the order of the names; that of the columns has as many table rows on the whole.
            table_rows=int(width[candidates.cause].sum()),
            most_table_rows=int(parents.max(initial=0)) * int(width.max(initial=0)),
            most_parents=int(parents.max(initial=0)),
            outputs=int(outputs.sum()),
            most_outputs=int(outputs.max(initial=0)),
            observational_rows=data.observational.n_rows,
            most_regime_rows=max((regime.n_rows for regime in data.interventional), default=0),
        )


def needed_memory(data: InterventionalData, candidates: Candidates, settings: Settings, n_jobs: int) -> int:
    """Bytes a whole fit will take, rows that stay on disk not counted: an order-of-magnitude estimate.

    Examples
    --------
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> 10**8 < needed_memory(data, Candidates.all_pairs(2), Settings(), 1) < 10**9
    True
    """
    return PROCESS_BYTES + sum(need.n_bytes for need in memory_needs(data, candidates, settings, n_jobs))


def check_memory(data: InterventionalData, candidates: Candidates, settings: Settings, n_jobs: int) -> None:
    """Refuse a fit that this machine has no memory for, before it starts; say what takes most of it."""
    needs = memory_needs(data, candidates, settings, n_jobs)
    lacking = shortage(sum(need.n_bytes for need in needs))
    if lacking is not None:
        n, pairs = candidates.n_variables, candidates.n_pairs
        remedy = max(needs, key=lambda need: need.n_bytes).remedy
        raise SettingsError(f"a fit of {n} variables with {pairs:,} candidate pairs {lacking}: {remedy}")


def memory_needs(data: InterventionalData, candidates: Candidates, settings: Settings, n_jobs: int) -> list[Need]:
    """List what takes memory in a fit, part by part.

    Examples
    --------
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> needs = memory_needs(data, Candidates.all_pairs(2), Settings(max_epochs=10**9), 1)
    >>> max(needs, key=lambda need: need.n_bytes).remedy
    'allow fewer epochs with the setting max_epochs (it is 1,000,000,000)'
    """
    sizes = _Sizes.of(data, candidates, settings)
    return [
        _first_layers(sizes, settings, n_jobs),
        _further_layers(sizes, settings, n_jobs),
        _batches(sizes, settings, n_jobs),
        _graph_rows(sizes, settings, n_jobs),
        _sampled_graphs(sizes, settings, n_jobs),
        _epochs(sizes, settings),
        _rows(data, sizes, n_jobs),
    ]


def _first_layers(sizes: _Sizes, settings: Settings, n_jobs: int) -> Need:
    """Tables of the parents and output layers, and the edge parameters, whose number follows the pairs as well."""
    numbers = settings.hidden * (sizes.variables + sizes.table_rows + sizes.outputs) + sizes.outputs
    largest = settings.hidden * (1 + sizes.most_table_rows + sizes.most_outputs)
    n_bytes = 4 * (WEIGHT_COPIES * numbers + 2 * n_jobs * largest) + PAIR_BYTES * sizes.pairs
    if settings.hidden > Settings.hidden:
        return Need(n_bytes, _remedy("use fewer hidden units", "hidden", settings))
    if sizes.pairs > sizes.variables**2 / 4:
        return Need(n_bytes, 'screen them with --candidates screen (candidates="screen")')
    return Need(n_bytes, "use fewer variables, or fewer hidden units with the setting hidden")


def _further_layers(sizes: _Sizes, settings: Settings, n_jobs: int) -> Need:
    """Weights of the layers beyond the first, which only PyTorch has, and what it keeps of them for the way back."""
    units = (settings.layers - 1) * settings.hidden
    weights = WEIGHT_COPIES * sizes.variables * units * (settings.hidden + 1)
    kept = 4 * n_jobs * min(BANK, sizes.variables) * min(settings.batch, sizes.observational_rows) * units
    # Which of the two is further from what is usual?
    if (settings.hidden / Settings.hidden) ** 2 > settings.layers:
        remedy = _remedy("use fewer hidden units", "hidden", settings)
    else:
        remedy = _remedy("use fewer layers", "layers", settings)
    return Need(4 * (weights + kept), remedy)


def _batches(sizes: _Sizes, settings: Settings, n_jobs: int) -> Need:
    """Count inputs, masks, sums, activations and outputs of one training step; PyTorch has many networks in one."""
    batch = min(settings.batch, sizes.observational_rows)
    if settings.engine == "torch" or settings.layers > 1 or settings.density != "gaussian":
        values = 4 * settings.hidden + 12 * sizes.most_outputs
        per_row = min(BANK, sizes.variables) * (4 * values + 33 * sizes.most_parents)
    else:
        per_row = 8 * settings.hidden + 4 * sizes.most_outputs + 5 * sizes.most_parents + 8
    return Need(n_jobs * batch * per_row, _remedy("use smaller batches", "batch", settings))


def _graph_rows(sizes: _Sizes, settings: Settings, n_jobs: int) -> Need:
    """Count inputs, masks and sums of the rows in one look at edge effects."""
    name = "graph_batch" if settings.graph_batch > settings.orientation_batch else "orientation_batch"
    rows = min(max(EVIDENCE_ROWS, getattr(settings, name)), sizes.most_regime_rows)
    per_row = 4 * settings.hidden + 5 * sizes.most_parents + 8
    return Need(n_jobs * rows * per_row, _remedy("look at fewer rows at once", name, settings))


def _sampled_graphs(sizes: _Sizes, settings: Settings, n_jobs: int) -> Need:
    """Graphs shared by all rows: random numbers, then a truth value and a loss for every pair, losses of variables.

    Every thread looks for the different sets of parents of one variable. Paired effects need none of this.
    """
    samples = 0 if settings.estimator == "paired" else settings.graph_samples
    per_graph = 10 * sizes.pairs + 24 * sizes.variables + n_jobs * (4 * sizes.most_parents + 40)
    return Need(samples * per_graph, _remedy("sample fewer graphs", "graph_samples", settings))


def _epochs(sizes: _Sizes, settings: Settings) -> Need:
    """Bits that say which pairs were edges after each epoch: twice by pair, and as matrices while a result is made."""
    for_eight = 2 * sizes.pairs + 17 * sizes.variables**2 + ARRAY_BYTES
    return Need(-(-settings.max_epochs // 8) * for_eight, _remedy("allow fewer epochs", "max_epochs", settings))


def _rows(data: InterventionalData, sizes: _Sizes, n_jobs: int) -> Need:
    """Rows in memory, copies of the observational ones, and those with the columns that one network reads."""
    observational = data.observational.codes.nbytes + data.observational.reals.nbytes
    held = sum(rows.nbytes for regime in data.regimes for rows in (regime.codes, regime.reals) if not _mapped(rows))
    per_thread = 4 * sizes.observational_rows * (sizes.most_parents + 1)
    remedy = "use fewer rows" if n_jobs == 1 else "use fewer rows, or fewer threads"
    return Need(held + 3 * observational + n_jobs * per_thread, remedy)


def _remedy(words: str, setting: str, settings: Settings) -> str:
    return f"{words} with the setting {setting} (it is {getattr(settings, setting):,})"


def _mapped(rows: NDArray[Any]) -> bool:
    """Whether the rows are read from disk when needed."""
    base: object = rows
    while base is not None:
        if isinstance(base, np.memmap):
            return True
        base = getattr(base, "base", None)
    return False
