import numpy as np
import pytest

from enco.data import InterventionalData
from enco.fitting.doubt import DOUBTED, DOUBTED_COSTS, IMPRECISE, doubt


def mixed() -> InterventionalData:
    """Two continuous variables, then two of 30 levels, whose tables cannot be learned from 600 rows."""
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=600), "b": rng.normal(size=600)}
    table |= {name: rng.integers(30, size=600).astype(str) for name in "cd"}
    kinds = {"a": "continuous", "b": "continuous", "c": "categorical", "d": "categorical"}
    return InterventionalData.from_environments(
        [np.array(list(table.values()), object).T], [None], names=list(table), kinds=kinds
    )


def doubts(*edges: tuple[int, int], sparsity: float = 0.001) -> np.ndarray:
    graph = np.zeros((4, 4), bool)
    for edge in edges:
        graph[edge] = True
    return doubt(mixed(), graph, np.arange(4), sparsity)


def test_continuous_variables_are_doubted_most():
    assert doubts((0, 1), (2, 1))[1] == IMPRECISE


@pytest.mark.parametrize("others", [[], [(2, 3)]])
def test_a_continuous_parent_makes_a_categorical_variable_doubtful(others):
    assert doubts((0, 3), *others)[3] == DOUBTED


def test_a_table_that_cannot_be_learned_is_left_alone():
    assert doubts((2, 3))[3] == 0


def test_dear_edges_must_earn_a_few_times_their_cost():
    assert doubts((0, 3), sparsity=0.2)[3] == pytest.approx(DOUBTED_COSTS * 0.2)
