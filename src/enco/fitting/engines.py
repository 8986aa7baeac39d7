"""Which engine models the conditionals of a fit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from enco.candidates import Candidates
from enco.conditionals.base import ConditionalModel
from enco.conditionals.fused import FusedConditionals, NetworkSettings
from enco.conditionals.torch import NetworkFactory, TorchConditionals, TorchSettings
from enco.data import InterventionalData
from enco.errors import SettingsError
from enco.settings import Settings

__all__ = ["make_model"]


def make_model(
    data: InterventionalData,
    candidates: Candidates,
    *,
    column: NDArray[np.int64],
    settings: Settings,
    network: NetworkFactory | None,
    seed: int,
    n_jobs: int,
) -> ConditionalModel:
    """Build the conditional model: the fused engine wherever it can do what is asked, else PyTorch.

    Parameters
    ----------
    data : InterventionalData
    candidates : Candidates
    column : int64 [N]
        Column of `data` that holds each variable of `candidates`.
    settings : Settings
    network : callable, optional
        A user's own network, see `enco.conditionals.torch.NetworkFactory`.
    seed, n_jobs : int
    """
    needs = _needs_torch(data, settings, network)
    if settings.engine == "fused" and needs:
        raise SettingsError(f'engine "fused" cannot do {needs[0]}: use engine "torch" or "auto"')
    shared: dict[str, Any] = {
        name: getattr(settings, name)
        for name in (
            "hidden",
            "batch",
            "learning_rate",
            "weight_decay",
            "held_out",
            "check_every",
            "patience",
            "averaged",
            "centred",
        )
    }
    if settings.engine == "torch" or needs:
        own: dict[str, Any] = {name: getattr(settings, name) for name in ("layers", "density", "device")}
        torch_settings = TorchSettings(**shared, **own, network=network)
        return TorchConditionals(data, candidates, settings=torch_settings, seed=seed, n_jobs=n_jobs, column=column)
    return FusedConditionals(
        data, candidates, settings=NetworkSettings(**shared), seed=seed, n_jobs=n_jobs, column=column
    )


def _needs_torch(data: InterventionalData, settings: Settings, network: NetworkFactory | None) -> list[str]:
    """List what is asked for that only PyTorch can do; a density matters only if some variable is continuous."""
    needs = {
        f"density {settings.density!r}": settings.density != "gaussian" and bool((data.n_levels == 0).any()),
        f"{settings.layers} layers": settings.layers > 1,
        f"device {settings.device!r}": settings.device != "cpu",
        "a network of your own": network is not None,
    }
    return [what for what, needed in needs.items() if needed]
