"""Frequencies of refits and the table of a negative control are part of a result."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from enco.errors import FileFormatError
from enco.result import Result
from enco.result.example import small_result
from enco.result.null_table import NULL_COLUMNS

TABLE = pd.DataFrame([(3, 0.5, 4, 2.0, 2.0, 0.5), (3, 0.9, 0, 0.0, 0.0, np.nan)], columns=list(NULL_COLUMNS))


@pytest.fixture
def result():
    frequency = np.array([[0.0, 0.9, 0.2], [0.1, 0.0, 1.0], [0.0, 0.0, 0.0]])
    return replace(small_result(), frequency=frequency, null_control=TABLE)


def test_both_survive_saving_and_loading(result, tmp_path):
    result.save(tmp_path)
    loaded = Result.load(tmp_path)
    assert np.array_equal(loaded.frequency, result.frequency)
    pd.testing.assert_frame_equal(loaded.null_control, TABLE)
    assert loaded.to_frame()["frequency"].tolist() == [0.9, 1.0]
    assert pd.read_csv(tmp_path / "edges.csv")["frequency"].tolist() == [0.9, 1.0]


def test_without_them_there_is_nothing(tmp_path):
    small_result().save(tmp_path)
    loaded = Result.load(tmp_path)
    assert loaded.frequency is None
    assert loaded.null_control is None
    assert loaded.to_frame()["frequency"].isna().all()


@pytest.mark.parametrize("value", [1.5, -0.1, np.nan])
def test_frequencies_are_shares(result, tmp_path, value):
    frequency = result.frequency.copy()
    frequency[0, 2] = value
    replace(result, frequency=frequency).save(tmp_path)
    with pytest.raises(FileFormatError, match=r"'frequency' must hold numbers from 0 to 1"):
        Result.load(tmp_path)


@pytest.mark.parametrize(
    "changed", [{"fdr": 2.0}, {"edges": "many"}, {"probability": 7}, {"more": 1}, {"by_chance": None}]
)
def test_a_damaged_table_is_refused(result, tmp_path, changed):
    result.save(tmp_path)
    content = json.loads((tmp_path / "graph.json").read_text())
    content["null_control"][0] |= changed
    (tmp_path / "graph.json").write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="'null_control' must be a list of objects with permutations"):
        Result.load(tmp_path)
