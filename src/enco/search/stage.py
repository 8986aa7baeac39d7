"""The search as a stage of a fit: which predictor answers for which variable, and in how many rounds.

Networks that know the sets of parents near a graph are trained, and the first search asks them alone, corrected by
counts where all variables are categorical. In the next one, regressions answer for continuous variables, and networks
for exactly the parents in question for categorical ones with continuous parents. Networks know best what is near the
graph that they were trained for, so every further round trains them for the graph that was found. It ends when the
graph stays.

Where no intervention identifies some directions, the first search also begins from random orders of the variables:
turning round what hangs together takes many moves at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from enco.conditionals.base import ConditionalModel
from enco.conditionals.continuous import Standardisation
from enco.data import InterventionalData, Regime
from enco.data.context import in_known_circumstances
from enco.executors import run_threads
from enco.score.base import Parents, Predictor
from enco.score.counted import CountedPredictor
from enco.score.dispersion import dispersion_of
from enco.score.journal import Journal
from enco.score.linear import LinearPredictor
from enco.score.networks import NetworkPredictor, Networks, presence_near
from enco.score.objective import CLEAR_HARM, Objective, families_of
from enco.score.own import OwnLosses, OwnMechanism
from enco.score.regression import RegressionPredictor, Regressions
from enco.score.rows import Sample
from enco.score.strength import Strength, keeping, strengths
from enco.score.support import Support, gains_of_edges
from enco.score.suspects import hit_gains, suspects
from enco.search.dag import Path, search
from enco.search.nearby import nearby
from enco.search.orders import BestParents
from enco.search.state import Rules
from enco.settings import Settings

__all__ = ["PREDICTORS", "Maker", "Problem", "improve"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]
Progress = Callable[[float], None]
T = TypeVar("T")

FEW_ROWS = 60  # that tell a direction: with fewer, the place of a variable in the order is open
RANDOM_STARTS = 3  # besides the graph found so far ...
MOST_RANDOM = 6_000  # ... in all, each counting as the sum of the squares of the variables' neighbours
WIDEST = 3_000  # cost of places up to which all pairs count as neighbours and no direction as told
APART = 0.4  # share of what two regressions of one family differ by that a parent must earn besides its price

Maker = Callable[[Sample, I64, I64], Callable[[int], Predictor | None]]
"""Rows, levels and column of every variable, [N] each -> the predictor of a variable, or None if there is none for it.

