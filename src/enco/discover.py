"""A whole fit, stage by stage.

    candidates -> Algorithm 1 -> order -> search -> confounders -> result

=============  ================================================  ====================================================
stage          where                                             what it leaves
=============  ================================================  ====================================================
candidates     `enco.screening`, `enco.knowledge`                pairs to consider
Algorithm 1    `enco.fitting.loop`                               gamma and theta: the raw graph
order          `enco.graphs.order`                               the raw graph without its cycles
search         `enco.search.stage`, on `enco.score.objective`    the graph with the lowest total that it can find
confounders    `enco.score.confounding`, with ``latent``         pairs that share an unmeasured cause, without an edge
=============  ================================================  ====================================================

Stages after Algorithm 1 are functions of the data and of what the stage before has left; none has a random seed.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from enco.data import InterventionalData, Regime
from enco.fitting.loop import Discovery, EpochRecord, Progress
from enco.graphs.dag import topological_order
from enco.graphs.order import AcyclicResult, acyclic
from enco.knowledge import Knowledge
from enco.result import Result
from enco.result.evidence import Evidence
from enco.result.interventions import intervention_table
from enco.result.ordering import mirrored, report_of_moves, report_of_order, with_firm_requirements
from enco.score.confounding import confounding
from enco.score.journal import Journal
from enco.score.suspects import Suspect, with_targets
from enco.search.dag import Path
from enco.search.stage import Problem, improve

__all__ = ["conclude", "discover"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_log = logging.getLogger(__name__)


def _silent(progress: Progress) -> None:
    pass


def discover(
    data: InterventionalData,
    *,
    seed: int = 0,
    knowledge: Knowledge | None = None,
    on_epoch: Callable[[Discovery], None] = lambda discovery: None,
    on_progress: Callable[[Progress], None] = _silent,
    **options: Any,
) -> Result:
    """Learn a graph.

    Parameters
    ----------
    data : InterventionalData
    seed : int
    knowledge : Knowledge, optional
    on_epoch : callable, optional
        Called after every epoch of Algorithm 1.
    on_progress : callable, optional
        Called in every stage.
    **options
        ``settings``, ``n_jobs``, ``network`` and ``candidates``, see `enco.fitting.loop.Discovery`.

    Examples
    --------
    >>> from enco.settings import Settings
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]] * 5)
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> discover(data, settings=Settings(max_epochs=1, first_fit_steps=10))
    Result(2 variables, 0 edges)
    """
    began = time.perf_counter()
    discovery = Discovery(data, seed=seed, knowledge=knowledge, **options)
    discovery.run(on_epoch, on_progress)
    seconds = time.perf_counter() - began
    return conclude(discovery, data, seconds=seconds, seed=seed, knowledge=knowledge, on_progress=on_progress)


def conclude(
    discovery: Discovery,
    data: InterventionalData,
    *,
    seconds: float = 0.0,
    seed: int = 0,
    knowledge: Knowledge | None = None,
    on_progress: Callable[[Progress], None] = _silent,
    journal: Journal | None = None,
) -> Result:
    """Take a fit from the end of Algorithm 1 to its result.

    Parameters
    ----------
    discovery : Discovery
        Usually after `run`.
    data : InterventionalData
        The data it was made for.
    seconds : float
        How long it took so far; the stages here are added.
    seed : int
    knowledge : Knowledge, optional
    on_progress : callable, optional
    journal : Journal, optional
        Of what was computed before an interruption.

    Examples
    --------
    >>> from enco.settings import Settings
    >>> x = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> data = InterventionalData.from_environments([x, x], [None, "X1"])
    >>> conclude(Discovery(data, settings=Settings()), data)
    Result(2 variables, 0 edges)
    """
    began, journal = time.perf_counter(), journal or Journal()
    settings, pairs = discovery.settings, discovery.candidates
    names = tuple(data.names[position] for position in discovery.column)
    learned = _Learned.of(discovery)
    ordered = learned.ordered(discovery, names)
    paths, hits = _searched(discovery, ordered.adjacency, None, on_progress, journal)
    graph = paths[-1].graph if paths else ordered.adjacency
    score = None
    if settings.latent:
        score, graph = _confounded(discovery, graph, journal)
        confounded = score > settings.confounder_threshold
        again, hits = _searched(discovery, graph, confounded, on_progress, journal)
        graph, paths = again[-1].graph if again else graph, paths + again
    moves = [move for path in paths for move in path.moves]
    _log.info("search: %d edges before, %d after %d moves", ordered.adjacency.sum(), graph.sum(), len(moves))
    for path in paths:
        _log.info("search: total %.2f before, %.2f after %d moves", path.before, path.after, len(path.moves))

    place = np.argsort(discovery.column)  # of each column of the data among the names in alphabetical order
    to_columns = np.ix_(place, place)
    order = topological_order(graph) if moves or score is not None else ordered.order
    report = report_of_order(ordered, names) | {
        "refined": report_of_moves(moves, ordered.adjacency, names),
        "totals": [[path.before, path.after] for path in paths],
    }
    return Result(
        variables=data.names,
        adjacency=graph[to_columns].astype(np.uint8),
        adjacency_raw=learned.raw[to_columns].astype(np.uint8),
        gamma=learned.gamma[to_columns],
        # Without any intervention, nothing that theta has learned identifies a direction.
        theta=learned.theta[to_columns] * (len(_regimes(discovery)) > 1),
        order=tuple(names[position] for position in order),
        order_report=report,
        evidence=Evidence.of(data),
        history=pd.DataFrame(
            [asdict(record) for record in discovery.history], columns=list(EpochRecord.__dataclass_fields__)
        ),
        settings=asdict(settings),
        knowledge=asdict(knowledge or Knowledge()),
        seed=seed,
        seconds=seconds + time.perf_counter() - began,
        interventions=_interventions(discovery, data, names, paths, hits),
        confounder_scores=None if score is None else pairs.dense(score, fill=np.nan)[to_columns],
        lc_scores=learned.lc[to_columns] if learned.lc is not None else None,
        edge_epochs=np.stack([pairs.dense(row)[to_columns] for row in discovery.edge_epochs]).astype(np.uint8),
    )


@dataclass(frozen=True)
class _Learned:
    """What Algorithm 1 has left, [N, N] each."""

    gamma: Floats
    theta: Floats
    raw: Mask
    lc: Floats | None

    @classmethod
    def of(cls, discovery: Discovery) -> "_Learned":
        pairs = discovery.candidates
        gamma = pairs.dense(discovery.parameters.gamma, fill=-np.inf)
        theta = mirrored(pairs.dense(discovery.parameters.theta), gamma)
        learned = cls(gamma, theta, (gamma > 0) & (theta > 0), None)
        if not discovery.settings.latent:
            return learned
        lc = pairs.dense(discovery.lc_scores(), fill=np.nan)
        return replace(learned, lc=lc, raw=learned.raw & ~(lc > discovery.settings.confounder_threshold))

    def ordered(self, discovery: Discovery, names: tuple[str, ...]) -> AcyclicResult:
        """Cut the cycles of the raw graph."""
        preference = self.theta
        if discovery.settings.order_evidence:
            # Where there is a cycle, the data next to its edges say where to cut; theta decides what they leave open.
            preference = self.theta + mirrored(discovery.candidates.dense(discovery.orientation_evidence()), self.gamma)
        return acyclic(self.raw, with_firm_requirements(self.gamma, self.theta, preference), names=names)


def _searched(
    discovery: Discovery,
    graph: Mask,
    confounded: NDArray[np.bool_] | None,
    on_progress: Callable[[Progress], None],
    journal: Journal,
) -> tuple[list[Path], list[Suspect]]:
    """Search from an acyclic graph; pairs [P] that are confounded stay as they are.

    Returns the searches, and variables that regimes seem to have hit besides their targets. With ``off_target``, those
    are further targets, and the search goes on.
    """
    if not discovery.epoch or not discovery.settings.refine_rounds:  # networks that have learned nothing
        return [], []
    pairs, stage = discovery.candidates, discovery.graph_fitting
    movable = stage.movable() if confounded is None else stage.movable() & ~confounded
    allowed, likely = np.zeros_like(graph), graph.copy()
    allowed[pairs.cause[movable], pairs.effect[movable]] = True
    decided = discovery.decisions()
    likely[pairs.cause[decided], pairs.effect[decided]] = True
    problem = Problem(
        data=discovery.data,
        column=discovery.column,
        regimes=_labelled(discovery),
        model=discovery.model,
        settings=discovery.settings,
        allowed=allowed,
        required=graph & ~allowed,
        likely=likely & (allowed | allowed.T),
        regressions=discovery.gaussian,
        n_jobs=discovery.n_jobs,
        in_vain=_in_vain(discovery),
        journal=journal,
    )

    def tell(fraction: float) -> None:
        on_progress(discovery.progress("search", fraction))

    paths = improve(problem, graph, tell)
    hits = list(paths[-1].suspects)
    while discovery.settings.off_target and paths[-1].suspects:
        problem = replace(problem, regimes=with_targets(problem.regimes, paths[-1].suspects))
        paths += improve(problem, paths[-1].graph, tell)
        hits += paths[-1].suspects
    return paths, hits


def _interventions(
    discovery: Discovery,
    data: InterventionalData,
    names: tuple[str, ...],
    paths: list[Path],
    hits: list[Suspect],
) -> pd.DataFrame:
    """List what the interventions of the data did."""
    targets = [frozenset(names[j] for j in regime.targets) for regime in _labelled(discovery)]
    suspects: dict[frozenset[str], list[str]] = {}
    for hit in hits:
        suspects.setdefault(targets[hit.regime], []).append(names[hit.variable])
    # Of the first search that looked at it: where an intervention is known to be soft, its rows count.
    strengths = {
        (targets[it.regime], names[it.variable]): it
        for path in reversed(paths)
        for it in path.strengths
        if names[it.variable] in targets[it.regime]
    }
    return intervention_table(data, discovery.verdicts, strengths, suspects)


def _confounded(discovery: Discovery, graph: Mask, journal: Journal) -> tuple[Floats, Mask]:
    """Score every pair [P] given a graph, and take edges between confounded pairs out of it; lc without a search."""
    settings, stage = discovery.settings, discovery.graph_fitting
    if not discovery.epoch or not settings.refine_rounds:
        return discovery.lc_scores(), graph
    return confounding(discovery.model, _regimes(discovery), graph, stage.scorable(), settings, journal)


def _regimes(discovery: Discovery) -> list[Regime]:
    """Return the observational regime and all others, targets as positions among the variables of the fit."""
    others = [regime for regime in discovery.graph_fitting.regimes if regime.targets]
    return [discovery.data.observational, *others]


def _labelled(discovery: Discovery) -> list[Regime]:
    """Return the same with all labels, believed or not."""
    return [discovery.given.observational, *discovery.by_name(discovery.given.interventional)]


def _in_vain(discovery: Discovery) -> frozenset[tuple[int, int]]:
    """Return the regimes of `_labelled`, and targets of them, that seem to be without effect."""
    rank = np.argsort(discovery.column)
    place = {regime.targets: k for k, regime in enumerate(_labelled(discovery))}
    named = [discovery.by_name([regime])[0].targets for regime in discovery.given.interventional]
    in_vain = (verdict for verdict in discovery.verdicts if not verdict.has_effect)
    return frozenset((place[named[verdict.regime]], int(rank[verdict.target])) for verdict in in_vain)
