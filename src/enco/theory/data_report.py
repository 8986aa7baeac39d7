"""The outcome of a look at data without a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["DataReport", "SmallRegime"]

_SHOWN_WORDS = 8


@dataclass(frozen=True)
class SmallRegime:
    """A regime with too few rows to show an effect of the usual size.

    Attributes
    ----------
    regime : str
        Its label.
    rows : int
        Its rows.
    wanted : int
        Rows at which the median of the effects found would be noticed with probability 0.8; 0 if more rows here
        do not help, because the observational rows are too few.
    """

    regime: str
    rows: int
    wanted: int

    def __str__(self) -> str:
        remedy = f"{self.wanted:,} wanted" if self.wanted else "and too few observational ones"
        return f"{self.regime} ({self.rows:,} rows, {remedy})"


@dataclass(frozen=True)
class DataReport:
    """What data alone say about how well a graph can be learned from them.

    Attributes
    ----------
    variables, rows, regimes : int
        Sizes; regimes are the interventional ones, and variables are without context.
    level : float
        Level of the tests.
    constant : tuple of str
        Columns with one value only, which can have no edges.
    untargeted : tuple of str
        Variables without intervention.
    distant_pairs : tuple of (str, str, float)
        Dependent pairs without an intervention on either, with the p-value: their orientation rests on interventions
        elsewhere and has no guarantee (Appendix B.4). Most dependent first.
    n_distant : int
        All pairs without an intervention on either, dependent or not.
    distant_tested : bool
        False if those pairs are too many to be tested.
    unmoved : tuple of (str, str, float)
        Target, regime and p-value of interventions after which the target looks as it did before.
    n_effects : int
        Effects of an intervention on another variable that tests find.
    typical_effect : float or None
        Their median size in nats per row.
    quiet : tuple of str
        Regimes in which no effect on another variable is found.
    small_regimes : tuple of SmallRegime
        Regimes too small for an effect of the typical size.
    context : tuple of str
        Columns that are context and were left out.
    unknown : tuple of str
        Regimes whose targets are not known.
    """

    variables: int
    rows: int
    regimes: int
    level: float
    constant: tuple[str, ...]
    untargeted: tuple[str, ...]
    distant_pairs: tuple[tuple[str, str, float], ...]
    n_distant: int
    distant_tested: bool
    unmoved: tuple[tuple[str, str, float], ...]
    n_effects: int
    typical_effect: float | None
    quiet: tuple[str, ...]
    small_regimes: tuple[SmallRegime, ...]
    context: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing was found that limits what can be learned."""
        found = (self.constant, self.untargeted, self.distant_pairs, self.unmoved, self.small_regimes)
        return not any(found)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, numbers and texts, for JSON."""
        return {"clean": self.clean, **asdict(self)}

    def __str__(self) -> str:
        lines = [
            f"data     {self.variables} variables, {self.rows:,} rows, {_count(self.regimes, 'intervention regime')}"
        ]
        if self.context:
            lines.append(f"context, which is no part of the graph: {_some(self.context)}")
        if self.unknown:
            lines.append(f"regimes whose targets are not known ({len(self.unknown)}): {_some(self.unknown)}")
        if self.constant:
            lines.append(f"constant columns, which can have no edges: {_some(self.constant)}")
        if self.untargeted:
            named = "no label names" if self.unknown else "without intervention"
            lines.append(f"{named} ({len(self.untargeted)} of {self.variables}): {_some(self.untargeted)}")
        if self.n_distant:
            lines.append(self._distant())
        if self.unmoved:
            shown = [f"{target} in {regime} (p = {p:.2g})" for target, regime, p in self.unmoved]
            lines.append(f"targets that look the same as without their intervention: {_some(shown)}")
        if self.regimes:
            size = "" if self.typical_effect is None else f", typically {self.typical_effect:.2g} nats per row"
            lines.append(f"effects on other variables found by tests: {self.n_effects:,}{size}")
        if self.quiet:
            lines.append(f"regimes in which none is found ({len(self.quiet)} of {self.regimes}): {_some(self.quiet)}")
        if self.small_regimes:
            shown = [str(small) for small in self.small_regimes]
            lines.append(f"too small for an effect of that size: {_some(shown)}")
        return "\n".join([*lines, self._verdict()])

    def _distant(self) -> str:
        start = f"pairs without an intervention on either: {self.n_distant:,}"
        if not self.distant_tested:
            return f"{start} (too many to test)"
        shown = [f"{one} - {other}" for one, other, _ in self.distant_pairs]
        return f"{start}, dependent {len(shown):,}{': ' if shown else ''}{_some(shown)}"

    def _verdict(self) -> str:
        if not self.regimes:
            return "verdict: no interventions: orientations cannot be learned from these data"
        if self.clean:
            return f"verdict: nothing found that limits what can be learned (tests at level {self.level:g})"
        advice = []
        if self.distant_pairs or (self.n_distant and not self.distant_tested):
            advice.append("orientations of pairs without intervention have no guarantee")
        elif self.untargeted:
            advice.append("variables without intervention are oriented by their neighbours' interventions only")
        if self.unmoved:
            advice.append("targets that look the same: either the intervention failed or it draws as nature does")
        if self.small_regimes:
            advice.append("effects may be missed in the small regimes")
        return "verdict: " + ("; ".join(advice) or "constant columns will have no edges")


def _some(words: tuple[str, ...] | list[str]) -> str:
    return ", ".join(words[:_SHOWN_WORDS]) + (
        f" and {len(words) - _SHOWN_WORDS:,} more" if len(words) > _SHOWN_WORDS else ""
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
