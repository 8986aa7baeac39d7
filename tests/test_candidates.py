"""Candidate pairs: grouped by effect, row = cause, column = effect."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from enco.candidates import Candidates
from enco.errors import GraphError

masks = st.integers(1, 7).flatmap(lambda n: arrays.arrays(bool, (n, n)))


@settings(derandomize=True, deadline=None)
@given(masks)
def test_pairs_are_those_of_the_mask(mask):
    candidates = Candidates.from_mask(mask)
    n = len(mask)
    expected = [(i, j) for j in range(n) for i in range(n) if mask[i, j] and i != j]
    assert list(zip(candidates.cause, candidates.effect, strict=True)) == expected
    assert (candidates.n_variables, candidates.n_pairs) == (n, len(expected))


@settings(derandomize=True, deadline=None)
@given(masks)
def test_pairs_into_select_one_effect(mask):
    candidates = Candidates.from_mask(mask)
    for effect in range(len(mask)):
        pairs = candidates.pairs_into(effect)
        assert (candidates.effect[pairs] == effect).all()
        causes = np.flatnonzero(mask[:, effect] & (np.arange(len(mask)) != effect))
        assert candidates.cause[pairs].tolist() == causes.tolist()


@settings(derandomize=True, deadline=None)
@given(masks)
def test_reverse_points_to_the_opposite_pair_or_nowhere(mask):
    candidates = Candidates.from_mask(mask)
    where = {pair: k for k, pair in enumerate(zip(candidates.cause, candidates.effect, strict=True))}
    expected = [where.get((effect, cause), -1) for cause, effect in where]
    assert candidates.reverse.tolist() == expected


@settings(derandomize=True, deadline=None)
@given(masks)
def test_dense_and_gather_are_inverse(mask):
    candidates = Candidates.from_mask(mask)
    values = np.arange(candidates.n_pairs) + 1.0
    matrix = candidates.dense(values, fill=-1.0)
    assert candidates.gather(matrix).tolist() == values.tolist()
    assert (matrix == -1.0).sum() == len(mask) ** 2 - candidates.n_pairs
    for value, cause, effect in zip(values, candidates.cause, candidates.effect, strict=True):
        assert matrix[cause, effect] == value


def test_all_pairs():
    candidates = Candidates.all_pairs(4)
    assert candidates.n_pairs == 12
    assert candidates.start.tolist() == [0, 3, 6, 9, 12]
    assert (candidates.reverse[candidates.reverse] == np.arange(12)).all()


def test_row_is_cause_and_column_is_effect():
    candidates = Candidates.from_mask([[0, 1], [0, 0]])
    assert (candidates.cause.tolist(), candidates.effect.tolist()) == ([0], [1])
    assert candidates.reverse.tolist() == [-1]


def test_no_pairs_at_all():
    candidates = Candidates.from_mask(np.zeros((3, 3)))
    assert candidates.n_pairs == 0
    assert candidates.reverse.shape == candidates.effect.shape == (0,)
    assert candidates.dense([]).tolist() == np.zeros((3, 3)).tolist()


def test_the_mask_is_not_changed():
    mask = np.ones((3, 3), bool)
    Candidates.from_mask(mask)
    assert mask.all()


@pytest.mark.parametrize("shape", [(2, 3), (4,), (2, 2, 2)])
def test_a_mask_must_be_square(shape):
    with pytest.raises(GraphError, match="square, row = cause, column = effect; got"):
        Candidates.from_mask(np.ones(shape))
