"""`TorchConditionals`: the PyTorch engine behind the `ConditionalModel` interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.base import FitReport, Floats, Training
from enco.conditionals.held_out import repeats, split_rows
from enco.conditionals.torch.requirements import check_packages, find_device
from enco.conditionals.torch.settings import TorchSettings
from enco.conditionals.torch.threads import one_thread_each
from enco.data import InterventionalData, Regime

if TYPE_CHECKING:  # PyTorch is imported when a model is built, not before
    from torch import Tensor

    from enco.conditionals.fused import FusedConditionals
    from enco.conditionals.torch.bank import Bank

__all__ = ["TorchConditionals"]

BANK = 32  # variables evaluated together; fixed, so that results do not depend on the number of threads


class TorchConditionals:
    """One network per variable, evaluated by PyTorch for many variables at once.

    Parameters
    ----------
    data : InterventionalData
        Categorical and continuous variables.
    candidates : Candidates
        The pairs (cause, effect) to model.
    settings : TorchSettings
    seed : int
        Fixes initial weights, the held-out rows and all sampling; results do not depend on `n_jobs`.
    n_jobs : int
        Threads, each for a bank of at most 32 variables.
    column : int64 [N], optional
        Column of `data` that holds each variable of `candidates`; the same order by default.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=500)
    >>> rows = np.column_stack([cause, cause + 0.5 * rng.normal(size=500)])
    >>> data = InterventionalData.from_environments([rows], [None])
    >>> model = TorchConditionals(data, Candidates.all_pairs(2), settings=TorchSettings(hidden=16), seed=0, n_jobs=1)
    >>> report = model.fit(np.full(2, 0.5), 200)
    >>> effects = model.edge_effects(data.observational, np.arange(500), np.full(2, 0.5), np.ones(2, bool))
    >>> bool((effects < -0.3).all())  # each is worth knowing for the other
    True
    """

    def __init__(
        self,
        data: InterventionalData,
        candidates: Candidates,
        *,
        settings: TorchSettings,
        seed: int,
        n_jobs: int,
        column: NDArray[np.int64] | None = None,
    ) -> None:
        check_packages(settings.density)
        from enco.conditionals.torch.banks import build_banks
        from enco.conditionals.torch.rows import Columns

        self.candidates = candidates
        self.settings = settings
        self.n_jobs = n_jobs
        self._device = find_device(settings.device)
        self._pool = ThreadPoolExecutor(n_jobs)
        self._columns = Columns(data, np.arange(candidates.n_variables) if column is None else column, self._device)
        rng = np.random.default_rng([seed, 1])
        train, held = split_rows(data.observational.n_rows, settings.held_out, rng)
        self._train = self._columns.read(data.observational, train)
        self._held = self._columns.read(data.observational, held)
        with one_thread_each():
            self.banks = build_banks(candidates, self._columns, settings, BANK, rng)

    def fit(
        self,
        edge_probability: Floats,
        steps: int,
        variables: NDArray[np.int64] | None = None,
        on_progress: Callable[[float], None] = lambda fraction: None,
    ) -> FitReport:
        """Train every variable, or some, for at most `steps` steps (Eq. 1).

        Parameters
        ----------
        edge_probability : float64 [P]
        steps : int
        variables : int64, optional
            Which to train; all by default.
        on_progress : callable, optional
            Called with the share of the variables that are trained.

        Returns
        -------
        FitReport
            Losses of continuous variables are in nats of the original units.
        """
        from enco.conditionals.torch.training import fit_bank

        held_out_loss = np.zeros(self.candidates.n_variables)
        taken = np.zeros(self.candidates.n_variables, np.int64)
        probability = self._padded(np.clip(edge_probability, 0.0, 1.0).astype(np.float32))

        def run(bank: Bank) -> None:
            everything = np.ones(len(bank.variables), bool)
            chosen = np.flatnonzero(everything if variables is None else np.isin(bank.variables, variables))
            if len(chosen):
                held_out_loss[bank.variables], taken[bank.variables] = fit_bank(
                    bank, self._train, self._held, probability, steps, self.settings, chosen
                )

        self._run(run, on_progress)
        return FitReport(held_out_loss + self._columns.log_scale, taken)

    def extended(
        self, rows: Sequence[tuple[Regime, NDArray[np.int64]]], learning_rate: float, patience: int
    ) -> TorchConditionals:
        """Copy the model, with its weights; the copy trains on these rows too, where they leave a variable free.

        Where they are few, each counts several times (`repeats`).
        """
        from enco.conditionals.torch.banks import build_banks

        other = copy(self)
        other.settings = replace(self.settings, learning_rate=learning_rate, patience=patience)
        rng = np.random.default_rng(0)
        splits = [(regime, those, *split_rows(len(those), self.settings.held_out, rng)) for regime, those in rows]
        times = repeats(len(self._train), sum(len(train) for _, _, train, _ in splits))
        trained = [(regime, np.repeat(those[train], times)) for regime, those, train, _ in splits]
        stopped = [(regime, np.repeat(those[held], times)) for regime, those, _, held in splits]
        other._train = self._columns.join([self._train], trained)
        other._held = self._columns.join([self._held], stopped)
        with one_thread_each():
            other.banks = build_banks(self.candidates, self._columns, other.settings, BANK, rng)
            for new, old in zip(other.banks, self.banks, strict=True):
                new.weights.copy_(old.weights)
        return other

    def anew(
        self,
        candidates: Candidates,
        rows: Sequence[tuple[Regime, NDArray[np.int64]]],
        seed: int,
        training: Training | None = None,
    ) -> TorchConditionals:
        """Return new networks over other candidates, trained on these rows only, where they leave a variable free."""
        from enco.conditionals.torch.banks import build_banks

        other = copy(self)
        if training is not None:
            other.settings = replace(self.settings, **training._asdict())
        rng = np.random.default_rng([seed, 1])
        splits = [(regime, those, *split_rows(len(those), self.settings.held_out, rng)) for regime, those in rows]
        other.candidates = candidates
        other._train = self._columns.join([], [(regime, those[train]) for regime, those, train, _ in splits])
        other._held = self._columns.join([], [(regime, those[held]) for regime, those, _, held in splits])
        with one_thread_each():
            other.banks = build_banks(candidates, self._columns, self.settings, BANK, rng)
        return other

    def edge_effects(
        self, regime: Regime, rows: NDArray[np.int64], edge_probability: Floats, wanted: NDArray[np.bool_]
    ) -> Floats:
        """Paired edge effects on rows of a regime, float64 [P]; NaN where not wanted or the effect is a target."""
        from enco.conditionals.torch.effects import paired_effects

        effect = np.full(self.candidates.n_pairs, np.nan)
        block = self._columns.read(regime, rows)
        probability = self._padded(np.clip(edge_probability, 0.0, 1.0).astype(np.float32))
        asked = self._padded(wanted)
        free = regime.free(np.arange(self.candidates.n_variables))

        def run(bank: Bank) -> None:
            paired_effects(bank, block, probability, asked, self._tensor(free[bank.variables]), effect)

        self._run(run)
        return effect

    def graph_losses(self, regime: Regime, rows: NDArray[np.int64], graphs: NDArray[np.bool_]) -> Floats:
        """Mean loss of each variable under G graphs shared by all rows, float64 [G, N]."""
        from enco.conditionals.torch.effects import graph_losses

        mean_loss = np.zeros((len(graphs), self.candidates.n_variables))
        block, padded = self._columns.read(regime, rows), self._padded(graphs)
        self._run(lambda bank: graph_losses(bank, block, padded, mean_loss))
        return mean_loss

    def row_losses(
        self,
        regime: Regime,
        rows: NDArray[np.int64],
        effect: int,
        family: NDArray[np.bool_],
        changes: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Loss of each row given some candidate parents [k], and with each change, a place among them, in or out.

        Returns
        -------
        float32 [1 + changes, rows]
        """
        from enco.conditionals.torch.effects import row_losses

        graphs = np.zeros((1 + len(changes), self.candidates.n_pairs), bool)
        into = graphs[:, self.candidates.pairs_into(effect)]
        into[:] = family
        into[1 + np.arange(len(changes)), changes] ^= True
        bank = next(bank for bank in self.banks if effect in bank.variables)
        place = int(np.flatnonzero(bank.variables == effect)[0])
        with one_thread_each():
            loss: NDArray[np.float32] = row_losses(bank, place, self._columns.read(regime, rows), self._padded(graphs))
        return loss

    def expert_losses(
        self, effect: int, family: NDArray[np.bool_], regime: Regime, rows: NDArray[np.int64], steps: int
    ) -> NDArray[np.float32]:
        """Loss of each row by a network that is trained further for exactly these parents [k], [rows]."""
        expert = self.extended([], self.settings.learning_rate, self.settings.patience)
        certain = np.zeros(self.candidates.n_pairs)
        certain[self.candidates.pairs_into(effect)] = family
        expert.fit(certain, steps, np.array([effect]))
        losses: NDArray[np.float32] = expert.row_losses(regime, rows, effect, family, np.zeros(0, np.int64))[0]
        return losses

    def residuals(self, regime: Regime, rows: NDArray[np.int64], graph: NDArray[np.bool_]) -> list[Floats]:
        """Return what a graph [P] leaves unexplained of each variable, [rows, `Head.n_residuals`]."""
        from enco.conditionals.torch.effects import residuals

        result: dict[int, Floats] = {}
        block, padded = self._columns.read(regime, rows), self._padded(graph)
        width = self._columns.heads.n_residuals

        def run(bank: Bank) -> None:
            found = residuals(bank, block, padded).cpu().numpy().astype(np.float64)
            for j, residual in zip(bank.variables.tolist(), found, strict=True):
                result[j] = residual[:, : width[j]]  # a bank is padded to its largest member

        self._run(run)
        return [result[j] for j in range(self.candidates.n_variables)]

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Weights, Adam moments, step counters and random streams of every bank (copies)."""
        return {f"{k}.{name}": value for k, bank in enumerate(self.banks) for name, value in bank.state().items()}

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state`."""
        for k, bank in enumerate(self.banks):
            prefix = f"{k}."
            bank.restore({name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)})

    def load_fused(self, fused: FusedConditionals) -> None:
        """Take over the weights of the fused engine on the same data and candidates.

        Both engines then compute the same losses, and the same edge effects of the same graphs.
        """
        from enco.conditionals.torch.transfer import copy_fused_weights

        for bank in self.banks:
            copy_fused_weights(bank, fused, self._columns.heads)

    def _padded(self, values: NDArray[Any]) -> Tensor:
        """Values over pairs on the device, followed by the zero of the padding."""
        return self._tensor(np.concatenate([values, np.zeros((*values.shape[:-1], 1), values.dtype)], -1))

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        import torch

        return torch.from_numpy(values).to(self._device)

    def _run(self, task: Callable[[Bank], None], on_progress: Callable[[float], None] = lambda fraction: None) -> None:
        with one_thread_each():
            alone = self.n_jobs == 1 or len(self.banks) == 1
            finished = map(task, self.banks) if alone else self._pool.map(task, self.banks)
            for done, _ in enumerate(finished, 1):
                on_progress(done / len(self.banks))
