"""How the networks of the PyTorch engine look and train."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from enco.errors import SettingsError
from enco.settings import DensityName, check_setting

__all__ = ["DensityName", "NetworkFactory", "TorchSettings"]

NetworkFactory: TypeAlias = Callable[[int, int], Any]
"""Called with (n_inputs, n_outputs), returns an `nn.Module` from [R, n_inputs] to [R, n_outputs]."""


@dataclass(frozen=True, kw_only=True)
class TorchSettings:
    """Settings of `TorchConditionals`.

    Examples
    --------
    >>> TorchSettings(density="dsf").density
    'dsf'
    >>> TorchSettings(density="cauchy")
    Traceback (most recent call last):
    ...
    enco.errors.SettingsError: setting density must be one of gaussian, dsf, spline, got 'cauchy'
    """

    hidden: int = 64  # units of each hidden layer
    layers: int = 1  # hidden layers
    batch: int = 128  # rows per step
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    held_out: float = 0.1  # share of observational rows that decides when to stop; 0: all steps on all rows
    check_every: int = 50  # steps between looks at the held-out rows
    patience: int = 4  # looks without improvement before a variable stops
    averaged: int = 1  # steps over which weights are averaged
    centred: bool = True  # whether an absent categorical parent stands for an average one
    density: DensityName = "gaussian"  # of continuous variables given their parents
    device: str = "cpu"  # as torch.device reads it: "cpu", "cuda", "cuda:1"
    network: NetworkFactory | None = None  # a user's own module instead of the built-in network

    def __post_init__(self) -> None:
        for setting in fields(self):
            if setting.name not in ("device", "network"):  # the device is checked where it is looked for
                check_setting(setting.name, setting.type, getattr(self, setting.name))
        if self.network is not None and not callable(self.network):
            raise SettingsError(
                "setting network must be a function of (n_inputs, n_outputs) that returns an nn.Module, "
                f"got {self.network!r}"
            )
