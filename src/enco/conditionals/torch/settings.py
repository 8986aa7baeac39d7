"""How the networks of the PyTorch engine look and train."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias, get_args

from enco.errors import SettingsError
from enco.settings import DensityName

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
    held_out: float = 0.1  # share of observational rows that decides when to stop
    check_every: int = 50  # steps between looks at the held-out rows
    patience: int = 4  # looks without improvement before a variable stops
    density: DensityName = "gaussian"  # of continuous variables given their parents
    device: str = "cpu"  # as torch.device reads it: "cpu", "cuda", "cuda:1"
    network: NetworkFactory | None = None  # a user's own module instead of the built-in network

    def __post_init__(self) -> None:
        for name in ("hidden", "layers", "batch", "check_every", "patience"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingsError(f"setting {name} must be a whole number, 1 or larger, got {value!r}")
        for name in ("learning_rate", "weight_decay", "held_out"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise SettingsError(f"setting {name} must be a number, got {value!r}")
            if value < 0 or (value == 0 and name != "weight_decay"):
                least = "at least 0" if name == "weight_decay" else "positive"
                raise SettingsError(f"setting {name} must be {least}, got {value!r}")
        if self.held_out >= 0.5:
            raise SettingsError(f"setting held_out must be below 0.5, got {self.held_out!r}")
        if self.density not in get_args(DensityName):
            names = ", ".join(get_args(DensityName))
            raise SettingsError(f"setting density must be one of {names}, got {self.density!r}")
        if self.network is not None and not callable(self.network):
            raise SettingsError(
                "setting network must be a function of (n_inputs, n_outputs) that returns an nn.Module, "
                f"got {self.network!r}"
            )
