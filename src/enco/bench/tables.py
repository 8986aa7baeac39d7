"""Records beside the paper's numbers, as Markdown."""

from collections.abc import Sequence
from statistics import mean, stdev

from enco.bench.machine import code_fingerprint
from enco.bench.paper import Row, paper_table
from enco.bench.problem import Problem
from enco.bench.records import Record

__all__ = ["markdown", "structures_table"]

NOTHING = "-"


def structures_table(problem: Problem, records: Sequence[Record]) -> str:
    """Summarise records, one line per structure, beside what the paper reports for the same setting.

    Parameters
    ----------
    problem : Problem
        Any of the problems; they differ in structure and seed only.
    records : sequence of dict
        From `enco.bench.structures.run_jobs`.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> from enco.bench.structures import Job, Store, run_jobs
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
    rows = []
    for structure in dict.fromkeys(record["structure"] for record in records):
        group = [record for record in records if record["structure"] == structure]
        rows.append(
            [
                structure,
                str(len(group)),
                enco.get(structure, NOTHING),
                _spread(group, "shd_raw", 2),
                acyclic.get(structure, NOTHING),
                f"**{_spread(group, 'shd', 2)}**",
                sid.get(structure, NOTHING),
                _spread(group, "sid", 1),
                _average(group, "missing"),
                _average(group, "extra"),
                _average(group, "epochs"),
                _spread(group, "seconds", 1),
            ]
        )
    title = (
        f"{problem.variables} variables of {problem.categories} categories, {problem.rows:,} observational rows, "
        f"{problem.interventional_rows:,} for each of {problem.interventions} interventions, {problem.mechanism} "
        "mechanisms"
    )
    return "\n\n".join([title, markdown(_HEADER, rows), _notes(records, paper.name if paper else None)])


_HEADER = [
    "structure",
    "graphs",
    "SHD, paper's ENCO",
    "SHD, ours before ordering",
    "SHD, paper's ENCO-acyclic",
    "SHD, ours",
    "SID, paper's ENCO-acyclic",
    "SID, ours",
    "missing",
    "extra",
    "epochs",
    "seconds",
]


def _notes(records: Sequence[Record], paper: str | None) -> str:
    notes = [
        "Mean ± sample standard deviation over graphs (the paper: 25 graphs each). A flipped edge counts once in the "
        "SHD, and as one missing and one extra edge."
    ]
    notes.append(f"Paper: {paper}." if paper else "The paper has no experiment with this setting.")
    threads = ", ".join(sorted({str(record["threads"]) for record in records}))
    cpus = ", ".join(sorted({f"{record['machine']['cpu']}" for record in records}))
    peaks = [record["peak_memory_mb"] for record in records if record["peak_memory_mb"] is not None]
    memory = f"; peak memory of the process {max(peaks):.0f} MB" if peaks else ""
    notes.append(f"Seconds of a whole fit, kernels compiled, threads: {threads}, processor: {cpus}{memory}.")
    unlike = sum(record["code"] != code_fingerprint() for record in records)
    if unlike:
        notes.append(
            f"{unlike} of {len(records)} records were made by other code than the present one; a new --out redoes them."
        )
    return "\n".join(notes)


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


def _spread(group: Sequence[Record], name: str, digits: int) -> str:
    values = [record[name] for record in group]
    if None in values:
        return NOTHING
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}"


def _average(group: Sequence[Record], name: str) -> str:
    return f"{mean(record[name] for record in group):.1f}"
