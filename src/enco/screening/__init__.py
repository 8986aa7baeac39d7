"""Which pairs of a large problem are worth a parameter: tests of dependence before the first fit."""

from enco.screening.screen import SCREEN_ABOVE, Screening, rule_for, screen

__all__ = ["SCREEN_ABOVE", "Screening", "rule_for", "screen"]