A variable has 0 levels if it is continuous; its column is then that of `Regime.reals`, else that of `Regime.codes`.
"""


PREDICTORS: list[Maker] = []
"""Those that compete with the networks, or with the regression of a continuous variable; a new one is a line here."""


@dataclass(frozen=True)
class Problem:
    """What the search is about. Matrices are [N, N], row = cause.

    Attributes
    ----------
    data : InterventionalData
    column : int64 [N]
        Column of the data that holds each variable.
    regimes : sequence of Regime
        The observational one and all others; targets are positions among the variables.
    model : ConditionalModel
        Networks like these are trained.
    settings : Settings
    allowed, required : bool [N, N]
        Edges that may be there, and those that must.
    likely : bool [N, N]
        Pairs to think of, in both directions, when a variable takes another place in the order.
    regressions : bool
        Whether continuous variables are normal given their parents, so that regressions can predict them.
    n_jobs : int
        Threads; the result does not depend on them.
    in_vain : set of (int, int)
        Regimes and targets of them that seemed to be without effect before there was a graph.
    journal : Journal
        Of what was computed before an interruption.
    graph_only : bool
        Whether the last round need not say what interventions did.
    """

    data: InterventionalData
    column: I64
    regimes: Sequence[Regime]
    model: ConditionalModel
    settings: Settings
    allowed: Mask
    required: Mask
    likely: Mask
    regressions: bool
    n_jobs: int
    in_vain: frozenset[tuple[int, int]] = frozenset()
    journal: Journal = field(default_factory=Journal)
    graph_only: bool = False

    def telling_rows(self, soft: Mapping[tuple[int, int], float] | None = None) -> I64:
        """Rows that tell which of two variables comes first: those that intervene on one of them only, [N, N].

        Of an intervention that took hold in some of its rows, only those count; `soft` has the share by regime and
        target. Rows of a batch of their own say less than they seem to, and leave directions open.
        """
        rows = np.zeros(self.allowed.shape)
        for k, regime in enumerate(self.regimes):
            if not in_known_circumstances(self.data, regime):
                continue
            hit = np.zeros(len(rows))
            for target in regime.targets:
                hit[target] = (soft or {}).get((k, target), 1.0)
            rows += regime.n_rows * abs(hit[:, None] - hit)
        return rows.astype(np.int64)

    def evidence(self, graph: Mask) -> float:
        """Nats that an edge must earn besides `sparsity` per row.

        A Bayesian asks for evidence beyond the prior odds, of which the share of joined pairs is an estimate.
        """
        joinable = np.count_nonzero(np.triu(self.allowed | self.allowed.T | self.required | self.required.T))
        joined = np.count_nonzero(graph)
        return max(0.0, self.settings.edge_evidence + float(np.log((joinable - joined + 1) / (joined + 1))))


def improve(problem: Problem, start: Mask, on_progress: Progress = lambda fraction: None) -> list[Path]:
    """Lower the total of an acyclic graph, until neither the moves nor the predictors change any more.

    Parameters
    ----------
    problem : Problem
    start : bool [N, N]
    on_progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    list of Path
        One for each search, from where the one before has ended. Totals can be compared within one of them.
    """
    rounds = problem.settings.refine_rounds
    with _Workers(problem, start) as workers:
        graph, paths, widely = start, list[Path](), True
        for turn in range(rounds):
            examine = not problem.graph_only or turn < rounds - 1
            paths += workers.one_round(graph, widely, partial(_part, on_progress, turn, rounds), examine=examine)
            if not examine:
                break
            told = workers.telling
            believed = workers.believe(paths[-1].strengths) | workers.doubt(paths[-1].dispersion)
            if (paths[-1].graph == graph).all() and not believed:
                break
            graph, widely = paths[-1].graph, bool((workers.telling < told).any())
        if paths:
            paths[-1] = workers.supported(paths[-1])
        on_progress(1.0)
    return paths


class _Workers(AbstractContextManager["_Workers"]):
    """Rows, predictors and threads of one search stage."""

    def __init__(self, problem: Problem, start: Mask) -> None:
        self.problem = problem
        column, data = problem.column, problem.data
        self.evidence = problem.evidence(start)
        self.continuous = data.is_continuous[column]
        self._levels, self._slot = data.n_levels[column], data.slots[column]
        self._candidates = [frozenset(np.flatnonzero(column).tolist()) for column in problem.allowed.T]
        self._stop = Event()
        self._soft = dict.fromkeys(problem.in_vain, 0.0)
        self._rows = Sample.of(problem.regimes, len(start))
        self._columns = self._columns_of(self._rows)
        self._mechanisms = self._mechanisms_of(self._rows)
        rule = problem.settings.interventions
        self._keeping = {at for at in self._mechanisms if self._rows.regimes[at[0]].mechanism(at[1], rule) == "soft"}
        self._mix()
        self.dispersion = [1.0] * len(start)
        # The matrices are small: threads go to variables, not to products.
        self._limits = ExitStack()
        self._limits.enter_context(threadpool_limits(1, "blas"))

    def _read(self, sample: Sample) -> None:
        """Begin anew with some rows; whatever was learned from others is forgotten."""
        self.sample, levels, slot = sample, self._levels, self._slot
        made = [make(sample, levels, slot) for make in PREDICTORS]
        self._rivals = [[rival for of in made if (rival := of(j)) is not None] for j in range(len(levels))]
        unit = Standardisation.of(self.problem.data)
        self._own = OwnLosses(sample.origin, sample.weight, self._columns)
        self._regressions = Regressions(sample, unit, levels, slot, self._go_on, self.problem.journal)
        self._regressed: dict[int, RegressionPredictor] = {}

    def believe(self, found: Sequence[Strength]) -> bool:
        """Let interventions that left some of the usual mechanism say so, and return whether that changes anything.

        Their rows then count for their targets, and identify directions as far as they took hold.
        """
        before = dict(self._soft), set(self._keeping)
        for it in found:
            known = self._soft.get((it.regime, it.variable), 1.0)  # what has no share yet is believed to be perfect
            if it.share < 1 and ((known == 1 and it.evidence > CLEAR_HARM) or (known == 0 and it.effect > CLEAR_HARM)):
                self._soft[it.regime, it.variable] = it.share
        kept, lost = keeping(it for it in found if self._is_open(it.regime, it.variable))
        if kept:
            self._keeping |= {at for at in self._mechanisms if self._is_open(*at)} - lost
        if (self._soft, self._keeping) == before:
            return False
        self._mix()
        return True

    def doubt(self, found: Sequence[float]) -> bool:
        """Let variables that differ between regimes without a reason in the graph say so; return whether any did.

        Once is enough: with fewer edges there is less that the graph explains.
        """
        new = max(self.dispersion) == 1.0 and max(found) > 1.0
        if new:
            self.dispersion = list(found)
            self._regressed.clear()  # which know the price of a parent
        return new

    def _is_open(self, regime: int, variable: int) -> bool:
        """Whether the data are to say if an intervention was perfect."""
        return self._rows.regimes[regime].mechanism(variable, self.problem.settings.interventions) == "auto"

    def _mix(self) -> None:
        """Read the rows anew, with what is known of the interventions."""
        sample = self._rows
        for at, mechanism in self._mechanisms.items():
            if at in self._soft or at in self._keeping:
                share = self._soft.get(at, 1.0)
                sample = sample.with_soft(mechanism, share, keeps_parents=at in self._keeping)
        # What a target shares with its parents does not tell which is which: only its own distribution does.
        self.telling = self.problem.telling_rows(self._soft | dict.fromkeys(self._keeping, 0.0))
        self._read(sample)

    def _columns_of(self, sample: Sample) -> list[NDArray[Any]]:
        """Values of each variable as its predictor sees them: codes, or standardised numbers, [rows] each."""
        table, reals = sample.table, Standardisation.of(self.problem.data).apply(sample.table.reals)
        levels, slot = self._levels.tolist(), self._slot
        return [table.codes[:, slot[j]] if n else reals[:, slot[j]] for j, n in enumerate(levels)]

    def _mechanisms_of(self, sample: Sample) -> dict[tuple[int, int], OwnMechanism]:
        """Return what targets follow in the regimes that intervene on them, by regime and target."""
        found: dict[tuple[int, int], OwnMechanism] = {}
        for k, regime in enumerate(sample.regimes):
            asked = self._asked(np.flatnonzero(sample.origin == k))
            found |= {(k, target): asked(target) for target in regime.targets}
        return found

    def _asked(self, rows: I64) -> Callable[[int], OwnMechanism]:
        """Return a function of a target -> what it follows in some rows."""
        columns, table = [column[rows] for column in self._columns], self._rows.table.taking(rows)

        def mechanism(target: int) -> OwnMechanism:
            return OwnMechanism(target, rows, columns, self._levels, table, int(self._slot[target]))

        return mechanism

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._limits.close()  # lets another thread set limits, which unregistering does not

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise InterruptedError("the fit was interrupted")

    def run(self, task: Callable[[int], T], items: Iterable[int]) -> list[T]:
        """Map over variables, on threads; values come back in their order."""
        chosen = list(items)
        n_jobs = self.problem.n_jobs
        return run_threads(lambda k: task(chosen[k]), len(chosen), n_jobs, lambda done: None, self._stop.set)

    def one_round(self, graph: Mask, first: bool, on_progress: Progress, *, examine: bool = True) -> list[Path]:
        """Train networks for a graph and search; in the first round, networks alone have their say before."""
        everyone, families = range(len(graph)), families_of(graph)
        asked = [j for j in everyone if first or not self._by_regression(*families[j])]
        networks = self._train(graph, asked, partial(_part, on_progress, 0, 2))
        if self._wide:  # the price of an edge follows the graph found so far, not the one of Algorithm 1
            self.evidence = self.problem.evidence(graph)
            self._regressed.clear()
        if first:
            self._everyone = networks
        begun = self._search_widely([self._by_networks(j, networks) for j in everyone], graph) if first else []
        if first and self._is_open_somewhere():
            begun += self._search_linearly(networks, graph)
        starts = [path.graph for path in begun] or [graph]
        families = families_of(starts[0])
        on_progress(0.5)
        predictors = self.run(lambda j: self._best(*families[j], networks), everyone)
        errors = self.run(lambda j: _error(predictors[j], families[j][1]), everyone)
        objective, rules = self._objective(predictors, errors), self._rules(graph, fast_only=True)
        found = [search(objective, start, rules, run=self.run) for start in starts]
        best = min(range(len(found)), key=lambda k: found[k].after)
        self._last = objective
        return [*begun[best : best + 1], self._examined(objective, found[best]) if examine else found[best]]

    def supported(self, path: Path) -> Path:
        """Say how sure the graph of the last round is, edge by edge."""
        probability, _ = nearby(self._last, path.graph, self._rules(path.graph))
        # Networks that know many sets of parents answer at once, and precisely enough for this.
        answers = [self._by_networks(j, self._everyone) for j in range(len(path.graph))]
        gains = gains_of_edges(answers.__getitem__, path.graph, self._candidates, self._everyone.sample, self.run)
        return replace(path, support=Support(probability, gains))

    def _examined(self, objective: Objective, path: Path) -> Path:
        """Compare the rows of every regime with what the graph allows in them."""
        graph = path.graph
        families = [parents for _, parents in families_of(graph)]
        # Of the first fold, since the predictors that judge rows of interventions have not learned from it either.
        untouched = self._asked(np.flatnonzero((self._rows.origin == 0) & (self._rows.fold == 0)))
        gains = hit_gains(objective, graph)
        gains[:, self.problem.data.is_context[self.problem.column]] = -np.inf  # no intervention acts on context
        return replace(
            path,
            gains=gains,
            suspects=suspects(gains, CLEAR_HARM),
            strengths=strengths(objective.predictors, families, self._mechanisms, untouched),
            dispersion=self.run(lambda j: self._dispersion(objective.predictors[j], j, families[j]), range(len(graph))),
        )

    def _dispersion(self, predictor: Predictor, effect: int, parents: Parents) -> float:
        return dispersion_of(
            predictor, effect, parents, self.sample, int(self._levels[effect]), int(self._slot[effect])
        )

    def _train(self, graph: Mask, variables: Sequence[int], on_progress: Progress) -> Networks:
        if self._wide:
            presence = presence_near(self.problem.allowed, graph, np.zeros_like(graph))
        else:
            presence = presence_near(self.problem.likely, graph, self.telling > 0)
        chosen, settings = np.array(variables, np.int64), self.problem.settings
        return Networks(self.problem.model, self.sample, presence, settings, chosen, on_progress, self.problem.journal)

    def _search_widely(self, predictors: Sequence[Predictor], graph: Mask) -> list[Path]:
        """Search by predictors that answer at once, from several starts where the data leave directions open.

        Returns the best path and, if another start has led to it and more precise predictors will follow, the one from
        the graph found so far as well: networks that do not know a graph well can be wrong about it by much.
        """
        objective, rules = self._objective(predictors), self._rules(graph)
        first = path = search(objective, graph, rules, run=self.run)
        for other in self._other_starts(objective, rules, graph):
            again = search(objective, other, rules, order_first=True, run=self.run)
            path = min(path, again.seen_from(graph, path.before), key=lambda it: it.after)
        return [path] if path is first or not self.continuous.any() else [path, first]

    def _search_linearly(self, networks: Networks, graph: Mask) -> list[Path]:
        """Search by linear regressions of continuous variables, from the empty graph; none where others answer."""
        linear = [self.problem.regressions and bool(it) for it in self.continuous]
        if not any(linear):
            return []
        possible = [np.flatnonzero(column) for column in (self.problem.allowed | self.problem.required).T]
        predictors: list[Predictor] = [
            LinearPredictor(self._regressions, j, possible[j].tolist()) if it else self._by_networks(j, networks)
            for j, it in enumerate(linear)
        ]
        objective = self._objective(predictors)
        path = search(objective, self.problem.required, self._rules(graph), order_first=True, run=self.run)
        return [path.seen_from(graph, objective.total(graph))]

    def _rules(self, graph: Mask, *, fast_only: bool = False) -> Rules:
        """Rules of the search; places in the order may be a matter for predictors that answer at once only."""
        joined, told = self.problem.likely | graph, self.telling >= FEW_ROWS
        if fast_only:
            told |= self.continuous[:, None] | self.continuous
        elif self._wide:
            joined, told = self.problem.allowed, np.zeros_like(told)
        return Rules.of(self.problem.allowed, self.problem.required, joined, told)

    def _objective(self, predictors: Sequence[Predictor], errors: Sequence[float] | None = None) -> Objective:
        sparsity, regimes = self.problem.settings.sparsity, self.problem.regimes
        return Objective(
            predictors,
            self._candidates,
            regimes,
            sparsity,
            self.evidence,
            errors,
            own=self._own,
            dispersion=self.dispersion,
        )

    def _best(self, effect: int, parents: Parents, networks: Networks) -> Predictor:
        """Choose the predictor that knows most of a variable, given its parents."""
        usual: Predictor
        if self._by_regression(effect, parents):
            if effect not in self._regressed:
                self._regressed[effect] = self._regressions.of(effect, self._objective([]).edge_price(effect))
            usual = self._regressed[effect]
        elif self.continuous[[effect, *parents]].any():
            usual = networks.experts_of(effect)
        else:
            usual = self._by_networks(effect, networks)
        rivals, candidates = self._rivals[effect], sorted(self._candidates[effect])
        if self.continuous[candidates].any():  # one that cannot tell what some of them bring would keep them out
            rivals = [rival for rival in rivals if np.isfinite(rival.changes(parents, candidates)).all()]
        return min((usual, *rivals), key=lambda predictor: predictor.loss(parents))

    def _by_networks(self, effect: int, networks: Networks) -> NetworkPredictor:
        """Networks, corrected by counts where all is categorical."""
        if self.continuous[[effect, *self._candidates[effect]]].any():
            return networks.of(effect)
        return CountedPredictor(networks, effect, self._levels, self._slot)

    def _by_regression(self, effect: int, parents: Parents) -> bool:
        return self.problem.regressions and self._regressions.answers_for(effect, parents)

    @property
    def _wide(self) -> bool:
        """Whether all places of all variables are looked at: most starts then end in the same graph."""
        return self._is_open_somewhere() and _cost_of_places(self.problem.allowed) <= WIDEST

    def _is_open_somewhere(self) -> bool:
        """Whether no intervention identifies the direction of some likely pair."""
        return bool((self.problem.likely & (self.telling == 0)).any())

    def _other_starts(self, objective: Objective, rules: Rules, graph: Mask) -> Iterable[Mask]:
        """Give every variable its best parents among those before it in random orders, always the same ones."""
        if not self._is_open_somewhere():
            return
        if self._wide:
            yield self.problem.required
        best, rng = BestParents(objective, rules), np.random.default_rng(0)
        cost = sum(len(near) ** 2 for near in rules.near)
        for _ in range(min(RANDOM_STARTS, MOST_RANDOM // max(1, cost))):
            yield best.graph_of(rng.permutation(len(graph)).tolist())


def _error(predictor: Predictor, parents: Parents) -> float:
    """Nats that a parent must earn because its variable's predictor may be wrong."""
    return APART * predictor.error(parents) if isinstance(predictor, RegressionPredictor) else 0.0


def _cost_of_places(joined: Mask) -> int:
    """Families that it takes to look at every place of every variable: the squares of its neighbours, summed."""
    return int(((joined | joined.T).sum(axis=0) ** 2).sum())


def _part(on_progress: Progress, done: int, parts: int, fraction: float) -> None:
    on_progress((done + fraction) / parts)
