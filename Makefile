# `make` prints what there is. Needs python3.11 or newer, make and git; everything else goes to .venv.

PYTHON ?= $(firstword $(shell command -v python3.11 python3.12 python3.13 python3))
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# What running needs is installed first, what development needs on top of it. Both lists are complete and pinned by
# hashes, so nothing is resolved; nothing is compiled before it is imported.
INSTALL := $(PIP) install --quiet --no-deps --no-compile
LOCKED := $(INSTALL) --require-hashes
RUN := $(VENV)/.installed-run
DEV := $(VENV)/.installed-dev
# Some environments forbid it, and then each of the hundreds of processes that the tests start compiles everything.
unexport PYTHONDONTWRITEBYTECODE
DIST ?= dist
# A worker for each core, and all tests of a file on the same one. A test that is named needs no workers.
WORKERS ?= $(if $(findstring ::,$(ARGS)),0,auto)
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder
COMPILE := $(BIN)/pip-compile --quiet --no-header --no-annotate --strip-extras \
	--generate-hashes --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options

.DEFAULT_GOAL := help
.PHONY: help install run demo doctor migrate test test-all test-llm test-clients nightly cluster lint audit check bench bench-retrieval fuzz soak openapi dump lock sbom wheel release packages clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(DEV) ## Create .venv with the pinned runtime and development requirements

# Redone only when the requirements change; begun afresh, so that nothing is left of the old ones.
$(RUN): requirements.txt pyproject.toml clients/python/pyproject.toml clients/verify/pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/it" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=…")'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) -r requirements.txt
	$(INSTALL) --editable clients/python --editable clients/verify --editable .
	touch $@

$(DEV): $(RUN) requirements-dev.txt
	@if test -e $@; then $(MAKE) --no-print-directory --what-if=requirements.txt $(RUN); fi
	$(LOCKED) -r requirements-dev.txt
	touch $@

run: $(RUN) ## Serve the API with a worker and a database; uses DATABASE_URL, QUIRE_*, MEMORY_*
	@exec $(BIN)/quire serve

demo: $(RUN) ## Replay a long conversation and watch the window; starts a service if none is running
	@exec $(BIN)/quire demo

doctor: $(RUN) ## Check that everything is healthy, and show how to fix what is not
	@exec $(BIN)/quire doctor $(ARGS)

migrate: $(RUN) ## Migrate the schema to the newest version
	@exec $(BIN)/quire migrate

test: export QUIRE_EXAMPLES ?= 25
test: $(DEV) ## Test every area, in minutes; ARGS go to pytest
	$(PYTEST) -m "not slow" $(ARGS)

test-all: $(DEV) ## Run every test, including those that kill processes, wait for time-outs, fuzz or need large tables
	$(PYTEST) $(ARGS)

test-llm: $(DEV) ## Install a small LLM and run the test that needs it
	$(LOCKED) -r requirements-llm-test.txt
	$(BIN)/python -m pytest tests/llm $(ARGS)

FRAMEWORKS := .venv-frameworks
test-clients: $(DEV) ## Install the frameworks that the clients adapt to in .venv-frameworks, and test the adapters there
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r requirements-clients-test.txt
	QUIRE_FRAMEWORKS_PYTHON=$(FRAMEWORKS)/bin/python $(BIN)/python -m pytest tests/frameworks tests/vendors/test_types.py $(ARGS)

# What others change: no pin holds here. A failure is news, of a package or of a line that no longer works.
NEWEST := .venv-newest
NIGHTLY := tests/frameworks tests/vendors/test_types.py tests/vendors/test_open_vocabularies.py \
	tests/proxy/test_clients.py tests/proxy/test_documented.py tests/tools/test_mcp.py \
	tests/tools/test_mcp_connections.py tests/keys/test_mcp_login.py tests/cli/test_connect.py \
	tests/docs/test_readme.py tests/docs/test_clients.py tests/docs/test_tutorial.py tests/examples
nightly: ## Test clients, adapters and the lines of README, docs and `quire connect` with the newest packages
	rm -rf $(NEWEST) $(NEWEST)-frameworks
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --editable clients/python --editable clients/verify --editable '.[dev]'
	$(PYTHON) -m venv $(NEWEST)-frameworks
	$(NEWEST)-frameworks/bin/python -m pip install --quiet -r requirements-clients-newest.txt
	QUIRE_FRAMEWORKS_PYTHON=$(NEWEST)-frameworks/bin/python QUIRE_FRAMEWORKS_NODE=newest $(NEWEST)/bin/python -m pytest $(NIGHTLY) $(ARGS)

