"""A check of the conditions in words: a table, what to expect edge by edge, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING

from enco.theory.gains import Gain, GainRange
from enco.theory.pair_checks import PairCheck

if TYPE_CHECKING:
    from enco.theory.outcome import Failure, TheoryReport

__all__ = ["describe", "number"]

_SHOWN_PAIRS = 60
_SHOWN_EDGES = 12
_SHOWN_FAILURES = 8

_LEGEND = """\
1: smallest gain under do(cause), over all sets of other parents; must not be below 0
2: largest gain under do(cause); must be above 0
3: smallest gain averaged over interventions, over sets of possible parents; must be above lambda
gain: expected log-likelihood of the effect with the edge minus without, nats per row, given the other parents"""


def describe(report: TheoryReport) -> str:
    """Return the text behind `str(report)`.

    Parameters
    ----------
    report : TheoryReport
        The outcome of a check.

    Examples
    --------
    >>> from enco.simulate import examples
    >>> from enco.theory import check_conditions
    >>> print(describe(check_conditions(examples.worked_chain())).splitlines()[1])
    X1 -> X2   0.015 {X3}  0.023 {}    0.020 {}
    """
    blocks = [_table(report), _LEGEND]
    if report.edges:
        blocks.append(_edges(report))
    blocks.append("\n".join(_verdict(report)))
    return "\n\n".join(blocks)


def number(value: float) -> str:
    """Write a gain: three decimals, or two digits if it is small.

    Examples
    --------
    >>> [number(value) for value in (0.1928, 0.00019, 1e-17, -2.0)]
    ['0.193', '0.00019', '0', '-2.000']
    """
    if abs(value) < 5e-10:
        return "0"
    return f"{value:.3f}" if abs(value) >= 0.001 else f"{value:.2g}"


def _bound(value: float) -> str:
    """Write a bound on lambda: two digits at least, since 0.0019 must not read 0.002."""
    return number(value) if value >= 0.01 else "0" if value <= 0 else f"{value:.2g}"


def _table(report: TheoryReport) -> str:
    rows = [("pair", "1", "2", "3")]
    flagged = False
    for pair in report.pairs[:_SHOWN_PAIRS]:
        arrow = "->" if pair.edge else "~>"
        if pair.decided_by == "effect":
            reversed_ = [_extreme(pair.reverse, smallest=smallest) for smallest in (False, True)]
            cells = [f"reverse {cell}" for cell in reversed_]
        else:
            cells = [_extreme(pair.own, smallest=smallest) for smallest in (True, False)]
        cells.append(_extreme(pair.existence, smallest=True) if pair.edge else "")
        flagged |= any("*" in cell for cell in cells)
        rows.append((f"{pair.cause} {arrow} {pair.effect}", cells[0], cells[1], cells[2]))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if len(report.pairs) > _SHOWN_PAIRS:
        lines.append(f"and {len(report.pairs) - _SHOWN_PAIRS:,} more pairs (--json or to_frame() list them all)")
    if any(not pair.edge for pair in report.pairs[:_SHOWN_PAIRS]):
        lines.append("~> an ancestor and its descendant without an edge between them")
    if any(pair.decided_by == "effect" for pair in report.pairs[:_SHOWN_PAIRS]):
        lines.append("reverse: gain of the reversed edge under do(effect); 1 must not be above 0, 2 must be below 0")
    if flagged:
        lines.append("*  meets configurations that never occur without intervention: the average is predicted there")
    return "\n".join(lines)


def _extreme(gains: GainRange | None, *, smallest: bool) -> str:
    if gains is None:
        return "no intervention"
    if smallest:
        found = [gain for gain in (gains.smallest, gains.smallest_unseen) if gain]
        gain = min(found, key=lambda gain: gain.value, default=None)
    else:
        gain = gains.largest or gains.largest_unseen
    return "not examined" if gain is None else f"{'*' if gain.unseen else ''}{number(gain.value)} {_given(gain)}"


def _given(gain: Gain) -> str:
    shown = ", ".join(gain.parents[:4]) + (", ..." if len(gain.parents) > 4 else "")
    return f"{{{shown}}}"


def _edges(report: TheoryReport) -> str:
    weakest = sorted(report.edges, key=lambda pair: pair.largest_sparsity)
    lines = ["edges, weakest first"]
    lines += [f"  {_edge(pair, report)}" for pair in weakest[:_SHOWN_EDGES]]
    if len(weakest) > _SHOWN_EDGES:
        lines.append(f"  and {len(weakest) - _SHOWN_EDGES:,} stronger ones")
    if not report.limited:
        lines.append(
            "  (a rule of thumb: mean over standard error of the exact gain, once the other true parents are in the"
        )
        lines.append("  graph, with networks that learned the observational distribution perfectly)")
    return "\n".join(lines)


def _edge(pair: PairCheck, report: TheoryReport) -> str:
    name = f"edge {pair.cause} -> {pair.effect}"
    bound = _bound(pair.largest_sparsity)
    if pair.largest_sparsity <= 0:
        statement = f"{name} is not guaranteed for any lambda (condition 3)"
    elif pair.orientation in ("fails", "missing"):
        statement = f"{name} is worth more than lambda below {bound}, but its direction is not guaranteed"
    else:
        assert pair.existence is not None
        status = pair.existence.all_at_least(0.0)
        if status == "holds" and pair.orientation == "holds":
            # Condition 3 presumes that all orientations converged, so one violation elsewhere weakens every edge.
            guaranteed = report.orientation == "holds"
            statement = (
                f"{name} {'is guaranteed' if guaranteed else 'meets its own conditions'} for lambda below {bound}"
            )
        elif "assumed" in (status, pair.orientation) or "open" in (status, pair.orientation):
            statement = f"{name} needs lambda below {bound}, if unobserved configurations are predicted by the average"
        else:
            statement = f"{name} shows no violation for lambda below {bound}"
    return statement + ("" if report.limited else _expectation(pair, report))


def _expectation(pair: PairCheck, report: TheoryReport) -> str:
    evidence = pair.evidence
    if evidence is None:
        return ""
    if evidence.unseen > 0:
        return "; what rows will say depends on configurations that never occur without intervention"
    if evidence.mean <= report.sparsity:
        worth = _bound(evidence.mean)
        return (
            f"; expect it to be dropped at this lambda, however many rows: beside the true parents it is worth {worth}"
        )
    existence, direction = evidence.existence_z(report.rows, report.sparsity), evidence.orientation_z(report.rows)
    expected = f"{_errors(existence)} standard errors of evidence for it"
    if direction == direction:
        expected += f" and {_errors(direction)} for its direction"
    needed = evidence.rows_needed(report.sparsity)
    more = "no number of rows shows the direction" if needed == inf else f"3 of each need {_rows(needed)}"
    return f"; with {report.rows:,} rows per intervention expect {expected} ({more})"


def _errors(z: float) -> str:
    return f"{z:.1f}" if abs(z) < 100 else "over 100" if z > 0 else "below -100"


def _rows(needed: float) -> str:
    """Round up to two digits: more would pretend to an accuracy that a rule of thumb does not have."""
    count = max(1, int(needed))
    step = 10 ** max(0, len(str(count)) - 2)
    rounded = -(-count // step) * step if step > 1 else max(1, round(needed))
    return f"{rounded:,} row{'' if rounded == 1 else 's'}"


def _verdict(report: TheoryReport) -> list[str]:
    bound = _bound(report.largest_sparsity) if isfinite(report.largest_sparsity) else "any value"
    mine = _bound(report.sparsity)
    if not report.pairs:
        return ["verdict: the graph has no edges, so there is nothing to check"]
    if report.guaranteed:
        start = "on these rows" if report.limited else "with enough data"
        lines = [f"verdict: {start}, recovery is guaranteed for lambda below {bound} (yours: {mine})"]
    elif report.sparsity == 0 and report.status == "holds":
        lines = ["verdict: not guaranteed: lambda must be above 0, or absent edges are never removed"]
    elif report.status in ("fails", "missing"):
        lines = [f"verdict: recovery is not guaranteed for lambda = {mine}", *_failures(report)]
        if report.largest_sparsity > 0 and not report.limited:
            lines.append(
                f"  conditions 1 and 2 show no violation: a lambda below {bound} would meet condition 3 as well"
            )
        lines.append("  the conditions are sufficient, not necessary: the graph may be recovered all the same")
    elif report.status == "open":
        lines = [f"verdict: open: a condition fails or was not shown for lambda = {mine}", *_failures(report)]
    else:
        lines = [f"verdict: no violation found for lambda below {bound} (yours: {mine})"]
    return lines + _caveats(report)


def _failures(report: TheoryReport) -> list[str]:
    failures = report.failures
    lines = [f"  {_failure(failure)}" for failure in failures[:_SHOWN_FAILURES]]
    if len(failures) > _SHOWN_FAILURES:
        lines.append(f"  and {len(failures) - _SHOWN_FAILURES:,} more")
    return lines


def _failure(failure: Failure) -> str:
    pair = f"{failure.cause} -> {failure.effect}"
    label = {"reverse": "the reversed edge", "absent edge": "the absent edge"}.get(failure.condition)
    what = f"{label} for {pair}" if label else f"condition {failure.condition} for {pair}"
    if failure.gain is None:
        return f"{what}: nothing that was intervened on or examined decides it"
    mark = ", on configurations that never occur without intervention" if failure.gain.unseen else ""
    return f"{what}: gain {number(failure.gain.value)} given {_given(failure.gain)}{mark}"


def _caveats(report: TheoryReport) -> list[str]:
    lines = []
    if not report.exhaustive:
        lines.append(f"  {_sampling(report)}")
    if report.untargeted:
        lines.append(f"  without intervention: {_some(report.untargeted)}")
    if report.limited:
        lines.append(f"  from data: absent edges stay out for lambda above {number(report.smallest_sparsity)}")
    elif report.parent_sets:
        best = _bound(report.global_sparsity)
        found = "" if all(check.exhaustive for check in report.parent_sets) else " (among the sets examined)"
        lines.append(
            f"  the true graph is the global optimum for lambda below {best}{found}"
            if report.global_sparsity > 0
            else "  the true graph is not shown to be the global optimum for any lambda"
        )
    return lines


def _sampling(report: TheoryReport) -> str:
    ranges = [pair.own for pair in report.pairs if pair.own is not None and not pair.own.exhaustive]
    ranges += [pair.existence for pair in report.pairs if pair.existence is not None and not pair.existence.exhaustive]
    if not ranges:
        return f"sampled: not every parent set was examined (seed {report.seed}): a search for violations, not a proof"
    fewest, most = min(gains.examined for gains in ranges), max(gains.examined for gains in ranges)
    possible = max(gains.possible for gains in ranges)
    share = f"{possible:,}" if possible < 10**6 else f"2^{possible.bit_length() - 1}"
    return (
        f"sampled: {fewest:,} to {most:,} of up to {share} parent sets examined for each of {len(ranges)} checks "
        f"(budget {report.budget:,}, seed {report.seed}): a search for violations, not a proof"
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
