"""Records beside published numbers, as Markdown."""

from collections.abc import Callable, Sequence
from statistics import mean, stdev

from enco.bench.continuous import ContinuousProblem
from enco.bench.deterministic import PAPER_DETERMINISTIC, DeterministicProblem
from enco.bench.latents import PAPER_LATENTS, LatentProblem
from enco.bench.machine import code_fingerprint
from enco.bench.paper import Row, paper_table
from enco.bench.problem import Problem, Simulation
from enco.bench.published import published
from enco.bench.records import Record

__all__ = ["continuous_table", "deterministic_table", "latents_table", "markdown", "structures_table"]

NOTHING = "-"

Group = Sequence[Record]
Column = tuple[str, Callable[[str, Group], str]]  # header; cell from what the line is about and its records


def structures_table(problem: Problem, records: Sequence[Record]) -> str:
    """Summarise records, one line per structure, beside what the paper reports for the same setting.

    Parameters
    ----------
    problem : Problem
        Any of the problems; they differ in structure and seed only.
    records : sequence of dict
        From `enco.bench.jobs.run_jobs`.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> from enco.bench.jobs import Job, Store, run_jobs
    >>> from enco.settings import Settings
    >>> tiny = Problem(structure="chain", seed=1, variables=3, rows=50, interventional_rows=10, interventions=3)
    >>> print(structures_table(tiny, run_jobs([Job(tiny, Settings(max_epochs=1))], Store(), n_jobs=1)))
    3 variables of 10 categories, 50 observational rows, 10 for each of 3 interventions, neural mechanisms
    ...
    | chain | 1 | ...
    """
    paper = paper_table(problem)
    nothing: Row = {}
    enco, acyclic, sid = (paper.enco, paper.acyclic, paper.sid) if paper else (nothing, nothing, nothing)
    columns = [
        _cited("SHD, paper's ENCO", enco),
        _RAW,
        _cited("SHD, paper's ENCO-acyclic", acyclic),
        _FINAL,
        _cited("SID, paper's ENCO-acyclic", sid),
        _SID,
    ]
    source = f"Paper: {paper.name}, 25 graphs each." if paper else "The paper has no experiment with this setting."
    return _summary(problem, records, by="structure", columns=columns, notes=[source])


def continuous_table(problem: ContinuousProblem, records: Sequence[Record]) -> str:
    """Summarise records of continuous or mixed problems, one line per mechanism, beside published numbers.

    Parameters
    ----------
    problem : ContinuousProblem
        Any of the problems; they differ in mechanism and seed only.
    records : sequence of dict
        From `enco.bench.jobs.run_jobs`.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> from enco.bench.jobs import Job, Store, run_jobs
    >>> from enco.settings import Settings
    >>> tiny = ContinuousProblem(mechanism="linear", seed=1).tiny()
    >>> print(continuous_table(tiny, run_jobs([Job(tiny, Settings(max_epochs=1))], Store(), n_jobs=1)))
    4 continuous variables, 1 edge per variable on average, 200 observational rows, 20 for each of 4 interventions
    ...
    | linear | 1 | ...
    """
    found = published(problem)
    others = [_cited(f"SHD, {method}", row) for method, row in found.shd.items()] if found else []
    densities = ", ".join(sorted({record["settings"].get("density", "gaussian") for record in records}))
    source = found.source if found else "No published numbers are at hand for this setting."
    notes = [source, f"Density of our continuous variables: {densities}."]
    return _summary(problem, records, by="mechanism", columns=[*others, _RAW, _FINAL, _SID], notes=notes)


def latents_table(problem: LatentProblem, records: Sequence[Record]) -> str:
    """Summarise records of problems with latent confounders, one line per sample size, beside the paper's.

    Parameters
    ----------
    problem : LatentProblem
        Any of the problems; they differ in sample sizes and seed only.
    records : sequence of dict
        From `enco.bench.jobs.run_jobs`, of fits with ``latent``.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> from enco.bench.jobs import Job, Store, run_jobs
    >>> from enco.settings import Settings
    >>> tiny = LatentProblem(seed=1).tiny()
    >>> print(latents_table(tiny, run_jobs([Job(tiny, Settings(max_epochs=1, latent=True))], Store(), n_jobs=1)))
    4 variables of 10 categories, random graphs, 0 latent confounders, interventions on 4 variables, neural mechanisms
    ...
    | 200 + 20 | 1 | ...
    """
    comparable = (problem.variables, problem.latents, problem.structure) == (25, 5, "random")
    paper = {f"{rows:,} + {more:,}": row for (rows, more), row in PAPER_LATENTS.items()} if comparable else {}
    labelled = [{**record, "rows": f"{record['rows']:,} + {record['interventional_rows']:,}"} for record in records]

    def cited(header: str, what: str) -> Column:
        return _cited(header, {label: row[what] for label, row in paper.items()})

    columns = [
        cited("SHD, paper", "shd"),
        _FINAL,
        cited("recall %, paper", "recall"),
        _percent("recall %, ours", "confounder_recall"),
        cited("precision %, paper", "precision"),
        _percent("precision %, ours", "confounder_precision"),
        _percent("recall %, lc alone", "lc_recall"),
        _percent("precision %, lc alone", "lc_precision"),
    ]
    notes = [
        "Paper: 25 graphs each. Recall and precision of confounded pairs; lc alone: the paper's score from our gamma.",
    ]
    return _summary(problem, labelled, by="rows", columns=columns, notes=notes)


