"""A whole fit, stage by stage.

    candidates -> Algorithm 1 -> order -> search -> confounders -> confidence -> result

=============  ================================================  ====================================================
stage          where                                             what it leaves
=============  ================================================  ====================================================
candidates     `enco.screening`, `enco.knowledge`                pairs to consider
Algorithm 1    `enco.fitting.loop`                               gamma and theta: the raw graph
order          `enco.graphs.order`                               the raw graph without its cycles
search         `enco.search.stage`, on `enco.score.objective`    the graph with the lowest total that it can find
confounders    `enco.score.confounding`, with ``latent``         pairs that share an unmeasured cause, without an edge
confidence     `enco.score.support`, `enco.result.confidence`    the edges that are more likely there than not
=============  ================================================  ====================================================

Stages after Algorithm 1 are functions of the data and of what the stage before has left; none has a random seed.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
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
from enco.result.account import accounts, doubt_of_directions, shift_table, target_probability
from enco.result.circumstances import Circumstances, unlike
from enco.result.confidence import Confidence, confidence_of, curves
from enco.result.evidence import Evidence
from enco.result.interventions import intervention_table, trust_in, with_inferred_targets
from enco.result.ordering import mirrored, named_edges, report_of_moves, report_of_order, with_firm_requirements
from enco.result.slopes import slopes
from enco.score.confounding import confounding
from enco.score.journal import Journal
from enco.score.suspects import with_hits
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
    graph_only: bool = False,
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
    graph_only : bool
        Whether only the graph is needed, as in refits: what interventions did is then not looked at once more.

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
    names = tuple(discovery.given.names[position] for position in discovery.column)
    learned = _Learned.of(discovery)
    ordered = learned.ordered(discovery, names)
    search = partial(_searched, discovery, on_progress=on_progress, journal=journal, graph_only=graph_only)
    found = search(ordered.adjacency)
    paths, graph = found.paths, found.paths[-1].graph if found.paths else ordered.adjacency
    score = None
    if settings.latent:
        score, graph = _confounded(discovery, graph, journal)
        confounded = score > settings.confounder_threshold
        if confounded.any():
            found = search(graph, confounded)
            graph, paths = found.paths[-1].graph if found.paths else graph, paths + found.paths
    moves = [move for path in paths for move in path.moves]
    _log.info("search: %d edges before, %d after %d moves", ordered.adjacency.sum(), graph.sum(), len(moves))
    for path in paths:
        _log.info("search: total %.2f before, %.2f after %d moves", path.before, path.after, len(path.moves))
    outcomes = accounts(discovery, paths, found.regimes)
    table = intervention_table(data, discovery.verdicts, outcomes)
    kept, sure = _confidence(discovery, found, graph, score, trust_in(table))
    unsure, graph = graph & ~kept, kept

    # Of each variable among the names in alphabetical order; context is no part of the graph.
    place = np.argsort(discovery.column)[~discovery.given.is_context]
    shown, variables = set(place.tolist()), data.without_context()
    to_columns = np.ix_(place, place)
    order = ordered.order if (graph == ordered.adjacency).all() else topological_order(graph)
    context = discovery.given.is_context[discovery.column]
    shifts = shift_table(discovery, graph, outcomes, data)
    report = report_of_order(ordered, names) | {
        "refined": report_of_moves(moves, ordered.adjacency, names, context),
        "totals": [[path.before, path.after] for path in paths],
        "unsure": named_edges(unsure, names, context),
    }
    confidence = None
    if sure:
        report["unlike"] = unlike(Circumstances.of(data, shifts))
        slope = slopes(variables, graph[to_columns])
        confidence = Confidence(slope=slope, **{name: matrix[to_columns] for name, matrix in sure.items()})
    return Result(
        variables=variables.names,
        adjacency=graph[to_columns].astype(np.uint8),
        adjacency_raw=learned.raw[to_columns].astype(np.uint8),
        gamma=learned.gamma[to_columns],
        # Without any intervention, nothing that theta has learned identifies a direction.
        theta=learned.theta[to_columns] * (len(_regimes(discovery)) > 1),
        order=tuple(names[position] for position in order if position in shown),
        order_report=report,
        evidence=Evidence.of(with_inferred_targets(variables, table)),
        history=pd.DataFrame(
            [asdict(record) for record in discovery.history], columns=list(EpochRecord.__dataclass_fields__)
        ),
        settings=asdict(settings),
        knowledge=asdict(knowledge or Knowledge()),
        seed=seed,
        seconds=seconds + time.perf_counter() - began,
        interventions=table,
        target_probability=target_probability(discovery, found.paths, found.regimes, data),
        shifts=shifts,
        confidence=confidence,
        confounder_scores=None if score is None else pairs.dense(score, fill=np.nan)[to_columns],
        lc_scores=learned.lc[to_columns] if learned.lc is not None else None,
        edge_epochs=np.stack([pairs.dense(row)[to_columns] for row in discovery.edge_epochs]).astype(np.uint8),
    )


def _confidence(
    discovery: Discovery, found: "_Found", graph: Mask, score: Floats | None, trust: float
) -> tuple[Mask, dict[str, Floats]]:
    """Return the edges that stay, and how sure the last search is of every pair; all edges and {} without a search."""
    support = found.paths[-1].support if found.paths else None
    if support is None:
        return graph, {}
    doubt = doubt_of_directions(discovery, found.paths, found.regimes)
    confounded = 0.0 if score is None else np.nan_to_num(discovery.candidates.dense(score))
    verdict = confidence_of(
        support, graph, doubt, curves(), trust=trust, required=found.required, confounded=confounded
    )
    return verdict.graph, {
        "existence": verdict.existence,
        "orientation": verdict.orientation,
        "nearby": support.probability,
        "doubt": doubt,
        **support.gains._asdict(),
    }


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
        if discovery.settings.refine_rounds:  # the test after the search decides
            return replace(learned, lc=lc)
        return replace(learned, lc=lc, raw=learned.raw & ~(lc > discovery.settings.confounder_threshold))

    def ordered(self, discovery: Discovery, names: tuple[str, ...]) -> AcyclicResult:
        """Cut the cycles of the raw graph."""
        preference = self.theta
        if discovery.settings.order_evidence:
            # Where there is a cycle, the data next to its edges say where to cut; theta decides what they leave open.
            preference = self.theta + mirrored(discovery.candidates.dense(discovery.orientation_evidence()), self.gamma)
        return acyclic(self.raw, with_firm_requirements(self.gamma, self.theta, preference), names=names)


@dataclass(frozen=True)
class _Found:
    """The searches, one after the other, and what the last one went by.

    Attributes
    ----------
    paths : list of Path
    regimes : sequence of Regime
        With the targets that they have in the last search.
    required : bool [N, N], optional
        Edges that no search may take away.
    """

    paths: list[Path]
    regimes: Sequence[Regime]
    required: Mask | None = None


def _searched(
    discovery: Discovery,
    graph: Mask,
    confounded: NDArray[np.bool_] | None = None,
    *,
    on_progress: Callable[[Progress], None],
    journal: Journal,
    graph_only: bool,
) -> "_Found":
    """Search from an acyclic graph; pairs [P] that are confounded stay as they are.

    Variables that regimes of unknown targets seem to have hit are targets of them, and the search goes on; with
    ``off_target``, those of all regimes.
    """
    pairs, stage, settings = discovery.candidates, discovery.graph_fitting, discovery.settings
    labelled = discovery.labelled
    if not discovery.epoch or not settings.refine_rounds:  # networks that have learned nothing
        return _Found([], labelled.regimes)
    # Context is given to Algorithm 1; whether a variable depends on it is for the search to say.
    movable = stage.movable() | discovery.given.is_context[discovery.column][pairs.cause]
    movable &= True if confounded is None else ~confounded
    allowed, likely = np.zeros_like(graph), graph.copy()
    allowed[pairs.cause[movable], pairs.effect[movable]] = True
    decided = discovery.decisions()
    likely[pairs.cause[decided], pairs.effect[decided]] = True
    problem = Problem(
        data=discovery.data,
        column=discovery.column,
        regimes=labelled.regimes,
        model=discovery.model,
        settings=settings,
        allowed=allowed,
        required=graph & ~allowed,
        likely=likely & (allowed | allowed.T),
        regressions=discovery.gaussian,
        n_jobs=discovery.n_jobs,
        in_vain=labelled.in_vain,
        journal=journal,
        # Variables that were hit are found by a look at the rows.
        graph_only=graph_only and not settings.off_target and not labelled.unknown,
    )

    def tell(fraction: float) -> None:
        on_progress(discovery.progress("search", fraction))

    paths = improve(problem, graph, tell)
    open_ = range(len(problem.regimes)) if settings.off_target else labelled.unknown
    seen = [[regime.targets for regime in problem.regimes]]
    while open_:
        found = [suspect for suspect in paths[-1].suspects if suspect.regime in open_]
        regimes = with_hits(problem.regimes, found, paths[-1].strengths, labelled.unknown)
        if (targets := [regime.targets for regime in regimes]) in seen:
            break
        seen.append(targets)
        problem = replace(problem, regimes=regimes)
        paths += improve(problem, paths[-1].graph, tell)
    return _Found(paths, problem.regimes, problem.required)


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
