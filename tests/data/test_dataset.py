"""The data model: canonical form, what it remembers, what it shows, what it warns about."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from enco.data import MAX_LEVELS, InterventionalData, Kind, Regime, Variable
from enco.errors import DataError

A = Variable("A", "categorical", ("lo", "mid", "hi"))
B = Variable("B", "continuous")
C = Variable("C", "categorical", (False, True))


def regime(targets: tuple[int, ...], rows: int, start: int = 0, dtype: type = np.uint8) -> Regime:
    """Rows of A, B, C that can be told apart."""
    number = np.arange(start, start + rows)
    codes = np.column_stack([number % 3, number % 2]).astype(dtype)
    return Regime(targets, codes, (number[:, None] / 4).astype(np.float32))


@pytest.fixture
def data() -> InterventionalData:
    return InterventionalData([A, B, C], [regime((), 6), regime((0,), 4), regime((1, 2), 2)])


def test_canonical_form_puts_observational_first_and_joins_equal_targets() -> None:
    parts = [regime((2, 1), 2, start=10), regime((), 3), regime((1, 2), 1, start=20), regime((), 2, start=30)]
    data = InterventionalData([A, B, C], parts)
    assert [found.targets for found in data.regimes] == [(), (1, 2)]
    assert data.observational.reals[:, 0].tolist() == [0, 0.25, 0.5, 7.5, 7.75]
    assert data.interventional[0].reals[:, 0].tolist() == [2.5, 2.75, 5.0]
    assert data.n_rows == 8


def test_blocks_are_not_copied_and_cannot_be_changed() -> None:
    codes = np.zeros((4, 2), dtype=np.uint8)
    data = InterventionalData([A, C], [Regime((), codes, np.zeros((4, 0), np.float32))])
    assert np.shares_memory(data.observational.codes, codes)
    with pytest.raises(ValueError, match="read-only"):
        data.observational.codes[0, 0] = 1
    codes[0, 0] = 2  # the caller's own array stays writeable
    assert data.column("A")[0] == "hi"


def test_rows_are_contiguous_whatever_comes_in() -> None:
    codes = np.zeros((4, 2), dtype=np.uint8, order="F")
    assert Regime((), codes, np.zeros((4, 0), np.float32)).codes.flags.c_contiguous


def test_smallest_code_type_for_all_regimes() -> None:
    data = InterventionalData([A, B, C], [regime((), 3, dtype=np.uint16), regime((0,), 2)])
    assert {found.codes.dtype for found in data.regimes} == {np.dtype(np.uint8)}
    wide = Variable("A", "categorical", tuple(range(257)))
    data = InterventionalData([wide, B, C], [regime((), 3), regime((0,), 2, dtype=np.uint16)])
    assert {found.codes.dtype for found in data.regimes} == {np.dtype(np.uint16)}


def test_accessors(data: InterventionalData) -> None:
    assert data.names == ("A", "B", "C")
    assert data.kinds == ("categorical", "continuous", "categorical")
    assert data.n_levels.tolist() == [3, 0, 2]
    assert (data.n_variables, data.n_rows) == (3, 12)
    assert data.position("C") == 2
    assert data.column("A", 1).tolist() == ["lo", "mid", "hi", "lo"]
    assert data.column(1, data.interventional[1]).tolist() == [0.0, 0.25]
    assert data.column("C").tolist() == [False, True] * 3
    assert data.column("C").dtype == np.bool_
    assert [data.regime_label(found) for found in data.regimes] == ["observational", "do(A)", "do(B, C)"]


def test_equality_is_by_content_and_ignores_the_order_of_regimes(data: InterventionalData) -> None:
    again = InterventionalData([A, B, C], [regime((1, 2), 2), regime((), 6), regime((0,), 4)])
    assert data == again
    assert data != InterventionalData([A, B, C], [regime((), 6), regime((0,), 4)])
    assert data != InterventionalData([A, B, C], [regime((), 6), regime((0,), 4), regime((1, 2), 2, start=1)])
    renamed = Variable("A", "categorical", ("lo", "hi", "mid"))
    assert data != InterventionalData([renamed, B, C], list(data.regimes))
    assert data != "something else"


def test_select_moves_columns_and_targets_by_name(data: InterventionalData) -> None:
    moved = data.select(["C", "B", "A"])
    assert moved.names == ("C", "B", "A")
    assert [found.targets for found in moved.regimes] == [(), (2,), (0, 1)]
    for name in data.names:
        for index in range(3):
            assert moved.column(name, index).tolist() == data.column(name, index).tolist()
    assert moved.select(["A", "B", "C"]) == data


def test_select_refuses_to_drop_a_target(data: InterventionalData) -> None:
    with pytest.raises(DataError, match=r"cannot drop 'A'.*without_regimes"):
        data.select(["B", "C"])
    assert data.without_regimes([("B", "C")]).select(["A", "B"]).n_rows == 10


def test_keeping_and_dropping_regimes(data: InterventionalData) -> None:
    assert [found.targets for found in data.keep_regimes([("C", "B")]).regimes] == [(), (1, 2)]
    assert [found.targets for found in data.keep_regimes([0]).regimes] == [(), (0,)]
    assert [found.targets for found in data.keep_regimes([np.int64(0)]).regimes] == [(), (0,)]
    assert [found.targets for found in data.without_regimes([(1, "C")]).regimes] == [(), (0,)]
    assert data.keep_regimes([]).n_rows == 6
    with pytest.raises(DataError, match=r"there is no regime do\(B\)"):
        data.keep_regimes(["B"])
    with pytest.raises(DataError, match=r"pass a list of regimes.*\['A'\]"):
        data.without_regimes("A")


def test_unknown_name_suggests_the_right_one() -> None:
    data = InterventionalData.from_environments([np.eye(2)], [None], names=["kinase", "ligand"])
    with pytest.raises(DataError, match=r"no variable 'kinas': did you mean 'kinase'"):
        data.position("kinas")
    with pytest.raises(DataError, match="no variable at position 2"):
        data.column(2)


def test_frame_shows_levels_units_and_targets(data: InterventionalData) -> None:
    frame = data.to_frame("guide", control="NT", separator="/")
    assert list(frame.columns) == ["A", "B", "C", "guide"]
    assert frame["A"].cat.categories.tolist() == ["lo", "mid", "hi"]
    assert frame["guide"].tolist() == ["NT"] * 6 + ["A"] * 4 + ["B/C"] * 2
    assert frame["B"].dtype == np.float32
    assert InterventionalData.from_frame(frame, "guide", control="NT", separator="/") == data


@pytest.mark.parametrize(
    ("column", "kind", "levels"),
    [
        ([3, 1, 3], "categorical", (1, 3)),
        (np.array([3, 1, 3], dtype=np.uint8), "categorical", (1, 3)),
        (np.array([-5, 2**40, -5]), "categorical", (-5, 2**40)),
        ([True, True, True], "categorical", (False, True)),
        (["b", "a", "b"], "categorical", ("a", "b")),
        (pd.Categorical(["b", "a", "b"], categories=["z", "b", "a"]), "categorical", ("z", "b", "a")),
        (pd.Categorical([1.0, 2.0, 1.0]), "categorical", (1, 2)),
        (pd.Categorical([0.5, 2.0, 0.5]), "categorical", ("0.5", "2.0")),
        (pd.array([3, 1, 3], dtype="Int64"), "categorical", (1, 3)),
        (pd.array(["b", "a", "b"], dtype="string"), "categorical", ("a", "b")),
        (np.array([True, False, True], dtype=object), "categorical", (False, True)),
        ([0.5, 1.0, 2.0], "continuous", None),
        (np.array([0.5, 1, 2], dtype=object), "continuous", None),
        (np.array([1, 2, 3], dtype=np.float16), "continuous", None),
    ],
)
def test_kind_and_levels_follow_the_column_type(column: object, kind: str, levels: object) -> None:
    data = InterventionalData.from_frame(pd.DataFrame({"A": column, "B": [0.0, 1.0, 2.0]}), None)
    assert data.variables[0].kind == kind
    assert data.variables[0].levels == levels
    if levels is not None:
        assert {type(level) for level in data.variables[0].levels or ()} == {type(levels[0])}  # type: ignore[index]


def test_kinds_can_be_overridden() -> None:
    frame = pd.DataFrame({"A": [3, 1, 3], "B": [0.0, 2.0, 0.0], "C": ["1.5", "2", "3"], "D": [0.5, 0.25, 0.5]})
    kinds = {"A": "continuous", "B": "categorical", "C": "continuous", "D": "categorical"}
    data = InterventionalData.from_frame(frame, None, kinds=kinds)
    assert data.variables == (
        Variable("A", "continuous"),
        Variable("B", "categorical", (0, 2)),
        Variable("C", "continuous"),
        Variable("D", "categorical", ("0.25", "0.5")),
    )
    assert data.column("C").tolist() == [1.5, 2.0, 3.0]
    assert data.column("D").tolist() == ["0.5", "0.25", "0.5"]


def test_levels_can_be_fixed() -> None:
    frame = pd.DataFrame({"A": ["b", "b"], "B": [1, 0]})
    data = InterventionalData.from_frame(frame, None, levels={"A": ["c", "b", "a"], "B": [0, 1, 2]})
    assert data.variables[0].levels == ("c", "b", "a")
    assert data.observational.codes.tolist() == [[1, 1], [1, 0]]


def test_levels_come_from_all_regimes_and_each_column() -> None:
    data = InterventionalData.from_environments([np.array([[0, 0], [1, 0]]), np.array([[0, 7]])], [None, "X2"])
    assert data.n_levels.tolist() == [2, 2]
    assert data.variables[1].levels == (0, 7)


@pytest.mark.parametrize("count", [255, 256, 257, MAX_LEVELS])
def test_many_levels_do_not_wrap(count: int) -> None:
    column = np.arange(count) * 3
    data = InterventionalData.from_environments([np.column_stack([column, column % 2])], [None])
    assert data.observational.codes.dtype == (np.uint8 if count <= 256 else np.uint16)
    assert np.array_equal(data.column("X1"), column)


def test_environments_by_frame_match_columns_by_name() -> None:
    first = pd.DataFrame({"A": [0, 1], "B": [0.5, 1.5]})
    second = pd.DataFrame({"B": [2.5], "A": [1]})
    data = InterventionalData.from_environments([first, second], [None, "A"])
    assert data.column("A", 1).tolist() == [1]
    assert data.column("B", 1).tolist() == [2.5]


def test_environments_keep_their_categories() -> None:
    def part(cells: list[str]) -> pd.DataFrame:
        return pd.DataFrame({"A": pd.Categorical(cells, categories=["z", "b", "a"]), "B": [0] * len(cells)})

    data = InterventionalData.from_environments([part(["a", "b"]), part(["b"])], [None, "A"])
    assert data.variables[0].levels == ("z", "b", "a")
    assert data.column("A", 1).tolist() == ["b"]


@pytest.mark.parametrize("entry", ["X2", 1, ["X2"], (1,), {"X2"}, np.int64(1), np.array([1])])
def test_targets_by_name_or_position(entry: object) -> None:
    x = np.eye(3)
    data = InterventionalData.from_environments([x, x], [[], entry])
    assert [found.targets for found in data.regimes] == [(), (1,)]


def test_mask_groups_rows_in_order_of_appearance() -> None:
    x = np.arange(15.0).reshape(5, 3)
    mask = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]])
    data = InterventionalData.from_mask(x, mask, names=["A", "B", "C"])
    assert [found.targets for found in data.regimes] == [(), (1, 2), (0,)]
    assert data.column("A", 1).tolist() == [0.0, 9.0]
    assert data.column("A").tolist() == [3.0, 12.0]
    frame = pd.DataFrame(x, columns=["A", "B", "C"])
    shuffled = pd.DataFrame(mask, columns=["A", "B", "C"])[["C", "A", "B"]]
    assert InterventionalData.from_mask(frame, shuffled) == data


def test_mask_of_many_columns() -> None:
    rng = np.random.default_rng(0)
    mask = rng.random((200, 37)) < 0.02
    mask[0] = False
    data = InterventionalData.from_mask(rng.normal(size=(200, 37)), mask)
    expected = {tuple(np.flatnonzero(row).tolist()) for row in mask}
    assert {found.targets for found in data.regimes} == expected


def test_fewer_rows_than_variables_is_fine() -> None:
    assert InterventionalData.from_environments([np.zeros((1, 50))], [None]).n_rows == 1


def test_wrong_pieces_are_refused() -> None:
    with pytest.raises(DataError, match="expected a Variable"):
        InterventionalData(["A", "B"], [])  # type: ignore[list-item]
    with pytest.raises(DataError, match="expected a Regime"):
        InterventionalData([A, B], [np.zeros((2, 2))])  # type: ignore[list-item]
    with pytest.raises(DataError, match="there are no observational rows"):
        InterventionalData([A, B], [])
    beyond = Regime((1,), np.array([[0, 0], [3, 0]], np.uint8), np.zeros((2, 1), np.float32))
    with pytest.raises(DataError, match=r"'A', regime do\(B\), row 1: code 3 is not below its 3 levels"):
        InterventionalData([A, B, C], [regime((), 2), beyond])
    infinite = Regime((2,), np.zeros((2, 2), np.uint8), np.array([[0], [np.inf]], np.float32))
    with pytest.raises(DataError, match=r"'B' holds inf in row 1 of regime do\(C\) \(1 missing"):
        InterventionalData([A, B, C], [regime((), 2), infinite])
    with pytest.raises(DataError, match="code 300 is not below its 3 levels"):  # and does not wrap to 44
        InterventionalData([A, C], [Regime((), np.array([[300, 0]], np.uint16), np.zeros((1, 0), np.float32))])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "continuous"), "empty name"),
        ((" ", "continuous"), "empty name"),
        ((7, "continuous"), "is not text"),
        (("a\0b", "continuous"), "contains a NUL"),
        (("a\ud800", "continuous"), "surrogate"),
        (("A", "count"), "use 'categorical' or 'continuous'"),
        (("A", "continuous", (1, 2)), "leave the levels out"),
        (("A", "categorical"), "has no levels"),
        (("A", "categorical", ()), "has no levels"),
        (("A", "categorical", (1, "a")), "of type int, str"),
        (("A", "categorical", (1, True)), "of type bool, int"),
        (("A", "categorical", (0.5,)), "of type float"),
        (("A", "categorical", ("x", "y", "x")), "lists the level 'x' twice"),
        (("A", "categorical", ("x\0",)), "contains a NUL"),
        (("A", "categorical", (2**63,)), "does not fit 64 bits"),
        (("A", "categorical", tuple(range(MAX_LEVELS + 1))), "65,536 levels, more than 65,535"),
    ],
)
def test_wrong_variables_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Variable(*arguments)  # type: ignore[arg-type]


def test_levels_become_plain_python_values() -> None:
    levels = Variable("A", "categorical", tuple(np.array([3, 1]))).levels
    assert levels == (3, 1)
    assert {type(level) for level in levels} == {int}


@pytest.mark.parametrize(
    ("targets", "codes", "reals", "message"),
    [
        ((0, 0), np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.float32), "distinct positions"),
        ((-1,), np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.float32), "0 or larger"),
        ((), np.zeros((1, 1), np.int64), np.zeros((1, 1), np.float32), "2-d array of uint8 or uint16"),
        ((), np.zeros(1, np.uint8), np.zeros((1, 1), np.float32), "not a 1-d array"),
        (
            (),
            np.zeros((1, 1), np.uint8),
            np.zeros((1, 1)),
            "2-d array of float32, not a 2-d array of float64",
        ),
        ((), np.zeros((2, 1), np.uint8), np.zeros((1, 1), np.float32), "2 rows of codes but 1 rows of reals"),
    ],
)
def test_wrong_regimes_are_refused(targets: tuple[int, ...], codes: object, reals: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Regime(targets, codes, reals)  # type: ignore[arg-type]


def test_regimes_must_fit_the_variables() -> None:
    with pytest.raises(DataError, match="targets position 3, but there are 3 variables"):
        InterventionalData([A, B, C], [regime((), 2), regime((3,), 2)])
    with pytest.raises(DataError, match=r"do\(A, B, C\) targets every variable.*leave this regime out"):
        InterventionalData([A, B, C], [regime((), 2), regime((0, 1, 2), 2)])
    with pytest.raises(DataError, match=r"regime do\(A\) has no rows"):
        InterventionalData([A, B, C], [regime((), 2), regime((0,), 0)])
    with pytest.raises(DataError, match="has 2 categorical and 1 continuous columns instead of 1 and 1"):
        InterventionalData([A, B], [regime((), 2)])


def test_a_kind_is_an_object_and_equals_its_name() -> None:
    both = [Variable("A", "categorical", (0, 1)), Variable("B", Kind.CONTINUOUS)]
    data = InterventionalData(both, [Regime((), np.zeros((2, 1), np.uint8), np.zeros((2, 1), np.float32))])
    assert data.kinds == ("categorical", "continuous") == (Kind.CATEGORICAL, Kind.CONTINUOUS)
    assert data.is_categorical.tolist() == [True, False]
    assert data.is_continuous.tolist() == [False, True]
    assert json.dumps(data.kinds) == '["categorical", "continuous"]'
    assert repr(both[1]) == "Variable(name='B', kind='continuous', levels=None)"
    assert pickle.loads(pickle.dumps(both)) == both
    assert replace(both[0], name="C") == Variable("C", Kind.CATEGORICAL, (0, 1))
