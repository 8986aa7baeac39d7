# Every target creates what it needs under .venv; a second run finds it there and is fast.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint types layers bench packages reference docs clean

demo: $(VENV)/.core  ## install and run a real example end to end
	$(BIN)/enco demo --out demo

test: lint types layers  ## everything the gate checks
	$(BIN)/python -m pytest --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports

bench: $(VENV)/.core  ## the tables of docs/benchmarks.md; about a quarter of an hour on two cores
	mkdir -p results
	$(BIN)/enco bench structures --out results/structures.jsonl
	$(BIN)/enco bench continuous --out results/continuous.jsonl
	$(BIN)/enco bench mixed --out results/continuous.jsonl
	$(BIN)/enco bench speed

# Of its own, because dowhy asks for older versions of what everything else uses.
packages: $(VENV)-packages/.done  ## exports read by the real packages
	$(VENV)-packages/bin/python -m pytest -m packages tests/test_exports_packages.py

reference: $(VENV)/.dev  ## the pages of the documentation that are made from the code
	$(BIN)/python docs/generate.py

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W -b html docs docs/_build/html

clean:
	rm -rf $(VENV) $(VENV)-packages demo docs/_build

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
	$(VENV)-packages/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[packages]' pytest
	touch $@
