# `make quickstart` trains and shows a first result, `make test` runs the tests. Both set themselves up.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

.DEFAULT_GOAL := help
.PHONY: help quickstart test lint format clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# The stamps make a second run reinstall nothing; a changed pyproject.toml installs again.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "error: $(PYTHON) is older than Python 3.10; run make with PYTHON=python3.12 (or another)"; exit 1; }
	@echo "Installing into $(VENV) (torch and its libraries: a few minutes the first time) ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@# Only the tests that compare with LibAUC's losses need it; its own requirements are many and not needed.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'libauc==2.0.1'
	@touch $@

quickstart: $(VENV)/.installed  ## Train on the embedded digits, print the table, draw the ROC curve
	@$(BIN)/pauc fit -c configs/experiment/quickstart.yaml

test: $(VENV)/.installed-dev  ## Run all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q

lint: $(VENV)/.installed-dev  ## ruff and strict mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev  ## Let ruff format and fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove the environment and the caches; keeps runs/ and data/
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
