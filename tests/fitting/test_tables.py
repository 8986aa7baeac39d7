"""Properties of tables, by counting."""

import numpy as np

from enco.data import InterventionalData, Regime, Variable
from enco.fitting.tables import Tables

EDGES = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], bool)


def make_data(rows, targets=(), levels=4):
    rng = np.random.default_rng(0)
    x = rng.integers(levels, size=(rows, 2))
    codes = np.column_stack([x, x.sum(axis=1) % levels]).astype(np.uint8)
    noise = rng.integers(levels, size=(rows, 3)).astype(np.uint8)
    variables = [Variable(name, "categorical", tuple(range(levels))) for name in "abc"]
    regimes = [Regime((), codes, np.zeros((rows, 0), np.float32))]
    regimes += [Regime((target,), noise, np.zeros((rows, 0), np.float32)) for target in targets]
    return InterventionalData(variables, regimes)


def test_a_function_is_one_where_the_variable_was_not_set():
    assert Tables.of(make_data(500, targets=[2]), EDGES, np.arange(3)).determined.tolist() == [False, False, True]
    assert not Tables.of(make_data(500, targets=[0]), EDGES, np.arange(3)).determined.any()


def test_a_table_takes_ten_rows_for_each_free_cell():
    """Sixteen configurations of two parents, four levels of which three are free."""
    for rows, learned in ((480, True), (479, False)):
        assert Tables.of(make_data(rows), EDGES, np.arange(3)).learnable.tolist() == [False, False, learned]


def test_columns_may_come_in_any_order():
    """Variable k of the graph is column `column[k]` of the data."""
    turned = np.array([2, 0, 1])
    graph = EDGES[np.ix_(turned, turned)]
    assert Tables.of(make_data(500), graph, turned).determined.tolist() == [True, False, False]
