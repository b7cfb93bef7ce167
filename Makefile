# Needs python3 (3.11 or newer) and make. Everything else is installed from locks with hashes, into .venv, .venv-demo and .venv-studio.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEMO   := .venv-demo
STUDIO := .venv-studio
BENCH  := .venv-bench
ADAPTERS := .venv-adapters
PROBES := $(wildcard ../shared/data/probes.jsonl)
PIP    := -m pip --disable-pip-version-check -qq
# One worker more than there are cores, because some tests wait. A worker that has finished takes tests from another.
CORES  := $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())')
PYTEST := $(BIN)/python -m pytest -n $(shell expr $(CORES) + 1) --dist worksteal

export PYTHONUTF8 := 1
# Without bytecode files, every worker compiles every test again, which takes a minute.
export PYTHONDONTWRITEBYTECODE :=
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test quick lint types layers unit docs bench bench-engines bench-sift bench-backtest bench-gateway bench-clients bench-quality bench-grounding bench-shelf bench-integrations bench-studio bench-fresh study soak fmt \
        snapshots studio bundle dist lock clean

help: ## show this list
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ':[^#]*## ' '/^[a-z-]+:[^#]*## / { line = sprintf("  %-18s", $$1); n = split($$2, words, " "); \
	    for (i = 1; i <= n; i++) { if (length(line) + length(words[i]) > 78) { print line; line = sprintf("%20s", "") } \
	        line = line " " words[i] } print line }' $(MAKEFILE_LIST)

setup: $(STAMP) $(ADAPTERS)/.installed ## install everything for development into .venv, and the libraries of the adapters into .venv-adapters

$(STAMP): requirements/dev.lock requirements/local.lock pyproject.toml tools/environment.py
	@$(PYTHON) tools/environment.py $(VENV) requirements/dev.lock --no-deps requirements/local.lock --editable --compile --fetch-uv
	@touch $@

# Some adapters need older packages than the development environment, which has uv.
$(ADAPTERS)/.installed: requirements/adapters.lock tools/environment.py | $(STAMP)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PYTHON) tools/environment.py $(ADAPTERS) requirements/adapters.lock
	@touch $@

$(DEMO)/.installed: requirements/core.lock tools/environment.py
	@$(PYTHON) tools/environment.py $(DEMO) requirements/core.lock
	@touch $@

demo: $(DEMO)/.installed ## judge the sample replies in examples/, then sift a file of them into build/demo
	@PYTHONPATH=src $(DEMO)/bin/python examples/demo.py
	@echo; echo '$$ trueup sift examples/replies/people.jsonl --contract examples/contracts/people.yaml --out build/demo'; echo
	@PYTHONPATH=src $(DEMO)/bin/python -m trueup sift examples/replies/people.jsonl --contract examples/contracts/people.yaml \
	    --out build/demo --fresh || test $$? -eq 1
	@echo; echo "Open build/demo/report.html in a browser: every unit, with each fix marked in its reply."

$(STUDIO)/.installed: requirements/studio.lock tools/environment.py
	@$(PYTHON) tools/environment.py $(STUDIO) requirements/studio.lock
	@touch $@

studio: $(STUDIO)/.installed ## open the studio in a browser, with sample traffic; Ctrl-C stops it
	@PYTHONPATH=src $(STUDIO)/bin/python -m trueup studio --demo

test: lint types layers unit ## run every check (minutes)
	@cat .cache/skipped.txt

quick: .cache/rooms.txt lint types ## check the rooms you changed, or ROOM=name (under a minute)
	@echo "== pytest" $$(cat .cache/rooms.txt)
	@$(PYTEST) -q -m "not growth" $$(cat .cache/rooms.txt)

.PHONY: .cache/rooms.txt
.cache/rooms.txt:
	@mkdir -p .cache
	@$(PYTHON) tools/rooms.py $(ROOM) > $@

lint: $(STAMP) ## ruff: rules and formatting; the English of docs, messages and comments
	@echo "== ruff"
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@echo "== prose"
	@$(BIN)/python tools/prose.py

types: $(STAMP) ## mypy, strict
	@echo "== mypy"
	@$(BIN)/python -m mypy

layers: $(STAMP) ## import-linter: no room imports a higher one
	@echo "== import-linter"
	@$(BIN)/lint-imports --no-logo

unit: $(STAMP) $(ADAPTERS)/.installed ## pytest: tests, doctests, the examples of README and docs
	@echo "== pytest"
	@$(PYTEST) -q --durations=30

docs: $(STAMP) ## build the documentation into site/, strictly
	@echo "== mkdocs"
	@$(BIN)/python -m mkdocs build --strict

bench: $(BENCH)/.installed ## measure against other libraries, in a separate environment
	@$(BENCH)/bin/python bench/run.py $(if $(PROBES),--probes $(PROBES)) --markdown docs/benchmarks.md --plot docs/img/bench.svg
	@$(BENCH)/bin/python bench/growth.py --markdown docs/benchmarks-growth.md

bench-engines: $(BENCH)/.installed ## compare with an older version in one run: make bench-engines OLDER=../older/src
	@$(BENCH)/bin/python bench/engines.py $(OLDER)

