"""Writing and reading back, through every format, gives the same variables, regimes and bits."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enco.data import InterventionalData, Regime, Variable
from enco.io import read_data, write_data

ROUND_TRIP = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

# Anything that a name or a level may contain: quotes, commas, line breaks, numbers, words for missing values.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
awkward = st.sampled_from(
    ["NA", "nan", "1", "1.0", "True", "a,b", 'say "x"', "line\nbreak", "\r", "ü", "#enco:", " x "]
)
texts = st.text(characters, max_size=6) | awkward
names = texts.filter(lambda text: text.strip() and "|" not in text and text.strip() not in ("control", "perturbation"))
levels = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5, unique=True),
    st.lists(texts, min_size=1, max_size=5, unique=True),
    st.sampled_from([[False, True], [True, False], [True]]),
    st.just(list(range(300))),
)
reals = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def variables(draw: st.DrawFn) -> list[Variable]:
    chosen = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    return [
        Variable(name, "categorical", tuple(draw(levels))) if draw(st.booleans()) else Variable(name, "continuous")
        for name in chosen
    ]


@st.composite
def datasets(draw: st.DrawFn) -> InterventionalData:
    columns = draw(variables())
    positions = st.lists(st.integers(0, len(columns) - 1), min_size=1, max_size=len(columns) - 1, unique=True)
    target_sets = [(), *draw(st.lists(positions.map(tuple), max_size=4))]
    regimes = []
    for targets in target_sets:
        rows = draw(st.integers(1, 4))
        categorical = [variable for variable in columns if variable.levels]
        codes = [[draw(st.integers(0, v.n_levels - 1)) for v in categorical] for _ in range(rows)]
        values = [[draw(reals) for _ in range(len(columns) - len(categorical))] for _ in range(rows)]
        regimes.append(
            Regime(
                targets,
                np.array(codes, dtype=np.uint16).reshape(rows, len(categorical)),
                np.array(values, dtype=np.float32).reshape(rows, len(columns) - len(categorical)),
            )
        )
    return InterventionalData(columns, regimes)


def assert_identical(found: InterventionalData, data: InterventionalData) -> None:
    """Check everything separately, so that a broken `==` cannot hide a difference."""
    assert found.variables == data.variables
    for ours, theirs in zip(found.variables, data.variables, strict=True):
        assert [type(level) for level in ours.levels or ()] == [type(level) for level in theirs.levels or ()]
    assert [regime.targets for regime in found.regimes] == [regime.targets for regime in data.regimes]
    for ours, theirs in zip(found.regimes, data.regimes, strict=True):
        assert ours.codes.dtype == theirs.codes.dtype
        assert ours.codes.tolist() == theirs.codes.tolist()
        assert ours.reals.tobytes() == theirs.reals.tobytes()
    assert found == data


@ROUND_TRIP
@given(datasets())
def test_pandas(data: InterventionalData) -> None:
    frame = data.to_frame(separator="|")
    assert_identical(InterventionalData.from_frame(frame, separator="|", control="control"), data)


@ROUND_TRIP
@given(datasets())
def test_polars(data: InterventionalData) -> None:
    columns = {}
    for name, cells in data.to_frame(separator="|").items():
        if isinstance(cells.dtype, pd.CategoricalDtype) and isinstance(cells.cat.categories[0], str):
            columns[name] = pl.Series(cells.tolist(), dtype=pl.Enum(cells.cat.categories.tolist()))
        else:
            columns[name] = pl.Series(cells.tolist(), dtype=pl.Float32 if cells.dtype == np.float32 else None)
    # Polars has enumerations of text only; other levels are passed beside the table.
    known = {v.name: v.levels for v in data.variables if v.levels and not isinstance(v.levels[0], str)}
    frame = pl.DataFrame(columns)
    frame = pl.DataFrame(columns)
    found = InterventionalData.from_frame(frame, separator="|", control="control", levels=known)
    assert_identical(found, data)


@pytest.mark.parametrize("memory_map", [None, True])
def test_npz(memory_map: bool | None) -> None:
    @ROUND_TRIP
    @given(datasets())
    def check(data: InterventionalData) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "data.npz")
            data.to_npz(path)
            assert_identical(InterventionalData.from_npz(path, memory_map=memory_map), data)

    check()


@ROUND_TRIP
@given(datasets())
def test_csv(data: InterventionalData) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        data.to_csv(path, separator="|")
        assert_identical(InterventionalData.from_csv(path), data)


@ROUND_TRIP
@given(datasets())
def test_parquet(data: InterventionalData) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.parquet")
        data.to_parquet(path, separator="|")
        assert_identical(InterventionalData.from_parquet(path), data)


@ROUND_TRIP
@given(datasets())
def test_anndata(data: InterventionalData) -> None:
    assert_identical(InterventionalData.from_anndata(data.to_anndata(separator="|")), data)


@settings(ROUND_TRIP, max_examples=25)
@given(datasets())
def test_h5ad(data: InterventionalData) -> None:
    from enco.io import read_h5ad, write_h5ad

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.h5ad")
        write_h5ad(data, path, separator="|")
        assert_identical(read_h5ad(path), data)


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "h5ad"])
def test_suffix_decides(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, size=(30, 4))
    data = InterventionalData.from_environments([x[:20], x[20:]], [None, ("X1", "X3")])
    write_data(data, tmp_path / f"data.{suffix}")
    assert_identical(read_data(tmp_path / f"data.{suffix}"), data)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "h5ad"])
def test_awkward_floats_survive(tmp_path: Path, suffix: str) -> None:
    """Shortest decimals of single precision, subnormals, signed zeros and neighbours of powers of two."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, size=40_000, dtype=np.uint64).astype(np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    values = np.concatenate([values, [0.1, -0.0, 1e-45, 16777216, 16777218, np.finfo(np.float32).max]])
    values = values.astype(np.float32)[: len(values) // 2 * 2].reshape(-1, 2)
    data = InterventionalData.from_environments([values], [None])
    write_data(data, tmp_path / f"data.{suffix}")
    assert_identical(read_data(tmp_path / f"data.{suffix}"), data)
