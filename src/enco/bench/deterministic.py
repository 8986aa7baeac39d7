"""Unfaithful problems: functions in place of distributions, cancelling paths, exclusive or (Appendix B, D.4)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from enco.bench.problem import Simulation
from enco.errors import SettingsError
from enco.settings import Settings
from enco.simulate import SCM, examples

__all__ = ["DETERMINISTIC", "PAPER_DETERMINISTIC", "DeterministicProblem", "unfaithful_problems"]

XOR_NOISE = (0.1, 0.2, 0.3, 0.4, 0.45)
# The paper's for random functions and exclusive or. X2 -> X3 of the fully connected example is worth 0.0016 nats.
SPARSITY = {"random functions": 0.02, "fully connected": 1e-4, **{f"noisy xor {noise:g}": 1e-4 for noise in XOR_NOISE}}

DETERMINISTIC: dict[str, Callable[[int], SCM]] = {
    "random functions": lambda seed: examples.deterministic_random(25, seed),
    "cancelling paths": examples.cancelling_paths,
    "chain of copies": lambda seed: examples.deterministic_chain(),
    "fully connected": lambda seed: examples.fully_connected(),
    **{f"noisy xor {noise:g}": lambda seed, noise=noise: examples.noisy_xor(noise) for noise in XOR_NOISE},  # type: ignore[misc]
}
"""Models by name; those that have anything random take it from the seed."""

PAPER_DETERMINISTIC = {"random functions": "1.4 ± 1.3"} | {
    name: "0" for name in DETERMINISTIC if name.startswith("noisy xor")
}
"""SHD that the paper reports."""


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

    def adapted(self, settings: Settings) -> Settings:
        """Return the settings with the sparsity of this model, where it is not the usual one."""
        return replace(settings, sparsity=SPARSITY.get(self.example, settings.sparsity))

    def tiny(self) -> "DeterministicProblem":
        """Return a problem of the same kind that is learned in no time."""
        return DeterministicProblem(example="chain of copies", seed=0, rows=200, interventional_rows=20)


def unfaithful_problems(graphs: int, first_seed: int) -> list[DeterministicProblem]:
    """List every model: as many random ones as asked for, with the paper's sample sizes, and the others once.

    Examples
    --------
    >>> [problem.seed for problem in unfaithful_problems(2, 7)][:3]
    [7, 8, 7]
    """
    size = {"variables": 25, "rows": 5000, "interventional_rows": 200, "interventions": 25}
    seeds = range(first_seed, first_seed + graphs)
    random = [DeterministicProblem(example="random functions", seed=seed, **size) for seed in seeds]
    others = [name for name in DETERMINISTIC if name != "random functions"]
    return random + [DeterministicProblem(example=name, seed=first_seed) for name in others]