study: $(BENCH)/.installed ## ask a scripted and the local model, with and without trueup and its peers (half an hour or more)
	@$(BENCH)/bin/python bench/asking_failures.py --markdown docs/asking-study.md
	@$(BENCH)/bin/python bench/asking_wrong.py --markdown docs/asking-study.md
	@$(BENCH)/bin/python bench/asking.py --markdown docs/asking-study.md

$(BENCH)/.installed: bench/requirements.txt requirements/local.lock pyproject.toml
	@echo "== setting up $(BENCH)"
	@$(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/python $(PIP) install -r bench/requirements.txt -e '.[gateway]'
	@$(BENCH)/bin/python $(PIP) install --require-hashes --no-deps -r requirements/local.lock
	@touch $@

bench-sift: $(STAMP) ## measure sifting: large and small replies, compared with a hand-written loop and the original tool
	@$(BIN)/python bench/sift.py --markdown docs/benchmarks-sift.md

bench-backtest: $(STAMP) ## measure backtests of a store, compared with two sifts of the same replies
	@$(BIN)/python bench/backtest.py --markdown docs/benchmarks-backtest.md

bench-gateway: $(STAMP) .venv-litellm/.installed ## measure the gateway and LiteLLM's proxy, then ten minutes of load
	@$(BIN)/python bench/gateway.py --litellm .venv-litellm/bin/litellm --soak 10 --markdown docs/benchmarks-gateway.md

bench-studio: $(STAMP) ## measure the studio in a browser, with a million stored verdicts (minutes)
	@$(BIN)/python bench/studio.py --markdown docs/benchmarks-studio.md

bench-quality: $(STAMP) ## measure learned quality and relevance, compared with the rules
	@$(BIN)/python bench/quality.py --markdown docs/benchmarks-quality.md

bench-grounding: $(BENCH)/.installed ## measure grounding on invented records in seven languages, compared with LangExtract's aligner
	@$(BENCH)/bin/python bench/grounding.py --markdown docs/benchmarks-grounding.md

bench-shelf: $(STAMP) ## measure ready checks on texts of installed packages, and on REPLIES="FILE.jsonl ..."
	@$(BIN)/python bench/shelf.py $(if $(REPLIES),--replies $(REPLIES)) --markdown docs/benchmarks-shelf.md

bench-integrations: $(STAMP) ## measure adapters and the MCP server, compared with a loop and the frameworks' own parsers
	@$(BIN)/python bench/integrations.py --markdown docs/benchmarks-integrations.md

bench-clients: $(BENCH)/.installed ## measure the gateway's HTTP client and others, and try hostile upstreams on each
	@$(BENCH)/bin/python bench/http_clients.py --evil

.venv-litellm/.installed: bench/requirements-litellm.txt
	@$(PYTHON) -m venv .venv-litellm
	@.venv-litellm/bin/python $(PIP) install -r $<
	@touch $@

bench-fresh: ## measure make demo, make test and make quick on a fresh clone, into docs/tests.md
	@$(PYTHON) bench/fresh.py --markdown docs/tests.md

soak: $(STAMP) ## run the tests that take hours; lists them first
	@$(BIN)/python tools/soak.py
	@TRUEUP_PROFILE=soak $(PYTEST) --timeout=7200 tests

fmt: $(STAMP) ## format the code and fix what ruff can fix
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .

snapshots: $(STAMP) ## write rendered outputs and generated pages again
	@$(BIN)/python tools/pages.py
	@$(BIN)/python -m pytest -q --update-snapshots tests

bundle: ## bundle the studio's page and its libraries again after a change (needs npm)
	@cd tools/studio && npm ci --silent --ignore-scripts && npm run --silent build

dist: $(STAMP) ## build the sdist, and the wheel from it, into dist/
	@$(BIN)/python -m build --no-isolation

lock: $(STAMP) ## choose new versions of everything and write the lock
	@$(BIN)/python -m uv --quiet pip compile pyproject.toml --all-extras --group dev --universal --generate-hashes \
	    --python-version 3.11 --no-emit-index-url --no-annotate --upgrade \
	    --custom-compile-command "make lock" --output-file requirements/dev.lock
	@$(BIN)/python -m uv --quiet pip compile pyproject.toml --universal --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --no-annotate --constraint requirements/dev.lock \
	    --custom-compile-command "make lock" --output-file requirements/core.lock
	@$(BIN)/python -m uv --quiet pip compile pyproject.toml --extra studio --universal --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --no-annotate --constraint requirements/dev.lock \
	    --custom-compile-command "make lock" --output-file requirements/studio.lock
	@$(BIN)/python -m uv --quiet pip compile pyproject.toml --extra gateway --extra postgres --extra telemetry --universal --generate-hashes \
	    --python-version 3.11 --no-emit-index-url --no-annotate --constraint requirements/dev.lock \
	    --custom-compile-command "make lock" --output-file requirements/gateway.lock
	@$(BIN)/python -m uv --quiet pip compile pyproject.toml --group adapters --universal --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --no-annotate --upgrade \
	    --custom-compile-command "make lock" --output-file requirements/adapters.lock

clean: ## remove everything that make has created
	rm -rf $(VENV) $(DEMO) $(STUDIO) $(BENCH) $(ADAPTERS) site build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .cache
