# Everything happens in .venv (and .venv-oldest, .venv-plain, .venv-3.xx); nothing outside this folder is
# touched, but that test-browser installs chromium where there is none.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# compiled modules are kept: every worker and every command that tests run would compile them again
unexport PYTHONDONTWRITEBYTECODE

# processes that tests run on; each keeps to one BLAS thread unless told otherwise
PROCESSES ?= 2
QUICK      = -m "not slow"
# reading, models in files, frames, statistics, fit and predict, scikit-learn's contract
BRIEF      = tests/files/test_anndata.py tests/files/test_tables.py tests/files/test_schema.py \
             tests/files/test_hdf5.py tests/files/test_mat5.py tests/files/test_npy.py \
             tests/files/test_models.py tests/core/test_serialization.py tests/data/test_mudata.py \
             tests/data/test_statistics.py tests/data/test_tables.py tests/methods/test_models.py \
             tests/methods/test_sklearn.py tests/app/cli/test_fit.py tests/app/cli/test_predict.py
# $(call tests,PYTHON): tests of a file share what they share in one process
tests      = $(1) -m pytest -n $(PROCESSES) --dist loadfile

.PHONY: demo test test-all test-browser test-portable test-oldest test-oldest-brief test-pythons test-on test-without-numba as-if coverage mutants fuzz docs bench lint format clean

demo: $(VENV)/.demo-installed  ## compare what can be done about hidden views of handwritten digits
	$(BIN)/absentia demo

test: lint  ## everything that must hold and takes seconds
	$(call tests,$(BIN)/python) $(QUICK)

test-all: lint  ## the slow tests too: clusters, worker deaths, memory, many fits
	$(call tests,$(BIN)/python)

test-browser: $(VENV)/.browser-installed  ## the pages in a real browser: sorting, choosing, printing, access for all
	command -v chromium >/dev/null || { apt-get update && apt-get install --yes chromium; }
	$(BIN)/python -m pytest -m browser tests/browser

# OPENBLAS_CORETYPE picks the kernels of another processor: Haswell's are Zen's too, Prescott has SSE3 only.
# This processor's own kernels on one thread are what `make test` has: they are not run again
NATIVE = import numpy, threadpoolctl as t; print(*{one.get("architecture") for one in t.threadpool_info()})
test-portable: $(VENV)/.test-installed  ## the numerical tests as other processors and thread counts give them
	$(MAKE) --no-print-directory as-if CORE=Prescott THREADS=2 PROCESSES=1
	$(BIN)/python -c '$(NATIVE)' | grep -qE 'Haswell|Zen' || $(MAKE) --no-print-directory as-if CORE=Haswell THREADS=1

as-if: export OPENBLAS_NUM_THREADS = $(THREADS)
as-if: export OMP_NUM_THREADS = $(THREADS)
as-if: export OPENBLAS_CORETYPE = $(CORE)
as-if:
	@echo "== OPENBLAS_CORETYPE=$(CORE) OPENBLAS_NUM_THREADS=$(THREADS)"
	$(call tests,$(BIN)/python) -m "numerical and not slow"

# scikit-learn 1.6 cannot list its own checks without this
test-oldest test-oldest-brief: export SCIPY_ARRAY_API = 1
test-oldest: .venv-oldest/.installed  ## with the oldest versions that pyproject.toml allows
	$(call tests,.venv-oldest/bin/python) $(QUICK) -p no:cacheprovider

test-oldest-brief: .venv-oldest/.installed  ## with these, what old versions are most likely to break
	$(call tests,.venv-oldest/bin/python) $(QUICK) -p no:cacheprovider $(BRIEF)

test-without-numba: .venv-plain/.installed  ## what learns, with nothing that is not needed: no extra but for the tests
	$(call tests,.venv-plain/bin/python) $(QUICK) -p no:cacheprovider \
	  tests/methods/learning tests/methods/prediction tests/app/cli/test_fit.py

test-pythons:  ## on every Python from 3.11 to 3.14 that is at hand
	set -e; for v in 3.11 3.12 3.13 3.14; do \
	  found=$$(tests/find_python $$v) || { echo "== Python $$v: not on this machine"; continue; }; \
	  echo "== Python $$v: $$found"; \
	  $(MAKE) --no-print-directory test-on VENV=.venv-$$v PYTHON=$$found; \
	done

test-on: $(VENV)/.test-installed
	$(call tests,$(BIN)/python) $(QUICK) -p no:cacheprovider

coverage: $(VENV)/.test-installed  ## lines and branches that the quick tests reach, the least covered modules last
	$(call tests,$(BIN)/python) $(QUICK) --cov --cov-report=
	$(BIN)/python -m coverage report --sort=-cover --skip-covered

mutants: $(VENV)/.mutants-installed  ## plant faults in core and statistics: how many do the tests find
	$(BIN)/mutmut run --max-children $(PROCESSES)
	$(BIN)/mutmut results

SECONDS_OF_FUZZING ?= 600
fuzz: $(VENV)/.test-installed  ## damaged and hostile files against all readers, guided by coverage
	$(BIN)/python fuzz/run.py --inputs 100000 --seconds $(SECONDS_OF_FUZZING)

# one process: kernels that run the tutorials do not outlive a fork
docs: $(VENV)/.docs-installed  ## the site, in docs/_build/html: examples are run, a warning is an error, nothing is fetched
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: export BENCH_JSON = $(CURDIR)/bench.jsonl
bench: $(VENV)/.test-installed  ## the benchmarks, small, into bench.jsonl, and ratios to peers beside the last ones; see docs/benchmarks.md
	rm -f $(BENCH_JSON)
	set -e; for b in $$(grep -lE 'common\.parser|"--quick"' $$(grep -l __main__ benchmarks/*.py)); do echo "== $$b"; $(BIN)/python $$b --quick; done

lint: $(VENV)/.test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test-installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf bench.jsonl docs/_build docs/_made docs/gallery docs/reference/api docs/reference/commands .venv .venv-* absentia-demo mutants .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis

# pip newer than the one a fresh Python brings knows dependency groups
$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.demo-installed: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.test-installed: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group test
	touch $@ $(VENV)/.demo-installed

$(VENV)/.browser-installed: pyproject.toml | $(VENV)/.test-installed
	$(BIN)/python -m pip install --quiet --group browser
	touch $@

$(VENV)/.docs-installed: pyproject.toml | $(VENV)/.test-installed
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(VENV)/.mutants-installed: pyproject.toml | $(VENV)/.test-installed
	$(BIN)/python -m pip install --quiet --group mutants
	touch $@

.venv-oldest/.installed: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --upgrade pip
	.venv-oldest/bin/python -m pip install --quiet --prefer-binary --constraint tests/oldest.txt \
	  --editable ".[all]" --group test
	touch $@

.venv-plain/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-plain
	.venv-plain/bin/python -m pip install --quiet --upgrade pip
	.venv-plain/bin/python -m pip install --quiet --editable . --group test
	touch $@
