"""Published errors on simulated continuous graphs: SHD, mean ± standard deviation where it is given."""

from dataclasses import dataclass

from enco.bench.continuous import CONTINUOUS_MECHANISMS, ContinuousProblem, MixedProblem
from enco.bench.paper import Row

__all__ = ["Published", "published"]


@dataclass(frozen=True)
class Published:
    """What others report for one size of graphs and samples.

    Attributes
    ----------
    source : str
        A sentence for the reader of the table.
    shd : dict
        By method; every row maps a mechanism to ``mean ± deviation``.
    """

    source: str
    shd: dict[str, Row]


def published(problem: ContinuousProblem) -> Published | None:
    """Find what is published for problems like this one; None if there is nothing.

    Examples
    --------
    >>> found = published(ContinuousProblem(mechanism="additive", seed=1))
    >>> found.shd["ENCO-G"]["additive"], found.shd["DCDI-G"]["additive"]
    ('0.2 ± 0.4', '5.2 ± 7.5')
    """
    if isinstance(problem, MixedProblem) or problem.interventions != problem.variables:
        return None
    if problem.variables == 20 and problem.edges_per_variable == 4:
        return _DENSE
    paper = problem.variables == 10 and problem.edges_per_variable == 1 and problem.rows == problem.interventional_rows
    return _PAPER.get(problem.rows) if paper else None


def _row(numbers: str) -> Row:
    return dict(zip(CONTINUOUS_MECHANISMS, (entry.replace("±", " ± ") for entry in numbers.split()), strict=True))


# Columns: linear, additive, nonadditive. By rows of each regime.
_PAPER = {
    909: Published(
        "Others: the paper's Appendix D.6, on the data sets of Brouillard et al. (2020); ours are simulated alike.",
        {
            "ENCO-G": _row("0.0±0.0 0.2±0.4 0.1±0.3"),
            "ENCO-DSF": _row("0.3±0.7 1.4±1.4 1.2±1.5"),
            "GIES": _row("0.6±1.3 9.1±5.3 4.4±6.1"),
            "IGSP (best)": _row("1.9±1.8 5.3±3.0 4.1±2.8"),
            "DCDI-G": _row("1.3±1.9 5.2±7.5 2.3±3.6"),
            "DCDI-DSF": _row("0.9±1.3 4.2±5.6 7.0±10.7"),
            "GES + orienting": _row("2.5±4.3 12.5±9.2 7.9±7.4"),
        },
    ),
    500: Published(
        "Others: the paper's Appendix D.7, on 500 rows of each regime of the same data sets; ours are simulated alike.",
        {
            "ENCO-G": _row("0.1±0.3 0.5±0.7 0.0±0.0"),
            "GES + orienting": _row("3.2±4.3 12.0±9.2 9.2±7.5"),
        },
    ),
    100: Published(
        "Others: the paper's Appendix D.7, on 100 rows of each regime of the same data sets; ours are simulated alike.",
        {
            "ENCO-G": _row("0.2±0.4 0.9±1.1 1.3±0.8"),
            "GES + orienting": _row("6.1±5.3 10.2±6.7 9.0±6.5"),
        },
    ),
}

_DENSE = Published(
    "Others: as published for 20 variables with four edges each, on data sets whose rows and interventions may differ "
    "from ours. The ENCO paper has no such experiment.",
    {
        "DCDI-DSF": _row("16.6 26.7 11.8"),
        "SDCD": _row("18.8 18.0 14.9"),
    },
)
