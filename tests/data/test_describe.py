"""What a data set shows of itself, and what it warns about."""

import numpy as np
import pandas as pd
import pytest

from enco.data import InterventionalData
from enco.data.describe import FEW_REGIME_ROWS, TEST_LEVEL


@pytest.fixture
def data() -> InterventionalData:
    table = pd.DataFrame({"A": ["lo", "mid", "hi"] * 4, "B": np.arange(12) / 4, "C": [False, True] * 6})
    table["perturbation"] = ["control"] * 6 + ["A"] * 4 + ["B+C"] * 2
    return InterventionalData.from_frame(table)


def test_repr_is_one_short_line(data: InterventionalData) -> None:
    assert repr(data) == "InterventionalData(3 variables, 12 rows: 6 observational, 2 intervention regimes)"


def test_describe_is_aligned_and_complete(data: InterventionalData) -> None:
    lines = data.describe().splitlines()
    assert lines[:7] == [
        "variables      3 (2 categorical, 1 continuous)",
        "levels         2 to 3",
        "rows           12",
        "regimes        3",
        "  observational  6",
        "  do(A)          4",
        "  do(B, C)       2",
    ]
    assert lines[7] == "warnings       1"
    assert "observational (6), do(A) (4), do(B, C) (2)" in lines[8]


def test_describe_stays_short() -> None:
    x = np.tile(np.eye(60, dtype=int), (1, 1))
    data = InterventionalData.from_environments([x] * 51, [None, *range(50)])
    lines = data.describe().splitlines()
    assert "  and 31 more with 60 rows each" in lines
    assert "not targeted   X51, X52, X53, X54, X55, X56, X57, X58 and 2 more" in lines
    assert len(lines) < 35


def example(shift: float, rows: int = 400) -> InterventionalData:
    """A categorical and a continuous variable whose regimes move the target by `shift` or not at all."""
    rng = np.random.default_rng(3)
    parts = []
    for target in (None, "A", "B"):
        a = rng.choice(3, p=[0.5, 0.3, 0.2], size=rows)
        b = rng.normal(size=rows)
        if target == "A" and shift:
            a = rng.choice(3, p=[0.1, 0.1, 0.8], size=rows)
        if target == "B":
            b = b + shift
        parts.append(pd.DataFrame({"A": a, "B": b, "C": rng.integers(0, 2, size=rows)}))
    return InterventionalData.from_environments(parts, [None, "A", "B"])


def test_warns_of_targets_that_did_not_move() -> None:
    assert example(shift=1.0).warnings() == ["never intervened on (1 of 3): 'C'"]
    found = example(shift=0.0).warnings()
    assert found[0].startswith(f"targets that look the same as without intervention (test level {TEST_LEVEL})")
    assert found[0].endswith(": 'A' in do(A), 'B' in do(B)")


def test_false_alarms_and_misses_follow_the_test_level() -> None:
    """With identical distributions, a fraction 1 - TEST_LEVEL of the targets is reported."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 4, size=(41, 100, 40))
    data = InterventionalData.from_environments(list(x), [None, *range(40)])
    reported = data.warnings()[0]
    count = len(reported.split(": ", 1)[1].split(", ")) - 1 + int(reported.split(" and ")[-1].split()[0])
    assert 37 <= count <= 40


def test_a_target_stuck_at_its_usual_value_has_not_moved() -> None:
    x = np.zeros((20, 3), dtype=int)
    x[:, 1] = np.arange(20) % 2
    y = x.copy()
    y[0, 0] = 1
    data = InterventionalData.from_environments([x, x, y], [None, "X1", "X2"])
    assert any("'X1' in do(X1)" in warning for warning in data.warnings())


def test_warns_ofconstant_columns_only_if_constant_everywhere() -> None:
    x = np.array([[1, 0, 5], [1, 1, 5]] * 10)
    y = x.copy()
    y[-1, 0] = 2
    data = InterventionalData.from_environments([x, y], [None, "X1"])
    assert data.warnings()[0] == "constant in every row: 'X3'"
    reals = InterventionalData.from_environments([x.astype(float), y.astype(float)], [None, "X1"])
    assert reals.warnings()[0] == "constant in every row: 'X3'"
    assert reals.describe()  # constant columns must not break the tests


def test_warns_of_few_rows() -> None:
    x = np.array([[0, 1], [1, 0]] * 20)
    data = InterventionalData.from_environments([x, 1 - x[: FEW_REGIME_ROWS - 1]], [None, "X1"])
    assert f"regimes with fewer than {FEW_REGIME_ROWS} rows: do(X1) ({FEW_REGIME_ROWS - 1})" in data.warnings()
    data = InterventionalData.from_environments([x, 1 - x[:FEW_REGIME_ROWS]], [None, "X1"])
    assert not any("fewer" in warning for warning in data.warnings())
