"""Every setting of a fit, in one place, with the paper's symbol and value where it has one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from numbers import Integral, Real
from typing import Any, Literal, get_args

from enco.errors import SettingsError
from enco.system.units import in_short

__all__ = [
    "ADDED_ESTIMATORS",
    "LARGEST",
    "PAPER",
    "CandidateRule",
    "DensityName",
    "EngineName",
    "EstimatorName",
    "InterventionRule",
    "PresetName",
    "Settings",
    "check_setting",
]

EstimatorName = Literal["paired", "independent", "reinforce"]
EngineName = Literal["auto", "fused", "torch"]
DensityName = Literal["gaussian", "dsf", "spline"]
CandidateRule = Literal["auto", "all", "screen"]
PresetName = Literal["enco", "paper"]
InterventionRule = Literal["auto", "perfect", "soft"]

ADDED_ESTIMATORS: list[str] = []
"""Names besides those of `EstimatorName`; `enco.gradients.register` puts them here."""

LARGEST = 2**31 - 1
"""Of any number: no sensible one is larger, and kernels and array shapes overflow not far beyond."""

PAPER: dict[str, tuple[Any, str]] = {
    "sparsity": (0.004, "lambda_sparse, Appendix C.1"),
    "max_epochs": (30, "Appendix C.1"),
    "settled_epochs": (30, "all epochs run, Algorithm 1"),
    "first_fit_steps": (1000, "F, Appendix C.1"),
    "fit_steps": (1000, "F, Appendix C.1"),
    "graph_steps": (100, "G, Appendix C.1"),
    "graph_batch": (128, "Appendix C.1"),
    "gamma_rate": (2e-2, "Appendix C.1"),
    "gamma_coasts": (True, "plain Adam, Appendices A.3 and C.1"),
    "theta_rate": (1e-1, "Appendix C.1"),
    "distant_theta_factor": (0.1, "Appendix C.4"),
    "estimator": ("independent", "Section 3.3, Appendix A.1"),
    "graph_samples": (100, "K, Appendix C.1"),
    "candidates": ("all", "Section 3.2"),
    "interventions": ("perfect", "Section 2"),
    "rest_rate": (1.0, "no pair rests"),
    "orientation_epochs": (0, "theta and gamma move together, Algorithm 1"),
    "orientation_passes": (0, "Algorithm 1"),
    "second_look_epoch": (0, "none"),
    "order_evidence": (False, "orientation probabilities alone, Appendix C.1"),
    "refine_rounds": (0, "none"),
    "confounder_threshold": (0.4, "tau, Appendix C.3"),
    "hidden": (64, "Appendix C.1"),
    "batch": (128, "Appendix C.1"),
    "learning_rate": (5e-3, "Appendix C.1"),
    "held_out": (0.0, "F steps on all rows, Algorithm 1"),
    "weight_decay": (1e-4, "Appendix C.1; `Settings.paper` multiplies it by the number of variables"),
    "averaged": (1, "the weights of the last step, Algorithm 1"),
    "centred": (False, "an absent parent is zero, Eq. 1"),
}
"""What the preset "paper" sets, and where the paper says so."""

_PAPER_PARTIAL = {  # where some variables are never intervened on, Appendix C.4
    "sparsity": 0.002,
    "weight_decay": 4e-5,
}
_PAPER_LARGE: dict[int, dict[str, Any]] = {  # from this number of variables on, Appendix C.2
    100: {"sparsity": 0.01, "first_fit_steps": 2000, "fit_steps": 2000, "freezing_steps": 1000},
    400: {"first_fit_steps": 4000, "fit_steps": 4000, "freezing_steps": 2000},
    1000: {"batch": 64},
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a fit; `Settings.paper` has those of the paper.

    Examples
    --------
    >>> Settings(sparsity=0.01).sparsity
    0.01
    >>> Settings(sparsity=-1)
    Traceback (most recent call last):
    ...
    enco.errors.SettingsError: setting sparsity must be at least 0, got -1
    """

    preset: PresetName = "enco"  # which other settings began with; "paper" has no additions, see `Settings.paper`

    # The objective
    sparsity: float = 0.004  # lambda_sparse: an edge must lower the loss of its effect by more than this (nats)

    # Algorithm 1
    max_epochs: int = 12  # a fit stops earlier once its graph has settled
    first_fit_steps: int = 600  # F in the first epoch
    fit_steps: int = 150  # F afterwards, when the networks only follow a changing graph distribution
    graph_steps: int = 50  # G; half the paper's, at twice its rate of gamma: paired effects are less noisy
    graph_batch: int = 128  # rows per graph step
    gamma_rate: float = 0.04  # Adam, betas (0.9, 0.9)
    gamma_coasts: bool = False  # in a step without a gradient, gamma goes on by its momentum, as in a plain Adam
    theta_rate: float = 0.1  # Adam, betas (0.9, 0.999)
    distant_theta_factor: float = 0.1  # times theta_rate for pairs never next to an intervention (Appendix C.4)
    estimator: EstimatorName = "paired"  # or one that `enco.gradients.register` knows
    graph_samples: int = 100  # K, for the estimators that score whole graphs
    candidates: CandidateRule = "auto"  # pairs to consider; "auto" is "all", and "screen" for many variables
    interventions: InterventionRule = (
        "auto"  # what is claimed: "auto" tests it, "perfect" and "soft" believe every label
    )
    off_target: bool = False  # take variables that a regime seems to have hit for further targets of it
    regime_shift: bool = False  # give every regime an intercept of its own for each continuous variable
    rest_rate: float = 0.2  # share of the graph steps that look at settled pairs, in problems of many pairs

    # Orientations first, then existence (the order of the convergence proof; gamma-freezing, Appendix C.2)
    orientation_epochs: int = 2  # epochs that move theta only
    first_orientation_passes: int = 10  # passes over all regimes in each of them
    orientation_passes: int = 2  # theta-only passes before the G steps of a later epoch
    orientation_batch: int = 256  # rows of each regime in such a pass
    freezing_steps: int = 0  # theta-only steps instead of the G steps of every second epoch, gamma frozen
    freezing_graphs: int = 2  # graphs in each of them, each scored with and without the edge

    # A second look at rejected edges (not in the paper): their networks had few co-parents when they were rejected
    second_look_epoch: int = 5  # after this many epochs; 0 for never
    second_look_gamma: float = 2.0  # gamma of a rejected, possible edge then

    # The order step
    order_evidence: bool = True  # cut cycles by what the data next to their edges say; else by theta alone (the paper)

    # The search for a better graph (not in the paper; see `enco.search.stage`)
    refine_rounds: int = 3  # at most, each with networks trained for the graph found so far; 0 for no search
    refine_steps: int = 5000  # training steps of these networks, at most
    refine_rate: float = 1e-2  # their learning rate
    refine_patience: int = 2  # their `patience`
    edge_evidence: float = 3.0  # log Bayes factor an edge needs over all rows, besides `sparsity` per row

    # Latent confounders (Section 3.5)
    latent: bool = False  # split gamma by where its evidence comes from, and look for confounded pairs
    confounder_threshold: float = 0.4  # tau: pairs whose score lc is larger are confounded and carry no edge

    # When to stop
    settled_epochs: int = 2  # epochs in a row ...
    settled_share: float = 0.99  # ... in which this share of the edges stayed, and this share of all pairs ...
    settled_margin: float = 0.1  # ... has an edge probability within this of 0 or 1

    # The conditional networks
    engine: EngineName = "auto"  # "auto" takes the fused engine wherever it can, else PyTorch (enco[torch])
    density: DensityName = "gaussian"  # of continuous variables given their parents; flows need PyTorch
    layers: int = 1  # hidden layers; more than one need PyTorch
    device: str = "cpu"  # of PyTorch: "cpu", "cuda", "cuda:1"
    hidden: int = 64
    batch: int = 128
    learning_rate: float = 5e-3
    weight_decay: float = 1e-3
    averaged: int = 50  # steps over which weights are averaged, about (not in the paper); 1 for the last ones
    centred: bool = True  # an absent categorical parent stands for an average one (not in the paper)
    held_out: float = 0.1  # share of the observational rows that decides when a network stops; 0: all steps on all rows
    check_every: int = 50  # training steps between two looks at the held-out rows
    patience: int = 4  # looks without improvement before a network stops

    def __post_init__(self) -> None:
        for setting in fields(self):
            check_setting(setting.name, setting.type, getattr(self, setting.name))
        if self.preset == "paper" and self.candidates == "screen":
            raise SettingsError(
                "the preset paper considers all pairs, and candidates is 'screen': leave one of the two out"
            )

    @classmethod
    def paper(cls, n_variables: int = 25, *, partial: bool = False, **changes: Any) -> "Settings":
        """Return the settings of the paper: Algorithm 1 and its order step, without additions.

        The paper does not say whether its networks descend the sum of the losses of all variables or their mean. To
        Adam only the weight decay tells the two apart, and it must be that of the mean: in each network it then weighs
        as much as N times the published number. With the number itself, networks of dense graphs overfit.

        Parameters
        ----------
        n_variables : int
            The paper trains longer, and freezes gamma in every second stage, from 100 variables on.
        partial : bool
            Whether some variables are never intervened on: the paper then has a smaller `sparsity` and weight decay.
        **changes
            Settings that differ from the paper's.

        Examples
        --------
        >>> Settings.paper().estimator, Settings.paper(partial=True).sparsity, Settings.paper(400).freezing_steps
        ('independent', 0.002, 2000)
        >>> Settings.paper(max_epochs=10).changes(25)
        {'max_epochs': 10}
        """
        chosen: dict[str, Any] = {name: value for name, (value, _) in PAPER.items()}
        for least, values in _PAPER_LARGE.items():
            if n_variables >= least:
                chosen.update(values)
        if partial:
            chosen.update(_PAPER_PARTIAL)
        chosen["weight_decay"] *= n_variables
        return cls(**(chosen | {"preset": "paper"} | changes))

    @classmethod
    def of_preset(
        cls, n_variables: int = 25, *, partial: bool = False, preset: str = "enco", **changes: Any
    ) -> "Settings":
        """Return the settings of a preset, "enco" (the default settings) or "paper", with some changes.

        Examples
        --------
        >>> Settings.of_preset(preset="paper", hidden=32) == Settings.paper(hidden=32)
        True
        >>> Settings.of_preset(preset="papre")
        Traceback (most recent call last):
        ...
        enco.errors.SettingsError: there is no preset 'papre'; choose from enco, paper
        """
        if preset not in get_args(PresetName):
            raise SettingsError(f"there is no preset {preset!r}; choose from {', '.join(get_args(PresetName))}")
        return cls.paper(n_variables, partial=partial, **changes) if preset == "paper" else cls(**changes)

    def changes(self, n_variables: int, *, partial: bool = False) -> dict[str, Any]:
        """Return the settings that differ from those of the preset, for data of this size.

        Examples
        --------
        >>> Settings(sparsity=0.01).changes(25)
        {'sparsity': 0.01}
        """
        preset = Settings.paper(n_variables, partial=partial) if self.preset == "paper" else Settings()
        mine, theirs = asdict(self), asdict(preset)
        return {name: value for name, value in mine.items() if value != theirs[name]}

    @classmethod
    def parse(cls, **texts: str) -> "Settings":
        """Build from texts, as the command line gives them.

        Examples
        --------
        >>> Settings.parse(sparsity="0.01", graph_steps="50").graph_steps
        50
        >>> Settings.parse(preset="paper").graph_steps
        100
        """
        return cls.of_preset(**cls.values_of(texts))

    @classmethod
    def values_of(cls, texts: Mapping[str, str]) -> dict[str, Any]:
        """Read texts, as the command line gives them, as the values of settings.

        Examples
        --------
        >>> Settings.values_of({"sparsity": "0.01"})
        {'sparsity': 0.01}
        """
        types: dict[str, Any] = {setting.name: setting.type for setting in fields(cls)}
        values: dict[str, Any] = {}
        for name, text in texts.items():
            if name not in types:
                raise SettingsError(f"there is no setting {name!r}; choose from {', '.join(sorted(types))}")
            try:
                values[name] = _parsed(types[name], text)
            except ValueError:
                raise SettingsError(f"setting {name} must be {_words(types[name])}, got {in_short(text)}") from None
        return values


