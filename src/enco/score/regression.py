"""Losses of continuous variables by regressions on exactly their parents (`enco.conditionals.regression`).

Each fold has a regression that has learned from the other folds. Even precise training ends in one of many minima,
which differ by more than a weak edge is worth. So regressions of families that differ in one parent begin where the
other ended, besides one from scratch, and the best of them, by the rows it has learned from, answers: what a useless
parent seems to earn is then within reach of the others.

What a further parent would bring is first guessed by one Newton step; what leaving one out costs, by training that is
given up once it is far behind. Only the families that a search is about to choose are fitted to the end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from enco.conditionals.continuous import Standardisation
from enco.conditionals.regression import Regression, Rows
from enco.score.base import Parents
from enco.score.journal import Journal
from enco.score.own import OwnMechanism
from enco.score.rows import N_FOLDS, Sample

__all__ = ["RegressionPredictor", "Regressions"]

Floats = NDArray[np.float64]
I64 = NDArray[np.int64]
Block = NDArray[np.float32]

HELD_OUT = 0.1  # share of the rows learned from that decides when to stop
FAR = 0.05  # nats for each row: training that is so far behind is given up
SMALL_NOISE = 0.1  # where more is left of a variable, the first minimum is as good as any
MOST_INPUTS = 64  # of all parents together: a step then takes a fraction of a second


class Regressions:
    """Inputs and values of all variables, standardised.

    Parameters
    ----------
    sample : Sample
    unit : Standardisation
    n_levels : int64 [N]
        Categories of each variable; 0 for a continuous one.
    slot : int64 [N]
        Column of each variable among the codes or reals.
    go_on : callable
        Called before every step of training; may raise.
    journal : Journal, optional
    """

    def __init__(
        self,
        sample: Sample,
        unit: Standardisation,
        n_levels: I64,
        slot: I64,
        go_on: Callable[[], None] = lambda: None,
        journal: Journal | None = None,
    ) -> None:
        self.sample, self.n_levels, self.slot, self.go_on = sample, n_levels, slot, go_on
        self.journal = journal or Journal()
        self.width = np.maximum(1, n_levels - 1)
        table = sample.table
        self.codes = np.asfortranarray(table.codes)
        self.reals = np.asfortranarray(unit.apply(table.reals).astype(np.float32))

    def of(self, effect: int, price: float) -> "RegressionPredictor":
        """Return the predictor of one variable; the price of a parent says which comparisons are close."""
        return RegressionPredictor(self, effect, price)

    def answers_for(self, effect: int, parents: Parents) -> bool:
        """Whether regressions can predict a variable from some parents."""
        return not self.n_levels[effect] and int(self.width[list(parents)].sum()) <= MOST_INPUTS

    def inputs(self, variables: Iterable[int], rows: I64) -> list[Block]:
        """Columns that stand for some variables: standardised values, or an indicator of every level but the first."""
        columns: list[Block] = []
        for variable in variables:
            slot = self.slot[variable]
            if not self.n_levels[variable]:
                columns.append(self.reals[rows, slot])
                continue
            codes = self.codes[rows, slot]
            columns += [(codes == level).astype(np.float32) for level in range(1, int(self.n_levels[variable]))]
        return columns


@dataclass(frozen=True)
class _Fit:
    """Regressions of all folds for some parents, in their order, with the losses of the rows not learned from.

    The noise is the standard deviation that is left in the unit of the variable's own.
    """

    parents: tuple[int, ...]
    regressions: tuple[Regression, ...]
    losses: tuple[float, ...]
    noise: float

    @property
    def loss(self) -> float:
        return sum(self.losses)

    def or_better(self, other: "_Fit") -> "_Fit":
        """Of each fold, the one that has learned better."""
        source = [
            self if mine.learned <= its.learned else other
            for mine, its in zip(self.regressions, other.regressions, strict=True)
        ]
        return _Fit(
            self.parents,
            tuple(fit.regressions[k] for k, fit in enumerate(source)),
            tuple(fit.losses[k] for k, fit in enumerate(source)),
            min(self.noise, other.noise),
        )


class RegressionPredictor:
    """What regressions of one variable say; see `enco.score.base.Predictor`."""

    quick = False

    def __init__(self, shared: Regressions, effect: int, price: float) -> None:
        self._shared = shared
        self._effect = effect
        self._price = price
        sample = shared.sample
        free = sample.free_rows(effect)
        self._target = shared.inputs([effect], np.arange(len(sample.origin)))[0]
        self._weight = sample.weight[sample.origin]
        self._parts = []
        for fold in range(N_FOLDS):
            learned = np.random.default_rng([effect, fold]).permutation(free[sample.fold[free] != fold])
            held = int(np.ceil(HELD_OUT * len(learned)))
            judged = free[sample.fold[free] == fold]
            if not fold:  # no fold has learned from rows that intervene on the variable softly: the first judges them
                judged = np.concatenate([judged, *(part.rows for part in sample.soft.get(effect, []))])
            self._parts.append((np.sort(learned[held:]), np.sort(learned[:held]), judged))
        self._fits: dict[Parents, _Fit] = {}
        self._hopeless: dict[Parents, float] = {}
        self._errors: dict[Parents, float] = {}
        self._promised: tuple[object, Floats] = (None, np.zeros(0))

    def loss(self, parents: Parents) -> float:
        """Sum the losses of all rows."""
        return self._fit(parents).loss

    def changes(self, parents: Parents, causes: Sequence[int]) -> Floats:
        """Guess the losses after toggling each cause.

        Parents are left out one at a time, beginning with the one that seems to matter least. The first that is not
        worth its price ends it: once that one is gone, the others must be asked again anyway.
        """
        after = np.full(len(causes), np.inf)
        self._fit(parents)
        place = {cause: k for k, cause in enumerate(causes) if cause in parents}
        for cause in self._least_first(parents, list(place)):
            after[place[cause]] = self._without(parents, cause)
            if after[place[cause]] - self._fits[parents].loss < self._price:
                break
        fit = self._fit(parents)  # leaving one out and coming back may have found a better one
        room = MOST_INPUTS - int(self._shared.width[list(parents)].sum())
        new = [k for k, cause in enumerate(causes) if cause not in parents and self._shared.width[cause] <= room]
        if new:
            after[new] = fit.loss - self._promise(fit, tuple(causes[k] for k in new))
        return after

    def error(self, parents: Parents) -> float:
        """Nats that two regressions of the same family differ by, which only differ in where they began."""
        if parents in self._errors:
            return self._errors[parents]
        fit = self._fit(parents)
        if fit.noise > SMALL_NOISE:
            return 0.0
        again = self._from_scratch(fit.parents, start=1)
        apart = [abs(a.learned - b.learned) for a, b in zip(fit.regressions, again.regressions, strict=True)]
        self._fits[parents] = fit.or_better(again)
        self._errors[parents] = len(apart) * min(apart)
        return self._errors[parents]

    def by_regime(self, parents: Parents) -> Floats:
        """Sum the losses of the rows of each regime."""
        loss = self.row_losses(parents)
        judged = np.flatnonzero(~np.isnan(loss))
        return self._shared.sample.by_regime(loss[judged], judged)

    def row_losses(self, parents: Parents) -> Floats:
        """Losses of all rows, [rows], NaN where the variable was set."""
        fit, losses = self._fit(parents), np.full(len(self._target), np.nan)
        for fold, (_, _, judged) in enumerate(self._parts):
            losses[judged] = self._losses(fit.regressions[fold], parents, self._rows(fit.parents, judged), fold)
        return losses

    def _losses(self, regression: Regression, parents: Parents, judged: Rows, fold: int) -> Floats:
        loss, sample = regression.losses(judged), self._shared.sample
        if not fold and (soft := sample.soft.get(self._effect)):
            ordered = tuple(sorted(parents))
            means = [regression.mean(self._rows(ordered, part.rows).inputs)[:, None] for part in soft]
            sample.softened(self._effect, parents, loss, self._parts[fold][2], means)
        return loss

    def residuals(self, parents: Parents) -> Floats:
        """Return what the parents leave unexplained, in standard deviations, [rows]; NaN where the variable was set."""
        fit, left = self._fit(parents), np.full(len(self._target), np.nan)
        for regression, (_, _, judged) in zip(fit.regressions, self._parts, strict=True):
            rows = self._rows(fit.parents, judged)
            spread = np.exp(-0.5 * regression.spread(rows.inputs).astype(np.float64))
            left[judged] = (rows.target - regression.mean(rows.inputs)) * spread
        left[~self._shared.sample.free[self._effect][self._shared.sample.origin]] = np.nan
        return left

    def target_losses(self, parents: Parents, mechanism: OwnMechanism) -> tuple[Floats, Block]:
        """Losses of rows that intervene on the variable, as if they had not, and its mean then, [rows, 1]."""
        fit = self._fit(parents)
        rows = self._rows(fit.parents, mechanism.rows)
        return fit.regressions[0].losses(rows), fit.regressions[0].mean(rows.inputs)[:, None]

    def _fit(self, parents: Parents) -> _Fit:
        """Fit a family: from where those ended that have one parent more or less, or from scratch."""
        if parents in self._fits:
            return self._fits[parents]
        order = tuple(sorted(parents))
        near = [other for other in self._fits if len(other ^ parents) == 1]
        begun = [self._go_on_from(self._fits[other], order) for other in near] or [self._from_scratch(order)]
        fit = self._fits[parents] = reduce(_Fit.or_better, begun)
        for other in near:
            if other < parents:  # what the family with more parents has found may be within reach of the other
                back = self._go_on_from(fit, tuple(sorted(other)), rival=self._fits[other])
                self._fits[other] = self._fits[other].or_better(back)
        return fit

    def _least_first(self, parents: Parents, causes: list[int]) -> list[int]:
        """Order parents by the loss with a linear function of the others in place of each, before any training."""
        if len(causes) < 2:
            return causes
        fit = self._fits[parents]
        train = self._parts[0][0]
        rows = self._rows(fit.parents, train)
        names, loss = self._names(fit.parents), {}
        for cause in causes:
            gone = np.isin(names, self._names((cause,))[:-1])
            stand_in = np.eye(len(names))
            stand_in[gone] = 0.0
            stand_in[np.ix_(gone, ~gone)] = _in_terms_of(rows.inputs[:, ~gone], rows.inputs[:, gone])
            loss[cause] = float(fit.regressions[0].with_inputs(stand_in).losses(rows).sum())
        return sorted(causes, key=lambda cause: (loss[cause], cause))

    def _without(self, parents: Parents, cause: int) -> float:
        """Loss of a family without one parent; what it was when training was given up, where that is hopeless."""
        others = parents - {cause}
        if others in self._hopeless:
            return self._hopeless[others]
        if others in self._fits:
            return self._fits[others].loss
        fit, order = self._fits[parents], tuple(sorted(others))
        first = self._train(order, self._begin_from(fit, order, 0), 0, fit)
        if first[0].learned - fit.regressions[0].learned > self._far(0):
            self._hopeless[others] = fit.loss + N_FOLDS * (first[1] - fit.losses[0])
            return self._hopeless[others]
        rest = (self._train(order, self._begin_from(fit, order, fold), fold, fit) for fold in range(1, N_FOLDS))
        without = self._joined(order, [first, *rest])
        if without.loss - fit.loss > self._price:  # weights learned beside a parent can be a bad start without it
            without = without.or_better(self._from_scratch(order))
        elif without.loss > fit.loss:
            self._fits[parents] = fit.or_better(self._go_on_from(without, fit.parents))
        self._fits[others] = without
        return without.loss

    def _from_scratch(self, parents: tuple[int, ...], start: int = 0) -> _Fit:
        parts = []
        for fold, (train, _, _) in enumerate(self._parts):
            rng = np.random.default_rng([self._effect, fold, start])
            parts.append(self._train(parents, Regression.random(self._rows(parents, train), rng), fold))
        return self._joined(parents, parts)

    def _go_on_from(self, fit: _Fit, parents: tuple[int, ...], rival: _Fit | None = None) -> _Fit:
        """Train on for other parents."""
        folds = range(N_FOLDS)
        parts = [self._train(parents, self._begin_from(fit, parents, fold), fold, rival) for fold in folds]
        return self._joined(parents, parts)

    def _begin_from(self, fit: _Fit, parents: tuple[int, ...], fold: int) -> Regression:
        """Return a regression for other parents; what these can say about one that left goes into their weights."""
        old, new = self._names(fit.parents), self._names(parents)
        stand_in = (old[:, None] == new).astype(np.float64)
        gone = ~stand_in.any(axis=1)
        if gone.any():
            train = self._parts[fold][0]
            others = self._rows(fit.parents, train).inputs[:, gone]
            stand_in[gone] = _in_terms_of(self._rows(parents, train).inputs, others)
        return fit.regressions[fold].with_inputs(stand_in)

    def _train(
        self, parents: tuple[int, ...], begin: Regression, fold: int, rival: _Fit | None = None
    ) -> tuple[Regression, float]:
        """Train the regression of a fold; return it with the loss of the rows that it is judged on."""

        def train() -> Sequence[NDArray[np.generic]]:
            train, held, judged = (self._rows(parents, rows) for rows in self._parts[fold])
            goal = (rival.regressions[fold].learned, self._far(fold)) if rival else None
            fitted = begin.fit(train, held, goal=goal, go_on=self._shared.go_on)
            loss = self._losses(fitted, frozenset(parents), judged, fold) @ self._weight[self._parts[fold][2]]
            return [*fitted.arrays(), np.asarray(loss)]

        *arrays, loss = self._shared.journal.ask(f"regressions of {self._effect}", train)
        return Regression.of_arrays(*arrays), float(loss)

    def _joined(self, parents: tuple[int, ...], parts: Sequence[tuple[Regression, float]]) -> _Fit:
        regressions, losses = zip(*parts, strict=True)
        level = float(np.median(regressions[0].spread(self._rows(parents, self._parts[0][2]).inputs)))
        return _Fit(parents, regressions, losses, float(np.exp(min(0.0, 0.5 * level))))

    def _promise(self, fit: _Fit, causes: tuple[int, ...]) -> Floats:
        """Nats that each cause would bring beside the parents, by one Newton step."""
        asked = fit.parents, fit.losses, causes
        if self._promised[0] == asked:  # a search asks again and again
            return self._promised[1]
        widths = self._shared.width[list(causes)]
        groups = np.split(np.arange(widths.sum()), np.cumsum(widths)[:-1])

        def add_up() -> list[Floats]:
            total = np.zeros(len(causes))
            for regression, (train, _, judged) in zip(fit.regressions, self._parts, strict=True):
                extra = np.column_stack(self._shared.inputs(causes, train))
                share = float(self._weight[judged].sum()) / len(train)
                total += share * regression.expected_gains(self._rows(fit.parents, train), extra, groups)
            return [total]

        (total,) = self._shared.journal.ask(f"regressions of {self._effect}", add_up)
        self._promised = asked, total
        return total

    def _rows(self, parents: tuple[int, ...], rows: I64) -> Rows:
        inputs = np.column_stack([*self._shared.inputs(parents, rows), np.ones(len(rows), np.float32)])
        return Rows(np.ascontiguousarray(inputs), self._target[rows])

    def _names(self, parents: tuple[int, ...]) -> I64:
        """Name the inputs that stand for some parents, and the constant."""
        names = [parent << 20 | k for parent in parents for k in range(int(self._shared.width[parent]))]
        return np.array([*names, -1])

    def _far(self, fold: int) -> float:
        return FAR * len(self._parts[fold][0])


def _in_terms_of(inputs: Block, others: Block) -> Floats:
    """Find the linear functions of the inputs that come closest to others, [others, inputs].

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(size=(2, 100, 1)).astype(np.float32)
    >>> _in_terms_of(np.hstack([y, x]), x + 2 * y).round(3)
    array([[2., 1.]])
    """
    square = (inputs.T @ inputs).astype(np.float64)
    square += 1e-6 * np.trace(square) / len(square) * np.eye(len(square))
    return np.asarray(np.linalg.solve(square, inputs.T @ others).T, np.float64)
