# `make quickstart` trains and shows a first result, `make test` runs the tests. Both set themselves up.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
LOWEST := .venv-lowest
PIP    := -m pip install --quiet --disable-pip-version-check
# Only tests and `pauc benchmark loss` compare with these libraries; their own requirements are many and not needed.
PEERS  := --no-deps 'libauc==2.0.1' 'xcurve==1.1.0'
JOBS   ?= 2

.DEFAULT_GOAL := help
.PHONY: help quickstart test test-lowest lint docs docs-serve notebooks format hooks dist clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# The stamps make a second run reinstall nothing; a changed pyproject.toml installs again.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "error: $(PYTHON) is older than Python 3.10; run make with PYTHON=python3.12 (or another)"; exit 1; }
	@echo "Installing into $(VENV) (torch and its libraries: a few minutes the first time) ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python $(PIP) -e '.[dev]'
	$(BIN)/python $(PIP) $(PEERS)
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python $(PIP) -e '.[docs]'
	@touch $@

$(VENV)/.installed-release: $(VENV)/.installed
	$(BIN)/python $(PIP) -e '.[release]'
	@touch $@

# uv resolves every direct dependency to the lower bound that pyproject.toml names.
$(LOWEST)/.installed: pyproject.toml
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python $(PIP) uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[dev]'
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python $(PEERS)
	@touch $@

quickstart: $(VENV)/.installed  ## Train on the embedded digits, print the table, draw the ROC curve
	@$(BIN)/pauc fit -c configs/experiment/quickstart.yaml

test: $(VENV)/.installed-dev  ## Run all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q

test-lowest: $(LOWEST)/.installed  ## Run all tests with the oldest dependencies that pyproject.toml allows
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n $(JOBS) --dist loadfile -q

lint: $(VENV)/.installed-dev  ## ruff and strict mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-docs  ## Build the documentation into site/, with warnings as errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(VENV)/.installed-docs  ## Show the documentation at http://127.0.0.1:8000 while you write
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

notebooks: $(VENV)/.installed-dev $(VENV)/.installed-docs  ## Run the notebooks and keep their outputs in them
	OMP_NUM_THREADS=1 $(BIN)/python docs/site/run_notebooks.py notebooks/*.ipynb

format: $(VENV)/.installed-dev  ## Let ruff format and fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: $(VENV)/.installed-dev  ## Run ruff and the other hooks at each git commit
	$(BIN)/pre-commit install

dist: $(VENV)/.installed-release  ## Build the wheel and the sdist into dist/ and check them as PyPI does
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

clean:  ## Remove the environments, what was built and the caches; keeps runs/ and data/
	rm -rf $(VENV) $(LOWEST) site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
