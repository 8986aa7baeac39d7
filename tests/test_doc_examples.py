"""Every Python block of these pages runs, each on its own and in an empty folder."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("choosing_lambda.md", "exports.md", "stability.md")
BLOCKS = [
    (page, number, code)
    for page in PAGES
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S))
]


def test_every_page_has_an_example():
    assert {page for page, _, _ in BLOCKS} == set(PAGES)


@pytest.mark.parametrize("code", [code for _, _, code in BLOCKS], ids=[f"{page}-{k}" for page, k, _ in BLOCKS])
def test_block(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs", "exec"), {"__name__": "__main__"})
