"""The convergence conditions of the paper, checked exactly on a known model (Theorem 3.1, Appendix B).

Start with `check_conditions`; `check_data` says what can be said from data without a model.

- `elimination`: exact marginals under all interventions at once
- `regime_tables`: probabilities from a model or from rows
- `scores`: how well every set of parents predicts a variable
- `scopes`: which parent sets are examined
- `search`: smallest and largest gains over them
- `conditions`: the conditions, pair by pair
- `edge_evidence`: what rows can be expected to say
- `gains`, `pair_checks`, `outcome`, `text`: the outcome
- `data_check`, `data_report`: what data say without a model
"""

from enco.theory.conditions import BUDGET, check_conditions
from enco.theory.data_check import check_data
from enco.theory.data_report import DataReport
from enco.theory.gains import Gain, GainRange
from enco.theory.outcome import TheoryReport
from enco.theory.pair_checks import PairCheck, ParentSetCheck, SpuriousCheck

__all__ = [
    "BUDGET",
    "DataReport",
    "Gain",
    "GainRange",
    "PairCheck",
    "ParentSetCheck",
    "SpuriousCheck",
    "TheoryReport",
    "check_conditions",
    "check_data",
]
