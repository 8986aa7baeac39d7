"""Every setting of a fit, in one place, with the paper's symbol and value where it has one."""

from dataclasses import dataclass, fields
from math import isfinite
from numbers import Integral, Real
from typing import Any, Literal, get_args

from enco.errors import SettingsError

__all__ = ["EstimatorName", "Settings"]

EstimatorName = Literal["paired", "independent", "reinforce"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a fit; the defaults reproduce the paper's tables.

    Examples
    --------
    >>> Settings(sparsity=0.01).sparsity
    0.01
    >>> Settings(sparsity=-1)
    Traceback (most recent call last):
    ...
    enco.errors.SettingsError: setting sparsity must be at least 0, got -1
    """

    # The objective
    sparsity: float = 0.004  # lambda_sparse: an edge must lower the loss of its effect by more than this (nats)

    # Algorithm 1
    max_epochs: int = 30  # a fit stops earlier once its graph has settled
    first_fit_steps: int = 1000  # F in the first epoch
    fit_steps: int = 300  # F afterwards, when the networks only follow a changing graph distribution
    graph_steps: int = 50  # G; half the paper's, at twice its rate of gamma: paired effects are less noisy
    graph_batch: int = 128  # rows per graph step
    gamma_rate: float = 0.04  # Adam, betas (0.9, 0.9)
    theta_rate: float = 0.1  # Adam, betas (0.9, 0.999)
    distant_theta_factor: float = 0.1  # times theta_rate for pairs never next to an intervention (Appendix C.4)
    estimator: EstimatorName = "paired"
    graph_samples: int = 100  # K, for the estimators that score whole graphs

    # Orientations first, then existence (the order of the convergence proof; gamma-freezing, Appendix C.2)
    orientation_epochs: int = 2  # epochs that move theta only
    first_orientation_passes: int = 10  # passes over all regimes in each of them
    orientation_passes: int = 2  # theta-only passes before the G steps of a later epoch

    # What the networks train on (not in the paper): evidence on an edge needs networks that know both of its states
    least_orientation: float = 0.3  # parents are drawn as if sigmoid(theta) were at least this
    largest_presence: float = 0.9  # and present with at most this probability

    # A second look at rejected edges (not in the paper): their networks had few co-parents when they were rejected
    second_look_epoch: int = 5  # after this many epochs; 0 for never
    second_look_gamma: float = 2.0  # gamma of a rejected, possible edge then

    # When to stop
    settled_epochs: int = 2  # epochs without a changed decision ...
    settled_margin: float = 0.1  # ... and edge probabilities within this of 0 or 1 ...
    settled_share: float = 0.99  # ... for at least this share of the pairs

    # The conditional networks
    hidden: int = 64
    batch: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    held_out: float = 0.1  # share of the observational rows that decides when a network stops training
    check_every: int = 50  # training steps between two looks at the held-out rows
    patience: int = 4  # looks without improvement before a network stops

    def __post_init__(self) -> None:
        for setting in fields(self):
            _check(setting.name, setting.type, getattr(self, setting.name))

    @classmethod
    def parse(cls, **texts: str) -> "Settings":
        """Build from texts, as the command line gives them.

        Examples
        --------
        >>> Settings.parse(sparsity="0.01", graph_steps="50").graph_steps
        50
        """
        types: dict[str, Any] = {setting.name: setting.type for setting in fields(cls)}
        values: dict[str, Any] = {}
        for name, text in texts.items():
            if name not in types:
                raise SettingsError(f"there is no setting {name!r}; choose from {', '.join(sorted(types))}")
            try:
                values[name] = types[name](text) if isinstance(types[name], type) else text
            except ValueError:
                raise SettingsError(f"setting {name} must be {_words(types[name])}, got {text!r}") from None
        return cls(**values)


_AT_LEAST_ZERO = {
    "sparsity",
    "first_fit_steps",
    "fit_steps",
    "orientation_epochs",
    "first_orientation_passes",
    "orientation_passes",
    "least_orientation",
    "second_look_epoch",
    "second_look_gamma",
    "weight_decay",
    "distant_theta_factor",
}
_BELOW = {"held_out": 0.5, "settled_margin": 0.5, "least_orientation": 1.0}


def _check(name: str, kind: Any, value: Any) -> None:
    number: Any = value  # Real and Integral promise no comparison to the type checker
    if not isinstance(kind, type):
        if value not in get_args(kind):
            raise SettingsError(f"setting {name} must be one of {', '.join(get_args(kind))}, got {value!r}")
        return
    accepted = Real if kind is float else Integral
    if isinstance(value, bool) or not isinstance(value, accepted) or not isfinite(value):
        raise SettingsError(f"setting {name} must be {_words(kind)}, got {value!r}")
    if name in _AT_LEAST_ZERO and number < 0:
        raise SettingsError(f"setting {name} must be at least 0, got {value!r}")
    if name not in _AT_LEAST_ZERO and number <= 0:
        raise SettingsError(f"setting {name} must be positive, got {value!r}")
    if number >= _BELOW.get(name, float("inf")):
        raise SettingsError(f"setting {name} must be below {_BELOW[name]}, got {value!r}")
    if name in {"largest_presence", "settled_share"} and number > 1:
        raise SettingsError(f"setting {name} must be at most 1, got {value!r}")


def _words(kind: Any) -> str:
    return "a whole number" if kind is int else "a number"
