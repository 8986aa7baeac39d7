"""Check the convergence conditions of Theorem 3.1 on a known model, or on data with a known graph."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from enco.data import InterventionalData
from enco.errors import DataError, SettingsError
from enco.graphs.dag import ancestors
from enco.simulate import SCM
from enco.theory.edge_evidence import EdgeEvidence, edge_evidence, mutual_information
from enco.theory.elimination import TableTooLargeError
from enco.theory.gains import GainRange
from enco.theory.outcome import TheoryReport
from enco.theory.pair_checks import PairCheck, ParentSetCheck, SpuriousCheck
from enco.theory.regime_tables import MAX_CELLS, DataTables, ModelTables, Tables
from enco.theory.scopes import ScopePlan
from enco.theory.search import EffectSearch, Extremes

__all__ = ["BUDGET", "check_conditions"]

BUDGET = 100_000
"""Parent sets examined in all, shared evenly between the variables."""


def check_conditions(
    model: SCM,
    *,
    data: InterventionalData | None = None,
    sparsity: float = 0.004,
    interventions: Literal["uniform"] | Mapping[str, Any] = "uniform",
    targets: Sequence[str] | None = None,
    rows: int = 200,
    pseudo_count: float = 1.0,
    budget: int = BUDGET,
    seed: int = 0,
) -> TheoryReport:
    """Check whether ENCO is guaranteed to recover the graph of a known model (Theorem 3.1, Appendix B).

    Parameters
    ----------
    model : SCM
        Categorical variables, all of them observed.
    data : InterventionalData, optional
        If given, probabilities are those of these rows and only the graph is the model's: the conditions for limited
        data (Appendix B.2.3).
    sparsity : float
        lambda_sparse.
    interventions : "uniform" or mapping from name
        What a variable follows when it is intervened on: uniform over its levels, or what `SCM.sample` takes.
    targets : sequence of str, optional
        Variables with an intervention; all by default. Without one, a pair is oriented by the intervention on its
        effect, if there is one (Appendix B.4).
    rows : int
        Rows per intervention for the rule of thumb in the printed report.
    pseudo_count : float
        With data: rows' worth of the marginal added to every configuration; 0 for plain frequencies.
    budget : int
        Parent sets examined in all. If those of a variable are more than its share, some are drawn, and the report
        says so.
    seed : int
        Decides which ones.

    Returns
    -------
    TheoryReport

    Examples
    --------
    >>> from enco.simulate import examples
    >>> report = check_conditions(examples.worked_chain())
    >>> report.guaranteed, round(report.largest_sparsity, 3)
    (True, 0.02)
    """
    _check_numbers(sparsity, rows, pseudo_count, budget)
    tables: Tables = ModelTables(model, interventions=interventions, targets=targets)
    if data is not None:
        if targets is not None or interventions != "uniform":
            raise SettingsError("with data, the rows themselves say what was intervened on: leave targets out")
        tables = DataTables(data, _graph_in_order_of(data, model), pseudo_count=pseudo_count)
    check = _Check(tables, limited=data is not None, budget=budget, seed=seed)
    return TheoryReport(
        names=tables.names,
        pairs=tuple(check.pairs()),
        spurious=tuple(check.spurious()),
        parent_sets=() if data is not None else tuple(check.parent_sets()),
        sparsity=sparsity,
        rows=rows,
        untargeted=tuple(name for position, name in enumerate(tables.names) if position not in tables.targets),
        limited=data is not None,
        budget=budget,
        seed=seed,
    )


def _check_numbers(sparsity: float, rows: int, pseudo_count: float, budget: int) -> None:
    for name, value in (("sparsity", sparsity), ("pseudo_count", pseudo_count)):
        if not isfinite(value) or value < 0:
            raise SettingsError(f"{name} must be at least 0, got {value!r}")
    for name, value in (("rows", rows), ("budget", budget)):
        if value < 1:
            raise SettingsError(f"{name} must be at least 1, got {value!r}")


def _graph_in_order_of(data: InterventionalData, model: SCM) -> NDArray[np.bool_]:
    missing = [name for name in model.observed_names if name not in data.names]
    unknown = [name for name in data.names if name not in model.observed_names]
    if missing or unknown:
        what = f"has no column {missing[0]!r}" if missing else f"has the column {unknown[0]!r}, unknown to the model"
        raise DataError(f"the data set {what}: columns and variables of the model must have the same names")
    order = [model.position(name) for name in data.names]
    graph: NDArray[np.bool_] = model.adjacency[np.ix_(order, order)]
    return graph


class _Check:
    """One search per effect, made when first asked for."""

    def __init__(self, tables: Tables, *, limited: bool, budget: int, seed: int) -> None:
        self._tables, self._limited, self._seed = tables, limited, seed
        self._size = len(tables.names)
        self._share = max(1, budget // max(1, self._size))
        self._reaches = ancestors(tables.adjacency)
        self._searches: dict[int, EffectSearch] = {}

    def pairs(self) -> list[PairCheck]:
        """Check every edge and every other pair of ancestor and descendant; edges first."""
        found = [self._pair(int(cause), int(effect)) for cause, effect in np.argwhere(self._reaches)]
        return sorted(found, key=lambda pair: not pair.edge)

    def spurious(self) -> list[SpuriousCheck]:
        """With limited data, check every absent edge that would not close a cycle."""
        names = self._tables.names
        found = []
        for effect in range(self._size):
            for cause in self._spurious_causes(effect):
                search = self._search(effect)
                counts = search.counts(cause, upstream=True, beside=search.parents)
                gains = search.spurious[cause].range(self._tables, *counts)
                found.append(SpuriousCheck(names[cause], names[effect], gains))
        return found

    def parent_sets(self) -> list[ParentSetCheck]:
        """Check the conditions for the global optimum, for every variable with parents."""
        names, targets = self._tables.names, self._tables.targets
        found = []
        for effect in range(self._size):
            search = self._search(effect)
            rival = search.rival.gain(self._tables)
            if rival is None:
                continue
            parents = sorted(search.parents)
            observational, interventional = {}, {}
            for parent in parents:
                observational[names[parent]] = mutual_information(self._tables.table([parent, effect]).values[0])
                if parent in targets:
                    rest = [other for other in parents if other != parent]
                    table = self._tables.table([*rest, parent, effect])
                    interventional[names[parent]] = mutual_information(table.values[table.row_of[parent]])
            found.append(
                ParentSetCheck(
                    names[effect],
                    tuple(names[parent] for parent in parents),
                    observational,
                    interventional,
                    rival,
                    search.exhaustive or search.upstream_exhaustive,
                )
            )
        return found

    def _pair(self, cause: int, effect: int) -> PairCheck:
        names, targets = self._tables.names, self._tables.targets
        edge = bool(self._tables.adjacency[cause, effect])
        own = reverse = existence = None
        if cause in targets:
            own = self._range(effect, cause, "own")
        if effect in targets and (self._limited or cause not in targets):
            reverse = self._range(cause, effect, "own")
        if edge and any(target != effect for target in targets):
            existence = self._range(effect, cause, "existence")
        return PairCheck(
            names[cause],
            names[effect],
            edge,
            "cause" if cause in targets else "effect" if effect in targets else "none",
            own,
            reverse,
            existence,
            self._evidence(cause, effect) if existence is not None else None,
            self._limited,
        )

    def _range(self, effect: int, cause: int, what: Literal["own", "existence"]) -> GainRange:
        search = self._search(effect)
        extremes: Extremes = getattr(search, what)[cause]
        return extremes.range(self._tables, *search.counts(cause, upstream=what == "existence"))

    def _evidence(self, cause: int, effect: int) -> EdgeEvidence | None:
        others = [parent for parent in sorted(self._search(effect).parents) if parent != cause]
        try:
            return edge_evidence(self._tables, cause, effect, others)
        except TableTooLargeError:
            return None

    def _spurious_causes(self, effect: int) -> list[int]:
        if not self._limited or all(target == effect for target in self._tables.targets):
            return []
        allowed = ~(self._tables.adjacency[:, effect] | self._reaches[effect])
        allowed[effect] = False
        return [int(cause) for cause in np.flatnonzero(allowed)]

    def _search(self, effect: int) -> EffectSearch:
        if effect not in self._searches:
            self._searches[effect] = self._make_search(effect)
        return self._searches[effect]

    def _make_search(self, effect: int) -> EffectSearch:
        tables, targets = self._tables, set(self._tables.targets)
        causes = np.flatnonzero(self._reaches[:, effect]).tolist()
        descendants = np.flatnonzero(self._reaches[effect]).tolist()
        wanted = [cause for cause in causes if cause in targets]
        # The reversed pairs that decide: with limited data all of them, else those whose cause has no intervention.
        if self._limited or effect not in targets:
            wanted += [other for other in descendants if other in targets]
        parents = np.flatnonzero(tables.adjacency[:, effect]).tolist()
        spurious = self._spurious_causes(effect)
        plan = ScopePlan(
            effect=effect,
            causes=tuple(wanted),
            upstream_causes=(*parents, *spurious),
            upstream=tuple(np.flatnonzero(~self._reaches[effect] & (np.arange(self._size) != effect)).tolist()),
            adjacency=tables.adjacency,
            n_levels=tables.n_levels,
            n_regimes=1 + len(tables.targets),
            budget=self._share,
            max_cells=MAX_CELLS,
        )
        search = EffectSearch(tables, plan, spurious=spurious)
        if wanted or parents or spurious:
            search.run(np.random.default_rng([self._seed, effect]))
        return search