cluster: $(DEV) ## Test several machines: failover, PgBouncer if installed
	$(BIN)/python -m pytest tests/cluster tests/guards/test_sharding.py $(ARGS)

lint: $(DEV) ## Check lint, formatting, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive app clients/python/quire_client clients/python/quire_command clients/verify/quire_verify
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: $(DEV) ## Check pinned packages for known vulnerabilities; needs the network
	$(BIN)/pip-audit --requirement requirements.txt --no-deps --disable-pip

check: lint test-all ## Run everything that a change must pass

bench: $(DEV) ## Run the benchmarks and print tables
	$(BIN)/python -m bench $(ARGS)

bench-retrieval: $(DEV) ## Measure search quality and print tables
	$(BIN)/python -m bench retrieval $(ARGS)

fuzz: $(DEV) ## Fuzz the parsers by coverage, then the service from its OpenAPI document; SECONDS=600 each
	$(LOCKED) -r requirements-fuzz.txt
	$(BIN)/python -m tests.fuzz.parsers --seconds $(or $(SECONDS),600)
	$(BIN)/python -m tests.fuzz.run --seconds $(or $(SECONDS),600)

soak: $(DEV) ## Run mixed load, histories under kills and faults, the long tests of hostile and load; MINUTES=60
	QUIRE_LONG=1 $(BIN)/python -m pytest tests/hostile tests/load tests/erasure/test_at_once.py tests/vendors/test_refused_fields.py
	$(BIN)/python -m tests.histories.run --minutes $(or $(MINUTES),60) --seed $(or $(SEED),1)
	$(BIN)/python -m bench.load.soak --minutes $(or $(MINUTES),60)

openapi: $(DEV) ## Write the OpenAPI document to openapi/openapi.json
	@mkdir -p openapi
	$(BIN)/quire openapi > openapi/openapi.json

dump: $(DEV) ## Write the database of this version, which later ones upgrade in their tests; before its tag
	$(BIN)/python -m tests.deploy.dump

sbom: $(DEV) ## Write the bill of materials of a release to dist/sbom.json
	@mkdir -p $(DIST)
	$(BIN)/python docs/make_sbom.py > $(DIST)/sbom.json

wheel: $(DEV) ## Build the wheel of the newest commit, the same bytes each time, in dist/
	rm -rf build/checkout && mkdir -p build/checkout
	git -c tar.umask=0022 archive HEAD | tar -xp -C build/checkout
	umask 022; SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --wheel --outdir $(DIST) build/checkout

release: $(DEV) ## Check the tree, and build all that a tag of its version ships into dist/; publishes nothing
	$(BIN)/python docs/make_release.py
	rm -rf $(DIST)
	$(MAKE) --no-print-directory packages
	@echo "Now: git tag --annotate v$$($(BIN)/quire --version | sed 's/.* //')"

# The wheel is built twice and compared. Packages of TypeScript and the image only where npm and Docker are.
packages: $(DEV)
	$(MAKE) --no-print-directory wheel DIST=$(DIST)/again
	$(MAKE) --no-print-directory wheel
	cmp $(DIST)/again/*.whl $(DIST)/quire_memory-*.whl && rm -r $(DIST)/again
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --sdist --outdir $(DIST) build/checkout
	for package in python verify; do SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --wheel --outdir $(DIST) build/checkout/clients/$$package || exit 1; done
	if command -v npm >/dev/null; then cd build/checkout/clients/typescript && npm install --no-audit --no-fund --no-package-lock && npm run build && npm pack --pack-destination $(abspath $(DIST)); fi
	$(MAKE) --no-print-directory sbom
	if command -v docker >/dev/null && docker info >/dev/null 2>&1; then docker build --tag quire:$$($(BIN)/quire --version | sed 's/.* //') build/checkout; fi
	$(BIN)/python docs/make_release.py $(DIST)
	cd $(DIST) && sha256sum -- *.* > SHA256SUMS

# The client and the verifier, which are of this checkout and on no index, are resolved from their wheels and left out
# of the lists.
lock: COMPILE += --find-links build/client --unsafe-package quire-memory-client --unsafe-package quire-memory-verify
lock: $(DEV) ## Pin the newest versions of all dependencies with their hashes
	$(BIN)/python -m build --wheel --outdir build/client clients/python
	$(BIN)/python -m build --wheel --outdir build/client clients/verify
	$(COMPILE) --upgrade --output-file requirements.txt pyproject.toml
	$(COMPILE) --upgrade --extra dev --extra otel --extra bench --constraint requirements.txt --output-file requirements-dev.txt pyproject.toml

clean: ## Remove .venv and caches
	rm -rf $(VENV) $(NEWEST) $(NEWEST)-frameworks .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build *.egg-info
