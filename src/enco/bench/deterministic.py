"""Unfaithful problems: functions in place of distributions, cancelling paths, exclusive or (Appendix B, D.4)."""

from collections.abc import Callable
from dataclasses import dataclass

from enco.bench.problem import Simulation
from enco.errors import SettingsError
from enco.simulate import SCM, examples

__all__ = ["DETERMINISTIC", "DeterministicProblem"]

XOR_NOISE = (0.1, 0.2, 0.3, 0.4, 0.45)

DETERMINISTIC: dict[str, Callable[[int], SCM]] = {
    "random functions": lambda seed: examples.deterministic_random(25, seed),
    "cancelling paths": examples.cancelling_paths,
    "chain of copies": lambda seed: examples.deterministic_chain(),
    "fully connected": lambda seed: examples.fully_connected(),
    **{f"noisy xor {noise:g}": lambda seed, noise=noise: examples.noisy_xor(noise) for noise in XOR_NOISE},  # type: ignore[misc]
}
"""Models by name; those that have anything random take it from the seed."""


@dataclass(frozen=True, kw_only=True)
class DeterministicProblem(Simulation):
    """Data of one of the models of `DETERMINISTIC`.

    Attributes
    ----------
    seed, variables, rows, interventional_rows, interventions : int
        See `Simulation`.
    example : str
        Name of the model.

    Examples
    --------
    >>> problem = DeterministicProblem(example="chain of copies", seed=0)
    >>> problem.draw()[1].sum()
    np.int64(2)
    """

    example: str
    variables: int = 3
    rows: int = 100_000
    interventional_rows: int = 10_000
    interventions: int = 3

    def __post_init__(self) -> None:
        if self.example not in DETERMINISTIC:
            raise SettingsError(f"unknown example {self.example!r}; choose from {', '.join(DETERMINISTIC)}")
        super().__post_init__()

    def model(self) -> SCM:
        """Build the model behind the data."""
        return DETERMINISTIC[self.example](self.seed)

    @property
    def label(self) -> str:
        """The model."""
        return self.example

    @property
    def title(self) -> str:
        """What the problems have in common."""
        return "Deterministic variables and unfaithful graphs"

    def tiny(self) -> "DeterministicProblem":
        """Return a problem of the same kind that is learned in no time."""
        return DeterministicProblem(example="chain of copies", seed=0, rows=200, interventional_rows=20)
