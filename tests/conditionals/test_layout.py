"""Blocks of weights: every number of every network has its own place, and nothing is shared."""

import numpy as np
import pytest

from enco.candidates import Candidates
from enco.conditionals.fused.layout import Layout
from enco.conditionals.heads import VariableHeads

RAGGED = np.array([2, 3, 7, 10, 1])
KINDS = {"categorical": RAGGED, "continuous": np.zeros(5, int), "mixed": np.array([0, 3, 0, 10, 1])}


def heads(n_levels):
    return VariableHeads.of(["categorical" if count else "continuous" for count in n_levels], n_levels)


def rows_of(layout, candidates, n_levels, effect):
    """Rows of a block in use, as (name, first row, number of rows); a continuous variable needs two of each kind."""
    pairs = candidates.pairs_into(effect)
    tables = [
        (f"table {cause}", int(row), int(n_levels[cause]) or 2)
        for cause, row in zip(candidates.cause[pairs], layout.table_row[pairs], strict=True)
    ]
    bias_rows = -(-(int(n_levels[effect]) or 2) // layout.hidden)
    out_row, n_out = int(layout.output_row[effect]), int(layout.n_outputs[effect])
    return [("b", 0, 1), *tables, ("V", out_row, n_out), ("c", out_row + n_out, bias_rows)]


@pytest.mark.parametrize("n_levels", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("hidden", [1, 4, 8, 64])
def test_a_block_is_covered_exactly_once(hidden, n_levels):
    candidates = Candidates.all_pairs(5)
    layout = Layout.build(candidates, heads(n_levels), hidden)
    assert layout.n_outputs.tolist() == [int(count) or 2 for count in n_levels]
    for effect in range(5):
        parts = rows_of(layout, candidates, n_levels, effect)
        begins = [first for _, first, _ in parts]
        ends = [first + count for _, first, count in parts]
        assert begins == [0, *ends[:-1]]
        assert ends[-1] * hidden == layout.start[effect + 1] - layout.start[effect]


def test_ragged_levels_by_hand():
    layout = Layout.build(Candidates.all_pairs(3), heads(np.array([2, 3, 5])), hidden=4)
    # X0: 1 + (3 + 5) + 2 + 1 rows, X1: 1 + (2 + 5) + 3 + 1, X2: 1 + (2 + 3) + 5 + 2, of 4 numbers each
    assert layout.start.tolist() == [0, 48, 96, 148]
    assert layout.table_row.tolist() == [1, 4, 1, 3, 1, 3]
    assert layout.output_row.tolist() == [9, 8, 6]
    assert layout.n_outputs.tolist() == [2, 3, 5]
    assert layout.size == 148


def test_mixed_kinds_by_hand():
    """X1 is continuous: two rows w and u as a parent, two outputs mean and log-variance."""
    layout = Layout.build(Candidates.all_pairs(3), heads(np.array([2, 0, 5])), hidden=4)
    # X0: 1 + (2 + 5) + 2 + 1 rows, X1: 1 + (2 + 5) + 2 + 1, X2: 1 + (2 + 2) + 5 + 2, of 4 numbers each
    assert layout.start.tolist() == [0, 44, 88, 136]
    assert layout.table_row.tolist() == [1, 3, 1, 3, 1, 3]
    assert layout.output_row.tolist() == [8, 8, 5]
    assert layout.n_outputs.tolist() == [2, 2, 5]


def test_a_variable_without_candidates_has_bias_and_head_only():
    candidates = Candidates.from_mask([[0, 1], [0, 0]])
    layout = Layout.build(candidates, heads(np.array([3, 2])), hidden=8)
    assert layout.output_row.tolist() == [1, 4]
    assert np.diff(layout.start).tolist() == [(1 + 3 + 1) * 8, (1 + 3 + 2 + 1) * 8]


def test_more_outputs_than_hidden_units_pad_several_rows():
    layout = Layout.build(Candidates.all_pairs(2), heads(np.array([300, 2])), hidden=8)
    assert np.diff(layout.start).tolist() == [(1 + 2 + 300 + 38) * 8, (1 + 300 + 2 + 1) * 8]


def test_memory_follows_the_candidates():
    n_levels = np.full(50, 10)
    chain = Layout.build(Candidates.from_mask(np.eye(50, k=1)), heads(n_levels), 64)
    everything = Layout.build(Candidates.all_pairs(50), heads(n_levels), 64)
    assert chain.size == (50 * (1 + 10 + 1) + 49 * 10) * 64
    assert everything.size == (50 * (1 + 10 + 1) + 50 * 49 * 10) * 64


def test_integer_types():
    layout = Layout.build(Candidates.all_pairs(2), heads(np.array([2, 2], np.int32)), hidden=4)
    for array in (layout.start, layout.table_row, layout.output_row, layout.n_outputs):
        assert array.dtype == np.int64
