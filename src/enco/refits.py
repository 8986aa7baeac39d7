"""How the same data are fitted many times: what cross-validation and stability share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from threading import Event
from typing import Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from enco.conditionals.torch import NetworkFactory
from enco.data import InterventionalData
from enco.discover import conclude
from enco.errors import SettingsError
from enco.executors.threads import count_threads, run_threads
from enco.fitting.loop import Discovery
from enco.knowledge import Knowledge
from enco.result import Result
from enco.settings import Settings

__all__ = ["FitOptions", "Refits", "check_whole"]

T = TypeVar("T")


class FitOptions(TypedDict, total=False):
    """Keywords of a fit, as `ENCO` has them."""

    settings: Settings | None
    knowledge: Knowledge | None
    network: NetworkFactory | None
    seed: int
    n_jobs: int | None


def check_whole(what: str, value: Any, least: int) -> None:
    """Refuse what is no whole number from `least`.

    Examples
    --------
    >>> check_whole("seed", -1, 0)
    Traceback (most recent call last):
        ...
    enco.errors.SettingsError: the seed must be a whole number from 0, got -1
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise SettingsError(f"the {what} must be a whole number from {least}, got {value!r}")


@dataclass(frozen=True)
class Refits:
    """What all fits have in common; see `ENCO` for the options.

    Examples
    --------
    >>> Refits(seed=3, n_jobs=2).threads
    2
    """

    settings: Settings | None = None
    knowledge: Knowledge | None = None
    network: NetworkFactory | None = field(default=None, repr=False)
    seed: int = 0
    n_jobs: int | None = None

    @property
    def threads(self) -> int:
        """Threads for fits that run at once."""
        threads = count_threads(self.n_jobs)
        # A user's own network draws its initial weights from PyTorch's one global stream.
        return 1 if self.network is not None else threads

    def discovery(
        self,
        data: InterventionalData,
        settings: Settings,
        *,
        seed: int | None = None,
        n_jobs: int = 1,
        candidates: NDArray[np.bool_] | None = None,
    ) -> Discovery:
        """Prepare a fit of some rows."""
        return Discovery(
            data,
            settings=settings,
            knowledge=self.knowledge,
            seed=self.seed if seed is None else seed,
            n_jobs=n_jobs,
            network=self.network,
            candidates=candidates,
        )

    def result(
        self,
        discovery: Discovery,
        data: InterventionalData,
        on_progress: Callable[[Any], None] = lambda progress: None,
        *,
        graph_only: bool = False,
    ) -> Result:
        """Run a fit to its end."""
        discovery.run(on_progress=on_progress)
        return conclude(
            discovery, data, seed=self.seed, knowledge=self.knowledge, on_progress=on_progress, graph_only=graph_only
        )

    def run(self, fit: Callable[[int, Callable[[Any], None]], T], count: int, on_fit: Callable[[int], None]) -> list[T]:
        """Make fits 0 to count - 1, several at once.

        Parameters
        ----------
        fit : callable
            Called with the number of a fit, and what it must call now and then: that raises once Ctrl-C was pressed.
        count : int
        on_fit : callable
            Called with the number of fits done.
        """
        stop = Event()

        def go_on(progress: Any) -> None:
            if stop.is_set():
                raise InterruptedError("the fits were interrupted")

        with threadpool_limits(1, "blas"):  # of all fits: a limit that one of them sets ends when that one does
            return run_threads(lambda number: fit(number, go_on), count, self.threads, on_fit, stop.set)
