"""`stability`: how often an edge comes back when the graph is learned again from other rows.

By default every refit sees 63 % of the rows of every regime, drawn without replacement; `enco.resampling` has other
schemes. The frequency of an edge is the share of the refits whose graph has it.

Refits are quick because their networks begin where those of the full fit ended. Edge parameters begin anew: a refit
does not know what the full fit has decided.
"""

import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from enco._version import __version__
from enco.data import InterventionalData
from enco.errors import EncoError, FileFormatError, GraphError, SettingsError
from enco.executors.threads import count_threads
from enco.fitting.loop import Discovery
from enco.graphs.dag import check_adjacency
from enco.graphs.order import acyclic
from enco.io._atomic import atomic_file
from enco.io._cells import table_as_csv
from enco.io._paths import existing_file
from enco.refits import FitOptions, Refits, check_whole
from enco.resampling import SCHEMES, check_scheme, share_of
from enco.result import Result
from enco.result.fields import is_number, is_whole, names_in, shares_in
from enco.result.folder import STABILITY, STABILITY_TABLE, result_in
from enco.score.journal import Journal
from enco.settings import Settings

__all__ = ["Stability", "reliability", "stability"]

_log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Edges = NDArray[np.uint8]

# A refit follows networks that know the distributions already. On ten problems with few rows, frequencies of 10 refits
# with these were as close to the truth as with three times as many epochs and steps, at two thirds of the time.
_QUICK = {
    "max_epochs": 2,
    "first_fit_steps": 100,
    "orientation_epochs": 1,
    "first_orientation_passes": 3,
    "second_look_epoch": 1,
    "refine_rounds": 1,
    "refine_steps": 1000,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Stability:
    """What resampling says about every edge. In every matrix the row is the cause and the column the effect.

    Attributes
    ----------
    variables : tuple of str
    frequency : float64 [N, N]
        Share of the resamples whose graph has the edge.
    adjacency : uint8 [N, N]
        The graph learned from all rows.
    consensus : uint8 [N, N]
        Edges with a frequency above one half; where they form a cycle, those that most resamples contradict are left
        out. It is acyclic.
    n_resamples : int
    scheme : str
        How the rows of each refit were chosen, see `enco.resampling.SCHEMES`.
    share : float
        Of the rows of every regime in each resample.
    seed : int
    seconds : float
    version : str
        Of this package.
    """

    variables: tuple[str, ...]
    frequency: Floats
    adjacency: Edges
    consensus: Edges
    n_resamples: int
    share: float
    seed: int
    seconds: float
    scheme: str = "subsample"
    version: str = __version__

    def to_frame(self) -> pd.DataFrame:
        """One row per edge that some resample, or the fit to all rows, has found; the most frequent first.

        Returns
        -------
        DataFrame
            ``cause``, ``effect``, ``frequency``, ``reverse_frequency`` (of effect -> cause), ``in_graph`` (learned from
            all rows), ``in_consensus``.

        Examples
        --------
        >>> found = np.array([[0, 1], [0, 0]], np.uint8)
        >>> frequency = np.array([[0.0, 0.9], [0.1, 0.0]])
        >>> Stability(variables=("A", "B"), frequency=frequency, adjacency=found, consensus=found, n_resamples=10,
        ...           share=0.5, seed=0, seconds=1.0).to_frame()
          cause effect  frequency  reverse_frequency  in_graph  in_consensus
        0     A      B        0.9                0.1      True          True
        1     B      A        0.1                0.9     False         False
        """
        cause, effect = np.nonzero((self.frequency > 0) | (self.adjacency > 0))
        names = np.array(self.variables, dtype=object)
        table = pd.DataFrame(
            {
                "cause": names[cause],
                "effect": names[effect],
                "frequency": self.frequency[cause, effect],
                "reverse_frequency": self.frequency[effect, cause],
                "in_graph": self.adjacency[cause, effect] > 0,
                "in_consensus": self.consensus[cause, effect] > 0,
            }
        )
        return table.sort_values(
            ["frequency", "cause", "effect"], ascending=[False, True, True], ignore_index=True, kind="stable"
        )

    def added_to(self, result: Result) -> Result:
        """Return the result with these frequencies, which then are in its table, its page and its exports.

        Examples
        --------
        >>> from enco.result.example import small_result
        >>> result = small_result()
        >>> found = Stability(variables=result.variables, frequency=result.adjacency * 0.9, adjacency=result.adjacency,
        ...                   consensus=result.adjacency, n_resamples=10, share=0.5, seed=0, seconds=1.0)
        >>> found.added_to(result).to_frame()["frequency"].tolist()
        [0.9, 0.9]
        """
        if self.variables != result.variables:
            raise SettingsError("the refits and the result have different variables: make the refits of this fit")
        return replace(result, frequency=self.frequency)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write `stability.csv` (the table) and `stability.json` (everything) into a folder, each atomically.

        Examples
        --------
        >>> import tempfile
        >>> none = np.zeros((2, 2))
        >>> found = Stability(variables=("A", "B"), frequency=none, adjacency=none.astype(np.uint8),
        ...                   consensus=none.astype(np.uint8), n_resamples=5, share=0.5, seed=0, seconds=1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(folder)
        ...     Stability.load(folder)
        Stability(5 resamples, 0 edges in the consensus)
        """
        place = Path(folder)
        if (place / STABILITY).exists() and not overwrite:
            raise EncoError(
                f"{place} holds a stability analysis already: choose another folder or allow overwriting "
                "(overwrite=True)"
            )
        with atomic_file(place / STABILITY_TABLE, overwrite=True, follow_links=False) as file:
            file.write_bytes(table_as_csv(self.to_frame()).encode())
        content = {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(self).items()
        }
        with atomic_file(place / STABILITY, overwrite=True, follow_links=False) as file:
            file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Stability":
        """Read what `save` wrote.

        Examples
        --------
        >>> Stability.load("nowhere")
        Traceback (most recent call last):
            ...
        enco.errors.FileFormatError: nowhere/stability.json: there is no such file
        """
        source = existing_file(result_in(Path(folder)) / STABILITY)
        try:
            content = json.loads(source.read_text(encoding="utf-8"))
            loaded = cls(
                variables=names_in(content["variables"]) or (),
                frequency=_shares(content["frequency"]),
                adjacency=_binary(content["adjacency"]),
                consensus=_binary(content["consensus"]),
                **{name: content[name] for name in ("n_resamples", "scheme", "share", "seed", "seconds", "version")},
            )
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            reason = f"key {error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())[:200]
            raise FileFormatError(f"{source}: this was not written by Stability.save ({reason})") from error
        n = len(loaded.variables)
        if any(matrix.shape != (n, n) for matrix in (loaded.frequency, loaded.adjacency, loaded.consensus)):
            raise FileFormatError(f"{source}: every matrix must have one row and column per variable ({n})")
        fine = {
            "variables": n > 0,
            "n_resamples": is_whole(loaded.n_resamples, 1) and is_number(loaded.n_resamples),
            "scheme": loaded.scheme in [*SCHEMES],
            "share": is_number(loaded.share) and 0 < loaded.share <= 1,
            "seed": is_whole(loaded.seed),
            "seconds": is_number(loaded.seconds, 0.0),
            "version": isinstance(loaded.version, str),
        }
        wrong = [key for key, right in fine.items() if not right]
        if wrong:
            raise FileFormatError(f"{source}: {wrong[0]!r} is not what Stability.save writes; make the refits again")
        return loaded

    def __repr__(self) -> str:
        edges = int(self.consensus.sum())
        return f"Stability({self.n_resamples} resamples, {edges} edge{'s' if edges != 1 else ''} in the consensus)"


def stability(
    data: InterventionalData,
    n_resamples: int = 20,
    *,
    scheme: str = "subsample",
    share: float | None = None,
    fit: tuple[Discovery, Result] | None = None,
    earlier: Stability | None = None,
    journal: Journal | None = None,
    on_resample: Callable[[int], None] = lambda done: None,
    **options: Unpack[FitOptions],
) -> Stability:
    """Learn the graph again and again from other rows, and count how often every edge is found.

    Parameters
    ----------
    data : InterventionalData
    n_resamples : int
        Refits. Each takes a third of the time of a full fit with categorical variables and about two thirds with
        continuous ones, and `n_jobs` of them run at once.
    scheme : {"subsample", "half", "bootstrap", "regimes"}
        What a refit sees: a share of the rows of every regime, drawn without replacement (at least one row is kept);
        half of them; as many as there are, drawn with replacement; all regimes but one, each in turn.
    share : float, optional
        Of the rows, for "subsample"; 1 - 1/e by default.
    fit : (Discovery, Result), optional
        The finished fit of the same data; without it, it is run first.
    earlier : Stability, optional
        The same analysis with fewer resamples: only the missing ones are made, and the result is the same as of all
        at once, except for the seconds, which add up.
    journal : Journal, optional
        Of refits that were made before an interruption.
    on_resample : callable
        Called with the number of refits done.
    settings : Settings, optional
        Of the full fit; refits take fewer steps with otherwise the same settings.
    knowledge : Knowledge, optional
    network : callable, optional
        A network of your own, see `ENCO`; refits then run one after the other.
    seed : int
        Same seed, same frequencies, whatever `n_jobs` is; 0 by default.
    n_jobs : int or None
        Threads; None (the default) or -1 for every core.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from enco import simulate
    >>> rng = np.random.default_rng(0)
    >>> data = simulate.categorical("chain", 3, rng, categories=3).dataset(200, 50, rng=rng)
    >>> stability(data, 2, settings=Settings(max_epochs=1, refine_rounds=0), n_jobs=1).frequency.shape
    (3, 3)
    """
    fits = Refits(**options)
    seed = fits.seed
    check_whole("number of resamples", n_resamples, 1)
    check_whole("seed", seed, 0)
    check_scheme(data, scheme, share, n_resamples)
    share, journal = share_of(scheme, share), journal or Journal()
    threads = count_threads(fits.n_jobs)
    chosen = fits.settings or Settings()
    began = time.perf_counter()
    if fit is None:
        base = fits.discovery(data, chosen, n_jobs=threads)
        full = fits.result(base, data)
    else:
        base, full = fit
    if earlier is not None:
        _check_earlier(earlier, full, scheme=scheme, share=share, seed=seed)
        if earlier.n_resamples >= n_resamples:
            return earlier
    before = 0 if earlier is None else earlier.n_resamples
    learned = base.model.state()
    # Refits consider the same pairs, screened or not; in the order of the columns of the fit, context among them.
    rank = np.argsort(base.column)
    considered = base.candidates.dense(np.ones(base.candidates.n_pairs))[np.ix_(rank, rank)] > 0

    def refit(number: int, go_on: Callable[[object], None]) -> Edges:
        rng = np.random.default_rng([seed, 2, number])
        rows = SCHEMES[scheme](data, share, number, rng)
        again = fits.discovery(rows, _quick(chosen), seed=int(rng.integers(2**32)), candidates=considered)
        if np.array_equal(again.candidates.cause, base.candidates.cause):
            again.model.restore(learned)
        else:  # a column is constant in these rows and takes no part: other networks, which know nothing yet
            again = fits.discovery(rows, chosen, seed=int(rng.integers(2**32)), candidates=considered)
        graph = fits.result(again, rows, go_on, graph_only=True).adjacency
        _log.info("refit %d of %d: %d edges", number + 1, n_resamples, graph.sum())
        return graph

    def known(number: int, go_on: Callable[[object], None]) -> Edges:
        (graph,) = journal.ask(f"refit {number}", lambda: [refit(number, go_on)])
        return graph

    graphs = fits.run(
        lambda number, go_on: known(before + number, go_on),
        n_resamples - before,
        lambda done: on_resample(before + done),
    )
    counts: Floats = np.stack(graphs).sum(axis=0, dtype=np.float64)
    if earlier is not None:
        counts += np.rint(earlier.frequency * before)
    frequency = counts / n_resamples
    return Stability(
        variables=full.variables,
        frequency=frequency,
        adjacency=full.adjacency,
        consensus=_consensus(frequency, full.variables),
        n_resamples=n_resamples,
        scheme=scheme,
        share=share,
        seed=seed,
        seconds=time.perf_counter() - began + (0.0 if earlier is None else earlier.seconds),
    )


def reliability(frequency: ArrayLike, truth: ArrayLike, *, n_bins: int = 10) -> pd.DataFrame:
    """Compare the frequencies of edges with how many of them are true, in bins of equal width.

    Parameters
    ----------
    frequency : array [..., N, N]
        Of one simulation or, stacked, of several.
    truth : array of the same shape
        The true graphs, row = cause.
    n_bins : int

    Returns
    -------
    DataFrame
        One row per bin with edges in it: ``lower``, ``upper``, ``edges``, ``mean_frequency``, ``true_share``. Pairs
        that no resample joined are counted in the first row, with both ends 0: they are many, and of another kind.

    Examples
    --------
    >>> frequency = np.array([[0.0, 0.9], [0.1, 0.0]])
    >>> reliability(frequency, [[0, 1], [0, 0]], n_bins=2)
       lower  upper  edges  mean_frequency  true_share
    0    0.0    0.5      1             0.1         0.0
    1    0.5    1.0      1             0.9         1.0
    """
    given, true = np.asarray(frequency, np.float64), np.asarray(truth)
    if given.shape != true.shape or given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise GraphError(
            f"frequencies of the shape {given.shape} and true graphs of the shape {true.shape} do not belong together: "
            "give both as [N, N], or as a stack of such matrices"
        )
    size = given.shape[-1]
    graphs = np.stack([check_adjacency(graph) for graph in true.reshape(-1, size, size)])
    pairs = ~np.eye(size, dtype=bool)
    found, right = given.reshape(-1, size, size)[:, pairs].ravel(), graphs[:, pairs].ravel()
    bins = np.where(found > 0, np.minimum((found * n_bins).astype(int), n_bins - 1), -1)
    rows = [
        {
            "lower": max(0, place) / n_bins,
            "upper": (place + 1) / n_bins,
            "edges": int((bins == place).sum()),
            "mean_frequency": float(found[bins == place].mean()),
            "true_share": float(right[bins == place].mean()),
        }
        for place in np.unique(bins)
    ]
    return pd.DataFrame(rows, columns=["lower", "upper", "edges", "mean_frequency", "true_share"])


def _shares(rows: Any) -> Floats:
    matrix = shares_in(rows)
    if matrix is None:
        raise ValueError("the frequencies hold something else than numbers from 0 to 1")
    return matrix


def _binary(rows: Any) -> Edges:
    matrix = np.array(rows)
    if matrix.dtype.kind not in "iu" or not np.isin(matrix, (0, 1)).all():
        raise ValueError("a graph holds something else than 0 and 1")
    return matrix.astype(np.uint8)


def _check_earlier(earlier: Stability, full: Result, *, scheme: str, share: float, seed: int) -> None:
    """Refuse refits of another graph: counted together, they would mean nothing."""
    same = {
        "variables": earlier.variables == full.variables,
        "graph": np.array_equal(earlier.adjacency, full.adjacency),
        "scheme": earlier.scheme == scheme,
        "share of rows": earlier.share == share,
        "seed": earlier.seed == seed,
        "version": earlier.version == __version__,
    }
    other = [name for name, is_same in same.items() if not is_same]
    if other:
        raise SettingsError(
            f"the refits that there are belong to another analysis, which differs in its {', '.join(other)}: "
            f"make all of them anew, without those ({STABILITY}, if they come from a folder)"
        )


def _quick(settings: Settings) -> Settings:
    """Fewer steps, never more than the user asked for."""
    fewer: dict[str, Any] = {name: min(value, getattr(settings, name)) for name, value in _QUICK.items()}
    return replace(settings, **fewer)


def _consensus(frequency: Floats, names: tuple[str, ...]) -> Edges:
    return acyclic(frequency > 0.5, frequency - frequency.T, names=names).adjacency.astype(np.uint8)
