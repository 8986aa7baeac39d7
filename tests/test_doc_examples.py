"""Every Python block of these pages runs, each on its own and in an empty folder."""

import re
from contextlib import contextmanager
from pathlib import Path

import pytest

from enco.baselines import METHODS
from enco.gradients import ESTIMATORS
from enco.io.formats import FILE_FORMATS
from enco.search.stage import PREDICTORS
from enco.settings import ADDED_ESTIMATORS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = tuple(sorted(path.name for path in DOCS.glob("*.md") if "```python\n" in path.read_text()))
BLOCKS = [
    (page, number, code)
    for page in PAGES
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S))
]


@contextmanager
def nothing_registered():
    """What a page registers is gone afterwards."""
    tables, lists = (METHODS, ESTIMATORS, FILE_FORMATS), (PREDICTORS, ADDED_ESTIMATORS)
    before = [dict(table) for table in tables], [list(names) for names in lists]
    try:
        yield
    finally:
        for table, old in zip(tables, before[0], strict=True):
            table.clear()
            table.update(old)
        for names, old in zip(lists, before[1], strict=True):
            names[:] = old


def test_the_pages_with_examples_are_found():
    assert {"choosing_lambda.md", "extending.md", "method.md", "perturbation_screen.md", "stability.md"} < set(PAGES)


@pytest.mark.parametrize("code", [code for _, _, code in BLOCKS], ids=[f"{page}-{k}" for page, k, _ in BLOCKS])
def test_block(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with nothing_registered():
        exec(compile(code, "docs", "exec"), {"__name__": "__main__"})


def test_examples_of_extensions_are_short():
    lengths = {number: code.count("\n") for page, number, code in BLOCKS if page == "extending.md"}
    assert len(lengths) == 5
    assert max(lengths.values()) <= 60
