"""The one split of the rows: every row once, folds alike in every regime, and rows that stand for others."""

import numpy as np
import pytest

from enco.data import Regime
from enco.score import rows
from enco.score.rows import N_FOLDS, Sample


def regime(targets, n, first=0):
    """Rows that carry their number."""
    return Regime(tuple(targets), np.zeros((n, 3), np.uint8), np.arange(first, first + n, dtype=np.float32)[:, None])


REGIMES = [regime((), 50), regime((0,), 7, 100), regime((0, 2), 2, 200), regime((2,), 1, 300)]


def test_all_rows_are_there_one_regime_after_the_other():
    sample = Sample.of(REGIMES, 3)
    assert np.bincount(sample.origin).tolist() == [50, 7, 2, 1]
    assert sample.table.reals.ravel().tolist() == [*range(50), *range(100, 107), 200, 201, 300]
    assert sample.table.targets == ()
    assert sample.weight.tolist() == [1.0] * 4
    assert [each.targets for each in sample.regimes] == [(), (0,), (0, 2), (2,)]


def test_folds_are_of_one_size_in_every_regime():
    sample = Sample.of(REGIMES, 3)
    for k in range(4):
        sizes = np.bincount(sample.fold[sample.origin == k], minlength=N_FOLDS)
        assert sizes.max() - sizes.min() <= 1
    assert sample.fold[:50].tolist() != [row % N_FOLDS for row in range(50)]


def test_every_row_is_learned_in_all_folds_but_its_own():
    sample = Sample.of(REGIMES, 3)
    learned = np.zeros(60, int)
    for fold in range(N_FOLDS):
        here = 0
        for place, (each, chosen) in enumerate(sample.learned(fold)):
            assert each is sample.regimes[place]
            assert (sample.fold[sample.origin == place][chosen] != fold).all()
            learned[here + chosen] += 1
            here += each.n_rows
    assert learned.tolist() == [N_FOLDS - 1] * 60


def test_the_split_is_always_the_same():
    one, other = Sample.of(REGIMES, 3), Sample.of(REGIMES, 3)
    assert one.fold.tolist() == other.fold.tolist()
    assert one.table.reals.tolist() == other.table.reals.tolist()


def test_rows_that_set_a_variable_do_not_leave_it_free():
    sample = Sample.of(REGIMES, 3)
    assert sample.free.tolist() == [[True, False, False, True], [True] * 4, [True, True, False, False]]
    assert sample.free_rows(0).tolist() == [*range(50), 59]
    assert sample.free_rows(1).tolist() == list(range(60))
    assert sample.free_rows(2).tolist() == list(range(57))


@pytest.mark.parametrize("most", [1, 10, 25, 50, 10**6])
def test_a_budget_for_observational_rows_and_one_for_all_others(monkeypatch, most):
    monkeypatch.setattr(rows, "MOST_ROWS", most)
    sample = Sample.of(REGIMES, 3)
    counts = np.bincount(sample.origin, minlength=4)
    assert counts[0] == min(50, most)
    assert min(10, most) <= counts[1:].sum() <= most + 3  # a regime has at least one row
    assert (counts > 0).all()
    assert (sample.weight * counts).tolist() == pytest.approx([50, 7, 2, 1])
    drawn = sample.table.reals.ravel()
    assert (np.diff(drawn) > 0).all()  # no row twice, in their order


def test_rows_that_are_here_stand_for_all(monkeypatch):
    monkeypatch.setattr(rows, "MOST_ROWS", 5)
    sample = Sample.of(REGIMES, 3)
    free = sample.free_rows(2)
    assert sample.by_regime(np.ones(len(free)), free).tolist() == pytest.approx([50, 7, 0, 0])


def test_a_regime_without_rows():
    sample = Sample.of([regime((), 4), regime((1,), 0)], 3)
    assert sample.by_regime(np.ones(4), sample.free_rows(0)).tolist() == [4.0, 0.0]
    assert np.isfinite(sample.weight).all()
