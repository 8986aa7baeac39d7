"""IGSP: interventional greedy sparsest permutation (Wang et al. 2017, Yang et al. 2018), by the package `causaldag`.

A search over orders of the variables: every order has a sparsest graph, found by tests of conditional independence in
the observational rows; tests of invariance between these and the rows of a regime say which edges contradict an
intervention. The package needs many others, so it is not among the extra `baselines` but an extra of its own.
"""

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from enco.baselines.base import Method, MethodSettings, require_packages
from enco.baselines.numbers import spread, varying_columns, widen
from enco.data import InterventionalData
from enco.result import Result

__all__ = ["IGSP", "IGSPSettings"]

TestName = Literal["gauss", "kci", "hsic"]


@dataclass(frozen=True, kw_only=True)
class IGSPSettings(MethodSettings):
    """Tests and search."""

    test: TestName = "gauss"  # partial correlation, or a kernel test (the paper: kci on categorical data)
    alpha: float = 1e-3  # level of the tests of independence (the paper's)
    invariance_alpha: float = 1e-3  # level of the tests of invariance
    kernel_rows: int = 500  # rows of a regime that kernel tests look at: their time grows with the cube
    starts: int = 5  # random orders that the search starts from
    depth: int = 4  # moves without improvement that it looks ahead


class IGSP(Method):
    """Interventional greedy sparsest permutation; a categorical variable enters by the index of its level.

    Examples
    --------
    >>> IGSP().make_settings(test="kci").alpha
    0.001
    """

    name = "igsp"
    settings_type = IGSPSettings

    def learn(self, data: InterventionalData, settings: Any, *, seed: int, n_jobs: int) -> Result:
        """Run the search on one thread."""
        require_packages(f"method {self.name!r}", "igsp", "causaldag")
        columns = varying_columns(data)
        place = {int(column): position for position, column in enumerate(columns)}
        rows = [spread(data, regime)[:, columns] for regime in data.regimes]
        targets = [[place[target] for target in regime.targets if target in place] for regime in data.interventional]
        rng = np.random.default_rng([seed, 5])
        with _quiet_package(seed):
            found = _search(rows, targets, settings, rng)
        return Result.from_graph(widen(found, columns, data.n_variables), data)


def _search(
    rows: list[NDArray[np.float64]], targets: list[list[int]], settings: IGSPSettings, rng: np.random.Generator
) -> NDArray[np.float64]:
    import causaldag as cd

    if settings.test == "gauss":
        independence = cd.MemoizedCI_Tester(
            cd.partial_correlation_test, cd.partial_correlation_suffstat(rows[0]), alpha=settings.alpha
        )
        invariance = cd.MemoizedInvarianceTester(
            cd.gauss_invariance_test, cd.gauss_invariance_suffstat(rows[0], rows[1:]), alpha=settings.invariance_alpha
        )
    else:
        few = [rng.permutation(block)[: settings.kernel_rows] for block in rows]
        test, other = (
            (cd.kci_test, cd.kci_invariance_test) if settings.test == "kci" else (cd.hsic_test, cd.hsic_invariance_test)
        )
        independence = cd.MemoizedCI_Tester(test, few[0], alpha=settings.alpha)
        by_regime: dict[str | int, NDArray[np.float64]] = {"obs_samples": few[0], **dict(enumerate(few[1:]))}
        invariance = cd.MemoizedInvarianceTester(other, by_regime, alpha=settings.invariance_alpha)
    n_variables = rows[0].shape[1]
    # Without orders to start from, the package would draw them from a set, which Python cannot do any more.
    starts = [rng.permutation(n_variables).tolist() for _ in range(settings.starts)]
    graph = cd.igsp(
        [{"interventions": members} for members in targets],
        set(range(n_variables)),
        independence,
        invariance,
        depth=settings.depth,
        nruns=settings.starts,
        initial_permutations=starts,
    )
    adjacency: NDArray[np.float64] = graph.to_amat(node_list=list(range(n_variables)))[0]
    return adjacency


@contextmanager
def _quiet_package(seed: int) -> Iterator[None]:
    """Give the package, which draws from Python's global stream, a stream of its own, and keep its warnings back."""
    before = random.getstate()
    random.seed(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(before)
