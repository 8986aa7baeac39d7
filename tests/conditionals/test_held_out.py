"""Rows to train on and rows that decide when to stop: a random split, each row once."""

import numpy as np
import pytest

from enco.conditionals.held_out import split_rows


@pytest.mark.parametrize(
    ("n_rows", "share", "n_held"), [(2, 0.1, 1), (5, 0.1, 1), (100, 0.1, 10), (909, 0.1, 91), (3, 0.9, 2), (2, 0.9, 1)]
)
def test_every_row_is_in_one_part(n_rows, share, n_held):
    train, held = split_rows(n_rows, share, np.random.default_rng(0))
    assert len(held) == n_held
    assert sorted([*train, *held]) == list(range(n_rows))
    assert (np.diff(train) > 0).all()
    assert (np.diff(held) > 0).all()


def test_a_single_row_is_both():
    train, held = split_rows(1, 0.1, np.random.default_rng(0))
    assert (train.tolist(), held.tolist()) == ([0], [0])


def test_the_generator_decides():
    first, second, third = (split_rows(500, 0.1, np.random.default_rng(seed))[1].tolist() for seed in (1, 1, 2))
    assert first == second
    assert first != third


def test_every_row_is_held_out_equally_often():
    counts = np.zeros(20)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        counts[split_rows(20, 0.25, rng)[1]] += 1
    assert counts.sum() == 2000 * 5
    assert np.abs(counts - 500).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)
