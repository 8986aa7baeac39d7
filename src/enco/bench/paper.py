"""The paper's numbers for simulated categorical graphs: mean ± standard deviation over 25 graphs each."""

from dataclasses import dataclass

from enco.bench.problem import Problem

__all__ = ["PAPER_STRUCTURES", "PaperTable", "paper_table"]

PAPER_STRUCTURES = ("bidiag", "chain", "collider", "full", "jungle", "random")
Row = dict[str, str]


@dataclass(frozen=True)
class PaperTable:
    """What the paper reports for one setting; every row maps a structure to ``mean ± deviation``.

    Attributes
    ----------
    name : str
    enco : dict
        SHD of the predicted graph.
    acyclic : dict
        SHD after the paper's acyclicity step ("ENCO-acyclic"); empty where it reports none.
    sid : dict
        Structural intervention distance after that step; empty where it reports none.
    """

    name: str
    enco: Row
    acyclic: Row
    sid: Row


def paper_table(problem: Problem) -> PaperTable | None:
    """Find what the paper reports for problems like this one; None if it has no such experiment.

    Examples
    --------
    >>> table = paper_table(Problem(structure="random", seed=1))
    >>> table.enco["random"], table.acyclic["random"]
    ('4.6 ± 1.9', '0.2 ± 0.5')
    """
    if (problem.variables, problem.categories) != (25, 10):
        return None
    return _TABLES.get((problem.mechanism, problem.rows, problem.interventional_rows, problem.interventions))


def _row(numbers: str) -> Row:
    entries = [entry.replace("±", " ± ") for entry in numbers.split()]
    return dict(zip(PAPER_STRUCTURES, entries, strict=True)) if entries else {}


def _table(name: str, enco: str, acyclic: str = "", sid: str = "") -> PaperTable:
    return PaperTable(name, _row(enco), _row(acyclic), _row(sid))


# Columns: bidiag, chain, collider, full, jungle, random.
_TABLES = {
    ("neural", 5000, 200, 25): _table(
        "Table 1",
        "2.2±1.4 1.7±1.3 1.6±1.6 9.2±3.4 1.7±1.3 4.6±1.9",
        "0.0±0.0 0.0±0.0 1.6±1.6 5.3±2.3 0.6±1.1 0.2±0.5",
        "0.0±0.0 0.0±0.0 7.4±13.3 17.7±8.9 4.6±8.1 5.3±11.8",
    ),
    ("neural", 100_000, 10_000, 25): _table(
        "large sample sizes",
        "0.0±0.0 0.0±0.0 0.0±0.0 0.3±0.9 0.0±0.0 0.0±0.0",
    ),
    ("neural", 1000, 20, 25): _table(
        "very small sample sizes",
        "9.7±3.6 5.6±1.7 22.7±2.1 132.6±8.0 8.1±2.3 18.4±4.8",
        "2.0±2.3 2.7±2.1 22.9±2.3 88.4±6.6 4.1±2.0 5.3±2.5",
    ),
    ("product", 5000, 200, 25): _table(
        "a different data simulator",
        "0.5±0.6 0.4±0.6 0.9±0.8 1.0±1.2 1.2±1.2 1.9±1.8",
        "0.0±0.0 0.0±0.0 0.8±0.8 0.2±0.4 0.3±0.6 0.1±0.3",
    ),
    ("neural", 5000, 200, 4): _table(
        "interventions on 4 variables",
        "29.8±5.6 19.9±3.2 13.9±6.6 110.6±8.6 30.8±6.1 28.5±4.3",
        "20.4±7.5 10.6±4.9 13.9±6.7 110.6±8.6 19.8±6.0 9.0±3.9",
    ),
    ("neural", 5000, 200, 6): _table(
        "interventions on 6 variables",
        "25.0±3.0 16.4±2.8 10.1±6.1 97.5±8.5 23.6±5.1 23.4±3.1",
        "15.8±5.9 7.8±4.4 10.1±6.1 97.5±8.5 15.6±3.7 6.0±3.2",
    ),
    ("neural", 5000, 200, 8): _table(
        "interventions on 8 variables",
        "20.8±3.8 13.2±2.4 7.0±6.3 86.3±8.9 19.4±5.0 20.8±3.5",
        "11.2±5.4 5.4±3.7 7.0±6.3 86.3±8.9 12.6±4.6 5.0±3.5",
    ),
    ("neural", 5000, 200, 10): _table(
        "interventions on 10 variables",
        "17.7±4.7 10.3±1.6 5.6±4.9 77.3±8.5 15.6±3.8 18.7±2.9",
        "8.5±5.8 4.4±3.4 5.6±4.9 77.3±8.5 9.8±3.9 3.2±2.2",
    ),
    ("neural", 5000, 200, 15): _table(
        "interventions on 15 variables",
        "10.7±2.3 6.9±1.5 3.8±2.5 52.8±9.1 9.3±2.3 13.6±2.8",
        "2.5±3.7 3.4±2.8 3.8±2.5 52.8±9.1 5.1±2.7 2.1±1.7",
    ),
    ("neural", 5000, 200, 20): _table(
        "interventions on 20 variables",
        "5.0±2.2 3.0±1.5 3.4±1.9 32.4±4.2 3.5±1.1 8.8±3.1",
        "0.3±0.7 0.7±1.2 3.4±1.9 32.4±4.2 1.7±1.5 1.2±1.2",
    ),
}
