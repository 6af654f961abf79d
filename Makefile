# Each target sets up what it needs in .venv, once: a stamp there says what is in place, and a
# change of pyproject.toml or constraints.txt makes it out of date.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps

# The constraints are worked out for Python 3.11; other versions take what pyproject.toml allows.
IS_311 = $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'
CONSTRAINED = $$($(IS_311) && echo $(foreach option,$(1),$(option) constraints.txt))
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL = $(PIP) install $(call CONSTRAINED,--constraint --build-constraint)

# Small arrays on many threads only wait for one another; the tests have a process for each core.
TEST_ENV := XLA_FLAGS="--xla_cpu_multi_thread_eigen=false $(XLA_FLAGS)"
PYTEST_OPTIONS ?= --numprocesses auto --maxprocesses 8 --dist loadfile

.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test lint bench docs clean

help:
	@echo "make demo    train the neuromodulated RNN on a timing task, and draw its figures"
	@echo "make test    run the tests"
	@echo "make lint    check format, style, types and the direction of imports"
	@echo "make bench   measure the cost of simulate against a hand-written scan"
	@echo "make docs    build the site into docs/_build/html"
	@echo "make clean   remove everything that the targets above have made, except runs/"
	@echo "PYTHON=...   the interpreter of a new environment, $(PYTHON) by default; 3.11 or newer"

demo: $(STAMPS)/core
	MPLBACKEND=Agg $(BIN)/neurosim run nm_rnn_timing --preset quick
	MPLBACKEND=Agg $(BIN)/neurosim run nm_rnn_theory --preset quick

test: $(STAMPS)/test
	$(TEST_ENV) $(BIN)/python -m pytest -p no:benchmark $(PYTEST_OPTIONS)

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: $(STAMPS)/bench
	$(BIN)/python -m pytest -p no:xdist -s benchmarks

docs: $(STAMPS)/docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) build dist docs/_build docs/api/generated docs/tutorials
	rm -rf .pytest_cache .ruff_cache .import_linter_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("neurosim needs Python 3.11 or newer, but $(PYTHON) is %d.%d. Name another one: make PYTHON=python3.11" % sys.version_info[:2])'
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install $(call CONSTRAINED,--constraint) --upgrade "pip>=25.1"
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/core: $(STAMPS)/venv pyproject.toml constraints.txt
	@echo "Installing neurosim and what it depends on (several hundred MB, once)"
	@$(INSTALL) --editable .
	@touch $@

# The name of a stamp is the name of a dependency group of pyproject.toml.
$(STAMPS)/%: $(STAMPS)/core
	@echo "Installing the dependency group '$*'"
	@$(INSTALL) --group $*
	@touch $@