def deterministic_table(problem: DeterministicProblem, records: Sequence[Record]) -> str:
    """Summarise records of unfaithful models, one line per model.

    Parameters
    ----------
    problem : DeterministicProblem
        Any of the problems.
    records : sequence of dict
        From `enco.bench.jobs.run_jobs`.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> from enco.bench.jobs import Job, Store, run_jobs
    >>> from enco.settings import Settings
    >>> tiny = DeterministicProblem(example="chain of copies", seed=1).tiny()
    >>> print(deterministic_table(tiny, run_jobs([Job(tiny, Settings(max_epochs=1))], Store(), n_jobs=1)))
    Deterministic variables and unfaithful graphs
    ...
    | chain of copies | 1 | ...
    """
    sizes: Column = ("rows", lambda name, group: f"{group[0]['rows']:,} + {group[0]['interventional_rows']:,}")
    sparsity: Column = ("sparsity", lambda name, group: f"{group[0]['settings']['sparsity']:g}")
    columns = [sizes, sparsity, _cited("SHD, paper", PAPER_DETERMINISTIC), _RAW, _FINAL]
    notes = ["Paper: Appendix B and D.4; 10 graphs of random functions."]
    return _summary(problem, records, by="example", columns=columns, notes=notes)


def _summary(
    problem: Simulation, records: Sequence[Record], *, by: str, columns: Sequence[Column], notes: Sequence[str]
) -> str:
    columns = [("graphs", lambda name, group: str(len(group))), *columns, *_COSTS]
    rows = []
    for name in dict.fromkeys(record[by] for record in records):
        group = [record for record in records if record[by] == name]
        rows.append([name, *(cell(name, group) for _, cell in columns)])
    table = markdown([by, *(header for header, _ in columns)], rows)
    return "\n\n".join([problem.title, table, "\n".join([_READING, *notes, *_circumstances(records)])])


def _cited(header: str, row: Row) -> Column:
    return header, lambda name, group: row.get(name, NOTHING)


def _spread(group: Group, name: str, digits: int) -> str:
    values = [record[name] for record in group]
    if None in values:
        return NOTHING
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}"


def _percent(header: str, name: str) -> Column:
    return header, lambda line, group: _spread(group, name, 1)


def _average(group: Group, name: str) -> str:
    return f"{mean(record[name] for record in group):.1f}"


_RAW: Column = ("SHD, ours before ordering", lambda name, group: _spread(group, "shd_raw", 2))
_FINAL: Column = ("SHD, ours", lambda name, group: f"**{_spread(group, 'shd', 2)}**")
_SID: Column = ("SID, ours", lambda name, group: _spread(group, "sid", 1))
_COSTS: list[Column] = [
    ("missing", lambda name, group: _average(group, "missing")),
    ("extra", lambda name, group: _average(group, "extra")),
    ("epochs", lambda name, group: _average(group, "epochs")),
    ("seconds", lambda name, group: _spread(group, "seconds", 1)),
]
_READING = (
    "Mean ± sample standard deviation over graphs. A flipped edge counts once in the SHD, and as one missing and one "
    "extra edge. Before ordering: what gamma and theta say, without order step and refinement."
)


def _circumstances(records: Sequence[Record]) -> list[str]:
    threads = ", ".join(sorted({str(record["threads"]) for record in records}))
    cpus = ", ".join(sorted({f"{record['machine']['cpu']}" for record in records}))
    peaks = [record["peak_memory_mb"] for record in records if record["peak_memory_mb"] is not None]
    memory = f"; peak memory of the process {max(peaks):.0f} MB" if peaks else ""
    notes = [f"Seconds of a whole fit, kernels compiled, threads: {threads}, processor: {cpus}{memory}."]
    unlike = sum(record["code"] != code_fingerprint() for record in records)
    if unlike:
        notes.append(
            f"{unlike} of {len(records)} records were made by other code than the present one; a new --out redoes them."
        )
    return notes


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a Markdown table; the first column to the left, the others to the right.

    Examples
    --------
    >>> print(markdown(["what", "figure"], [["toggles", "7"]]))
    | what | figure |
    |---|---:|
    | toggles | 7 |
    """
    rule = "|---|" + "---:|" * (len(header) - 1)
    return "\n".join([_line(header), rule, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
