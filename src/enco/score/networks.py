"""Losses by cross-fitted networks: one set of networks for each fold, judged on the rows it has not seen.

A network must answer for many sets of parents. It is trained with parents present at random: nearly always where a
graph has the edge, now and then where it has not, and half of the time where two variables are joined and the data
leave open in which direction. So it knows the sets near the graph best, and both directions of an open edge equally
well: a network that knew one of them better would confirm it.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.base import ConditionalModel, Training
from enco.score.base import Parents
from enco.score.journal import Journal
from enco.score.own import OwnMechanism, at_every_level
from enco.score.rows import N_FOLDS, Sample
from enco.settings import Settings

__all__ = ["ExpertPredictor", "NetworkPredictor", "Networks", "presence_near"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

USUAL = 0.9  # presence of an edge of the graph
OPEN = 0.5  # of a joined pair, in both directions, where no intervention identifies the direction
UNUSUAL = 0.15  # least presence of all others; in small graphs about one of them at a time
DOUBTED = 0.1  # nats for each row: what networks gave to useless parents, twice over
AVERAGED = 100  # steps: large steps learn quickly, and their average is as precise as that of small ones


def presence_near(joined: Mask, graph: Mask, told: Mask) -> Floats:
    """Presence of every parent in the training of networks that know the sets of parents near a graph, [N, N].

    Parameters
    ----------
    joined : bool [N, N]
        Pairs that may be edges, in either direction.
    graph : bool [N, N]
        Row = cause.
    told : bool [N, N]
        Pairs whose direction some intervention tells.

    Examples
    --------
    >>> graph = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    >>> told = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1]], bool)
    >>> presence_near(graph, graph, told)
    array([[0.5, 0.9, 0.5],
           [0.5, 0.5, 0.5],
           [0.5, 0.5, 0.5]])
    """
    rare = max(UNUSUAL, 1.0 / max(2, len(graph) - 1))
    told_presence = np.where(graph, USUAL, rare)
    open_presence = np.where(joined | joined.T | graph | graph.T, OPEN, rare)
    return np.where(told, told_presence, open_presence)


class Networks:
    """Networks over the candidates of a model, trained anew for each fold.

    Parameters
    ----------
    model : ConditionalModel
        Networks like these are trained.
    sample : Sample
    presence : float64 [N, N]
        Of each parent in training.
    settings : Settings
    variables : int64 [k], optional
        Those that will be asked for; all by default.
    on_progress : callable, optional
    journal : Journal, optional
    """

    def __init__(
        self,
        model: ConditionalModel,
        sample: Sample,
        presence: Floats,
        settings: Settings,
        variables: NDArray[np.int64] | None = None,
        on_progress: Callable[[float], None] = lambda fraction: None,
        journal: Journal | None = None,
    ) -> None:
        self.journal = journal = journal or Journal()
        self.sample, self.table, self.steps = sample, sample.table, settings.refine_steps
        self.pairs = pairs = model.candidates
        probability = presence[pairs.cause, pairs.effect]
        training = Training(settings.refine_rate, settings.refine_patience, AVERAGED)
        self.models = []
        for fold in range(N_FOLDS):
            networks = model.anew(pairs, sample.learned(fold), fold, training)
            tell = partial(_tell, on_progress, fold)
            fit = partial(networks.fit, probability, settings.refine_steps, variables, on_progress=tell)
            journal.train("networks", networks, fit)
            tell(1.0)
            self.models.append(networks)

    def residuals(self, graph: Mask, fold: int) -> list[Floats]:
        """Return what a graph leaves unexplained of every variable in the rows of a fold, [rows, K_j] each.

        Zero where the variable was a target.
        """
        rows = np.flatnonzero(self.sample.fold == fold)
        present = graph[self.pairs.cause, self.pairs.effect]
        residuals = self.models[fold].residuals(self.table, rows, present)
        for residual, free in zip(residuals, self.sample.free[:, self.sample.origin[rows]], strict=True):
            residual[~free] = 0.0
        return residuals

    def of(self, effect: int) -> "NetworkPredictor":
        """Return the predictor of one variable."""
        return NetworkPredictor(self, effect)

    def experts_of(self, effect: int) -> "ExpertPredictor":
        """Return the predictor of one variable by networks for exactly its parents."""
        return ExpertPredictor(self, effect)


def _tell(on_progress: Callable[[float], None], fold: int, fraction: float) -> None:
    on_progress((fold + fraction) / N_FOLDS)


class NetworkPredictor:
    """What the networks of one variable say; see `enco.score.base.Predictor`."""

    quick = True

    def __init__(self, networks: Networks, effect: int) -> None:
        self._networks = networks
        self._effect = effect
        self._causes = networks.pairs.cause[networks.pairs.pairs_into(effect)]
        judged = networks.sample.judged_rows(effect)
        self._rows = [judged[networks.sample.fold[judged] == fold] for fold in range(N_FOLDS)]
        self._order = np.concatenate(self._rows)
        self._known: dict[Parents, float] = {}

    def loss(self, parents: Parents) -> float:
        """Sum the losses of all rows."""
        if parents not in self._known:
            self._look(parents, ())
        return self._known[parents]

    def changes(self, parents: Parents, causes: Sequence[int]) -> Floats:
        """Sum the losses of all rows after toggling each cause."""
        new = [cause for cause in causes if parents ^ {cause} not in self._known]
        if new:
            self._look(parents, new)
        return np.array([self._known[parents ^ {cause}] for cause in causes])

    def by_regime(self, parents: Parents) -> Floats:
        """Sum the losses of the rows of each regime."""
        losses: Floats = self.regime_changes(parents, ())[0]
        return losses

    def regime_changes(self, parents: Parents, causes: Sequence[int]) -> Floats:
        """Sum the losses of the rows of each regime, given the parents and after toggling each cause, [1 + C, R]."""
        sample = self._networks.sample
        return np.array([sample.by_regime(loss, self._order) for loss in self._row_losses(parents, causes)])

    def target_losses(self, parents: Parents, mechanism: OwnMechanism) -> tuple[Floats, NDArray[np.float32] | None]:
        """Losses of rows that intervene on the variable, as if they had not, and log-probabilities of all levels."""
        levels = self._log_usual(mechanism, parents, ())
        if levels is not None:
            log_usual = levels[0]
            return -np.take_along_axis(log_usual, mechanism.columns[self._effect][:, None].astype(np.int64), 1)[
                :, 0
            ].astype(float), log_usual
        family, nothing = np.isin(self._causes, list(parents)), np.zeros(0, np.int64)
        rows = np.arange(mechanism.table.n_rows)
        networks = self._networks.models[0]  # none of them has learned from these rows
        return networks.row_losses(mechanism.table, rows, self._effect, family, nothing)[0].astype(float), None

    def row_losses(self, parents: Parents) -> Floats:
        """Losses of all rows, [rows], NaN where the variable was set."""
        return self._spread(self._row_losses(parents, ())[0])

    def row_changes(self, parents: Parents, causes: Sequence[int]) -> list[Floats]:
        """Losses of all rows, given the parents and after toggling each cause, [rows] each."""
        return [self._spread(loss) for loss in self._row_losses(parents, causes)]

    def _spread(self, loss: NDArray[np.floating]) -> Floats:
        everywhere = np.full(len(self._networks.sample.origin), np.nan)
        everywhere[self._order] = loss
        return everywhere

    def log_probabilities(self, parents: Parents, rows: I64, n_levels: int, slot: int) -> Floats:
        """Log-probabilities of all levels in some rows that leave the variable free, [rows, levels].

        Each row is asked of the networks that have not learned from it.
        """
        family, nothing = np.isin(self._causes, list(parents)), np.zeros(0, np.int64)
        told = np.empty((len(rows), n_levels))
        for fold, model in enumerate(self._networks.models):
            mine = np.flatnonzero(self._networks.sample.fold[rows] == fold)
            table = at_every_level(self._networks.table.taking(rows[mine]), slot, n_levels)
            losses = model.row_losses(table, np.arange(table.n_rows), self._effect, family, nothing)[0]
            told[mine] = -losses.reshape(-1, n_levels)
        return told

    def _look(self, parents: Parents, causes: Sequence[int]) -> None:
        sample = self._networks.sample

        def add_up() -> list[Floats]:
            return [self._row_losses(parents, causes) @ sample.weight[sample.origin[self._order]]]

        (total,) = self._networks.journal.ask(f"networks of {self._effect}", add_up)
        for family, loss in zip([parents, *(parents ^ {cause} for cause in causes)], total, strict=True):
            self._known.setdefault(family, float(loss))  # computed beside others, it rounds differently

    def _row_losses(self, parents: Parents, causes: Sequence[int]) -> NDArray[np.float32]:
        """Losses of rows, fold by fold, given the parents and after each change, [1 + C, rows]."""
        family = np.isin(self._causes, list(parents))
        places = np.searchsorted(self._causes, np.array(causes, np.int64))
        table, models = self._networks.table, self._networks.models
        losses = [
            model.row_losses(table, rows, self._effect, family, places)
            for model, rows in zip(models, self._rows, strict=True)
        ]
        return self._softened(np.concatenate(losses, axis=1), parents, causes)

    def _softened(self, losses: NDArray[np.float32], parents: Parents, causes: Sequence[int]) -> NDArray[np.float32]:
        sample = self._networks.sample
        parts = sample.soft.get(self._effect, [])
        levels = [self._log_usual(part.mechanism, parents, causes) if part.keeps_parents else None for part in parts]
        for k, (family, loss) in enumerate(
            zip([parents, *(parents ^ {cause} for cause in causes)], losses, strict=True)
        ):
            sample.softened(
                self._effect, family, loss, self._order, [None if table is None else table[k] for table in levels]
            )
        return losses

    def _log_usual(
        self, mechanism: OwnMechanism, parents: Parents, causes: Sequence[int]
    ) -> NDArray[np.float32] | None:
        """Log-probabilities of all levels in rows that intervene on the variable, [1 + C, rows, levels]."""
        n_levels = int(mechanism.levels[self._effect])
        if not n_levels:
            return None
        family, places = np.isin(self._causes, list(parents)), np.searchsorted(self._causes, np.array(causes, np.int64))
        rows = np.arange(mechanism.every_level.n_rows)
        losses = self._networks.models[0].row_losses(mechanism.every_level, rows, self._effect, family, places)
        return -losses.reshape(1 + len(causes), -1, n_levels)


class ExpertPredictor(NetworkPredictor):
    """The same with networks of its own for every family that a search is about to choose, trained on from there.

    Networks that must know many sets of parents are not quite right about any. Where parents are continuous, that is
    enough for useless parents to seem useful: whatever is correlated with a parent helps a network that has not learned
    its effect exactly.
    """

    quick = False

    def __init__(self, networks: Networks, effect: int) -> None:
        super().__init__(networks, effect)
        self._exact: dict[Parents, NDArray[np.float32]] = {}
        self._doubt = DOUBTED * float(networks.sample.weight[networks.sample.origin][self._order].sum())

    def loss(self, parents: Parents) -> float:
        """Sum the losses of all rows."""
        return float(self.by_regime(parents).sum())

    def changes(self, parents: Parents, causes: Sequence[int]) -> Floats:
        """Guess the losses after toggling each cause; of parents that do not seem to matter much, find them out."""
        guessed = super().changes(parents, causes) - super().loss(parents)
        doubtful = [k for k, cause in enumerate(causes) if cause in parents and guessed[k] < self._doubt]
        after: Floats = self.loss(parents) + guessed
        after[doubtful] = [self.loss(parents - {causes[k]}) for k in doubtful]
        return after

    def by_regime(self, parents: Parents) -> Floats:
        """Sum the losses of the rows of each regime."""
        return self._networks.sample.by_regime(self._expert_losses(parents), self._order)

    def row_losses(self, parents: Parents) -> Floats:
        """Losses of all rows, [rows], NaN where the variable was set."""
        return self._spread(self._expert_losses(parents))

    def _expert_losses(self, parents: Parents) -> NDArray[np.float32]:
        if parents not in self._exact:
            shared, family = self._networks, np.isin(self._causes, list(parents))

            def judge() -> list[NDArray[np.float32]]:
                losses = (
                    model.expert_losses(self._effect, family, shared.table, rows, shared.steps)
                    for model, rows in zip(shared.models, self._rows, strict=True)
                )
                loss = np.concatenate(list(losses))
                shared.sample.softened(self._effect, parents, loss, self._order)
                return [loss]

            (self._exact[parents],) = shared.journal.ask(f"experts of {self._effect}", judge)
        return self._exact[parents]
