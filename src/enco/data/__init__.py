"""Observational and interventional data: values, regimes, kinds and names, checked once at the door.

`InterventionalData` is what every other part of the package reads. It holds one block of level indices and
one block of real numbers per *regime* (a set of intervention targets and its rows); the readers and writers
live in `enco.io`.

====================  ==================================================================================
`data.variables`      what a data set is made of: variables (columns) and regimes (rows)
`data.dataset`        `InterventionalData`, which puts them together
`data.meanings`       what labels of rows mean: targets, unknown targets, or no intervention
`data.context`        a context column that names the regime of every row
`data.checks`         the rules that a data set must satisfy
`data.conversions`    the methods that read and write, thin ones over `enco.io`
`data.describe`       what a data set looks like, and what looks wrong with it
====================  ==================================================================================

Examples
--------
>>> import numpy as np
>>> observed = np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
>>> intervened = np.array([[1, 0], [1, 1]])
>>> InterventionalData.from_environments([observed, intervened], [None, "X1"])
InterventionalData(2 variables, 6 rows: 4 observational, 1 intervention regime)
"""

from enco.data.dataset import InterventionalData
from enco.data.variables import MAX_LEVELS, AnyKind, Codes, Kind, Level, Regime, Variable

__all__ = ["MAX_LEVELS", "AnyKind", "Codes", "InterventionalData", "Kind", "Level", "Regime", "Variable"]
