# Everything happens in .venv; nothing outside this folder is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test bench lint format clean

demo: $(VENV)/.demo-installed  ## complete hidden views of handwritten digits, write a report
	$(BIN)/absentia demo

test: lint  ## everything that must hold
	$(BIN)/python -m pytest

bench: $(VENV)/.test-installed  ## the benchmarks, small: does every command still run; see docs/benchmarks.md
	set -e; for b in benchmarks/mkmc_*.py benchmarks/fillers_*.py benchmarks/pma_*.py; do echo "== $$b"; $(BIN)/python $$b --quick; done

lint: $(VENV)/.test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test-installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) absentia-demo .mypy_cache .pytest_cache .ruff_cache .hypothesis

# pip newer than the one a fresh Python brings knows dependency groups
$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.demo-installed: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable ".[cli,report]"
	touch $@

$(VENV)/.test-installed: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group test
	touch $@ $(VENV)/.demo-installed
