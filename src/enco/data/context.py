"""Context columns: one that names the regime of every row, and whether observational rows know what is in them."""

import numpy as np

from enco.data.dataset import InterventionalData
from enco.data.variables import Kind, Regime, Variable, code_dtype

__all__ = ["in_known_circumstances", "with_regimes_as_context"]


def with_regimes_as_context(data: InterventionalData) -> InterventionalData:
    """Return the same rows with one more context column, last: the regime.

    Examples
    --------
    >>> x = np.array([[0.5, 1.0], [1.0, 0.0]])
    >>> data = with_regimes_as_context(InterventionalData.from_environments([x, x], [None, "X1"]))
    >>> data.names, data.column("regime", 1).tolist()
    (('X1', 'X2', 'regime'), ['1', '1'])
    """
    name = "regime"
    while name in data.names:
        name += " "
    levels = tuple(str(k) for k in range(len(data.regimes)))
    added = Variable(name, Kind.CATEGORICAL, levels, context=True)
    dtype = code_dtype(max(variable.n_levels for variable in (*data.variables, added)))
    regimes = [
        Regime.of(
            regime.condition,
            np.column_stack([regime.codes.astype(dtype), np.full(regime.n_rows, k, dtype)]),
            regime.reals,
            regime.source,
        )
        for k, regime in enumerate(data.regimes)
    ]
    return InterventionalData._from_checked((*data.variables, added), regimes)


def in_known_circumstances(data: InterventionalData, regime: Regime) -> bool:
    """Whether observational rows know every level of the context columns that a regime has.

    Where they do not, what the intervention did cannot be told apart from what its batch did by comparing rows.

    Examples
    --------
    >>> x = np.array([[0.5, 1.0], [1.0, 0.0]])
    >>> data = with_regimes_as_context(InterventionalData.from_environments([x, x], [None, "X1"]))
    >>> [in_known_circumstances(data, regime) for regime in data.regimes]
    [True, False]
    """
    slots = data.slots[data.is_context & data.is_categorical]
    return all(np.isin(regime.codes[:, slot], data.observational.codes[:, slot]).all() for slot in slots)