_AT_LEAST_ZERO = {
    "sparsity",
    "first_fit_steps",
    "fit_steps",
    "orientation_epochs",
    "first_orientation_passes",
    "orientation_passes",
    "freezing_steps",
    "held_out",
    "second_look_epoch",
    "second_look_gamma",
    "refine_rounds",
    "refine_steps",
    "edge_evidence",
    "weight_decay",
    "distant_theta_factor",
}
_BELOW = {"held_out": 0.5, "settled_margin": 0.5, "confounder_threshold": 1.0}


def check_setting(name: str, kind: Any, value: Any) -> None:
    """Raise a `SettingsError` unless the value is of the kind, and in the range, that a setting of this name has."""
    number: Any = value  # Real and Integral promise no comparison to the type checker
    if not isinstance(kind, type):
        choices = [*get_args(kind), *(ADDED_ESTIMATORS if name == "estimator" else [])]
        if value not in choices:
            raise SettingsError(f"setting {name} must be one of {', '.join(choices)}, got {value!r}")
        return
    if kind is str:
        if not isinstance(value, str) or not value:
            raise SettingsError(f"setting {name} must be text, got {value!r}")
        return
    if kind is bool:
        if not isinstance(value, bool):
            raise SettingsError(f"setting {name} must be {_words(kind)}, got {value!r}")
        return
    accepted = Real if kind is float else Integral
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise SettingsError(f"setting {name} must be {_words(kind)}, got {value!r}")
    if number > LARGEST or number < -LARGEST:
        raise SettingsError(f"setting {name} must be at most {LARGEST:,}, got {in_short(value)}")
    if not isfinite(value):
        raise SettingsError(f"setting {name} must be {_words(kind)}, got {value!r}")
    if name in _AT_LEAST_ZERO and number < 0:
        raise SettingsError(f"setting {name} must be at least 0, got {value!r}")
    if name not in _AT_LEAST_ZERO and number <= 0:
        raise SettingsError(f"setting {name} must be positive, got {value!r}")
    if number >= _BELOW.get(name, float("inf")):
        raise SettingsError(f"setting {name} must be below {_BELOW[name]}, got {value!r}")
    if name in {"rest_rate", "settled_share"} and number > 1:
        raise SettingsError(f"setting {name} must be at most 1, got {value!r}")


def _parsed(kind: Any, text: str) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    return kind(text) if isinstance(kind, type) else text


def _words(kind: Any) -> str:
    return {int: "a whole number", bool: "true or false"}.get(kind, "a number")
