# Every target creates what it needs under .venv; a second run finds it there and is fast.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test coverage lint types layers browser robust bench packages reference docs clean

demo: $(VENV)/.core  ## install and run a real example end to end
	$(BIN)/enco demo --out demo

test: lint types layers  ## everything the gate checks
	$(BIN)/python -m pytest

coverage: $(VENV)/.dev  ## the tests again, slower, and which lines they reach
	$(BIN)/python -m pytest --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports

browser: $(VENV)/.dev  ## the report page in a real browser; Debian: apt-get install chromium chromium-driver
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ echo "make browser needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)"; exit 2; }
	$(PIP) -e '.[browser]'
	$(BIN)/python -m pytest -m browser tests/report

robust: $(VENV)/.core  ## which graphs change with rounding, with the order of the rows, with the seed; ten minutes
	$(BIN)/enco bench robustness

bench: $(VENV)/.core  ## what is missing of two tables of docs/benchmarks.md, and the page itself
	$(BIN)/enco bench run table1 --methods enco --graphs 10
	$(BIN)/enco bench run continuous --methods enco
	$(BIN)/enco bench docs --out docs/benchmarks.md --force

# Of its own, because dowhy asks for older versions of what everything else uses.
packages: $(VENV)-packages/.done  ## exports read by the real packages
	$(VENV)-packages/bin/python -m pytest -m packages tests/test_exports_packages.py tests/baselines

reference: $(VENV)/.dev  ## the pages of the documentation that are made from the code
	$(BIN)/python docs/generate.py

docs: $(VENV)/.docs  ## with the pictures of the gallery, which a small fit provides
	$(BIN)/python docs/gallery.py docs/_gallery
	$(BIN)/sphinx-build -W -b html docs docs/_build/html

clean:
	rm -rf $(VENV) $(VENV)-packages demo docs/_build docs/_gallery

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[dev]'
	touch $@ $(VENV)/.core

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) -e '.[docs]'
	touch $@

$(VENV)-packages/.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-packages
	$(VENV)-packages/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[packages,igsp]' pytest
	touch $@
