# The two set-up commands are `make demo` and `make test`; both work from a bare clone and are quick when repeated.
# The install is editable: source and templates are used where they lie, so only a changed pyproject.toml reinstalls.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PYTEST_ARGS ?= -n auto --dist worksteal

.PHONY: help demo test test-all check samples bench

help:
	@echo "make demo      install into $(VENV) and run the Pow case study"
	@echo "make test      install with test tools; ruff, mypy, pytest (skipped tests are listed at the end)"
	@echo "make test-all  the same with every exhaustive and slow test"
	@echo "make check     ruff and mypy only"
	@echo "make samples   write the sample dumps in dumps/ again"
	@echo "make bench     each benchmark prints its ratio against a peer"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml setup.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml setup.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/precdiff demo

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy web

test: check
	$(BIN)/python -m pytest -rs $(PYTEST_ARGS)

test-all: check
	PRECDIFF_EXHAUSTIVE=1 $(BIN)/python -m pytest -rs $(PYTEST_ARGS)

samples: $(VENV)/.installed
	$(BIN)/python dumps/make_samples.py

bench: $(VENV)/.installed-test
	@set -e; for script in $(sort $(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python "$$script"; done
