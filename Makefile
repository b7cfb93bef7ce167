# Needs python3 (3.11 or newer) and make; everything else is installed into .venv from a hashed lock.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
BENCH  := .venv-bench
COMPILED := build/compiled
HOT    := $(wildcard src/trueup/recover/*.py src/trueup/conform/*.py src/trueup/contract/*.py)
COMPILER := $(shell command -v $(CC) >/dev/null && $(PYTHON) -c 'import os, sysconfig as s; print(os.path.exists(s.get_paths()["include"] + "/Python.h") or "")')
UNCOMPILED := skipped for want of a C compiler or of Python's headers: the tests of the engine on compiled modules
PROBES := $(wildcard ../shared/data/probes.jsonl)
PIP    := -m pip --disable-pip-version-check -qq

export PYTHONUTF8 := 1
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types layers unit compiled docs bench bench-sift bench-gateway study soak fmt snapshots lock clean

help: ## show this list
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)$$/  \1	\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(STAMP) ## install everything into .venv

$(STAMP): requirements/dev.lock requirements/local.lock pyproject.toml
	@echo "== setting up $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "trueup needs Python 3.11 or newer")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP) install --require-hashes -r requirements/dev.lock
	@$(BIN)/python $(PIP) install --require-hashes --no-deps -r requirements/local.lock
	@$(BIN)/python $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## judge the sample replies in examples/, then sift a file of them into build/demo
	@$(BIN)/python examples/demo.py
	@echo; echo '$$ trueup sift examples/replies/people.jsonl --contract examples/contracts/people.yaml --out build/demo'; echo
	@$(BIN)/trueup sift examples/replies/people.jsonl --contract examples/contracts/people.yaml --out build/demo --fresh \
	    || test $$? -eq 1
	@echo; echo "Open build/demo/report.html in a browser: every unit, with each fix marked in its reply."

test: lint types layers compiled unit docs ## run every check
	@cat .cache/skipped.txt
	@$(if $(COMPILER),,echo "$(UNCOMPILED)")

lint: $(STAMP) ## ruff: rules and formatting
	@echo "== ruff"
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .

types: $(STAMP) ## mypy, strict
	@echo "== mypy"
	@$(BIN)/python -m mypy

layers: $(STAMP) ## import-linter: no room imports a higher one
	@echo "== import-linter"
	@$(BIN)/lint-imports --no-logo

unit: $(STAMP) ## pytest: tests, doctests, the examples of README and docs
	@echo "== pytest"
	@$(BIN)/python -m pytest

docs: $(STAMP) ## build the documentation into site/, strictly
	@echo "== mkdocs"
	@$(BIN)/python -m mkdocs build --strict

ifeq ($(COMPILER),)
compiled:
	@echo "$(UNCOMPILED)"
else
compiled: $(COMPILED)/.built ## compile the hot modules into build/compiled and test the engine on them
	@echo "== pytest, compiled"
	@PYTHONPATH=$(COMPILED) TRUEUP_COMPILED=1 $(BIN)/python -m pytest -q -p no:cacheprovider -m "not perf" tests/recover tests/conform tests/threats \
	    tests/test_compiled.py
endif

$(COMPILED)/.built: $(STAMP) hatch_build.py $(HOT)
	@echo "== mypyc"
	@rm -rf $(COMPILED)
	@TRUEUP_COMPILE=1 $(BIN)/python $(PIP) wheel --no-deps --no-build-isolation --wheel-dir $(COMPILED) .
	@$(BIN)/python -m zipfile -e $(COMPILED)/trueup-*.whl $(COMPILED)
	@touch $@

bench: $(BENCH)/.installed $(if $(COMPILER),$(COMPILED)/.built) ## measure against the peers, in an environment of its own
	@PYTHONPATH=$(COMPILED) $(BENCH)/bin/python bench/run.py $(if $(PROBES),--probes $(PROBES)) --markdown docs/benchmarks.md --plot docs/img/bench.svg

study: $(BENCH)/.installed ## ask the local model 100 things, with and without trueup and its peers (20 minutes)
	@$(BENCH)/bin/python bench/asking.py --markdown docs/asking-study.md

$(BENCH)/.installed: bench/requirements.txt requirements/local.lock pyproject.toml
	@echo "== setting up $(BENCH)"
	@$(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/python $(PIP) install -r bench/requirements.txt -e .
	@$(BENCH)/bin/python $(PIP) install --require-hashes --no-deps -r requirements/local.lock
	@touch $@

bench-sift: $(STAMP) ## measure sifting: a million lines, beside a loop by hand and the source's way
	@$(BIN)/python bench/sift.py --markdown docs/benchmarks-sift.md

bench-gateway: $(STAMP) .venv-litellm/.installed ## measure the gateway beside LiteLLM's proxy, then ten minutes of load
	@$(BIN)/python bench/gateway.py --litellm .venv-litellm/bin/litellm --soak 10 --markdown docs/benchmarks-gateway.md

.venv-litellm/.installed: bench/requirements-litellm.txt
	@$(PYTHON) -m venv .venv-litellm
	@.venv-litellm/bin/python $(PIP) install -r $<
	@touch $@

soak: $(STAMP) ## the property tests with thousands of examples each
	@TRUEUP_PROFILE=soak $(BIN)/python -m pytest --hypothesis-profile=soak --timeout=7200 tests

fmt: $(STAMP) ## format the code and fix what ruff can fix
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .

snapshots: $(STAMP) ## write rendered outputs and generated pages anew
	@$(BIN)/python tools/pages.py
	@$(BIN)/python -m pytest -q --update-snapshots tests

lock: $(STAMP) ## choose new versions of everything and write the lock
	@$(BIN)/python -m uv --quiet pip compile pyproject.toml --all-extras --group dev --universal --generate-hashes \
	    --python-version 3.11 --no-emit-index-url --no-annotate --upgrade \
	    --custom-compile-command "make lock" --output-file requirements/dev.lock

clean: ## remove what make made
	rm -rf $(VENV) $(BENCH) site build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .cache
