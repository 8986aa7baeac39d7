"""Every Python block of these pages runs, each on its own and in an empty folder."""

import re
from pathlib import Path

import pytest

from enco.baselines import METHODS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = tuple(sorted(path.name for path in DOCS.glob("*.md") if "```python\n" in path.read_text()))
BLOCKS = [
    (page, number, code)
    for page in PAGES
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S))
]


def test_the_pages_with_examples_are_found():
    assert {"choosing_lambda.md", "method.md", "perturbation_screen.md", "stability.md"} < set(PAGES)


@pytest.mark.parametrize("code", [code for _, _, code in BLOCKS], ids=[f"{page}-{k}" for page, k, _ in BLOCKS])
def test_block(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = dict(METHODS)
    try:
        exec(compile(code, "docs", "exec"), {"__name__": "__main__"})
    finally:  # what a page registers is gone afterwards
        METHODS.clear()
        METHODS.update(before)
